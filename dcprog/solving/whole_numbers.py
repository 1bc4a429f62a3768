"""Integer and boolean variables: the global search finds them, the loop solves for the rest."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Examination
from dcprog.engine.result import Result, result_of
from dcprog.engine.stationarity import Stationarity
from dcprog.engine.track import History, Run, Settings
from dcprog.factorable.problem import FactorableProblem, Point, whole_entries
from dcprog.factorable.search import GlobalSearch
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import LEAST_TIME
from dcprog.foundation.errors import NotBoundable, NotMajorizable, SubproblemError
from dcprog.foundation.tolerances import FEASIBLE, HASTY, RADIUS
from dcprog.majorants.tree import substituted
from dcprog.majorants.user_problem import freeze
from dcprog.solving.examiner import ProblemExaminer
from dcprog.solving.task import is_list, known_values, numbers
from dcprog.starts.branch_and_bound import GAP

Loop = Callable[..., Result]
Note = Callable[[Array], object]
# Boxes, each RADIUS times as far as the best point of the last one; after ten F falls for ever.
BOXES = 10


class Held:
    """A problem in its continuous variables, the whole numbers held at a point's.

    Parameters
    ----------
    problem : FactorableProblem
    x : array of shape (p,)

    Attributes
    ----------
    problem : cvxpy.Problem
        The user's own where no variable is integer or boolean.
    """

    def __init__(self, problem: FactorableProblem, x: Array) -> None:
        self._points = problem.points
        self._x = np.where(problem.whole, np.round(x), x)
        self._stand_ins: dict[int, cp.Expression] = {}
        self.problem = problem.problem
        if np.any(problem.whole):
            self.problem = self._swapped(freeze(problem.problem))

    def _swapped(self, problem: cp.Problem) -> cp.Problem:
        held: list[cp.Constraint] = []
        for variable, array in self._points.unpack(self._x):
            flag = whole_entries(variable)
            if np.all(flag):
                self._stand_ins[variable.id] = cp.Constant(array)
            elif np.any(flag):
                lower, upper = variable.get_bounds()
                free = cp.Variable(variable.shape, bounds=[lower, upper])
                self._stand_ins[variable.id] = free
                held.append(free[flag] == array[flag])
        swapped = substituted(problem, self._stand_ins)
        return cp.Problem(swapped.objective, [*swapped.constraints, *held])

    def start(self, x: Array) -> dict[cp.Variable, Array]:
        """A point as a start of the problem."""
        known = {v.id: array for v, array in self._points.unpack(x)}
        twins = {e.id: key for key, e in self._stand_ins.items() if isinstance(e, cp.Variable)}
        return {v: known[twins.get(v.id, v.id)] for v in self.problem.variables()}

    def whole(self, values: Mapping[cp.Variable, Array]) -> Array:
        """All entries, from values of the problem's variables."""
        known = {v.id: array for v, array in values.items()}
        arrays = {}
        for variable, array in self._points.unpack(self._x):
            other = self._stand_ins.get(variable.id, variable)
            found = array if isinstance(other, cp.Constant) else known.get(other.id, array)
            arrays[variable.id] = found
        return self._points.pack(arrays)


def _looped(
    held: Held, start: Any, loop: Loop, options: dict[str, Any], note: Note
) -> Result | None:
    """The loop's result; None where no rule takes the problem, or no variable is left.

    Raises
    ------
    KeyboardInterrupt
        The loop was interrupted; the point that it had reached is noted.
    """
    if not held.problem.variables():
        return None
    try:
        result = loop(held.problem, start=start, n_starts=1, **options)
    except (SubproblemError, NotMajorizable, ValueError):  # the last: a point without a slope
        return None
    if result.variables and result.status == "interrupted":
        note(held.whole(result.variables))
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result if result.variables else None


@contextmanager
def _unasked(problem: FactorableProblem) -> Iterator[None]:
    """Keep the variables' values, and silence warnings of a run that the user did not ask for."""
    with problem.untouched(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def _limit(seconds: float) -> dict[str, Any]:
    return {"time_limit": max(seconds, LEAST_TIME)} if np.isfinite(seconds) else {}


def local_search(
    problem: FactorableProblem, loop: Loop, note: Note
) -> Callable[[Array | None, float], Array | None]:
    """A function that improves points: the loop on the continuous part, whole numbers held.

    Parameters
    ----------
    problem : FactorableProblem
    loop : callable
        :func:`dcprog.solve`.
    note : callable
        Called with the point that the loop has reached when it is interrupted.

    Returns
    -------
    callable
        ``improve(x, seconds)``: where the loop gets to from x, or from the convex problem for
        None; None where it has no feasible point.
    """

    def improve(x: Array | None, seconds: float) -> Array | None:
        if x is None and np.any(problem.whole):
            return None
        held = Held(problem, np.zeros(problem.points.size) if x is None else x)
        start = "convex" if x is None else held.start(x)
        options: dict[str, Any] = {} if x is None else {"max_iter": HASTY}
        with _unasked(problem):
            result = _looped(held, start, loop, {**_limit(seconds), **options}, note)
        if result is None or not (
            result.status == "converged" or result.relative_violation <= FEASIBLE
        ):
            return None
        return held.whole(result.variables)

    return improve


def search_with_loop(problem: FactorableProblem, gap: float, loop: Loop) -> GlobalSearch:
    """A search whose points the loop improves, and which keeps those of interrupted loops."""

    def note(x: Array) -> None:
        search.note(x, trusted=True)

    search = GlobalSearch(problem, gap, local_search(problem, loop, note))
    return search


def solve_whole(
    problem: cp.Problem,
    loop: Loop,
    start: Any,
    settings: Settings,
    options: dict[str, Any],
    work: float,
) -> Result:
    """Solve a problem with integer or boolean variables.

    Parameters
    ----------
    problem : cvxpy.Problem
        In real variables.
    loop : callable
        :func:`dcprog.solve`.
    start : mapping, array, Result, str or list
        Points among these begin the search; names of starts say nothing here.
    settings : Settings
        The gap is closed to ``tol``; without a time limit the search goes on until it is. Nonlinear
        constraints have a tolerance in the search, which may leave a gap of a few millionths.
    options : dict
        Of the loop: solver, and so on.
    work : float
        Where variables have no bounds, each box is searched until so much work, in the unit of
        :class:`~dcprog.starts.effort.Effort`, finds no lower point.

    Returns
    -------
    Result
        ``converged`` is proved: no feasible point is lower by more than ``tol`` of the terms, or by
        1e-5 of them where the tree has ended and the constraints' tolerance leaves that. For
        variables without bounds it may hold in a box only, which the message names; ``max_iter``
        if the search of a box was given up.

    Raises
    ------
    NotBoundable
        Variables need bounds: no point was found, or F falls with them as far as was looked.
    """
    begun = time.perf_counter()
    end = np.inf if settings.time_limit is None else begun + settings.time_limit
    factorable, said = FactorableProblem(problem), ""
    search = search_with_loop(factorable, settings.tol, loop)
    for x in _given(factorable, start):
        search.note(x)
    try:
        status = search.run(end - begun)
    except NotBoundable:
        ends, status = _ends(search, loop, end)
        if search.best is None and status == "finished":
            raise
        if status == "finished":
            search, status, said = _in_boxes(search, ends, end, work)
    if search.best is None:
        outcome = status if status in ("infeasible", "interrupted") else "no_feasible_point"
        run = Run.without_steps(None, factorable.sign * np.inf, outcome, _said(search))
        return _told(run, begun)
    held, note = Held(factorable, search.best.x), partial(search.note, trusted=True)
    try:
        result = _looped(held, held.start(search.best.x), loop, options, note)
    except KeyboardInterrupt:
        result, status = None, "interrupted"
    if result is not None:
        note(held.whole(result.variables))
    if search.is_wrong:  # the loop's point lies below the bound
        status, search.lower = "inaccurate", -np.inf
    status = _closed(search, status)
    run = _ended(factorable, held, search.best, result)
    run = replace(run, status=STATUS[status], message=said or _said(search))
    return _told(run, begun, HeldExaminer(factorable.problem))


def _closed(search: GlobalSearch, status: str) -> str:
    """The status, ``proved`` where a tree that has ended leaves a small gap only."""
    is_small = status == "inaccurate" and search.relative_gap <= GAP
    return "proved" if is_small else status


def _ends(search: GlobalSearch, loop: Loop, end: float) -> tuple[list[Array], str]:
    """The loop's ends with whole numbers held at their lower and upper bounds, noted as points.

    Returns
    -------
    ends, status
        ``finished``, ``interrupted`` or ``time_limit``.
    """
    problem, ends = search.problem, list[Array]()

    def note(x: Array) -> None:
        ends.append(x)
        search.note(x, trusted=True)

    for bound in (problem.lo, problem.hi):
        held = Held(problem, np.where(problem.whole & np.isfinite(bound), bound, 0.0))
        try:
            with _unasked(problem):
                result = _looped(held, "convex", loop, _limit(end - time.perf_counter()), note)
        except KeyboardInterrupt:
            return ends, "interrupted"
        if result is not None:
            note(held.whole(result.variables))
    return ends, "finished" if time.perf_counter() < end else "time_limit"


def _in_boxes(
    search: GlobalSearch, ends: list[Array], end: float, work: float
) -> tuple[GlobalSearch, str, str]:
    """Searches of boxes around 0, for variables that neither constraints nor the best value bound.

    The first box reaches to RADIUS times the largest such entry of the given ends, others to that
    of the best point, whose entries say nothing at first: in a product with 0 they may be anything.
    Points outside may be lower: no bound holds. A box is given up after `work` without a lower
    point.

    Returns
    -------
    search, status, message
    """
    problem, lowest, status, reach, nodes = search.problem, search.best, "proved", 0.0, 0
    assert lowest is not None
    loose = ~(np.isfinite(problem.lo) & np.isfinite(problem.hi))
    name, sizes = problem.name(int(np.argmax(loose))), ends or [lowest.x]
    for count in range(BOXES + 1):
        size = float(np.max(np.abs(np.array(sizes)[:, loose]), initial=0.0)) or 1.0
        if status not in ("proved", "infeasible") or RADIUS * size <= reach:
            break
        if count == BOXES:
            reason = f"points within {reach:.3g} of 0 are lower the larger it is"
            raise NotBoundable(name, reason, "bounds on it, as cp.Variable(bounds=[lower, upper])")
        reach = RADIUS * size
        away = np.where(loose, reach, np.inf)
        boxed = FactorableProblem(problem.problem, (-away, away))
        patience = work / len(boxed.terms)
        search = GlobalSearch(boxed, search.gap, lambda x, seconds: None, patience=patience)
        for x in (lowest.x, *ends):
            search.note(np.clip(x, -away, away), trusted=True)
        status = _closed(search, search.run(max(end - time.perf_counter(), 0.0)))
        nodes += search.nodes
        lower = [p for p in (search.best, lowest) if p is not None]
        lowest = min(lower, key=lambda point: point.value)
        sizes = [lowest.x]
    search.lower = -np.inf
    search.note(lowest.x, trusted=True)
    status = "proved" if status == "infeasible" else status
    known = "no point is lower" if status == "proved" else "lower points are not excluded"
    said = f"{name} has no bounds: {known} within {reach:.3g} of 0, after {nodes} nodes of SCIP"
    if status == "stopped":
        said += ", which is the limit of work; effort='high' and bounds go further"
    return search, status, said


def _said(search: GlobalSearch) -> str:
    lower = search.problem.sign * min(search.lower, search.objective)
    return f"bound {lower:.10g} after {search.nodes} nodes of SCIP"


# The outcome of a global search with a point, as the status of a solve.
STATUS = {
    "proved": "converged",
    "inaccurate": "solver_failed",
    "time_limit": "time_limit",
    "interrupted": "interrupted",
    "stopped": "max_iter",
}


def _given(problem: FactorableProblem, start: Any) -> list[Array]:
    """The points among the starts."""
    points = problem.points
    found = []
    for one in start if is_list(start) else [start]:
        if isinstance(one, str) and one != "current":
            continue
        known = known_values(points.variables, one.variables if isinstance(one, Result) else one)
        if known is None:
            found.append(numbers(one, (points.size,), "the start"))
        elif len(known) == len(points.variables):
            found.append(points.pack(known))
    return found


def _ended(problem: FactorableProblem, held: Held, best: Point, result: Result | None) -> Run:
    """The best point as the end of a run, the loop's where it has reached that point."""
    value, violation = problem.sign * best.value, problem.violation(best.x)
    run = Run(best.x, value, 0.0, violation, "", "", History.single(value, violation), "SCIP")
    if result is not None and np.array_equal(held.whole(result.variables), best.x):
        solver = f"SCIP, {result.solver}"
        run = replace(run, history=result.history, gap=result.gap, solver=solver, mode=result.mode)
    return replace(
        run,
        values=problem.points.unpack(best.x),
        scale=best.scale,
        relative_violation=best.missed,
    )


def _told(run: Run, begun: float, examiner: HeldExaminer | None = None) -> Result:
    """The result of a global search that has begun at a time."""
    seconds = time.perf_counter() - begun
    run = replace(run, kind="global", solver=run.solver or "SCIP", solve_time=seconds)
    return result_of([run], run, seconds, examiner=examiner)


class HeldExaminer:
    """The continuous part of a problem asked about a point, for certificates.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters count with their present values.
    """

    def __init__(self, problem: cp.Problem) -> None:
        self.problem = problem

    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap and stationarity in the continuous variables, violation of the whole problem."""
        factorable = FactorableProblem(self.problem)
        point, held = factorable.at(x), Held(factorable, x)
        rest = held.problem
        if not rest.variables():
            return Examination(0.0, point.scale, point.missed, Stationarity())
        start = held.start(x)
        part = np.concatenate([np.ravel(start[v], order="F") for v in rest.variables()])
        found = ProblemExaminer(rest)(part, time_limit)
        missed = max(found.violation, point.missed)
        return replace(found, violation=missed, theorems=None)
