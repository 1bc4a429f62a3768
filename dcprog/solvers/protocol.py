"""The small protocol behind which every solver of a risk's convex subproblem sits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dcprog.foundation.arrays import Array

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["ExactSolver", "Solution", "SubproblemSolver"]


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
    """Minimises  Σ_g d_g agg_{r∈g}(v_r base(u_r)) + Σ_r t_r u_r + penalty(θ) + Σ_j ν_j |θ_j|.

    A solver is made once for a risk, whose transform and subtracted part it ignores, and called
    with the weights d (one a group), the tilts t (one a row, None for none) and the shrinkage ν
    (one a penalised coefficient, None for none) of every tightening. Of a concave penalty it
    takes the convex part only. What does not depend on d, t, ν (a Gram matrix, a compiled program)
    it keeps.
    """

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why the solver cannot take the risk, None if it can."""

    def minimise(
        self,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
        *,
        shrinkage: Array | None = None,
    ) -> Solution:
        """The minimiser, to a relative accuracy of the value.

        Parameters
        ----------
        weights : array of shape (n_groups,)
            d ≥ 0.
        tilts : array of shape (n_rows,) or None
            t.
        start : array of shape (p,)
            Where the majorant is centred.
        tolerance : float
            Relative to 1 + |value|: a risk hands its solvers problems of about size 1.
        time_limit : float, optional
            Seconds, for the solvers that heed it.
        shrinkage : array, optional
            ν ≥ 0.

        Raises
        ------
        SubproblemError
            ``unbounded``, ``infeasible`` or ``failed``.
        """

    def value(
        self,
        theta: Array,
        weights: Array,
        tilts: Array | None,
        centre: Array,
        *,
        shrinkage: Array | None = None,
    ) -> float:
        """The function :meth:`minimise` minimises when it starts from `centre`.

        Equal to the weighted risk for an exact solver. A solver of one pass minimises a function
        that lies above it and touches it at `centre`.
        """


class ExactSolver:
    """A solver whose function is the weighted risk itself."""

    risk: Risk

    def value(
        self,
        theta: Array,
        weights: Array,
        tilts: Array | None,
        centre: Array,
        *,
        shrinkage: Array | None = None,
    ) -> float:
        """The weighted risk."""
        return self.risk.weighted(theta, weights, tilts, shrinkage)
