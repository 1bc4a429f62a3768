"""Dual coordinate descent for losses with kinks and a ridge, on many or sparse samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers import jit
from dcprog.solvers.cost import COSTS
from dcprog.solvers.linalg.per_score import Separable
from dcprog.solvers.piecewise.coordinate_rounds import CoordinateRounds
from dcprog.solvers.piecewise.free_multipliers import free_step
from dcprog.solvers.protocol import ExactSolver, Solution, refuse
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver
from dcprog.solvers.smooth.screening import ScoreProblem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["DualCoordinateSolver"]

Mask = npt.NDArray[np.bool_]

ENOUGH = 0.5  # a round ends at this share of the tolerance
# A sample takes part in the first round if a knot is nearer than WIDER times the last change of
# margins, and in later rounds if it is nearer than WIDE times the own changes of the last epoch.
WIDER = 2.0
WIDE = 10.0
ROUND = 10  # most visits per sample in a round
ROUNDS = 100
SLOW = 0.7  # the descent ends after STALLS rounds in a row that leave more than this of the gap
STALLS = 3
BUDGET = 12  # most visits per sample if Newton's method can finish
HOPE = 30.0  # skip the rounds if the last ones ended at a gap this many times above the tolerance
TALL = 5  # Newton's method pays with this many times as many dense samples as columns


@dataclass(frozen=True)
class Point:
    """The multipliers α for some weights, with the coefficients w and b and the margins u.

    Attributes
    ----------
    reach : float
        The largest change of a margin since the start.
    """

    alpha: Array
    weight: Array
    w: Array
    b: float
    u: Array
    reach: float = np.inf

    def reached_from(self, start: Point) -> Point:
        """The point with `reach` set to the largest change of a margin from `start`."""
        return replace(self, reach=float(np.max(np.abs(self.u - start.u), initial=0.0)))


class DualCoordinateSolver(ExactSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    One multiplier at a time is moved to its best value, which needs one sample and the coefficients
    w = −Σ_i s_i (α_i + t_i)(x_i − x̄)/λ. Samples on straight pieces away from the knots are skipped
    for a round. After each round the duality gap is computed. A free intercept is the coefficient
    of a constant column that is penalised towards its last value (proximal point method), so that
    it is not penalised in the end. If rounds are slow, the method of multipliers continues with
    Newton's method.

    Parameters
    ----------
    risk : Risk
        A piecewise quadratic and linear base on margins or residuals with an ``l2`` penalty. X may
        be sparse; no copy of X is stored for centring.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM, ICML. Rockafellar (1976), Augmented Lagrangians and applications of the
    proximal point algorithm in convex programming, Math. Oper. Res. 1.
    """

    cost = COSTS["dual_coordinate"]
    loosest = 1e-2

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.scores = Separable(risk)
        assert risk.base.pieces is not None
        self._pieces = risk.base.pieces
        self._rounds = CoordinateRounds(self.scores.X, self.scores.lam, self.scores.free)
        k = self.scores.signs.shape[1]
        self._points: list[Point | None] = [None] * k
        self._rough = np.zeros(k)  # relative gaps at which rounds were abandoned
        n, d = self.scores.X.shape
        pays = isinstance(self.scores.X, np.ndarray) and n >= TALL * d
        self._newton = AugmentedLagrangianSolver(risk, self.scores) if pays else None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        if not jit.is_compiled():
            return "numba, which compiles it, is not there (dcprog[fast])"
        return AugmentedLagrangianSolver.refusal(risk)

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        refuse("dual_coordinate", shrinkage=problem.shrinkage)
        scores, deadline = self.scores, Deadline(time_limit)
        spread, tilt = scores.spread(problem)
        coef, intercept = scores.split(start)
        for k in range(len(coef)):
            sides = scores.signs[:, k], scores.offsets[:, k]
            score = ScoreProblem(scores.X, *sides, spread[:, k], tilt[:, k])
            point = self._point(k, score, coef[k], float(intercept[k]))
            self._points[k] = point = self._score(k, score, point, tolerance / len(coef), deadline)
            coef[k], intercept[k] = point.w, point.b
        theta = scores.join(coef, intercept)
        dual = -np.column_stack([point.alpha for point in self._points if point is not None])
        return Solution(theta, dual.ravel(), problem.value(theta))

    def _point(self, k: int, problem: ScoreProblem, w: Array, b: float) -> Point:
        """The start (w, b) with the last multipliers; where weights have changed, with slopes.

        The stored point is removed and its arrays are reused, to save memory.
        """
        pieces, weight, known = self._pieces, problem.weight, self._points[k]
        self._points[k] = None
        if known is None:
            low, high = pieces.slopes()
            alpha = weight * min(max(low, 0.0), high)
            return Point(alpha, weight, w, b, problem.margins(w, b))
        is_there = known.b == b and np.array_equal(known.w, w)
        u = known.u if is_there else problem.margins(w, b)
        alpha = known.alpha
        moved = np.flatnonzero(weight != known.weight)
        alpha[moved] = weight[moved] * pieces.slope(u[moved])
        return Point(alpha, weight, w, b, u, known.reach)

    def _score(
        self, k: int, problem: ScoreProblem, start: Point, tolerance: float, deadline: Deadline
    ) -> Point:
        """The minimiser by rounds, continued by Newton's method if they are too slow."""
        newton, point = self._newton, start
        if newton is None or tolerance * HOPE >= self._rough[k]:
            budget = ROUNDS if newton is None else BUDGET
            point, gap = self._descend(problem, start, tolerance, budget, deadline)
            self._rough[k] = gap if gap > tolerance else 0.0
            if gap <= tolerance:
                return point.reached_from(start)
            if newton is None:
                raise SubproblemError("failed", f"the duality gap stayed at {gap:.3g}, relative")
        newton.deadline = deadline
        known = point.w, point.b, point.alpha
        (w, b, alpha), _ = newton.score(problem, known, tolerance, point.reach)
        point = replace(point, w=w, b=b, alpha=alpha, u=problem.margins(w, b))
        return point.reached_from(start)

    def _descend(
        self, problem: ScoreProblem, start: Point, tolerance: float, most: int, deadline: Deadline
    ) -> tuple[Point, float]:
        """The point after rounds until the relative gap is within the tolerance, and the gap.

        The gap is relative to 1 + |value|. It is Σ_i f_i(u_i) + f_i*(α_i) − α_i u_i plus a term
        for the residual slope of the intercept.
        """
        rounds, pieces, alpha, u, b = self._rounds, self._pieces, start.alpha, start.u, start.b
        live, size = np.flatnonzero(problem.weight > 0), 1 + abs(problem.value(pieces, u))
        w, left = rounds.coefficients(problem, alpha)
        off, away = _misfits(pieces, problem, alpha, u)
        places = live[(off | (away <= WIDER * start.reach))[live]]
        gap, reach, taken, slow = np.inf, np.inf, 0, 0
        for number in range(ROUNDS):
            b -= rounds.ease / rounds.lam * left
            target = ENOUGH * tolerance * size
            w, b, change, more = rounds.descend(
                problem, pieces, (alpha, w, b), places, number, target, ROUND * live.size
            )
            taken += more
            left = rounds.left(problem, alpha)
            before, u = u, problem.margins(w, b)
            reach = float(np.max(np.abs(u - before)))
            size = 1 + abs(problem.value(pieces, u) + rounds.lam / 2 * float(w @ w))
            off, away = _misfits(pieces, problem, alpha, u)
            i = live[off[live]]
            missed = problem.weight[i] @ pieces.missed(u[i], alpha[i] / problem.weight[i])
            last = gap
            gap = (float(missed) + abs(left) * (1 + abs(b) + rounds.reach(w))) / size
            slow = slow + 1 if gap > SLOW * last else 0
            if gap <= tolerance or taken >= most * live.size or slow == STALLS:
                break
            deadline.check("dual coordinate descent")
            if self._newton is None:
                w, left = self._together(problem, alpha, u)
            places = live[(off | (away <= WIDE * change))[live]]
        return replace(start, w=w, b=b, u=u, reach=reach), gap

    def _together(self, problem: ScoreProblem, alpha: Array, u: Array) -> tuple[Array, float]:
        """Move all free multipliers jointly, in place, and return their coefficients."""
        rounds = self._rounds
        left = rounds.left(problem, alpha) if rounds.free else None
        found = free_step(self.scores.X, rounds.lam, problem, self._pieces, alpha, u, left)
        if found is not None:
            alpha[:] = found
        return rounds.coefficients(problem, alpha)


def _misfits(pieces: Pieces, problem: ScoreProblem, alpha: Array, u: Array) -> tuple[Mask, Array]:
    """Mask of multipliers that are not a straight piece's slope, and distances to the knots."""
    off, curved = np.empty(u.size, dtype=bool), np.asarray(pieces.quadratic) != 0
    for some in blocks(u.size):
        side = np.searchsorted(pieces.knots, u[some])
        slope = problem.weight[some] * np.take(pieces.linear, side)
        off[some] = curved[side] | (slope != alpha[some])
    return off, pieces.distance(u)
