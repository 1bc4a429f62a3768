"""Factorable functions: sums of products, powers, exponentials and their like, with their ranges.

Every variable and every nonlinear term is a column. A ``Row`` is an affine combination of columns,
the argument of further terms. Interval arithmetic over the columns says in which range each term
lies on a box of the variables; the same pass on a box of width 0 evaluates the terms at a point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["CROSSING", "LAST_PLACES", "ROUNDING", "Operation", "Range", "Ranges", "Row", "Terms"]

# A computed sum is exact to this share of the absolute values of its terms.
ROUNDING = 1e-12
# A sum of a few numbers, or a function of one, has a rounding error below this share of their size.
LAST_PLACES = 4 * float(np.finfo(float).eps)
# Two bounds of one number, or a computed number and the whole number it stands for, may differ by
# this share of their size by rounding.
CROSSING = 1e-9

Range = tuple[Array, Array]


class Operation:
    """A function of one or two numbers; hashable, so that equal terms share one column.

    Attributes
    ----------
    uses : int
        How often each argument occurs in SCIP's expression.
    is_one_sided : bool
        True if the argument must be nonnegative.
    """

    uses = 1
    is_one_sided = False

    def range(self, *args: Any, **kwargs: Any) -> Range:
        """Bounds of the values for arguments in ranges; NaN outside the domain."""
        raise NotImplementedError

    def has_pole(self, *args: Any, **kwargs: Any) -> bool:
        """True if the function or its slope is infinite near the ranges: take the equation then."""
        return False

    def expression(self, *args: Any, **kwargs: Any) -> tuple[Any, float]:
        """SCIP's expression of the arguments, and the positive factor that belongs to it."""
        raise NotImplementedError

    def equation(self, value: Any, *args: Any) -> Any:
        """An expression that is 0 if `value` is the function of the arguments."""
        raise NotImplementedError


@dataclass(frozen=True)
class Row:
    """Σ coefficient · column + constant.

    Parameters
    ----------
    terms : tuple of (column, coefficient)
        Sorted by column, without zeros.
    constant : float
    """

    terms: tuple[tuple[int, float], ...]
    constant: float = 0.0

    @staticmethod
    def of(coefficients: Mapping[int, float], constant: float) -> Row:
        """A row of coefficients by column."""
        return Row(tuple(sorted((j, c) for j, c in coefficients.items() if c != 0)), constant)

    @property
    def is_constant(self) -> bool:
        """True if the row has no column."""
        return not self.terms

    def __add__(self, other: Row | float) -> Row:
        if not isinstance(other, Row):
            return Row(self.terms, self.constant + other)
        if not self.terms or not other.terms:
            return Row(self.terms or other.terms, self.constant + other.constant)
        total = dict(self.terms)
        for j, c in other.terms:
            total[j] = total.get(j, 0.0) + c
        return Row.of(total, self.constant + other.constant)

    __radd__ = __add__

    def __mul__(self, factor: float) -> Row:
        if factor == 0:
            return Row(())
        return Row(tuple((j, c * factor) for j, c in self.terms), self.constant * factor)

    __rmul__ = __mul__

    def __neg__(self) -> Row:
        return self * -1.0

    def __sub__(self, other: Row | float) -> Row:
        return self + (-other)

    def __rsub__(self, other: float) -> Row:
        return -self + other

    def least(self, lo: Array, hi: Array) -> Range:
        """Lower bounds of the row on boxes, and the sums of the absolute values of their terms."""
        ends = [c * (lo if c > 0 else hi)[:, j] for j, c in self.terms]
        with np.errstate(invalid="ignore"):
            low = sum(ends, np.full(lo.shape[0], self.constant))
        terms = sum(map(np.abs, ends), np.full(lo.shape[0], abs(self.constant)))
        return np.where(np.isnan(low), -np.inf, low), terms

    def range(self, lo: Array, hi: Array, outward: bool = False) -> Range:
        """Bounds of the row on boxes of all columns, arrays of shape (boxes, columns).

        With ``outward`` the bounds of a sum are moved outward by its largest rounding error.
        """
        low = np.full(lo.shape[0], self.constant)
        high = low.copy()
        below, above = np.abs(low), np.abs(low)
        with np.errstate(invalid="ignore"):
            for j, c in self.terms:
                one, other = c * lo[:, j], c * hi[:, j]
                least, most = (one, other) if c > 0 else (other, one)
                low, high = low + least, high + most
                below, above = below + np.abs(least), above + np.abs(most)
            if outward and len(self.terms) + (self.constant != 0) > 1:
                low, high = low - LAST_PLACES * below, high + LAST_PLACES * above
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


@dataclass
class Ranges:
    """Boxes of all columns.

    Attributes
    ----------
    lo, hi : arrays of shape (boxes, columns)
    empty : bool array of shape (boxes,)
        True for a box on which a term has an empty domain or contradictory bounds.
    """

    lo: Array
    hi: Array
    empty: npt.NDArray[np.bool_]

    def of(self, row: Row) -> Range:
        """Bounds of a row, of shape (boxes,)."""
        return row.range(self.lo, self.hi)

    def size(self, row: Row) -> Array:
        """The sums of the absolute values of a row's terms at the lower ends, of shape (boxes,)."""
        sizes = [np.abs(c * self.lo[:, j]) for j, c in row.terms]
        return np.asarray(sum(sizes, np.full(self.lo.shape[0], abs(row.constant))))


class Terms:
    """Columns: the entries of the variables first, then the nonlinear terms, arguments first.

    Parameters
    ----------
    size : int
        Entries of the variables.

    Attributes
    ----------
    operations : list of (Operation, tuple of Row)
        Of the columns from `size` on.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.factorable.operations import Power
    >>> terms = Terms(1)
    >>> square = terms.add(Power(2.0), terms.variable(0) + 1)
    >>> found = terms.ranges(np.array([[-3.0]]), np.array([[0.0]]))
    >>> [side.round(9).tolist() for side in found.of(2 * square)]
    [[0.0], [8.0]]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.operations: list[tuple[Operation, tuple[Row, ...]]] = []
        self._places: dict[Any, int] = {}

    def __len__(self) -> int:
        return self.size + len(self.operations)

    def variable(self, place: int) -> Row:
        """An entry of the variables."""
        return Row(((place, 1.0),))

    def add(self, operation: Operation, *args: Row) -> Row:
        """The row of the operation's column; a constant row for constant arguments."""
        if all(arg.is_constant for arg in args):
            points = [(np.array([arg.constant]),) * 2 for arg in args]
            with np.errstate(all="ignore"):
                return Row((), float(operation.range(*points)[0][0]))
        key = operation, args
        if key not in self._places:
            self._places[key] = len(self)
            self.operations.append(key)
        return self.variable(self._places[key])

    def terms(self) -> Iterator[tuple[int, Operation, tuple[Row, ...]]]:
        """Yield the nonlinear columns with their operations and arguments; arguments come first."""
        for k, (operation, args) in enumerate(self.operations):
            yield self.size + k, operation, args

    def ranges(self, lo: Array, hi: Array) -> Ranges:
        """Bounds of all columns on boxes.

        Parameters
        ----------
        lo, hi : arrays of shape (boxes, size) or (boxes, columns)
            Bounds of the variables, or of all columns, which the ranges then respect. Unless `lo`
            and `hi` are equal, ranges are rounded outward.

        Returns
        -------
        Ranges
        """
        boxes, given = lo.shape
        low, high = np.full((boxes, len(self)), -np.inf), np.full((boxes, len(self)), np.inf)
        low[:, :given], high[:, :given] = lo, hi
        empty = np.any(low > high, axis=1)
        outward = not np.array_equal(lo, hi)
        with np.errstate(all="ignore"):
            for j, operation, args in self.terms():
                bottom, top = operation.range(*(arg.range(low, high, outward) for arg in args))
                if outward:
                    bottom = bottom - LAST_PLACES * np.abs(bottom)
                    top = top + LAST_PLACES * np.abs(top)
                empty |= np.isnan(bottom) | np.isnan(top)
                low[:, j] = np.fmax(bottom, low[:, j])
                high[:, j] = np.fmin(top, high[:, j])
                empty |= low[:, j] > high[:, j] + CROSSING * np.abs(high[:, j])
        return Ranges(low, np.maximum(low, high), empty)
