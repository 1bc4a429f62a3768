"""Newton steps on the variables between their bounds, which finish SMO."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import symmetric_product
from dcprog.solvers.kernel.loops import loops
from dcprog.solvers.kernel.schur_complement import SchurComplement
from dcprog.solvers.kernel.smo_dual import Dual

__all__ = ["proximal", "times"]

Index = npt.NDArray[np.intp]
STEPS = 15
SIGN = 1e-10
FEW = 0.4


def times(K: Array, change: Array) -> Array:
    """The product K·change, which reads only the rows of nonzero entries if they are few."""
    moved = np.flatnonzero(change)
    if moved.size < FEW * len(K):
        return np.asarray(loops().combined(K, moved, change[moved]))
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
