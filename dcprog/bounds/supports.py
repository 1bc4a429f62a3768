"""Lines below a convex loss."""

from __future__ import annotations

import numpy as np

from dcprog.bounds.rounding import of_terms
from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss, Pieces

__all__ = ["lines_of_shares", "supporting_lines"]


def supporting_lines(
    base: ConvexLoss, u: Array, at_u: Array, low: Array, high: Array, share: float
) -> tuple[Array, Array, Array]:
    """Lines value + slope·(v − u) ≤ base(v), and the curvatures for Newton's method.

    Tangents where the loss is smooth. Otherwise the slope is that of the secant between two points
    on both sides of u, a slope of the loss somewhere between them, so that kinks are smoothed; the
    point where the tangents at the two points meet determines how low a line of that slope lies.

    Parameters
    ----------
    base : ConvexLoss
    u : array
    at_u, low, high : arrays of the same shape
        The loss at u, and the range of the margins.
    share : float
        The length of the secant over that of the range.

    Returns
    -------
    slope, value, bend : arrays of the same shape
        The lines' slopes, their values at u, and the curvatures.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.supports import supporting_lines
    >>> from dcprog.losses import hinge
    >>> supporting_lines(hinge(), *map(np.array, ([1.2], [0.0], [0.0], [2.0])), 0.5)[:2]
    (array([-0.3]), array([-0.06]))
    """
    if base.is_smooth:
        return base.slope(u), at_u, base.curvature(u)
    reach = 0.5 * share * (high - low)
    pieces = base.pieces
    if pieces is not None and not any(pieces.quadratic):
        return _of_lines(pieces, u, reach)
    a, b = np.maximum(u - reach, low), np.minimum(u + reach, high)
    left, right, falls, rises = base(a), base(b), base.slope(a), base.slope(b)
    with np.errstate(all="ignore"):
        span = b - a
        slope = np.where(span > 0, (right - left) / span, falls)
        slope = np.clip(slope, falls, np.maximum(rises, falls))
        meet = (left - right + rises * b - falls * a) / (rises - falls)
        bend = np.where(span > 0, (rises - falls) / span, 0.0)
    meet = np.clip(np.where(rises > falls, meet, a), a, b)
    fall, rise = falls * (meet - a), slope * (u - meet)
    size = np.abs(left) + np.abs(fall) + np.abs(rise)
    return slope, left + fall + rise - of_terms(3) * size, bend


def _of_lines(pieces: Pieces, u: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Lines below a convex piecewise linear loss, and curvatures of the smoothed loss."""
    with np.errstate(divide="ignore"):
        rate = np.where(reach > 0, 0.5 / reach, 0.0)
    away = [np.where(reach > 0, (u - k) * rate + 0.5, u > k) for k in pieces.knots]
    shares = [np.clip(a, 0.0, 1.0) for a in away]
    slope, value = lines_of_shares(pieces, u, shares)
    bend = np.zeros(u.shape)
    for k, (a, share) in enumerate(zip(away, shares, strict=True)):
        bend += (pieces.linear[k + 1] - pieces.linear[k]) * rate * (a == share)
    return slope, value, bend


def lines_of_shares(pieces: Pieces, u: Array, shares: list[Array]) -> tuple[Array, Array]:
    """Slopes, and values at u, of lines below a convex piecewise linear loss.

    There is a share σ for each knot k: (u − k)₊ ≥ σ(u − k) for every 0 ≤ σ ≤ 1.
    """
    slope = np.full(u.shape, float(pieces.linear[0]))
    value = pieces.linear[0] * u + pieces.constant[0]
    for k, (knot, share) in enumerate(zip(pieces.knots, shares, strict=True)):
        turn = (pieces.linear[k + 1] - pieces.linear[k]) * share
        slope += turn
        value += turn * (u - knot)
    return slope, value
