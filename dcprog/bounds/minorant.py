"""The convex minorant of a risk on a batch of boxes: its values, planes below it, its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.ranges import group_range, loss_rounding, row_range
from dcprog.bounds.rounding import of_functions
from dcprog.bounds.separable import BoxPenalty
from dcprog.bounds.supports import supporting_lines
from dcprog.foundation.arrays import Array
from dcprog.transforms import Transform

__all__ = ["Chords", "Minorant", "View", "row_weights", "subtracted_lines"]


@dataclass
class Chords:
    """Chords at_low + slope·(t − low) ≤ φ(t) for low ≤ t ≤ high, one per box and group.

    Attributes
    ----------
    low, high : arrays of shape (boxes, G)
        Bounds of the combined losses t.
    at_low, at_high : arrays
        Values of φ at `low` and `high`.
    slope : array
        Slopes of the chords.
    """

    low: Array
    high: Array
    at_low: Array
    at_high: Array
    slope: Array

    @classmethod
    def of(cls, transform: Transform, low: Array, high: Array) -> Chords:
        """The chords of a transform between `low` and `high`."""
        with np.errstate(all="ignore"):
            bottom, top = transform(low), transform(high)
        if transform.is_linear:
            slope = np.full(low.shape, float(transform.steepest))
        else:
            slope = _slopes(low, high, bottom, top)
        return cls(low, high, bottom, top, slope)

    def capped(self, cap: Array | None = None) -> tuple[Array, Array]:
        """Levels and slopes of the chords of min(φ, cap), with one cap per box."""
        if cap is None:
            return self.at_low, self.slope
        level = np.minimum(self.at_low, cap[:, None])
        top = np.minimum(self.at_high, cap[:, None])
        return level, _slopes(self.low, self.high, level, top)

    def sizes(self) -> Array:
        """Bounds of the sum of the absolute terms of at_low + slope·(t − low) on the boxes."""
        with np.errstate(invalid="ignore"):
            steps = 2 * self.slope * np.maximum(np.abs(self.low), np.abs(self.high))
        return np.abs(self.at_low) + np.where(self.slope == 0, 0.0, steps)

    def take(self, boxes: npt.NDArray[np.intp]) -> Chords:
        """The chords on some of the boxes."""
        low, high, slope = self.low[boxes], self.high[boxes], self.slope[boxes]
        return Chords(low, high, self.at_low[boxes], self.at_high[boxes], slope)


def _slopes(low: Array, high: Array, bottom: Array, top: Array) -> Array:
    """Slopes of chords; 0 if the range is empty or infinite: φ is nondecreasing.

    Slopes made negative by rounding become 0: chords must be nondecreasing, so that they are lowest
    at lower bounds of the losses.
    """
    span = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where((span > 0) & (span < np.inf), (top - bottom) / span, 0.0)
    return np.maximum(slope, 0.0)


@dataclass
class Lines:
    """Lines level + slope·(u − low) ≤ −s·v·sub(u) for low ≤ u ≤ high, one per box and row.

    Attributes
    ----------
    low, level, slope : arrays of shape (boxes, m)
    rounding : array of shape (boxes,)
        A bound of the rounding error of their sum.
    """

    low: Array
    level: Array
    slope: Array
    rounding: Array

    def at(self, u: Array) -> Array:
        """The values of the lines at u."""
        return self.level + self.slope * (u - self.low)

    def take(self, boxes: npt.NDArray[np.intp]) -> Lines:
        """The lines on some of the boxes."""
        return Lines(self.low[boxes], self.level[boxes], self.slope[boxes], self.rounding[boxes])


def subtracted_lines(
    risk: BoxedRisk, lo: Array, hi: Array, low: Array, high: Array
) -> Lines | None:
    """Lines below −s·v·sub(u) for margins in [low, high]; None if nothing is subtracted."""
    if risk.subtracted is None:
        return None
    factor = risk.weights * risk.sample_weight[risk.groups]
    start, end = risk.subtracted(low), risk.subtracted(high)
    span = high - low
    slope = np.divide(end - start, span, out=np.zeros(span.shape), where=span > 0)
    size = np.maximum(np.abs(start), np.abs(end)) @ factor
    rounding = factor @ loss_rounding(risk, risk.subtracted, lo, hi, low, high)
    rounding = rounding + of_functions(risk.groups.size) * size
    return Lines(low, -factor * start, -factor * slope, rounding)


# ----------------------------------------------------------------------------------------------

Flags = npt.NDArray[np.bool_]


@dataclass
class View:
    """The minorant around one point per box, one box per line.

    Attributes
    ----------
    z : array of shape (boxes, p)
    value, lower : arrays of shape (boxes,)
        The minorant at z, and a bound of its minimum, lowered by the rounding error.
    plane, parts : arrays of shape (boxes, p)
        Slopes of a plane below the losses, and each coordinate's contribution to the bound; the
        plane is a function of θ − z, so that no terms cancel if θ is far from 0.
    bend : array of shape (boxes, m)
        Curvature of the losses in the margins.
    missed, error : arrays of shape (boxes, G) and (boxes, m) or None
        The excess of the losses over their chords, and of the subtracted terms over their lines.
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
    """The convex minorant of a risk on boxes, by chords of the transform on ranges of the losses.

    Attributes
    ----------
    low, high : arrays of shape (boxes, m)
        Bounds of the margins.
    blur : array of shape (m,)
        Bounds of the rounding errors of a row's base loss and of lines below it.
    sizes : array of shape (boxes,)
        The sum of the absolute values of the terms of all chords.
    lines : Lines or None
        Lines below the subtracted terms.
    states : pair of bool arrays of shape (boxes, G), or None
        For a trimmed sum: masks of the samples known to be kept, and to be dropped.
    """

    risk: BoxedRisk
    lo: Array
    hi: Array
    low: Array
    high: Array
    blur: Array
    sizes: Array
    chords: Chords
    penalty: BoxPenalty
    lines: Lines | None
    states: tuple[Flags, Flags] | None = None

    @classmethod
    def on(cls, risk: BoxedRisk, lo: Array, hi: Array) -> Minorant:
        """The minorant of a risk on boxes."""
        low, high = row_range(risk, lo, hi)
        chords = Chords.of(risk.transform, *group_range(risk, low, high))
        lines = subtracted_lines(risk, lo, hi, low, high)
        penalty = risk.penalty.on(lo, hi)
        blur = loss_rounding(risk, risk.base, lo, hi, low, high)
        sizes = chords.sizes() @ risk.sample_weight
        return cls(risk, lo, hi, low, high, blur, sizes, chords, penalty, lines)

    def take(self, boxes: npt.NDArray[np.intp]) -> Minorant:
        """The minorant on some of the boxes."""
        return Minorant(
            self.risk,
            self.lo[boxes],
            self.hi[boxes],
            self.low[boxes],
            self.high[boxes],
            self.blur,
            self.sizes[boxes],
            self.chords.take(boxes),
            self.penalty.take(boxes),
            None if self.lines is None else self.lines.take(boxes),
            None if self.states is None else (self.states[0][boxes], self.states[1][boxes]),
        )

    def view(self, z: Array, share: float) -> View:
        """The view at one point per box, with kinks smoothed over a share of the ranges."""
        u = self.risk.margins(z)
        base = self.risk.base(u)
        lines = supporting_lines(self.risk.base, u, base, self.low, self.high, share)
        return self.seen(z, u, base, lines)

    def seen(self, z: Array, u: Array, base: Array, lines: tuple[Array, Array, Array]) -> View:
        """The view at one point per box, given its margins, base losses and lines below these."""
        risk, chords, share = self.risk, self.chords, of_functions(self.risk.groups.size)
        losses = risk.weights * base
        t = risk.combined(losses)
        each, level, slope, less = self._chorded(risk.transform(t))
        start = level - slope * chords.low
        chord = start + slope * t
        rows = row_weights(risk, slope * risk.sample_weight, losses)
        pull, bend = rows * lines[0], rows * lines[2]
        value = chord @ risk.sample_weight + risk.constant - less
        at_z = start @ risk.sample_weight + np.einsum("bm,bm->b", rows, lines[1])
        at_z = at_z + risk.constant - less
        size = self.sizes + abs(risk.constant) + np.abs(less)
        blur = rows @ self.blur + risk.rounding.sum()
        error = None
        if self.lines is not None:
            line = self.lines.at(u)
            value, at_z = value + line.sum(axis=1), at_z + line.sum(axis=1)
            blur = blur + self.lines.rounding
            pull, error = pull + self.lines.slope, _less(risk, u) - line
        more, slopes = self._convex(z)
        plane = pull @ risk.matrix + slopes
        lowest = self.penalty.lowest(plane)
        drop, terms = plane * (lowest - z), self.penalty.terms(lowest)
        parts, constant = drop + terms, self.penalty.constant
        size = size + np.abs(more) + np.abs(constant) + (np.abs(drop) + terms).sum(axis=1)
        lower = at_z + more + constant + parts.sum(axis=1) - share * size - blur
        value = value + more + self.penalty.value(z)
        return View(z, value, lower, plane, parts, bend, each - chord, error)

    def _convex(self, z: Array) -> tuple[Array, Array]:
        """Values and slopes at z of the decided samples and of the nonseparable penalties."""
        risk, penalty = self.risk, self.risk.penalty
        away = z - risk.origin
        curved = away @ risk.quadratic
        value = away @ risk.linear + 0.5 * (curved * away).sum(axis=1)
        slope = risk.linear + curved
        for part in penalty.rest:
            for k, point in enumerate(z[:, penalty.held]):
                value[k] += part(point)
                slope[k, penalty.held] += part.slope(point)
        return value, slope

    def _chorded(self, each: Array) -> tuple[Array, Array, Array, Array | float]:
        """Values of φ, levels and slopes of its chords, and a number to subtract from the sum.

        A trimmed sum, without the k largest, is the maximum of Σ min(φ, ν) − kν over ν, so that
        every ν gives a lower bound. The best ν at z separates the kept values from the dropped.
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
        """The result of ``_chorded`` for a trimmed sum with known states of some samples."""
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

    def hessian(self, view: View) -> Array:
        """The Hessians of the losses, of shape (boxes, p, p)."""
        risk = self.risk
        p = risk.size
        products = (risk.matrix[:, :, None] * risk.matrix[:, None, :]).reshape(-1, p * p)
        return (view.bend @ products).reshape(-1, p, p) + risk.quadratic

    def truth(self, view: View) -> tuple[Array, Array]:
        """The risk at z, and the share of risk − bound due to each coordinate's width."""
        risk = self.risk
        value = view.value + view.missed @ risk.sample_weight
        error = (view.missed * risk.sample_weight)[:, risk.groups]
        if view.error is not None:
            value = value + view.error.sum(axis=1)
            error = error + view.error
        width = self.high - self.low
        rate = np.divide(error, width, out=np.zeros(width.shape), where=width > 0)
        sides = self.hi - self.lo
        plane = self.penalty.terms(view.z) - view.parts
        rest = view.value - view.lower - plane.sum(axis=1) - risk.rounding.sum()
        rest = np.maximum(rest, 0.0)
        effect = (rate @ np.abs(risk.matrix)) * sides + plane + risk.rounding
        effect = effect + (rest / risk.size)[:, None] * (sides > 0)
        if risk.penalty.concave:
            gaps = risk.penalty.missed(view.z, self.penalty)
            effect, value = effect + gaps, value + gaps.sum(axis=1)
        return value, effect


def _less(risk: BoxedRisk, u: Array) -> Array:
    """The subtracted terms −s·v·sub(u), one per row."""
    assert risk.subtracted is not None
    return -risk.weights * risk.sample_weight[risk.groups] * risk.subtracted(u)


def row_weights(risk: BoxedRisk, weight: Array, losses: Array) -> Array:
    """The factor of each row's base loss; in a maximum, the largest row has the whole weight."""
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
