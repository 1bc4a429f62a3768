"""Factorable functions: sums of products, powers, exponentials and their like, with their ranges.

Every variable and every nonlinear term is a column. A ``Row`` is an affine combination of columns,
the argument of further terms. Interval arithmetic over the columns says in which range each term
lies on a box of the variables; the same pass on a box of width 0 evaluates the terms at a point.
Each operation states its range on intervals and its expression for SCIP.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import FEASIBLE, KNOWN_DIGITS, LAST_PLACES

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

    def equation(self, value: Any, arg: Written, size: float) -> Any:
        """An expression that is 0 if `value` is the function of the argument.

        Its terms are of size about 1 if the argument is of the given size.
        """
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

    def least(self, lo: Array, hi: Array, outward: bool = False) -> Range:
        """Lower bounds on boxes of all columns, and the sums of the absolute values of their terms.

        The boxes are arrays of shape (boxes, columns). If `outward`, the bounds of a sum are
        lowered by its largest rounding error.
        """
        ends = [c * (lo if c > 0 else hi)[:, j] for j, c in self.terms]
        with np.errstate(invalid="ignore"):
            low = sum(ends, np.full(lo.shape[0], self.constant))
            sizes = sum(map(np.abs, ends), np.full(lo.shape[0], abs(self.constant)))
            if outward and len(ends) + (self.constant != 0) > 1:
                low = low - LAST_PLACES * sizes
        return np.where(np.isnan(low), -np.inf, low), sizes

    def range(self, lo: Array, hi: Array, outward: bool = False) -> Range:
        """Lower and upper bounds on boxes of all columns, computed by ``least``."""
        return self.least(lo, hi, outward)[0], -(-self).least(lo, hi, outward)[0]


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
        return row.least(self.lo, self.lo)[1]


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
    >>> from dcprog.factorable.terms import Power
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
                empty |= low[:, j] > high[:, j] + KNOWN_DIGITS * np.abs(high[:, j])
        return Ranges(low, np.maximum(low, high), empty)


# ----------------------------------------------------------------------------------------------
# operations


# What SCIP takes for 0, in the unit of an expression: it keeps arguments of logarithms and of
# negative powers so far inside their domain.
ZERO = 1e-9
# Entropies are taken this far from 0, in units of their argument.
AWAY = 2 * ZERO
# The largest number of a model, in its unit: SCIP takes 1e20 for infinite.
LARGEST = 1e15
# No exponential of a larger number is formed: e^20 is 5e8 times the 1 that is added to it.
WIDE = 20.0


@dataclass(frozen=True)
class Written:
    """An argument: the number (expression − away)·factor, and its range [lo, hi]."""

    expression: Any
    factor: float
    lo: float
    hi: float
    away: float = 0.0

    @property
    def whole(self) -> Any:
        """The expression with the factor multiplied in."""
        return self.expression if self.factor == 1 else self.expression * self.factor


def scip() -> Any:
    """The module ``pyscipopt``.

    Raises
    ------
    ImportError
        It is not installed; the message says how to install it.
    """
    try:
        import pyscipopt  # 0.1 to 0.3 s, and only bounds and integers need it
    except ImportError as error:
        raise ImportError(
            "bounds of cvxpy problems and integer variables are SCIP's, by the package pyscipopt, "
            "which is not installed: pip install pyscipopt"
        ) from error
    return pyscipopt


@dataclass(frozen=True)
class Unary(Operation):
    """A function of one number g, monotone or falling up to `turn` and rising from there on."""

    turn: ClassVar[Any] = None  # the place of the least value; None for a monotone function
    _value: ClassVar[Any]  # the function of an array

    def range(self, arg: Range) -> Range:
        """Bounds of the values from bounds of g."""
        lo, hi = arg
        if self.is_one_sided:  # the part of the range inside the domain; NaN if there is none
            lo, hi = np.where(hi < 0, np.nan, np.maximum(lo, 0.0)), np.where(hi < 0, np.nan, hi)
        one, other = self._value(lo), self._value(hi)
        low, high = np.minimum(one, other), np.maximum(one, other)
        if self.turn is None:
            return low, high
        across = (lo <= self.turn) & (hi >= self.turn)
        return np.where(across, self._value(np.array(self.turn)), low), high


@dataclass(frozen=True)
class Power(Unary):
    """A power g^p with p ≠ 0, 1: for every g if p is a whole number, else for g ≥ 0."""

    p: float

    @property
    def is_one_sided(self) -> bool:  # type: ignore[override]
        """True unless p is a whole number."""
        return self.p % 1 != 0

    @property
    def turn(self) -> float | None:
        """0 for an even power."""
        return 0.0 if self.p > 0 and self.p % 2 == 0 else None

    def range(self, arg: Range) -> Range:
        """Bounds of the values from bounds of g; infinite ones at the pole of a negative power."""
        if self.p > 0 or self.is_one_sided:
            return super().range(arg)
        lo, hi = arg
        is_even = self.p % 2 == 0
        # a pole at an end of the range counts on the side of the range, whatever the sign of its 0
        left = np.where((lo == 0) & (hi > 0), np.inf, self._value(lo))
        right = np.where((hi == 0) & (lo < 0), np.inf if is_even else -np.inf, self._value(hi))
        low, high = np.minimum(left, right), np.maximum(left, right)
        inner = (lo < 0) & (hi > 0)
        return np.where(inner & (not is_even), -np.inf, low), np.where(inner, np.inf, high)

    def _value(self, g: Array) -> Array:
        return np.asarray(np.power(g, self.p))

    def has_pole(self, arg: Written) -> bool:
        """True if g may be near 0 and p < 1: the slope is infinite there, and rounding matters."""
        return self.p < 1 and arg.lo <= FEASIBLE * arg.factor and arg.hi >= -FEASIBLE * arg.factor

    def expression(self, arg: Written) -> tuple[Any, float]:
        """(g/ρ)^p · ρ^p."""
        return arg.expression**self.p, arg.factor**self.p

    def equation(self, value: Any, arg: Written, size: float) -> Any:
        """An equation without pole: value·g^−p − 1 for p < 0, value^{1/p} − g for a root."""
        if self.p > 0:
            return (value ** (1 / self.p) - arg.whole) * (1 / size)
        one = self.p == -1
        g, factor = (arg.expression, arg.factor) if one else Power(-self.p).expression(arg)
        return value * g * factor - 1.0


class Exp(Unary):
    """The exponential."""

    _value = np.exp

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The exponential of the whole argument."""
        return scip().exp(arg.whole), 1.0


# A share of the largest argument that SCIP may take for 0: min log x over [lo, hi] was proved too
# high for lo ≤ 2e-13·hi, and right from 1e-12·hi on.
BLURRED = 1e-11


class Log(Unary):
    """The logarithm of a positive number."""

    is_one_sided = True
    _value = np.log

    def has_pole(self, arg: Written) -> bool:
        """True if the argument may be near 0, as it is or in its unit, in which SCIP has it."""
        return arg.lo <= max(FEASIBLE * self._unit(arg), BLURRED * arg.factor)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The logarithm of the argument in a unit, plus that of the unit."""
        unit = self._unit(arg)
        return scip().log(arg.expression * (arg.factor / unit)) + math.log(unit), 1.0

    def equation(self, value: Any, arg: Written, size: float) -> Any:
        """The difference of e^value and the argument, both in the unit of the argument."""
        return (scip().exp(value - math.log(arg.factor)) - arg.expression) * (arg.factor / size)

    @staticmethod
    def _unit(arg: Written) -> float:
        """1, or the argument's unit if the argument may be above LARGEST."""
        return arg.factor if arg.hi > LARGEST else 1.0


class XLogX(Unary):
    """g·log g for g ≥ 0, convex, least at 1/e."""

    is_one_sided = True
    turn = 1 / np.e
    _value = staticmethod(lambda g: xlogy(g, g))

    def expression(self, arg: Written) -> tuple[Any, float]:
        """(g/ρ)·log(g/ρ) + (g/ρ)·log ρ, times ρ: SCIP treats a product e·log e as an entropy.

        Of an argument that is a = ``AWAY`` larger than e = g/ρ it is (e + a)·log(e + a) + e·log ρ
        less the linear function that makes it 0 at g = 0 and, for ρ up to 10, at g = 1, where an
        equation may have its solutions. It differs by less than 1e-7 of ρ + |g·log g|.
        """
        moved, unit = arg.expression, arg.factor
        entropy = moved * scip().log(moved)
        if not arg.away:
            return entropy + moved * float(np.log(unit)), unit
        start, slope = self._chord(arg)
        return entropy + (moved - arg.away) * float(np.log(unit) - slope) - start, unit

    def _chord(self, arg: Written) -> tuple[float, float]:
        """The value at 0 and the slope of the line that is subtracted from a moved expression."""
        one, a = 1 / arg.factor, arg.away
        start = float(xlogy(a, a))
        if arg.factor > 10:
            return start, 0.0
        return start, (float(xlogy(one + a, one + a) + xlogy(one, arg.factor)) - start) / one

    def error(self, arg: Written) -> float:
        """The largest difference between the expression of a moved argument and g·log g."""
        most, a = max(arg.hi / arg.factor, 0.0), arg.away
        start, slope = self._chord(arg)
        lifted = xlogy(most + a, most + a) - start - xlogy(most, most)
        return float(abs(lifted) + abs(slope) * most) * arg.factor


class Abs(Unary):
    """The absolute value."""

    turn = 0.0
    _value = np.abs

    def expression(self, arg: Written) -> tuple[Any, float]:
        """|g/ρ| · ρ."""
        return abs(arg.expression), arg.factor


@dataclass(frozen=True)
class Largest(Operation):
    """The larger of two numbers."""

    uses = 2

    def range(self, one: Range, other: Range) -> Range:
        """Bounds from those of the two."""
        return np.maximum(one[0], other[0]), np.maximum(one[1], other[1])

    def expression(self, one: Written, other: Written) -> tuple[Any, float]:
        """(a + b + |a − b|)/2, in the larger unit."""
        unit = max(one.factor, other.factor)
        a, b = (arg.expression * (0.5 * arg.factor / unit) for arg in (one, other))
        return a + b + abs(a - b), unit


@dataclass(frozen=True)
class Huber(Unary):
    """The function g² up to |g| = M, 2M|g| − M² beyond."""

    m: float
    uses = 2
    turn = 0.0

    def _value(self, g: Array) -> Array:
        size = np.abs(g)
        return np.where(size <= self.m, size**2, 2 * self.m * size - self.m**2)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """g² − (|g| − M)₊², in the unit of g."""
        excess = abs(arg.expression) - self.m / arg.factor
        return arg.expression**2 - (0.5 * excess + 0.5 * abs(excess)) ** 2, arg.factor**2


class Sin(Unary):
    """The sine; SCIP gets arguments between −π and π only.

    If the argument's range holds two crests or two troughs, SCIP 10's planes above and below the
    sine cut off points of it, as for cos(q) with q from 6.289 to 12.627 at q = 4π. Ranges with at
    most one of each are safe.
    """

    _value = np.sin

    def range(self, arg: Range) -> Range:
        """Bounds: −1 if a trough lies inside, 1 if a crest does, else the values at the ends."""
        lo, hi = arg
        low, high = super().range(arg)
        crest = np.ceil((lo - np.pi / 2) / (2 * np.pi)) * 2 * np.pi + np.pi / 2 <= hi
        trough = np.ceil((lo + np.pi / 2) / (2 * np.pi)) * 2 * np.pi - np.pi / 2 <= hi
        unknown = ~(np.isfinite(lo) & np.isfinite(hi))
        low = np.where(trough | unknown, -1.0, low)
        return low, np.where(crest | unknown, 1.0, high)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The sine of the whole argument, which lies between −π and π."""
        return scip().sin(arg.whole), 1.0


class Tanh(Unary):
    """The hyperbolic tangent, by an exponential that does not grow."""

    _value = np.tanh

    def expression(self, arg: Written) -> tuple[Any, float]:
        """1 − 2/(1 + e^{2g}) or 2/(1 + e^{−2g}) − 1; on wide ranges the same of g₊ and g₋."""
        g = arg.whole
        if arg.hi <= WIDE:
            return 1.0 - 2.0 * (1.0 + scip().exp(g * 2.0)) ** -1.0, 1.0
        if arg.lo >= -WIDE:
            return 2.0 * (1.0 + scip().exp(g * -2.0)) ** -1.0 - 1.0, 1.0
        up, down = abs(g) + g, abs(g) - g
        inverse = [(1.0 + scip().exp(part * -1.0)) ** -1.0 for part in (up, down)]
        return 2.0 * inverse[0] - 2.0 * inverse[1], 1.0


class Logistic(Unary):
    """log(1 + e^g), by an exponential that does not grow."""

    _value = staticmethod(lambda g: np.logaddexp(0.0, g))

    def expression(self, arg: Written) -> tuple[Any, float]:
        """log(1 + e^g) = g + log(1 + e^{−g}) = g₊ + log(1 + e^{−|g|}), and e^g far below 0."""
        g, module = arg.whole, scip()
        if arg.hi <= -WIDE:  # the relative difference is below 1e-9; 1 + e^g would be rounded
            return module.exp(g), 1.0
        if arg.hi <= WIDE:
            return module.log(1.0 + module.exp(g)), 1.0
        if arg.lo >= -WIDE:
            return g + module.log(1.0 + module.exp(g * -1.0)), 1.0
        size = abs(g)
        return 0.5 * g + 0.5 * size + module.log(1.0 + module.exp(size * -1.0)), 1.0


class Asinh(Unary):
    """The inverse hyperbolic sine."""

    _value = np.arcsinh

    def has_pole(self, arg: Written) -> bool:
        """True: SCIP gets an equation always."""
        return True

    def equation(self, value: Any, arg: Written, size: float) -> Any:
        """Sinh of the value, less the argument, both in the unit of a large argument."""
        unit = max(1.0, arg.factor)
        one, other = (scip().exp(v - math.log(unit)) for v in (value, value * -1.0))
        whole = arg.expression * (arg.factor / unit)
        return (0.5 * one - 0.5 * other - whole) * (unit / size)


@dataclass(frozen=True)
class Product(Operation):
    """The product of two numbers."""

    def range(self, one: Range, other: Range) -> Range:
        """Bounds by the four products of ends, with 0·∞ = 0."""
        corners = np.stack([a * b for a in one for b in other])
        zero = np.stack([(a == 0) | (b == 0) for a in one for b in other])
        corners = np.where(zero, 0.0, corners)
        return corners.min(axis=0), corners.max(axis=0)

    def expression(self, one: Written, other: Written) -> tuple[Any, float]:
        """The product of the two, and of their factors."""
        return one.expression * other.expression, one.factor * other.factor
