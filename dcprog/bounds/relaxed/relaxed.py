"""What is known of an expression on boxes: its range, and planes below and above it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array

__all__ = ["Relaxed", "joined", "largest", "plus", "smallest", "times"]


@dataclass
class Relaxed:
    """A function of x on boxes, seen from a point z in each: a line a box, a column an entry.

    Attributes
    ----------
    lo, hi : arrays of shape (boxes, size)
        Its range on the box.
    below, above : arrays of shape (boxes, size)
        A convex function below it and a concave one above it, at z.
    slope_below, slope_above : arrays of shape (boxes, size, p)
        Their (super)gradients there.
    value : array of shape (boxes, size)
        The function itself at z.
    """

    lo: Array
    hi: Array
    below: Array
    above: Array
    slope_below: Array
    slope_above: Array
    value: Array

    @property
    def size(self) -> int:
        """Entries."""
        return self.lo.shape[1]

    def __neg__(self) -> Relaxed:
        return Relaxed(
            -self.hi,
            -self.lo,
            -self.above,
            -self.below,
            -self.slope_above,
            -self.slope_below,
            -self.value,
        )

    def take(self, columns: npt.NDArray[np.intp]) -> Relaxed:
        """Some of the entries."""
        return Relaxed(
            self.lo[:, columns],
            self.hi[:, columns],
            self.below[:, columns],
            self.above[:, columns],
            self.slope_below[:, columns],
            self.slope_above[:, columns],
            self.value[:, columns],
        )

    def shifted(self, constant: Array) -> Relaxed:
        """Plus a constant, an entry each."""
        return Relaxed(
            self.lo + constant,
            self.hi + constant,
            self.below + constant,
            self.above + constant,
            self.slope_below,
            self.slope_above,
            self.value + constant,
        )

    def mapped(self, matrix: sp.csr_array) -> Relaxed:
        """The matrix times it."""
        plus, minus = matrix.maximum(0).tocsr(), matrix.minimum(0).tocsr()
        return Relaxed(
            _or(_map(plus, self.lo) + _map(minus, self.hi), -np.inf),
            _or(_map(plus, self.hi) + _map(minus, self.lo), np.inf),
            _or(_map(plus, self.below) + _map(minus, self.above), -np.inf),
            _or(_map(plus, self.above) + _map(minus, self.below), np.inf),
            _map(plus, self.slope_below) + _map(minus, self.slope_above),
            _map(plus, self.slope_above) + _map(minus, self.slope_below),
            _map(matrix, self.value),
        )

    def cut(self) -> Relaxed:
        """With planes that keep to the range."""
        low, high = ~(self.below > self.lo), ~(self.above < self.hi)
        return Relaxed(
            self.lo,
            self.hi,
            np.where(low, self.lo, self.below),
            np.where(high, self.hi, self.above),
            np.where(low[:, :, None], 0.0, self.slope_below),
            np.where(high[:, :, None], 0.0, self.slope_above),
            self.value,
        )


def _map(matrix: sp.csr_array, array: Array) -> Array:
    """The matrix times the entries, whatever stands behind them."""
    if matrix.nnz == 0:
        return np.zeros((array.shape[0], matrix.shape[0], *array.shape[2:]))
    with np.errstate(invalid="ignore"):
        if array.ndim == 2:
            return np.ascontiguousarray((matrix @ array.T).T)
        boxes, size, p = array.shape
        flat = np.ascontiguousarray(np.swapaxes(array, 0, 1)).reshape(size, boxes * p)
        return np.swapaxes((matrix @ flat).reshape(-1, boxes, p), 0, 1)


def _or(array: Array, otherwise: float) -> Array:
    """What ∞ − ∞ has made is not known."""
    return np.where(np.isnan(array), otherwise, array)


def plus(a: Relaxed, b: Relaxed) -> Relaxed:
    """The sum of two."""
    with np.errstate(invalid="ignore"):
        return Relaxed(
            _or(a.lo + b.lo, -np.inf),
            _or(a.hi + b.hi, np.inf),
            _or(a.below + b.below, -np.inf),
            _or(a.above + b.above, np.inf),
            a.slope_below + b.slope_below,
            a.slope_above + b.slope_above,
            a.value + b.value,
        )


def joined(parts: list[Relaxed]) -> Relaxed:
    """The entries of several, one after the other."""
    return Relaxed(
        *(
            np.concatenate([getattr(part, name) for part in parts], axis=1)
            for name in Relaxed.__dataclass_fields__
        )
    )


def times(a: Relaxed, b: Relaxed) -> Relaxed:
    """The product, entry by entry (McCormick 1976).

    xy ≥ b₀x + a₀y − a₀b₀ at a corner (a₀, b₀) of the range where (x − a₀)(y − b₀) ≥ 0.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        ends = np.stack([_product(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)])
        lo, hi = ends.min(axis=0), ends.max(axis=0)
        low = [_corner(a, b, a.lo, b.lo), _corner(a, b, a.hi, b.hi)]
        high = [_corner(-a, b, -a.lo, b.hi), _corner(-a, b, -a.hi, b.lo)]
        below, slope_below = _better(low)
        above, slope_above = _better(high)
        found = Relaxed(lo, hi, below, -above, slope_below, -slope_above, a.value * b.value)
    return found.cut()


def _product(x: Array, y: Array) -> Array:
    """0 times ∞ is 0: neither end is ever reached."""
    return np.where((x == 0) | (y == 0), 0.0, x * y)


def _corner(a: Relaxed, b: Relaxed, at_a: Array, at_b: Array) -> tuple[Array, Array]:
    """The plane at_b·a + at_a·b − at_a·at_b below the product."""
    value, slope = -_product(at_a, at_b), np.zeros_like(a.slope_below)
    for factor, part in ((at_b, a), (at_a, b)):
        up = factor >= 0
        value = value + _product(factor, np.where(up, part.below, part.above))
        side = np.where(up[:, :, None], part.slope_below, part.slope_above)
        slope = slope + np.where(factor[:, :, None] == 0, 0.0, factor[:, :, None] * side)
    known = np.isfinite(value) & np.all(np.isfinite(slope), axis=2)
    return np.where(known, value, -np.inf), np.where(known[:, :, None], slope, 0.0)


def _better(planes: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The higher one of two planes at z."""
    (value, slope), (other, other_slope) = planes
    first = value >= other
    return np.where(first, value, other), np.where(first[:, :, None], slope, other_slope)


def largest(a: Relaxed, b: Relaxed) -> Relaxed:
    """max(a, b), entry by entry; above it b + (a − b)₊ with the chord of the positive part."""
    lo, hi = np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi)
    below, slope_below = _better([(a.below, a.slope_below), (b.below, b.slope_below)])
    with np.errstate(invalid="ignore", divide="ignore"):
        least, most = a.lo - b.hi, a.hi - b.lo
        rate = np.where(np.isfinite(least) & np.isfinite(most), most / (most - least), np.nan)
        above = b.above + rate * (a.above - b.below - least)
        slope = b.slope_above + rate[:, :, None] * (a.slope_above - b.slope_below)
    known = np.isfinite(above)
    above, slope = np.where(known, above, np.inf), np.where(known[:, :, None], slope, 0.0)
    for one, other in ((a, b), (b, a)):
        always = one.lo >= other.hi
        above = np.where(always, one.above, above)
        slope = np.where(always[:, :, None], one.slope_above, slope)
    value = np.maximum(a.value, b.value)
    return Relaxed(lo, hi, below, above, slope_below, slope, value).cut()


def smallest(a: Relaxed, b: Relaxed) -> Relaxed:
    """min(a, b), entry by entry."""
    return -largest(-a, -b)


def constant(array: Any, like: Relaxed) -> Relaxed:
    """A constant, an entry each, on the boxes of another."""
    boxes, _, p = like.slope_below.shape
    flat = np.broadcast_to(np.asarray(array, dtype=float), (boxes, np.size(array)))
    zero = np.broadcast_to(0.0, (boxes, flat.shape[1], p))
    return Relaxed(flat, flat, flat, flat, zero, zero, flat)
