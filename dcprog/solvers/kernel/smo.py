"""Sequential minimal optimisation for kernel machines with piecewise linear losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.jit import compiled
from dcprog.foundation.kernel_matrix import symmetric_product
from dcprog.foundation.tolerances import FORCING, KNOWN_DIGITS, MOST_STEPS, ROUNDING, STALLS, SUMMED
from dcprog.penalties import kernel_norm
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.kernel.schur_complement import SchurComplement
from dcprog.solvers.protocol import ExactSolver, Solution, Takes, refuse

Index = npt.NDArray[np.intp]


def kernel_ridge(risk: Risk) -> float | None:
    """The λ of a penalty that is (λ/2)aᵀKa of a kernel machine with one score, otherwise None."""
    rows, penalty = risk.scores, risk.penalty
    if rows.gram is not None:
        same = isinstance(penalty, kernel_norm) and penalty.gram.K is rows.kernel
        return float(penalty.lam) if same and penalty.lam > 0 else None
    return penalty.parts().ridge_alone or None


class SmoSolver(ExactSolver):
    r"""Minimise Σ_i d_i base(u_i) + t_i u_i + (λ/2)‖f‖² over f in the kernel's space and a free b.

    A piecewise linear base of slope β₀ on its far left, with jumps δ_j at the kinks κ_j, has the
    dual

    .. math::
        \min \tfrac12 c^\top K c - q \cdot v, \quad \textstyle\sum v = 0, \quad
        c_i = -s_i (d_i β_0 + t_i)/λ + \sum_j v_{ij},

    with v_ij between 0 and −s_i d_i δ_j/λ and q_ij = s_i (κ_j − o_i), for margins or residuals
    u = s f + o: one variable per kink, so n for the hinge and the absolute value, 2n for the
    ε-insensitive loss. Pairs of variables are minimised until the violation is small, then Newton's
    method on the variables between their bounds finishes. The next subproblem, whose weights have
    changed the bounds, starts from the last solution.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base of :func:`~dcprog.rows.kernel.expansion_margins`,
        :func:`~dcprog.rows.kernel.kernel_margins` or their residuals with a free intercept.

    References
    ----------
    Fan, Chen, Lin (2005), Working set selection using second order information for training
    support vector machines, JMLR 6.
    """

    takes = Takes(
        "kinked", rows="kernel", groups="rows", penalized="a free intercept", penalty="any"
    )
    selection: ClassVar[str] = "second"
    max_iter: ClassVar[int | None] = None

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.rows: Any = risk.rows
        lam, pieces = kernel_ridge(risk), risk.base.pieces
        assert lam is not None
        assert pieces is not None
        self.lam = lam
        self.first = pieces.linear[0]
        self.jumps = np.diff(pieces.linear)
        self.knots = np.array(pieces.knots)
        self._last: tuple[Dual, DualPoint] | None = None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the penalty is not the kernel's norm, None if it is."""
        if kernel_ridge(risk) is None:
            return f"its penalty is {risk.penalty!r}, not the kernel's norm"
        return None

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        refuse("smo", shrinkage=problem.shrinkage)
        dual = self._dual(problem)
        gram = self.rows.gram
        try:
            point = minimise_dual(
                self.rows.kernel,
                dual,
                self._start(dual, problem, start),
                tol=tolerance,
                selection=self.selection,
                max_iter=self.max_iter,
                deadline=deadline,
                product=None if gram is None else gram.times,
                after=None if self._last is None else self._last[1],
            )
        except SubproblemError as error:
            error.point = None if error.point is None else self._theta(*error.point)
            raise
        self._last = dual, point
        theta = self._theta(point.c, point.intercept)
        multipliers = self.lam * point.c * self.rows.signs[:, 0] + problem.row_tilts
        return Solution(theta, multipliers, problem.value(theta), point.n_iter)

    def _theta(self, c: Array, intercept: float) -> Array:
        """The vector θ of a kernel machine's coefficients and intercept."""
        coordinates: Array = self.rows.coordinates(c[None, :])
        return np.asarray(self.rows.pack(coordinates, np.array([intercept])))

    def _start(self, dual: Dual, problem: WeightedRisk, start: Array) -> Array:
        """The last solution moved into the new bounds; for the first run θ's coefficients or 0."""
        if self._last is not None:
            return warm(dual, self._last[1].v, self._last[0])
        if self.rows.gram is not None:
            return warm(dual, dual.split(self.rows.unpack(start)[0][0]))
        return warm(dual, np.zeros(dual.q.size))

    def _dual(self, problem: WeightedRisk) -> Dual:
        """The dual of a subproblem; the first v includes the shift of c by the leftmost slope."""
        signs, n = self.rows.signs[:, 0], len(self.rows.kernel)
        offset = np.zeros(n) if self.risk.offset is None else self.risk.offset
        weight, tilt = problem.row_weights / self.lam, problem.row_tilts / self.lam
        at_zero = self.lam * float(weight @ self.risk.base(offset) + tilt @ offset)
        ends = -np.multiply.outer(self.jumps, signs * weight)
        lo, hi = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        shift = -signs * (weight * self.first + tilt)
        lo[0] += shift
        hi[0] += shift
        q = signs * (self.knots[:, None] - offset)
        sample = np.tile(np.arange(n), len(self.knots))
        return Dual(sample, q.ravel(), lo.ravel(), hi.ravel(), self.lam).above(at_zero)


# ---- the dual ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dual:
    r"""The dual  min ½ cᵀKc − q·v  over  lo ≤ v ≤ hi, Σv = 0,  with c_i the sum of sample i's v.

    It belongs to the primal  min (λ/2)cᵀKc + Σ_v λ·max(hi_v r_v, lo_v r_v) + const  over c and b,
    with r_v = q_v − f and f = Kc + b at the sample of v: there is one v for each kink of a loss.

    Attributes
    ----------
    sample : int array of shape (m,)
        The sample of each variable.
    q, lo, hi : arrays of shape (m,)
    lam : float
        The weight λ.
    constant : float
    """

    sample: npt.NDArray[np.intp]
    q: Array
    lo: Array
    hi: Array
    lam: float = 1.0
    constant: float = 0.0

    def above(self, at_zero: float) -> Dual:
        """The dual with the constant set such that the primal has the given value at f = 0."""
        losses = float(np.sum(np.maximum(self.hi * self.q, self.lo * self.q)))
        return replace(self, constant=at_zero - self.lam * losses)

    def coefficients(self, v: Array, n: int) -> Array:
        """The coefficients c of the variables v, of shape (n,)."""
        return v.copy() if v.size == n else np.bincount(self.sample, v, n).astype(float)

    def split(self, c: Array) -> Array:
        """Variables within their bounds that add up to c as far as they can, one kink at a time.

        The variables are those of all samples at the first kink, at the second and so on.
        """
        parts = []
        for lo, hi in zip(self.lo.reshape(-1, c.size), self.hi.reshape(-1, c.size), strict=True):
            parts.append(np.clip(c, lo, hi))
            c = c - parts[-1]
        return np.concatenate(parts)

    def gradient(self, Kc: Array) -> Array:
        """The gradient in v."""
        return Kc[self.sample] - self.q

    def extremes(self, v: Array, g: Array) -> tuple[float, float]:
        """The least gradient of variables below `hi`, and the largest of variables above `lo`."""
        least = np.min(g, where=v < self.hi, initial=np.inf)
        return float(least), float(np.max(g, where=v > self.lo, initial=-np.inf))

    def violation(self, v: Array, g: Array) -> float:
        """The violation of the optimality conditions, 0 at the minimiser."""
        least, most = self.extremes(v, g)
        return max(0.0, most - least)

    def loose(self, v: Array, g: Array) -> npt.NDArray[np.intp]:
        """The variables that are not held at a bound by their gradient."""
        least, most = self.extremes(v, g)
        return np.flatnonzero(~((v >= self.hi) & (g < least) | (v <= self.lo) & (g > most)))

    def intercept(self, g: Array) -> float:
        """The b that minimises the primal for a given c; the middle of an interval of them."""
        order = np.argsort(-g)
        kinks = -g[order]
        slopes = np.cumsum((self.hi - self.lo)[order]) - np.sum(self.hi)
        allowed = SUMMED * float(np.sum(self.hi - self.lo)) * len(g) ** 0.5
        first = min(int(np.searchsorted(slopes, -allowed)), len(g) - 1)
        last = min(int(np.searchsorted(slopes, allowed, side="right")), len(g) - 1)
        return float(kinks[first] + kinks[last]) / 2

    def gap(self, v: Array, g: Array, b: float) -> float:
        """The duality gap at (c, b) and v, as a sum of nonnegative terms."""
        r = -g - b
        return self.lam * float(np.sum(np.where(r > 0, (self.hi - v) * r, (self.lo - v) * r)))

    def primal(self, c: Array, Kc: Array, g: Array, b: float) -> float:
        """The primal value at (c, b)."""
        r = -g - b
        losses = float(np.sum(np.maximum(self.hi * r, self.lo * r)))
        return self.constant + self.lam * (float(c @ Kc) / 2 + losses)


def warm(dual: Dual, v: Array, former: Dual | None = None) -> Array:
    """A feasible point near v: entries at a former bound move to the new one, and Σv = 0.

    Parameters
    ----------
    dual : Dual
    v : array of shape (m,)
    former : Dual, optional
        The dual that v belongs to, with the same variables.

    Returns
    -------
    array of shape (m,)

    Raises
    ------
    SubproblemError
        ``unbounded`` if no v within the bounds sums to 0.
    """
    if np.sum(dual.lo) > 0 or np.sum(dual.hi) < 0:
        raise SubproblemError("unbounded", "the intercept can fall without end")
    if former is not None:
        v = np.where(v >= former.hi, dual.hi, np.where(v <= former.lo, dual.lo, v))
    v = np.clip(v, dual.lo, dual.hi)
    rounding = SUMMED * float(np.sum(np.abs(v)))
    inside = (v > dual.lo) & (v < dual.hi)
    for movable in (inside, np.ones(v.size, dtype=bool)):
        excess = float(np.sum(v))
        room = np.where(movable, v - dual.lo if excess > 0 else dual.hi - v, 0.0)
        total = float(np.sum(room))
        if abs(excess) <= rounding or total == 0:
            continue
        v = np.clip(v - np.sign(excess) * room * min(1.0, abs(excess) / total), dual.lo, dual.hi)
    return v


# ---- pairs of variables, compiled ----------------------------------------------------------------


@compiled
def descend(
    K: Any,
    places: Any,
    q: Any,
    lo: Any,
    hi: Any,
    v: Any,
    g: Any,
    whole: bool,
    second: bool,
    eps: float,
    limit: int,
) -> Any:
    """Move pairs (i, j) by v_i += s, v_j −= s until no pair's gradients differ by more than eps.

    i has the least gradient among the variables that can grow. j has the largest gradient among
    those that can fall (first-order choice), or the largest predicted decrease (g_j − g_i)²/(2κ)
    with κ = K_ii + K_jj − 2K_ij (second-order choice). The step s = (g_j − g_i)/κ minimises along
    the pair, unless a bound comes first.

    Parameters
    ----------
    K : array of shape (n, n)
    places : int array of shape (m,)
        The row of K of each variable.
    q, lo, hi : arrays of shape (m,)
    v, g : arrays of shape (m,)
        A feasible point and its gradient Kv − q (plus a fixed part); both are updated.
    whole : bool
        Whether the places are 0, 1, …, n − 1.
    second : bool
        Whether to use the second-order choice.
    eps : float
        The tolerance of the gradients' differences.
    limit : int
        The most pairs.

    Returns
    -------
    int
        The number of pairs moved.

    References
    ----------
    Fan, Chen, Lin (2005), Working set selection using second order information for training
    support vector machines, JMLR 6.
    """
    n = q.size
    diagonal, gains, row_i, row_j = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for k in range(n):
        diagonal[k] = K[places[k], places[k]]
    flat = ROUNDING * max(np.max(diagonal), np.finfo(np.float64).tiny / ROUNDING)
    n_iter = 0
    while True:
        i, j, least, most = -1, -1, np.inf, -np.inf
        for k in range(n):
            if v[k] < hi[k] and g[k] < least:
                least, i = g[k], k
            if v[k] > lo[k] and g[k] > most:
                most, j = g[k], k
        if i < 0 or j < 0 or most - least <= eps or n_iter >= limit:
            return n_iter
        Ki = K[places[i]]
        if not whole:
            for k in range(n):
                row_i[k] = Ki[places[k]]
            Ki = row_i
        if second:
            Kii = diagonal[i]
            for k in range(n):  # without branches, so that the compiler can vectorise the loop
                apart = g[k] - least
                apart = apart if v[k] > lo[k] else 0.0
                apart = apart if apart > 0 else 0.0
                curvature = Kii + diagonal[k] - 2 * Ki[k]
                gains[k] = apart * apart / (curvature if curvature > flat else flat)
            best = 0.0
            for k in range(n):
                if gains[k] > best:
                    best, j = gains[k], k
        Kj = K[places[j]]
        if not whole:
            for k in range(n):
                row_j[k] = Kj[places[k]]
            Kj = row_j
        curvature = diagonal[i] + diagonal[j] - 2 * Ki[j]
        step = (g[j] - least) / (curvature if curvature > flat else flat)
        up, down = hi[i] - v[i], v[j] - lo[j]
        if step < up and step < down:
            v[i] += step
            v[j] -= step
        elif up <= down:
            step = up
            v[i] = hi[i]
            v[j] = lo[j] if up == down else v[j] - step
        else:
            step = down
            v[j] = lo[j]
            v[i] += step
        for k in range(n):
            g[k] += step * (Ki[k] - Kj[k])
        n_iter += 1


@compiled
def combined(K: Any, places: Any, factors: Any) -> Any:
    """The sum of some rows of K, each times a factor."""
    total = np.zeros(K.shape[1])
    even = places.size - places.size % 2
    for i in range(0, even, 2):  # two rows at a time, for fewer reads and writes of the total
        first, second, a, b = K[places[i]], K[places[i + 1]], factors[i], factors[i + 1]
        for j in range(total.size):
            total[j] += a * first[j] + b * second[j]
    if even < places.size:
        total += factors[even] * K[places[even]]
    return total


# ---- Newton's method on the free variables -------------------------------------------------------

STEPS = 20  # most proximal steps of Newton's method, and most sets of free variables in one
FEW = 0.5  # a product with fewer rows of K, as a share, reads these rows only


def times(K: Array, change: Array) -> Array:
    """The product K·change, which reads only the rows of nonzero entries if they are few."""
    moved = np.flatnonzero(change)
    if moved.size < FEW * len(K):
        return np.asarray(combined(K, moved, change[moved]))
    return symmetric_product(K, change)


def proximal(
    system: SchurComplement, dual: Dual, v: Array, Kc: Array
) -> tuple[Array, Array] | None:
    r"""The minimiser of the dual plus (δ/2)‖v − v₀‖², by a primal-dual active set method.

    The variables F between their bounds solve (K_FF + δI) p + ν1 = −g_F, Σp = −Σv. Variables that
    leave their bounds are fixed there; fixed ones whose slope points inwards are freed. When no
    variable changes its set, v is the minimiser up to rounding. δ keeps the system regular if K is
    singular; a larger δ makes the sets converge more reliably.

    Parameters
    ----------
    system : SchurComplement
        The system with K and δ > 0.
    dual : Dual
    v : array of shape (m,)
        The centre v₀.
    Kc : array of shape (n,)
        K times the coefficients of v₀.

    Returns
    -------
    v, Kc : arrays, or None
        None if the sets do not converge.

    References
    ----------
    Hintermüller, Ito, Kunisch (2002), The primal-dual active set strategy as a semismooth Newton
    method, SIAM J. Optim. 13.
    """
    K, delta = system.K, system.delta
    start, v, Kc = v, v.copy(), Kc.copy()
    free = (v > dual.lo) & (v < dual.hi)
    movable = dual.lo < dual.hi
    slack = KNOWN_DIGITS * float(np.max(np.abs(dual.q), initial=0.0))
    last = v.size + 1
    for _ in range(STEPS):
        inside = np.flatnonzero(free)
        slope = dual.gradient(Kc) + delta * (v - start)
        step = _newton_step(system, inside, slope[inside], float(np.sum(v)))
        if step is None:
            return None
        p, nu = step
        v[inside] += p
        Kc += times(K, np.bincount(dual.sample[inside], p, len(K)).astype(float))
        slope = dual.gradient(Kc) + delta * (v - start) + nu
        low, high = free & (v <= dual.lo), free & (v >= dual.hi)
        freed = ~free & ((v >= dual.hi) & (slope > slack) | (v <= dual.lo) & (slope < -slack))
        freed &= movable
        changes = int(np.count_nonzero(low) + np.count_nonzero(high) + np.count_nonzero(freed))
        if changes == 0:
            return v, Kc
        if changes > last:
            return None
        last = changes
        held = np.where(low, dual.lo, np.where(high, dual.hi, v))
        Kc += times(K, dual.coefficients(held - v, len(K)))
        v = held
        free = free & ~low & ~high | freed
    return None


def _newton_step(
    system: SchurComplement, free: Index, slope: Array, excess: float
) -> tuple[Array, float] | None:
    """The step p and the multiplier ν; None without free variables or if K is indefinite."""
    if free.size == 0:
        return None
    solution = system.solve(free, np.column_stack([-slope, np.ones(free.size)]))
    if solution is None:
        return None
    towards, ones = solution.T
    nu = (float(np.sum(towards)) + excess) / float(np.sum(ones))
    p = towards - nu * ones
    return p - (float(np.sum(p)) + excess) / p.size, nu  # corrects the rounding error of Σv


# ---- the descent ---------------------------------------------------------------------------------

Product = Callable[[Array], Array]
MOST = 1000  # most pairs for each variable; at least MOST variables are counted
PATIENCE = 10  # Newton's method is tried after this many pairs per variable,
READY = 2e-2  # or once the violation is at most this share of the spread of q
SMOOTHED = 1e-9  # least δ of Newton's method, relative to the largest K_ii


@dataclass(frozen=True)
class DualPoint:
    """The result of :func:`minimise_dual`.

    Attributes
    ----------
    v, c : arrays
        The variables, and the coefficients of the samples.
    intercept : float
        The b that minimises the primal for c.
    gap : float
        The duality gap.
    n_iter : int
        The number of pairs moved.
    Kc : array
    system : SchurComplement
        The system of Newton's steps.
    """

    v: Array
    c: Array
    intercept: float
    gap: float
    n_iter: int
    Kc: Array = field(repr=False)
    system: SchurComplement = field(repr=False)


def minimise_dual(
    K: Array,
    dual: Dual,
    start: Array | None = None,
    *,
    tol: float = 1e-8,
    violation: float | None = None,
    selection: str = "second",
    product: Product | None = None,
    after: DualPoint | None = None,
    max_iter: int | None = None,
    deadline: Deadline | None = None,
) -> DualPoint:
    """Minimise a dual by pairs of variables.

    Parameters
    ----------
    K : array of shape (n, n)
        A symmetric positive semidefinite matrix, float64 in C order.
    dual : Dual
    start : array of shape (m,), optional
        By default a feasible point near 0.
    tol : float, default 1e-8
        The tolerance of the duality gap, relative to 1 + |primal value|.
    violation : float, optional
        Stop if the optimality conditions are violated by at most this, whatever the gap.
    selection : {"second", "first"}, default "second"
        ``"second"``: the second variable of a pair has the largest predicted decrease, the pairs
        come from a working set without variables held at a bound by their gradient, and Newton's
        method on the free variables finishes. ``"first"``: always the most violating pair.
    product : callable, optional
        A function c → Kc; by default a matrix product.
    after : DualPoint, optional
        The result for an earlier dual with the same K and samples, whose factor is reused.
    max_iter : int, optional
        The most pairs; by default a thousand per variable, and at least 10⁶.
    deadline : Deadline, optional

    Returns
    -------
    DualPoint

    Raises
    ------
    SubproblemError
        ``failed`` if the gap stays above the tolerance, ``unbounded`` if no point is feasible.

    References
    ----------
    Fan, Chen, Lin (2005), Working set selection using second order information for training
    support vector machines, JMLR 6. Keerthi, Shevade, Bhattacharyya, Murthy (2001), Improvements
    to Platt's SMO algorithm for SVM classifier design, Neural Computation 13.
    """
    if max_iter is None:
        max_iter = MOST * max(dual.q.size, MOST)
    descent = _Descent(K, dual, selection, max_iter, after, deadline or Deadline())
    v = warm(dual, np.zeros(dual.q.size) if start is None else start)
    for _ in range(MOST_STEPS):
        c = dual.coefficients(v, len(K))
        Kc = symmetric_product(K, c) if product is None else product(c)
        g = dual.gradient(Kc)
        b = dual.intercept(g)
        gap, apart = dual.gap(v, g, b), dual.violation(v, g)
        allowed = tol * (1 + abs(dual.primal(c, Kc, g, b)))
        if gap <= allowed if violation is None else apart <= violation:
            return DualPoint(v, c, b, gap, descent.n_iter, Kc, descent.system)
        rounding = SUMMED * (float(np.max(np.abs(Kc))) + float(np.max(np.abs(dual.q))))
        if descent.n_iter >= max_iter or apart <= rounding or descent.stalls == STALLS:
            break
        aim = apart / 2 * min(1.0, allowed / gap) if violation is None else violation
        v = descent.run(v, Kc, aim)
    stayed = f"SMO's duality gap stayed at {gap:.3g} after {descent.n_iter} pairs"
    raise SubproblemError("failed", stayed, point=(c, b))


class _Descent:
    """Sweeps of pairs, and Newton steps, from a point with known Kc to a given violation."""

    def __init__(
        self,
        K: Array,
        dual: Dual,
        selection: str,
        max_iter: int,
        after: DualPoint | None,
        deadline: Deadline,
    ) -> None:
        self.deadline = deadline
        self.K = K
        self.dual = dual
        self.second = selection == "second"
        self.max_iter = max_iter
        self.n_iter = 0
        self.stalls = 0
        self.size = float(np.max(np.diag(K)))
        if after is None:
            self.system = SchurComplement(K, dual.sample, SMOOTHED * self.size)
        else:
            self.system = after.system
        self.ready = READY * float(np.ptp(dual.q)) if self.second else 0.0

    def run(self, v: Array, Kc: Array, aim: float) -> Array:
        """Variables whose violation is within the aim, up to rounding errors of Kc."""
        dual, Kc = self.dual, Kc.copy()
        apart, moves = dual.violation(v, dual.gradient(Kc)), True
        tried = self.n_iter
        while apart > aim and moves and self.n_iter < self.max_iter:
            c, g = dual.coefficients(v, len(Kc)), dual.gradient(Kc)
            self.deadline.check("SMO", (c, dual.intercept(g)))
            if self.second and (apart <= self.ready or self.n_iter > tried + PATIENCE * v.size):
                tried = self.n_iter
                v, Kc, settled = self._stepped(v, Kc, apart)
                if settled:
                    return v
            before, pairs, former = v, self.n_iter, apart
            v = self._sweep(v, dual.gradient(Kc), apart, max(aim, self.ready))
            moves = self.n_iter > pairs
            Kc += times(self.K, dual.coefficients(v - before, len(Kc)))
            apart = dual.violation(v, dual.gradient(Kc))
            if apart > former / 2 and apart <= self._noise(v):
                self.stalls += 1
                break
        return v

    def _noise(self, v: Array) -> float:
        """A rough size of the rounding errors in Kc."""
        c = self.dual.coefficients(v, len(self.K))
        return SUMMED * self.size * float(np.linalg.norm(c))

    def _stepped(self, v: Array, Kc: Array, apart: float) -> tuple[Array, Array, bool]:
        """The point after proximal steps, and True if the violation fell to FORCING of it."""
        dual, system = self.dual, self.system
        for _ in range(STEPS):
            new = proximal(system, dual, v, Kc)
            if new is None:
                system.delta = min(100 * system.delta, self.size)
                continue
            system.delta = max(system.delta / 10, SMOOTHED * self.size)
            end, Kc = new
            v = warm(dual, end)
            Kc += times(self.K, dual.coefficients(v - end, len(Kc)))
            if dual.violation(v, dual.gradient(Kc)) <= FORCING * apart:
                return v, Kc, True
        self.ready = FORCING * apart
        return v, Kc, False

    def _sweep(self, v: Array, g: Array, apart: float, aim: float) -> Array:
        """Minimise over a working set of variables by pairs."""
        dual, v = self.dual, v.copy()
        work = dual.loose(v, g) if self.second else np.arange(v.size)
        aim = min(aim, apart / 2)
        if work.size > FEW * v.size:
            aim = max(aim, FORCING * apart) if self.second else aim
            work = np.arange(v.size)
        places = dual.sample[work]
        whole = work.size == len(self.K) == v.size
        parts = [np.ascontiguousarray(array[work]) for array in (dual.q, dual.lo, dual.hi, v, g)]
        left = self.max_iter - self.n_iter
        left = min(left, PATIENCE * v.size + 1)
        self.n_iter += int(descend(self.K, places, *parts, whole, self.second, aim, left))
        v[work] = parts[3]
        return v
