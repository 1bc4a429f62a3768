"""Samples whose losses are quadratic on a whole box: they are summed into one quadratic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.ranges import group_range, row_range, row_rounding
from dcprog.bounds.rounding import of_functions
from dcprog.foundation.arrays import Array

__all__ = ["decided"]

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
