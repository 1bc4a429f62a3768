"""Several searches of one problem, run in turns: they share the best point known."""

from __future__ import annotations

import time
from collections.abc import Callable

from dcprog.bounds.search import Search

__all__ = ["leading", "run_in_turns"]

# Seconds of a search's first turn; each later one is twice as long.
FIRST_TURN = 0.2


def leading(searches: list[Search]) -> Search:
    """The search with the best bound."""
    return max(searches, key=lambda s: s.lower)


def run_in_turns(
    searches: list[Search], deadline: float, report: Callable[[], object] | None = None
) -> tuple[Search, str]:
    """Run searches in turns until one of them ends.

    Which kind of branching suits a problem shows only in the search; with turns of doubling
    length, an unsuitable one costs a constant factor of time.

    Parameters
    ----------
    searches : list of Search
    deadline : float
        A time of ``time.perf_counter``.
    report : callable, optional
        As for :meth:`Search.run`.

    Returns
    -------
    search, status : Search, str
        The search that ended, or the one with the best bound, and the status of the last run.
    """
    if len(searches) == 1:
        return searches[0], searches[0].run(deadline, report)
    turn = FIRST_TURN
    while True:
        for search in searches:
            for other in searches:
                search.adopt(other.best)
            status = search.run(min(deadline, time.perf_counter() + turn), report)
            if status == "proved":
                return search, status
            if status != "time_limit" or time.perf_counter() >= deadline:
                best = leading(searches)
                for other in searches:
                    best.adopt(other.best)
                return best, status
        turn *= 2
