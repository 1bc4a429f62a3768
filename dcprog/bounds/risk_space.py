"""A risk as a function on boxes of θ."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk, boxed
from dcprog.bounds.minorant import Minorant, bounded
from dcprog.bounds.ranges import ground, group_range, root_box, row_range, row_rounding, steepest
from dcprog.bounds.rounding import of_functions, of_terms
from dcprog.bounds.search import Boxes, Found, Incumbent
from dcprog.engine.result import Result
from dcprog.foundation.arrays import CACHED, Array
from dcprog.foundation.errors import SubproblemError, TrivialSolutionWarning
from dcprog.foundation.tolerances import DECADES, HASTY, KNOWN_DIGITS
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve
from dcprog.solving.task import numbers

# A concave function that exceeds its chord by at most this share of its rise counts as affine.
STRAIGHT = 1e-13


def decided(risk: BoxedRisk, lo: Array, hi: Array) -> BoxedRisk:
    """A risk that is equal on the box and has fewer samples.

    Samples beyond a cap are constants. Samples that stay on one piece of a piecewise quadratic
    loss, where the transform is affine, add up to a quadratic. Of a trimmed risk, samples that are
    dropped all over the box are left out, and only those kept all over it are summed.

    Parameters
    ----------
    risk : BoxedRisk
    lo, hi : arrays of shape (p,)

    Returns
    -------
    BoxedRisk
    """
    low, high = row_range(risk, lo[None], hi[None])
    least, most = (side[0] for side in group_range(risk, low, high))
    with np.errstate(all="ignore"):
        bottom, top = risk.transform(least), risk.transform(most)
    free = np.ones(risk.n_groups, dtype=bool)
    if risk.dropped:
        risk, bottom, top, free = _untrimmed(risk, bottom, top)
        if risk.dropped and not np.any(free):
            return risk
        low, high = row_range(risk, lo[None], hi[None])
        least, most = (side[0] for side in group_range(risk, low, high))
    constant = free & (bottom == top) & (risk.subtracted is None)
    linear, slope = _affine(risk, least, most, bottom, top)
    rows, piece = _one_piece(risk, low[0], high[0])
    straight = free & ~constant & linear & rows
    if not np.any(constant | straight):
        return risk
    found = replace(
        risk, constant=risk.constant + float(risk.sample_weight[constant] @ bottom[constant])
    )
    if np.any(straight):
        level = bottom - slope * least
        size = np.maximum(np.abs(low[0]), np.abs(high[0]))
        found = replace(found, origin=0.5 * (lo + hi))
        blur = row_rounding(risk, lo[None], hi[None])
        found = _with_quadratic(found, straight, slope, level, piece, size, blur, hi - lo)
    return found.kept(~(constant | straight))


def _untrimmed(
    risk: BoxedRisk, bottom: Array, top: Array
) -> tuple[BoxedRisk, Array, Array, npt.NDArray[np.bool_]]:
    """The risk without the samples dropped all over the box, and a mask of those kept all over."""
    kept = risk.n_groups - risk.dropped
    if kept <= 0 or risk.subtracted is not None:  # it is subtracted of dropped samples, too
        return risk, bottom, top, np.zeros(risk.n_groups, dtype=bool)
    always_below = np.partition(top, kept - 1)[kept - 1]
    gone = bottom > always_below
    smaller = replace(risk.kept(~gone), dropped=risk.dropped - int(gone.sum()))
    bottom, top = bottom[~gone], top[~gone]
    if smaller.dropped == 0:
        return smaller, bottom, top, np.ones(bottom.size, dtype=bool)
    never_above = np.partition(bottom, kept)[kept]
    return smaller, bottom, top, top < never_above


def _affine(
    risk: BoxedRisk, least: Array, most: Array, bottom: Array, top: Array
) -> tuple[npt.NDArray[np.bool_], Array]:
    """A mask of the groups whose φ is affine between the bounds of their losses; its slopes."""
    if risk.transform.is_linear:
        factor = float(risk.transform.steepest)
        return np.ones(least.shape, dtype=bool), np.full(least.shape, factor)
    with np.errstate(all="ignore"):
        middle = risk.transform(0.5 * (least + most))
        slope = (top - bottom) / (most - least)
        straight = middle - 0.5 * (bottom + top) <= STRAIGHT * (top - bottom)
    return straight & np.isfinite(slope), np.where(np.isfinite(slope), slope, 0.0)


def _one_piece(
    risk: BoxedRisk, low: Array, high: Array
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """A mask of the groups whose rows each stay on one piece of the base; each row's piece."""
    pieces = risk.base.pieces
    if pieces is None or risk.aggregate == "max" or risk.subtracted is not None:
        return np.zeros(risk.n_groups, dtype=bool), np.zeros(low.shape, dtype=np.intp)
    piece = np.searchsorted(pieces.knots, low, side="right")
    same = piece == np.searchsorted(pieces.knots, high, side="left")
    broken = np.bincount(risk.groups, ~same, risk.n_groups)
    return broken == 0, piece


def _with_quadratic(
    risk: BoxedRisk,
    groups: npt.NDArray[np.bool_],
    slope: Array,
    level: Array,
    piece: npt.NDArray[np.intp],
    size: Array,
    blur: Array,
    sides: Array,
) -> BoxedRisk:
    """Add the terms s·(level + slope·Σ v·(au² + bu + c)) of some groups to the quadratic.

    |u| is at most `size`, and the rounding error of a computed u at most `blur`.
    """
    pieces = risk.base.pieces
    assert pieces is not None
    rows = groups[risk.groups]
    a, b, c = (np.asarray(part)[piece[rows]] for part in pieces._parts)
    owner = risk.groups[rows]
    factor = (risk.sample_weight * slope)[owner] * risk.weights[rows]
    matrix = risk.matrix[rows]
    u, size, blur = matrix @ risk.origin + risk.offset[rows], size[rows], blur[rows]
    slopes = factor * (2 * a * u + b)
    levels = risk.sample_weight[groups] * level[groups]
    constant = float(levels.sum()) + float(factor @ ((a * u + b) * u + c))
    terms = np.abs(levels).sum() + factor @ ((np.abs(a) * size + np.abs(b)) * size + np.abs(c))
    rounding = of_functions(u.size) * terms + factor @ ((2 * np.abs(a) * size + np.abs(b)) * blur)
    moved = factor @ np.abs(matrix) * sides
    shares = moved / moved.sum() if moved.sum() > 0 else np.full(sides.shape, 1 / sides.size)
    curved = factor * a
    quadratic = risk.quadratic
    if np.any(curved):
        quadratic = quadratic + 2 * (matrix.T * curved) @ matrix
    return replace(
        risk,
        constant=risk.constant + constant,
        linear=risk.linear + slopes @ matrix,
        quadratic=quadratic,
        rounding=risk.rounding + rounding * shares,
    )


# ----------------------------------------------------------------------------------------------
# coordinates


def run(risk: Risk, **options: Any) -> Result:
    """A result of the outer loop; if the loop was interrupted, KeyboardInterrupt is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)  # a bound is asked for, no fit
        result = solve(risk, **options)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


@dataclass
class Centring:
    """Coordinates η: the penalised coefficients w, and the free ones plus `middles` times w.

    Where the columns of X lie around m, the intercept of X − m is b + m·w. Points as good as the
    best one lie along a thin diagonal in (w, b), and in a small box in (w, b + m·w).

    Attributes
    ----------
    held : bool array of shape (p,)
        True for the penalised coefficients.
    middles : array of shape (free, held)
    """

    held: npt.NDArray[np.bool_]
    middles: Array

    def inward(self, theta: Array) -> Array:
        """The coordinates η of a point θ."""
        eta = np.array(theta, dtype=float)
        eta[~self.held] += self.middles @ eta[self.held]
        return eta

    def sizes(self, theta: Array) -> Array:
        """The sums of the absolute terms of the coordinates η of θ."""
        sizes = np.abs(theta)
        sizes[~self.held] += np.abs(self.middles) @ sizes[self.held]
        return sizes

    def outward(self, eta: Array) -> Array:
        """The point θ with the coordinates η."""
        theta = np.array(eta, dtype=float)
        theta[~self.held] -= self.middles @ theta[self.held]
        return theta


def centred(risk: BoxedRisk) -> tuple[BoxedRisk, Centring]:
    """The risk in η: its penalised columns minus their projections onto the free columns.

    Parameters
    ----------
    risk : BoxedRisk

    Returns
    -------
    BoxedRisk, Centring
    """
    held = risk.penalty.held
    matrix, sizes = risk.matrix.copy(), risk.sizes.copy()
    middles = np.asarray(np.linalg.lstsq(matrix[:, ~held], matrix[:, held])[0], dtype=float)
    matrix[:, held] -= matrix[:, ~held] @ middles
    sizes[:, held] += sizes[:, ~held] @ np.abs(middles)
    return replace(risk, matrix=matrix, sizes=sizes), Centring(held, middles)


# ----------------------------------------------------------------------------------------------
# the space


# Boxes of a batch, whose largest arrays have about CACHED numbers: they fit into the processor's
# cache, and the overhead of a batch is shared by some boxes.
FEWEST_BOXES, MOST_BOXES = 16, 256
# A scale is at least this multiple of the rounding error: the default gap is then ten times that
# error.
ROUNDINGS = 1e4


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
        size = max(self.parts.matrix.size, 1)
        self.lot = int(np.clip(CACHED // size, FEWEST_BOXES, MOST_BOXES))

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
        return KNOWN_DIGITS * scale if np.isfinite(scale) else 0.0

    def point(self, start: Any) -> Array:
        """The user's start as an array θ, clipped to the box."""
        if isinstance(start, str | Mapping):
            raise ValueError("start: a Risk has no variables; an array, θ, or a Result is needed")
        x = numbers(start, (self.parts.size,), "the start")
        return x if self.box is None else np.clip(x, *self.box)

    def first(self, seconds: float) -> Incumbent:
        """The incumbent that the outer loop finds within `seconds`; θ = 0 if it has no solver."""
        try:
            x = run(self.risk, time_limit=seconds).x
        except ValueError:  # no solver takes the risk, and bounds need none
            x = None
        return self.at(self.point(np.zeros(self.parts.size) if x is None else x))

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
        for apart in DECADES:
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
        return bounded(Minorant.on(near, boxes.lo, boxes.hi), boxes.z, target)

    def improved(self, z: Array, seconds: float) -> Incumbent:
        """The incumbent at z, or a better one that the outer loop finds in so many seconds."""
        theta = self._outward(z)
        here = self.at(theta)
        if seconds > 0:
            limit = seconds if np.isfinite(seconds) else None
            try:
                result = run(self.risk, start=theta, max_iter=HASTY, time_limit=limit)
            except (SubproblemError, ValueError):
                return here
            x = result.x
            if x is not None and result.value < here.value and self._holds(x):
                return self.at(x)
        return here

    def _holds(self, x: Array) -> bool:
        """True if the point is in the user's box, or there is no such box."""
        return self.box is None or bool(np.all((x >= self.box[0]) & (x <= self.box[1])))
