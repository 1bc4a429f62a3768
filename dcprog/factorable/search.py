"""The global search by SCIP: its model, in units of about 1, and its points and bound, checked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.factorable.problem import (
    FactorableProblem,
    Point,
    first_box,
    inside,
    restored,
)
from dcprog.factorable.terms import (
    AWAY,
    LARGEST,
    ZERO,
    Operation,
    Ranges,
    Row,
    Sin,
    Written,
    XLogX,
    scip,
)
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import interrupts_held
from dcprog.foundation.errors import NotBoundable, WrongBound
from dcprog.foundation.progress_log import logger
from dcprog.foundation.tolerances import (
    ACCEPT,
    FEASIBLE,
    HALVINGS,
    LAST_PLACES,
    ROUNDING,
    SQUARABLE,
)
from dcprog.majorants.feasibility import LEAST_SIZE
from dcprog.majorants.tree import short

# ----------------------------------------------------------------------------------------------
# the model


# A column's unit is at least this share of its largest value on the box, and at most that value.
SMALLEST = 1e-6
# A variable is counted from its lower bound if its range is below this share of its size. A term
# whose usual size is below this share of its expression's unit becomes a variable in a unit of its
# own, because SCIP's tolerances are absolute.
SMALL = 1e-2
# Such a unit is at least this share of the expression's, so that rounding errors stay below SCIP's
# tolerances.
FINEST = 1e-8
# Larger whole numbers are equal to a variable in a unit of its own, because SCIP takes coefficients
# below 1e-9 for 0, whatever they are multiplied by.
WHOLE = 1e3
# The unit of the objective is at least this share of its usual size over the box, in the first tree
# and in the next ones, which follow if the gap to a value near 0 does not close. A millionth of the
# last share is still a thousand times the rounding error of the terms.
TYPICAL_OBJECTIVE = (1e-4, *[1e-7] * 2)
ROUNDS = len(TYPICAL_OBJECTIVE)


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
        self._numbers: dict[int, Any] = {}
        self._uses = problem.uses
        self.seen = np.inf
        self._origins: dict[int, float] = {}
        self._angles: list[tuple[Any, Any, Row]] = []
        self._moved: list[tuple[Any, float, Row]] = []
        self._top: Any = None
        for j in range(problem.terms.size):
            self._add_variable(j, loose)
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
        if 0 < most < np.inf:
            size = min(max(size, SMALLEST * most), most)
        return _power_of_two(size)

    def _unit_of_terms(self, row: Row, share: float) -> float:
        """A power of two near the usual size of a row's terms; coefficients stay below LARGEST."""
        largest = max(abs(c) * self._expressions[j][1] for j, c in row.terms)
        return _power_of_two(max(self._sizes.of_terms(row, share), largest / LARGEST))

    def _add_variable(self, j: int, loose: bool) -> None:
        row = self._problem.terms.variable(j)
        lo, hi = float(self._lo[j]), float(self._hi[j])
        size = max(abs(lo), abs(hi))
        is_whole = self._problem.whole[j]
        if is_whole and size <= WHOLE:
            self._variables[j] = self._expressions[j] = self._new(j, 1.0, "I"), 1.0
            return
        low, high = self._problem.roots.get(j, (np.nan, np.nan))
        if lo <= low and high <= hi and not loose:
            unit, self._origins[j] = high - low, low
            self._variables[j] = self._expressions[j] = self._new(j, unit, "I"), unit
            return
        unit = self._unit_of(row)
        if 0 < hi - lo < SMALL * size:
            unit, self._origins[j] = _power_of_two(hi - lo), lo
        value = self._stand(j, unit)
        if is_whole:
            self._numbers[j] = number = self._new(j, 1.0, "I")
            self.model.markDoNotAggrVar(value)
            self.model.markDoNotMultaggrVar(value)
            self.model.addCons(number - value * unit == 0)

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
            size = _power_of_two(self._sizes.of(args[0], 1.0))
            equation = operation.equation(_general(value) * unit, written[0], size)
            self.model.addCons(equation == 0)
            return
        expression, factor = operation.expression(*written)
        # of its arguments: a column that constraints hold narrow needs its equation
        box = self._lo[None], self._hi[None]
        with np.errstate(all="ignore"):
            low, high = operation.range(*(arg.range(*box) for arg in args))
        is_narrow = high[0] - low[0] <= ZERO * factor
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
            if j in self._numbers:
                self.model.setSolVal(solution, self._numbers[j], value)
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
        x = problem.samples()
        self._samples = self._near = problem.columns(x)
        self._known = None
        if known is not None:
            self._near = problem.columns(_towards(x, known.x))
            self._known = problem.columns(known.x[None])

    def of(self, row: Row, share: float) -> float:
        """The size of the value."""
        return self._blend(lambda ranges: np.abs(ranges.of(row)[0]), share)

    def of_terms(self, row: Row, share: float) -> float:
        """The sum of the sizes of the terms; of their coefficients where all terms are 0."""
        return self._blend(lambda ranges: ranges.size(row), share, _of_coefficients(row))

    def usual(self, row: Row) -> float:
        """The median, over points nearer the best one, of the sum of the sizes of the terms.

        In a wide box an exponential is usually beyond all that F is where it matters.
        """
        return _median(self._near.size(row), _of_coefficients(row))

    def _blend(self, measure: Callable[[Ranges], Array], share: float, none: float = 1.0) -> float:
        median = _median(measure(self._samples), none)
        if self._known is None:
            return median
        here = float(measure(self._known)[0])
        return max(here if np.isfinite(here) else 0.0, share * median)


def _of_coefficients(row: Row) -> float:
    return sum(abs(c) for _, c in row.terms)


def _median(sizes: Array, none: float = 1.0) -> float:
    usable = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(usable)) if usable.size else none


def _general(expression: Any) -> Any:
    """The expression in a form that pyscipopt does not expand."""
    from pyscipopt.scip import buildGenExprObj

    return buildGenExprObj(expression)


def _power_of_two(size: float) -> float:
    return 2.0 ** round(math.log2(size)) if 0 < size < np.inf else 1.0


# ----------------------------------------------------------------------------------------------
# the search


# SCIP's tolerance of constraints, in their units: below FEASIBLE, so that its points are feasible.
TOLERANCE = 1e-7
# Bounds are lowered by this share of F's unit, ten times the accuracy of SCIP's linear programs.
ACCURACY = 1e-6
SETTINGS = {
    "misc/catchctrlc": False,  # Ctrl-C is handled here: SCIP would print
    "timing/clocktype": 2,  # the time limit is in wall-clock time
    "numerics/feastol": TOLERANCE,
    # Ranges are widened by this share before bounds are tightened: SCIP's default, 1e-9, cut off
    # values at the edges.
    "constraints/nonlinear/varboundrelaxamount": TOLERANCE,
    # SCIP 10 treats some products h·f(ch + d) with c < 0 as convex that are not, such as x·exp(−x).
    "nlhdlr/convex/cvxprodcomp": False,
    "nlhdlr/concave/cvxprodcomp": False,
    # SCIP expands (c·xy + a)² and then drops c² below 1e-9, however large the variables are.
    "expr/pow/expandmaxexponent": 1,
    # A linear program that stops at the best value proves it by duals that hold to 1e-7 only: over
    # ranges of 1000 units that is more than a small best value in a wide box.
    "lp/disablecutoff": 1,
    # SCIP prints if it asks its linear programs for tighter tolerances than they allow.
    "constraints/nonlinear/tightenlpfeastol": False,
    "propagating/obbt/dualfeastol": TOLERANCE,
}
# Settings of SCIP after an error or a wrong bound, to avoid its repetition.
OTHER_WAYS = {
    "propagating/obbt/freq": -1,
    "nlhdlr/convex/enabled": False,
    "nlhdlr/concave/enabled": False,
    "randomization/randomseedshift": 1,
    "numerics/feastol": TOLERANCE / 10,
}
# A bound is checked with this many random points, with a quarter as many at ends of the box and
# half as many towards the best point. Of the NEAREST ones to the constraints the lowest ones,
# CHALLENGED of them, are moved to the constraints. Into so many parts a box is halved at most.
CHALLENGES, CHALLENGED = 4096, 8
NEAREST = 2 * CHALLENGED, CHALLENGES // 4
# Seconds between lines of the log and calls of the callback.
PAUSE = 0.5
# SCIP resolves this share of the floor of scales.
RESOLVED = 1e-3
# A point that the loop calls feasible counts as such up to this relative violation.
TRUSTED = 1e-4
# The share of the time that the search for a first point may take.
STARTING = 0.3
# A first point is sought up to this size of variables without bounds.
LOOK = 1e4


class GlobalSearch:
    """Branch and bound of a factorable problem.

    Parameters
    ----------
    problem : FactorableProblem
    gap : float
        Stop when the best value minus the bound is at most this share of ``scale``. A search that
        has stopped continues when it is run again, to a finer gap if one is set.
    improve : callable
        ``improve(x, seconds)`` is a point found by local search from x (from its own start for
        None), or None.
    report : callable, optional
        Called about twice a second; a true return value stops the search.
    patience : float, default ∞
        Nodes and iterations of SCIP's linear programs without a lower point after which a run
        stops: its work, on any machine. Lower is by more than `gap` of the first point's scale.

    Attributes
    ----------
    best : Point or None
        The best feasible point.
    lower : float
        A proved bound of F from below; ∞ if no point is feasible.
    scale : float
        The scale of F: the sum of its absolute terms at the best point. If the gap to a value near
        0 does not close, at least a ten-thousandth of their usual sum.
    nodes : int
        The number of nodes of SCIP's trees.
    is_running : bool
        True while a run is under way; a second run has to wait.
    """

    def __init__(
        self,
        problem: FactorableProblem,
        gap: float,
        improve: Callable[[Array | None, float], Array | None],
        report: Callable[[], object] | None = None,
        patience: float = np.inf,
    ) -> None:
        scip()
        self._patience = patience
        self.problem, self.gap = problem, gap
        self._improve, self.report = improve, report
        self.is_running = False
        self.best: Point | None = None
        self.lower = -np.inf
        self.nodes = 0
        self._exact = np.inf  # the least value at a point that is feasible but for rounding
        self._where: Point | None = None
        self._candidate: Array | None = None
        self._rounds = 0
        self._unit = 0.0
        self._interrupted = False
        self._edges: tuple[Array, Array] | None = None
        self._beyond = np.inf  # a bound of F at feasible points outside these edges
        self._built: ScipModel | None = None  # a run that a limit has ended, to be continued
        self._otherwise = False  # take OTHER_WAYS after an error
        self._watcher: Any = None
        self._nodes_before, self._lower_before = 0, -np.inf
        self._said = time.perf_counter()
        # A much lower point than all before, the iterations at which it was found, and what counts
        # as much: a share of the first point's scale, as a scale that falls to 0 has no end.
        self._lowest, self._lowest_since, self._step = np.inf, 0, 0.0
        self._floor = 0.0  # a small share of what the objective's terms usually add up to
        self._floored = False  # scales are at least that

    # ------------------------------------------------------------------------------------------
    # points

    def note(self, x: Array, trusted: bool = False) -> bool:
        """Evaluate a point; keep it if it is feasible and better.

        Parameters
        ----------
        x : array of shape (p,)
        trusted : bool, default False
            The loop calls the point feasible, with other sizes of the terms: a hundred times the
            tolerance is allowed.

        Returns
        -------
        bool
            True if it is feasible.
        """
        point = self._settled(x)
        if point.missed <= FEASIBLE and not self.problem.is_defined(point.x):
            moved = filter(self.problem.is_defined, inside(self.problem, point.x))
            defined = next((p for p in map(self.problem.at, moved) if p.is_feasible), None)
            if defined is None:
                return False
            point = defined
        feasible = point.is_feasible
        if trusted and not feasible and point.missed <= TRUSTED and np.isfinite(point.value):
            feasible = True
        if point.is_exact and point.value < self._exact:
            self._exact, self._where = point.value, point
        if feasible and (self.best is None or point.value < self.best.value):
            self.best = point
        return feasible

    def _settled(self, x: Array) -> Point:
        """A point moved to where every row holds but for rounding, or as it is if it misses less.

        A row counts relative to its own terms there: relative to the largest of a vector's terms,
        as its violation is measured, an entry near 0 may be missed by much of its own.
        """
        problem = self.problem
        point = problem.at(x)
        if point.is_exact and np.all((x >= problem.lo) & (x <= problem.hi)):
            return point
        moved = problem.at(restored(problem, np.clip(x, problem.lo, problem.hi)))
        return moved if moved.is_feasible and moved.missed <= point.missed else point

    @property
    def objective(self) -> float:
        """F at the best point; ∞ without one."""
        return np.inf if self.best is None else self.best.value

    @property
    def scale(self) -> float:
        """The scale that gaps are relative to."""
        if self.best is None:
            return self._floor
        return max(self.best.scale, self._floor) if self._floored else self.best.scale

    @property
    def relative_gap(self) -> float:
        """The best value less the bound, over the scale."""
        missing = self.objective - self.lower
        if not missing > 0:
            return 0.0
        return missing / self.scale if self.scale > 0 else np.inf

    @property
    def is_closed(self) -> bool:
        """True if the gap is as small as was asked for, or as SCIP's accuracy allows."""
        return self.relative_gap <= max(self.gap, 2 * ACCURACY)

    @property
    def least(self) -> float | None:
        """The lower end of F's range where the best point is there but for rounding; else None.

        So log(1 + |x|) at x = 0. Rounding under a root or a pole hides values far below.
        """
        if self.best is None:
            return None
        problem = self.problem
        ranges = problem.terms.ranges(problem.lo[None], problem.hi[None])
        low, _ = problem.objective.range(ranges.lo, ranges.hi, outward=True)
        least, largest = self._rounded(self.best.x)
        if not low[0] >= least > -np.inf:
            return None
        usual = _median(np.abs(problem.columns(problem.samples()).of(problem.objective)[0]))
        return float(low[0]) if largest - least <= ACCEPT * ACCURACY * usual else None

    # ------------------------------------------------------------------------------------------
    # the search

    def run(self, seconds: float) -> str:
        """Search until the gap is closed, the time is up or the user stops it.

        Returns
        -------
        str
            ``proved``, ``infeasible``, ``time_limit``, ``interrupted``, ``stopped``, or
            ``inaccurate``: the tree has ended, and its last point is not feasible here.

        Raises
        ------
        NotBoundable
            Ranges do not show that the points below the best value are bounded.
        WrongBound
            A point contradicts the bound or "infeasible".
        """
        end = time.perf_counter() + seconds
        self._interrupted = False
        self.is_running = True
        try:
            return self._searched(end)
        except KeyboardInterrupt:
            if self._edges is not None:
                self._check(*self._edges)
            return "interrupted"
        finally:
            self.is_running = False

    def _searched(self, end: float) -> str:
        if self._edges is None:
            self._edges = self._box(end)
        if self._edges is None:
            self.lower = self.objective  # nothing is better than the best point
            return "infeasible" if self.best is None else "proved"
        while True:
            status = self._round(*self._edges, end)
            if status != "inaccurate" or self._rounds + 1 == ROUNDS:
                break
            self._rounds += 1
        self._floored = not self.is_closed
        return "proved" if self._floored and self.is_closed else status

    def _box(self, end: float) -> tuple[Array, Array] | None:
        """Bounds of all columns at all points that may be better; None if no point may be."""
        terms, lo, hi = self.problem.terms, self.problem.lo, self.problem.hi
        ranges = terms.ranges(lo[None], hi[None])
        none = ranges.empty[0] or self.problem.is_empty(lo[None], hi[None])[0]
        if np.any(lo > hi) or none or self.problem.contradicted:
            return None
        if np.array_equal(lo, hi) and self.note(lo):
            return None
        if np.any(_is_endless(ranges.lo) | _is_endless(ranges.hi)):
            if self.best is None:
                self._start(ranges.lo[0], ranges.hi[0], end)
            self._beyond = self.objective
            found = self._bounded(*self.problem.better(ranges.lo[0], ranges.hi[0], self.objective))
            ranges = terms.ranges(*(side[None] for side in found))
        return None if ranges.empty[0] else (ranges.lo[0], ranges.hi[0])

    def _start(self, lo: Array, hi: Array, end: float) -> None:
        """Find a first point by local search, or take SCIP's first one in a box of limited size."""
        found = self._improve(None, STARTING * _left(end))
        if found is not None and self.note(found, trusted=True):
            return
        lo = np.where(_is_endless(lo), np.minimum(-LOOK, hi - LOOK), lo)
        hi = np.where(_is_endless(hi), np.maximum(LOOK, lo + LOOK), hi)
        self._beyond = -np.inf  # SCIP's bound holds in that box only
        try:
            self._tree(lo, hi, end, points=1)
        finally:
            self._close()

    def _bounded(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """Finite bounds of all used columns, the variables first, then the terms."""
        problem = self.problem
        x = problem.samples()[0] if self.best is None else self.best.x
        inner = problem.columns(x[None]).lo[0]
        used = np.zeros(lo.size, dtype=bool)
        used[list(problem.uses)] = True
        for group in (np.arange(lo.size) < problem.terms.size, np.ones(lo.size, dtype=bool)):
            loose = np.flatnonzero(group & used & (_is_endless(lo) | _is_endless(hi)))
            start = np.clip(np.where(np.isfinite(inner), inner, 0.0), lo, hi)
            lo, hi = first_box(
                lo, hi, start, loose, lambda a, b: problem.is_worse(a, b, self.objective)
            )
            ranges = problem.terms.ranges(lo[None], hi[None])
            lo, hi = self._by_parts(ranges.lo[0], ranges.hi[0], group & used)
            loose = loose[_is_endless(lo[loose]) | _is_endless(hi[loose])]
            if loose.size:
                raise self._unbounded(int(loose[0]))
        return lo, hi

    def _by_parts(self, lo: Array, hi: Array, used: npt.NDArray[np.bool_]) -> tuple[Array, Array]:
        """The box of all columns, or a smaller one of the ranges on its parts.

        Parts on which a used column has no finite bounds are halved. On the whole box the ranges of
        the terms of x² − x + 1 add up to one across 0, where its logarithm has none.
        """
        problem, parts, done = self.problem, (lo[None], hi[None]), list[tuple[Array, Array]]()
        widths = (hi - lo)[: problem.terms.size]
        if not np.all(np.isfinite(widths)):
            return lo, hi
        for _ in range(HALVINGS):
            if not 0 < len(parts[0]) <= CHALLENGES:
                break
            ranges = problem.terms.ranges(*parts)
            kept = ~problem.is_worse(ranges.lo, ranges.hi, self.objective)
            loose = kept & np.any((_is_endless(ranges.lo) | _is_endless(ranges.hi)) & used, axis=1)
            done.append((ranges.lo[kept & ~loose], ranges.hi[kept & ~loose]))
            parts = _halved(ranges.lo[loose], ranges.hi[loose], widths, problem.whole)
        if len(parts[0]):
            return lo, hi
        lows, highs = (np.vstack(sides) for sides in zip(*done, strict=True))
        return np.min(lows, axis=0, initial=np.inf), np.max(highs, axis=0, initial=-np.inf)

    def _unbounded(self, column: int) -> NotBoundable:
        problem = self.problem
        if column < problem.terms.size:
            return NotBoundable(
                problem.name(column),
                "neither bounds nor constraints hold this variable, and ranges of the objective "
                "do not show that it grows with it",
                "bounds on it, as cp.Variable(bounds=[lower, upper]); in dc.lower_bound also "
                "box=(lower, upper)",
            )
        operation, _ = problem.terms.operations[column - problem.terms.size]
        return NotBoundable(
            short(problem.problem.objective),
            f"the range of a {type(operation).__name__} in it is not finite, as far as ranges show",
            "bounds on the variables, and such that keep divisors and arguments of logarithms away "
            "from 0",
        )

    # ------------------------------------------------------------------------------------------
    # a run of SCIP

    def _round(self, lo: Array, hi: Array, end: float) -> str:
        """The status after one tree; ``inaccurate`` if its best point does not close the gap.

        Another tree, in the units of the best point, may close it.
        """
        status = self._go_on(end) if self._built else self._tree(lo, hi, end)
        if status in ("finished", "infeasible"):
            self._close()
        if status == "infeasible":
            status = self._confirmed(lo, hi, end)
        if status in ("interrupted", "stopped"):
            self._check(lo, hi)
            return status
        if status != "infeasible" and not self.is_closed:
            self._improve_last(end)
        claim = self.lower
        if not self._check(lo, hi):
            if self._rounds + 1 == ROUNDS:
                self._refuted(claim, lo, hi)
            return "inaccurate"
        if status == "infeasible" or self.is_closed:
            return "infeasible" if self.best is None else "proved"
        return "inaccurate" if status in ("finished", "failed") else status

    def _check(self, lo: Array, hi: Array) -> bool:
        """Check the bound with many points; forget a wrong one, with its tree, and return False."""
        self._challenge(lo, hi)
        if not self.is_wrong:
            return True
        self.lower, self._otherwise = -np.inf, True
        self._close()
        return False

    def _refuted(self, claim: float, lo: Array, hi: Array) -> None:
        """Take the bound of ranges where rounding explains the wrong one; else raise WrongBound.

        At −1/(x + 10⁴ + 10⁻⁷)³ the sum of the constants is rounded: its value at x = −10⁴ has three
        digits. Ranges are rounded outward.
        """
        problem, point = self.problem, self._where
        assert point is not None
        least, largest = self._rounded(point.x)
        if not least <= point.value <= claim <= largest:
            raise WrongBound(point.x, problem.sign * point.value, problem.sign * claim)
        low, _ = problem.objective.range(lo[None], hi[None], outward=True)
        self.lower = min(float(low[0]), self._beyond)

    def _rounded(self, x: Array) -> tuple[float, float]:
        """The range of F at a point whose entries and terms are rounded."""
        about, terms = LAST_PLACES * np.abs(x) + np.finfo(float).tiny, self.problem.terms
        near = terms.ranges((x - about)[None], (x + about)[None])
        low, high = self.problem.objective.range(near.lo, near.hi, outward=True)
        return float(low[0]), float(high[0])

    def _challenge(self, lo: Array, hi: Array) -> None:
        """Note the lowest ones of many points of the box, moved to the constraints."""
        problem = self.problem
        size = problem.terms.size
        x = problem.samples(CHALLENGES, lo[:size], hi[:size])
        x = np.vstack([x, _at_ends(x[: CHALLENGES // 4], lo[:size], hi[:size])])
        if self.best is not None:
            near = _towards(x[: CHALLENGES // 2], np.clip(self.best.x, lo[:size], hi[:size]))
            x = np.vstack([x, np.where(problem.whole, np.round(near), near)])
        value, missed = problem.values(x)
        feasible = np.flatnonzero(missed <= 0)
        for k in feasible[np.argsort(value[feasible], kind="stable")[:CHALLENGED]]:
            self.note(x[k])
        nearest = np.argsort(missed, kind="stable")
        groups = [nearest[:count] for count in NEAREST]
        low = [group[np.argsort(value[group], kind="stable")[:CHALLENGED]] for group in groups]
        for k in np.unique(np.concatenate(low)):
            if missed[k] > 0:
                self.note(x[k])

    @property
    def is_wrong(self) -> bool:
        """True if a point that is feasible but for rounding lies below the bound."""
        if np.isinf(self.lower):
            return self._exact < self.lower
        known = ACCURACY * max(self._unit, self.scale), RESOLVED * self._floor
        return self._exact < self.lower - max(*known, ROUNDING * abs(self.lower))

    def _confirmed(self, lo: Array, hi: Array, end: float) -> str:
        """The status of a second search after the first one has ended with "infeasible".

        It is loose and has no presolving.
        """
        self.lower = -np.inf  # the first bound is wrong if the second search finds a point
        status = self._tree(lo, hi, end, loose=True)
        self._close()
        if status != "infeasible":
            return status
        if self.best is None:
            self.lower = np.inf
            return status
        self.lower = min(self._beyond, np.inf if self.best.is_exact else self.objective)
        return "finished"

    def _improve_last(self, end: float) -> None:
        """Local search from SCIP's last point, or from the best one if that point was feasible."""
        x = self._candidate if self.best is None or self._candidate is not None else self.best.x
        if x is not None and _left(end) > 0:
            found = self._improve(x, _left(end))
            self._candidate = None
            if found is not None:
                self.note(found, trusted=True)

    def _tree(self, lo: Array, hi: Array, end: float, points: int = -1, loose: bool = False) -> str:
        """A new run of SCIP: ``finished``, ``infeasible`` or the reason why it stopped."""
        self._close()
        built = ScipModel(self.problem, lo, hi, self.best, self._rounds, loose)
        self._unit, self._floor = built.unit, built.floor
        self._built, self._nodes_before, self._lowest_since = built, self.nodes, self.nodes
        self._lower_before = self.lower
        model = built.model
        if self.best is not None:
            built.suggest(self.best.x)
        if loose:
            model.setPresolve(scip().SCIP_PARAMSETTING.OFF)
        model.setParam("limits/solutions", points)
        for name, value in SETTINGS.items():
            model.setParam(name, value)
        for name, value in OTHER_WAYS.items() if self._otherwise else ():
            model.setParam(name, value)
        self._watcher = _watcher(self._watch)
        model.includeEventhdlr(self._watcher, "progress", "holds the bound against the best point")
        return self._go_on(end)

    def _go_on(self, end: float) -> str:
        """Continue the run of SCIP, which a limit may have ended."""
        assert self._built is not None
        model = self._built.model
        limit = min(float(model.getSolvingTime()) + _left(end), float(model.infinity()))
        model.setParam("limits/time", limit)
        try:
            with interrupts_held(self._interrupt):
                model.optimize()
        except Exception:  # SCIP's own errors, such as a linear program that no setting solves
            return self._failed()
        error, self._watcher.error = self._watcher.error, None
        if error is not None:
            raise error
        return self._outcome(self._built)

    def _failed(self) -> str:
        """Forget the run and its bound: while SCIP fails, it may state one that is wrong."""
        self.lower, self._otherwise = self._lower_before, True
        self._close()
        return "failed"

    def _close(self) -> None:
        """Free the memory of the run."""
        if self._built is not None:
            self._built.model.free()
            self._built = None

    def _outcome(self, built: ScipModel) -> str:
        status = str(built.model.getStatus())
        if status == "infeasible":
            return status
        if status == "unknown":  # SCIP has stopped by itself
            return self._failed()
        self._take(built)
        if status in ("unbounded", "inforunbd"):
            if self._rounds + 1 < ROUNDS:  # the next tree is in the units of a lower point
                return self._failed()
            raise NotBoundable(
                short(self.problem.problem.objective),
                "no finite bound of it was found: SCIP takes values beyond 1e20 times the usual "
                "ones for infinite",
                "narrower bounds on the variables",
            )
        if status in ("optimal", "gaplimit"):
            return "finished"
        if self._interrupted:
            return "interrupted"
        if status == "userinterrupt" and not self.is_closed:
            return "stopped"
        return "time_limit"

    def _take(self, built: ScipModel) -> None:
        """Read SCIP's best point, if it is new, and its bound."""
        model = built.model
        self.nodes = self._nodes_before + int(model.getNTotalNodes())
        primal = float(model.getPrimalbound()) if model.getNSols() else np.inf
        if primal < built.seen:
            built.seen = primal
            x = built.point(model.getBestSol())
            taken = self.note(x)
            self._candidate = None if taken else x
        if self._exact < self.lower - ROUNDING * abs(self.lower):
            self.lower = -np.inf  # the point refutes the bound of an earlier, coarser tree
        dual = float(model.getDualbound())
        if abs(dual) < float(model.infinity()):
            lower = (dual - ACCURACY) * built.unit + built.offset
            self.lower = max(self.lower, min(lower, self._beyond))

    def _watch(self) -> None:
        """Called by SCIP at new points and after each node."""
        assert self._built is not None
        model = self._built.model
        if model.getStage() == scip().SCIP_STAGE.INITSOLVE:
            return  # SCIP cannot be interrupted there, and calls again soon
        self._take(self._built)
        now = time.perf_counter()
        if now - self._said > PAUSE:
            self._said = now
            told = "%-11.11s %22.9g  a lower bound of the minimisation, %d nodes; %.9g is found"
            logger.info(told, "global", self.lower, self.nodes, self.objective)
            if self.report is not None and self.report():
                model.interruptSolve()
        if self.is_closed or self._interrupted or self._is_spent(model):
            model.interruptSolve()

    def _is_spent(self, model: Any) -> bool:
        """True if the run has worked for long without a lower point."""
        if model.getStage() != scip().SCIP_STAGE.SOLVING:  # SCIP prints an error before it
            return False
        done = int(model.getNLPIterations()) + self.nodes  # a node may need no linear program
        if self.objective < self._lowest - self._step:
            self._step = self._step or self.gap * self.scale
            self._lowest, self._lowest_since = self.objective, done
        return done - self._lowest_since > self._patience

    def _interrupt(self) -> None:
        self._interrupted = True


def _halved(
    lo: Array, hi: Array, widths: Array, whole: npt.NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Both halves of each box, divided across its side that is longest relative to `widths`."""
    boxes, size = np.arange(len(lo)), widths.size
    longest = np.argmax((hi - lo)[:, :size] / np.where(widths > 0, widths, 1.0), axis=1)
    middle = 0.5 * (lo[boxes, longest] + hi[boxes, longest])
    below, above = hi.copy(), lo.copy()
    below[boxes, longest] = np.where(whole[longest], np.floor(middle), middle)
    above[boxes, longest] = np.where(whole[longest], np.floor(middle) + 1, middle)
    return np.vstack([lo, above]), np.vstack([below, hi])


def _left(end: float) -> float:
    """Seconds left until `end`."""
    return max(end - time.perf_counter(), 0.0)


def _is_endless(side: Array) -> npt.NDArray[np.bool_]:
    """True for bounds that are infinite, or whose squares are."""
    return ~(np.abs(side) < SQUARABLE)


def _watcher(act: Callable[[], None]) -> Any:
    """An event handler of SCIP that calls `act` at new points and after nodes."""
    module = scip()
    events = (
        module.SCIP_EVENTTYPE.BESTSOLFOUND,
        module.SCIP_EVENTTYPE.NODESOLVED,
        module.SCIP_EVENTTYPE.LPEVENT,
    )

    class Watcher(module.Eventhdlr):  # type: ignore[name-defined]
        """Calls `act` at events; an exception ends the search and is raised after it."""

        error: BaseException | None = None

        def eventinit(self) -> None:
            for event in events:
                self.model.catchEvent(event, self)

        def eventexec(self, event: Any) -> None:
            try:
                act()
            except BaseException as error:
                self.error = error
                self.model.interruptSolve()

    return Watcher()


def _towards(x: Array, centre: Array) -> Array:
    """The points with their entries at random tenths, hundredths, … of their way from a centre."""
    rng = np.random.default_rng(0)
    return centre + (x - centre) * 10.0 ** -rng.integers(0, 4, x.shape)


def _at_ends(x: Array, lo: Array, hi: Array) -> Array:
    """The points with about half of their entries moved to an end of the box, where it has one."""
    rng = np.random.default_rng(0)
    ends = np.where(rng.random(x.shape) < 0.5, lo, hi)
    return np.where(np.isfinite(ends) & (rng.random(x.shape) < 0.5), ends, x)
