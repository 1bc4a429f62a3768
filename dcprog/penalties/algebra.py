"""Sums of penalties, and penalties in other units."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.penalties.penalty import Penalty, makes

__all__ = ["penalty_in_units", "penalty_sum"]


@makes
class penalty_sum(Penalty):
    """first(w) + second(w), written ``first + second``.

    Parameters
    ----------
    first, second : Penalty

    Raises
    ------
    TypeError
        Not a penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l2, mcp
    >>> (mcp(1.0, 3.0) + l2(0.5)).weights(np.array([0.0, 1.5, 9.0]))
    array([1. , 0.5, 0. ])
    """

    def __init__(self, first: Penalty, second: Penalty) -> None:
        for name, penalty in (("first", first), ("second", second)):
            if not isinstance(penalty, Penalty):
                raise TypeError(f"{name}={penalty!r}: a penalty is needed, such as l2(1.0)")
        self.first = first
        self.second = second

    @property
    def is_convex(self) -> bool:
        """Are both?"""
        return self.first.is_convex and self.second.is_convex

    @property
    def convex_part(self) -> Penalty | None:
        """The sum of both."""
        if self.is_convex:
            return self
        parts = [p for p in (self.first.convex_part, self.second.convex_part) if p is not None]
        return penalty_sum(*parts) if len(parts) == 2 else next(iter(parts), None)

    def __call__(self, w: Array) -> float:
        """first(w) + second(w)."""
        return self.first(w) + self.second(w)

    def slope(self, w: Array) -> Array:
        """The sum of the slopes."""
        return self.first.slope(w) + self.second.slope(w)

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """The sum of the weights."""
        return self.first.weights(w, edge) + self.second.weights(w, edge)

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """The smaller one: a kink of either is one of the sum."""
        return np.minimum(self.first.sparse_sizes(w), self.second.sparse_sizes(w))

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``first + second``."""
        return self.first.expression(w) + self.second.expression(w)

    def extended(self, edge: float = EDGE) -> Penalty:
        """The sum of both, extended."""
        return penalty_sum(self.first.extended(edge), self.second.extended(edge))

    def as_l1_l2(self, size: int) -> tuple[Array, float] | None:
        """The sums, if both have the form."""
        a, b = self.first.as_l1_l2(size), self.second.as_l1_l2(size)
        return None if a is None or b is None else (np.add(a[0], b[0]), a[1] + b[1])

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The sum of both in the units."""
        return penalty_sum(self.first.in_units(unit, factor), self.second.in_units(unit, factor))


@makes
class penalty_in_units(Penalty):
    """factor·penalty(unit·w).

    Parameters
    ----------
    penalty : Penalty
    unit, factor : float
        Positive numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import mcp
    >>> mcp(1.0, 3.0).in_units(2.0).weights(np.array([0.0, 0.75, 9.0]))
    array([2., 1., 0.])
    """

    def __init__(self, penalty: Penalty, unit: float, factor: float) -> None:
        self.penalty = penalty
        self.unit = unit
        self.factor = factor

    @property
    def is_convex(self) -> bool:
        """Is the penalty?"""
        return self.penalty.is_convex

    @property
    def convex_part(self) -> Penalty | None:
        """The penalty's in the units."""
        part = self.penalty.convex_part
        return None if part is None else part.in_units(self.unit, self.factor)

    def __call__(self, w: Array) -> float:
        """factor·penalty(unit·w)."""
        return self.factor * self.penalty(self.unit * w)

    def slope(self, w: Array) -> Array:
        """factor·unit·slope."""
        return self.factor * self.unit * self.penalty.slope(self.unit * w)

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """factor·unit·weights."""
        weights = self.penalty.weights(self.unit * np.asarray(w, dtype=float), self.unit * edge)
        return self.factor * self.unit * weights

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """The penalty's, in the unit."""
        return self.penalty.sparse_sizes(self.unit * np.asarray(w, dtype=float)) / self.unit

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``factor * penalty``."""
        return self.factor * self.penalty.expression(self.unit * w)

    def extended(self, edge: float = EDGE) -> Penalty:
        """The penalty extended, in the units."""
        return penalty_in_units(self.penalty.extended(self.unit * edge), self.unit, self.factor)

    def as_l1_l2(self, size: int) -> tuple[Array, float] | None:
        """The penalty's, in the units."""
        form = self.penalty.as_l1_l2(size)
        if form is None:
            return None
        return self.factor * self.unit * form[0], self.factor * self.unit**2 * form[1]
