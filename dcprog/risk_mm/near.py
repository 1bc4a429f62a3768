"""A point of a risk, and what is within reach of it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss
from dcprog.risk_mm.units import margin_unit
from dcprog.solvers.linalg.hessian import RowHessian

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["Near"]

Indices = npt.NDArray[np.intp]


class Near:
    """A point of a risk, and how near to it kinks count as met.

    Parameters
    ----------
    risk : Risk
    theta : array of shape (p,)
    units : array of shape (p,)
        A typical size of every coefficient.
    scale : float
        What the terms of the risk add up to.
    reach : float
        In units of the margins and of the coefficients.

    Attributes
    ----------
    u : array of shape (n_rows,)
        The margins.
    step : float
        Of the margins.
    """

    def __init__(self, risk: Risk, theta: Array, units: Array, scale: float, reach: float) -> None:
        self.risk, self.theta, self.units, self.scale = risk, theta, units, scale
        self.reach = reach
        self.u = risk.margins(theta)
        self.step = reach * margin_unit(risk)

    @property
    def low(self) -> Array:
        """The margins that are within reach from below."""
        return self.u - self.step

    @property
    def high(self) -> Array:
        """The margins that are within reach from above."""
        return self.u + self.step

    def parts(self) -> Iterator[tuple[slice, Near]]:
        """Parts of some rows at a time; see :meth:`RiskValues.parts`."""
        for rows, risk in self.risk.parts(self.theta):
            part = copy(self)
            part.risk, part.u = risk, risk.margins(self.theta)
            yield rows, part

    def relative(self, gradient: Array) -> Array:
        """A gradient in units of the coefficients, relative to the scale."""
        return gradient * self.units / self.scale

    def pulled(self, slopes: Array) -> Array:
        """Slopes in the margins as a relative gradient."""
        return self.relative(np.asarray(self.risk.rows.T @ slopes).ravel())

    def bend(self, curvature: Array, ridge: float, way: Array) -> float:
        """Σ_r c_r (a_r·d)² + q‖w‖² along a direction of length 1, in units, relative."""
        move = self.units * way
        rows = np.asarray(self.risk.rows @ move).ravel()
        held = move[self.risk.penalized]
        bent = np.einsum("i,i,i->", curvature, rows, rows)
        return float(bent + ridge * held @ held) / self.scale

    def rows(self, chosen: Indices) -> Array:
        """Some rows as relative gradients, of shape (p, k)."""
        risk = self.risk
        if risk.no_matrix is not None or risk.scores.kernel is not None:
            picked = np.zeros((self.u.size, chosen.size))
            picked[chosen, np.arange(chosen.size)] = 1.0
            return np.array([self.pulled(one) for one in picked.T]).reshape(-1, self.theta.size).T
        return (risk.scores.dense_rows(chosen) * (self.units / self.scale)).T

    def gram(self, curvature: Array) -> Array:
        """Σ_r c_r a_r a_rᵀ in units of the coefficients, relative to the scale, of shape (p, p)."""
        risk = self.risk
        if risk.no_matrix is not None or risk.scores.kernel is not None:
            live = np.flatnonzero(curvature > 0)
            rows = self.rows(live)
            return (rows * curvature[live]) @ rows.T * self.scale
        gram = RowHessian(risk).hessian(curvature, np.arange(self.theta.size))
        return gram * np.outer(self.units, self.units / self.scale)

    def slopes_of(
        self, loss: ConvexLoss, rows: Indices | slice = slice(None)
    ) -> tuple[Array, Array]:
        """A loss's slopes at the ends of some rows' reach."""
        u = self.u[rows]
        return loss.slope(u - self.step), loss.slope(u + self.step)

    def losses(self) -> tuple[Array, Array]:
        """The least and the largest loss of every row at the ends of its reach."""
        risk = self.risk
        ends = [risk._scaled(risk.base(end)) for end in (self.low, self.high)]
        return np.minimum(*ends), np.maximum(*ends)

    def aggregates(self) -> tuple[Array, Array]:
        """The aggregates of every group."""
        low, high = self.losses()
        return self.risk._combined(low), self.risk._combined(high)

    @property
    def sizes(self) -> Array:
        """|w_j| of the penalised coefficients, in their units."""
        held = self.risk.penalized
        return np.abs(self.theta[held]) / self.units[held]
