"""Newton's method with Armijo's rule for smooth losses, by way of smoother ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.losses import ConvexLoss
from dcprog.solvers.cost import COSTS
from dcprog.solvers.linalg.line_search import armijo
from dcprog.solvers.smooth.newton import Columns, NewtonSolver
from dcprog.solvers.smooth.newton_score import NewtonScore, Place, Weighted

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["NewtonArmijoSolver"]

LOOSE = 1e-5  # how exactly the smoother problems are solved, relative to their value
SHORT = 1e-4  # a last step, relative to 1 + the coefficients; longer where hardly anything curves


class NewtonArmijoSolver(NewtonSolver):
    r"""For every score k:  min Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖².

    From θ the step is d = −H⁻¹∇F with the Hessian H = λI + Aᵀdiag(d_i base''(u_i))A, and its
    length the largest of 1, ½, ¼, … with F(θ) − F(θ + αd) ≥ −σα∇Fᵀd. Every step goes down,
    which full steps do not: a smoothed hinge has no curvature outside a narrow band, and where no
    margin lies inside, H = λI and d is a gradient step. Only the margins with curvature enter H;
    where they are fewer than the coefficients, their Gram matrix takes its place (Woodbury).

    A sharp base is approached from θ = 0 through the smoother ones it names (`ConvexLoss.softer`),
    each begun where the one before ended.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` that does not jump, on margins or
        residuals, none or sums of them a group, with an ``l2`` penalty.

    References
    ----------
    Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput. Optim. Appl. 20.
    Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty term, iJOE 9.
    """

    cost = COSTS["newton_armijo"]

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why the method is not for a risk, None if it is."""
        if risk.base.pieces is not None and risk.base.is_smooth:
            return f"its base is {risk.base!r}, piecewise quadratic: finite Newton ends exactly"
        return NewtonSolver.refusal(risk)

    def _score(
        self,
        weight: Array,
        columns: Columns,
        start: tuple[Array, float],
        tolerance: float,
        deadline: Deadline,
    ) -> tuple[Array, float]:
        def score(base: ConvexLoss) -> NewtonScore:
            losses = Weighted(base, weight)
            return NewtonScore(
                self.scores.ridge, losses, *columns, search=armijo, deadline=deadline
            )

        w, b = start
        if not np.any(w) and b == 0:
            for base in softer_first(self.risk.base):
                place = score(base).last(w, b, np.inf, precision=LOOSE)
                w, b = place.w, place.b
        return _stepped(score(self.risk.base).last(w, b, tolerance))


def _stepped(place: Place) -> tuple[Array, float]:
    """One step further, which is known and doubles the digits of the gradient."""
    length = max(float(np.linalg.norm(place.step)), abs(place.shift))
    if length > SHORT * (1 + float(np.linalg.norm(place.w)) + abs(place.b)):
        return place.w, place.b
    return place.w + place.step, place.b + place.shift


def softer_first(base: ConvexLoss) -> list[ConvexLoss]:
    """The smoother losses on the way to a base, the smoothest first."""
    path: list[ConvexLoss] = []
    softer = base.softer
    while softer is not None:
        path.insert(0, softer)
        softer = softer.softer
    return path
