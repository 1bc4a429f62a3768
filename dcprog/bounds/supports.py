"""Lines below a convex loss."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss

__all__ = ["supporting_lines"]


def supporting_lines(
    base: ConvexLoss, u: Array, low: Array, high: Array, share: float
) -> tuple[Array, Array, Array]:
    """Lines slope·v + level ≤ base(v) near u, and the curvature that Newton's method is to see.

    Tangents where the loss is smooth. Otherwise the slope is that of the secant between two points
    beside u, a slope of the loss somewhere between them, so that kinks are rounded off; where the
    tangents at the two points meet says how low a line of that slope has to lie.

    Parameters
    ----------
    base : ConvexLoss
    u : array
    low, high : arrays of the same shape
        The range on which it counts.
    share : float
        The secant is as long as that share of the range.

    Returns
    -------
    slope, level, bend : arrays of the same shape

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.supports import supporting_lines
    >>> from dcprog.losses import hinge
    >>> supporting_lines(hinge(), *map(np.array, ([1.0], [0.0], [2.0])), 0.5)[:2]
    (array([-0.5]), array([0.5]))
    """
    if base.is_smooth:
        slope = base.slope(u)
        return slope, base(u) - slope * u, base.curvature(u)
    reach = 0.5 * share * (high - low)
    a, b = np.maximum(u - reach, low), np.minimum(u + reach, high)
    left, right, falls, rises = base(a), base(b), base.slope(a), base.slope(b)
    with np.errstate(all="ignore"):
        span = b - a
        slope = np.where(span > 0, (right - left) / span, falls)
        slope = np.clip(slope, falls, np.maximum(rises, falls))
        meet = (left - right + rises * b - falls * a) / (rises - falls)
        bend = np.where(span > 0, (rises - falls) / span, 0.0)
    meet = np.clip(np.where(rises > falls, meet, a), a, b)
    return slope, left + falls * (meet - a) - slope * meet, bend
