"""Set small coefficients of a solution to exact zeros."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["cleared"]

# Thresholds as shares of the largest coefficient; 1 clears all of them.
SHARES = (1.0, *(10.0 ** -np.arange(4, 13)))


def cleared(risk: Risk, theta: Array, tolerance: float) -> Array:
    """Set small coefficients of θ to 0 where the penalty has a kink at 0.

    Such penalties are ℓ1, concave ones and, for whole groups, the group lasso; an interior point
    solver leaves tiny coefficients where the solution has zeros. The largest set of coefficients is
    cleared for which the objective does not rise by more than the tolerance: all of them, or those
    up to a share of 1e-4, 1e-5, …, 1e-12 of the largest.

    Parameters
    ----------
    risk : Risk
    theta : array of shape (p,)
    tolerance : float
        The accuracy of θ, relative to the sum of the sizes of the risk's terms.

    Returns
    -------
    array of shape (p,)
        θ itself if no coefficient can be cleared, or the penalty has no kink at 0.
    """
    sizes = np.full(theta.shape, np.inf)
    sizes[risk.penalized] = risk.penalty.sparse_sizes(theta[risk.penalized])
    largest = np.max(sizes[np.isfinite(sizes)], initial=0.0)
    if largest == 0:
        return theta
    value, slack = risk(theta), tolerance * risk.magnitude(theta)
    for share in SHARES:
        sparse = np.where(sizes <= share * largest, 0.0, theta)
        if risk(sparse) <= value + slack:
            return sparse
    return theta
