"""Line searches along a descent direction of a convex function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import (
    ARMIJO,
    BOTTOMLESS,
    FLAT,
    LAST_PLACES,
    MOST_STEPS,
    ROUNDING,
    SUMMED,
)

# A step length is accepted where the slope is at most FLAT of the initial one; a secant step leaves
# at least that share of its bracket on either side.


class Line(Protocol):
    """A convex function h of t ≥ 0 whose slope is negative at 0 and increasing."""

    size: float

    def rise(self, t: float) -> float:
        """The change h(t) − h(0), with rounding errors relative to `size`."""

    def slope(self, t: float) -> float:
        """The derivative h'(t)."""

    def breaks(self) -> Array | None:
        """The points where h'' jumps if h is piecewise quadratic, otherwise None."""


def armijo(line: Line) -> float:
    """The largest t of 1, ½, ¼, … with h(0) − h(t) ≥ −σ·t·h'(0), σ = 1e-4, or 0.

    The condition is checked up to rounding: near the minimum the decrease has fewer digits than
    the step.
    """
    slope, spare = line.slope(0.0), SUMMED * line.size
    t = 1.0
    for _ in range(MOST_STEPS):
        if line.rise(t) <= ARMIJO * t * slope + spare:
            return t
        t /= 2
    return 0.0


def bottom(line: Line) -> float:
    """The minimiser t: exact for a piecewise quadratic, else a point where the slope is small."""
    at_start, breaks = line.slope(0.0), line.breaks()
    if not at_start < 0:
        return 0.0  # only rounding errors are left
    if abs(line.slope(1.0)) <= (FLAT if breaks is None else ROUNDING) * abs(at_start):
        return 1.0
    if breaks is None:
        return _where_flat(line.slope)
    return _root(line.slope, breaks[(breaks > 0) & np.isfinite(breaks)])


def _where_flat(slope: Callable[[float], float]) -> float:
    """A point where an increasing function that is negative at 0 is close to 0."""
    low, at_low = 0.0, slope(0.0)
    high, at_high = 1.0, slope(1.0)
    enough = FLAT * abs(at_low)
    while at_high < -enough:
        if high > BOTTOMLESS:
            raise SubproblemError("unbounded", "the function falls for ever along a direction")
        low, at_low, high = high, at_high, 4 * high
        at_high = slope(high)
    for _ in range(MOST_STEPS):
        if at_high <= enough or high - low <= LAST_PLACES * high:
            return high if at_high <= enough else low
        share = np.clip(at_low / (at_low - at_high), FLAT, 1 - FLAT)
        middle = low + float(share) * (high - low)
        there = slope(middle)
        if there > -enough:
            high, at_high = middle, there
        else:
            low, at_low = middle, there
    return low


def _root(slope: Callable[[float], float], breaks: Array) -> float:
    """The root of an increasing, piecewise linear function that is negative at 0."""
    knots = np.concatenate([[0.0], np.sort(breaks)])
    low, high = 0, knots.size  # negative at knots[low], nonnegative at knots[high]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(knots[middle]) < 0 else (low, middle)
    left = knots[low]
    right = knots[high] if high < knots.size else 2 * left + 1
    at_left, at_right = slope(left), slope(right)
    if not at_right > at_left:
        raise SubproblemError("unbounded", "the function falls for ever along a direction")
    return left - at_left * (right - left) / (at_right - at_left)
