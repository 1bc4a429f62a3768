"""The loop of SMO in NumPy, against which the compiled one is held."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["descend"]

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
    """As :func:`dcprog.solvers.kernel.smo.descend`."""
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
