"""The lowest value that a dense grid of a box and a search around its best points find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.batched import Batched
from tests.fuzz.boxed import Boxed
from tests.fuzz.evaluation import Evaluation
from tests.fuzz.landscape import Array
from tests.fuzz.programs import descended

__all__ = ["FLOOR", "LEAST", "STILL", "Landmark", "Lowest"]

POINTS = 100_000
WORK = 3_000_000  # points times entries of the nodes, for one grid
REFERENCES = 200
STILL = 1e-14  # violations of that share of the terms are rounding
SOLVED = 1e-12  # the same for an equation where bisection ends
FLOOR = 1e-3  # terms count for at least that share of what they are in the middle of the box
AWAY = 0.02  # of their largest size: divisors are at least that far from 0
ROUNDING = 4  # units in the last place of x
LEAST = 1e-300
ACTIVE, POLISHED, STEPS = 1e-3, 2, 30
INSIDE = 1e-9  # of the terms: what the programs leave to a constraint
CENTRES, AROUND, ROUNDS, SHRUNK = 6, 48, 24, 0.45
CROSSINGS, HALVINGS, ZOOMS = 200, 54, 3


@dataclass(frozen=True)
class Landmark:
    """A feasible point, its value as a minimisation's, and what rounding it changes."""

    x: Array
    value: float
    noise: float


class Lowest:
    """F, the constraints and their terms at many points; searches for low feasible ones."""

    def __init__(self, made: Boxed, rng: np.random.Generator) -> None:
        self.made, self.rng = made, rng
        self.lo, self.hi = made.lo, made.hi
        found = Evaluation(made.problem, 1.0, [])
        self.sign = found.sign
        rows = [found.objective, *found.inequalities, *found.equations]
        self.batched = Batched(rows, made.problem.variables())
        self.equal = np.array(
            [False] * sum(e.size for e in found.inequalities)
            + [True] * sum(e.size for e in found.equations),
            dtype=bool,
        )
        drawn = self.rng.uniform(size=(REFERENCES, self.lo.size))
        points = self._rounded(self.lo + drawn * (self.hi - self.lo))
        usual, within = self.terms(points), self.batched.terms(points, within=True)[0]
        known = [column[np.isfinite(column)] for column in usual.T]
        self.typical = np.array([np.median(c) if c.size else 0.0 for c in known])
        self.largest = float(np.max(within[np.isfinite(within)], initial=0.0))
        self.defined = False

    def rows(self, points: Array) -> tuple[Array, Array]:
        """F of the minimisation, and the constraints' rows: ≤ 0, or = 0 where `equal`."""
        objective, *rest = self.batched(points)
        constraints = np.concatenate([np.zeros((len(points), 0)), *rest], axis=1)
        return self.sign * objective[:, 0], constraints

    def terms(self, points: Array) -> Array:
        """What the terms of F, and those of the constraints' rows, add up to."""
        return np.concatenate(self.batched.terms(points), axis=1)

    def scale(self, x: Array) -> float:
        """What F's terms add up to, never less than a thousandth of the usual."""
        sizes = self.terms(self._near(x))[:, 0]
        return max(float(np.max(sizes[np.isfinite(sizes)], initial=0.0)), FLOOR * self.typical[0])

    def missed(self, x: Array) -> float:
        """The largest violation as a share of the terms, at x or where rounding takes it."""
        points = self._near(x)
        _, rows = self.rows(points)
        sizes = np.maximum(self.terms(points)[:, 1:], FLOOR * self.typical[1:])
        excess = np.where(self.equal, np.abs(rows), rows)
        shares = np.max(excess / np.maximum(sizes, LEAST), axis=1, initial=0.0)
        return float(np.min(shares[~np.isnan(shares)], initial=np.inf))

    def noise(self, x: Array) -> float:
        """What rounding x changes F by."""
        values, _ = self.rows(self._near(x))
        known = values[np.isfinite(values)]
        return float(np.ptp(known)) if known.size else 0.0

    def _near(self, x: Array) -> Array:
        """The point, and others that rounding makes of it."""
        steps = ROUNDING * self.rng.choice([-1, 0, 1], size=(16, x.size))
        return np.vstack([x, x + steps * np.spacing(np.abs(x))])

    def search(self) -> Landmark | None:
        """The lowest feasible point of the grid, the searches around it, and the witness."""
        counts, grid = self._grid(self.lo, self.hi, self.made.witness)
        values, rows = self.rows(grid)
        self.defined = not np.any(np.isnan(values) | np.any(np.isnan(rows), axis=1))
        self.defined &= self._is_far_from_poles(grid)
        found = [grid[k] for k in self._best(values, rows, grid)]
        if self.made.witness is not None:
            found.append(self.made.witness)
        if np.count_nonzero(self.equal) == 1:
            found += self._solved(counts, grid, rows, values)
        elif found and not np.any(self.equal):
            refined = self._refined(np.array(found))
            found += refined
            for k in self._best(*self.rows(np.array(refined)), np.array(refined))[:POLISHED]:
                found += self._polished(refined[k])
        if not found:
            return None
        points = np.array(found)
        values, rows = self.rows(points)
        allowed = SOLVED if np.any(self.equal) else STILL
        usable = np.flatnonzero(self._feasible(rows, points, allowed) & np.isfinite(values))
        if not usable.size:
            return None
        lowest = usable[np.argsort(values[usable])][:CENTRES]
        noise = [self.noise(points[k]) for k in lowest]
        k = int(np.argmin(values[lowest] + noise))
        return Landmark(points[lowest[k]], float(values[lowest[k]]), noise[k])

    def _is_far_from_poles(self, grid: Array) -> bool:
        """Do divisors and arguments of logarithms keep one sign, and away from 0?"""
        found = Batched(self.batched.divisors, self.made.problem.variables())(grid)
        ends = [(np.min(d, axis=0), np.max(d, axis=0)) for d in found]
        sizes = [np.maximum(np.abs(lo), np.abs(hi)) for lo, hi in ends]
        return all(
            bool(np.all((lo > AWAY * size) | (hi < -AWAY * size)))
            for (lo, hi), size in zip(ends, sizes, strict=True)
        )

    def _rounded(self, points: Array) -> Array:
        return np.where(self.made.whole, np.round(points), points)

    def _grid(self, lo: Array, hi: Array, through: Array | None) -> tuple[list[int], Array]:
        """Points on lines along the axes, denser towards the ends and 0."""
        free = int(np.count_nonzero(hi > lo))
        many = min(POINTS, WORK // int(self.batched.work))
        count = max(int(many ** (1 / max(free, 1))), 5)
        axes = [self._axis(lo[i], hi[i], count, through, i) for i in range(lo.size)]
        mesh = np.meshgrid(*axes, indexing="ij")
        return [a.size for a in axes], np.stack([m.ravel() for m in mesh], axis=1)

    def _axis(self, lo: float, hi: float, count: int, through: Array | None, i: int) -> Array:
        if lo == hi:
            return np.array([lo])
        if self.made.whole[i]:
            return np.unique(np.round(np.linspace(np.ceil(lo), np.floor(hi), count)))
        near = (hi - lo) * 10.0 ** -np.arange(2, 13, 2) if count > 30 else np.zeros(0)
        special = [0.0, *near, *-near, *(lo + near), *(hi - near)]
        special += [] if through is None else [float(through[i])]
        inside = [t for t in special if lo <= t <= hi]
        return np.unique(np.concatenate([np.linspace(lo, hi, count), inside]))

    def _feasible(self, rows: Array, points: Array, allowed: float) -> Any:
        """Which points meet the constraints, but for that share of the terms."""
        excess = np.where(self.equal, np.abs(rows), rows)
        met = np.all(excess <= 0, axis=1)
        close = np.all(excess <= 1e3 * allowed * np.maximum(self.typical[1:], LEAST), axis=1)
        unsure = np.flatnonzero(close & ~met)
        if unsure.size:
            sizes = self.terms(points[unsure])[:, 1:]
            met[unsure] = np.all(excess[unsure] <= allowed * sizes, axis=1)
        return met

    def _best(self, values: Array, rows: Array, points: Array) -> list[int]:
        """The lowest feasible points, not all at one place."""
        usable = np.flatnonzero(np.isfinite(values) & self._feasible(rows, points, STILL))
        order = usable[np.argsort(values[usable])][:2000]
        apart = np.where(self.hi > self.lo, self.hi - self.lo, 1.0) / 20
        chosen: list[int] = []
        while order.size and len(chosen) < CENTRES:
            chosen.append(int(order[0]))
            distance = np.max(np.abs(points[order] - points[order[0]]) / apart, axis=1)
            order = order[distance > 1]
        return chosen

    def _refined(self, centres: Array) -> list[Array]:
        """Random points around each centre, nearer every round; only better ones are gone to."""
        width = (self.hi - self.lo) / 20 * ~self.made.whole
        best, _ = self.rows(centres)
        for k in range(ROUNDS):
            step = self.rng.uniform(-1, 1, size=(len(centres), AROUND, self.lo.size))
            step *= self.rng.uniform(size=step.shape) < 0.7  # some along the axes and planes
            points = np.clip(centres[:, None] + width * SHRUNK**k * step, self.lo, self.hi)
            flat = points.reshape(-1, self.lo.size)
            values, rows = self.rows(flat)
            usable = np.isfinite(values) & self._feasible(rows, flat, STILL)
            values = np.where(usable, values, np.inf).reshape(len(centres), AROUND)
            lowest = np.argmin(values, axis=1)
            found = values[np.arange(len(centres)), lowest]
            better = found < best
            centres = np.where(better[:, None], points[np.arange(len(centres)), lowest], centres)
            best = np.where(better, found, best)
        return list(centres)

    def _polished(self, centre: Array) -> list[Array]:
        """Where sequential quadratic programs lead, inside the constraints."""
        _, rows = self.rows(centre[None])
        sizes = np.maximum([self.scale(centre), *self.typical[1:]], LEAST)
        if np.all(rows[0] < -ACTIVE * sizes[1:]):
            return []
        lo, hi = (np.where(self.made.whole, centre, side) for side in (self.lo, self.hi))
        return [descended(self.rows, sizes, self.equal, lo, hi, centre, INSIDE, STEPS)]

    def _solved(self, counts: list[int], grid: Array, rows: Array, values: Array) -> list[Array]:
        """Points where the one equation changes its sign between neighbours of the grid."""
        found: list[Array] = []
        width = (self.hi - self.lo) / 10
        for _ in range(ZOOMS):
            found += self._crossings(counts, grid, rows, values)
            if not found:
                return found
            points = np.array(found)
            values, rows = self.rows(points)
            usable = np.isfinite(values) & self._feasible(rows, points, SOLVED)
            if not np.any(usable):
                return found
            best = points[np.argmin(np.where(usable, values, np.inf))]
            lo, hi = np.maximum(best - width, self.lo), np.minimum(best + width, self.hi)
            fixed = self.made.whole
            lo, hi = np.where(fixed, best, lo), np.where(fixed, best, hi)
            counts, grid = self._grid(lo, hi, best)
            values, rows = self.rows(grid)
            width = width / 20
        return found

    def _crossings(self, counts: list[int], grid: Array, rows: Array, values: Array) -> list[Array]:
        equation = rows[:, np.flatnonzero(self.equal)[0]].reshape(counts)
        index = np.arange(len(grid)).reshape(counts)
        left, right = [], []
        for axis, count in enumerate(counts):
            if count == 1 or self.made.whole[axis]:
                continue
            here, there = (np.take(equation, r, axis) for r in _neighbours(count))
            changed = here * there <= 0
            before, after = (np.take(index, r, axis) for r in _neighbours(count))
            left.append(before[changed])
            right.append(after[changed])
        if not left:
            return []
        a, b = np.concatenate(left), np.concatenate(right)
        level = np.where(np.isfinite(values[a]), values[a], np.inf)
        chosen = np.argsort(level)[:CROSSINGS]
        spread = self.rng.permutation(a.size)[: CROSSINGS // 2]
        kept = np.unique(np.concatenate([chosen, spread]))
        return list(self._bisected(grid[a[kept]], grid[b[kept]])) if kept.size else []

    def _bisected(self, low: Array, high: Array) -> Array:
        place = np.flatnonzero(self.equal)[0]
        below = self.rows(low)[1][:, place]
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            here = self.rows(middle)[1][:, place]
            same = (here * below > 0)[:, None]
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.concatenate([low, high])


def _neighbours(count: int) -> tuple[Any, Any]:
    return np.arange(count - 1), np.arange(1, count)
