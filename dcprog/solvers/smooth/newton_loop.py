"""Newton's method for one score: smooth losses of its margins, a tilt and a ridge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import ConvexLoss
from dcprog.solvers.linalg.line_search import Line, bottom
from dcprog.solvers.linalg.ridge import Ridge

__all__ = ["WITHOUT_TANGENT", "NewtonScore", "Place", "SmoothLosses", "Tangent", "Weighted"]

# Nearly hard margins take about one step per sample. A step to the end of a tiny piece may decrease
# the value by less than rounding: only STALLS such steps in a row end the method.
MAX_STEPS = 2000
STALLS = 10
PRECISION = 1e-15
NO_CURVATURE = 1e-14  # a curvature below this share of the largest or the intercept's slope is 0
REFRESH = 10  # steps between recomputations of the margins


@dataclass(frozen=True)
class Tangent:
    """The affine function g·w + h·b + constant of the unknowns."""

    g: Array | float = 0.0
    h: float = 0.0
    constant: float = 0.0

    def __call__(self, w: Array, b: float) -> float:
        """The value at (w, b)."""
        return float(np.sum(self.g * w)) + self.h * b + self.constant


WITHOUT_TANGENT = Tangent()


class SmoothLosses(Protocol):
    """One convex function of a number for every sample, with a continuous slope."""

    def value(self, u: Array) -> float:
        """The sum of the losses."""

    def slope(self, u: Array) -> Array:
        """The slopes of the losses."""

    def curvature(self, u: Array) -> Array:
        """The second derivatives of the losses; at a jump those of either side."""

    def breaks(self, u: Array, change: Array) -> Array | None:
        """The t at which a curvature at u + t·change jumps; None if unknown or too many."""


@dataclass(frozen=True)
class Weighted:
    """The weighted losses d_i base(u_i)."""

    base: ConvexLoss
    weight: Array

    def value(self, u: Array) -> float:
        """The sum Σ d base(u)."""
        return float(self.weight @ self.base(u))

    def slope(self, u: Array) -> Array:
        """The slopes d·base'(u)."""
        return self.weight * self.base.slope(u)

    def curvature(self, u: Array) -> Array:
        """The curvatures d·base''(u)."""
        return self.weight * self.base.curvature(u)

    def breaks(self, u: Array, change: Array) -> Array | None:
        """The t at which a margin meets a knot, if the base is piecewise quadratic."""
        if self.base.pieces is None:
            return None
        knots = np.array(self.base.pieces.knots)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((knots - u) / change)[:, self.weight > 0].ravel()


@dataclass(frozen=True)
class Place:
    """An iterate of Newton's method with its next step.

    Attributes
    ----------
    w, b : array, float
    step, shift : array, float
        The changes of w and b to the minimum of the quadratic model.
    value : float
        The value F(w, b).
    size : float
        The sum of the losses and the ridge, to which rounding errors are relative.
    promise : float
        The decrease of the quadratic model.
    imbalance : float
        A bound of F minus its minimum, by the gradient.
    """

    w: Array
    b: float
    step: Array
    shift: float
    value: float
    size: float
    promise: float
    imbalance: float


@dataclass(frozen=True)
class NewtonScore:
    """Newton's method for F = Σ_i losses_i(u_i) + t_i u_i + (λ/2)‖w‖² + tangent(w, b).

    The margins are u_i = s_i(x_i·w + b) + o_i.

    Attributes
    ----------
    ridge : Ridge
        The linear algebra for X and λ, with or without a free b.
    losses : SmoothLosses
    sign, offset, tilt : arrays
        The signs s, offsets o and tilts t.
    tangent : Tangent
        An affine function, 0 by default.
    search : callable
        Maps a line to a step length; by default a search for the minimum.
    deadline : Deadline
    """

    ridge: Ridge
    losses: SmoothLosses
    sign: Array
    offset: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT
    search: Callable[[Line], float] = bottom
    deadline: Deadline = field(default_factory=Deadline)

    def margins(self, w: Array, b: float) -> Array:
        """The margins u."""
        return self.sign * (self.ridge.X @ w + b) + self.offset

    def minimise(
        self, w: Array, b: float, tolerance: float, balance: float = np.inf
    ) -> tuple[Array, float]:
        """The minimiser (w, b); see :meth:`last`."""
        place = self.last(w, b, tolerance, balance)
        return place.w, place.b

    def last(
        self,
        w: Array,
        b: float,
        tolerance: float,
        balance: float = np.inf,
        precision: float = PRECISION,
    ) -> Place:
        """The last iterate of Newton's method.

        Parameters
        ----------
        w, b : array, float
            The start.
        tolerance : float
            The run fails if the predicted decrease at the end exceeds this times 1 + |value|.
        balance : float
            Continue, as far as rounding allows, until :meth:`imbalance` is at most this.
        precision : float
            Stop if the predicted decrease is at most this share of the value's terms.

        Raises
        ------
        SubproblemError
            ``unbounded`` or ``failed``.
        """
        lowest, stalled = np.inf, 0
        for number, place in enumerate(self.path(w, b)):
            stalled = 0 if place.value < lowest else stalled + 1
            lowest = min(lowest, place.value)
            done = place.promise <= precision * place.size and place.imbalance <= balance
            if done or stalled == STALLS or number == MAX_STEPS:
                break
            self.deadline.check("Newton's method", (place.w, place.b))
        if place.promise > tolerance * (1 + abs(place.value)):
            short = f"Newton's method stopped {place.promise:.3g} short"
            raise SubproblemError("failed", short, point=(place.w, place.b))
        return place

    def path(self, w: Array, b: float) -> Iterator[Place]:
        """Yield the iterates of Newton's method without end."""
        u = self.margins(w, b)
        for number in count(1):
            size = self.losses.value(u) + self.ridge.lam / 2 * float(w @ w)
            g, h = self._gradient(w, self.losses.slope(u))
            step, shift = self._step(g, h, u)
            promise = -(float(g @ step) + h * shift) / 2  # the decrease of the quadratic model
            value = size + float(self.tilt @ u) + self.tangent(w, b)
            yield Place(w, b, step, shift, value, size, promise, self._imbalance(g, h, b))
            change = self.sign * (self.ridge.X @ step + shift)
            free = h != 0 and not np.any(step)  # only the intercept moves, without curvature
            t = (bottom if free else self.search)(_Ray(self, u, change, (w, step, shift), size))
            w, b, u = w + t * step, b + t * shift, u + t * change
            if number % REFRESH == 0:
                u = self.margins(w, b)

    def imbalance(self, w: Array, b: float, slope: Array) -> float:
        """A bound of the value minus the minimum, by the gradient for the given slopes."""
        return self._imbalance(*self._gradient(w, slope), b)

    def _gradient(self, w: Array, slope: Array) -> tuple[Array, float]:
        pull = self.sign * (self.tilt + slope)
        g = self.ridge.X.T @ pull + self.ridge.lam * w + self.tangent.g
        return g, float(np.sum(pull)) + self.tangent.h if self.ridge.fit_intercept else 0.0

    def _imbalance(self, g: Array, h: float, b: float) -> float:
        return float(g @ g) / (2 * self.ridge.lam) + abs(h) * (1 + abs(b))

    def _step(self, g: Array, h: float, u: Array) -> tuple[Array, float]:
        curvature = self.sign**2 * self.losses.curvature(u) / 2
        least = NO_CURVATURE * max(float(np.max(curvature, initial=0.0)), abs(h))
        active = np.flatnonzero(curvature > least)
        if active.size == 0:  # without curvature move the intercept along its slope, if any
            slopes = np.abs(self.tilt) + np.abs(self.losses.slope(u))
            level = abs(h) <= 1e-14 * (float(np.sum(slopes)) + abs(self.tangent.h))
            return (-g / self.ridge.lam, 0.0) if level else (np.zeros_like(g), -h)
        if 2 * active.size > curvature.size:  # gathering most of X costs more than using all of it
            step, shift = self.ridge.step(g, np.asarray(h), curvature)
        else:
            step, shift = self.ridge.step(g, np.asarray(h), curvature[active], active)
        return step, float(shift)


class _Ray:
    """The function of t along (w, b) + t·(step, shift), with margins u + t·change."""

    def __init__(
        self,
        score: NewtonScore,
        u: Array,
        change: Array,
        path: tuple[Array, Array, float],
        size: float,
    ) -> None:
        w, step, shift = path
        self.losses, self.u, self.change, self.size = score.losses, u, change, size
        lam, tangent = score.ridge.lam, score.tangent
        self.along, self.square = lam * float(w @ step), lam * float(step @ step)
        self.tilt = float(score.tilt @ change + np.sum(tangent.g * step)) + tangent.h * shift
        self.start = size - lam / 2 * float(w @ w)

    def rise(self, t: float) -> float:
        losses = self.losses.value(self.u + t * self.change)
        return losses - self.start + t * (self.tilt + self.along + t / 2 * self.square)

    def slope(self, t: float) -> float:
        pull = float(self.losses.slope(self.u + t * self.change) @ self.change)
        return pull + self.tilt + self.along + t * self.square

    def breaks(self) -> Array | None:
        return self.losses.breaks(self.u, self.change)
