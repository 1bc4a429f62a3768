"""The shortest subgradient of a weighted risk that is found near a point."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.penalties import kernel_norm
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.near import Near

__all__ = ["JUMP", "Pull", "shortest"]

# Slopes on both sides of a margin that differ by more than that share of the largest slope belong
# to a kink.
JUMP = 1e-2
# Larger matrices of tied rows are not formed.
MOST_NUMBERS = 2**22
# A relative slope; those of ψ(|w|) = |w|^p at 0 are as good as infinite.
LARGEST = 1e4
# The solver works on numbers of about size 1.
TOLERANCE = 1e-10

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pull:
    """The shortest subgradient.

    Attributes
    ----------
    vector : array of shape (p,)
        In units of the coefficients, relative to the scale: minus the direction of steepest
        descent.
    curvature : float
        Of the smooth terms along it, relative.
    """

    vector: Array
    curvature: float

    @property
    def length(self) -> float:
        """Its norm."""
        return float(np.linalg.norm(self.vector))

    @property
    def residual(self) -> float:
        """The length s of a step after which the slope is s too: that of a proximal step."""
        return self.length / (1 + self.curvature)


def shortest(problem: WeightedRisk, near: Near) -> Pull | None:
    r"""The shortest element of the subdifferential of P near θ: dist(0, ∂_r P(θ)).

    Every kink within reach r counts as met, of losses, of maxima and of coefficients at 0: so it
    is Goldstein's subdifferential of the terms. The rest are slopes at θ. What is free is the
    solution of a least-norm problem under bounds.

    Parameters
    ----------
    problem : WeightedRisk
    near : Near

    Returns
    -------
    Pull or None
        None where the penalty has no known form, or too much is tied.

    References
    ----------
    Goldstein (1977), Optimization of Lipschitz continuous functions, Math. Program. 13.
    """
    held = problem.risk.penalized
    free = _Free(held.size)
    slopes = _rows(problem, near, free)
    if slopes is None:
        return None
    fixed = near.pulled(slopes)
    del slopes  # as long as the data
    penalty = _penalty(problem, near, free)
    if penalty is None:
        return None
    slope, ridge = penalty
    fixed[held] += slope
    vector = free.least(fixed)
    way = vector / (float(np.linalg.norm(vector)) or 1.0)
    return Pull(vector, near.bend(free.curvature, ridge, way))


class _Free:
    """The free part of a subgradient: fixed + Σ parts, under constraints."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: list[Any] = []
        self.constraints: list[cp.Constraint] = []
        self.returns: list[tuple[cp.Variable, Callable[[Array], Array]]] = []
        self.curvature = np.zeros(0)  # of the rows that are not free

    def choose(self, size: int, into: Callable[[Array], Array]) -> cp.Variable:
        """A variable, and the way back into its constraints from a point that misses them."""
        variable = cp.Variable(size)
        self.returns.append((variable, into))
        return variable

    def least(self, fixed: Array) -> Array:
        """The shortest sum found; where the solver was inaccurate it is a subgradient all the same.

        What it chose is moved into its constraints, so that no length is too short.
        """
        if not self.parts:
            return fixed
        unit = float(np.linalg.norm(fixed)) or 1.0
        total: Any = fixed / unit + sum(self.parts) / unit
        problem = cp.Problem(cp.Minimize(cp.norm(total)), self.constraints)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate", UserWarning)
            try:
                problem.solve(solver=cp.CLARABEL, tol_gap_abs=TOLERANCE, tol_gap_rel=TOLERANCE)
            except cp.error.SolverError:
                return fixed
        if total.value is None:
            return fixed
        for variable, into in self.returns:
            variable.save_value(into(variable.value))
        return unit * np.asarray(total.value)


# ---- rows ----------------------------------------------------------------------------------------


def _rows(problem: WeightedRisk, near: Near, free: _Free) -> Array | None:
    """Slopes of the weighted losses and tilts in the margins, but for those that are free."""
    risk, base = problem.risk, problem.risk.base
    if base.is_joint:
        return None
    parts = list(near.parts())
    top = max(float(np.max(np.abs(near.slopes_of(base)), initial=0.0)) for _, near in parts)
    is_max = risk.aggregate == "max"
    slopes, tied = _maxima(problem, near) if is_max else (problem.row_weights.copy(), None)
    free.curvature, kinks = np.zeros(slopes.size), []
    for rows, part in parts:
        lowest, highest = part.slopes_of(base)
        kinked = (highest - lowest > JUMP * top) & (slopes[rows] != 0)
        kinked = kinked if tied is None else kinked | tied[rows]
        idle = kinked | (slopes[rows] == 0)
        curvature = slopes[rows] * (highest - lowest) / (2 * near.step)
        free.curvature[rows] = np.where(idle, 0.0, curvature)
        slopes[rows] = np.where(idle, 0.0, slopes[rows] * base.slope(part.u))
        kinks.append(rows.start + np.flatnonzero(kinked))
    found = np.concatenate(kinks)
    if found.size * risk.rows.shape[1] > MOST_NUMBERS:
        return None
    _free_rows(problem, near, free, found)
    return slopes if problem.tilts is None else slopes + problem.tilts


def _maxima(problem: WeightedRisk, near: Near) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Each group's weight on its largest row; rows that tie for the largest."""
    risk, members = problem.risk, problem.risk.members
    least, most = (loss[members] for loss in near.losses())
    rivals = most >= np.max(least, axis=1, keepdims=True)
    several = np.ptp(np.where(rivals, members, members[:, :1]), axis=1) > 0
    slopes, tied = np.zeros(near.u.size), np.zeros(near.u.size, dtype=bool)
    first = members[np.arange(len(members)), np.argmax(rivals, axis=1)]
    unit = np.ones(near.u.size) if risk.weights is None else risk.weights
    alone = first[~several]
    slopes[alone] = problem.weights[~several] * unit[alone]
    several &= problem.weights > 0
    tied[members[several][rivals[several]]] = True
    slopes[tied] = unit[tied]
    return slopes, tied


def _free_rows(problem: WeightedRisk, near: Near, free: _Free, tied: Indices) -> None:
    """Slopes between those at the ends of the reach; under a maximum, of a share of the weight."""
    if tied.size == 0:
        return
    risk, rows = problem.risk, near.rows(tied)
    lowest, highest = near.slopes_of(risk.base, tied)
    unit = np.ones(tied.size) if risk.weights is None else risk.weights[tied]
    if risk.aggregate != "max":
        weight = problem.row_weights[tied]
        share = free.choose(tied.size, lambda chosen: np.clip(chosen, 0, 1))
        free.constraints += [share >= 0, share <= 1]
        lever = rows * (weight * (highest - lowest))
        free.parts.append(rows @ (weight * lowest) + lever @ share)
        return
    groups, place = np.unique(risk.groups[tied], return_inverse=True)
    member = sp.csr_array((np.ones(tied.size), (place, np.arange(tied.size))))
    weight = (problem.weights[groups])[place] * unit
    both = sp.hstack([member, member], format="csr")

    def shared(chosen: Array) -> Array:
        """Shares of each group, which add up to 1."""
        chosen = np.maximum(chosen, np.finfo(float).tiny)  # of none at all: equal ones
        total = np.asarray(both.T @ (both @ chosen))
        return chosen / total

    share = free.choose(2 * tied.size, shared)
    free.constraints += [share >= 0, both @ share == 1]
    up, down = share[: tied.size], share[tied.size :]
    free.parts.append((rows * (weight * highest)) @ up + (rows * (weight * lowest)) @ down)


# ---- the penalty ---------------------------------------------------------------------------------


def _penalty(problem: WeightedRisk, near: Near, free: _Free) -> tuple[Array, float] | None:
    """The penalty's relative slope on its coefficients, but for what is free at 0; its ridge."""
    risk, part = problem.risk, problem.risk.penalty.convex_part
    held = np.flatnonzero(risk.penalized)
    w, unit = near.theta[held], near.units[held] / near.scale
    parts = risk.penalty.parts()
    if parts.others or len(parts.groups) > 1:
        smooth = isinstance(part, kernel_norm) and problem.shrinkage is None
        return (part.slope(w) * unit, 0.0) if smooth and part is not None else None
    sizes = np.zeros(w.size) + parts.l1
    sizes = sizes if problem.shrinkage is None else sizes + problem.shrinkage
    zero = (near.sizes <= near.reach) & (sizes > 0)
    if np.any(zero):
        _add_box(free, held[zero], np.minimum(sizes * unit, LARGEST)[zero])
    slope = np.where(zero, 0.0, sizes * np.sign(w)) + parts.ridge * w
    for members, size in ((m, float(g.lam)) for g in parts.groups for m in g.members(w.size)):
        norm = float(np.linalg.norm(w[members]))
        if norm > near.reach * float(np.linalg.norm(near.units[held[members]])):
            slope[members] += size * w[members] / norm
        elif size > 0:
            _add_ball(free, held[members], size, unit[members])
    return slope * unit, parts.ridge


def _add_box(free: _Free, places: Indices, radius: Array) -> None:
    """A free part on some coefficients, each within its radius."""
    part = free.choose(places.size, lambda chosen: np.clip(chosen, -radius, radius))
    free.constraints += [part <= radius, part >= -radius]
    free.parts.append(_into(free, places, np.ones(places.size)) @ part)


def _add_ball(free: _Free, places: Indices, radius: float, stretch: Array) -> None:
    """A free part on some coefficients whose norm is at most the radius, then stretched."""

    def within(chosen: Array) -> Array:
        return chosen * min(1.0, radius / (float(np.linalg.norm(chosen)) or radius))

    part = free.choose(places.size, within)
    free.constraints.append(cp.norm(part) <= radius)
    free.parts.append(_into(free, places, stretch) @ part)


def _into(free: _Free, places: Indices, entries: Array) -> Any:
    """Entries at some places of the coefficients."""
    return sp.csr_array((entries, (places, np.arange(places.size))), (free.size, places.size))
