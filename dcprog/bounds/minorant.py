"""The convex minorant of a risk on a batch of boxes: its values, planes below it, its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.chords import Chords, subtracted_lines
from dcprog.bounds.ranges import group_range, row_range
from dcprog.bounds.separable import BoxPenalty
from dcprog.bounds.supports import supporting_lines
from dcprog.foundation.arrays import Array

__all__ = ["Minorant", "View", "row_weights"]

Flags = npt.NDArray[np.bool_]


@dataclass
class View:
    """The minorant around one point a box, a line each.

    Attributes
    ----------
    z : array of shape (boxes, p)
    value, lower : arrays of shape (boxes,)
        The minorant at z, and a bound of its minimum.
    plane, parts : arrays of shape (boxes, p)
        Slopes of a plane below the losses, and what each coordinate adds to the bound.
    bend : array of shape (boxes, m)
        Curvature of the losses in the margins.
    missed, error : arrays of shape (boxes, G) and (boxes, m) or None
        By how much the losses exceed their chords, and what is subtracted its lines.
    """

    z: Array
    value: Array
    lower: Array
    plane: Array
    parts: Array
    bend: Array
    missed: Array
    error: Array | None


@dataclass
class Minorant:
    """Chords and ranges on boxes.

    Attributes
    ----------
    low, high : arrays of shape (boxes, m)
        Between what the margins lie.
    lines : pair of arrays of shape (boxes, m), or None
        Slopes and levels at `low` of the lines below what is subtracted.
    states : pair of bool arrays of shape (boxes, G), or None
        Of a trimmed sum: the samples that are kept, and those that are dropped.
    """

    risk: BoxedRisk
    lo: Array
    hi: Array
    low: Array
    high: Array
    chords: Chords
    penalty: BoxPenalty
    lines: tuple[Array, Array] | None
    states: tuple[Flags, Flags] | None = None

    @classmethod
    def on(cls, risk: BoxedRisk, lo: Array, hi: Array) -> Minorant:
        """Of a risk on boxes."""
        low, high = row_range(risk.matrix, risk.offset, lo, hi)
        chords = Chords.of(risk.transform, *group_range(risk, low, high))
        lines = subtracted_lines(risk, low, high)
        return cls(risk, lo, hi, low, high, chords, risk.penalty.on(lo, hi), lines)

    def take(self, boxes: npt.NDArray[np.intp]) -> Minorant:
        """On some of the boxes."""
        return Minorant(
            self.risk,
            self.lo[boxes],
            self.hi[boxes],
            self.low[boxes],
            self.high[boxes],
            self.chords.take(boxes),
            self.penalty.take(boxes),
            None if self.lines is None else (self.lines[0][boxes], self.lines[1][boxes]),
            None if self.states is None else (self.states[0][boxes], self.states[1][boxes]),
        )

    def view(self, z: Array, share: float) -> View:
        """Around one point a box, kinks rounded off over that share of the margins' ranges."""
        u = self.risk.margins(z)
        return self.seen(z, supporting_lines(self.risk.base, u, self.low, self.high, share))

    def seen(self, z: Array, lines: tuple[Array, Array, Array]) -> View:
        """Around one point a box, with these lines below the base losses of the rows."""
        risk = self.risk
        u = risk.margins(z)
        losses = risk.weights * risk.base(u)
        t = risk.combined(losses)
        each, level, slope, less = self._chorded(risk.transform(t))
        chord = level + slope * (t - self.chords.low)
        total = chord @ risk.sample_weight + risk.constant - less
        constant = (level - slope * self.chords.low) @ risk.sample_weight + risk.constant - less
        pull, below, bend = lines
        rows = row_weights(risk, slope * risk.sample_weight, losses)
        pull, bend = rows * pull, rows * bend
        constant = constant + (rows * below).sum(axis=1)
        error = None
        if self.lines is not None:
            tilt, start = self.lines
            line = start + tilt * (u - self.low)
            pull = pull + tilt
            total = total + line.sum(axis=1)
            constant = constant + (start - tilt * self.low).sum(axis=1)
            error = _less(risk, u) - line
        curved = z @ risk.quadratic
        arch = 0.5 * (curved * z).sum(axis=1)
        total = total + z @ risk.linear + arch
        plane = pull @ risk.matrix + risk.linear + curved
        constant = constant + pull @ risk.offset - arch
        self._add_rest(z, total, plane, constant)
        least, parts = self.penalty.least(plane)
        value = total + self.penalty.value(z)
        return View(z, value, constant + least, plane, parts, bend, each - chord, error)

    def _chorded(self, each: Array) -> tuple[Array, Array, Array, Array | float]:
        """The φ's, levels and slopes of their chords, and what is taken off the sum of all.

        Any ν bounds a trimmed sum: that of all but the k largest is the largest Σ min(φ, ν) − kν.
        At z the one between those that are kept and the others is the best.
        """
        risk, chords = self.risk, self.chords
        if not risk.dropped:
            return each, chords.at_low, chords.slope, 0.0
        if self.states is not None:
            return self._with_states(each, *self.states)
        place = min(risk.n_groups - risk.dropped, risk.n_groups - 1)
        ceiling = np.partition(each, place, axis=1)[:, place]
        level, slope = chords.capped(ceiling)
        less = risk.dropped * risk.sample_weight[0] * ceiling
        return np.minimum(each, ceiling[:, None]), level, slope, less

    def _with_states(
        self, each: Array, kept: Flags, dropped: Flags
    ) -> tuple[Array, Array, Array, Array | float]:
        """The same where it is known of some samples whether they are kept."""
        risk, chords = self.risk, self.chords
        free = ~(kept | dropped)
        left = risk.dropped - dropped.sum(axis=1)
        ranked = -np.sort(np.where(free, -each, np.inf), axis=1)
        place = np.clip(np.minimum(left, free.sum(axis=1)) - 1, 0, None)
        ceiling = ranked[np.arange(left.size), place]
        ceiling = np.where((left > 0) & np.any(free, axis=1), ceiling, np.inf)
        level, slope = chords.capped(ceiling)
        level = np.where(kept, chords.at_low, np.where(dropped, 0.0, level))
        slope = np.where(kept, chords.slope, np.where(dropped, 0.0, slope))
        seen = np.where(kept, each, np.where(dropped, 0.0, np.minimum(each, ceiling[:, None])))
        less = left * risk.sample_weight[0] * np.where(np.isfinite(ceiling), ceiling, 0.0)
        return seen, level, slope, less

    def _add_rest(self, z: Array, total: Array, plane: Array, constant: Array) -> None:
        """Tangents of the penalties that do not fall apart into coordinates."""
        penalty = self.risk.penalty
        for part in penalty.rest:
            for k, point in enumerate(z[:, penalty.held]):
                slope, value = part.slope(point), part(point)
                total[k] += value
                constant[k] += value - slope @ point
                plane[k, penalty.held] += slope

    def hessian(self, view: View) -> Array:
        """Curvature of the losses, (boxes, p, p)."""
        risk = self.risk
        p = risk.size
        products = (risk.matrix[:, :, None] * risk.matrix[:, None, :]).reshape(-1, p * p)
        return (view.bend @ products).reshape(-1, p, p) + risk.quadratic

    def truth(self, view: View) -> tuple[Array, Array]:
        """The risk itself at z, and what each coordinate's width does to risk − bound there."""
        risk = self.risk
        value = view.value + view.missed @ risk.sample_weight
        error = (view.missed * risk.sample_weight)[:, risk.groups]
        if view.error is not None:
            value = value + view.error.sum(axis=1)
            error = error + view.error
        width = self.high - self.low
        rate = np.divide(error, width, out=np.zeros(width.shape), where=width > 0)
        sides = self.hi - self.lo
        plane = self.penalty.terms(view.plane, view.z) - view.parts
        rest = np.maximum(view.value - view.lower - plane.sum(axis=1), 0.0)
        effect = (rate @ np.abs(risk.matrix)) * sides + plane
        effect = effect + (rest / risk.size)[:, None] * (sides > 0)
        if risk.penalty.concave:
            gaps = risk.penalty.missed(view.z, self.penalty)
            effect, value = effect + gaps, value + gaps.sum(axis=1)
        return value, effect


def _less(risk: BoxedRisk, u: Array) -> Array:
    """−s·v·sub(u), a row each."""
    assert risk.subtracted is not None
    return -risk.weights * risk.sample_weight[risk.groups] * risk.subtracted(u)


def row_weights(risk: BoxedRisk, weight: Array, losses: Array) -> Array:
    """What multiplies the base of each row; of a maximum the row that is largest has it all."""
    if risk.aggregate is None:
        return weight * risk.weights
    if risk.aggregate == "sum":
        return weight[:, risk.groups] * risk.weights
    members = risk.members
    place = np.argmax(losses[:, members], axis=2)
    rows = members[np.arange(risk.n_groups), place]
    shared = np.zeros(losses.shape)
    np.put_along_axis(shared, rows, weight, axis=1)
    return shared * risk.weights
