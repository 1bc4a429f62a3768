"""The protocol of solvers of a risk's convex subproblems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dcprog.foundation.arrays import Array

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["ExactSolver", "Solution", "SubproblemSolver", "refuse"]


@dataclass(frozen=True)
class Solution:
    """A minimiser θ of the weighted and tilted risk.

    Attributes
    ----------
    coefficients : array of shape (p,)
        The minimiser θ.
    dual : array of shape (n_rows,) or None
        The multipliers of the rows, minus the slope of each weighted base loss; None if the solver
        does not provide them.
    value : float
        The value of the minimised function at θ, recomputed in NumPy.
    n_iter : int or None
        The number of steps of the solver, if it counts them.
    bound : float, default −∞
        A verified lower bound of the function, from solvers with other multipliers than those of
        the rows.
    """

    coefficients: Array
    dual: Array | None
    value: float
    n_iter: int | None = None
    bound: float = -np.inf


class SubproblemSolver(Protocol):
    """A solver of weighted risks Σ_g d_g agg_{r∈g}(v_r base(u_r)) + tilts + penalty + shrinkage.

    A solver is constructed once for a risk, whose transform and subtracted part it ignores, and
    called with the :class:`~dcprog.risk.weighted.WeightedRisk` of every majorant update. It caches
    data that do not depend on the weights, tilts and shrinkage (a Gram matrix, a compiled program).

    Attributes
    ----------
    on_request : str or None
        The reason why the solver is not chosen automatically; None if it may be.
    loosest : float
        The loosest useful tolerance of steps far from the end; 0 if a loose one saves no time.
    by_blocks : bool
        Whether the solver needs only products with X, Gram matrices and a few rows, so that X may
        be read by blocks.
    """

    on_request: ClassVar[str | None]
    loosest: ClassVar[float]
    by_blocks: ClassVar[bool]

    def __init__(self, risk: Risk) -> None: ...

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the solver cannot solve the risk, None if it can."""

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, to a relative accuracy of the value.

        Parameters
        ----------
        problem : WeightedRisk
            A weighted form of the solver's risk.
        start : array of shape (p,)
            The centre of the majorant.
        tolerance : float
            The tolerance relative to 1 + |value|; problems are scaled to about size 1.
        time_limit : float, optional
            Seconds, for solvers with a time limit.

        Raises
        ------
        SubproblemError
            ``unbounded``, ``infeasible`` or ``failed``.
        ValueError
            The problem has tilts or shrinkage that the solver does not support.
        """

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The function that :meth:`minimise` minimises from the start `centre`.

        For an exact solver it is the weighted risk. A single-pass solver minimises a majorant of
        the weighted risk that touches it at `centre`.
        """


class ExactSolver:
    """A solver that minimises the weighted risk itself, by default one chosen automatically."""

    on_request: ClassVar[str | None] = None
    loosest: ClassVar[float] = 0.0
    by_blocks: ClassVar[bool] = False

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The weighted risk."""
        return problem.value(theta)

    @staticmethod
    def loosens(risk: Risk) -> bool:
        """True if steps for a risk may use the tolerance ``loosest``."""
        return True

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point near `start` with a lower value of the risk, or `start` itself.

        The losses are those of the problem, and the penalty is the risk's own. Solvers that know
        its curvature may use it if the majorant's steps are short.
        """
        return start


def refuse(solver: str, **parts: Array | None) -> None:
    """Raise ValueError for parts of a weighted risk that a solver does not support.

    Parameters
    ----------
    solver : str
        The solver's name.
    **parts : array or None
        The unsupported parts, ``tilts`` or ``shrinkage``.

    Raises
    ------
    ValueError
        A part is not None.
    """
    for name, part in parts.items():
        if part is not None:
            raise ValueError(f"{solver} takes no {name}")
