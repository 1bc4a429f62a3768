"""Chords: minorants of concave functions between two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.foundation.arrays import Array
from dcprog.transforms import Transform

__all__ = ["Chords", "subtracted_lines"]


@dataclass
class Chords:
    """level + slope·(t − low) ≤ φ(t) for low ≤ t ≤ high: one entry a box and a group.

    Attributes
    ----------
    low, high : arrays of shape (boxes, G)
        Of the combined losses t.
    at_low, at_high : arrays
        φ there.
    linear : float or None
        The slope of a linear φ.
    """

    low: Array
    high: Array
    at_low: Array
    at_high: Array
    linear: float | None

    @classmethod
    def of(cls, transform: Transform, low: Array, high: Array) -> Chords:
        """Those of a transform."""
        linear = float(transform.steepest) if transform.is_linear else None
        with np.errstate(all="ignore"):
            return cls(low, high, transform(low), transform(high), linear)

    def capped(self, cap: Array | None = None) -> tuple[Array, Array]:
        """Levels and slopes for min(φ, cap), with one cap a box."""
        if cap is None and self.linear is not None:
            return self.at_low, np.full(self.low.shape, self.linear)
        level, top = self.at_low, self.at_high
        if cap is not None:
            level, top = np.minimum(level, cap[:, None]), np.minimum(top, cap[:, None])
        span = self.high - self.low
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (top - level) / span
        return level, np.where((span > 0) & (span < np.inf), slope, 0.0)

    def take(self, boxes: npt.NDArray[np.intp]) -> Chords:
        """Those of some boxes."""
        low, high = self.low[boxes], self.high[boxes]
        return Chords(low, high, self.at_low[boxes], self.at_high[boxes], self.linear)


def subtracted_lines(risk: BoxedRisk, low: Array, high: Array) -> tuple[Array, Array] | None:
    """Slopes and levels at `low` of the lines below −s·v·sub(u), a row each; None without sub."""
    if risk.subtracted is None:
        return None
    factor = risk.weights * risk.sample_weight[risk.groups]
    start, end = risk.subtracted(low), risk.subtracted(high)
    span = high - low
    slope = np.divide(end - start, span, out=np.zeros(span.shape), where=span > 0)
    return -factor * slope, -factor * start
