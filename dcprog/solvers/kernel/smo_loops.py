"""The loops of SMO, compiled by numba at their first call.

Importing this module imports numba, so that it is imported late.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.solvers.jit import compiled

__all__ = ["block", "combined", "descend", "triangle"]

FLAT = 1e-12  # least curvature of a pair, relative to the largest K_ii
TINY = 1e-290


def _descend(
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
    flat = FLAT * max(np.max(diagonal), TINY)
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


def _block(K: Any, places: Any) -> Any:
    part = np.empty((places.size, places.size))
    for i in range(places.size):
        row = K[places[i]]
        for j in range(places.size):
            part[i, j] = row[places[j]]
    return part


def _triangle(K: Any, places: Any) -> Any:
    part = np.empty((places.size, places.size))
    for i in range(places.size):
        row = K[places[i]]
        for j in range(i + 1):
            part[i, j] = row[places[j]]
    return part


def _combined(K: Any, places: Any, factors: Any) -> Any:
    total = np.zeros(K.shape[1])
    even = places.size - places.size % 4
    for i in range(0, even, 4):  # four rows at a time, for fewer reads and writes of the total
        first, second = K[places[i]], K[places[i + 1]]
        third, fourth = K[places[i + 2]], K[places[i + 3]]
        a, b, c, d = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        for j in range(total.size):
            total[j] += a * first[j] + b * second[j] + (c * third[j] + d * fourth[j])
    for i in range(even, places.size):
        row, factor = K[places[i]], factors[i]
        for j in range(total.size):
            total[j] += factor * row[j]
    return total


descend = compiled(_descend)
block = compiled(_block)
triangle = compiled(_triangle)
combined = compiled(_combined)
