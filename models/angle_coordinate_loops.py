"""Compiled passes of the block coordinate ascent; importing this module imports numba."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.solvers.jit import compiled

__all__ = ["passes"]


@compiled
def _exchange(
    code: Array,
    const: Array,
    duals: Array,
    f: Array,
    moved: Array,
    values: Array,
    scale: float,
) -> None:  # pragma: no cover  (compiled)
    """Shift weight from the lowest line with positive weight to the highest until they agree."""
    P, c = code.shape
    for _ in range(4 * P):
        high, low = 0, -1
        for p in range(P):
            values[p] = const[p]
            for a in range(c):
                values[p] += code[p, a] * f[a]
            if values[p] > values[high]:
                high = p
        for p in range(P):
            if duals[p] > 0.0 and (low < 0 or values[p] < values[low]):
                low = p
        apart = values[high] - values[low]
        if low < 0 or apart <= 1e-15 * (1.0 + abs(values[high])):
            return
        curvature = 0.0
        for a in range(c):
            curvature += (code[high, a] - code[low, a]) ** 2 * scale
        step = duals[low]
        if apart < step * curvature:
            step = apart / curvature
        duals[low] -= step
        duals[high] += step
        for a in range(c):
            change = step * (code[high, a] - code[low, a])
            moved[a] += change
            f[a] -= change * scale


@compiled
def passes(
    X: Array,
    squares: Array,
    code: Array,
    const: Array,
    cost: Array,
    duals: Array,
    B: Array,
    inverse: float,
    order: Array,
    rounds: int,
) -> None:  # pragma: no cover  (compiled)
    """Ascend in the multipliers of each sample in turn, `rounds` times.

    Parameters
    ----------
    X : array of shape (n, d)
    squares : array of shape (n,)
        The squared norms ‖x_i‖².
    code, const : arrays of shape (n, q, P, c) and (n, q, P)
    cost : array of shape (n, q)
    duals : array of shape (n, q, P)
        The multipliers μ ≥ 0 with Σ_p μ = cost; updated in place.
    B : array of shape (c, d)
        The coefficients −(linear + Σ μ code ⊗ x)·inverse; updated in place.
    inverse : float
        1/λ.
    order : int array
        The order of the samples.
    rounds : int
    """
    _, q, P, c = code.shape
    d = X.shape[1]
    f, moved, values = np.empty(c), np.empty(c), np.empty(P)
    for _ in range(rounds):
        for i in order:
            for a in range(c):
                moved[a], f[a] = 0.0, 0.0
                for j in range(d):
                    f[a] += B[a, j] * X[i, j]
            for g in range(q):
                if cost[i, g] > 0.0:
                    _exchange(
                        code[i, g], const[i, g], duals[i, g], f, moved, values, squares[i] * inverse
                    )
            for a in range(c):
                if moved[a] != 0.0:
                    for j in range(d):
                        B[a, j] -= moved[a] * inverse * X[i, j]
