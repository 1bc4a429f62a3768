"""A single pass for a weighted squared hinge: weighted ridge regression to fixed targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.losses import squared_hinge
from dcprog.rows.linear import Margins
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.protocol import Solution, Takes, refuse

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["SinglePassSolver"]


class SinglePassSolver:
    r"""One minimisation of a majorant that is coarser than the weighted squared hinge.

    With slacks m ≥ 0, [a − u]₊² = min_m (a + m − u)², attained at m = [u − a]₊. With m fixed at the
    centre u⁰, [a − u]₊² ≤ (max(a, u⁰) − u)², with equality at u = u⁰, and

        Σ_i d_i Σ_k (max(a, u⁰_{ik}) − u_{ik})² + (λ/2)‖W‖²

    is minimised in closed form: W = (XᵀHX + γI)⁻¹XᵀHZ, b = (ZᵀD1 − WᵀXᵀD1)/s, with γ = λ/2,
    Z the targets with their signs, D = diag(d), s = Σd, H = D − D11ᵀD/s. If s = 0 then W = 0 and
    b is unchanged. The slacks stored between passes are those of the centre.

    A large weight holds a sample far beyond its margin at its score: for powers p < 2 with little
    smoothing the passes stall.

    Parameters
    ----------
    risk : Risk
        Squared hinges of :class:`Margins`, with one weight per sample and no row weights, and an
        ``l2`` penalty on the coefficients.

    References
    ----------
    Nie, Wang, Huang (2017), Multiclass capped ℓp-norm SVM for robust classifications, AAAI,
    algorithm 2.
    """

    on_request: ClassVar[str | None] = "it minimises a coarser majorant"
    takes = Takes("piecewise quadratic", rows="margins", penalized="no intercept", penalty="ridge")

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rows: Margins = risk.rows
        self.ridge = Ridge(self.rows.X, risk.penalty.parts().ridge, self.rows.fit_intercept)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the closed form does not hold for a risk, None if it does."""
        if not isinstance(risk.base, squared_hinge):
            return f"its base is {risk.base!r}, not squared_hinge"
        rows: Margins = risk.rows
        if risk.offset is not None or not np.all(np.abs(rows.signs) == 1):
            return "its margins are scaled or shifted"
        if risk.weights is not None or risk.n_groups != len(rows.signs):
            return "it has weights of rows, or groups other than the samples"
        return None

    def minimise(
        self, problem: WeightedRisk, start: Array, tolerance: float, time_limit: float | None = None
    ) -> Solution:
        """The closed-form minimiser of the majorant centred at `start`."""
        refuse("alternating", shrinkage=problem.shrinkage)
        X, signs, lam = self.rows.X, self.rows.signs, self.ridge.lam
        targets = self._targets(start)
        weights, tilt = problem.weights, problem.row_tilts.reshape(signs.shape)
        coef, intercept = self.rows.unpack(start)
        for _ in range(2):  # one is exact; the second removes rounding errors
            margins = signs * (X @ coef.T + intercept)
            pull = signs * (tilt - 2 * weights[:, None] * (targets - margins))
            step, shift = self.ridge.step(X.T @ pull + lam * coef.T, pull.sum(axis=0), weights)
            coef, intercept = coef + step.T, intercept + shift
        theta = self.rows.pack(coef, intercept)
        return Solution(theta, None, self.value(problem, theta, start))

    def value(self, problem: WeightedRisk, theta: Array, centre: Array) -> float:
        """The weighted squares with the slacks of `centre`, plus tilts and penalty."""
        margins = self.rows @ theta
        squares = (self._targets(centre).ravel() - margins) ** 2
        losses = float(problem.row_weights @ squares) + float(problem.row_tilts @ margins)
        return losses + problem.penalty(theta)

    def _targets(self, centre: Array) -> Array:
        return np.maximum(self.risk.base.at, self.rows @ centre).reshape(self.rows.signs.shape)
