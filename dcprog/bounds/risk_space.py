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

# Numbers in the largest arrays of a batch, so that they fit into the processor's cache.
BATCH = 2**16
MOST_BOXES = 256
# Outer steps spent on a new incumbent, at most.
POLISHING = 20
# A scale is at least this share of the one at θ = 0.
LEAST = 1e-9
# A scale is at least this multiple of the rounding error: the default gap is then ten times that
# error.
ROUNDINGS = 1e4
# Distances from the best point, in units of the rows, of the points whose values identify a risk.
APART = (0.1, 1.0, 10.0)


class RiskSpace:
    """A risk F(θ) on boxes of search coordinates.

    These are the coordinates of centred columns, or θ itself if the user gives a box or all entries
    are penalised.

    Parameters
    ----------
    risk : Risk
    box : pair of arrays, optional
        Only points inside are searched.

    Raises
    ------
    NotBoundable
        A part of the risk has no minorant.
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
        """The number of coordinates of a box."""
        return self.parts.size

    @property
    def least_scale(self) -> float:
        """A lower bound of scales, because F may vanish: a share of F's scale at θ = 0.

        0 for residuals: at θ = 0 they are the responses, whose origin is arbitrary. Rounding errors
        alone bound the scale then.
        """
        if self.risk.offset is not None and np.any(self.risk.offset):
            return 0.0
        scale = self.risk.magnitude(np.zeros(self.parts.size))
        return LEAST * scale if np.isfinite(scale) else 0.0

    def point(self, start: Any) -> Array:
        """The user's start as an array θ, clipped to the box."""
        if isinstance(start, str | Mapping):
            raise ValueError("start: a Risk has no variables; an array, θ, or a Result is needed")
        x = numbers(start, (self.parts.size,), "the start")
        return x if self.box is None else np.clip(x, *self.box)

    def first(self, seconds: float) -> Incumbent:
        """The incumbent that the outer loop finds within `seconds`."""
        x = heeded(solve(self.risk, time_limit=seconds)).x
        return self.at(self.point(np.zeros(self.parts.size) if x is None else x))

    def variables(self, x: Array) -> Mapping[Any, Array]:
        """An empty mapping: a risk has no cvxpy variables."""
        return {}

    def untouched(self) -> AbstractContextManager[None]:
        """A context that does nothing: the search changes no object of the user's."""
        return nullcontext()

    def at(self, theta: Array) -> Incumbent:
        """The incumbent at a point."""
        rounding = self._rounding(self._inward(theta))
        scale = max(self.risk.magnitude(theta), ROUNDINGS * rounding)
        return Incumbent(theta, self.risk(theta), scale, rounding)

    def _rounding(self, eta: Array) -> float:
        """The width of the risk's range when margins vary by their rounding errors."""
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
        """The risk at the search coordinates z."""
        return self.risk(self._outward(z))

    def region(self, x: Array) -> tuple[Array, Array]:
        """Bounds of the search coordinates of a point x, widened by rounding errors."""
        eta = self._inward(x)
        blur = of_terms(eta.size) * np.abs(eta)
        if self.centring is not None:
            blur = blur + of_terms(eta.size) * self.centring.sizes(x)
        return eta - blur, eta + blur

    def marks(self, theta: Array) -> Array:
        """Sums of margins, losses and penalties at points around θ, which identify the risk."""
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
        """Bounds by chords on each box; samples decided on all boxes are summed first."""
        near = decided(self.parts, *boxes.hull)
        return bound_boxes(near, boxes.lo, boxes.hi, boxes.z, target)

    def improved(self, z: Array, polish: bool) -> Incumbent:
        """The incumbent at z or, if `polish`, a better one that the outer loop finds from it."""
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
        """True if the point is in the user's box, or there is no such box."""
        return self.box is None or bool(np.all((x >= self.box[0]) & (x <= self.box[1])))
