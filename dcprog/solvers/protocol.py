"""The small protocol behind which every solver of a risk's convex subproblem sits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.solvers.cost import Cost

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
        θ.
    dual : array of shape (n_rows,) or None
        Multipliers of the rows, minus the slope of each weighted base loss; None where the solver
        does not have them.
    value : float
        Of the minimised function at θ, recomputed in NumPy.
    n_iter : int or None
        Steps of the solver, where it counts them.
    bound : float, default −∞
        Below which the function is nowhere, whatever the solver did; for solvers that leave other
        multipliers than those of the rows.
    """

    coefficients: Array
    dual: Array | None
    value: float
    n_iter: int | None = None
    bound: float = -np.inf


class SubproblemSolver(Protocol):
    """Minimises a weighted risk, Σ_g d_g agg_{r∈g}(v_r base(u_r)) + tilts + penalty + shrinkage.

    A solver is made once for a risk, whose transform and subtracted part it ignores, and called
    with the :class:`~dcprog.risk.weighted.WeightedRisk` of every tightening. What does not depend
    on its weights, tilts and shrinkage (a Gram matrix, a compiled program) it keeps.

    Attributes
    ----------
    on_request : str or None
        Why it is not chosen by itself, though it takes a risk; None where it is.
    cost : Cost
        ``cost(n_rows, p, is_kernel)`` are seconds, up to a factor: the cheapest solver is chosen.
    loosest : float
        The tolerance that steps far from the end are asked for; 0 where that saves nothing.
    by_blocks : bool
        Are products with X, Gram matrices and a few of its rows all that it needs? Otherwise it is
        not for an X that is read by blocks.
    """

    on_request: ClassVar[str | None]
    cost: ClassVar[Cost]
    loosest: ClassVar[float]
    by_blocks: ClassVar[bool]

    def __init__(self, risk: Risk) -> None: ...

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why the solver cannot take the risk, None if it can."""

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
            Of the risk that the solver was made for.
        start : array of shape (p,)
            Where the majorant is centred.
        tolerance : float
            Relative to 1 + |value|: a risk hands its solvers problems of about size 1.
        time_limit : float, optional
            Seconds, for the solvers that heed it.

        Raises
        ------
        SubproblemError
            ``unbounded``, ``infeasible`` or ``failed``.
        ValueError
            The problem has tilts or shrinkage, and the solver cannot take them.
        """

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The function :meth:`minimise` minimises when it starts from `centre`.

        Equal to the weighted risk for an exact solver. A solver of one pass minimises a function
        that lies above it and touches it at `centre`.
        """


class ExactSolver:
    """A solver whose function is the weighted risk itself, and that may be chosen by itself."""

    on_request: ClassVar[str | None] = None
    cost: ClassVar[Cost]
    loosest: ClassVar[float] = 0.0
    by_blocks: ClassVar[bool] = False

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The weighted risk."""
        return problem.value(theta)

    @staticmethod
    def loosens(risk: Risk) -> bool:
        """True if steps of a risk may be as loose as ``loosest``."""
        return True

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point at which the risk is lower than at `start`, near it, or `start` itself.

        The losses are those of the problem, the penalty is the risk's own: solvers that know how it
        curves may use it where a majorant's steps are short.
        """
        return start


def refuse(solver: str, **parts: Array | None) -> None:
    """Raise for those parts of a weighted risk that are there, and that a solver would ignore.

    Parameters
    ----------
    solver : str
        Its name.
    **parts : array or None
        ``tilts`` or ``shrinkage``.

    Raises
    ------
    ValueError
        One of them is not None.
    """
    for name, part in parts.items():
        if part is not None:
            raise ValueError(f"{solver} takes no {name}")
