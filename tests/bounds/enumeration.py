"""Global minima of tiny risks, by enumeration: code that owes the library nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def ridge_least(A: Array, t: Array, keep: Array, ridge: Array) -> Array:
    """min_θ Σ_kept (t − Aθ)² + ½ Σ ridge θ², for every line of `keep`."""
    H = np.einsum("ki,ia,ib->kab", keep, A, A) * 2 + np.diag(ridge)
    g = 2 * (keep * t) @ A
    theta = np.stack([np.linalg.lstsq(h, b, rcond=None)[0] for h, b in zip(H, g, strict=True)])
    loss = (keep * (t - theta @ A.T) ** 2).sum(axis=1)
    return loss + 0.5 * (ridge * theta**2).sum(axis=1)


def states(n: int) -> Array:
    """All ways to keep or give up n samples."""
    return np.array(list(product([0.0, 1.0], repeat=n)))


def capped_squares(A: Array, t: Array, ridge: Array, cap: float, weight: Array) -> float:
    """min_θ Σ s_i min((t_i − a_i·θ)², cap) + ½ Σ ridge θ²."""
    keep = states(t.size)
    root = np.sqrt(weight)
    kept = ridge_least(A * root[:, None], t * root, keep, ridge)
    return float(np.min(kept + cap * (1 - keep) @ weight))


def trimmed_squares(A: Array, t: Array, ridge: Array, dropped: int) -> float:
    """min_θ of the sum of all but the `dropped` largest (t_i − a_i·θ)², and the ridge."""
    n = t.size
    keep = np.zeros((0, n))
    rows = [np.isin(np.arange(n), kept) for kept in combinations(range(n), n - dropped)]
    keep = np.array(rows, dtype=float)
    return float(np.min(ridge_least(A, t, keep, ridge)))


def capped_squared_hinges(A: Array, ridge: Array, cap: float) -> float:
    """min_θ Σ min((1 − a_i·θ)₊², cap) + ½ Σ ridge θ²: kept and violated, kept and met, given up.

    A sample that is kept and met costs nothing; given up, the cap. Every choice of those that pay
    their square is a ridge problem, whose solution is a point: the least F of all is the minimum.
    """
    n = A.shape[0]
    keep = states(n)
    H = np.einsum("ki,ia,ib->kab", keep, A, A) * 2 + np.diag(ridge)
    theta = np.linalg.solve(H, (2 * keep @ A)[:, :, None])[:, :, 0]
    loss = np.minimum(np.maximum(1 - theta @ A.T, 0) ** 2, cap).sum(axis=1)
    return float(np.min(loss + 0.5 * (ridge * theta**2).sum(axis=1)))


def on_a_line(function: Callable[[float], float], breaks: Array, ridge: float) -> float:
    """min of a function of one number, quadratic with curvature `ridge` between its breaks.

    Every piece has its minimum at an end or where the parabola through it has its vertex.
    """
    f = np.vectorize(function)
    knots = np.unique(breaks)
    span = knots[-1] - knots[0] + 1.0
    edges = np.concatenate([[knots[0] - 1e3 * span], knots, [knots[-1] + 1e3 * span]])
    points = [edges]
    low, high = edges[:-1], edges[1:]
    slope = (f(high) - f(low)) / (high - low)  # = linear part + ridge·middle
    vertex = 0.5 * (low + high) - slope / ridge
    points.append(np.clip(vertex, low, high))
    return float(np.min(f(np.concatenate(points))))
