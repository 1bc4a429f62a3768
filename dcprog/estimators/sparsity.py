"""Zeros that a subproblem solver meant."""

from __future__ import annotations

import numpy as np

from dcprog.risk import Risk
from dcprog.tree import Array

__all__ = ["cleared"]

SHARES = 10.0 ** -np.arange(4, 13)


def cleared(risk: Risk, theta: Array, tolerance: float) -> Array:
    """θ without the specks an interior point leaves where an ℓ1 penalty has its zeros.

    Penalised entries below a share of the largest, 1e-4 or as much less as it takes, become 0 if
    the objective does not rise by more than the tolerance.

    Parameters
    ----------
    risk : Risk
    theta : array of shape (p,)
    tolerance : float
        Relative to 1 + |value|; what θ was solved to.

    Returns
    -------
    array of shape (p,)
        θ itself where nothing can go, or no penalty has zeros.
    """
    form = risk.penalty.as_l1_l2(int(risk.penalized.sum()))
    if form is None or not np.all(form[0] > 0):
        return theta
    sizes = np.where(risk.penalized, np.abs(theta), np.inf)
    largest = np.max(sizes[risk.penalized], initial=0.0)
    value = risk(theta)
    for share in SHARES:
        sparse = np.where(sizes <= share * largest, 0.0, theta)
        if risk(sparse) <= value + tolerance * (1 + abs(value)):
            return sparse
    return theta
