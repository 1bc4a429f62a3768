"""Sequential minimal optimisation of a kernel machine's dual, stopped by the duality gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.kernel_matrix import symmetric_product
from dcprog.solvers.kernel.schur_complement import LOOPS, SchurComplement
from dcprog.solvers.kernel.smo_dual import Dual, warm

__all__ = ["DualPoint", "minimise_dual"]

Index = npt.NDArray[np.intp]
STEPS = 15
SIGN = 1e-10
FEW = 0.4


def times(K: Array, change: Array) -> Array:
    """The product K·change, which reads only the rows of nonzero entries if they are few."""
    moved = np.flatnonzero(change)
    if moved.size < FEW * len(K):
        return np.asarray(import_module(LOOPS).combined(K, moved, change[moved]))
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
    slack = SIGN * float(np.max(np.abs(dual.q), initial=0.0))
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


# ----------------------------------------------------------------------------------------------

Product = Callable[[Array], Array]
MOST = 1000, 1_000_000  # most pairs: per variable, or in all, whichever is more
ROUNDS = 200
ROUNDING = 1e-15
NOISE = 1e-15  # a sweep that gains little below this violation may have reached rounding errors
STALLS = 3  # the descent ends after this many such sweeps
CANCELLED = 1e-3
SHRINK = 0.7  # a working set below this share of all variables uses selected rows of K,
COPIED = 3  # which are copied after this many pairs per variable
ROUGH = 0.1  # a sweep over many variables ends at this share of the violation
READY = 2e-2  # Newton's method starts at a violation of this share of the spread of q,
PATIENCE = 10  # in any case after this many pairs per variable,
LATER = 0.1  # and after a failure at this share of the violation
PROXIMAL = 20  # Newton's method takes at most this many proximal steps,
SMOOTHED = 1e-9  # with a δ of at least this share of the largest K_ii,
BETTER = 0.1  # and succeeds if it reduces the violation to this share


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
        The result for an earlier dual with the same K and samples, whose Kc and factor are reused.
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
        max_iter = max(MOST[0] * dual.q.size, MOST[1])
    descent = _Descent(K, dual, selection, max_iter, after, deadline or Deadline())
    v = warm(dual, np.zeros(dual.q.size) if start is None else start)
    known = after
    for _ in range(ROUNDS):
        c = dual.coefficients(v, len(K))
        Kc, known = _product(K, c, product, known), None
        g = dual.gradient(Kc)
        b = dual.intercept(g)
        gap, apart = dual.gap(v, g, b), dual.violation(v, g)
        allowed = tol * (1 + abs(dual.primal(c, Kc, g, b)))
        if gap <= allowed if violation is None else apart <= violation:
            return DualPoint(v, c, b, gap, descent.n_iter, Kc, descent.system)
        rounding = ROUNDING * (float(np.max(np.abs(Kc))) + float(np.max(np.abs(dual.q))))
        if descent.n_iter >= max_iter or apart <= rounding or descent.stalls == STALLS:
            break
        aim = apart * min(0.5, 0.3 * allowed / gap) if violation is None else violation
        v = descent.run(v, Kc, aim)
    raise SubproblemError(
        "failed", f"SMO's duality gap stayed at {gap:.3g} after {descent.n_iter} pairs"
    )


def _product(K: Array, c: Array, product: Product | None, known: DualPoint | None) -> Array:
    """The product Kc, updated from a known one unless that loses too many digits."""
    if known is not None:
        Kc = known.Kc + times(K, c - known.c)
        if np.max(np.abs(Kc)) >= CANCELLED * np.max(np.abs(known.Kc)):
            return Kc
    return symmetric_product(K, c) if product is None else product(c)


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
            self.deadline.check("SMO")
            if self.second and (apart <= self.ready or self.n_iter > tried + PATIENCE * v.size):
                tried = self.n_iter
                v, Kc, settled = self._stepped(v, Kc, apart)
                if settled:
                    return v
            before, pairs, former = v, self.n_iter, apart
            v = self._sweep(v, dual.gradient(Kc), apart, max(aim, 0.9 * self.ready))
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
        return NOISE * self.size * float(np.linalg.norm(c))

    def _stepped(self, v: Array, Kc: Array, apart: float) -> tuple[Array, Array, bool]:
        """The point after proximal steps, and True if the violation fell to a tenth."""
        dual, system = self.dual, self.system
        for _ in range(PROXIMAL):
            new = proximal(system, dual, v, Kc)
            if new is None:
                system.delta = min(100 * system.delta, self.size)
                continue
            system.delta = max(system.delta / 10, SMOOTHED * self.size)
            end, Kc = new
            v = warm(dual, end)
            Kc += times(self.K, dual.coefficients(v - end, len(Kc)))
            if dual.violation(v, dual.gradient(Kc)) <= BETTER * apart:
                return v, Kc, True
        self.ready = LATER * apart
        return v, Kc, False

    def _sweep(self, v: Array, g: Array, apart: float, aim: float) -> Array:
        """Minimise over a working set of variables by pairs."""
        dual, v = self.dual, v.copy()
        work = dual.loose(v, g) if self.second else np.arange(v.size)
        aim = min(aim, 0.9 * apart)
        if work.size > SHRINK * v.size:
            aim = max(aim, ROUGH * apart) if self.second else aim
            work = np.arange(v.size)
        places = dual.sample[work]
        whole = work.size == len(self.K) == v.size
        parts = [np.ascontiguousarray(array[work]) for array in (dual.q, dual.lo, dual.hi, v, g)]
        left = self.max_iter - self.n_iter
        limited = self.second or self.deadline.end is not None
        left = min(left, PATIENCE * v.size + 1) if limited else left
        few = left if whole else min(left, COPIED * work.size)
        loops = import_module(LOOPS)
        moved = loops.descend(self.K, places, *parts, whole, self.second, aim, few)
        if few <= moved < left:
            part, places = loops.block(self.K, places), np.arange(work.size)
            moved += loops.descend(part, places, *parts, True, self.second, aim, left - moved)
        self.n_iter += int(moved)
        v[work] = parts[3]
        return v
