"""The end of SMO: Newton steps on the variables between their bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dcprog.solvers.backend import loops
from dcprog.solvers.smo_dual import Dual
from dcprog.tree import Array

__all__ = ["proximal", "times"]

Index = npt.NDArray[np.intp]
STEPS = 15
SIGN = 1e-10
FEW = 0.5


def times(K: Array, change: Array) -> Array:
    """K·change, reading only the rows it needs where they are few."""
    moved = np.flatnonzero(change)
    return loops().combined(K, moved, change[moved]) if moved.size < FEW * len(K) else K @ change


def proximal(K: Array, dual: Dual, v: Array, Kc: Array, delta: float) -> Array | None:
    r"""Minimiser of the dual plus (δ/2)‖v − v₀‖².

    The variables F between their bounds solve (K_FF + δI) p + ν1 = −g_F, Σp = −Σv. Those that
    leave their bounds are held there; those held whose slope points inwards are freed; where
    nothing changes, v is the minimiser, to rounding. δ keeps the system regular where K is not,
    and the larger it is, the more surely the sets settle.

    Parameters
    ----------
    K : array of shape (n, n)
    dual : Dual
    v : array of shape (m,)
        v₀.
    Kc : array of shape (n,)
        K times the coefficients of v₀.
    delta : float
        δ > 0.

    Returns
    -------
    array of shape (m,) or None
        None if the sets do not settle.

    References
    ----------
    Hintermüller, Ito, Kunisch (2002), The primal-dual active set strategy as a semismooth Newton
    method, SIAM J. Optim. 13.
    """
    start, v, Kc = v, v.copy(), Kc.copy()
    free = (v > dual.lo) & (v < dual.hi)
    movable = dual.lo < dual.hi
    slack = SIGN * float(np.max(np.abs(dual.q), initial=0.0))
    last = v.size + 1
    for _ in range(STEPS):
        inside = np.flatnonzero(free)
        slope = dual.gradient(Kc) + delta * (v - start)
        step = _newton_step(K, dual.sample[inside], slope[inside], float(np.sum(v)), delta)
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
            return v
        if changes > last:
            return None
        last = changes
        held = np.where(low, dual.lo, np.where(high, dual.hi, v))
        Kc += times(K, dual.coefficients(held - v, len(K)))
        v = held
        free = free & ~low & ~high | freed
    return None


def _newton_step(
    K: Array, places: Index, slope: Array, excess: float, delta: float
) -> tuple[Array, float] | None:
    """The p and ν of the free variables; None if there are none, or K is indefinite."""
    if places.size == 0:
        return None
    system = loops().triangle(K, places)
    system[np.diag_indices_from(system)] += delta
    try:
        # the transpose is in Fortran's order, which LAPACK takes without a copy
        factor: Any = cho_factor(system.T, lower=False, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    right = np.column_stack([-slope, np.ones(places.size)])
    towards, ones = cho_solve(factor, right, check_finite=False).T
    nu = (float(np.sum(towards)) + excess) / float(np.sum(ones))
    return towards - nu * ones, nu
