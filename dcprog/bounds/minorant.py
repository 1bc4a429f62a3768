"""The convex minorant of a risk on a batch of boxes, and its minimum by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk, BoxPenalty, PerBox
from dcprog.bounds.ranges import group_range, loss_rounding, row_range
from dcprog.bounds.rounding import OF_LINE, of_functions
from dcprog.bounds.search import Found
from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.losses import ConvexLoss, Pieces
from dcprog.transforms import Transform


def supporting_lines(
    base: ConvexLoss, u: Array, at_u: Array, low: Array, high: Array, share: float
) -> tuple[Array, Array, Array]:
    """Lines value + slope·(v − u) ≤ base(v), and the curvatures for Newton's method.

    Tangents where the loss is smooth. Otherwise the slope is that of the secant between two points
    on both sides of u, a slope of the loss somewhere between them, so that kinks are smoothed; the
    point where the tangents at the two points meet determines how low a line of that slope lies.

    Parameters
    ----------
    base : ConvexLoss
    u : array
    at_u, low, high : arrays of the same shape
        The loss at u, and the range of the margins.
    share : float
        The length of the secant over that of the range.

    Returns
    -------
    slope, value, bend : arrays of the same shape
        The lines' slopes, their values at u, and the curvatures.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.minorant import supporting_lines
    >>> from dcprog.losses import hinge
    >>> supporting_lines(hinge(), *map(np.array, ([1.2], [0.0], [0.0], [2.0])), 0.5)[:2]
    (array([-0.3]), array([-0.06]))
    """
    if base.is_smooth:
        return base.slope(u), at_u, base.curvature(u)
    reach = 0.5 * share * (high - low)
    pieces = base.pieces
    if pieces is not None and not any(pieces.quadratic):
        return _of_lines(pieces, u, reach)
    a, b = np.maximum(u - reach, low), np.minimum(u + reach, high)
    left, right, falls, rises = base(a), base(b), base.slope(a), base.slope(b)
    with np.errstate(all="ignore"):
        span = b - a
        slope = np.where(span > 0, (right - left) / span, falls)
        slope = np.clip(slope, falls, np.maximum(rises, falls))
        meet = (left - right + rises * b - falls * a) / (rises - falls)
        bend = np.where(span > 0, (rises - falls) / span, 0.0)
    meet = np.clip(np.where(rises > falls, meet, a), a, b)
    fall, rise = falls * (meet - a), slope * (u - meet)
    size = np.abs(left) + np.abs(fall) + np.abs(rise)
    return slope, left + fall + rise - OF_LINE * size, bend


def _of_lines(pieces: Pieces, u: Array, reach: Array) -> tuple[Array, Array, Array]:
    """Lines below a convex piecewise linear loss, and curvatures of the smoothed loss."""
    with np.errstate(divide="ignore"):
        rate = np.where(reach > 0, 0.5 / reach, 0.0)
    away = [np.where(reach > 0, (u - k) * rate + 0.5, u > k) for k in pieces.knots]
    shares = [np.clip(a, 0.0, 1.0) for a in away]
    slope, value = lines_of_shares(pieces, u, shares)
    bend = np.zeros(u.shape)
    for k, (a, share) in enumerate(zip(away, shares, strict=True)):
        bend += (pieces.linear[k + 1] - pieces.linear[k]) * rate * (a == share)
    return slope, value, bend


def lines_of_shares(pieces: Pieces, u: Array, shares: list[Array]) -> tuple[Array, Array]:
    """Slopes, and values at u, of lines below a convex piecewise linear loss.

    There is a share σ for each knot k: (u − k)₊ ≥ σ(u − k) for every 0 ≤ σ ≤ 1.
    """
    slope = np.full(u.shape, float(pieces.linear[0]))
    value = pieces.linear[0] * u + pieces.constant[0]
    for k, (knot, share) in enumerate(zip(pieces.knots, shares, strict=True)):
        turn = (pieces.linear[k + 1] - pieces.linear[k]) * share
        slope += turn
        value += turn * (u - knot)
    return slope, value


# ----------------------------------------------------------------------------------------------
# chords and lines


@dataclass
class Chords(PerBox):
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


def _slopes(low: Array, high: Array, bottom: Array, top: Array) -> Array:
    """Slopes of chords; 0 if the range is empty or infinite: φ is nondecreasing.

    Slopes made negative by rounding become 0: chords must be nondecreasing, so that they are lowest
    at lower bounds of the losses.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        span = high - low
        slope = np.where((span > 0) & (span < np.inf), (top - bottom) / span, 0.0)
    return np.maximum(slope, 0.0)


@dataclass
class Lines(PerBox):
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
# the minorant


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
class Minorant(PerBox):
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
    shared = ("risk", "blur")

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
        Samples with a known state need no ν.
        """
        risk, chords = self.risk, self.chords
        if not risk.dropped:
            return each, chords.at_low, chords.slope, 0.0
        none = np.zeros(each.shape, dtype=bool)
        kept, dropped = self.states or (none, none)
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


# ----------------------------------------------------------------------------------------------
# its minimum, by Newton's method


STEPS = 6  # of Newton's method on the minorant of a box, at most


@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # on boxes that are too wide
def bounded(minorant: Minorant, z: Array, target: float) -> Found:
    """Lower bounds of a risk's minimum on boxes.

    Newton's method, with smoothed kinks, minimises the convex minorants; at each of its points
    lines below the losses add up to one plane below the sum, and the minimum of that plane and the
    penalty over the box is a bound, exact whatever Newton's method found.

    Parameters
    ----------
    minorant : Minorant
        The minorants on the boxes.
    z : array of shape (boxes, p)
        Starting points of Newton's method, one per box.
    target : float
        A box is finished once its bound reaches the target, or once a value of its minorant is
        below it.

    Returns
    -------
    Found
    """
    lo, hi = minorant.lo, minorant.hi
    n = lo.shape[0]
    z = np.clip(z, lo, hi)
    found = Found(np.full(n, -np.inf), z, np.zeros(n), np.zeros(z.shape))
    live = np.arange(n)
    best, best_z = np.full(n, np.inf), z.copy()
    share = 1.0  # of a row's range, over which its kinks are smoothed
    for left in reversed(range(STEPS)):
        part = minorant if live.size == n else minorant.take(live)
        view = part.view(found.z[live], share)
        found.lower[live] = np.fmax(found.lower[live], view.lower)
        found.value[live], found.effect[live] = part.truth(view)
        worse = view.value > best[live]
        best[live] = np.where(worse, best[live], view.value)
        best_z[live] = np.where(worse[:, None], best_z[live], view.z)
        undecided = (found.lower[live] < target) & (view.value >= target)
        if not left or not np.any(undecided):
            break  # found.z are the points of found.value
        halfway = 0.5 * (view.z + best_z[live])
        ahead = np.where(worse[:, None], halfway, _newton(part, view))
        found.z[live[undecided]] = ahead[undecided]
        live = live[undecided]
        share /= 2
    return found


def _newton(minorant: Minorant, view: View) -> Array:
    """The next points: a Newton step in the coordinates that are not held at an edge."""
    z, lo, hi = view.z, minorant.lo, minorant.hi
    hessian = minorant.hessian(view)
    sides = hi - lo
    slope, bend = minorant.penalty.bends(z, sides / 2)
    slope = slope + view.plane
    diagonal = np.arange(z.shape[1])
    hessian[:, diagonal, diagonal] += bend
    stuck = ((z <= lo) & (slope > 0)) | ((z >= hi) & (slope < 0)) | (sides <= 0)
    stuck |= hessian[:, diagonal, diagonal] <= 0
    hessian = np.where(stuck[:, :, None] | stuck[:, None, :], 0.0, hessian)
    own = hessian[:, diagonal, diagonal]
    hessian[:, diagonal, diagonal] = np.where(stuck, 1.0, own * (1 + KNOWN_DIGITS))
    step = np.linalg.solve(hessian, np.where(stuck, 0.0, slope)[:, :, None])[:, :, 0]
    return np.clip(z - step, lo, hi)
