"""Which starts a solve takes: those that were named, or a race."""

from __future__ import annotations

from typing import Any

from dcprog.surrogates.given_starts import is_list
from dcprog.surrogates.race import EFFORTS, Race, in_turn

__all__ = ["planned"]

STARTS = ("auto", "convex", "current", "graduated", "random")


def planned(start: Any, n_starts: Any, effort: str) -> list[Any] | Race:
    """The starts of the runs, or the race.

    A start that is named alone is all there is; of several, those after it are random halves and
    random points in turn. ``"auto"`` and a list of starts are raced.

    Raises
    ------
    ValueError
        An unknown start or effort.
    """
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ValueError(f"effort={effort!r}: choose one of {EFFORTS}")
    for one in start if is_list(start) else [start]:
        if isinstance(one, str) and one not in STARTS:
            choices = f"one of {STARTS}, a mapping, an array, a Result or a list of those"
            raise ValueError(f"start={one!r}: choose {choices}")
    automatic = isinstance(start, str) and start == "auto"
    if automatic or is_list(start):
        return _raced(["convex"] if automatic else list(start), n_starts, effort)
    count = 1 if n_starts == "auto" else int(n_starts)
    if isinstance(start, str) and start == "random":
        return ["random"] * count
    return [start, *in_turn(count - 1)]


def _raced(first: list[Any], n_starts: Any, effort: str) -> list[Any] | Race:
    first = ["convex" if isinstance(one, str) and one == "auto" else one for one in first]
    if n_starts == "auto":
        if effort == "low":
            return ["graduated"] if isinstance(first[0], str) and first[0] == "convex" else first
        return Race(first, effort)
    more = int(n_starts) - len(first)
    return Race(first, "default" if effort == "low" else effort, more) if more > 0 else first
