"""Ranges of the margins and the losses of a risk on boxes."""

from __future__ import annotations

import numpy as np

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.rounding import of_terms
from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss, Pieces

__all__ = [
    "base_range",
    "group_range",
    "loss_rounding",
    "piecewise_least",
    "row_range",
    "row_rounding",
    "steepest",
]


def row_range(risk: BoxedRisk, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Bounds of every row's margin on every box (one box per line), rounded outward."""
    middle = (0.5 * (lo + hi)) @ risk.matrix.T
    middle += risk.offset
    reach = (0.5 * (hi - lo)) @ np.abs(risk.matrix).T
    reach += _margin_rounding(risk, lo, hi)
    return middle - reach, middle + reach


def _margin_rounding(risk: BoxedRisk, lo: Array, hi: Array) -> Array:
    """Bounds of the rounding error of each row's margin, wherever θ is in the boxes."""
    largest = np.maximum(np.abs(lo), np.abs(hi)).max(axis=0, initial=0.0)
    return of_terms(risk.size) * (risk.sizes @ largest + np.abs(risk.offset))


def row_rounding(risk: BoxedRisk, lo: Array, hi: Array) -> Array:
    """Bounds of the rounding error that a row of slope 1 adds to a plane, anywhere in the boxes.

    It is the error of the row's margin plus, times the boxes' sides, the error of the plane's
    slopes, which are sums over all rows.
    """
    sides = (hi - lo).max(axis=0, initial=0.0)
    sums = of_terms(risk.groups.size) * (np.abs(risk.matrix) @ sides)
    return sums + _margin_rounding(risk, lo, hi)


def loss_rounding(
    risk: BoxedRisk, base: ConvexLoss, lo: Array, hi: Array, low: Array, high: Array
) -> Array:
    """Bounds of the rounding error of each row's loss and of lines below it.

    The margins lie in [low, high].
    """
    rounding, pieces = row_rounding(risk, lo, hi), base.pieces
    if pieces is None or any(pieces.quadratic):
        return rounding * steepest(base, low.min(axis=0), high.max(axis=0))
    knots = np.abs(pieces.knots).max(initial=0.0)
    return (rounding + of_terms(3) * knots) * np.abs(pieces.linear).max()


def base_range(base: ConvexLoss, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of a convex loss on [low, high]: exact above, and below where it is monotone there.

    If it falls and rises again, the lower bound is its infimum, or the value at which the tangents
    at the ends meet.
    """
    with np.errstate(all="ignore"):
        left, right = base(low), base(high)
        falls, rises = base.slope(low), base.slope(high)
        bottom = np.where(falls >= 0, left, np.where(rises <= 0, right, base.lower))
        turns = (falls < 0) & (rises > 0)
        if base.pieces is None and np.any(turns):  # the infimum may be a bound of it only
            fall = falls * rises * (high - low)
            size = np.abs(left) * rises - np.abs(right) * falls - fall
            meet = left * rises - right * falls + fall - of_terms(3) * size
            meet = meet / (rises - falls)
            bottom = np.where(turns & (meet > base.lower), meet, bottom)
        top = np.maximum(left, right)
    top = np.where(np.isnan(top), np.inf, top)
    return np.where(np.isnan(bottom), base.lower, bottom), top


def steepest(base: ConvexLoss, low: Array, high: Array) -> Array:
    """The largest absolute slope of a convex loss on [low, high]."""
    with np.errstate(all="ignore"):
        return np.maximum(np.abs(base.slope(low)), np.abs(base.slope(high)))


def group_range(risk: BoxedRisk, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of the combined losses of every group, from bounds of the margins."""
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
