"""The method of multipliers with semismooth Newton steps, for losses with kinks and a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dcprog.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.newton_score import NewtonScore
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.separable import Separable, separable_refusal
from dcprog.tree import Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["Envelopes", "MultiplierSolver"]

# σ begins at FIRST times the mean weight and grows by GROWTH a round; a new subproblem begins with
# the multipliers of the last one, and a σ of BACK rounds before its end.
FIRST = 1.0
GROWTH = 8.0
BACK = 2
ROUNDS = 40
INNER = 0.1


class MultiplierSolver(ExactSolver):
    r"""For every score k:  min Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖².

    The margins get a copy z = u with multipliers μ. A round minimises the augmented Lagrangian,
    in which every loss is its Moreau envelope

        env_i(v) = min_z d_i base(z) + (σ/2)(z − v)²,   v = u + μ_i/σ,

    a piecewise quadratic, by Newton's method, whose curvature comes from the few margins near a
    kink; then μ_i = env_i'(v). At the minimiser of a round the primal value is above the dual one
    by Σ_i f_i(u_i) − f_i(z_i) − μ_i (u_i − z_i) with f = d·base, plus what Newton's method left
    over: the rounds end when that gap is within the tolerance. A free intercept is one.

    Parameters
    ----------
    risk : Risk
        A piecewise quadratic and linear base on margins or residuals with an ``l2`` penalty.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming, Math. Oper. Res. 1. Li, Sun, Toh (2018), A highly efficient semismooth
    Newton augmented Lagrangian method for solving lasso problems, SIAM J. Optim. 28.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)
        self._multipliers = np.zeros(self.scores.signs.shape)
        self._sigma: dict[int, float] = {}

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why the method cannot take a risk, None if it can."""
        if risk.base.pieces is None:
            return f"its base is {risk.base!r}, not piecewise quadratic and linear"
        return separable_refusal(risk)

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
        """The minimiser, certified by its duality gap."""
        scores = self.scores
        spread, tilt = scores.spread(weights, tilts)
        coef, intercept = scores.split(start)
        for k in range(len(coef)):
            coef[k], intercept[k] = self._score(
                k, spread[:, k], tilt[:, k], coef[k], float(intercept[k]), tolerance / len(coef)
            )
        theta = scores.join(coef, intercept)
        value = self.risk.weighted(theta, weights, tilts)
        return Solution(theta, -self._multipliers.ravel(), value)

    def _score(
        self, k: int, weight: Array, tilt: Array, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        pieces = self.risk.base.pieces
        assert pieces is not None
        mean = float(np.mean(weight)) or 1.0
        sigma = max(self._sigma.get(k, 0.0) / GROWTH**BACK, FIRST) * mean
        mu = self._multipliers[:, k]
        for _ in range(ROUNDS):
            envelopes = Envelopes(pieces, weight, mu, sigma)
            score = NewtonScore(
                self.scores.ridge,
                envelopes,
                self.scores.signs[:, k],
                self.scores.offsets[:, k],
                tilt,
            )
            w, b = score.minimise(w, b, np.inf, INNER * tolerance)
            u = score.margins(w, b)
            mu = envelopes.slope(u)
            value = float(weight @ pieces(u)) + self.scores.lam / 2 * float(w @ w)
            gap = envelopes.gap(u) + _left_over(score, w, b, mu)
            if gap <= tolerance * (1 + abs(value + float(tilt @ u))):
                self._multipliers[:, k], self._sigma[k] = mu, sigma / mean
                return w, b
            sigma *= GROWTH
        raise SubproblemError("failed", f"the duality gap stayed at {gap:.3g}")


def _left_over(score: NewtonScore, w: Array, b: float, mu: Array) -> float:
    """What the dual value lacks because the multipliers do not balance exactly."""
    pull = score.sign * (score.tilt + mu)
    g = score.ridge.X.T @ pull + score.ridge.lam * w
    h = float(np.sum(pull)) if score.ridge.fit_intercept else 0.0
    return float(g @ g) / (2 * score.ridge.lam) + abs(h) * (1 + abs(b))


@dataclass(frozen=True)
class Envelopes:
    """Moreau envelopes of f_i = d_i·pieces at v = u + μ/σ, as smooth losses of u.

    Attributes
    ----------
    pieces : Pieces
        Convex.
    weight, multiplier : arrays
        d and μ.
    sigma : float
        σ > 0.
    """

    pieces: Pieces
    weight: Array
    multiplier: Array
    sigma: float

    @cached_property
    def _knots(self) -> list[tuple[float, Array, Array]]:
        """Each knot, and the v from which and up to which it is the nearest point."""
        f = self.pieces
        lines = list(zip(f.quadratic, f.linear, strict=True))
        return [
            (
                knot,
                knot + (2 * lines[j][0] * knot + lines[j][1]) * self.weight / self.sigma,
                knot + (2 * lines[j + 1][0] * knot + lines[j + 1][1]) * self.weight / self.sigma,
            )
            for j, knot in enumerate(f.knots)
        ]

    def nearest(self, u: Array) -> tuple[Array, Array]:
        """z, the minimiser in the envelope, and the envelope's curvature."""
        v = u + self.multiplier / self.sigma
        a, b = self.pieces.quadratic[0], self.pieces.linear[0]
        z, curvature = self._inside(v, a, b)
        for j, (knot, low, high) in enumerate(self._knots):
            beyond, rate = self._inside(v, self.pieces.quadratic[j + 1], self.pieces.linear[j + 1])
            z = np.where(v <= low, z, np.where(v < high, knot, beyond))
            curvature = np.where(v <= low, curvature, np.where(v < high, self.sigma, rate))
        return z, curvature

    def _inside(self, v: Array, a: float, b: float) -> tuple[Array, Array]:
        """The same where the loss is a u² + b u + c throughout."""
        total = self.sigma + 2 * a * self.weight
        return (self.sigma * v - b * self.weight) / total, 2 * a * self.weight * self.sigma / total

    def value(self, u: Array) -> float:
        """Σ env(v) − μ²/2σ."""
        z, _ = self.nearest(u)
        apart = u - z
        return float(
            self.weight @ self.pieces(z) + (self.multiplier + self.sigma / 2 * apart) @ apart
        )

    def slope(self, u: Array) -> Array:
        """μ + σ(u − z), the next multipliers."""
        return self.multiplier + self.sigma * (u - self.nearest(u)[0])

    def curvature(self, u: Array) -> Array:
        """σ at a kink, the loss's own otherwise."""
        return self.nearest(u)[1]

    def breaks(self, u: Array, change: Array) -> None:
        """Too many to sort."""
        return None

    def gap(self, u: Array) -> float:
        """Σ f(u) − f(z) − μ⁺(u − z), by which u misses the dual value of μ⁺ = slope(u)."""
        z, _ = self.nearest(u)
        return float(self.weight @ (self.pieces(u) - self.pieces(z)) - self.slope(u) @ (u - z))
