"""Damped Newton for smooth and piecewise quadratic losses with a ridge penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.solvers.cost import COSTS
from dcprog.solvers.linalg.separable import Separable, separable_refusal
from dcprog.solvers.protocol import ExactSolver, Solution, refuse
from dcprog.solvers.smooth.newton_score import NewtonScore, Weighted

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["Columns", "NewtonSolver"]

Columns = tuple[Array, Array, Array]  # the signs, offsets and tilts of a score


class NewtonSolver(ExactSolver):
    r"""For every score k:  min Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖².

    Each step solves the quadratic of the current point exactly and moves along that direction: to
    the exact minimum if the base is piecewise quadratic, which ends after finitely many pieces
    (finite Newton), otherwise to where the slope has fallen to a tenth, which admits full steps
    near the solution and is then quadratically convergent.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` on margins or residuals, none or sums of
        them a group, with an ``l2`` penalty.

    References
    ----------
    Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
    Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6.
    """

    cost = COSTS["newton"]

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why Newton's method cannot take a risk, None if it can."""
        if not risk.base.is_smooth:
            return f"its base is {risk.base!r}, whose slope jumps"
        return separable_refusal(risk)

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, as exactly as the arithmetic allows; `tolerance` decides on failure."""
        refuse("newton", shrinkage=problem.shrinkage)
        scores = self.scores
        spread, tilt = scores.spread(problem)
        coef, intercept = scores.split(start)
        deadline = Deadline(time_limit)
        for k in range(len(coef)):
            columns = (scores.signs[:, k], scores.offsets[:, k], tilt[:, k])
            coef[k], intercept[k] = self._score(
                spread[:, k], columns, (coef[k], float(intercept[k])), tolerance, deadline
            )
        theta = scores.join(coef, intercept)
        dual = -spread.ravel() * self.risk.base.slope(self.risk.margins(theta))
        return Solution(theta, dual, problem.value(theta))

    def _score(
        self,
        weight: Array,
        columns: Columns,
        start: tuple[Array, float],
        tolerance: float,
        deadline: Deadline,
    ) -> tuple[Array, float]:
        losses = Weighted(self.risk.base, weight)
        score = NewtonScore(self.scores.ridge, losses, *columns, deadline=deadline)
        return score.minimise(*start, tolerance)
