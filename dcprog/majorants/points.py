"""Conversion between flat vectors and the arrays of a problem's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array, unvec, vec

__all__ = ["Points"]


class Points:
    """Flat points x: the variables' entries one after the other, each column by column.

    Parameters
    ----------
    variables : sequence of cvxpy variables

    Examples
    --------
    >>> import cvxpy as cp
    >>> points = Points([cp.Variable(2, name="x"), cp.Variable(name="y")])
    >>> points.largest(np.array([1.0, 3.0, 2.0])), points.spread(np.array([3.0, 2.0]))
    (array([3., 2.]), array([3., 3., 2.]))
    """

    def __init__(self, variables: Sequence[cp.Variable]) -> None:
        self.variables = list(variables)
        self._sizes = [v.size for v in variables]
        self.size = sum(self._sizes)

    def pack(self, arrays: Mapping[int, Any]) -> Array:
        """The flat point of a mapping from variable id to array."""
        return np.concatenate([vec(arrays[v.id]) for v in self.variables] or [np.zeros(0)])

    def split(self, x: Array) -> list[Array]:
        """The arrays of the variables at a flat point."""
        pieces = np.split(x, np.cumsum(self._sizes))[:-1]
        return [unvec(p, v.shape) for v, p in zip(self.variables, pieces, strict=True)]

    def unpack(self, x: Array) -> list[tuple[cp.Variable, Array]]:
        """Variables and their arrays at a flat point."""
        return list(zip(self.variables, self.split(x), strict=True))

    def load(self, x: Array) -> None:
        """Put a flat point into the variables."""
        for variable, array in self.unpack(x):
            variable.save_value(array)

    def fill(self) -> None:
        """Set variables without a value to 0: they are in no remaining term or constraint."""
        for variable in self.variables:
            if variable.value is None:
                variable.save_value(np.zeros(variable.shape))

    def current(self) -> Array:
        """The flat point of the variables' values, after ``fill``."""
        self.fill()
        return self.pack({v.id: v.value for v in self.variables})

    def projected(self, x: Array) -> Array:
        """The flat point with each variable projected onto its declared attributes."""
        return self.pack({v.id: v.project(array) for v, array in self.unpack(x)})

    def largest(self, sizes: Array) -> Array:
        """The largest entry of each variable, at least 0."""
        return np.array([np.max(part, initial=0.0) for part in self.split(sizes)])

    def spread(self, of_variables: Array) -> Array:
        """The flat vector that repeats each variable's number at all its entries."""
        return np.repeat(of_variables, self._sizes)
