"""The nonlinear operations: each with its range on intervals and its form in SCIP's words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from dcprog.factorable.terms import Operation, Range
from dcprog.foundation.arrays import Array

__all__ = [
    "AWAY",
    "Abs",
    "Asinh",
    "Exp",
    "Huber",
    "Largest",
    "Log",
    "Logistic",
    "Power",
    "Product",
    "Sin",
    "Tanh",
    "Written",
    "XLogX",
]

# SCIP keeps arguments of logarithms and of negative powers 1e-9 away from 0, inside their domain.
NEAR = 1e-6
# Entropies are taken that far from 0, in units of their argument: twice what SCIP takes for 0.
AWAY = 2e-9
# An exponential of more is not formed: e^20 is 5e8 times the 1 it is added to.
WIDE = 20.0


@dataclass(frozen=True)
class Written:
    """A number as SCIP's expression, less `away`, times a factor, and its range."""

    expression: Any
    factor: float
    lo: float
    hi: float
    away: float = 0.0

    @property
    def whole(self) -> Any:
        """The expression with the factor multiplied in."""
        return self.expression if self.factor == 1 else self.expression * self.factor


def _scip() -> Any:
    import pyscipopt  # 0.1 to 0.3 s, and only bounds and integers need it

    return pyscipopt


def _monotone(function: Callable[[Array], Array], arg: Range) -> Range:
    return function(arg[0]), function(arg[1])


def _sorted_ends(function: Callable[[Array], Array], arg: Range) -> Range:
    """The range of a monotone function, either way."""
    one, other = function(arg[0]), function(arg[1])
    return np.minimum(one, other), np.maximum(one, other)


def _inside(arg: Range) -> Range:
    """The part of a range that is nonnegative; NaN where there is none."""
    lo, hi = arg
    gone = hi < 0
    return np.where(gone, np.nan, np.maximum(lo, 0.0)), np.where(gone, np.nan, hi)


@dataclass(frozen=True)
class Power(Operation):
    """Powers of a number: g^p for p ≠ 0, 1; on both sides of 0 where p is whole, else for g ≥ 0."""

    p: float

    @property
    def _is_whole(self) -> bool:
        return self.p == int(self.p)

    @property
    def is_one_sided(self) -> bool:  # type: ignore[override]
        """True if p is no whole number."""
        return not self._is_whole

    def range(self, arg: Range) -> Range:
        """Bounds from those of g."""
        if not self._is_whole:
            return _sorted_ends(self._value, _inside(arg))
        lo, hi = arg
        across = (lo <= 0) & (hi >= 0)
        low, high = _sorted_ends(self._value, arg)
        if self.p > 0:
            return (np.where(across, 0.0, low) if self.p % 2 == 0 else low), high
        from_above, from_below = across & (lo == 0), across & (hi == 0)
        ends_lo, ends_hi = self._value(lo), self._value(hi)
        if self.p % 2 == 0:
            nearest = np.minimum(
                np.where(lo == 0, np.inf, ends_lo), np.where(hi == 0, np.inf, ends_hi)
            )
            return np.where(across, nearest, low), np.where(across, np.inf, high)
        bottom = np.where(from_above, ends_hi, -np.inf)
        top = np.where(from_below, ends_lo, np.inf)
        return np.where(across, bottom, low), np.where(across, top, high)

    def _value(self, g: Array) -> Array:
        return np.asarray(np.power(g, self.p))

    def has_pole(self, arg: Written) -> bool:
        """True if g may be near 0 and p < 1: the slope is infinite there, and rounding matters."""
        return self.p < 1 and arg.lo <= NEAR * arg.factor and arg.hi >= -NEAR * arg.factor

    def expression(self, arg: Written) -> tuple[Any, float]:
        """(g/ρ)^p · ρ^p."""
        return arg.expression**self.p, arg.factor**self.p

    def equation(self, value: Any, arg: Written) -> Any:
        """Without pole: value · g^−p − 1 for p < 0, value^{1/p} − g for a root."""
        if self.p > 0:
            return value ** (1 / self.p) - arg.whole
        one = self.p == -1
        g, factor = (arg.expression, arg.factor) if one else Power(-self.p).expression(arg)
        return value * g * factor - 1.0


@dataclass(frozen=True)
class Exp(Operation):
    """The exponential."""

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        return _monotone(np.exp, arg)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The exponential of the whole argument."""
        return _scip().exp(arg.whole), 1.0


@dataclass(frozen=True)
class Log(Operation):
    """The logarithm of a positive number."""

    is_one_sided = True

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        return _monotone(np.log, _inside(arg))

    def has_pole(self, arg: Written) -> bool:
        """True if the argument may be near 0."""
        return arg.lo <= NEAR

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The logarithm of the whole argument."""
        return _scip().log(arg.whole), 1.0

    def equation(self, value: Any, arg: Written) -> Any:
        """The difference of e^value and the argument."""
        return _scip().exp(value) - arg.whole


@dataclass(frozen=True)
class XLogX(Operation):
    """g·log g for g ≥ 0, convex, least at 1/e."""

    is_one_sided = True

    def range(self, arg: Range) -> Range:
        """Bounds from those of g."""
        lo, hi = _inside(arg)
        left, right = self._value(lo), self._value(hi)
        least = np.where((lo <= 1 / np.e) & (hi >= 1 / np.e), -1 / np.e, np.minimum(left, right))
        return least, np.maximum(left, right)

    def _value(self, g: Array) -> Array:
        return np.asarray(xlogy(g, g))

    def expression(self, arg: Written) -> tuple[Any, float]:
        """(g/ρ)·log(g/ρ) + (g/ρ)·log ρ, times ρ: SCIP knows a product e·log e as an entropy.

        Of an argument that is a = ``AWAY`` larger than e = g/ρ it is (e + a)·log(e + a) + e·log ρ
        less the linear function that makes it 0 at g = 0 and, for ρ up to 10, at g = 1, where an
        equation may have its solutions. It differs by less than 1e-7 of ρ + |g·log g|.
        """
        moved, unit = arg.expression, arg.factor
        entropy = moved * _scip().log(moved)
        if not arg.away:
            return entropy + moved * float(np.log(unit)), unit
        start, slope = self._chord(arg)
        return entropy + (moved - arg.away) * float(np.log(unit) - slope) - start, unit

    def _chord(self, arg: Written) -> tuple[float, float]:
        """The value at 0 and the slope of the line that is taken from a moved expression."""
        one, a = 1 / arg.factor, arg.away
        start = float(xlogy(a, a))
        if arg.factor > 10:
            return start, 0.0
        return start, (float(xlogy(one + a, one + a) + xlogy(one, arg.factor)) - start) / one

    def error(self, arg: Written) -> float:
        """The most by which the expression of an argument that was moved differs from g·log g."""
        most, a = max(arg.hi / arg.factor, 0.0), arg.away
        start, slope = self._chord(arg)
        lifted = xlogy(most + a, most + a) - start - xlogy(most, most)
        return float(abs(lifted) + abs(slope) * most) * arg.factor


@dataclass(frozen=True)
class Abs(Operation):
    """The absolute value."""

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        low, high = _sorted_ends(np.abs, arg)
        return np.where((arg[0] < 0) & (arg[1] > 0), 0.0, low), high

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
class Huber(Operation):
    """The function g² up to |g| = M, 2M|g| − M² beyond."""

    m: float
    uses = 2

    def range(self, arg: Range) -> Range:
        """Bounds from those of |g|, with which it grows."""
        return _monotone(self._value, Abs().range(arg))

    def _value(self, size: Array) -> Array:
        return np.where(size <= self.m, size**2, 2 * self.m * size - self.m**2)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The square of g less that of (|g| − M)₊, in the unit of g."""
        excess = abs(arg.expression) - self.m / arg.factor
        return arg.expression**2 - (0.5 * excess + 0.5 * abs(excess)) ** 2, arg.factor**2


@dataclass(frozen=True)
class Sin(Operation):
    """The sine, written of an argument between −π and π.

    SCIP 10's planes above and below the sine cut points of it off where the argument's range holds
    two crests or two troughs: cos(q) for q from 6.289 to 12.627, at q = 4π. None does that holds
    one of each.
    """

    def range(self, arg: Range) -> Range:
        """Bounds: −1 and 1 where a trough and a crest lie inside, else the values at the ends."""
        lo, hi = arg
        low, high = _sorted_ends(np.sin, arg)
        crest = np.ceil((lo - np.pi / 2) / (2 * np.pi)) * 2 * np.pi + np.pi / 2 <= hi
        trough = np.ceil((lo + np.pi / 2) / (2 * np.pi)) * 2 * np.pi - np.pi / 2 <= hi
        unknown = ~(np.isfinite(lo) & np.isfinite(hi))
        low = np.where(trough | unknown, -1.0, low)
        return low, np.where(crest | unknown, 1.0, high)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """The sine of the whole argument, which is within a turn."""
        return _scip().sin(arg.whole), 1.0


@dataclass(frozen=True)
class Tanh(Operation):
    """The hyperbolic tangent, by an exponential that does not grow."""

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        return _monotone(np.tanh, arg)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """1 − 2/(1 + e^{2g}) = 2/(1 + e^{−2g}) − 1; of |g| and the sign's halves on wide ranges."""
        g = arg.whole
        if arg.hi <= WIDE:
            return 1.0 - 2.0 * (1.0 + _scip().exp(g * 2.0)) ** -1.0, 1.0
        if arg.lo >= -WIDE:
            return 2.0 * (1.0 + _scip().exp(g * -2.0)) ** -1.0 - 1.0, 1.0
        up, down = abs(g) + g, abs(g) - g
        inverse = [(1.0 + _scip().exp(part * -1.0)) ** -1.0 for part in (up, down)]
        return 2.0 * inverse[0] - 2.0 * inverse[1], 1.0


@dataclass(frozen=True)
class Logistic(Operation):
    """log(1 + e^g), by an exponential that does not grow."""

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        return _monotone(lambda g: np.logaddexp(0.0, g), arg)

    def expression(self, arg: Written) -> tuple[Any, float]:
        """log(1 + e^g) = g + log(1 + e^{−g}) = g₊ + log(1 + e^{−|g|}); far below 0, e^g."""
        g, scip = arg.whole, _scip()
        if arg.hi <= -WIDE:  # the two differ by less than 1e-9 of them, and 1 + e^g is rounded
            return scip.exp(g), 1.0
        if arg.hi <= WIDE:
            return scip.log(1.0 + scip.exp(g)), 1.0
        if arg.lo >= -WIDE:
            return g + scip.log(1.0 + scip.exp(g * -1.0)), 1.0
        size = abs(g)
        return 0.5 * g + 0.5 * size + scip.log(1.0 + scip.exp(size * -1.0)), 1.0


@dataclass(frozen=True)
class Asinh(Operation):
    """The inverse hyperbolic sine."""

    def range(self, arg: Range) -> Range:
        """Bounds from those of the argument."""
        return _monotone(np.arcsinh, arg)

    def has_pole(self, arg: Written) -> bool:
        """True: it is always written as an equation."""
        return True

    def equation(self, value: Any, arg: Written) -> Any:
        """Sinh of the value, less the argument."""
        scip = _scip()
        return 0.5 * scip.exp(value) - 0.5 * scip.exp(value * -1.0) - arg.whole


@dataclass(frozen=True)
class Product(Operation):
    """The product of two numbers."""

    def range(self, one: Range, other: Range) -> Range:
        """Bounds by the four corners, 0 times infinite being 0."""
        corners = np.stack([a * b for a in one for b in other])
        zero = np.stack([(a == 0) | (b == 0) for a in one for b in other])
        corners = np.where(zero, 0.0, corners)
        return corners.min(axis=0), corners.max(axis=0)

    def expression(self, one: Written, other: Written) -> tuple[Any, float]:
        """The product of the two, and of their factors."""
        return one.expression * other.expression, one.factor * other.factor
