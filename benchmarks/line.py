"""A line of a comparison: what was solved, against whom, how long it took and how good it is."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

__all__ = ["HEADER", "Line", "is_installed"]

HEADER = (
    f"{'case':<42} {'peer':<30} {'ratio':>7} {'goal':>5} {'F':>13} {'F − F of the peer':>17}  note"
)


@dataclass(frozen=True)
class Line:
    """One case.

    Attributes
    ----------
    case, peer : str
    ratio : float
        CPU time of the peer over ours: above 1 where ours is faster.
    value, reference : float
        F of ours and of the peer, by one formula in NumPy.
    goal : float, optional
        For the ratio.
    note : str
        Steps, solver, how it ended.
    """

    case: str
    peer: str
    ratio: float
    value: float
    reference: float
    goal: float | None = None
    note: str = ""

    @property
    def excess(self) -> float:
        """By how much ours is higher, relative to the peer's value."""
        return (self.value - self.reference) / abs(self.reference)

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"{self.goal:g}"
        return (
            f"{self.case:<42} {self.peer:<30} {self.ratio:>7.2f} {goal:>5} {self.value:>13.8g} "
            f"{self.excess:>+17.1e}  {self.note}"
        )

    @property
    def markdown(self) -> str:
        """The same as a row of a table."""
        goal = "–" if self.goal is None else f"{self.goal:g}"
        return (
            f"| {self.case} | {self.peer} | {self.ratio:.2f} | {goal} | {self.value:.8g} "
            f"| {self.excess:+.1e} | {self.note} |"
        )


def is_installed(name: str) -> bool:
    """Is a peer there? It comes with the extra ``bench``."""
    return importlib.util.find_spec(name) is not None
