"""The other slopes that a risk's concave part has at its kinks, and the majorants they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.near import Near
from dcprog.risk_mm.subgradients import JUMP

__all__ = ["Ties", "ties"]

# Every choice is looked at where so few slopes are tied; else one at a time, and all at once.
FEW, MOST = 6, 24
# So many are considered, and of losses that are dropped so many with as many that are kept.
NEAREST, PAIRED = 64, 8
# Slopes that change the relative gradient by less than that are as good as the same.
IDLE = 1e-9


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
        How far the majorant with those slopes is above F at the point, relative; 0 at a tie.
    """

    part: str
    places: npt.NDArray[np.intp]
    values: Array
    pull: Array
    cost: float

    @property
    def force(self) -> float:
        """By how much the relative gradient changes."""
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
        return (self.with_flips(flips) for flips in self._sets() if _force(flips) > least)

    def _sets(self) -> Iterator[tuple[Flip, ...]]:
        flips = self.flips[:MOST]
        together: list[Flip] = []
        for flip in flips:
            together += [flip] if all(flip.apart(one) for one in together) else []
        yield from ((flip,) for flip in flips)
        if len(flips) <= FEW:
            sizes = range(2, len(flips) + 1)
            subsets = chain.from_iterable(combinations(flips, k) for k in sizes)
            yield from filter(_fit, subsets)
        elif together:
            yield tuple(together)

    def with_flips(self, flips: tuple[Flip, ...]) -> WeightedRisk:
        """The tightening at the slopes of some flips."""
        changed: dict[str, Array] = {}
        for flip in flips:
            entries = changed.setdefault(flip.part, np.array(getattr(self.problem, flip.part)))
            entries[flip.places] = flip.values
        return replace(self.problem, **changed)  # type: ignore[arg-type]


def _force(flips: tuple[Flip, ...]) -> float:
    return sum(flip.force for flip in flips)


def _fit(flips: tuple[Flip, ...]) -> bool:
    return all(one.apart(other) for one, other in combinations(flips, 2))


def ties(problem: WeightedRisk, near: Near) -> Ties:
    """Ties within reach: slopes of φ, of the subtracted loss, of a concave penalty.

    A tie shows in slopes that differ from one end of the reach to the other. Of many the nearest
    are taken.

    Parameters
    ----------
    problem : WeightedRisk
        The tightening at the point.
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
    flips = [*losses(problem, near), *_subtracted(problem, near), *_shrunk(problem, near)]
    complete = len(flips) <= FEW and _complete(near)
    flips = sorted((f for f in flips if f.force > IDLE), key=lambda f: -f.force)
    return Ties(problem, flips, complete)


def _complete(near: Near) -> bool:
    """True if all kinks of the concave part are seen, not only those of rows taken one by one."""
    sub = near.risk.subtracted
    return sub is None or not (sub.is_joint or near.risk.aggregate == "max")


def _group_pull(near: Near, groups: Array, changes: Array) -> Array:
    """First-order changes of the relative gradient by changes of groups' weights."""
    risk = near.risk
    rows = np.flatnonzero(np.isin(risk.groups, groups))
    change = dict(zip(groups.tolist(), changes.tolist(), strict=True))
    factor = np.array([change[g] for g in risk.groups[rows].tolist()])
    return np.sum(_row_pulls(near, rows, factor), axis=1)


def _row_pulls(near: Near, rows: npt.NDArray[np.intp], changes: Array) -> Array:
    """First-order changes of the relative gradient by rows that are groups, of shape (p, k)."""
    weights = near.risk.weights
    low, high = near.slopes_of(near.risk.base, rows)
    steepest = np.where(np.abs(low) > np.abs(high), low, high)
    unit = changes if weights is None else changes * weights[rows]
    return near.rows(rows) * (unit * steepest)


def _capped(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Groups at a kink of φ."""
    slope, parts = near.risk.transform.slope, list(near.parts())
    top = max(float(np.max(slope(part.aggregates()[0]), initial=0.0)) for _, part in parts)
    found = [_kinked(problem, groups, part, top) for groups, part in parts]
    place, other, change, cost = (np.concatenate(column) for column in zip(*found, strict=True))
    nearest = np.argsort(cost)[:NEAREST]
    place, other, change, cost = place[nearest], other[nearest], change[nearest], cost[nearest]
    if near.risk._groups is None:
        pulls = list(_row_pulls(near, place, change).T)
    else:
        pulls = [_group_pull(near, place[[k]], change[[k]]) for k in range(place.size)]
    return [
        Flip("weights", place[[k]], other[[k]], pull, float(cost[k]))
        for k, pull in enumerate(pulls)
    ]


def _kinked(
    problem: WeightedRisk, groups: slice, near: Near, top: float
) -> tuple[npt.NDArray[np.intp], Array, Array, Array]:
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


def _exchanged(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Pairs of a kept and a dropped group whose losses are the same within reach."""
    risk, keeps = near.risk, problem.weights > 0
    t, (low, high) = risk.aggregates(near.theta), near.aggregates()
    low, high = np.minimum(low, t), np.maximum(high, t)
    if np.all(keeps) or not np.any(keeps):
        return []
    kept = np.flatnonzero(keeps & (high >= np.min(low[~keeps])))
    dropped = np.flatnonzero(~keeps & (low <= np.max(high[keeps])))
    flips = []
    for i in kept[np.argsort(-t[kept])][:PAIRED]:
        for j in dropped[np.argsort(t[dropped])][:PAIRED]:
            moved = t.copy()
            moved[i], moved[j] = max(high[i], high[j]), min(low[i], low[j])
            weights = risk.sampled(risk.transform.slope(moved))
            if weights[i] == 0 < weights[j]:
                pair, values = np.array([i, j]), np.array([0.0, weights[j]])
                pull = _group_pull(near, pair, values - problem.weights[pair])
                cost = float(weights[j] * t[j] - problem.weights[i] * t[i]) / near.scale
                flips.append(Flip("weights", pair, values, pull, max(cost, 0.0)))
    return flips


def _subtracted(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Rows at a kink of what is subtracted."""
    sub, risk, here = near.risk.subtracted, near.risk, problem.tilts
    if sub is None or sub.is_joint or risk.aggregate == "max" or here is None:
        return []
    low, high = sub.slope(near.low), sub.slope(near.high)
    top = float(np.max(np.abs([low, high]), initial=0.0))
    factor = risk._scaled(risk.sampled(np.ones(risk.n_groups))[risk.groups])
    rises = np.abs(factor * low + here) > np.abs(factor * high + here)
    slope, end = np.where(rises, low, high), np.where(rises, near.low, near.high)
    cost = factor * (sub(near.u) - sub(end) - slope * (near.u - end)) / near.scale
    found = np.flatnonzero(high - low > JUMP * top)
    found = found[np.argsort(cost[found])][:NEAREST]
    other = -factor[found] * slope[found]
    pulls = near.rows(found) * (other - here[found])
    return [
        Flip("tilts", found[[k]], other[[k]], pulls[:, k], float(cost[found[k]]))
        for k in range(found.size)
    ]


def _shrunk(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Coefficients at a kink of a concave penalty."""
    risk, here = near.risk, problem.shrinkage
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
    return [
        Flip("shrinkage", np.array([j]), other[[j]], change[j] * _entry(held[j], near), 0.0)
        for j in found
    ]


def _entry(place: int, near: Near) -> Array:
    e = np.zeros(near.theta.size)
    e[place] = 1.0
    return e
