"""Cases × competitors: one way to time them, one line for each pair, one table."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["HEADER", "Case", "Competitor", "Line", "is_installed", "measured", "timed"]


@dataclass(frozen=True)
class Competitor:
    """Another way to solve a case.

    Attributes
    ----------
    name : str
    run : callable
        Solves the case once; its CPU time counts.
    goal : float, optional
        For its CPU time over ours.
    share : float, default 1.0
        The part of the work that `run` does; its time is divided by it.
    """

    name: str
    run: Callable[[], Any]
    goal: float | None = None
    share: float = 1.0


@dataclass(frozen=True)
class Case:
    """A problem, our way to solve it, and those of others.

    Attributes
    ----------
    name : str
    ours : callable
        Solves the problem once; its CPU time counts.
    peers : tuple of Competitor
    objective : callable
        F in NumPy, of what `ours` and the competitors' `run` return.
    note : callable, optional
        What the table says of the ends of ours and of a competitor's.
    repeats : int, default 3
        Runs of each in turn; the median of their times counts.
    """

    name: str
    ours: Callable[[], Any]
    peers: tuple[Competitor, ...]
    objective: Callable[[Any], float]
    note: Callable[[Any, Any], str] = lambda ours, theirs: ""
    repeats: int = 3


HEADER = (
    f"{'case':<42} {'peer':<30} {'ratio':>7} {'goal':>5} {'F':>13} {'F − F of the peer':>17}  note"
)


@dataclass(frozen=True)
class Line:
    """One case against one competitor.

    Attributes
    ----------
    case, peer : str
    ratio : float
        CPU time of the peer over ours: above 1 where ours is faster.
    value, reference : float
        F of ours and of the peer.
    goal : float or None
        For the ratio.
    note : str
    """

    case: str
    peer: str
    ratio: float
    value: float
    reference: float
    goal: float | None
    note: str

    @property
    def excess(self) -> float:
        """By how much ours is higher, relative to the peer's value."""
        return (self.value - self.reference) / abs(self.reference)

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"{self.goal:.3g}"
        return (
            f"{self.case:<42} {self.peer:<30} {self.ratio:>7.2f} {goal:>5} {self.value:>13.8g} "
            f"{self.excess:>+17.1e}  {self.note}"
        )

    @property
    def markdown(self) -> str:
        """The same as a row of a table."""
        goal = "–" if self.goal is None else f"{self.goal:.3g}"
        return (
            f"| {self.case} | {self.peer} | {self.ratio:.2f} | {goal} | {self.value:.8g} "
            f"| {self.excess:+.1e} | {self.note} |"
        )


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a piece of work returns, and its CPU seconds in this process."""
    begin = time.process_time()
    found = work()
    return found, time.process_time() - begin


def measured(case: Case) -> Iterator[Line]:
    """A line a competitor."""
    works = [case.ours, *(peer.run for peer in case.peers)]
    rounds = [[timed(work) for work in works] for _ in range(case.repeats)]
    mine, *others = np.median([[seconds for _, seconds in one] for one in rounds], axis=0)
    ours, *ends = (found for found, _ in rounds[-1])
    value = case.objective(ours)
    for peer, end, seconds in zip(case.peers, ends, others, strict=True):
        ratio, reference = seconds / peer.share / mine, case.objective(end)
        note = case.note(ours, end)
        yield Line(case.name, peer.name, ratio, value, reference, peer.goal, note)


def is_installed(name: str) -> bool:
    """Is a peer there? It comes with the extra ``bench``."""
    return importlib.util.find_spec(name) is not None
