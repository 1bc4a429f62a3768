"""The convex minorant of a risk on a box, and lower bounds of its minimum, for many boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.chords import Chords, subtracted_lines
from dcprog.bounds.ranges import group_range, row_range
from dcprog.foundation.arrays import Array

__all__ = ["Bounded", "bound_boxes"]

# Newton steps on the minorant of a box, at most.
STEPS = 5
# Kinks are rounded off over that share of a row's range at first, and by that factor each step.
ROUNDED, SHARPER = 0.2, 0.4
# A share of the gradient over the box's size is added to the curvature: steps end at its edge.
DAMPING = 0.1
# Edges that are computed lie outside of where they should by that share.
ROUNDING = 1e-12


@dataclass
class Bounded:
    """Lower bounds on boxes, and what the search wants to know besides.

    Attributes
    ----------
    lower : array of shape (boxes,)
    z : array of shape (boxes, p)
        Near the minimiser of the minorant.
    value : array of shape (boxes,)
        The risk itself at z.
    effect : array of shape (boxes, p)
        How much of the minorant's error at z belongs to the width of each coordinate.
    lo, hi : arrays of shape (boxes, p)
        The boxes without what is certain to lie above the target.
    """

    lower: Array
    z: Array
    value: Array
    effect: Array
    lo: Array
    hi: Array


def bound_boxes(risk: BoxedRisk, lo: Array, hi: Array, z: Array, target: float) -> Bounded:
    """Lower bounds of a risk's minimum on boxes.

    On a box each loss has an interval; the concave φ lies above its chord there, which is a convex
    function of θ. Newton's method, with kinks rounded off, minimises the sum; at each of its points
    lines below the losses add up to one plane below the sum, and the minimum of that plane and the
    penalty over the box is a bound, exact whatever Newton's method found.

    Parameters
    ----------
    risk : BoxedRisk
    lo, hi : arrays of shape (boxes, p)
    z : array of shape (boxes, p)
        Where to begin.
    target : float
        Boxes are of no more interest once their bound has reached it, nor is their bound once the
        minorant is seen to fall below it.

    Returns
    -------
    Bounded
    """
    minorant = _Minorant.on(risk, lo, hi)
    found = Bounded(
        np.full(lo.shape[0], -np.inf), np.clip(z, lo, hi), np.zeros(lo.shape[0]),
        np.zeros(lo.shape), lo.copy(), hi.copy(),
    )
    live = np.arange(lo.shape[0])
    share = ROUNDED
    for step in range(STEPS):
        part = minorant if live.size == lo.shape[0] else minorant.take(live)
        at = found.z[live]
        view = part.view(at, share)
        better = view.lower > found.lower[live]
        found.lower[live[better]] = view.lower[better]
        part.contract(view, target, found, live)
        found.value[live], found.effect[live] = part.truth(at, view)
        open_ = (found.lower[live] < target) & (view.value >= target)
        open_ &= view.value - found.lower[live] > 0
        if step + 1 == STEPS or not np.any(open_):
            break
        found.z[live[open_]] = part.newton(at, view)[open_]
        live = live[open_]
        share *= SHARPER
    return found


@dataclass
class _View:
    """The minorant around one point a box: its value, a plane below it, gradient and curvature."""

    value: Array
    lower: Array
    level: Array
    plane: Array
    parts: Array
    slope: Array
    bend: Array
    t: Array
    chord: Array


@dataclass
class _Minorant:
    """Chords and ranges on a batch of boxes."""

    risk: BoxedRisk
    lo: Array
    hi: Array
    low: Array
    high: Array
    chords: Chords
    lines: tuple[Array, Array] | None

    @classmethod
    def on(cls, risk: BoxedRisk, lo: Array, hi: Array) -> _Minorant:
        low, high = row_range(risk.matrix, risk.offset, lo, hi)
        chords = Chords.of(risk.transform, *group_range(risk, low, high))
        return cls(risk, lo, hi, low, high, chords, subtracted_lines(risk, low, high))

    def take(self, boxes: npt.NDArray[np.intp]) -> _Minorant:
        """Some of the boxes."""
        lines = self.lines
        return _Minorant(
            self.risk, self.lo[boxes], self.hi[boxes], self.low[boxes], self.high[boxes],
            self.chords.take(boxes),
            None if lines is None else (lines[0][boxes], lines[1][boxes]),
        )

    def view(self, z: Array, share: float) -> _View:
        """At one point a box."""
        risk = self.risk
        self.penalty = risk.penalty.on(self.lo, self.hi)
        u = risk.margins(z)
        losses = risk.weights * risk.base(u)
        t = risk.combined(losses)
        level, weight = self.chords.capped(self._cap(t))
        chord = level + weight * (t - self.chords.low)
        total = chord @ risk.sample_weight + risk.constant
        constant = (level - weight * self.chords.low) @ risk.sample_weight + risk.constant
        if risk.dropped:
            trimmed = risk.dropped * risk.sample_weight[0] * self.ceiling
            total, constant = total - trimmed, constant - trimmed
        rows = self._row_weights(weight, losses)
        tilt, below, bend = self._supports(u, share)
        pull, bend = rows * tilt, rows * bend
        constant = constant + (rows * below).sum(axis=1)
        if self.lines is not None:
            slope, start = self.lines
            pull = pull + slope
            total = total + (start + slope * (u - self.low)).sum(axis=1)
            constant = constant + (start - slope * self.low).sum(axis=1)
        curved = z @ risk.quadratic
        arch = 0.5 * (curved * z).sum(axis=1)
        total += z @ risk.linear + arch
        plane = pull @ risk.matrix + risk.linear + curved
        level_ = constant + pull @ risk.offset - arch
        for k, point in enumerate(z if risk.penalty.rest else ()):
            for part in risk.penalty.rest:
                w = point[risk.penalty.held]
                slope_w = part.slope(w)
                value = part(w)
                total[k] += value
                level_[k] += value - slope_w @ w
                plane[k, risk.penalty.held] += slope_w
        least, parts = self.penalty.least(plane)
        value = total + self.penalty.value(z)
        return _View(value, level_ + least, level_, plane, parts, plane, bend, t, chord)

    def _cap(self, t: Array) -> Array | None:
        """Of a trimmed loss: any ν bounds it, Σ min(φ, ν) − kν; the best one is a quantile."""
        risk = self.risk
        if not risk.dropped:
            return None
        kept = risk.n_groups - risk.dropped
        each = risk.transform(t)
        self.ceiling = np.partition(each, min(kept, each.shape[1] - 1), axis=1)[:, min(kept, each.shape[1] - 1)]
        return self.ceiling

    def _row_weights(self, weight: Array, losses: Array) -> Array:
        """What multiplies the base of each row."""
        risk = self.risk
        weight = weight * risk.sample_weight
        if risk.aggregate is None:
            return weight * risk.weights
        if risk.aggregate == "sum":
            return weight[:, risk.groups] * risk.weights
        members = risk.members
        place = np.argmax(losses[:, members], axis=2)
        rows = np.take_along_axis(np.broadcast_to(members, (weight.shape[0], *members.shape)), place[:, :, None], 2)[:, :, 0]
        shared = np.zeros(losses.shape)
        np.put_along_axis(shared, rows, weight, axis=1)
        return shared * risk.weights

    def _supports(self, u: Array, share: float) -> tuple[Array, Array, Array]:
        """Slope and level of a line below the base on the row's range, and a curvature.

        The secant between two points has a slope of the base somewhere between them; the tangents
        at the two say how far down that line has to be moved.
        """
        base = self.risk.base
        if base.is_smooth:
            slope = base.slope(u)
            return slope, base(u) - slope * u, base.curvature(u)
        reach = share * 0.5 * (self.high - self.low)
        a, b = np.maximum(u - reach, self.low), np.minimum(u + reach, self.high)
        left, right, falls, rises = base(a), base(b), base.slope(a), base.slope(b)
        with np.errstate(all="ignore"):
            span = b - a
            slope = np.where(span > 0, (right - left) / span, falls)
            slope = np.clip(slope, falls, rises)
            kink = rises > falls
            meet = np.where(kink, (left - right + rises * b - falls * a) / (rises - falls), a)
            bend = np.where(span > 0, (rises - falls) / span, 0.0)
        meet = np.clip(meet, a, b)
        return slope, left + falls * (meet - a) - slope * meet, bend

    def truth(self, z: Array, view: _View) -> tuple[Array, Array]:
        """The risk at z, and the minorant's error there by coordinate."""
        risk = self.risk
        each = risk.transform(view.t)
        missed = (each if not risk.dropped else np.minimum(each, self.ceiling[:, None])) - view.chord
        error = (missed * risk.sample_weight)[:, risk.groups]
        width = self.high - self.low
        if self.lines is not None:
            slope, start = self.lines
            u = risk.margins(z)
            line = start + slope * (u - self.low)
            factor = risk.weights * risk.sample_weight[risk.groups]
            error = error - factor * risk.subtracted(u) - line  # type: ignore[misc]
        rate = np.divide(error, width, out=np.zeros(width.shape), where=width > 0)
        sides = self.hi - self.lo
        effect = (rate @ np.abs(risk.matrix)) * sides
        value = view.value + error.sum(axis=1) if risk.aggregate is None else view.value + missed @ risk.sample_weight
        plane = self.penalty.terms(view.plane, z) - view.parts
        effect = effect + plane
        rest = np.maximum(view.value - view.lower - plane.sum(axis=1), 0.0)
        effect = effect + (rest / risk.size)[:, None] * (sides > 0)
        if risk.penalty.concave:
            gaps = risk.penalty.missed(z, self.penalty)
            effect, value = effect + gaps, value + gaps.sum(axis=1)
        return value, effect

    def newton(self, z: Array, view: _View) -> Array:
        """The next points: a damped Newton step in the coordinates that are not held at an edge."""
        risk = self.risk
        p = risk.size
        products = risk.matrix[:, :, None] * risk.matrix[:, None, :]
        hessian = (view.bend @ products.reshape(-1, p * p)).reshape(-1, p, p) + risk.quadratic
        sides = self.hi - self.lo
        slope, bend = self.penalty.bends(z, 0.05 * sides)
        slope = slope + view.slope
        damp = np.divide(DAMPING * np.abs(slope), sides, out=np.zeros(z.shape), where=sides > 0)
        diagonal = np.arange(p)
        hessian[:, diagonal, diagonal] += bend + damp
        stuck = ((z <= self.lo) & (slope > 0)) | ((z >= self.hi) & (slope < 0)) | (sides <= 0)
        hessian = np.where(stuck[:, :, None] | stuck[:, None, :], 0.0, hessian)
        own = hessian[:, diagonal, diagonal]
        hessian[:, diagonal, diagonal] = np.where(stuck | (own <= 0), 1.0, own * (1 + 1e-9))
        step = np.linalg.solve(hessian, np.where(stuck | (own <= 0), 0.0, slope)[:, :, None])[:, :, 0]
        return np.clip(z - step, self.lo, self.hi)

    def contract(self, view: _View, target: float, found: Bounded, live: npt.NDArray[np.intp]) -> None:
        """Cut off what the plane and the penalty show to lie above the target."""
        room = (target - view.lower)[:, None] + view.parts
        least, most = self.penalty.reach(view.plane, room)
        slack = ROUNDING * (np.abs(self.lo) + np.abs(self.hi))
        found.lo[live] = np.maximum(found.lo[live], least - slack)
        found.hi[live] = np.minimum(found.hi[live], most + slack)
