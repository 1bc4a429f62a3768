"""The convex subproblem of a polyhedral risk, its value and its dual bound."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.piecewise.polyhedral import Index, Polyhedral

__all__ = ["Subproblem"]

# The radius within which the certificate of a gap holds, relative to the coefficients' sizes.
RADIUS = 10.0


@dataclass
class Subproblem:
    """The sum Σ_g cost_g max_p line_gp(x) + linear·x + Σ_j l1_j |x_j| + ½ Σ_j l2_j x_j² + const.

    Attributes
    ----------
    design : Polyhedral
    cost : array of shape (G,)
    linear, l1, l2 : arrays of shape (p,)
        Vectors in the order of the entries of B.
    constant : float
    """

    design: Polyhedral
    cost: Array
    linear: Array
    l1: Array
    l2: Array
    constant: float = 0.0
    live: Index = field(init=False)

    def __post_init__(self) -> None:
        self.live = np.flatnonzero(self.cost > 0)

    @classmethod
    def of(cls, design: Polyhedral, problem: WeightedRisk) -> Subproblem:
        """The subproblem of a weighted risk."""
        offset, order = problem.risk.offset, design.order
        l1, l2 = problem.penalty_weights
        return cls(
            design,
            design.costs(problem.weights),
            problem.linear[order],
            l1[order],
            l2[order],
            0.0 if offset is None else float(problem.row_tilts @ offset),
        )

    def restricted(self, features: Index) -> Subproblem:
        """The subproblem restricted to the given columns of X, with all other x_j = 0."""
        design = self.design
        linear, l1, l2 = (
            part.reshape(design.c, design.d)[:, features].ravel()
            for part in (self.linear, self.l1, self.l2)
        )
        return Subproblem(design.restricted(features), self.cost, linear, l1, l2, self.constant)

    def value(self, x: Array, lines: Array | None = None) -> float:
        """The value of the function at x."""
        lines = self.design.lines(x) if lines is None else lines
        losses = float(self.cost @ lines.max(axis=1))
        penalty = float(self.l1 @ np.abs(x)) + 0.5 * float(self.l2 @ x**2)
        return losses + float(self.linear @ x) + penalty + self.constant

    def slope(self, duals: Array) -> Array:
        """The gradient of the losses and the linear term for multipliers (G, P) of the lines."""
        return self.linear + self.design.pull(duals)

    def gap(self, x: Array, duals: Array, lines: Array | None = None) -> float:
        """The duality gap at x for multipliers duals ≥ 0 with Σ_p duals_gp = cost_g.

        Entries with l2_j = 0 are assumed to lie in an ℓ1 ball, ten times as large as their own norm
        plus a typical size of coefficients. Without it any error in their stationarity, however
        small, would make the dual value −∞.
        """
        return self.value(x, lines) - self.bound(x, duals)

    def bound(self, x: Array, duals: Array) -> float:
        """The dual value, a lower bound of the minimum."""
        over = np.maximum(np.abs(self.slope(duals)) - self.l1, 0.0)
        held = self.l2 > 0
        conjugate = 0.5 * float(np.sum(over[held] ** 2 / self.l2[held]))
        if not np.all(held):
            size = float(np.sum(np.abs(x[~held]))) + float(np.max(self.design.units[~held]))
            conjugate += RADIUS * size * float(np.max(over[~held]))
        return float(np.sum(duals * self.design.const)) + self.constant - conjugate

    def lossless(self, start: Array) -> Array:
        """The minimiser if all costs are 0; undetermined entries stay at the start.

        Raises
        ------
        SubproblemError
            ``unbounded`` if the linear term is unbounded below.
        """
        over = np.maximum(np.abs(self.linear) - self.l1, 0.0)
        held = self.l2 > 0
        if np.any(over[~held] > 0):
            raise SubproblemError("unbounded", "no loss and no penalty holds a linear term")
        free = ~held & (self.l1 == 0)
        x = np.where(free, start, 0.0)
        x[held] = -np.sign(self.linear[held]) * over[held] / self.l2[held]
        return x

    def feasible(self, duals: Array) -> Array:
        """The multipliers clipped at 0 and scaled to the sum cost_g for each local function."""
        duals = np.maximum(duals, 0.0)
        total = duals.sum(axis=1)
        lost = total <= 0
        duals[lost] = 1.0
        total[lost] = duals.shape[1]
        return duals * (self.cost / total)[:, None]
