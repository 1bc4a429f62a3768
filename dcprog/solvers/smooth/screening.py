"""Screening: leave samples that stay on a straight piece of their loss out of a subproblem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.errors import SubproblemError
from dcprog.losses import Pieces
from dcprog.solvers.smooth.newton_loop import WITHOUT_TANGENT, Tangent

__all__ = ["ScoreProblem", "screened"]

# Samples are kept if their margin is nearer to a knot than WIDER times the last largest change of a
# margin. If more than the share MOST is kept, the whole problem is solved instead.
WIDER = 2.0
MOST = 0.5

Mask = npt.NDArray[np.bool_]
# a function of a problem, a point and multipliers that returns (w, b, multipliers)
Minimise = Callable[["ScoreProblem", Array, float, Array], tuple[Array, float, Array]]


@dataclass(frozen=True)
class ScoreProblem:
    """The sum Σ_i d_i pieces(u_i) + t_i u_i + (λ/2)‖w‖² + tangent, u_i = s_i(x_i·w + b) + o_i."""

    X: Any
    sign: Array
    offset: Array
    weight: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT

    def margins(self, w: Array, b: float) -> Array:
        """The margins u."""
        u: Array = self.X @ w
        u += b
        u *= self.sign
        u += self.offset
        return u

    def value(self, pieces: Pieces, u: Array) -> float:
        """The sum Σ_i d_i pieces(u_i) + t_i u_i."""
        return float(self.weight @ pieces(u) + self.tilt @ u)

    def straightened(self, pieces: Pieces, u: Array, kept: Mask, intercept: bool) -> ScoreProblem:
        """The problem of the kept samples; the losses of the others are linear, as at u."""
        pull, constant = np.empty(u.size), 0.0
        for some in blocks(u.size):
            side, weight = np.searchsorted(pieces.knots, u[some]), self.weight[some]
            slope = self.tilt[some] + weight * np.take(pieces.linear, side)
            slope[kept[some]] = 0.0
            fixed = np.where(kept[some], 0.0, weight) @ np.take(pieces.constant, side)
            constant += float(fixed + slope @ self.offset[some])
            pull[some] = self.sign[some] * slope
        tangent = Tangent(self.X.T @ pull, float(np.sum(pull)) if intercept else 0.0, constant)
        return ScoreProblem(
            self.X[kept],
            self.sign[kept],
            self.offset[kept],
            self.weight[kept],
            self.tilt[kept],
            tangent,
        )


def screened(
    problem: ScoreProblem,
    pieces: Pieces,
    point: tuple[Array, float, Array],
    u: Array,
    reach: float,
    intercept: bool,
    minimise: Minimise,
) -> tuple[Array, float, Array]:
    """The minimiser of a problem, by smaller problems with the other losses linearised.

    A loss is nowhere below its straight pieces. So a minimiser of the smaller problem at which all
    samples left out are still on their pieces minimises the whole problem. Samples that have left
    their piece are added.

    Parameters
    ----------
    problem : ScoreProblem
    pieces : Pieces
        The pieces of a convex, piecewise linear loss.
    point : tuple (w, b, multipliers)
        The start.
    u : array
        The margins at the start.
    reach : float
        The expected largest change of a margin.
    intercept : bool
        Whether b is free; otherwise it is 0.
    minimise : callable
        The solver of the smaller problems.
    """
    w, b, mu = point
    bends = problem.weight > 0
    kept = np.zeros(u.size, dtype=bool)
    while True:
        near, reach = _nearer(pieces.distance(u), WIDER * reach, bends & ~kept)
        kept |= near
        if np.count_nonzero(kept) > MOST * u.size:
            return minimise(problem, w, b, mu)
        try:
            part = problem.straightened(pieces, u, kept, intercept)
            w, b, inner = minimise(part, w, b, mu[kept])
        except SubproblemError as error:
            if error.status != "unbounded":
                raise
            continue  # straight pieces do not bound the intercept: add samples
        side = np.searchsorted(pieces.knots, u)
        u = problem.margins(w, b)
        strays = bends & ~kept & (np.searchsorted(pieces.knots, u) != side)
        if not np.any(strays):
            mu = problem.weight * np.take(pieces.linear, side)
            mu[kept] = inner
            return w, b, mu
        kept |= strays


def _nearer(distance: Array, reach: float, among: Mask) -> tuple[Mask, float]:
    """Mask of the samples within reach, at least the nearest one, and the reach used."""
    reach = max(reach, float(np.min(distance, where=among, initial=np.inf)))
    return among & (distance <= reach), reach
