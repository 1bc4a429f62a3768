"""The unit of a regression's residuals: a robust scale of an initial fit's residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcprog.estimators.high_breakdown import SEEN, SScale, high_breakdown_fit
from dcprog.estimators.robust_scales import mad, weighted_quantile
from dcprog.foundation.arrays import Array, dense

__all__ = ["ONE", "Unit", "residual_unit"]

# Residuals of an exact fit are rounding errors: the unit is at least this share of the targets'.
LEAST = 1e-3
# With fewer samples per coefficient, a subset's fit predicts the other samples poorly.
SAMPLES_A_COEFFICIENT = 3
MOST_NUMBERS = 2**24


@dataclass(frozen=True)
class Unit:
    """The unit of targets (y − middle)/size.

    Attributes
    ----------
    size, middle : float
    start : array of shape (d + 1,) or None
        Coefficients and intercept, in units of y, of the fit whose residuals determine the size.
    """

    size: float = 1.0
    middle: float = 0.0
    start: Array | None = None

    def of(self, y: Array) -> Array:
        """Targets in this unit."""
        return (y - self.middle) / self.size


ONE = Unit()


def residual_unit(
    X: Any, y: Array, weights: Array | None, *, fit_intercept: bool, moves: bool
) -> Unit:
    """The unit by the residuals of an S-estimate, robust to outliers and leverage points.

    The size is the median of the absolute residuals over that of the standard normal, where as many
    of the smallest residuals as there are coefficients are left out. With fewer than three samples
    per coefficient, and for kernels, the targets themselves are the residuals.

    Parameters
    ----------
    X : array, sparse matrix, matrix by blocks of shape (n, d), or None
        None for a kernel. Of more than 5000 samples a random subset is used.
    y : array of shape (n,)
    weights : array of shape (n,), optional
        The number of times each sample counts.
    fit_intercept : bool
    moves : bool
        Whether the targets may be shifted, because there is a free intercept.

    Returns
    -------
    Unit
    """
    weights = np.ones(len(y)) if weights is None else weights
    middle = float(weighted_quantile(y[None], weights)[0]) if moves else 0.0
    least = LEAST * (mad(y - middle, weights) or float(np.abs(y - middle).max()))
    d = 0 if X is None else X.shape[1]
    p = d + fit_intercept
    known = min(len(y), SEEN)
    if X is None or known < SAMPLES_A_COEFFICIENT * p or known * p > MOST_NUMBERS:
        return Unit(mad(y - middle, weights) or least or 1.0, middle)
    seen = _seen(len(y))
    A, shift = _centred(dense(X[seen]), fit_intercept)
    targets, share = y[seen] - middle, weights[seen]
    fit = high_breakdown_fit(A, targets, SScale(0.5 * (1 - p / len(targets))), share)
    size = max(mad(targets - A @ fit, share, p), least) or 1.0
    coef, intercept = fit[:d], fit[d] if fit_intercept else 0.0
    return Unit(size, middle, np.append(coef, intercept - coef @ shift + middle))


def _seen(n: int) -> Any:
    """All samples, or a fixed random subset of 5000 of them."""
    if n <= SEEN:
        return slice(None)
    return np.sort(np.random.default_rng(0).choice(n, SEEN, replace=False))


def _centred(X: Array, fit_intercept: bool) -> tuple[Array, Array]:
    """The columns minus their medians with a column of ones, and the medians."""
    if not fit_intercept:
        return X, np.zeros(X.shape[1])
    shift = np.median(X, axis=0)
    return np.column_stack([X - shift, np.ones(len(X))]), shift
