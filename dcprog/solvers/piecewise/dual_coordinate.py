"""Dual coordinate descent for losses with kinks and a ridge, on many or sparse samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.linalg.per_score import Separable
from dcprog.solvers.protocol import ExactSolver, Solution, refuse
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver
from dcprog.solvers.smooth.screening import ScoreProblem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["DualCoordinateSolver"]

STEPS = 100
SMALL = 1e-3  # the iteration ends at this share of the first residual


def free_step(
    X: Any,
    lam: float,
    problem: ScoreProblem,
    pieces: Pieces,
    alpha: Array,
    u: Array,
    left: float | None,
) -> Array | None:
    r"""The multipliers α after a joint step of those strictly between their bounds.

    With z_i the point where the pieces have slope α_i/d_i, and z_i' = 1/(2a d_i) on a parabola, 0
    at a knot, the step δ makes u_i(δ) = z_i + z_i' δ_i for all free multipliers:

        (S X Xᵀ S + λ diag(z')) δ = λ (u − z + βs),   s·δ = −left,

    where β is the change of a free intercept. The step ends where a multiplier reaches a bound.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    lam : float
    problem : ScoreProblem
    pieces : Pieces
    alpha, u : arrays of shape (n,)
        The multipliers and their margins.
    left : float or None
        The sum Σ_i s_i (α_i + t_i); None without a free intercept.

    Returns
    -------
    array of shape (n,) or None
        None if all multipliers are at their bounds.
    """
    place, rate, low, high = pieces.inverse(alpha, problem.weight)
    free = np.flatnonzero((low < alpha) & (alpha < high))
    if free.size == 0:
        return None
    rows, s = X[free], problem.sign[free]
    unit = s / np.linalg.norm(s)

    def times(v: Array) -> Array:
        return np.asarray(s * (rows @ (rows.T @ (s * v)))) + lam * rate[free] * v

    def level(v: Array) -> Array:
        return v if left is None else v - (unit @ v) * unit

    step = np.zeros(free.size) if left is None else -left / np.linalg.norm(s) * unit
    r = level(lam * (u[free] - place[free]) - times(step))
    way, size = r, float(r @ r)
    enough = SMALL**2 * size
    for _ in range(STEPS):
        if not size > enough:
            break
        image = level(times(way))
        bend = float(way @ image)
        if not bend > 0:
            break
        step = step + size / bend * way
        r = r - size / bend * image
        size, before = float(r @ r), size
        way = r + size / before * way
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, high[free] - alpha[free], low[free] - alpha[free]) / step
    found = alpha.copy()
    found[free] += min(1.0, float(np.min(room[step != 0], initial=1.0))) * step
    return np.clip(found, low, high)


# ----------------------------------------------------------------------------------------------

LOOPS = "dcprog.solvers.piecewise.dual_coordinate_loops"
EASE = 0.05  # square of the constant column, relative to the centred samples' mean square

Index = npt.NDArray[np.intp]


class CoordinateRounds:
    r"""Rounds over single multipliers α_i, with w = −Σ_i s_i (α_i + t_i) z_i/λ and z = x − x̄.

    With w = v + τx̄ and b̄ = b + x̄·w, a step of α_i adds only a multiple of x_i to v, so that sparse
    samples stay sparse:  z_i·w + b̄ = x_i·v + τ z_i·x̄ + (b̄ − x̄·v).

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    lam : float
        λ > 0.
    free : bool
        Whether there is a free intercept; otherwise x̄ = 0.
    """

    def __init__(self, X: Any, lam: float, free: bool) -> None:
        self.lam, self.free = lam, free
        self._X = X
        is_dense = isinstance(X, np.ndarray)
        squares = np.einsum("ij,ij->i", X, X) if is_dense else X.multiply(X).sum(axis=1)
        self._mean = np.asarray(X.mean(axis=0)).ravel() if free else np.zeros(X.shape[1])
        along, self._middle = X @ self._mean, float(self._mean @ self._mean)
        self._across = along - self._middle
        squares = np.maximum(np.ravel(squares) - along - self._across, 0.0)
        self.ease = EASE * float(np.mean(squares)) if free else 0.0
        self._curvature = np.maximum((squares + self.ease) / lam, np.finfo(float).tiny)
        self._rows = (np.ascontiguousarray(X), None, None) if is_dense else _csr(X)

    def left(self, problem: ScoreProblem, alpha: Array) -> float:
        """The sum Σ_i s_i (α_i + t_i), which is 0 at the optimum of a free intercept."""
        return float(problem.sign @ (alpha + problem.tilt)) if self.free else 0.0

    def coefficients(self, problem: ScoreProblem, alpha: Array) -> tuple[Array, float]:
        """The vector w of the multipliers α, and the residual :meth:`left`."""
        pull, left = problem.sign * (alpha + problem.tilt), self.left(problem, alpha)
        return (left * self._mean - self._X.T @ pull) / self.lam, left

    def reach(self, w: Array) -> float:
        """The distance |x̄·w| between the intercepts for centred and for original samples."""
        return abs(float(self._mean @ w))

    def descend(
        self,
        problem: ScoreProblem,
        pieces: Pieces,
        point: tuple[Array, Array, float],
        places: Index,
        seed: int,
        target: float,
        most: int,
    ) -> tuple[Array, float, float, int]:
        """A round over the given samples, which updates α in place.

        Parameters
        ----------
        problem : ScoreProblem
        pieces : Pieces
        point : tuple (α, w, b)
        places : int array
            The samples; they are reordered in place.
        seed : int
            The seed of the order.
        target : float
            The round ends if the samples' parts of the duality gap add up to at most this.
        most : int
            The most samples to visit, up to one epoch more.

        Returns
        -------
        w, b : array, float
        change : float
            The largest change of a margin by its own sample's step in the last epoch.
        taken : int
            The number of visited samples.
        """
        alpha, w, b = point
        v = w.copy()
        shape = (pieces.knots, pieces.quadratic, pieces.linear, pieces.constant)
        base, shift, change, taken = import_module(LOOPS).epochs(
            *self._rows,
            problem.sign,
            problem.offset,
            problem.weight,
            self._curvature,
            self._across,
            self._middle,
            *(np.array(part) for part in shape),
            self.lam,
            self.ease,
            alpha,
            v,
            b,
            places,
            seed,
            target,
            most,
        )
        return v + shift * self._mean, base - shift * self._middle, change, taken


def _csr(X: Any) -> tuple[Array, Any, Any]:
    return X.data[None], X.indices, X.indptr


# ----------------------------------------------------------------------------------------------

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
            with scores.completed(coef, intercept, k):
                point = self._score(k, score, point, tolerance / len(coef), deadline)
            self._points[k] = point
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
                stayed = f"the duality gap stayed at {gap:.3g}, relative"
                raise SubproblemError("failed", stayed, point=(point.w, point.b))
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
            deadline.check("dual coordinate descent", (w, b))
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
