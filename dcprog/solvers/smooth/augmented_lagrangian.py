"""The method of multipliers with semismooth Newton steps, for losses with kinks and a ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.linalg.per_score import Separable, separable_refusal
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.protocol import ExactSolver, Solution, refuse
from dcprog.solvers.smooth.newton_loop import NewtonScore
from dcprog.solvers.smooth.screening import ScoreProblem, screened

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["AugmentedLagrangianSolver", "Envelopes"]

# σ starts at FIRST, in units of the mean weight over the size of the margins, and grows by GROWTH
# per round. Starting from the large σ of the last subproblem would take ten times as many Newton
# steps.
FIRST = 64.0
GROWTH = 4.0
ROUNDS = 30
PAYS = 50_000  # least numbers in X for which screening of samples pays


Start = tuple[Array, float, Array]  # w, b and multipliers


class AugmentedLagrangianSolver(ExactSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    The margins get a copy z = u with multipliers μ. A round minimises the augmented Lagrangian, in
    which every loss is replaced by its Moreau envelope

        env_i(v) = min_z d_i base(z) + (σ/2)(z − v)²,   v = u + μ_i/σ,

    a piecewise quadratic, by Newton's method, whose curvature comes from the few margins near a
    kink; then μ_i = env_i'(v). At the minimiser of a round the duality gap is
    Σ_i f_i(u_i) − f_i(z_i) − μ_i (u_i − z_i) with f = d·base, plus the residual of Newton's method.
    The rounds end when the gap is within the tolerance. Intercepts may be free.

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

    by_blocks = True

    def __init__(self, risk: Risk, scores: Separable | None = None) -> None:
        self.risk = risk
        self.scores = scores or Separable(risk)
        assert risk.base.pieces is not None
        self._pieces = risk.base.pieces
        self.deadline = Deadline()
        self._multipliers: Array | None = None
        # the largest change of a margin of each score in the last subproblem
        self._reach = np.full(self.scores.signs.shape[1], np.inf)
        self._screens = not any(self._pieces.quadratic) and np.prod(self.scores.X.shape) >= PAYS

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        if risk.base.pieces is None:
            return f"its base is {risk.base!r}, not piecewise quadratic and linear"
        return separable_refusal(risk)

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        refuse("multipliers", shrinkage=problem.shrinkage)
        scores = self.scores
        spread, tilt = scores.spread(problem)
        coef, intercept = scores.split(start)
        self.deadline = Deadline(time_limit)
        if self._multipliers is None:
            self._multipliers = np.zeros(scores.signs.shape)
        for k in range(len(coef)):
            sides = scores.signs[:, k], scores.offsets[:, k]
            score = ScoreProblem(scores.X, *sides, spread[:, k], tilt[:, k])
            point = coef[k], float(intercept[k]), self._multipliers[:, k]
            with scores.completed(coef, intercept, k):
                found, self._reach[k] = self.score(
                    score, point, tolerance / len(coef), float(self._reach[k])
                )
            coef[k], intercept[k], self._multipliers[:, k] = found
        theta = scores.join(coef, intercept)
        return Solution(theta, -self._multipliers.ravel(), problem.value(theta))

    def score(
        self, problem: ScoreProblem, point: Start, tolerance: float, reach: float
    ) -> tuple[Start, float]:
        """The minimiser (w, b) of a score, its multipliers, and the largest change of a margin.

        Parameters
        ----------
        problem : ScoreProblem
        point : tuple (w, b, multipliers)
            The start.
        tolerance : float
        reach : float
            The expected largest change of a margin; ∞ if unknown.
        """
        sigma = FIRST * self._unit(problem)
        rounds = partial(self._rounds, sigma=sigma, tolerance=tolerance)
        if not self._screens:
            return rounds(problem, *point), np.inf
        before = problem.margins(*point[:2])
        if np.isfinite(reach):
            free = self.scores.free
            found = screened(problem, self._pieces, point, before, reach, free, rounds)
        else:
            found = rounds(problem, *point)
        changes = np.abs(problem.margins(*found[:2]) - before)[problem.weight > 0]
        return found, float(np.max(changes, initial=0.0))

    def _rounds(
        self, problem: ScoreProblem, w: Array, b: float, mu: Array, sigma: float, tolerance: float
    ) -> tuple[Array, float, Array]:
        """The minimiser (w, b) and the multipliers, by rounds of the method."""
        ridge = self._ridge(problem.X)
        sides = problem.sign, problem.offset, problem.tilt, problem.tangent
        allowed = 0.0
        for _ in range(ROUNDS):
            envelopes = Envelopes(self._pieces, problem.weight, mu, sigma)
            score = NewtonScore(ridge, envelopes, *sides, deadline=self.deadline)
            w, b = score.minimise(w, b, np.inf, allowed / 2 or np.inf)
            u = score.margins(w, b)
            mu = envelopes.slope(u)
            value = problem.value(self._pieces, u) + self.scores.lam / 2 * float(w @ w)
            apart, left = envelopes.gap(u), score.imbalance(w, b, mu)
            allowed = tolerance * (1 + abs(value + problem.tangent(w, b)))
            if apart + left <= allowed:
                return w, b, mu
            if apart > allowed / 2:
                sigma *= GROWTH
        stayed = f"the duality gap stayed at {apart + left:.3g}"
        raise SubproblemError("failed", stayed, point=(w, b))

    def _ridge(self, X: Any) -> Ridge:
        return (
            self.scores.ridge if X is self.scores.X else Ridge(X, self.scores.lam, self.scores.free)
        )

    def _unit(self, problem: ScoreProblem) -> float:
        """The mean weight over the margins' size, which is that of the targets or the kinks."""
        middle = float(np.median(problem.offset))
        size = float(np.mean(np.abs(problem.offset - middle))) or max(
            (abs(k - middle) for k in self._pieces.knots), default=0.0
        )
        heavy = float(np.mean(problem.weight)) or float(np.mean(np.abs(problem.tilt)))
        return (heavy or 1.0) / (size or 1.0)


@dataclass(frozen=True)
class Envelopes:
    """Moreau envelopes of f_i = d_i·pieces at v = u + μ/σ, as smooth losses of u.

    Attributes
    ----------
    pieces : Pieces
        The pieces of a convex function.
    weight, multiplier : arrays
        The weights d and the multipliers μ.
    sigma : float
        σ > 0.
    """

    pieces: Pieces
    weight: Array
    multiplier: Array
    sigma: float

    @cached_property
    def _limits(self) -> list[tuple[float, Array, Array]]:
        """Each knot with the two multipliers between which it is the minimiser z."""
        f = self.pieces
        lines = list(zip(f.quadratic, f.linear, strict=True))
        return [
            (knot, (2 * a * knot + b) * self.weight, (2 * c * knot + d) * self.weight)
            for knot, (a, b), (c, d) in zip(f.knots, lines[:-1], lines[1:], strict=True)
        ]

    @cached_property
    def _is_simple(self) -> bool:
        """True if the function consists of two lines."""
        return len(self.pieces.knots) == 1 and not any(self.pieces.quadratic)

    def slope(self, u: Array) -> Array:
        """The slopes μ + σ(u − z), which are the next multipliers."""
        if self._is_simple:
            ((knot, low, high),) = self._limits
            slope = u - knot
            slope *= self.sigma
            slope += self.multiplier
            return np.clip(slope, low, high, out=slope)
        slope = self._inside(u, 0)
        for j, (knot, low, high) in enumerate(self._limits):
            at_knot = self.multiplier + self.sigma * (u - knot)
            beyond = self._inside(u, j + 1)
            slope = np.where(at_knot <= low, slope, np.where(at_knot < high, at_knot, beyond))
        return slope

    def _inside(self, u: Array, j: int) -> Array:
        """The slope if piece j extended over the whole line."""
        a, b = self.pieces.quadratic[j], self.pieces.linear[j]
        d, sigma = self.weight, self.sigma
        if a == 0:
            return b * d
        return (2 * a * (sigma * u + self.multiplier) + b * sigma) * d / (sigma + 2 * a * d)

    def curvature(self, u: Array) -> Array:
        """The curvature: σ at a kink, otherwise that of the piece's envelope."""
        curvature = self._own(0)
        for j, (knot, low, high) in enumerate(self._limits):
            at_knot = self.multiplier + self.sigma * (u - knot)
            curvature = np.where(
                at_knot <= low, curvature, np.where(at_knot < high, self.sigma, self._own(j + 1))
            )
        return curvature

    def _own(self, j: int) -> Array:
        a = self.pieces.quadratic[j]
        return 2 * a * self.weight * self.sigma / (self.sigma + 2 * a * self.weight)

    def nearest(self, u: Array) -> Array:
        """The minimiser z in the envelope."""
        return u - self._apart(u)

    def _apart(self, u: Array) -> Array:
        apart = self.slope(u)
        apart -= self.multiplier
        apart /= self.sigma
        return apart

    def value(self, u: Array) -> float:
        """The sum of env(v) − μ²/2σ."""
        apart = self._apart(u)
        more = self.multiplier @ apart + self.sigma / 2 * (apart @ apart)
        z = np.subtract(u, apart, out=apart)
        return float(self.weight @ self.pieces(z) + more)

    def breaks(self, u: Array, change: Array) -> None:
        """None: the jumps of the curvature are too many to sort."""
        return None

    def gap(self, u: Array) -> float:
        """The gap Σ f(u) − f(z) − μ⁺(u − z) between u and the multipliers μ⁺ = slope(u)."""
        z = self.nearest(u)
        return float(self.weight @ (self.pieces(u) - self.pieces(z)) - self.slope(u) @ (u - z))
