"""The protocol between the outer loop and everything that can be majorised."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dcprog.tree import Array

__all__ = ["Surrogate"]


class Surrogate(Protocol):
    """What the engine sees of a problem: a function F and a convex majorant that can be moved.

    A point x is a flat NumPy vector. Four verbs make the loop: ``tighten(x)`` centres the
    majorant M(·; x), ``minimise`` returns (an approximation of) its minimiser, ``value`` and
    ``majorant_value`` compute F and M in NumPy, never from a solver's own report. The majorant
    touches: ``majorant_value(x) == value(x)`` right after ``tighten(x)``.

    Where F itself moves along the run (a penalty weight that grows, a cap set by a quantile),
    ``tighten`` moves it, and the engine compares values of one F only.

    Attributes
    ----------
    solvers : tuple of str
        Names for ``minimise``, in the order in which to try them.
    settled : bool
        False while F still moves: the loop does not stop as converged before.
    solve_time : float
        Seconds spent inside the solvers' own calls so far.
    """

    solvers: tuple[str, ...]
    settled: bool
    solve_time: float

    def begin(self, x: Array) -> None:
        """Forget earlier runs: the next ``tighten`` is the first of a run that starts at x."""

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x.

        Returns
        -------
        bool
            False if that left the majorant as it was (up to a constant): its last minimiser is
            then still one.
        """

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """A minimiser of the majorant.

        Raises
        ------
        SubproblemError
            ``infeasible``, ``unbounded`` or ``failed``.
        """

    def value(self, x: Array) -> float:
        """F(x), infinite where x violates a convex constraint."""

    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""

    def objective(self, x: Array) -> float:
        """What is reported to the user: F without penalty terms, in the user's sign."""

    def violation(self, x: Array) -> float:
        """Largest constraint violation, 0 where there are none."""

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """A point to start from.

        ``"convex"`` (the convex problem behind F), ``"half"`` (the same on a random half of its
        terms) or ``"random"``.

        Raises
        ------
        SubproblemError
            The convex problem is infeasible, or was not solved.
        """
