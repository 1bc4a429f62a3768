"""Robust scales of residuals: the normalised median absolute residual, and M-scales."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dcprog.foundation.arrays import Array
from dcprog.foundation.sums import weighted_quantile
from dcprog.foundation.tolerances import MOST_STEPS, ROUNDING, SQUARABLE

# Tukey's ρ(u) = 1 − (1 − (u/c)²)³ has E ρ(u) = ½ for standard normal u and this c.
CHI = 1.547645
NORMAL_MAD = float(ndtri(0.75))
SEEN = 5000  # samples: their median is that of all to two percent


def m_scale(R: Array, weights: Array, level: float = 0.5, tolerance: float = ROUNDING) -> Array:
    """The M-scale σ of each row r of residuals: Σ_i s_i ρ(r_i/σ) = level·Σ_i s_i.

    ρ is Tukey's function, scaled to [0, 1] such that σ is consistent at the normal for level ½.

    Parameters
    ----------
    R : array of shape (K, n)
    weights : array of shape (n,)
        The number s_i of times each column counts.
    level : float, default 0.5
        0 < level < 1.
    tolerance : float, default 1e-12
        The relative tolerance of σ.

    Returns
    -------
    array of shape (K,)
        The scales; 0 for a row in which a share of at least 1 − level is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.robust_scales import m_scale
    >>> m_scale(np.array([[1.0, -1.0, 1e9], [0.0, 0.0, 1.0]]), np.ones(3)).round(3)
    array([2.137, 0.   ])
    """
    size, shares = np.abs(R), weights / weights.sum()
    inexact = (size > 0) @ shares > level
    scale = weighted_quantile(size, weights) / NORMAL_MAD
    scale = np.where(scale > 0, scale, size.max(axis=1))
    square = (_over(size, scale) / CHI) ** 2
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for _ in range(MOST_STEPS):
            left = 1 - square
            np.maximum(left, 0.0, out=left)
            cut = left * left
            linear, mean = cut @ shares, np.multiply(cut, left, out=cut) @ shares
            # a Newton step for the scale; the slope is 0 if all of ρ is 0 or 1
            factor = 1 + (1 - mean - level) / (6 * (linear - mean))
            factor = np.nan_to_num(factor, nan=1.0)  # 0/0: the equation holds
            factor = np.minimum(np.maximum(factor, 0.5), 2.0)
            scale *= factor
            if np.all((np.abs(factor - 1) <= tolerance) | ~inexact):
                break
            square /= (factor * factor)[:, None]
    return np.where(inexact, scale, 0.0)


def tukey_weights(R: Array, scale: Array) -> Array:
    """Tukey's weights ρ'(u)/u up to a factor: 1 at 0, and 0 from 1.55 scales on."""
    return np.maximum(1 - (_over(R, scale) / CHI) ** 2, 0.0) ** 2


def mad(residuals: npt.ArrayLike, weights: Array | None = None, fitted: int = 0) -> float:
    """The median absolute residual over that of the standard normal.

    Parameters
    ----------
    residuals : array of shape (n,)
    weights : array of shape (n,), optional
        The number of times each counts.
    fitted : int, default 0
        The number of coefficients of the fit: as many of the smallest residuals are left out,
        because any fit can make them vanish.

    Returns
    -------
    float

    Examples
    --------
    >>> from dcprog.estimators.robust_scales import mad
    >>> round(mad([1.0, -1.0, 2.0, 100.0, 0.0]), 4)
    1.4826
    >>> round(mad([0.0, 0.0, 1.0, 2.0, 3.0], fitted=2), 4)
    2.9652
    """
    size = np.abs(np.asarray(residuals, dtype=float))[None]
    weights = np.ones(size.size) if weights is None else weights
    share = 0.5 * (1 + min(fitted / size.size, 1.0))
    return float(weighted_quantile(size, weights, share)[0]) / NORMAL_MAD


def _over(R: Array, scale: Array) -> Array:
    """Residuals divided by their row's scale; 0/0 is 0."""
    with np.errstate(all="ignore"):
        return np.clip(R / np.maximum(scale, np.finfo(float).tiny)[:, None], -SQUARABLE, SQUARABLE)
