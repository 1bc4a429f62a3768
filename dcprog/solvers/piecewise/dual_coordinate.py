"""Dual coordinate descent for losses with kinks and a ridge, on many or sparse samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, cg

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.jit import compiled
from dcprog.solvers.linalg.cholesky import MOST_UNKNOWNS
from dcprog.solvers.protocol import Takes
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver
from dcprog.solvers.smooth.per_score import PerScoreSolver, ScoreProblem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk


Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# ---- compiled epochs -----------------------------------------------------------------------------
#
# Rows are dense, with None for `columns` and `starts`, or those of a CSR matrix, whose data are the
# only row of `values`: numba prunes the unused branch only if both branches have types.

# A sample is skipped if it is farther from the knots than FARTHEST, or than WIDER times the largest
# change of a margin by its own step in the last epoch.
FARTHEST = 0.5
WIDER = 2.0
REASSOCIATED = {"reassoc", "contract"}  # sums in any order, several terms at a time


@partial(compiled, fastmath=REASSOCIATED)
def _dot(values: Any, columns: Any, starts: Any, i: int, w: Any) -> Any:
    total = 0.0
    if columns is None:
        for j in range(w.size):
            total += values[i, j] * w[j]
    else:
        for j in range(starts[i], starts[i + 1]):
            total += values[0, j] * w[columns[j]]
    return total


@partial(compiled, fastmath=REASSOCIATED)
def _add(values: Any, columns: Any, starts: Any, i: int, factor: float, w: Any) -> None:
    if columns is None:
        for j in range(w.size):
            w[j] += factor * values[i, j]
    else:
        for j in range(starts[i], starts[i + 1]):
            w[columns[j]] += factor * values[0, j]


@compiled
def _multiplier(knots: Any, a: Any, b: Any, weight: float, q: float, v: float) -> Any:
    """The α with α = weight·pieces'(v − qα), and the piece, or −1 at a knot."""
    alpha, piece = (2 * a[0] * v + b[0]) * weight / (1 + 2 * a[0] * weight * q), 0
    for k in range(knots.size):
        at_knot = (v - knots[k]) / q
        if at_knot <= (2 * a[k] * knots[k] + b[k]) * weight:
            break
        if at_knot < (2 * a[k + 1] * knots[k] + b[k + 1]) * weight:
            return at_knot, -1
        c = a[k + 1]
        alpha, piece = (2 * c * v + b[k + 1]) * weight / (1 + 2 * c * weight * q), k + 1
    return alpha, piece


@compiled
def _value(knots: Any, a: Any, b: Any, c: Any, u: float) -> Any:
    k = 0
    while k < knots.size and u > knots[k]:
        k += 1
    return (a[k] * u + b[k]) * u + c[k]


@compiled
def _place(knots: Any, a: Any, b: Any, slope: float) -> Any:
    """The point at which the pieces have the given slope."""
    for k in range(knots.size):
        if slope <= 2 * a[k + 1] * knots[k] + b[k + 1]:
            return knots[k] if a[k] == 0.0 else min(knots[k], (slope - b[k]) / (2 * a[k]))
    k = knots.size
    return knots[k - 1] if a[k] == 0.0 else (slope - b[k]) / (2 * a[k])


@compiled
def _distance(knots: Any, u: float) -> Any:
    nearest = np.inf
    for knot in knots:
        nearest = min(nearest, abs(u - knot))
    return nearest


@compiled
def _shuffle(places: Any, n: int) -> None:
    for k in range(n - 1, 0, -1):
        other = np.random.randint(0, k + 1)  # noqa: NPY002, numba supports no other
        places[k], places[other] = places[other], places[k]


@compiled
def _epochs(
    values: Any,
    columns: Any,
    starts: Any,
    sign: Any,
    offset: Any,
    weight: Any,
    q: Any,
    across: Any,
    middle: float,
    knots: Any,
    a: Any,
    b: Any,
    c: Any,
    lam: float,
    ease: float,
    alpha: Any,
    v: Any,
    base: float,
    places: Any,
    seed: int,
    target: float,
    most: int,
) -> Any:
    np.random.seed(seed)  # noqa: NPY002, numba's own, not NumPy's
    n, taken, gap, change, far, shift = places.size, 0, np.inf, 0.0, FARTHEST, 0.0
    while n > 0 and gap > target and taken < most:
        _shuffle(places, n)
        gap, change, k = 0.0, 0.0, 0
        while k < n:
            i = places[k]
            taken += 1
            score = _dot(values, columns, starts, i, v) + shift * across[i] + base
            u, old = sign[i] * score + offset[i], alpha[i]
            new, piece = _multiplier(knots, a, b, weight[i], q[i], u + q[i] * old)
            step = new - old
            if step == 0.0 and piece >= 0 and a[piece] == 0.0 and _distance(knots, u) > far:
                n -= 1
                places[k], places[n] = places[n], i
                continue
            if step != 0.0:
                z = _place(knots, a, b, old / weight[i])
                missed = _value(knots, a, b, c, u) - _value(knots, a, b, c, z)
                gap += weight[i] * missed - old * (u - z)
                alpha[i] = new
                factor = -sign[i] * step / lam
                _add(values, columns, starts, i, factor, v)
                base += factor * (ease - across[i] - middle)
                shift -= factor
                change = max(change, abs(step) * q[i])
            k += 1
        far = min(FARTHEST, WIDER * change)
    return base, shift, change


# ---- joint steps of free multipliers -------------------------------------------------------------

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
    system = LinearOperator((free.size,) * 2, matvec=lambda v: level(times(v)), dtype=float)
    r = level(lam * (u[free] - place[free]) - times(step))
    with np.errstate(all="ignore"):
        step = step + cg(system, r, rtol=SMALL, maxiter=ROUNDS)[0]
        if not np.all(np.isfinite(step)):  # a direction without curvature
            return None
        room = np.where(step > 0, high[free] - alpha[free], low[free] - alpha[free]) / step
    found = alpha.copy()
    found[free] += min(1.0, float(np.min(room[step != 0], initial=1.0))) * step
    return np.clip(found, low, high)


# ---- rounds --------------------------------------------------------------------------------------

EASE = 0.05  # square of the constant column, relative to the centred samples' mean square


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
        sides = (np.ascontiguousarray(X), None, None) if is_dense else ()
        self._rows: Any = sides or (X.data[None], X.indices, X.indptr)

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
    ) -> tuple[Array, float, float]:
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
        """
        alpha, w, b = point
        v = w.copy()
        shape = (pieces.knots, pieces.quadratic, pieces.linear, pieces.constant)
        base, shift, change = _epochs(
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
        return v + shift * self._mean, base - shift * self._middle, change


# ---- the solver ----------------------------------------------------------------------------------

ENOUGH = 0.5  # a round ends at this share of the tolerance
# A sample takes part in the first round if a knot is nearer than WIDER times the last change of
# margins, and in later rounds if it is nearer than WIDE times the own changes of the last epoch.
WIDE = 10.0
ROUND = 10  # most visits per sample in a round
ROUNDS = 100  # most rounds, and most steps of conjugate gradients between them
SLOW = 0.5  # the descent ends after STALLS rounds in a row that leave more than this of the gap
STALLS = 3


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


class DualCoordinateSolver(PerScoreSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    One multiplier at a time is moved to its best value, which needs one sample and the coefficients
    w = −Σ_i s_i (α_i + t_i)(x_i − x̄)/λ. Samples on straight pieces away from the knots are skipped
    for a round. After each round the duality gap is computed. A free intercept is the coefficient
    of a constant column that is penalised towards its last value (proximal point method), so that
    it is not penalised in the end. Between rounds over sparse samples the free multipliers move
    jointly, by conjugate gradients. If the rounds become slow, the method of multipliers goes on
    from their end, unless its systems are too large.

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

    name = "dual_coordinate"
    takes = Takes("piecewise quadratic", rows="margins", penalized="coefficients", penalty="ridge")
    loosest = 1e-2

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        assert risk.base.pieces is not None
        self._pieces = risk.base.pieces
        self._rounds = CoordinateRounds(self.scores.X, self.scores.lam, self.scores.free)
        self._points: list[Point | None] = [None] * self.scores.signs.shape[1]

    @cached_property
    def _finisher(self) -> AugmentedLagrangianSolver:
        return AugmentedLagrangianSolver(self.risk)

    def multipliers(self, problem: WeightedRisk, theta: Array) -> Array:
        """The multipliers of the last points."""
        return np.column_stack([point.alpha for point in self._points if point is not None])

    def score(
        self, k: int, problem: ScoreProblem, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        """The minimiser, certified by its duality gap."""
        start = self._point(k, problem, w, b)
        point, gap = self._descend(problem, start, tolerance)
        if gap > tolerance:
            if min(self.scores.X.shape) > MOST_UNKNOWNS:
                stayed = f"the duality gap stayed at {gap:.3g}, relative"
                raise SubproblemError("failed", stayed, point=(point.w, point.b))
            point = self._finished(k, problem, point, tolerance)
        reach = float(np.max(np.abs(point.u - start.u), initial=0.0))
        self._points[k] = replace(point, reach=reach)
        return point.w, point.b

    def _finished(self, k: int, problem: ScoreProblem, point: Point, tolerance: float) -> Point:
        """The minimiser by the method of multipliers, from a point at which rounds were slow."""
        finisher = self._finisher
        finisher.deadline, finisher.alpha[:, k] = self.deadline, point.alpha
        w, b = finisher.score(k, problem, point.w, point.b, tolerance)
        alpha = finisher.alpha[:, k].copy()
        return replace(point, w=w, b=b, alpha=alpha, u=problem.margins(w, b))

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

    def _descend(
        self, problem: ScoreProblem, start: Point, tolerance: float
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
        gap, slow = np.inf, 0
        for number in range(ROUNDS):
            b -= rounds.ease / rounds.lam * left
            target = ENOUGH * tolerance * size
            w, b, change = rounds.descend(
                problem, pieces, (alpha, w, b), places, number, target, ROUND * live.size
            )
            left = rounds.left(problem, alpha)
            u = problem.margins(w, b)
            size = 1 + abs(problem.value(pieces, u) + rounds.lam / 2 * float(w @ w))
            off, away = _misfits(pieces, problem, alpha, u)
            i = live[off[live]]
            missed = problem.weight[i] @ pieces.missed(u[i], alpha[i] / problem.weight[i])
            last = gap
            gap = (float(missed) + abs(left) * (1 + abs(b) + rounds.reach(w))) / size
            slow = slow + 1 if gap > SLOW * last else 0
            if gap <= tolerance or slow == STALLS:
                break
            self.deadline.check("dual coordinate descent", (w, b))
            if sp.issparse(self.scores.X):
                w, left = self._together(problem, alpha, u)
            places = live[(off | (away <= WIDE * change))[live]]
        return replace(start, w=w, b=b, u=u), gap

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
