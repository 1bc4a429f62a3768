"""Samples that stay on one straight piece of their loss are left out of a subproblem."""

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

# Kept are the samples whose margin is nearer to a knot than WIDER times the farthest that a margin
# went last time. With more than MOST of them left the smaller problem is not worth the detour.
WIDER = 2.0
MOST = 0.5

Mask = npt.NDArray[np.bool_]
# (w, b, multipliers) of a problem, from a point and multipliers
Minimise = Callable[["ScoreProblem", Array, float, Array], tuple[Array, float, Array]]


@dataclass(frozen=True)
class ScoreProblem:
    """Σ_i d_i pieces(u_i) + t_i u_i + (λ/2)‖w‖² + tangent with u_i = s_i(x_i·w + b) + o_i."""

    X: Any
    sign: Array
    offset: Array
    weight: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT

    def margins(self, w: Array, b: float) -> Array:
        """The vector u."""
        u: Array = self.X @ w
        u += b
        u *= self.sign
        u += self.offset
        return u

    def value(self, pieces: Pieces, u: Array) -> float:
        """Σ_i d_i pieces(u_i) + t_i u_i."""
        return float(self.weight @ pieces(u) + self.tilt @ u)

    def straightened(self, pieces: Pieces, u: Array, kept: Mask, intercept: bool) -> ScoreProblem:
        """Only the samples kept, the others on their pieces at u."""
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
    """The minimiser of a problem, by smaller ones whose other samples are on straight pieces.

    A loss is nowhere below its straight pieces, so a minimiser of the smaller problem at which
    every sample left out is still on its own piece minimises the whole. Those that have left it
    are taken in.

    Parameters
    ----------
    problem : ScoreProblem
    pieces : Pieces
        Convex, without quadratic parts.
    point : tuple (w, b, multipliers)
        Where to begin.
    u : array
        The margins there.
    reach : float
        By how much margins are expected to change.
    intercept : bool
        Is b free? Otherwise it is 0.
    minimise : callable
        For the smaller problems.
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
            continue  # straight pieces alone hold no intercept: with more samples
        side = np.searchsorted(pieces.knots, u)
        u = problem.margins(w, b)
        strays = bends & ~kept & (np.searchsorted(pieces.knots, u) != side)
        if not np.any(strays):
            mu = problem.weight * np.take(pieces.linear, side)
            mu[kept] = inner
            return w, b, mu
        kept |= strays


def _nearer(distance: Array, reach: float, among: Mask) -> tuple[Mask, float]:
    """Coefficients within reach, at least one, also where none moved; and that reach."""
    reach = max(reach, float(np.min(distance, where=among, initial=np.inf)))
    return among & (distance <= reach), reach
