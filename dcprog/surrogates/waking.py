"""Coefficients at 0 that want to be elsewhere: exact minimisation along one of them at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.rows.scores import Scores
from dcprog.surrogates.usual_sizes import usual_coefficients

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["woken"]

MOST = 10  # coefficients that are moved, one after the other
TRIED = 2  # coefficients that are looked at for each
# Sizes at which a coefficient is tried, in what usually moves the margins by their unit.
SIZES = np.geomspace(1e-3, 3.0, 12)
LEAST = 1e-6  # of what F's terms add up to: less is no gain


@np.errstate(all="ignore")
def woken(risk: Risk, x: Array) -> Array | None:
    """A point with some zeros of x moved to where F is lower; None where none is.

    Along one coefficient F is minimised as it is, with the penalty's barrier at 0, by trying sizes.
    Majorants, which are tangents of the penalty, never get over it.

    Parameters
    ----------
    risk : Risk
        With a concave penalty; otherwise there is nothing to wake.
    x : array
        Where a run has ended.

    Returns
    -------
    array or None

    References
    ----------
    Breheny, Huang (2011), Coordinate descent algorithms for nonconvex penalized regression, Ann.
    Appl. Stat. 5, for one-dimensional minimisers as steps.
    """
    if risk.penalty.is_convex or not isinstance(risk.rows, Scores) or risk.rows.kernel is not None:
        return None
    usual = usual_coefficients(risk)
    value, moved = risk(x), None
    for _ in range(MOST):
        step = _lower_along_one(risk, x, value, usual)
        if step is None:
            break
        x, value = step
        moved = x
    return moved


def _lower_along_one(
    risk: Risk, x: Array, value: float, usual: Array
) -> tuple[Array, float] | None:
    """The lowest point along the coefficients at 0 whose slopes are steepest, if it is lower."""
    zeros = np.flatnonzero(risk.penalized & (x == 0))
    weights = risk.row_weights(risk.slopes(x))
    slope = weights * risk.base.slope(risk.margins(x))
    tilts = risk.tilts(x)
    gradient = np.asarray(risk.rows.T @ (slope if tilts is None else slope + tilts)).ravel()
    steepness = (np.abs(gradient) * usual)[zeros]
    best, least = None, value - LEAST * risk.magnitude(x)
    for j in zeros[np.argsort(-steepness, kind="stable")[:TRIED]]:
        unit = np.zeros(x.size)
        unit[j] = 1.0
        value_at = risk.along(x, unit)
        for size in -np.sign(gradient[j]) * usual[j] * SIZES:
            lower = value_at(size)
            if lower < least:
                best, least = (x + size * unit, lower), lower
    return best
