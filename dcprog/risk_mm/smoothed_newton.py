"""Newton steps on smoothed majorants, and ridge fits, for many points at once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.risk_mm.many_points import ManyPoints, Points, slopes

__all__ = ["ridge_fits", "settled", "step"]

# Shares of a Newton step that are tried, until every point is lower.
SHARES = (1.0, 0.5, 0.2, 0.05)
# Of the largest diagonal entry of a Newton matrix, and of the largest coefficient.
JITTER = 1e-9
SMALL = 1e-3


def settled(
    many: ManyPoints, points: Points, widths: Iterable[float | Array], *, smoothly: bool = False
) -> Points:
    """The points after a step at each width, with their values under `many`; see :func:`step`."""
    for width in widths:
        points = step(many, points, width, smoothly=smoothly)
    return many.revalued(points) if smoothly else points


def step(
    many: ManyPoints, points: Points, width: float | Array, *, smoothly: bool = False
) -> Points:
    """A Newton step from every point on the smoothed majorant there, as far as the risk falls.

    Base losses are smoothed over ±width: in place of ℓ the mean of ℓ over [u − h, u + h], whose
    slope is (ℓ(u + h) − ℓ(u − h))/2h and whose curvature (ℓ'(u + h) − ℓ'(u − h))/2h. That makes
    quadratics of hinges and absolute values.

    Parameters
    ----------
    many : ManyPoints
    points : Points
        With their values under `many`.
    width : float, or array of shape (K, 1)
        h, in units of the margins.
    smoothly : bool, default False
        Judge by the smoothed risk, which carries points over the rims of narrow wells.

    Returns
    -------
    Points
        None of them higher; their values are those of the risk they were judged by.
    """
    if len(points.values) == 0:
        return points
    h = width * many.margin
    slope, curvature = _derivatives(many, points.margins, h)
    gradient, gram = slope @ many.A, _gram(many, curvature)
    _add_penalty(many, points.theta, gradient, gram)
    move = _solved(gram, -gradient)
    along = move @ many.A.T
    judged: float | Array = h if smoothly else 0.0
    start = best = many.revalued(points, h) if smoothly else points
    for share in SHARES:
        theta, margins = points.theta + share * move, points.margins + share * along
        values = many.values_at(theta, margins, judged)
        lower = values < best.values
        best = Points(
            np.where(lower[:, None], theta, best.theta),
            np.where(lower[:, None], margins, best.margins),
            np.where(lower, values, best.values),
            points.kinds,
        )
        if np.all(best.values < start.values):
            break
    return best


def ridge_fits(many: ManyPoints, rows: npt.NDArray[np.intp], ridge: float) -> Array:
    """Least-squares fits of margins to their unit, or of residuals to 0, for each set of rows.

    Parameters
    ----------
    many : ManyPoints
    rows : int array of shape (K, m)
    ridge : float
        Relative to the columns' size.

    Returns
    -------
    array of shape (K, p)
    """
    B = many.A[rows]
    aim = np.full(rows.shape, many.margin) if many.offset is None else -many.offset[rows]
    gram = np.swapaxes(B, 1, 2) @ B
    diagonal = np.arange(gram.shape[1])
    gram[:, diagonal, diagonal] += ridge * rows.shape[1]  # columns have size 1
    return _solved(gram, np.sum(B * aim[:, :, None], axis=1))


def _derivatives(many: ManyPoints, u: Array, h: float | Array) -> tuple[Array, Array]:
    """Slopes and curvatures of the smoothed majorants in the margins, of shape (K, n_rows)."""
    base, up, down = many.risk.base, u + h, u - h
    above, below = base(up), base(down)
    weights = _row_weights(many, u, (above + below) / 2)
    slope = weights * (above - below) / (2 * h)
    curvature = weights * (base.slope(up) - base.slope(down)) / (2 * h)
    if many.risk.subtracted is not None:
        slope -= _pull(many, u)
    return slope, curvature


def _row_weights(many: ManyPoints, u: Array, losses: Array) -> Array:
    """s_g φ'(agg) v_r for every row; under a maximum for the largest row of a group.

    The losses are the smoothed ones: a transform that is steep at 0 holds fast what lies there.
    """
    combined = many.combined(many.scaled(losses))
    weights = many.shares * slopes(many.transform, combined)
    return _spread(many, weights, many.scaled(many.risk.base(u)))


def _pull(many: ManyPoints, u: Array) -> Array:
    """Slopes of what is subtracted, row by row."""
    sub = many.risk.subtracted
    assert sub is not None
    slope = np.array([sub.slope(row) for row in u]) if sub.is_joint else sub.slope(u)
    if many.risk.aggregate is None:
        return np.asarray(many.shares * many.scaled(slope))
    ones = np.broadcast_to(many.shares, (len(u), many.n_groups))
    return slope * _spread(many, ones, many.scaled(sub(u)))


def _spread(many: ManyPoints, weights: Array, losses: Array) -> Array:
    """Weights of the rows from those of their groups."""
    if many.risk.aggregate is not None:
        weights = np.repeat(weights, many.m, axis=1)
    if many.risk.aggregate == "max":
        grouped = losses.reshape(len(losses), many.n_groups, many.m)
        first = np.argmax(grouped, axis=2)[:, :, None] == np.arange(many.m)
        weights = weights * first.reshape(weights.shape)
    return many.scaled(weights)


def _gram(many: ManyPoints, curvature: Array) -> Array:
    """Aᵀ diag(c) A for every row c."""
    if many.products is None:
        return np.array([(many.A * c[:, None]).T @ many.A for c in curvature])
    p = many.A.shape[1]
    one, other = np.triu_indices(p)
    gram = np.empty((len(curvature), p, p))
    gram[:, one, other] = gram[:, other, one] = curvature @ many.products
    return gram


def _add_penalty(many: ManyPoints, theta: Array, gradient: Array, gram: Array) -> None:
    """Add the penalty's slope ψ' and, for ψ(|w|), the curvature ψ'/|w| of a parabola above."""
    held = np.flatnonzero(many.risk.penalized)
    w, unit, penalty = many.coefficients(theta), many.unit[held], many.risk.penalty
    parts = penalty.parts()
    if many.is_elastic:
        slope = parts.l1 * np.sign(w) + parts.ridge * w
    else:
        slope = np.array([penalty.slope(row) for row in w])
    size = np.maximum(np.abs(w), SMALL * np.max(np.abs(w), axis=1, keepdims=True, initial=0.0))
    curvature = np.abs(slope) / np.where(size > 0, size, 1.0)
    curvature = np.where(size > 0, curvature, parts.ridge if many.is_elastic else 0.0)
    gradient[:, held] += slope / unit
    gram[:, held, held] += curvature / unit**2


def _solved(gram: Array, right: Array) -> Array:
    """Solutions of the systems, 0 where there is none."""
    diagonal = np.einsum("kii->ki", gram)
    top = np.max(diagonal, axis=1, keepdims=True, initial=0.0)
    diagonal += JITTER * top + np.where(top > 0, 0.0, 1.0)
    good = np.all(np.isfinite(gram), axis=(1, 2)) & np.all(np.isfinite(right), axis=1)
    found = np.zeros_like(right)
    try:
        found[good] = np.linalg.solve(gram[good], right[good][:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return found
    found[~np.all(np.isfinite(found), axis=1)] = 0.0
    return found
