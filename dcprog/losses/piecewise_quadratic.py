"""Piecewise quadratic and linear functions of one number, by their pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["Pieces"]


@dataclass(frozen=True)
class Pieces:
    """a_k u² + b_k u + c_k between the knots u_{k−1} and u_k, continuous.

    Parameters
    ----------
    knots : sequence of K increasing numbers
    quadratic, linear, constant : sequences of K + 1 numbers
        a, b and c, from left to right.

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
        """Values."""
        u = np.asarray(u, dtype=float)
        k = np.searchsorted(self.knots, u)
        a, b, c = (np.asarray(part)[k] for part in self._parts)
        return (a * u + b) * u + c

    @property
    def _parts(self) -> tuple[tuple[float, ...], ...]:
        return self.quadratic, self.linear, self.constant

    def times(self, factor: float) -> Pieces:
        """The function times a number of either sign."""
        return Pieces(self.knots, *(tuple(factor * x for x in part) for part in self._parts))

    def of_multiple(self, unit: float) -> Pieces:
        """The function of unit·u, for a positive unit."""
        knots = tuple(knot / unit for knot in self.knots)
        quadratic = tuple(unit**2 * a for a in self.quadratic)
        return Pieces(knots, quadratic, tuple(unit * b for b in self.linear), self.constant)

    def plus(self, other: Pieces) -> Pieces:
        """The sum of two."""
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
        """Infimum and supremum."""
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
