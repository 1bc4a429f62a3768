"""Between what the margins and the losses of a risk lie on boxes."""

from __future__ import annotations

import numpy as np

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss, Pieces

__all__ = ["base_range", "group_range", "piecewise_least", "row_range"]


def row_range(matrix: Array, offset: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
    """The least and the largest margin of every row on every box (a line each)."""
    middle = (0.5 * (lo + hi)) @ matrix.T + offset
    reach = (0.5 * (hi - lo)) @ np.abs(matrix).T
    return middle - reach, middle + reach


def base_range(base: ConvexLoss, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of a convex loss on [low, high]: exact above, and below where it is monotone there.

    Where it falls and rises again: its infimum, or where the tangents at the ends meet.
    """
    with np.errstate(all="ignore"):
        left, right = base(low), base(high)
        falls, rises = base.slope(low), base.slope(high)
        bottom = np.where(falls >= 0, left, np.where(rises <= 0, right, base.lower))
        turns = (falls < 0) & (rises > 0)
        if base.pieces is None and np.any(turns):  # the infimum may be a bound of it only
            meet = (left * rises - right * falls + falls * rises * (high - low)) / (rises - falls)
            bottom = np.where(turns & (meet > base.lower), meet, bottom)
        top = np.maximum(left, right)
    top = np.where(np.isnan(top), np.inf, top)
    return np.where(np.isnan(bottom), base.lower, bottom), top


def group_range(risk: BoxedRisk, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of the combined losses of every group, from those of the margins."""
    bottom, top = base_range(risk.base, low, high)
    with np.errstate(invalid="ignore"):
        bottom, top = risk.weights * bottom, risk.weights * top
    free = risk.weights == 0
    if np.any(free):
        bottom[:, free], top[:, free] = 0.0, 0.0
    return risk.combined(bottom), risk.combined(top)


def piecewise_least(pieces: Pieces, low: Array, high: Array) -> Array:
    """The infimum of a piecewise quadratic on [low, high], whose ends may be infinite."""
    edges = np.array([-np.inf, *pieces.knots, np.inf])
    least = np.full(low.shape, np.inf)
    for k, (a, b, c) in enumerate(zip(*pieces._parts, strict=True)):
        left, right = np.maximum(low, edges[k]), np.minimum(high, edges[k + 1])
        vertex = -b / (2 * a) if a > 0 else left
        for point in (left, right, np.clip(vertex, left, right)):
            value = _quadratic(a, b, c, point)
            least = np.where(left <= right, np.minimum(least, value), least)
    return least


def _quadratic(a: float, b: float, c: float, u: Array) -> Array:
    """au² + bu + c, and its limit where u is infinite."""
    with np.errstate(invalid="ignore"):
        growth = np.where(a != 0, a * np.inf, b * np.sign(u) * np.inf) if a or b else c
        return np.where(np.isinf(u), growth, (a * u + b) * u + c)
