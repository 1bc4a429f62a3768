"""Stationarity of a point of a risk: active pieces, shortest subgradients, and ties of slopes.

A kink counts as met if it lies within some reach of the point. Every choice of slopes at the ties
of the concave part gives a majorant, and a point is d-stationary if it minimises all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.engine.stationarity import STEEP, Stationarity, downhill_slope
from dcprog.foundation.arrays import PRODUCTS, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.tolerances import JUMP, KNOWN_DIGITS, TIGHT
from dcprog.penalties import kernel_norm
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.units import margin_unit
from dcprog.solvers.linalg.kronecker import RowHessian

Indices = npt.NDArray[np.intp]


class Near:
    """A point of a weighted risk, and how near to it kinks count as met.

    Parameters
    ----------
    problem : WeightedRisk
        A tightening at the point.
    theta : array of shape (p,)
    units : array of shape (p,)
        A typical size of every coefficient.
    scale : float
        The sum of the sizes of the risk's terms.
    reach : float
        In units of the margins and of the coefficients.

    Attributes
    ----------
    u : array of shape (n_rows,)
        The margins.
    step : float
        The reach in the margins.
    """

    def __init__(
        self, problem: WeightedRisk, theta: Array, units: Array, scale: float, reach: float
    ) -> None:
        self.problem, self.risk, self.theta = problem, problem.risk, theta
        self.units, self.scale, self.reach = units, scale, reach
        self.u = self.risk.margins(theta)
        self.step = reach * margin_unit(self.risk)

    def within(self, reach: float) -> Near:
        """The point under another reach."""
        return Near(self.problem, self.theta, self.units, self.scale, reach)

    def under(self, problem: WeightedRisk) -> Near:
        """The point under another tightening."""
        other = copy(self)
        other.problem = problem
        return other

    @property
    def low(self) -> Array:
        """The margins that are within reach from below."""
        return self.u - self.step

    @property
    def high(self) -> Array:
        """The margins that are within reach from above."""
        return self.u + self.step

    def parts(self) -> Iterator[tuple[slice, Near]]:
        """Parts of some rows at a time; see :meth:`Risk.parts`."""
        for rows, risk in self.risk.parts(self.theta):
            part = copy(self)
            part.risk, part.u = risk, risk.margins(self.theta)
            yield rows, part

    def pulled(self, slopes: Array) -> Array:
        """Slopes in the margins as a gradient, in units and relative to the scale."""
        return self.risk.pull(slopes) * self.units / self.scale

    def bend(self, curvature: Array, ridge: float, way: Array) -> float:
        """Σ_r c_r (a_r·d)² + q‖w‖² along a direction of length 1, in units, relative."""
        move = self.units * way
        rows = np.asarray(self.risk.rows @ move).ravel()
        held = move[self.risk.penalized]
        bent = np.einsum("i,i,i->", curvature, rows, rows)
        return float(bent + ridge * held @ held) / self.scale

    def rows(self, chosen: Indices) -> Array:
        """Some rows as relative gradients, of shape (p, k)."""
        if self._has_no_rows:
            picked = np.zeros((self.u.size, chosen.size))
            picked[chosen, np.arange(chosen.size)] = 1.0
            return np.array([self.pulled(one) for one in picked.T]).reshape(-1, self.theta.size).T
        return (self.risk.scores.dense_rows(chosen) * (self.units / self.scale)).T

    @property
    def _has_no_rows(self) -> bool:
        return self.risk.no_matrix is not None or self.risk.scores.kernel is not None

    def gram(self, curvature: Array) -> Array:
        """Σ_r c_r a_r a_rᵀ in units of the coefficients, relative to the scale, of shape (p, p)."""
        if self._has_no_rows:
            live = np.flatnonzero(curvature > 0)
            rows = self.rows(live)
            return (rows * curvature[live]) @ rows.T * self.scale
        gram = RowHessian(self.risk).hessian(curvature, np.arange(self.theta.size))
        return gram * np.outer(self.units, self.units / self.scale)

    def slopes(self, rows: Indices | slice = slice(None)) -> tuple[Array, Array]:
        """Slopes of the base loss at the ends of some rows' reach."""
        u, slope = self.u[rows], self.risk.base.slope
        return slope(u - self.step), slope(u + self.step)

    def bent(self) -> Array:
        """Curvatures of the weighted losses in the margins: slopes' differences over the reach."""
        curvature = self.problem.row_weights.copy()
        for rows, part in self.parts():
            lowest, highest = part.slopes()
            curvature[rows] *= (highest - lowest) / (2 * self.step)
        return curvature

    def losses(self) -> tuple[Array, Array]:
        """The least and the largest loss of every row at the ends of its reach."""
        risk = self.risk
        ends = [risk._scaled(risk.base(end)) for end in (self.low, self.high)]
        return np.minimum(*ends), np.maximum(*ends)

    def aggregates(self) -> tuple[Array, Array]:
        """The aggregates of every group."""
        low, high = self.losses()
        return self.risk._combined(low), self.risk._combined(high)


# ---- the shortest subgradient --------------------------------------------------------------------

# Relative slopes above this count as infinite, as that of ψ(|w|) = |w|^p at 0.
LARGEST = 1e4
UNLIMITED = Deadline(None)


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
        """The norm of the subgradient."""
        return float(np.linalg.norm(self.vector))

    @property
    def residual(self) -> float:
        """The length s of a step after which the slope is s too: that of a proximal step."""
        return self.length / (1 + self.curvature)


def shortest(near: Near, deadline: Deadline = UNLIMITED) -> Pull | None:
    r"""The shortest element of the subdifferential of P near θ: dist(0, ∂_r P(θ)).

    Every kink within reach r counts as met, of losses, of maxima and of coefficients at 0: so it
    is Goldstein's subdifferential of the terms. The rest are slopes at θ. What is free is the
    solution of a least-norm problem under bounds.

    Parameters
    ----------
    near : Near
    deadline : Deadline, optional
        The solver of that problem ends at it; the sum is then a subgradient, but not the shortest.

    Returns
    -------
    Pull or None
        None where the penalty has no known form, too much is tied, the deadline has passed, or
        units of coefficients overflow, as those of subnormal features do.

    References
    ----------
    Goldstein (1977), Optimization of Lipschitz continuous functions, Math. Program. 13.
    """
    held = near.risk.penalized
    free = _Free(held.size)
    slopes = _rows(near, free)
    if slopes is None:
        return None
    fixed = near.pulled(slopes)
    del slopes  # as long as the data
    penalty = _penalty(near, free)
    if penalty is None:
        return None
    slope, ridge = penalty
    fixed[held] += slope
    if (free.parts and deadline.left == 0) or not np.all(np.isfinite(fixed)):
        return None
    vector = free.least(fixed, deadline)
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

    def least(self, fixed: Array, deadline: Deadline) -> Array:
        """The shortest sum found; it is a subgradient also if the solver did not come to its end.

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
                problem.get_problem_data(cp.CLARABEL)  # compiled once, within the deadline
                limit = {} if deadline.left is None else {"time_limit": deadline.left}
                problem.solve(solver=cp.CLARABEL, tol_gap_abs=TIGHT, tol_gap_rel=TIGHT, **limit)
            except (cp.error.SolverError, ValueError):  # ValueError: the data hold infinity
                return fixed
        if total.value is None:
            return fixed
        for variable, into in self.returns:
            variable.save_value(into(variable.value))
        return unit * np.asarray(total.value)


def _rows(near: Near, free: _Free) -> Array | None:
    """Slopes of the weighted losses and tilts in the margins, without the free ones."""
    problem, risk, base = near.problem, near.risk, near.risk.base
    if base.is_joint:
        return None
    parts = list(near.parts())
    top = max(float(np.max(np.abs(near.slopes()), initial=0.0)) for _, near in parts)
    is_max = risk.aggregate == "max"
    slopes, tied = _maxima(near) if is_max else (problem.row_weights.copy(), None)
    free.curvature, kinks = np.zeros(slopes.size), []
    for rows, part in parts:
        lowest, highest = part.slopes()
        kinked = (highest - lowest > JUMP * top) & (slopes[rows] != 0)
        kinked = kinked if tied is None else kinked | tied[rows]
        idle = kinked | (slopes[rows] == 0)
        curvature = slopes[rows] * (highest - lowest) / (2 * near.step)
        free.curvature[rows] = np.where(idle, 0.0, curvature)
        slopes[rows] = np.where(idle, 0.0, slopes[rows] * base.slope(part.u))
        kinks.append(rows.start + np.flatnonzero(kinked))
    found = np.concatenate(kinks)
    if found.size * risk.rows.shape[1] > PRODUCTS:
        return None
    _free_rows(near, free, found)
    return slopes if problem.tilts is None else slopes + problem.tilts


def _maxima(near: Near) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Each group's weight on its largest row; rows that tie for the largest."""
    problem, risk, members = near.problem, near.risk, near.risk.members
    least, most = (loss[members] for loss in near.losses())
    rivals = most >= np.max(least, axis=1, keepdims=True)
    several = np.ptp(np.where(rivals, members, members[:, :1]), axis=1) > 0
    slopes, tied = np.zeros(near.u.size), np.zeros(near.u.size, dtype=bool)
    first = members[np.arange(len(members)), np.argmax(rivals, axis=1)]
    unit = risk.factors
    alone = first[~several]
    slopes[alone] = problem.weights[~several] * unit[alone]
    several &= problem.weights > 0
    tied[members[several][rivals[several]]] = True
    slopes[tied] = unit[tied]
    return slopes, tied


def _free_rows(near: Near, free: _Free, tied: Indices) -> None:
    """The interval of slopes over the reach; under a maximum, times a share of the weight."""
    if tied.size == 0:
        return
    problem, risk, rows = near.problem, near.risk, near.rows(tied)
    lowest, highest = near.slopes(tied)
    unit = risk.factors[tied]
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


def _penalty(near: Near, free: _Free) -> tuple[Array, float] | None:
    """The penalty's relative slope on its coefficients, but for what is free at 0; its ridge."""
    problem, risk, part = near.problem, near.risk, near.risk.penalty.convex_part
    held = np.flatnonzero(risk.penalized)
    w, unit = near.theta[held], near.units[held] / near.scale
    parts = risk.penalty.parts()
    if parts.others or len(parts.groups) > 1:
        smooth = isinstance(part, kernel_norm) and problem.shrinkage is None
        return (part.slope(w) * unit, 0.0) if smooth and part is not None else None
    sizes = np.zeros(w.size) + parts.l1
    sizes = sizes if problem.shrinkage is None else sizes + problem.shrinkage
    zero = (np.abs(w) <= near.reach * near.units[held]) & (sizes > 0)
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


# ---- ties ----------------------------------------------------------------------------------------

# All choices are tried if at most FEW slopes are tied; of up to MOST, each alone and all at once.
FEW, MOST = 6, 24
# The nearest kinks of φ that are considered; of trimmed losses, those of either side of the cut.
NEAREST, PAIRED = 64, 8


@dataclass(frozen=True, eq=False)
class Flip:
    """Entries of a tightening (its ``weights``, ``tilts`` or ``shrinkage``) at other slopes.

    Attributes
    ----------
    part : str
    places : array of int
    values : array
    pull : array of shape (p,)
        What it adds to the relative gradient, about.
    cost : float
        The majorant with these slopes less F at the point, relative; 0 at a tie.
    """

    part: str
    places: npt.NDArray[np.intp]
    values: Array
    pull: Array
    cost: float

    @property
    def force(self) -> float:
        """The change of the relative gradient."""
        return float(np.linalg.norm(self.pull))

    def apart(self, other: Flip) -> bool:
        """True if both sides can be chosen."""
        return self.part != other.part or not np.intersect1d(self.places, other.places).size


@dataclass(frozen=True, eq=False)
class Ties:
    """The tied slopes at a point.

    Attributes
    ----------
    problem : WeightedRisk
        The tightening there.
    flips : list of Flip
        The strongest first.
    complete : bool
        Are these all?
    """

    problem: WeightedRisk
    flips: list[Flip]
    complete: bool = True

    @property
    def all_tried(self) -> bool:
        """True if :meth:`choices` gives every choice there is."""
        return self.complete and len(self.flips) <= FEW

    def choices(self, least: float = -np.inf) -> Iterator[WeightedRisk]:
        """Tightenings at other slopes; those of all flips at once and of single ones first.

        None whose flips change the relative gradient by no more than `least` together.
        """
        return (
            self.with_flips(flips)
            for flips in self._sets()
            if sum(flip.force for flip in flips) > least
        )

    def _sets(self) -> Iterator[tuple[Flip, ...]]:
        flips = self.flips[:MOST]
        together: list[Flip] = []
        for flip in flips:
            together += [flip] if all(flip.apart(one) for one in together) else []
        yield from ((flip,) for flip in flips)
        if len(flips) <= FEW:
            sizes = range(2, len(flips) + 1)
            subsets = chain.from_iterable(combinations(flips, k) for k in sizes)
            for subset in subsets:
                if all(one.apart(other) for one, other in combinations(subset, 2)):
                    yield subset
        elif together:
            yield tuple(together)

    def with_flips(self, flips: tuple[Flip, ...]) -> WeightedRisk:
        """The tightening at the slopes of some flips."""
        changed: dict[str, Array] = {}
        for flip in flips:
            entries = changed.setdefault(flip.part, np.array(getattr(self.problem, flip.part)))
            entries[flip.places] = flip.values
        return replace(self.problem, **changed)  # type: ignore[arg-type]


def ties(near: Near) -> Ties:
    """Ties within reach: slopes of φ, of the subtracted loss, of a concave penalty.

    A tie shows in slopes that differ from one end of the reach to the other. Of many the nearest
    are taken.

    Parameters
    ----------
    near : Near

    Returns
    -------
    Ties

    References
    ----------
    Pang, Razaviyayn, Alvarado (2017), Computing B-stationary points of nonsmooth DC programs,
    Math. Oper. Res. 42.
    """
    losses = _exchanged if near.risk.transform.is_joint else _capped
    flips = [*losses(near), *_subtracted(near), *_shrunk(near)]
    sub = near.risk.subtracted  # its kinks are seen row by row
    rowwise = sub is None or not (sub.is_joint or near.risk.aggregate == "max")
    strongest = sorted((f for f in flips if f.force > KNOWN_DIGITS), key=lambda f: -f.force)
    return Ties(near.problem, strongest, rowwise and len(flips) <= FEW)


def _single(
    part: str, places: Indices, values: Array, pulls: Array, costs: Array
) -> Iterator[Flip]:
    """Flips of one entry each; their pulls are the rows of a matrix."""
    for k, pull in enumerate(pulls):
        yield Flip(part, places[[k]], values[[k]], pull, float(costs[k]))


def _group_pull(near: Near, groups: Indices, changes: Array) -> Array:
    """First-order change of the relative gradient by changes of groups' weights."""
    change = np.zeros(near.risk.n_groups)
    change[groups] = changes
    rows = np.flatnonzero(np.isin(near.risk.groups, groups))
    return np.sum(_row_pulls(near, rows, change[near.risk.groups[rows]]), axis=0)


def _row_pulls(near: Near, rows: Indices, changes: Array) -> Array:
    """First-order changes of the relative gradient by rows that are groups, of shape (k, p)."""
    weights = near.risk.weights
    low, high = near.slopes(rows)
    steepest = np.where(np.abs(low) > np.abs(high), low, high)
    unit = changes if weights is None else changes * weights[rows]
    return (near.rows(rows) * (unit * steepest)).T


def _capped(near: Near) -> Iterable[Flip]:
    """Groups at a kink of φ."""
    slope, parts = near.risk.transform.slope, list(near.parts())
    top = max(float(np.max(slope(part.aggregates()[0]), initial=0.0)) for _, part in parts)
    found = [_kinked(near.problem, groups, part, top) for groups, part in parts]
    place, other, change, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    nearest = np.argsort(cost)[:NEAREST]
    place, other, change, cost = place[nearest], other[nearest], change[nearest], cost[nearest]
    if near.risk._groups is None:
        pulls = _row_pulls(near, place, change)
    else:
        pulls = np.zeros((place.size, near.theta.size))
        for k in range(place.size):
            pulls[k] = _group_pull(near, place[[k]], change[[k]])
    return _single("weights", place, other, pulls, cost)


def _kinked(
    problem: WeightedRisk, groups: slice, near: Near, top: float
) -> tuple[Indices, Array, Array, Array]:
    """Some groups at a kink of φ: places, slopes on its other side, their changes, and costs."""
    risk = near.risk
    t, (low, high) = risk.aggregates(near.theta), near.aggregates()
    phi, slope = risk.transform, risk.transform.slope
    steep, flat = slope(low), slope(high)
    jump = np.abs(steep - flat) > JUMP * top
    rises = slope(t) - flat > steep - slope(t)
    other, end = np.where(rises, flat, steep), np.where(rises, high, low)
    cost = risk.sampled(phi(end) + other * (t - end) - phi(t)) / near.scale
    other = risk.sampled(other)
    change = other - problem.weights[groups]
    # where t is small that is no kink of φ, but the edge of its domain
    found = np.flatnonzero(jump & (t > high - t) & (change != 0))
    return groups.start + found, other[found], change[found], cost[found]


def _exchanged(near: Near) -> Iterable[Flip]:
    """Pairs of a kept and a dropped group whose losses differ by at most the reach."""
    risk, here = near.risk, near.problem.weights
    keeps = here > 0
    t, (low, high) = risk.aggregates(near.theta), near.aggregates()
    low, high = np.minimum(low, t), np.maximum(high, t)
    if np.all(keeps) or not np.any(keeps):
        return
    kept = np.flatnonzero(keeps & (high >= np.min(low[~keeps])))
    dropped = np.flatnonzero(~keeps & (low <= np.max(high[keeps])))
    for i in kept[np.argsort(-t[kept])][:PAIRED]:
        for j in dropped[np.argsort(t[dropped])][:PAIRED]:
            moved = t.copy()
            moved[i], moved[j] = max(high[i], high[j]), min(low[i], low[j])
            weights = risk.sampled(risk.transform.slope(moved))
            if weights[i] == 0 < weights[j]:
                pair, values = np.array([i, j]), np.array([0.0, weights[j]])
                pull = _group_pull(near, pair, values - here[pair])
                cost = float(weights[j] * t[j] - here[i] * t[i]) / near.scale
                yield Flip("weights", pair, values, pull, max(cost, 0.0))


def _subtracted(near: Near) -> Iterable[Flip]:
    """Rows at a kink of the subtracted loss."""
    sub, risk, here = near.risk.subtracted, near.risk, near.problem.tilts
    if sub is None or sub.is_joint or risk.aggregate == "max" or here is None:
        return []
    low, high = sub.slope(near.low), sub.slope(near.high)
    top = float(np.max(np.abs([low, high]), initial=0.0))
    factor = risk._scaled(risk.shares[risk.groups])
    rises = np.abs(factor * low + here) > np.abs(factor * high + here)
    slope, end = np.where(rises, low, high), np.where(rises, near.low, near.high)
    cost = factor * (sub(near.u) - sub(end) - slope * (near.u - end)) / near.scale
    found = np.flatnonzero(high - low > JUMP * top)
    found = found[np.argsort(cost[found])][:NEAREST]
    other = -factor[found] * slope[found]
    pulls = (near.rows(found) * (other - here[found])).T
    return _single("tilts", found, other, pulls, cost[found])


def _shrunk(near: Near) -> Iterable[Flip]:
    """Coefficients at a kink of a concave penalty."""
    risk, here = near.risk, near.problem.shrinkage
    if here is None:
        return []
    held = np.flatnonzero(risk.penalized)
    w, unit = near.theta[held], near.units[held]
    size, step = np.abs(w), near.reach * unit
    steep = risk.penalty.weights(np.maximum(size - step, 0.0))
    flat = risk.penalty.weights(size + step)
    at_zero = size <= 2 * step
    top = float(np.max(steep, where=~at_zero, initial=0.0))
    found = np.flatnonzero((steep - flat > JUMP * top) & ~at_zero)[:NEAREST]
    other = np.where(here - flat > steep - here, flat, steep)
    change = (other - here) * np.sign(w) * unit / near.scale
    pulls = np.zeros((found.size, near.theta.size))
    pulls[np.arange(found.size), held[found]] = change[found]
    return _single("shrinkage", found, other[found], pulls, np.zeros(found.size))


# ---- all choices ---------------------------------------------------------------------------------

# Kinks within these distances, in units, count as met; ties of concave functions, within TIED.
REACHES = np.geomspace(1e-8, 1e-4, 5)
TIED = 1e-5


@np.errstate(all="ignore")  # differences of huge slopes over a reach
def stationarity(
    problem: WeightedRisk, x: Array, units: Array, scale: float, time_limit: float | None = None
) -> Stationarity:
    """How far a tightening and the other choices at its ties are from being stationary at x.

    The residual is min over r of max(r, dist(0, ∂_r M)): there are points within r at which the
    terms' subgradients sum up to r, all relative and in units.

    Parameters
    ----------
    problem : WeightedRisk
        The tightening at x.
    x, units : arrays of shape (p,)
    scale : float
    time_limit : float, optional
        Seconds.

    Returns
    -------
    Stationarity
    """
    if not 0 < scale < np.inf:
        return Stationarity()
    near, residual, deadline = Near(problem, x, units, scale, TIED), np.inf, Deadline(time_limit)
    is_steep = True
    for reach in REACHES:
        pull = shortest(near.within(reach), deadline)
        if pull is None:
            return Stationarity()
        residual = min(residual, max(pull.residual, reach))
        is_steep &= reach > TIED or pull.length > STEEP
        if residual <= reach:
            break
        if deadline.left == 0:
            return Stationarity()  # the residual may be that of a solver that was stopped
    tied = ties(near)
    others = tied.choices(_least(near, deadline)) if tied.flips else iter(())
    choices = chain([problem], others) if is_steep else others
    slope = min((s for _, s in _walked(choices, near, deadline)), default=0.0)
    return Stationarity(residual, slope, tied.all_tried and deadline.left != 0)


def descents(
    problem: WeightedRisk, x: Array, units: Array, scale: float, time_limit: float | None = None
) -> Iterator[Array]:
    """Points down the slopes that other choices at ties have at x, none where nothing is tied.

    Parameters
    ----------
    problem, x, units, scale, time_limit
        As for :func:`stationarity`.
    """
    if not 0 < scale < np.inf:
        return
    near = Near(problem, x, units, scale, TIED)
    tied = ties(near)
    if tied.flips:
        deadline = Deadline(time_limit)
        for point, _ in _walked(tied.choices(_least(near, deadline)), near, deadline):
            yield point


def _least(near: Near, deadline: Deadline) -> float:
    """The least change of the gradient by flips that can make any slope a steep one."""
    pull = shortest(near, deadline)
    return -np.inf if pull is None else STEEP - pull.length


def _walked(
    choices: Iterable[WeightedRisk], near: Near, deadline: Deadline
) -> Iterator[tuple[Array, float]]:
    """The lowest point on each way down, and the slope of F on the way."""
    for choice in choices:
        if deadline.left == 0:
            return
        pull = shortest(near.under(choice), deadline)
        if pull is None or pull.length <= STEEP:
            continue
        way = -near.units * pull.vector / pull.length
        lowest, slope = downhill_slope(near.risk, near.theta, way, near.scale)
        if slope < 0:
            yield lowest, slope
