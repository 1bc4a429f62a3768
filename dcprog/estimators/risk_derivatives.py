"""Derivatives of Σ s_i ℓ(u_i) + penalty for residuals or margins of one score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from dcprog.estimators.robust_scales import mad
from dcprog.foundation.arrays import Array
from dcprog.foundation.weighted_gram import gram_with_constant
from dcprog.risk.risk import Risk
from dcprog.transforms import Transform, cap_at, trim_of

__all__ = [
    "curvature_matrix",
    "jumps",
    "loss_curvature",
    "loss_slope",
    "ridge_of",
    "smooth_curvature",
]

STEP = 1e-5  # step of difference quotients, relative to the residuals' scale
GRID = 2001
FAR = 50.0  # jumps of the slopes are searched up to this many robust scales
# Hall and Sheather's bandwidth for the density at the median is n^(−1/3) times this.
WIDTH = 0.971
WIDEST = 0.45
Slope = Callable[[Array], Array]


def loss_slope(risk: Risk, theta: Array) -> Slope:
    """The derivative ℓ' as a function of residuals, with a cap in place of trimming."""
    transform: Transform = risk.transform
    if isinstance(transform, trim_of):
        kept = transform.slope(risk.aggregates(theta)) > 0
        transform = cap_at(float(np.max(risk.aggregates(theta)[kept])))

    def slope(u: Array) -> Array:
        values = transform.slope(risk.base(u)) * risk.base.slope(u)
        return values if risk.subtracted is None else values - risk.subtracted.slope(u)

    return slope


def loss_curvature(slope: Slope, u: Array, shares: Array) -> Array:
    """ℓ'' at the residuals; if ℓ' jumps, a difference quotient over Hall–Sheather's bandwidth."""
    if not jumps(slope, u):
        return smooth_curvature(slope, u, shares)
    level = 0.5 + min(WIDTH * shares.sum() ** (-1 / 3), WIDEST)
    return _quotient(slope, u, _size(u, shares) * float(ndtri(level)))


def smooth_curvature(slope: Slope, u: Array, shares: Array) -> Array:
    """ℓ'' at the residuals by difference quotients, for an ℓ' without jumps."""
    return _quotient(slope, u, STEP * _size(u, shares))


def _size(u: Array, shares: Array) -> float:
    return mad(u - np.median(u), shares) or 1.0


def _quotient(slope: Slope, u: Array, h: float) -> Array:
    return (slope(u + h) - slope(u - h)) / (2 * h)


def jumps(slope: Slope, u: Array) -> bool:
    """True if ℓ' jumps: its largest difference on a grid does not shrink on a finer grid.

    The grid covers the residuals up to 50 robust scales: extreme outliers would make it too coarse
    for the other residuals.
    """
    far = float(np.max(np.abs(u), initial=0.0))
    far = min(far, FAR * mad(u)) or far or 1.0
    coarse, fine = (np.abs(np.diff(slope(np.linspace(-far, far, k * GRID)))) for k in (1, 16))
    return bool(fine.max() > 0.5 * coarse.max())


def curvature_matrix(rows: Any, d: Array, active: Array) -> Array:
    """The matrix Σ_i d_i a_i a_iᵀ on the active coefficients, with a weight d_i per sample."""
    width = rows.X.shape[1]
    part = rows.X[:, np.flatnonzero(active[:width])]
    return gram_with_constant(part, d, constant=bool(np.any(active[width:])))


def ridge_of(risk: Risk, active: Array) -> Array:
    """The Hessian of the penalty's ridge, a diagonal matrix on the active coefficients."""
    return np.diag(np.where(risk.penalized, risk.penalty.parts().ridge, 0.0)[active])
