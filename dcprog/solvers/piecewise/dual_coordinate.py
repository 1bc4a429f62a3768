"""Dual coordinate descent for losses with kinks and a ridge, on many or sparse samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.jit import compiled
from dcprog.foundation.sums import means, squared_norms
from dcprog.foundation.tolerances import (
    ARMIJO,
    FEW_COEFFICIENTS,
    INNER,
    MOST_STEPS,
    RADIUS,
    ROUNDING,
)
from dcprog.losses import Pieces
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.protocol import LOOSEST, Takes
from dcprog.solvers.smooth.augmented_lagrangian import AugmentedLagrangianSolver
from dcprog.solvers.smooth.per_score import PerScoreSolver, ScoreProblem

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

# ---- compiled epochs -----------------------------------------------------------------------------
#
# Rows are dense, with None for `columns` and `starts`, or those of a CSR matrix, whose data are the
# only row of `values`: numba prunes the unused branch only if both branches have types.

# A sample is skipped if it is farther from the knots than FARTHEST, or than WIDER times the largest
# change of a margin by its own step in the last epoch. It takes part in the first round if a knot
# is nearer than WIDER times the last change of margins, in later ones than WIDE times the own.
FARTHEST = 0.5
WIDER = 2.0
WIDE = 10.0
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
def _piece(knots: Any, u: float) -> Any:
    k = 0
    while k < knots.size and u > knots[k]:
        k += 1
    return k


@compiled
def _value(knots: Any, a: Any, b: Any, c: Any, u: float) -> Any:
    k = _piece(knots, u)
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
    pieces: Any,
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
    knots, a, b, c = pieces
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


@compiled
def _inspect(pieces: Any, weight: Any, alpha: Any, u: Any, loss: Any, off: Any, away: Any) -> None:
    """Set the losses, the mask of multipliers off straight slopes, and knot distances."""
    knots, a, b, c = pieces
    for i in range(u.size):
        k = _piece(knots, u[i])
        loss[i] = _value(knots, a, b, c, u[i])
        off[i] = a[k] != 0.0 or weight[i] * b[k] != alpha[i]
        away[i] = _distance(knots, u[i])


# ---- compiled joint steps ------------------------------------------------------------------------


@compiled
def _adjoint(values: Any, columns: Any, starts: Any, places: Any, v: Any, mean: Any, g: Any) -> Any:
    """Set g to Zᵀv, where the rows of Z are those of X at the places less the mean; return Σv."""
    total = 0.0
    g[:] = 0.0
    for k in range(places.size):
        total += v[k]
        _add(values, columns, starts, places[k], v[k], g)
    for j in range(g.size):
        g[j] -= total * mean[j]
    return total


@compiled
def _forward(
    values: Any, columns: Any, starts: Any, places: Any, g: Any, mean: Any, more: float, out: Any
) -> None:
    """Set out to Zg + more."""
    for j in range(g.size):
        more -= mean[j] * g[j]
    for k in range(places.size):
        out[k] = _dot(values, columns, starts, places[k], g) + more


@compiled
def _conjugate_gradients(
    values: Any,
    columns: Any,
    starts: Any,
    places: Any,
    sign: Any,
    mean: Any,
    lam: float,
    ease: float,
    rate: Any,
    diagonal: Any,
    r: Any,
    small: float,
    most: int,
) -> Any:
    """An approximate δ with S(ZZᵀ + ease·11ᵀ)Sδ/λ + rate·δ = r, preconditioned by the diagonal."""
    step, r, g, q = np.zeros(r.size), r.copy(), np.empty(mean.size), np.empty(r.size)
    p = r / diagonal
    size = np.sum(r * p)
    enough = small * small * size
    for _ in range(most):
        if not size > enough:
            break
        total = _adjoint(values, columns, starts, places, sign * p, mean, g)
        _forward(values, columns, starts, places, g, mean, ease * total, q)
        q *= sign / lam
        q += rate * p
        curvature, least = np.sum(p * q), ROUNDING * np.sum(p * p * diagonal)
        length = size / max(curvature, least)
        step += length * p
        if not curvature > least:  # more multipliers than coefficients: a bound ends the step
            break
        r -= length * q
        q[:] = r / diagonal
        last, size = size, np.sum(r * q)
        p *= size / last
        p += q
    return step


@compiled
def _projected_search(
    values: Any,
    columns: Any,
    starts: Any,
    places: Any,
    sign: Any,
    mean: Any,
    lam: float,
    ease: float,
    rate: Any,
    newton: Any,
    low: Any,
    high: Any,
    r: Any,
    g: Any,
) -> Any:
    """The projected step of the first length 1, ½, … with enough decrease, or to the first bound.

    g is set to Zᵀ(sign·step), and the sum of sign·step is returned too.
    """
    length, first = 1.0, 1.0
    for k in range(newton.size):
        if newton[k] != 0.0:
            reach = (high[k] if newton[k] > 0.0 else low[k]) / newton[k]
            if reach < first:
                first = reach
    while True:
        step = np.minimum(np.maximum(length * newton, low), high)
        total = _adjoint(values, columns, starts, places, sign * step, mean, g)
        curvature = (np.sum(g * g) + ease * total * total) / lam + np.sum(rate * step * step)
        if length == first or curvature / 2 <= (1 - ARMIJO) * np.sum(r * step):
            return step, total
        length = max(length / 2, first)


# ---- rounds --------------------------------------------------------------------------------------

EASE = 0.05  # square of the constant column, relative to the centred samples' mean square
ROUND = 10  # most visits per sample in a round
READ = 2e8  # most numbers of X that a round or a joint step reads, for some tenths of a second
# Multipliers at knots move jointly if there are at most WIDEST per coefficient, as there is at most
# one at a solution in general position.
WIDEST = 5.0
LEGS = 5  # most joint steps in a row, each without those that met a bound in the last
# Conjugate gradients end after FEW iterations or at the share INNER of the first residual, for the
# precision 1; it doubles up to FINEST while joint steps meet no bound.
FEW, FINEST = 20, 64


class DualSteps:
    r"""Steps of the multipliers α_i, with w = −Σ_i s_i (α_i + t_i) z_i/λ and z = x − x̄.

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
        self._mean = means(X) if free else np.zeros(X.shape[1])
        along, self._middle = X @ self._mean, float(self._mean @ self._mean)
        self._across = along - self._middle
        squares = np.maximum(squared_norms(X) - along - self._across, 0.0)
        self.ease = EASE * float(np.mean(squares)) if free else 0.0
        self._curvature = np.maximum((squares + self.ease) / lam, np.finfo(float).tiny)
        sides = (np.ascontiguousarray(X), None, None) if is_dense else ()
        self._rows: Any = sides or (X.data[None], X.indices, X.indptr)
        self._visits = int(READ / max(self._rows[0].size / X.shape[0], 1))

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
    ) -> tuple[Array, float, float]:
        """A round over single multipliers of the given samples, which updates α in place.

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

        Returns
        -------
        w, b : array, float
        change : float
            The largest change of a margin by its own sample's step in the last epoch.
        """
        alpha, w, b = point
        v = w.copy()
        base, shift, change = _epochs(
            *self._rows,
            problem.sign,
            problem.offset,
            problem.weight,
            self._curvature,
            self._across,
            self._middle,
            _arrays(pieces),
            self.lam,
            self.ease,
            alpha,
            v,
            b,
            places,
            seed,
            target,
            min(ROUND * places.size, self._visits),
        )
        return v + shift * self._mean, base - shift * self._middle, change

    def move_jointly(
        self,
        problem: ScoreProblem,
        pieces: Pieces,
        point: tuple[Array, Array, float],
        u: Array,
        places: Index,
        precision: int,
        deadline: Deadline,
    ) -> tuple[Array, float, bool]:
        r"""Move the multipliers that are strictly between their bounds jointly, in place.

        With z_i the point where the pieces have slope α_i/d_i, and z_i' = 1/(2a d_i) on a parabola,
        0 at a knot, Newton's step δ solves

            (S Z Zᵀ S/λ + diag(z')) δ = u − z,

        by conjugate gradients. The multipliers move along the path t ↦ α + tδ, projected to the
        bounds, to the first of t = 1, ½, ¼, … at which the dual has decreased enough, or to the
        first bound. Those that meet a bound are left out of the next step.

        Parameters
        ----------
        problem : ScoreProblem
        pieces : Pieces
        point : tuple (α, w, b)
        u : array of shape (n,)
            The margins.
        places : int array
            The samples whose multipliers are not the slopes of straight pieces.
        precision : int
            The factor on the iterations, and on how firmly the intercept is held: loosely far from
            the solution, since the bounds met change it.
        deadline : Deadline
            No step is begun after it.

        Returns
        -------
        w, b : array, float
        free : bool
            True if the last step met no bound.

        References
        ----------
        Moré, Toraldo (1991), On the solution of large quadratic programming problems with bound
        constraints, SIAM J. Optim. 1.
        """
        alpha, w, b = point
        place, rate, low, high = pieces.inverse(alpha[places], problem.weight[places])
        inside = (low < alpha[places]) & (alpha[places] < high)
        free, place, rate = places[inside], place[inside], rate[inside]
        low, high = low[inside], high[inside]
        if np.count_nonzero(rate == 0) > WIDEST * (self._mean.size + 1):
            return w, b, False
        ease = precision * self.ease / self.lam
        shift = -ease * self.left(problem, alpha)
        b, r = b + shift, u[free] - place + shift * problem.sign[free]
        for _ in range(LEGS):
            if free.size == 0 or deadline.left == 0:
                break
            room = low - alpha[free], high - alpha[free]
            step, r, g, total = self._projected(free, problem.sign[free], rate, room, r, precision)
            w, b = w - g / self.lam, b - ease * total
            met = (step <= room[0]) | (step >= room[1])
            alpha[free] = np.clip(alpha[free] + step, low, high)
            if not np.any(met):
                return w, b, True
            free, rate, low, high, r = free[~met], rate[~met], low[~met], high[~met], r[~met]
        return w, b, False

    def _projected(
        self,
        free: Index,
        sign: Array,
        rate: Array,
        room: tuple[Array, Array],
        r: Array,
        precision: int,
    ) -> tuple[Array, Array, Array, float]:
        """The step δ of some multipliers within their room, the residual after it, Zᵀsδ and s·δ."""
        ease, g, change = precision * self.ease, np.empty(self._mean.size), np.empty(free.size)
        most = max(1, min(precision * FEW, self._visits // (2 * free.size)))
        system = (*self._rows, free, sign, self._mean, self.lam, ease, rate)
        newton = _conjugate_gradients(
            *system, self._curvature[free] + rate, r, INNER / precision, most
        )
        step, total = _projected_search(*system, newton, *room, r, g)
        _forward(*self._rows, free, g, self._mean, ease * total, change)
        return step, r - sign * change / self.lam - rate * step, g, total


# ---- the solver ----------------------------------------------------------------------------------

ENOUGH = 0.5  # a round ends at this share of the tolerance
PATIENCE = 30  # most rounds in a row that leave more than half of the gap


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
    for a round. After each round the duality gap is computed, and the free multipliers move
    jointly, by conjugate gradients. A free intercept is the coefficient of a constant column that
    is penalised towards its last value (proximal point method), so that it is not penalised in the
    end. If the gap stays, the method of multipliers goes on unless its systems are large.

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

    @staticmethod
    def loosest(risk: Risk) -> float:
        """A loose tolerance for every risk."""
        return LOOSEST

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        assert risk.base.pieces is not None
        self._pieces = risk.base.pieces
        self._steps = DualSteps(self.scores.X, self.scores.lam, self.scores.free)
        self._points: list[Point | None] = [None] * self.scores.signs.shape[1]

    def multipliers(self, problem: WeightedRisk, theta: Array) -> Array:
        """The multipliers of the last points, 0 for scores without one."""
        none = np.zeros(len(self.scores.signs))
        return np.column_stack([none if point is None else point.alpha for point in self._points])

    def score(
        self, k: int, problem: ScoreProblem, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        """The minimiser, certified by its duality gap."""
        start = self._point(k, problem, w, b)
        alpha = start.alpha
        w, b, gap = self._descend(problem, start, tolerance)
        if gap > tolerance and self._may_finish:
            w, b, alpha = self._finished(k, problem, (w, b, alpha), tolerance)
            gap = tolerance
        u = problem.margins(w, b)
        reach = float(np.max(np.abs(u - start.u), initial=0.0))
        self._points[k] = Point(alpha, problem.weight, w, b, u, reach)
        if gap > tolerance:
            self.deadline.check("dual coordinate descent", (w, b))
            stayed = f"the duality gap stayed at {gap:.3g}, relative"
            raise SubproblemError("failed", stayed, point=(w, b))
        return w, b

    @property
    def _may_finish(self) -> bool:
        """True if the method of multipliers may go on: its steps cost less than the rounds did."""
        return min(self.scores.X.shape) <= FEW_COEFFICIENTS and self.deadline.left != 0

    @cached_property
    def _finisher(self) -> AugmentedLagrangianSolver:
        return AugmentedLagrangianSolver(self.risk)

    def _finished(
        self, k: int, problem: ScoreProblem, point: tuple[Array, float, Array], tolerance: float
    ) -> tuple[Array, float, Array]:
        """The minimiser (w, b, α) by the method of multipliers, from where rounds were slow."""
        w, b, alpha = point
        finisher = self._finisher
        finisher.deadline, finisher.alpha[:, k] = self.deadline, alpha
        w, b = finisher.score(k, problem, w, b, tolerance)
        return w, b, finisher.alpha[:, k].copy()

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
    ) -> tuple[Array, float, float]:
        """The lowest (w, b) of rounds, and its gap relative to 1 + |value|.

        The gap of a point to its own multipliers is Σ_i f_i(u_i) + f_i*(α_i) − α_i u_i, plus a term
        for the residual slope of the intercept. The rounds end with a gap within the tolerance, at
        the deadline, or where the gap stays.
        """
        steps, pieces, alpha, u, b = self._steps, self._pieces, start.alpha, start.u, start.b
        live = np.flatnonzero(problem.weight > 0)
        unit = max(1.0, float(np.max(problem.offset)), -float(np.min(problem.offset)))
        w, left = steps.coefficients(problem, alpha)
        value, off, away = _inspected(pieces, problem, alpha, u)
        size, places = 1 + abs(value), live[(off | (away <= WIDER * start.reach))[live]]
        best, lowest, precision = (w, b), np.inf, 1
        gap, halved, since = np.inf, np.inf, 0
        for number in range(MOST_STEPS):
            b -= steps.ease / steps.lam * left
            target = ENOUGH * tolerance * size
            w, b, change = steps.descend(problem, pieces, (alpha, w, b), places, number, target)
            left = steps.left(problem, alpha)
            u = problem.margins(w, b)
            value, off, away = _inspected(pieces, problem, alpha, u)
            value += steps.lam / 2 * float(w @ w)
            if value < lowest:
                best, lowest = (w, b), value
            size = 1 + abs(lowest)
            i = live[off[live]]
            missed = float(problem.weight[i] @ pieces.missed(u[i], alpha[i] / problem.weight[i]))
            missed += RADIUS * abs(left) * (unit + abs(b) + steps.reach(w))
            gap = (lowest - (value - missed)) / size
            if gap <= halved / 2:
                halved, since = gap, number
            if gap <= tolerance or number - since == PATIENCE or self.deadline.left == 0:
                break
            point = alpha, w, b
            w, b, is_free = steps.move_jointly(
                problem, pieces, point, u, i, precision, self.deadline
            )
            if self.deadline.left == 0:
                break
            precision = min(2 * precision, FINEST) if is_free else 1
            left = steps.left(problem, alpha)
            places = live[(off | (away <= WIDE * change))[live]]
        return *best, gap


def _inspected(
    pieces: Pieces, problem: ScoreProblem, alpha: Array, u: Array
) -> tuple[float, Mask, Array]:
    """The value of losses and tilts, the mask of multipliers, and the distances to the knots."""
    loss, off, away = np.empty(u.size), np.empty(u.size, dtype=bool), np.empty(u.size)
    _inspect(_arrays(pieces), problem.weight, alpha, u, loss, off, away)
    return float(problem.weight @ loss + problem.tilt @ u), off, away


def _arrays(pieces: Pieces) -> tuple[Array, ...]:
    """The knots and the coefficients a, b and c of the pieces au² + bu + c."""
    parts = pieces.knots, pieces.quadratic, pieces.linear, pieces.constant
    return tuple(np.array(part, dtype=float) for part in parts)
