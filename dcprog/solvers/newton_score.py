"""Newton's method for one score: smooth losses of its margins, a tilt and a ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dcprog.errors import SubproblemError
from dcprog.losses import ConvexLoss
from dcprog.solvers.ridge import Ridge
from dcprog.solvers.screening import WITHOUT_TANGENT, Tangent
from dcprog.tree import Array

__all__ = ["NewtonScore", "SmoothLosses", "Weighted"]

# Nearly hard margins take about a step a sample. A step to the end of a tiny piece may fall by
# less than rounding: only STALLS of them in a row mean that there is no more to gain.
MAX_STEPS = 2000
STALLS = 10
PRECISION = 1e-15
# A step length is good enough where the slope has fallen to that share; curvature below that share
# of the largest weight is none.
FLAT = 0.1
NO_CURVATURE = 1e-14
LONGEST = 1e30
REFRESH = 10  # steps between which the margins are only updated


class SmoothLosses(Protocol):
    """One convex function of a number for every sample, with a continuous slope."""

    def value(self, u: Array) -> float:
        """Their sum."""

    def slope(self, u: Array) -> Array:
        """Their slopes."""

    def curvature(self, u: Array) -> Array:
        """Their second derivatives, on either side of a jump."""

    def breaks(self, u: Array, change: Array) -> Array | None:
        """Steps t at which u + t·change meets a jump of a curvature; None if they are too many."""


@dataclass(frozen=True)
class Weighted:
    """d_i base(u_i)."""

    base: ConvexLoss
    weight: Array

    def value(self, u: Array) -> float:
        """Σ d base(u)."""
        return float(self.weight @ self.base(u))

    def slope(self, u: Array) -> Array:
        """d·base'(u)."""
        return self.weight * self.base.slope(u)

    def curvature(self, u: Array) -> Array:
        """d·base''(u)."""
        return self.weight * self.base.curvature(u)

    def breaks(self, u: Array, change: Array) -> Array | None:
        """At the knots, if the base is piecewise quadratic."""
        if self.base.pieces is None:
            return None
        knots = np.array(self.base.pieces.knots)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((knots - u) / change)[:, self.weight > 0].ravel()


@dataclass(frozen=True)
class NewtonScore:
    """Σ_i losses_i(u_i) + t_i u_i + (λ/2)‖w‖² + tangent(w, b) with u_i = s_i(x_i·w + b) + o_i.

    Attributes
    ----------
    ridge : Ridge
        X, λ, and whether there is a free b.
    losses : SmoothLosses
    sign, offset, tilt : arrays
        s, o and t.
    tangent : Tangent
        A linear function, 0 by default.
    """

    ridge: Ridge
    losses: SmoothLosses
    sign: Array
    offset: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT

    def margins(self, w: Array, b: float) -> Array:
        """The vector u."""
        return self.sign * (self.ridge.X @ w + b) + self.offset

    def minimise(
        self, w: Array, b: float, tolerance: float, balance: float = np.inf
    ) -> tuple[Array, float]:
        """The minimiser (w, b).

        Parameters
        ----------
        w, b : array, float
            Where to begin.
        tolerance : float
            Relative to 1 + |value|: to be further away at the end is a failure.
        balance : float
            Go on, as long as rounding allows, until :meth:`imbalance` is below that.

        Raises
        ------
        SubproblemError
            ``unbounded`` or ``failed``.
        """
        lowest, stalled = np.inf, 0
        u = self.margins(w, b)
        for count in range(MAX_STEPS):
            if count % REFRESH == REFRESH - 1:
                u = self.margins(w, b)
            size = self.losses.value(u) + self.ridge.lam / 2 * float(w @ w)
            value = size + float(self.tilt @ u) + self.tangent(w, b)
            g, h = self._gradient(w, self.losses.slope(u))
            step, shift = self._step(g, h, u)
            promise = -(float(g @ step) + h * shift) / 2  # decrease if the piece did not end
            stalled = 0 if value < lowest else stalled + 1
            lowest = min(lowest, value)
            done = promise <= PRECISION * size and self._imbalance(g, h, b) <= balance
            if done or stalled == STALLS:
                break
            change = self.sign * (self.ridge.X @ step + shift)
            t = self._length(u, change, w, step, shift)
            w, b, u = w + t * step, b + t * shift, u + t * change
        if promise > tolerance * (1 + abs(value)):
            raise SubproblemError("failed", f"Newton's method stopped {promise:.3g} short")
        return w, b

    def imbalance(self, w: Array, b: float, slope: Array) -> float:
        """By how much less than the value the losses' slopes show the minimum to be."""
        return self._imbalance(*self._gradient(w, slope), b)

    def _gradient(self, w: Array, slope: Array) -> tuple[Array, float]:
        pull = self.sign * (self.tilt + slope)
        g = self.ridge.X.T @ pull + self.ridge.lam * w + self.tangent.g
        return g, float(np.sum(pull)) + self.tangent.h if self.ridge.fit_intercept else 0.0

    def _imbalance(self, g: Array, h: float, b: float) -> float:
        return float(g @ g) / (2 * self.ridge.lam) + abs(h) * (1 + abs(b))

    def _step(self, g: Array, h: float, u: Array) -> tuple[Array, float]:
        curvature = self.sign**2 * self.losses.curvature(u) / 2
        active = np.flatnonzero(curvature > NO_CURVATURE * np.max(curvature, initial=0.0))
        if active.size == 0:  # no curvature holds the intercept: where it slopes, go until one does
            slopes = np.abs(self.tilt) + np.abs(self.losses.slope(u))
            level = abs(h) <= 1e-14 * (float(np.sum(slopes)) + abs(self.tangent.h))
            return (-g / self.ridge.lam, 0.0) if level else (np.zeros_like(g), -h)
        step, shift = self.ridge.step(g, np.asarray(h), curvature[active], active)
        return step, float(shift)

    def _length(self, u: Array, change: Array, w: Array, step: Array, shift: float) -> float:
        """The minimum along a direction."""
        lam, along, square = self.ridge.lam, float(w @ step), float(step @ step)
        tilt = float(self.tilt @ change) + float(np.sum(self.tangent.g * step))
        tilt += self.tangent.h * shift

        def slope(t: float) -> float:
            pull = float(self.losses.slope(u + t * change) @ change)
            return tilt + pull + lam * (along + t * square)

        breaks = self.losses.breaks(u, change)
        if not slope(0.0) < 0:
            return 0.0  # there is nothing but rounding left
        if abs(slope(1.0)) <= (FLAT if breaks is None else 1e-12) * abs(slope(0.0)):
            return 1.0
        if breaks is None:
            return _where_flat(slope)
        return _root(slope, breaks[(breaks > 0) & np.isfinite(breaks)])


def _where_flat(slope: Callable[[float], float]) -> float:
    """A place where an increasing function that is negative at 0 has come close to 0."""
    low, at_low = 0.0, slope(0.0)
    high, at_high = 1.0, slope(1.0)
    enough = FLAT * abs(at_low)
    while at_high < -enough:
        if high > LONGEST:
            raise SubproblemError("unbounded", "the function falls for ever along a direction")
        low, at_low, high = high, at_high, 4 * high
        at_high = slope(high)
    for _ in range(100):
        if at_high <= enough:
            return high
        share = np.clip(at_low / (at_low - at_high), 0.05, 0.95)
        middle = low + float(share) * (high - low)
        there = slope(middle)
        if there > -enough:
            high, at_high = middle, there
        else:
            low, at_low = middle, there
    return low


def _root(slope: Callable[[float], float], breaks: Array) -> float:
    """Root of an increasing, piecewise linear function that is negative at 0."""
    knots = np.concatenate([[0.0], np.sort(breaks)])
    low, high = 0, knots.size  # negative up to knots[low], not from knots[high] on
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if slope(knots[middle]) < 0 else (low, middle)
    left = knots[low]
    right = knots[high] if high < knots.size else 2 * left + 1
    at_left, at_right = slope(left), slope(right)
    if not at_right > at_left:
        raise SubproblemError("unbounded", "the function falls for ever along a direction")
    return left - at_left * (right - left) / (at_right - at_left)
