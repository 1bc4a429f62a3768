"""Newton's method for smooth and piecewise quadratic losses with a ridge, score by score."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.losses import ConvexLoss
from dcprog.solvers.linalg.line_search import armijo, bottom
from dcprog.solvers.linalg.per_score import Separable, separable_refusal
from dcprog.solvers.protocol import ExactSolver, Solution, refuse
from dcprog.solvers.smooth.newton_loop import NewtonScore, Place, Weighted

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["NewtonSolver", "roughness", "softer_first"]

Sides = tuple[Array, Array, Array]  # the signs, offsets and tilts of a score

LOOSE = 1e-5  # tolerance of the smoother problems, relative to their value
SHORT = 1e-4  # longest last step, relative to 1 + the coefficients' norm


class NewtonSolver(ExactSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    Each step minimises the quadratic model at the current point exactly and moves in that
    direction d = −H⁻¹∇F, with the Hessian H = λI + Aᵀdiag(d_i base''(u_i))A. Only the margins with
    curvature enter H; if they are far fewer than the coefficients, their Gram matrix is used
    instead (Woodbury). For a piecewise quadratic base the line search is exact, and the method ends
    after finitely many pieces (finite Newton); for a square, after one step.

    For other bases the step length is Armijo's, the largest α of 1, ½, ¼, … with
    F(θ) − F(θ + αd) ≥ −σα∇Fᵀd. Every step decreases F, while full steps may not: a smoothed hinge
    has no curvature outside a narrow band, and if no margin lies inside, H = λI and d is a gradient
    step. For a sharp base, a run from θ = 0 first solves with smoother losses
    (`ConvexLoss.softer`), each started from the previous solution: with fewer samples than
    coefficients that is twice as fast, and does not stall.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` on margins or residuals, without groups
        or with sums over them, with an ``l2`` penalty.

    References
    ----------
    Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
    Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6. Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput.
    Optim. Appl. 20. Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty
    term, iJOE 9.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)
        self.is_finite = risk.base.pieces is not None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why Newton's method cannot solve a risk, None if it can."""
        return roughness(risk.base) or separable_refusal(risk)

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser to rounding accuracy; `tolerance` only decides whether the run failed."""
        refuse("newton", shrinkage=problem.shrinkage)
        scores, base, deadline = self.scores, self.risk.base, Deadline(time_limit)
        spread, tilt = scores.spread(problem)
        coef, intercept = scores.split(start)
        for k in range(len(coef)):
            sides = scores.signs[:, k], scores.offsets[:, k], tilt[:, k]
            newton = partial(self._newton, spread[:, k], sides, deadline)
            with scores.completed(coef, intercept, k):
                coef[k], intercept[k] = self._score(newton, coef[k], float(intercept[k]), tolerance)
        theta = scores.join(coef, intercept)
        dual = -spread.ravel() * base.slope(self.risk.margins(theta))
        return Solution(theta, dual, problem.value(theta))

    def _newton(
        self, weight: Array, sides: Sides, deadline: Deadline, base: ConvexLoss
    ) -> NewtonScore:
        """Newton's method for a score, with the given base."""
        losses, ridge = Weighted(base, weight), self.scores.ridge
        search = bottom if self.is_finite else armijo
        return NewtonScore(ridge, losses, *sides, search=search, deadline=deadline)

    def _score(
        self, newton: Callable[[ConvexLoss], NewtonScore], w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        if self.is_finite:
            return newton(self.risk.base).minimise(w, b, tolerance)
        if not np.any(w) and b == 0:
            for base in softer_first(self.risk.base):
                place = newton(base).last(w, b, np.inf, precision=LOOSE)
                w, b = place.w, place.b
        return _stepped(newton(self.risk.base).last(w, b, tolerance))


def _stepped(place: Place) -> tuple[Array, float]:
    """The point after the known next step if that is short: it doubles the correct digits."""
    length = max(float(np.linalg.norm(place.step)), abs(place.shift))
    if length > SHORT * (1 + float(np.linalg.norm(place.w)) + abs(place.b)):
        return place.w, place.b
    return place.w + place.step, place.b + place.shift


def roughness(base: ConvexLoss) -> str | None:
    """The reason why a base does not suit Newton's method, None if it does."""
    if base.is_smooth:
        return None
    known = "" if base.pieces is not None else ", or which does not declare is_smooth = True"
    return f"its base is {base!r}, whose slope jumps{known}"


def softer_first(base: ConvexLoss) -> list[ConvexLoss]:
    """The sequence of smoother losses that leads to a base, the smoothest first."""
    path: list[ConvexLoss] = []
    softer = base.softer
    while softer is not None:
        path.insert(0, softer)
        softer = softer.softer
    return path
