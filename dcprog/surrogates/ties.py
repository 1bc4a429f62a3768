"""The other slopes that a risk's concave part has at its kinks, and the majorants they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.risk.weighted import WeightedRisk
from dcprog.surrogates.subgradients import JUMP, Near

__all__ = ["Ties", "ties"]

# Every choice is looked at where so few slopes are tied; else one at a time, and all at once.
FEW, MOST = 6, 24
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
    force : float
        By how much that changes the relative gradient.
    """

    part: str
    places: npt.NDArray[np.intp]
    values: Array
    force: float

    def apart(self, other: Flip) -> bool:
        """Can both be chosen?"""
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
        """Does :meth:`choices` give every choice there is?"""
        return self.complete and len(self.flips) <= FEW

    def choices(self) -> Iterator[WeightedRisk]:
        """Tightenings at other slopes; those of all flips at once and of single ones first."""
        flips = self.flips[:MOST]
        together: list[Flip] = []
        for flip in flips:
            together += [flip] if all(flip.apart(one) for one in together) else []
        yield from (self._with((flip,)) for flip in flips)
        if len(flips) <= FEW:
            sizes = range(2, len(flips) + 1)
            subsets = chain.from_iterable(combinations(flips, k) for k in sizes)
            yield from (self._with(s) for s in subsets if _fit(s))
        elif together:
            yield self._with(tuple(together))

    def _with(self, flips: tuple[Flip, ...]) -> WeightedRisk:
        changed: dict[str, Array] = {}
        for flip in flips:
            entries = changed.setdefault(flip.part, np.array(getattr(self.problem, flip.part)))
            entries[flip.places] = flip.values
        return replace(self.problem, **changed)  # type: ignore[arg-type]


def _fit(flips: tuple[Flip, ...]) -> bool:
    return all(one.apart(other) for one, other in combinations(flips, 2))


def ties(problem: WeightedRisk, near: Near) -> Ties:
    """What is tied within reach: slopes of φ, of what is subtracted, of a concave penalty.

    A tie shows in slopes that differ from one end of the reach to the other.

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
    transform = near.risk.transform
    losses = _exchanged if transform.is_joint else _capped
    flips = [*losses(problem, near), *_subtracted(problem, near), *_shrunk(problem, near)]
    flips = sorted((f for f in flips if f.force > IDLE), key=lambda f: -f.force)
    return Ties(problem, flips, _complete(near))


def _complete(near: Near) -> bool:
    """Are all kinks of the concave part seen, not only those of rows taken one by one?"""
    sub = near.risk.subtracted
    return sub is None or not (sub.is_joint or near.risk.aggregate == "max")


def _combined(near: Near) -> tuple[Array, Array]:
    low, high = near.losses()
    return near.risk._combined(low), near.risk._combined(high)


def _force(problem: WeightedRisk, near: Near, group: int, change: float) -> float:
    """What a change of a group's weight does to the relative gradient."""
    risk = near.risk
    rows = np.flatnonzero(risk.groups == group)
    unit = 1.0 if risk.weights is None else risk.weights[rows]
    steepest = np.maximum(np.abs(risk.base.slope(near.low)), np.abs(risk.base.slope(near.high)))
    return abs(change) * float(np.linalg.norm(near.rows(rows) @ (unit * steepest[rows])))


def _capped(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Groups at a kink of φ."""
    risk = near.risk
    t, (low, high) = risk.aggregates(near.theta), _combined(near)
    slope = risk.transform.slope
    steep, flat = slope(low), slope(high)
    jump = np.abs(steep - flat) > JUMP * float(np.max(steep, initial=0.0))
    other = risk.sampled(np.where(slope(t) - flat > steep - slope(t), flat, steep))
    found = np.flatnonzero(jump & (t > high - t))  # no kink of φ, but the edge of its domain
    change = other - problem.weights
    return [
        Flip("weights", np.array([g]), other[[g]], _force(problem, near, int(g), change[g]))
        for g in found
        if change[g] != 0
    ]


def _exchanged(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Pairs of a kept and a dropped group whose losses are the same within reach."""
    risk = near.risk
    t, (low, high) = risk.aggregates(near.theta), _combined(near)
    low, high = np.minimum(low, t), np.maximum(high, t)
    keeps = problem.weights > 0
    if np.all(keeps) or not np.any(keeps):
        return []
    kept = np.flatnonzero(keeps & (high >= np.min(low[~keeps])))
    dropped = np.flatnonzero(~keeps & (low <= np.max(high[keeps])))
    flips = []
    for i in kept[np.argsort(-t[kept])][:FEW]:
        for j in dropped[np.argsort(t[dropped])][:FEW]:
            moved = t.copy()
            moved[i], moved[j] = max(high[i], high[j]), min(low[i], low[j])
            weights = risk.sampled(risk.transform.slope(moved))
            if weights[i] == 0 < weights[j]:
                force = _force(problem, near, int(i), problem.weights[i])
                force += _force(problem, near, int(j), weights[j])
                pair = np.array([i, j])
                flips.append(Flip("weights", pair, np.array([0.0, weights[j]]), force))
    return flips


def _subtracted(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Rows at a kink of what is subtracted."""
    sub = near.risk.subtracted
    if sub is None or sub.is_joint or near.risk.aggregate == "max" or problem.tilts is None:
        return []
    risk = near.risk
    low, high = sub.slope(near.low), sub.slope(near.high)
    top = float(np.max(np.abs([low, high]), initial=0.0))
    found = np.flatnonzero(high - low > JUMP * top)
    factor = -risk._scaled(risk.sampled(np.ones(risk.n_groups))[risk.groups])
    ends = factor[found] * low[found], factor[found] * high[found]
    here = problem.tilts[found]
    other = np.where(np.abs(ends[0] - here) > np.abs(ends[1] - here), *ends)
    force = np.linalg.norm(near.rows(found), axis=0) * np.abs(other - here)
    return [
        Flip("tilts", np.array([r]), np.array([value]), float(f))
        for r, value, f in zip(found, other, force, strict=True)
    ]


def _shrunk(problem: WeightedRisk, near: Near) -> list[Flip]:
    """Coefficients at a kink of a concave penalty."""
    risk, here = near.risk, problem.shrinkage
    if here is None:
        return []
    size, unit = np.abs(near.theta[risk.penalized]), near.units[risk.penalized]
    step = near.reach * unit
    steep = risk.penalty.weights(np.maximum(size - step, 0.0))
    flat = risk.penalty.weights(size + step)
    at_zero = size <= 2 * step
    top = float(np.max(steep, where=~at_zero, initial=0.0))
    found = np.flatnonzero((steep - flat > JUMP * top) & ~at_zero)
    other = np.where(here - flat > steep - here, flat, steep)
    force = np.abs(other - here) * unit / near.scale
    return [Flip("shrinkage", np.array([j]), other[[j]], float(force[j])) for j in found]
