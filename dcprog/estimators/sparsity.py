"""Zeros that a subproblem solver meant."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["cleared"]

# All that may be 0, or what is smaller than that share of the largest.
SHARES = (1.0, *(10.0 ** -np.arange(4, 13)))


def cleared(risk: Risk, theta: Array, tolerance: float) -> Array:
    """θ without the specks an interior point leaves where a penalty has its zeros.

    Where the penalty has a kink at 0 (ℓ1, concave ones, and for whole groups the group lasso)
    penalised entries become 0 if the objective does not rise by more than the tolerance: all of
    them, else those below a share of the largest, 1e-4 or as much less as it takes.

    Parameters
    ----------
    risk : Risk
    theta : array of shape (p,)
    tolerance : float
        Relative to what the terms of the risk add up to; what θ was solved to.

    Returns
    -------
    array of shape (p,)
        θ itself where nothing can go, or no penalty has zeros.
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
