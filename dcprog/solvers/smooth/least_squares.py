"""Weighted ridge regression in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcprog.foundation.arrays import Array
from dcprog.losses import square
from dcprog.solvers.cost import COSTS
from dcprog.solvers.linalg.separable import Separable, separable_refusal
from dcprog.solvers.protocol import ExactSolver, Solution, refuse

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["LeastSquaresSolver"]


class LeastSquaresSolver(ExactSolver):
    r"""Squares with an ``l2`` penalty: min Σ_i d_i (a − u_i)² + t·u + (λ/2)‖w‖².

    One system of the size of the coefficients, or of the samples where those are fewer; see
    :class:`~dcprog.solvers.linalg.ridge.Ridge`.

    Parameters
    ----------
    risk : Risk
        Squares of margins or residuals with an ``l2`` penalty.
    """

    cost = COSTS["least_squares"]

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why there is no closed form for a risk, None if there is."""
        if not isinstance(risk.base, square):
            return f"its base is {risk.base!r}, not square"
        return separable_refusal(risk)

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The closed form."""
        refuse("least_squares", shrinkage=problem.shrinkage)
        s = self.scores
        spread, tilt = s.spread(problem)
        coef, intercept = s.split(start)
        for k in range(len(coef)):
            c = spread[:, k] * s.signs[:, k] ** 2
            for _ in range(2):  # exact in one; the second removes the first one's rounding
                u = s.signs[:, k] * (s.X @ coef[k] + intercept[k]) + s.offsets[:, k]
                pull = s.signs[:, k] * (spread[:, k] * self.risk.base.slope(u) + tilt[:, k])
                step, shift = s.ridge.step(s.X.T @ pull + s.lam * coef[k], pull.sum(), c)
                coef[k] += step
                intercept[k] += shift
        theta = s.join(coef, intercept)
        dual = -spread.ravel() * self.risk.base.slope(self.risk.margins(theta))
        return Solution(theta, dual, problem.value(theta))
