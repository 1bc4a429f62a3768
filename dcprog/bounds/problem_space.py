"""A cvxpy problem as a function on boxes of its variables."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxes import Boxes
from dcprog.bounds.constraints import declared_box
from dcprog.bounds.linear_dual import Cuts, linear_bound, tightened
from dcprog.bounds.problem_box import first_box
from dcprog.bounds.problem_points import FEASIBLE, ProblemPoints
from dcprog.bounds.relaxed.program import Program
from dcprog.bounds.relaxed.relaxed import Relaxed, joined
from dcprog.bounds.search import Found, Incumbent
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable

__all__ = ["ProblemSpace"]

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

# Numbers in the largest arrays of a batch.
BATCH = 2**17
MOST_BOXES = 256
# Times that the minorants of a box are cut, at most.
ROUNDS = 3
# Between polished points there are this many batches, then twice as many, and so on.
FIRST_POLISH = 4
# A scale is at least that share of the one in the middle of the first box.
LEAST = 1e-9
# A box is cut at the widest side, even if nothing else speaks for it, by that much.
WIDTH = 0.2


class ProblemSpace(ProblemPoints):
    """x ↦ F(x) on boxes, x all entries of all variables, under the problem's constraints.

    Parameters
    ----------
    problem : cvxpy.Problem
    box : pair of arrays, optional
        Points outside are of no interest.

    Raises
    ------
    NotBoundable
        Something in it has no minorant.
    ValueError
        Integer or complex variables, data that are not finite.
    """

    def __init__(self, problem: cp.Problem, box: tuple[Array, Array] | None = None) -> None:
        super().__init__(problem, box)
        parts = [self.objective, *(e for e, _ in self.constraints)]
        self.program = Program(parts, self.points.variables)
        self.equal = np.concatenate(
            [np.full(e.size, equal) for e, equal in self.constraints] or [np.zeros(0, dtype=bool)]
        )
        rows = self.program.widest * max(self.points.size, 1)
        self.lot = int(np.clip(BATCH // rows, 8, MOST_BOXES))
        self._batches, self._next_polish = 0, FIRST_POLISH
        self.sides = np.ones(self.points.size)
        self.least_scale = 0.0

    @property
    def entries(self) -> int:
        """Coordinates of a box."""
        return self.points.size

    def root(self, best: Incumbent) -> Boxes:
        """The box that holds every feasible point as good as the best one."""
        lo, hi = self.box or declared_box(self.points)
        x = np.zeros(lo.size) if best.x is None else best.x
        x = np.clip(x, lo, hi)
        if self.box is None:
            lo, hi = first_box(lo, hi, x, lambda a, b: self._excluded(a, b, x, best.value))
        loose = np.flatnonzero(~np.isfinite(lo) | ~np.isfinite(hi))
        if loose.size:
            raise NotBoundable(
                self._name(int(loose[0])),
                "neither bounds nor constraints nor the objective hold this variable, as far as "
                "ranges show",
                "bounds on it, as cp.Variable(bounds=[lower, upper]), or box=(lower, upper)",
            )
        return Boxes(lo[None], hi[None], np.array([-np.inf]), x[None], (hi - lo)[None])

    def settle(self, boxes: Boxes) -> None:
        """Take the sizes of things from the boxes that the search begins with."""
        lo, hi = boxes.hull
        self.sides = np.where(hi > lo, hi - lo, 1.0)
        middle = self.at(0.5 * (lo + hi)).scale
        self.least_scale = LEAST * middle if np.isfinite(middle) else 0.0

    def region(self, point: Incumbent) -> None:
        """Points meet the constraints up to a tolerance only, and bounds hold for those that do."""

    def _excluded(self, lo: Array, hi: Array, x: Array, value: float) -> Flags:
        """Do the ranges on a box show that no point of it is feasible and better?"""
        objective, rules = self._relaxed(lo, hi, np.clip(x, lo, hi))
        worse: Flags = objective.lo[:, 0] >= value
        return worse if rules is None else worse | self._is_empty(rules)

    def _is_empty(self, rules: Relaxed) -> Flags:
        return np.any((rules.lo > 0) | (self.equal & (rules.hi < 0)), axis=1)

    def _relaxed(self, lo: Array, hi: Array, z: Array) -> tuple[Relaxed, Relaxed | None]:
        with np.errstate(all="ignore"):
            objective, *rest = self.program(lo, hi, z)
        return objective, joined(rest) if rest else None

    def _name(self, place: int) -> str:
        for variable, array in self.points.unpack(np.arange(self.points.size, dtype=float)):
            if place in array:
                return f"{variable.name()}" + ("" if variable.size == 1 else f" (entry {place})")
        return "a variable"

    def bound(self, boxes: Boxes, target: float) -> Found:
        """By planes below the objective and the constraints, and a linear program a box."""
        lo, hi = boxes.lo.copy(), boxes.hi.copy()
        n = len(boxes)
        z = np.clip(boxes.z, lo, hi)
        found = Found(
            np.full(n, -np.inf), z, np.full(n, np.inf), boxes.effect.copy(), lo.copy(), hi.copy()
        )
        live = np.arange(n)
        objective = constraints = None
        for k in range(ROUNDS):
            lo, hi, z = boxes.lo[live], boxes.hi[live], found.z[live]
            f, rules = self._relaxed(lo, hi, z)
            planes, rows = _below(f, z), self._rows(rules, z)
            objective = planes if objective is None else objective.and_(planes)
            constraints = rows if constraints is None else constraints.and_(rows)
            self._judge(found, live, f, rules, z)
            lower, x, weights = linear_bound(objective, constraints, lo, hi)
            lower = np.where(self._is_empty(rules) if rules is not None else False, np.inf, lower)
            lower = np.fmax(lower, f.lo[:, 0])
            found.lower[live] = np.fmax(found.lower[live], lower)
            found.effect[live] = self._effect(objective, constraints, weights, lo, hi)
            self._tighten(found, live, objective, constraints, lo, hi, target)
            low = f.below[:, 0] < target
            if rules is not None:
                low &= np.all(rules.below <= 0, axis=1)
                low &= ~np.any(self.equal & (rules.above < 0), axis=1)
            open_ = np.flatnonzero((found.lower[live] < target) & ~low)
            if k + 1 == ROUNDS or not open_.size:
                break
            found.z[live] = x
            live = live[open_]
            objective, constraints = objective.take(open_), constraints.take(open_)
        self._polish(found)
        return found

    def _rows(self, rules: Relaxed | None, z: Array) -> Cuts:
        """Planes that are at most 0 at feasible points."""
        if rules is None:
            return Cuts(np.zeros((z.shape[0], 0)), np.zeros((z.shape[0], 0, z.shape[1])))
        rows = _below(rules, z)
        if np.any(self.equal):
            rows = rows.and_(_below((-rules).take(np.flatnonzero(self.equal)), z))
        return rows

    def _judge(
        self, found: Found, live: Places, f: Relaxed, rules: Relaxed | None, z: Array
    ) -> None:
        """Note the points that are feasible and better."""
        value = f.value[:, 0]
        if rules is not None:
            excess = np.where(self.equal, np.abs(rules.value), np.maximum(rules.value, 0.0))
            size = np.maximum(np.abs(rules.lo), np.abs(rules.hi))
            value = np.where(np.all(excess <= FEASIBLE * size, axis=1), value, np.inf)
        better = value < found.value[live]
        found.value[live[better]] = value[better]

    def _effect(
        self, objective: Cuts, constraints: Cuts, weights: Array, lo: Array, hi: Array
    ) -> Array:
        """The sides in shares of the first box, times what their variables do."""
        slopes = np.concatenate([objective.slope, constraints.slope], axis=1)
        pull = np.einsum("bk,bkp->bp", weights, np.abs(slopes)) * (hi - lo)
        most = pull.max(axis=1, keepdims=True)
        pull = np.divide(pull, most, out=np.zeros(pull.shape), where=most > 0)
        return (WIDTH + pull) * (hi - lo) / self.sides * np.where(self.program.bent, 1.0, 1e-6)

    def _tighten(
        self,
        found: Found,
        live: Places,
        objective: Cuts,
        constraints: Cuts,
        lo: Array,
        hi: Array,
        target: float,
    ) -> None:
        rows = constraints
        if np.isfinite(target):
            rows = Cuts(objective.level - target, objective.slope).and_(rows)
        low, high = tightened(rows, lo, hi)
        found.lo[live] = np.maximum(found.lo[live], low)
        found.hi[live] = np.minimum(found.hi[live], high)

    def _polish(self, found: Found) -> None:
        """Now and then, the loop's point from where the bound is lowest."""
        self._batches += 1
        if self._batches < self._next_polish:
            return
        self._next_polish *= 2
        k = int(np.argmin(np.where(np.isnan(found.lower), np.inf, found.lower)))
        there = self._polished(found.z[k])
        if there is not None and there.x is not None and there.value < found.value[k]:
            found.z[k], found.value[k] = there.x, there.value


def _below(f: Relaxed, z: Array) -> Cuts:
    """The planes below, as level + slope·x; where none is known, one far below."""
    level = f.below - np.einsum("bsp,bp->bs", f.slope_below, z)
    known = np.isfinite(level) & np.all(np.isfinite(f.slope_below), axis=2)
    return Cuts(np.where(known, level, FAR_BELOW), np.where(known[:, :, None], f.slope_below, 0.0))


FAR_BELOW = -1e300
