"""The bound of a cvxpy problem: SCIP's search, with the outer loop run from its points."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import cvxpy as cp

from dcprog.bounds.bound import Bound
from dcprog.engine.result import Result, VariableValues
from dcprog.factorable.problem import FactorableProblem
from dcprog.factorable.search import GlobalSearch
from dcprog.foundation.arrays import Array
from dcprog.surrogates.complex_problem import RealForm, real_form
from dcprog.surrogates.driver import solve
from dcprog.surrogates.given_starts import given, numbers
from dcprog.surrogates.whole_numbers import local_search

__all__ = ["problem_bound"]


def problem_bound(
    problem: cp.Problem,
    start: Any,
    time_limit: float,
    gap: float,
    box: tuple[Array, Array] | None,
    callback: Callable[[Bound], object] | None,
) -> Bound:
    """A lower bound of a cvxpy problem, by SCIP.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters are at their values; variables may be complex, integer or boolean.
    start : Result, Bound, array, mapping or None
        The starting point, or a Bound to resume.
    time_limit : float
        Seconds.
    gap : float
        The gap to reach, over the scale of the objective.
    box : pair of arrays, or None
    callback : callable, optional
        Called with the bound so far about twice a second.

    Returns
    -------
    Bound
    """
    begun = time.perf_counter()
    form = real_form(problem)
    real = problem if form is None else form.problem
    search = _resumed(real, start, box)
    if search is None:
        factorable = FactorableProblem(real, box)
        search = GlobalSearch(factorable, gap, local_search(factorable, solve))
        if start is not None:
            _begin(search, start, form)

    def report(status: str = "running") -> Bound:
        return _bound(search, status, time.perf_counter() - begun, form)

    search.gap = gap
    search.report = lambda: callback is not None and callback(report())
    return report(search.run(time_limit))


def _resumed(
    problem: cp.Problem, start: Any, box: tuple[Array, Array] | None
) -> GlobalSearch | None:
    """The search behind a Bound of the same problem, in this process; None if there is none."""
    before = start.open if isinstance(start, Bound) else None
    if not isinstance(before, GlobalSearch) or before.is_running:
        return None
    if before.problem.is_of(problem, box):
        return before
    return None


def _begin(search: GlobalSearch, start: Any, form: RealForm | None) -> None:
    """Pass the user's point to the search."""
    points = search.problem.points
    if isinstance(start, Result | Bound):
        known = start.variables
        if form is not None and known:
            known = form.start(known)
        if start.x is None:
            if isinstance(start, Result):
                raise ValueError("start: the Result has no point")
            return
        if known and all(variable in known for variable in points.variables):
            x = points.pack({v.id: known[v] for v in points.variables})
        else:
            x = numbers(start.x, (points.size,), "the start")
        search.note(x, trusted=isinstance(start, Bound) or start.status == "converged")
        return
    if isinstance(start, Mapping):
        start = start if form is None else form.start(start)
        search.note(points.pack(given(points.variables, start, whole=True)))
        return
    search.note(numbers(start, (points.size,), "the start"))


def _bound(search: GlobalSearch, status: str, seconds: float, form: RealForm | None) -> Bound:
    """The state of the search, in the user's sign and variables."""
    problem, best, sign = search.problem, search.best, search.problem.sign
    value = min(search.lower, search.objective)
    variables: Mapping[cp.Variable, Array] = {}
    if best is not None:
        variables = VariableValues(problem.points.unpack(best.x))
        if form is not None:
            variables = form.values(variables)
    return Bound(
        value=sign * value,
        gap=search.relative_gap,
        status=status,
        nodes=search.nodes,
        x=None if best is None else best.x,
        objective=sign * search.objective,
        scale=search.scale,
        time=seconds,
        open=search,
        asked=search.gap,
        box=problem.box,
        variables=variables,
    )
