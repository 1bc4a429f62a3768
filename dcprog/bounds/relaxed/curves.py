"""Convex and concave functions of one number, of what is known of their argument."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Power, PowerApprox

from dcprog.bounds.relaxed.relaxed import Relaxed
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.majorants.atoms.table import entry
from dcprog.majorants.tree import short

__all__ = ["ELEMENTWISE", "INVERSE", "POSITIVE", "ROOT", "SQUARE", "Curve", "curve_of"]

ELEMENTWISE = (cp.abs, cp.entr, cp.exp, cp.huber, cp.log, cp.log1p, cp.logistic, Power, PowerApprox)
# Where a slope is infinite, the tangent is taken that share of the range further inside.
INSIDE = 1e-3


@dataclass
class Curve:
    """A convex function of one number.

    Attributes
    ----------
    value, slope : callables
        Entry by entry.
    start : float
        It is defined from there on.
    bottom : float or None
        Where it is least; None for a monotone one.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    start: float = -np.inf
    bottom: float | None = None

    def __call__(self, w: Relaxed) -> Relaxed:
        """The curve of a relaxed argument.

        Below: the curve at the point of [below, above] at which it is least. Above: its chord.
        """
        lo, hi = np.maximum(w.lo, self.start), np.maximum(w.hi, self.start)
        with np.errstate(all="ignore"):
            left, right = self.value(lo), self.value(hi)
            least = self._least_at(lo, hi, left, right)
            most = _number(np.maximum(left, right), np.inf)
            bottom = _number(self.value(least), -np.inf)
            at = np.clip(least, np.clip(w.below, lo, hi), np.clip(w.above, lo, hi))
            below, rate = self._tangent(at, lo, hi)
            slope_below = np.where(
                (w.below > least)[:, :, None],
                w.slope_below,
                np.where((w.above < least)[:, :, None], w.slope_above, 0.0),
            )
            chord = np.where(hi > lo, (right - left) / (hi - lo), 0.0)
            known = np.isfinite(chord)
            chord = np.where(known, chord, 0.0)
            side = np.where(chord >= 0, w.above, w.below)
            above = np.where(known, left + chord * (side - lo), most)
            slope_above = np.where((chord >= 0)[:, :, None], w.slope_above, w.slope_below)
            found = Relaxed(
                bottom,
                most,
                below,
                above,
                rate[:, :, None] * slope_below,
                chord[:, :, None] * slope_above,
                self.value(np.where(w.value >= self.start, w.value, np.nan)),
            )
        return found.cut()

    def _least_at(self, lo: Array, hi: Array, left: Array, right: Array) -> Array:
        if self.bottom is not None:
            return np.clip(self.bottom, lo, hi)
        return np.where(left <= right, lo, hi)

    def _tangent(self, at: Array, lo: Array, hi: Array) -> tuple[Array, Array]:
        """Value at a point of the tangent there, or further inside where its slope is infinite."""
        rate, value = self.slope(at), self.value(at)
        steep = ~np.isfinite(rate) | ~np.isfinite(value)
        if np.any(steep):
            span = np.where(np.isfinite(hi), hi - lo, 1.0 + np.abs(lo))
            inner = np.minimum(at + INSIDE * span, hi)
            rate = np.where(steep, self.slope(inner), rate)
            value = np.where(steep, self.value(inner) + rate * (at - inner), value)
        unknown = ~np.isfinite(rate) | ~np.isfinite(value)
        return np.where(unknown, -np.inf, value), np.where(unknown, 0.0, rate)


def _number(array: Array, otherwise: float) -> Array:
    return np.where(np.isnan(array), otherwise, array)


SQUARE = Curve(np.square, lambda a: 2 * a, bottom=0.0)
POSITIVE = Curve(lambda a: np.maximum(a, 0.0), lambda a: np.where(a > 0, 1.0, 0.0))
INVERSE = Curve(lambda a: 1 / a, lambda a: -1 / a**2, start=0.0)
ROOT = Curve(lambda a: -np.sqrt(a), lambda a: -0.5 / np.sqrt(a), start=0.0)  # −√a, convex


def curve_of(node: Any) -> tuple[Curve, bool]:
    """The convex curve of an elementwise atom, and whether the atom is its negative.

    Raises
    ------
    NotBoundable
        An atom that is neither convex nor concave.
    """
    convex = node.is_atom_convex()
    if not (convex or node.is_atom_concave()):
        raise NotBoundable(
            short(node),
            f"{type(node).__name__} is neither convex nor concave, and has no rule of its own",
            "sums, products and chains of convex and concave functions",
        )
    slope: Any = entry(node).slope
    sign = 1.0 if convex else -1.0

    def value(a: Array) -> Array:
        return sign * np.asarray(node.numeric([a]), dtype=float)

    def rate(a: Array) -> Array:
        return sign * np.asarray(slope(node, [a], a, np.ones_like(a))[0], dtype=float)

    return Curve(value, rate, *_domain(node)), not convex


def _domain(node: Any) -> tuple[float, float | None]:
    """Where the atom starts, and where the curve is least unless it is monotone."""
    if isinstance(node, Power | PowerApprox):
        p = float(node.p.value)
        even = p > 0 and p % 2 == 0
        return (-np.inf, 0.0) if even else (0.0, None)
    if isinstance(node, cp.abs | cp.huber):
        return -np.inf, 0.0
    if isinstance(node, cp.entr):
        return 0.0, float(np.exp(-1.0))
    if isinstance(node, cp.log):
        return 0.0, None
    return (-1.0 if isinstance(node, cp.log1p) else -np.inf), None
