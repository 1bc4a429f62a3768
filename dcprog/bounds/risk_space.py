"""A risk as a function on boxes of θ."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from dcprog.bounds.boxed_risk import BoxedRisk, boxed
from dcprog.bounds.boxes import Boxes
from dcprog.bounds.centring import Centring, centred
from dcprog.bounds.decided import decided
from dcprog.bounds.ranges import group_range, row_range, steepest
from dcprog.bounds.relaxation import bound_boxes
from dcprog.bounds.root_box import ground, root_box
from dcprog.bounds.rounding import of_terms
from dcprog.bounds.search import Found, Incumbent, heeded
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.risk import Risk
from dcprog.surrogates.driver import solve
from dcprog.surrogates.given_starts import numbers

__all__ = ["RiskSpace"]

# Numbers in the largest arrays of a batch: what the processor's cache holds.
BATCH = 2**16
MOST_BOXES = 256
# Outer steps that a new incumbent is worth.
POLISHING = 20
# A scale is at least that share of the one at θ = 0.
LEAST = 1e-9
# A scale is at least so many times what may be rounding: with the default gap a bound has to come
# as near as ten times of it.
ROUNDINGS = 1e4
# Points at which risks are told apart, at those distances from the best one, in units of the rows.
APART = (0.1, 1.0, 10.0)


class RiskSpace:
    """θ ↦ F(θ) on boxes; of the coefficients of centred columns, unless the user gives a box.

    Parameters
    ----------
    risk : Risk
    box : pair of arrays, optional
        Points outside are of no interest.

    Raises
    ------
    NotBoundable
        Something in it has no minorant.
    """

    def __init__(self, risk: Risk, box: tuple[Array, Array] | None = None) -> None:
        self.risk = risk
        self.box = box
        self.parts: BoxedRisk = boxed(risk)
        self.centring: Centring | None = None
        if box is None and not np.all(risk.penalized):
            self.parts, self.centring = centred(self.parts)
        rows = max(self.parts.matrix.shape[0], 1)
        self.lot = int(np.clip(BATCH // rows, 16, MOST_BOXES))

    sign = 1.0

    @property
    def entries(self) -> int:
        """Coordinates of a box."""
        return self.parts.size

    @property
    def least_scale(self) -> float:
        """A share of what the terms add up to at θ = 0: F may vanish.

        Residuals there are the responses, whose origin says nothing; their rounding has to do.
        """
        if self.risk.offset is not None and np.any(self.risk.offset):
            return 0.0
        scale = self.risk.magnitude(np.zeros(self.parts.size))
        return LEAST * scale if np.isfinite(scale) else 0.0

    def point(self, start: Any) -> Array:
        """A start that the user gives, inside the box."""
        if isinstance(start, str | Mapping):
            raise ValueError("start: a Risk has no variables; an array, θ, or a Result is needed")
        x = numbers(start, (self.parts.size,), "the start")
        return x if self.box is None else np.clip(x, *self.box)

    def first(self, seconds: float) -> Incumbent:
        """Where the loop gets to."""
        x = heeded(solve(self.risk, time_limit=seconds)).x
        return self.at(self.point(np.zeros(self.parts.size) if x is None else x))

    def variables(self, x: Array) -> Mapping[Any, Array]:
        """There are none."""
        return {}

    def untouched(self) -> AbstractContextManager[None]:
        """Nothing of the user's is changed."""
        return nullcontext()

    def at(self, theta: Array) -> Incumbent:
        """The risk at a point."""
        rounding = self._rounding(self._inward(theta))
        scale = max(self.risk.magnitude(theta), ROUNDINGS * rounding)
        return Incumbent(theta, self.risk(theta), scale, rounding)

    def _rounding(self, eta: Array) -> float:
        """Between what the risk lies where margins are as far off as rounding may take them."""
        parts = self.parts
        low, high = row_range(parts, eta[None], eta[None])
        with np.errstate(all="ignore"):
            least, most = (parts.transform(t[0]) for t in group_range(parts, low, high))
            width = parts.total(most) - parts.total(least)
            if parts.subtracted is not None:
                rise = steepest(parts.subtracted, low, high) * (high - low)
                width += parts.subtracted_total(rise[0])
        return width if np.isfinite(width) else 0.0

    def value(self, z: Array) -> float:
        """The risk at z."""
        return self.risk(self._outward(z))

    def region(self, x: Array) -> tuple[Array, Array]:
        """The point's coordinates, up to rounding."""
        eta = self._inward(x)
        blur = of_terms(eta.size) * np.abs(eta)
        if self.centring is not None:
            blur = blur + of_terms(eta.size) * self.centring.sizes(x)
        return eta - blur, eta + blur

    def marks(self, theta: Array) -> Array:
        """Sums over margins, losses and penalties at points around θ: other risks have others."""
        rng = np.random.default_rng(0)
        unit = self.parts.sizes.max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        found: list[float] = []
        for apart in APART:
            there = theta + apart * rng.normal(size=theta.size) / unit
            u, losses = self.risk.margins(there), self.risk.loss_values(there)
            found += [float(rng.uniform(1, 2, part.size) @ part) for part in (np.abs(u), losses)]
            found.append(self.risk.penalty_value(there))
        return np.array(found)

    def _inward(self, theta: Array) -> Array:
        return theta if self.centring is None else self.centring.inward(theta)

    def _outward(self, eta: Array) -> Array:
        return eta if self.centring is None else self.centring.outward(eta)

    def root(self, best: Incumbent) -> Boxes:
        """The box that holds every point as good as the best one."""
        name = repr(self.risk)
        if not np.isfinite(best.value):
            raise ValueError(f"start: {name} has no finite value there")
        x = self._inward(best.x)
        lo, hi = self.box or root_box(self.parts, x, best.value, name)
        least = np.array([ground(self.parts)])
        return Boxes(lo[None], hi[None], least, np.clip(x, lo, hi)[None], (hi - lo)[None])

    def bound(self, boxes: Boxes, target: float) -> Found:
        """By chords on each box; what is decided on all of them is added up first."""
        near = decided(self.parts, *boxes.hull)
        return bound_boxes(near, boxes.lo, boxes.hi, boxes.z, target)

    def improved(self, z: Array, polish: bool) -> Incumbent:
        """The risk at z, or where the loop gets from there."""
        theta = self._outward(z)
        here = self.at(theta)
        if polish:
            try:
                result = heeded(solve(self.risk, start=theta, max_iter=POLISHING))
            except (SubproblemError, ValueError):
                return here
            x = result.x
            if x is not None and result.value < here.value and self._holds(x):
                return self.at(x)
        return here

    def _holds(self, x: Array) -> bool:
        """True if the point is in the box, where there is one."""
        return self.box is None or bool(np.all((x >= self.box[0]) & (x <= self.box[1])))
