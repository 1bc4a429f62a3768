"""Weighted smooth losses of a risk plus ℓ1 and ℓ2: values, slopes and a duality gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import ConvexLoss
from dcprog.risk.duality import penalty_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.cholesky import MOST_UNKNOWNS

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

ROOM = 100  # least room of a working set for new entries


@dataclass(frozen=True)
class SmoothPlace:
    """A point with the function's value, slopes and gap there.

    Attributes
    ----------
    theta, margins : arrays
        The point θ and the margins u.
    value : float
        The value F(θ).
    size : float
        The sum of the sizes of its terms, to which rounding errors are relative.
    pull : array of shape (n_rows,)
        The slopes w_r base'(u_r) + t_r in the margins.
    slope : array of shape (p,)
        The slope Aᵀpull, without the penalty.
    gap : float
        The duality gap; see :meth:`SmoothProblem.gap`.
    """

    theta: Array
    margins: Array
    value: float
    size: float
    pull: Array
    slope: Array
    gap: float


@dataclass(frozen=True)
class SmoothProblem:
    r"""F(θ) = Σ_r w_r base(u_r) + Σ_r t_r u_r + ½ Σ_j q_j θ_j² + Σ_j l_j |θ_j|, u = Aθ + offset.

    Attributes
    ----------
    risk : Risk
        The risk with A and the offset.
    base : ConvexLoss
        A loss with a continuous slope.
    weight, tilt : arrays of shape (n_rows,)
        The weights w ≥ 0 and the tilts t.
    l1, l2 : arrays of shape (p,)
        The weights l and q, at least 0.
    """

    risk: Risk
    base: ConvexLoss
    weight: Array
    tilt: Array
    l1: Array
    l2: Array

    @classmethod
    def of(cls, problem: WeightedRisk) -> SmoothProblem:
        """The function of a weighted risk."""
        sides = problem.row_weights, problem.row_tilts, *problem.penalty_weights
        return cls(problem.risk, problem.risk.base, *sides)

    def place(self, theta: Array, margins: Array | None = None) -> SmoothPlace:
        """The place at θ, whose margins are computed unless they are given."""
        u = self.risk.margins(theta) if margins is None else margins
        losses, tilted = self.weight * self.base(u), self.tilt * u
        pull = self.weight * self.base.slope(u) + self.tilt
        lost, paid = float(losses.sum()), self.penalty(theta)
        value = lost + float(tilted.sum()) + paid
        size = float(np.abs(losses).sum()) + float(np.abs(tilted).sum()) + paid
        if not np.isfinite(value):
            raise SubproblemError("failed", "the value is not finite")
        slope = self.risk.pull(pull)
        gap = self.gap(theta, slope, lost)
        return SmoothPlace(theta, u, value, size, pull, slope, gap)

    def penalty(self, theta: Array) -> float:
        """The penalty  l1'|θ| + θ'(l2·θ)/2; an l2 of 0 takes a θ whose square overflows."""
        return float(np.sum(self.l1 * np.abs(theta) + 0.5 * (self.l2 * theta) * theta))

    def gap(self, theta: Array, slope: Array, losses: float) -> float:
        r"""An upper bound of F(θ) − min F, by the tangent of the losses at θ.

        It is F(θ) minus the minimum over z of the losses' tangent at θ plus the penalty of z, see
        :func:`~dcprog.risk.duality.penalty_gap`. The losses are nowhere below their tangent.
        """
        above = losses - self.base.lower * float(np.sum(self.weight)) + self.penalty(theta)
        above = np.inf if np.any(self.tilt) else above
        return penalty_gap(self.risk, theta, slope, self.l1, self.l2, above)


def working_set(place: SmoothPlace, moving: Mask, over: Array) -> Index:
    """The moving entries of a place, and those of the others whose slopes are most over a limit.

    Raises
    ------
    SubproblemError
        ``failed`` if these are too many for a dense system.
    """
    asking = np.flatnonzero(~moving & (over > 0))
    room = max(ROOM, int(np.count_nonzero(moving)))
    if asking.size > room:
        asking = asking[np.argpartition(-over[asking], room)[:room]]
    some = np.union1d(np.flatnonzero(moving), asking)
    if some.size > MOST_UNKNOWNS:
        many = f"{some.size} entries are worked on, above {MOST_UNKNOWNS}"
        raise SubproblemError("failed", many, point=place.theta)
    return some


class SmoothLine:
    """F along θ + t·d; its slope at 0 takes the ℓ1 norm's change from t = 0 to t = 1."""

    def __init__(self, problem: SmoothProblem, place: SmoothPlace, d: Array, change: Array) -> None:
        self.problem, self.place, self.d, self.change = problem, place, d, change
        self.size = place.size
        theta, l1, l2 = place.theta, problem.l1, problem.l2
        self._sizes = float(l1 @ np.abs(theta))
        self.along = float(problem.tilt @ change) + float((l2 * theta) @ d)
        self.square = float((l2 * d) @ d)
        steep = float(place.slope @ d) + float((l2 * theta) @ d)
        self.first = steep + float(l1 @ np.abs(theta + d)) - self._sizes

    def rise(self, t: float) -> float:
        """The change F(θ + td) − F(θ)."""
        problem, place = self.problem, self.place
        ends = problem.base(place.margins + t * self.change) - problem.base(place.margins)
        sizes = float(problem.l1 @ np.abs(place.theta + t * self.d)) - self._sizes
        return float(problem.weight @ ends) + sizes + t * (self.along + t / 2 * self.square)

    def slope(self, t: float) -> float:
        """The slope for Armijo's rule, which only needs t = 0."""
        return self.first

    def breaks(self) -> None:
        """None: Armijo's rule needs no breaks."""
