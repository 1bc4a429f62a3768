"""Coordinates for centred columns, in which the points of low risk lie in small boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.foundation.arrays import Array

__all__ = ["Centring", "centred"]


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
