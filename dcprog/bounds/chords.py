"""Chords: minorants of concave functions between two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.ranges import loss_rounding
from dcprog.bounds.rounding import of_functions
from dcprog.foundation.arrays import Array
from dcprog.transforms import Transform

__all__ = ["Chords", "Lines", "subtracted_lines"]


@dataclass
class Chords:
    """Chords at_low + slope·(t − low) ≤ φ(t) for low ≤ t ≤ high, one per box and group.

    Attributes
    ----------
    low, high : arrays of shape (boxes, G)
        Bounds of the combined losses t.
    at_low, at_high : arrays
        Values of φ at `low` and `high`.
    slope : array
        Slopes of the chords.
    """

    low: Array
    high: Array
    at_low: Array
    at_high: Array
    slope: Array

    @classmethod
    def of(cls, transform: Transform, low: Array, high: Array) -> Chords:
        """The chords of a transform between `low` and `high`."""
        with np.errstate(all="ignore"):
            bottom, top = transform(low), transform(high)
        if transform.is_linear:
            slope = np.full(low.shape, float(transform.steepest))
        else:
            slope = _slopes(low, high, bottom, top)
        return cls(low, high, bottom, top, slope)

    def capped(self, cap: Array | None = None) -> tuple[Array, Array]:
        """Levels and slopes of the chords of min(φ, cap), with one cap per box."""
        if cap is None:
            return self.at_low, self.slope
        level = np.minimum(self.at_low, cap[:, None])
        top = np.minimum(self.at_high, cap[:, None])
        return level, _slopes(self.low, self.high, level, top)

    def sizes(self) -> Array:
        """Bounds of the sum of the absolute terms of at_low + slope·(t − low) on the boxes."""
        with np.errstate(invalid="ignore"):
            steps = 2 * self.slope * np.maximum(np.abs(self.low), np.abs(self.high))
        return np.abs(self.at_low) + np.where(self.slope == 0, 0.0, steps)

    def take(self, boxes: npt.NDArray[np.intp]) -> Chords:
        """The chords on some of the boxes."""
        low, high, slope = self.low[boxes], self.high[boxes], self.slope[boxes]
        return Chords(low, high, self.at_low[boxes], self.at_high[boxes], slope)


def _slopes(low: Array, high: Array, bottom: Array, top: Array) -> Array:
    """Slopes of chords; 0 if the range is empty or infinite: φ is nondecreasing.

    Slopes made negative by rounding become 0: chords must be nondecreasing, so that they are lowest
    at lower bounds of the losses.
    """
    span = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where((span > 0) & (span < np.inf), (top - bottom) / span, 0.0)
    return np.maximum(slope, 0.0)


@dataclass
class Lines:
    """Lines level + slope·(u − low) ≤ −s·v·sub(u) for low ≤ u ≤ high, one per box and row.

    Attributes
    ----------
    low, level, slope : arrays of shape (boxes, m)
    rounding : array of shape (boxes,)
        A bound of the rounding error of their sum.
    """

    low: Array
    level: Array
    slope: Array
    rounding: Array

    def at(self, u: Array) -> Array:
        """The values of the lines at u."""
        return self.level + self.slope * (u - self.low)

    def take(self, boxes: npt.NDArray[np.intp]) -> Lines:
        """The lines on some of the boxes."""
        return Lines(self.low[boxes], self.level[boxes], self.slope[boxes], self.rounding[boxes])


def subtracted_lines(
    risk: BoxedRisk, lo: Array, hi: Array, low: Array, high: Array
) -> Lines | None:
    """Lines below −s·v·sub(u) for margins in [low, high]; None if nothing is subtracted."""
    if risk.subtracted is None:
        return None
    factor = risk.weights * risk.sample_weight[risk.groups]
    start, end = risk.subtracted(low), risk.subtracted(high)
    span = high - low
    slope = np.divide(end - start, span, out=np.zeros(span.shape), where=span > 0)
    size = np.maximum(np.abs(start), np.abs(end)) @ factor
    rounding = factor @ loss_rounding(risk, risk.subtracted, lo, hi, low, high)
    rounding = rounding + of_functions(risk.groups.size) * size
    return Lines(low, -factor * start, -factor * slope, rounding)
