"""The loops of SMO in NumPy, ten times slower than the compiled ones of ``smo_numba``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["block", "combined", "descend", "triangle"]

FLAT = 1e-12  # least curvature of a pair, relative to the largest K_ii
TINY = 1e-290


def descend(
    K: Array,
    places: npt.NDArray[np.intp],
    q: Array,
    lo: Array,
    hi: Array,
    v: Array,
    g: Array,
    whole: bool,
    second: bool,
    eps: float,
    limit: int,
) -> int:
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
    diagonal = K[places, places]
    flat = FLAT * max(float(np.max(diagonal, initial=0.0)), TINY)
    row = slice(None) if whole else places
    grows, falls = np.where(v < hi, 0.0, np.inf), np.where(v > lo, 0.0, -np.inf)
    for n_iter in range(limit):
        i, j = int(np.argmin(g + grows)), int(np.argmax(g + falls))
        least, most = g[i] + grows[i], g[j] + falls[j]
        if not most - least > eps:
            return n_iter
        Ki = K[places[i]][row]
        if second:
            apart = np.maximum(g + falls - least, 0.0)
            curvature = np.maximum(diagonal[i] + diagonal - 2 * Ki, flat)
            j = int(np.argmax(apart * apart / curvature))
        step = (g[j] - least) / max(diagonal[i] + diagonal[j] - 2 * Ki[j], flat)
        up, down = hi[i] - v[i], v[j] - lo[j]
        step = min(step, up, down)
        v[i] = hi[i] if step == up else v[i] + step
        v[j] = lo[j] if step == down else v[j] - step
        g += step * (Ki - K[places[j]][row])
        for k in (i, j):
            grows[k] = 0.0 if v[k] < hi[k] else np.inf
            falls[k] = 0.0 if v[k] > lo[k] else -np.inf
    return limit


def block(K: Array, places: npt.NDArray[np.intp]) -> Array:
    """The rows and columns of K at the places."""
    return K[np.ix_(places, places)]


def triangle(K: Array, places: npt.NDArray[np.intp]) -> Array:
    """The rows and columns of K at the places, of which only the lower triangle is used."""
    return block(K, places)


def combined(K: Array, places: npt.NDArray[np.intp], factors: Array) -> Array:
    """The linear combination of the rows of K at the places with the given factors."""
    return factors @ K[places]
