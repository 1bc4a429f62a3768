"""Piecewise quadratic functions of one number, represented by their pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import BLOCK, Array, blocks

__all__ = ["Pieces"]


@dataclass(frozen=True)
class Pieces:
    """The continuous function a_k u² + b_k u + c_k between the knots u_{k−1} and u_k.

    Parameters
    ----------
    knots : sequence of K increasing numbers
    quadratic, linear, constant : sequences of K + 1 numbers
        The coefficients a, b and c, from left to right.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> hinge().pieces
    Pieces(knots=(1.0,), quadratic=(0.0, 0.0), linear=(-1.0, 0.0), constant=(1.0, 0.0))
    >>> hinge().pieces.plus(hinge(0.0).pieces.times(-1.0)).extremes()
    (0.0, 1.0)
    """

    knots: tuple[float, ...]
    quadratic: tuple[float, ...]
    linear: tuple[float, ...]
    constant: tuple[float, ...]

    def __call__(self, u: npt.ArrayLike) -> Array:
        """The values of the function, entry by entry."""
        return _by_blocks(self._values, u)

    def distance(self, u: npt.ArrayLike) -> Array:
        """The distances to the nearest knot; ∞ if there is no knot."""
        return _by_blocks(self._distance, u)

    def _values(self, u: Array) -> Array:
        k = np.searchsorted(self.knots, u)
        a, b, c = (np.asarray(part)[k] for part in self._parts)
        values: Array = (a * u + b) * u + c
        return values

    def _distance(self, u: Array) -> Array:
        knots = np.asarray(self.knots).reshape(-1, *[1] * u.ndim)
        return np.asarray(np.min(np.abs(u - knots), axis=0, initial=np.inf))

    @property
    def _parts(self) -> tuple[tuple[float, ...], ...]:
        return self.quadratic, self.linear, self.constant

    def slope(self, u: npt.ArrayLike) -> Array:
        """The derivatives, entry by entry; at knots those from the left."""
        u = np.asarray(u, dtype=float)
        k = np.searchsorted(self.knots, u)
        return np.asarray(2 * np.take(self.quadratic, k) * u + np.take(self.linear, k))

    def slopes(self) -> tuple[float, float]:
        """The infimum and the supremum of the slopes of a convex function, possibly infinite."""
        first = -np.inf if self.quadratic[0] > 0 else self.linear[0]
        last = np.inf if self.quadratic[-1] > 0 else self.linear[-1]
        return first, last

    def inverse(self, alpha: Array, weight: Array) -> tuple[Array, Array, Array, Array]:
        """The points at which weight·f has slope α, their derivatives in α, and ranges of α.

        f must be convex. The formula of each point holds for α between the two returned bounds;
        on linear pieces both bounds are α itself.
        """
        place, rate = np.zeros(alpha.shape), np.zeros(alpha.shape)
        low, high = alpha.copy(), alpha.copy()
        edges = [-np.inf, *self.knots, np.inf]
        a, b = np.asarray(self.quadratic), np.asarray(self.linear)
        for k, knot in enumerate(self.knots):
            ends = (2 * a[k : k + 2] * knot + b[k : k + 2])[:, None] * weight
            here = (ends[0] <= alpha) & (alpha <= ends[1]) & (weight > 0)
            place[here], rate[here] = knot, 0.0
            low[here], high[here] = ends[0][here], ends[1][here]
        for k in range(a.size):
            if a[k] == 0:
                continue
            first, last = (2 * a[k] * edge + b[k] for edge in edges[k : k + 2])
            with np.errstate(invalid="ignore"):  # ∞·0
                here = (first * weight < alpha) & (alpha < last * weight) & (weight > 0)
            d = weight[here]
            place[here], rate[here] = (alpha[here] / d - b[k]) / (2 * a[k]), 1 / (2 * a[k] * d)
            low[here], high[here] = first * d, last * d
        return place, rate, low, high

    def missed(self, u: Array, s: Array) -> Array:
        """The Fenchel gap f(u) + f*(s) − su ≥ 0 for slopes s in the range of a convex f.

        It is 0 if s is a slope at u. It equals max_z f(u) − f(z) − s(u − z), which is attained at a
        knot or where a parabola has slope s.
        """
        edges = np.array([-np.inf, *self.knots, np.inf])
        places: list[Array] = [np.asarray(knot) for knot in self.knots]
        for k, (a, b) in enumerate(zip(self.quadratic, self.linear, strict=True)):
            if a > 0:
                places.append(np.clip((s - b) / (2 * a), edges[k], edges[k + 1]))
        value, missed = self(u), np.zeros(np.shape(s))
        for z in places:
            missed = np.maximum(missed, value - self(z) - s * (u - z))
        return missed

    def times(self, factor: float) -> Pieces:
        """The function times a number, which may be negative."""
        return Pieces(self.knots, *(tuple(factor * x for x in part) for part in self._parts))

    def of_multiple(self, unit: float) -> Pieces:
        """The function u ↦ f(unit·u) for a positive unit."""
        knots = tuple(knot / unit for knot in self.knots)
        quadratic = tuple(unit**2 * a for a in self.quadratic)
        return Pieces(knots, quadratic, tuple(unit * b for b in self.linear), self.constant)

    def plus(self, other: Pieces) -> Pieces:
        """The sum of this function and another."""
        knots = np.union1d(self.knots, other.knots)
        inner = (knots[:-1] + knots[1:]) / 2
        places = np.concatenate([knots[:1] - 1, inner, knots[-1:] + 1]) if knots.size else [0.0]
        mine, theirs = (np.searchsorted(f.knots, places) for f in (self, other))
        sums = [
            tuple((np.asarray(x)[mine] + np.asarray(y)[theirs]).tolist())
            for x, y in zip(self._parts, other._parts, strict=True)
        ]
        return Pieces(tuple(knots.tolist()), *sums)

    def extremes(self) -> tuple[float, float]:
        """The infimum and the supremum."""
        edges = np.concatenate([[-np.inf], self.knots, [np.inf]])
        values = [float(v) for v in np.atleast_1d(self(self.knots))] if self.knots else []
        for k, (a, b, c) in enumerate(zip(*self._parts, strict=True)):
            if a != 0 and edges[k] < -b / (2 * a) < edges[k + 1]:
                values.append(c - b**2 / (4 * a))
            for end, side in ((edges[k], -1.0), (edges[k + 1], 1.0)):
                if np.isinf(end):
                    growth = a if a != 0 else side * b
                    values.append(c if growth == 0 else float(np.copysign(np.inf, growth)))
        return min(values), max(values)


def _by_blocks(f: Callable[[Array], Array], u: npt.ArrayLike) -> Array:
    """Apply an elementwise function by blocks, without temporary arrays of the size of u."""
    u = np.asarray(u, dtype=float)
    if u.size <= BLOCK:
        return f(u)
    shape, u = u.shape, u.ravel()
    values = np.empty(u.size)
    for block in blocks(u.size):
        values[block] = f(u[block])
    return values.reshape(shape)
