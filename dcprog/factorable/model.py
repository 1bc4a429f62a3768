"""A factorable problem as a model of SCIP, in units in which its numbers are about 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dcprog.factorable.problem import FactorableProblem, Point
from dcprog.factorable.terms import AWAY, ZERO, Operation, Ranges, Row, Sin, Written, XLogX, scip
from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import FEASIBLE
from dcprog.majorants.feasibility import LEAST_SIZE

__all__ = ["ROUNDS", "ScipModel"]

# A column's unit is at least this share of its largest value on the box, and at most that value.
SMALLEST = 1e-6
# A variable is counted from its lower bound if its range is below this share of its size.
NARROW = 1e-2
# A term whose usual size is below this share of its expression's unit becomes a variable in a unit
# of its own, because SCIP's tolerances are absolute.
SMALL = 1e-2
# Such a unit is at least this share of the expression's, so that rounding errors stay below SCIP's
# tolerances.
FINEST = 1e-8
# The unit of the objective is at least this share of its usual size over the box, in the first tree
# and in the next ones, which follow if the gap to a value near 0 does not close. A millionth of the
# last share is still a thousand times the rounding error of the terms.
TYPICAL_OBJECTIVE = (1e-4, *[1e-7] * 2)
ROUNDS = len(TYPICAL_OBJECTIVE)

# The largest coefficient of a model, in units of its row: SCIP takes 1e20 for infinite.
LARGEST = 1e15


class ScipModel:
    """The model: minimise t + linear terms, F's nonlinear terms being at most t.

    Every entry of x is a variable in a unit of its own. A nonlinear term is an expression, or a
    variable with bounds and an equation if it is used more than once, is small or has a pole in the
    closure of its domain.

    Parameters
    ----------
    problem : FactorableProblem
    lo, hi : arrays of shape (columns,)
        Finite bounds of all columns.
    known : Point or None
        The best point known, which determines units.
    rounds : int, default 0
        The number of trees solved before.
    loose : bool, default False
        Allow linear constraints the same violation as nonlinear ones.

    Attributes
    ----------
    model : pyscipopt.Model
    unit : float
        The unit of the objective: F is `unit` times the model's objective, plus `offset`.
    offset : float
    floor : float
        A small share of the usual size of the objective's terms over the box: SCIP resolves a
        thousandth of it.
    seen : float
        The objective of the last solution that the search has read.
    """

    def __init__(
        self,
        problem: FactorableProblem,
        lo: Array,
        hi: Array,
        known: Point | None,
        rounds: int = 0,
        loose: bool = False,
    ) -> None:
        self.model = scip().Model("dcprog")
        self.model.hideOutput()
        self._problem, self._lo, self._hi = problem, lo.copy(), hi.copy()
        self._sizes = _Sizes(problem, known)
        self._expressions: dict[int, tuple[Any, float]] = {}
        self._variables: dict[int, tuple[Any, float]] = {}
        self._uses = problem.uses
        self.seen = np.inf
        self._origins: dict[int, float] = {}
        self._angles: list[tuple[Any, Any, Row]] = []
        self._moved: list[tuple[Any, float, Row]] = []
        self._top: Any = None
        for j in range(problem.terms.size):
            self._add_variable(j)
        for j, operation, args in problem.terms.terms():
            if j in self._uses:
                self._add_term(j, operation, args)
        for rows, equal in ((problem.below, False), (problem.zero, True)):
            for row in rows:
                self._add_constraint(row, equal, loose)
        self._add_objective(problem.objective, TYPICAL_OBJECTIVE[rounds])

    # ------------------------------------------------------------------------------------------
    # building

    def _unit_of(self, row: Row) -> float:
        """A power of two near the usual size of a row, at least SMALLEST of its largest value."""
        low, high = (float(side[0]) for side in row.range(self._lo[None], self._hi[None]))
        most = max(abs(low), abs(high))
        size = self._sizes.of(row, LEAST_SIZE)
        if np.isfinite(most):
            size = min(max(size, SMALLEST * most), most)
        return _power_of_two(size)

    def _unit_of_terms(self, row: Row, share: float) -> float:
        """A power of two near the usual size of a row's terms; coefficients stay below LARGEST."""
        largest = max(abs(c) * self._expressions[j][1] for j, c in row.terms)
        return _power_of_two(max(self._sizes.of_terms(row, share), largest / LARGEST))

    def _add_variable(self, j: int) -> None:
        row = self._problem.terms.variable(j)
        lo, hi = float(self._lo[j]), float(self._hi[j])
        if self._problem.whole[j]:
            self._variables[j] = self._expressions[j] = self._new(j, 1.0, "I"), 1.0
            return
        unit = self._unit_of(row)
        if 0 < hi - lo < NARROW * max(abs(lo), abs(hi)):
            unit, self._origins[j] = _power_of_two(hi - lo), lo
        self._variables[j] = self._expressions[j] = self._new(j, unit), unit

    def _new(self, j: int, unit: float, kind: str = "C") -> Any:
        origin = self._origins.get(j, 0.0)
        lo, hi = ((float(side[j]) - origin) / unit for side in (self._lo, self._hi))
        sides = [side if np.isfinite(side) else None for side in (lo, hi)]
        return self.model.addVar(f"c{j}", lb=sides[0], ub=sides[1], vtype=kind)

    def _add_term(self, j: int, operation: Operation, args: tuple[Row, ...]) -> None:
        written = [self._written(arg) for arg in args]
        if isinstance(operation, Sin):
            written = [self._within_a_turn(written[0], args[0])]
        if isinstance(operation, XLogX) and written[0].lo < AWAY * written[0].factor:
            written = [self._above_zero(written[0], args[0])]
            error = operation.error(written[0])
            self._lo[j], self._hi[j] = self._lo[j] - error, self._hi[j] + error
        unit = self._unit_of(self._problem.terms.variable(j))
        if operation.has_pole(*written):
            value = self._stand(j, unit)
            equation = operation.equation(_general(value) * unit, *written)
            self.model.addCons(equation == 0)
            return
        expression, factor = operation.expression(*written)
        is_narrow = self._hi[j] - self._lo[j] <= ZERO * factor
        if self._uses[j] == 1 and unit > SMALL * factor and not is_narrow:
            self._expressions[j] = expression, factor
            return
        unit = max(unit, _power_of_two(FINEST * factor))
        value = self._stand(j, unit)
        if not is_narrow:
            self.model.addCons(expression * (factor / unit) - value == 0)

    def _stand(self, j: int, unit: float) -> Any:
        """A new variable for a term."""
        value = self._new(j, unit)
        self._variables[j] = self._expressions[j] = value, unit
        return value

    def _sum(self, row: Row, unit: float) -> Any:
        """SCIP's expression of the row divided by a unit."""
        parts = [self._expressions[j] for j, _ in row.terms]
        pairs = zip(row.terms, parts, strict=True)
        terms = [part * (c * factor / unit) for (_, c), (part, factor) in pairs]
        return scip().quicksum([*terms, self._constant(row) / unit])

    def _constant(self, row: Row) -> float:
        """The row's constant, with the origins of variables counted from their lower bound."""
        return row.constant + sum(c * self._origins.get(j, 0.0) for j, c in row.terms)

    def _written(self, row: Row) -> Written:
        """A row as an argument of an operation: a column with its factor, or a sum in its unit."""
        low, high = (float(side[0]) for side in row.range(self._lo[None], self._hi[None]))
        if len(row.terms) == 1 and self._constant(row) == 0:
            ((j, c),) = row.terms
            expression, factor = self._expressions[j]
            expression = _general(expression)
            if c * factor < 0:
                return Written(expression * -1.0, -c * factor, low, high)
            return Written(expression, c * factor, low, high)
        unit = self._unit_of(row)
        return Written(_general(self._sum(row, unit)), unit, low, high)

    def _within_a_turn(self, angle: Written, row: Row) -> Written:
        """The angle between −π and π that differs from an angle by whole turns."""
        turn = 2 * np.pi
        least, most = (math.floor(side / turn + 0.5) for side in (angle.lo, angle.hi))
        if least == most:
            shifted = angle.whole - least * turn
            return Written(shifted, 1.0, angle.lo - least * turn, angle.hi - least * turn)
        turns = self.model.addVar("turns", lb=least, ub=most, vtype="I")
        rest = self.model.addVar("angle", lb=-np.pi, ub=np.pi)
        self.model.addCons(angle.whole - turn * turns - rest == 0)
        self._angles.append((turns, rest, row))
        return Written(_general(rest), 1.0, -np.pi, np.pi)

    def _above_zero(self, arg: Written, row: Row) -> Written:
        """A variable for an argument that may be 0, plus ``AWAY``.

        The slope of an entropy is infinite at 0, and a linear program with such a slope makes SCIP
        10 write outside its memory. A variable keeps its bounds exactly, a sum keeps its own up to
        ``numerics/feastol``.
        """
        moved = self.model.addVar("above", lb=AWAY, ub=max(arg.hi / arg.factor, 0.0) + AWAY)
        self.model.markDoNotAggrVar(moved)
        self.model.markDoNotMultaggrVar(moved)
        self.model.addCons(moved - arg.expression == AWAY)
        self._moved.append((moved, arg.factor, row))
        return Written(_general(moved), arg.factor, arg.lo, arg.hi, AWAY)

    def _add_constraint(self, row: Row, equal: bool, loose: bool) -> None:
        """Add a constraint; FEASIBLE is allowed to nonlinear ones, and to all if `loose`.

        So the bound holds for all points that count as feasible, and rounding at edges of ranges
        cuts off none.
        """
        if row.is_constant:
            return  # its variables cancel; points are checked with the constraint itself
        is_linear = row.terms[-1][0] < self._problem.terms.size
        slack = 0.0 if is_linear and not loose else FEASIBLE
        expression = self._sum(row, self._unit_of_terms(row, LEAST_SIZE))
        if equal and slack == 0:
            self.model.addCons(expression == 0)
            return
        self.model.addCons(expression <= slack)
        if equal:
            self.model.addCons(expression >= -slack)

    def _add_objective(self, row: Row, share: float) -> None:
        self.offset = self._constant(row)
        terms = Row(row.terms)
        self.floor = TYPICAL_OBJECTIVE[0] * self._sizes.usual(terms) if terms.terms else 0.0
        self.unit = self._unit_of_terms(terms, share) if terms.terms else 0.0
        unit = self.unit or 1.0
        linear = Row(tuple((j, c) for j, c in row.terms if j in self._variables))
        curved = Row(tuple((j, c) for j, c in row.terms if j not in self._variables))
        objective = self._sum(linear + -self._constant(linear), unit)
        if curved.terms:
            low = curved.range(self._lo[None], self._hi[None])[0][0]
            least = low / unit if np.isfinite(low) else None
            self._top = self.model.addVar("t", lb=least, ub=None)
            self.model.addCons(self._sum(curved, unit) - self._top <= 0)
            objective = objective + self._top
        self._curved = curved
        self.model.setObjective(objective, "minimize")

    # ------------------------------------------------------------------------------------------
    # solutions

    def point(self, solution: Any) -> Array:
        """The entries of x in a solution of the model."""
        pairs = (self._variables[j] for j in range(self._problem.terms.size))
        x = np.array([solution[variable] * unit for variable, unit in pairs])
        x += [self._origins.get(j, 0.0) for j in range(x.size)]
        size = self._problem.terms.size
        return np.clip(x, self._lo[:size], self._hi[:size])

    def suggest(self, x: Array) -> None:
        """Offer a point to SCIP, which takes it if it is feasible there."""
        ranges = self._problem.columns(x[None])
        if not np.all(np.isfinite(ranges.lo)):
            return
        solution = self.model.createSol()
        for j, (variable, unit) in self._variables.items():
            value = float(ranges.lo[0, j]) - self._origins.get(j, 0.0)
            self.model.setSolVal(solution, variable, value / unit)
        for turns, rest, row in self._angles:
            angle = float(ranges.of(row)[0][0])
            whole = math.floor(angle / (2 * np.pi) + 0.5)
            self.model.setSolVal(solution, turns, whole)
            self.model.setSolVal(solution, rest, angle - 2 * np.pi * whole)
        for moved, unit, row in self._moved:
            self.model.setSolVal(solution, moved, float(ranges.of(row)[0][0]) / unit + AWAY)
        if self._top is not None:
            curved = float(ranges.of(self._curved)[0][0])
            self.model.setSolVal(solution, self._top, curved / self.unit)
        self.model.addSol(solution)


class _Sizes:
    """Usual sizes of rows: the larger of those at the best point and a share of the median."""

    def __init__(self, problem: FactorableProblem, known: Point | None) -> None:
        self._samples = problem.columns(problem.samples())
        self._known = None if known is None else problem.columns(known.x[None])

    def of(self, row: Row, share: float) -> float:
        """The size of the value."""
        return self._blend(lambda ranges: np.abs(ranges.of(row)[0]), share)

    def of_terms(self, row: Row, share: float) -> float:
        """The sum of the sizes of the terms."""
        return self._blend(lambda ranges: ranges.size(row), share)

    def usual(self, row: Row) -> float:
        """The median, over points of the box, of the sum of the sizes of the terms."""
        return _median(self._samples.size(row))

    def _blend(self, measure: Callable[[Ranges], Array], share: float) -> float:
        median = _median(measure(self._samples))
        if self._known is None:
            return median
        here = float(measure(self._known)[0])
        return max(here if np.isfinite(here) else 0.0, share * median)


def _median(sizes: Array) -> float:
    usable = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(usable)) if usable.size else 1.0


def _general(expression: Any) -> Any:
    """The expression in a form that pyscipopt does not expand."""
    from pyscipopt.scip import buildGenExprObj

    return buildGenExprObj(expression)


def _power_of_two(size: float) -> float:
    return 2.0 ** round(math.log2(size)) if 0 < size < np.inf else 1.0
