"""``dc.lower_bound``: a proven lower bound of a nonconvex problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.bounds.risk_space import RiskSpace
from dcprog.bounds.search import Boxes, Incumbent, Search
from dcprog.bounds.state_space import risk_spaces
from dcprog.engine.result import Result, VariableValues
from dcprog.factorable.problem import FactorableProblem
from dcprog.factorable.search import STARTING, GlobalSearch
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.foundation.parameters import check_flag, check_number, names_nearest
from dcprog.foundation.progress_log import visible
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.reductions.complex import RealForm, real_form
from dcprog.reductions.recognised.recognise import Recognised, recognised
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve
from dcprog.solving.task import given, numbers
from dcprog.solving.whole_numbers import search_with_loop


@dataclass(frozen=True, repr=False, eq=False)
class Bound:
    """Outcome of :func:`dcprog.lower_bound`.

    Attributes
    ----------
    value : float
        The lower bound of F, for a maximisation an upper one. Infinite if no point meets the
        constraints, minus infinite if nothing is known (signs swapped for a maximisation).
    gap : float
        |F(x) − value| over `scale`: a share, without units.
    status : str
        ``proved`` (the gap is as small as was asked for: F is below F(x) by no more than that at
        any point that meets the constraints), ``infeasible`` (no point meets the constraints),
        ``time_limit``, ``interrupted``, ``stopped`` (by the callback) or, of a cvxpy problem,
        ``inaccurate`` (SCIP's tree has ended, and its best point violates a constraint by more than
        a millionth of its terms).
    nodes : int
        The number of boxes bounded, or of nodes of SCIP's trees, including the runs that this one
        resumed.
    x : array or None
        The best point known: θ, or the variables' values as one vector.
    variables : mapping of cvxpy Variable to array
        The best point known of a cvxpy problem; empty for a risk.
    objective : float
        F(x). Where x violates constraints within their tolerance, F(x) may lie below the minimum.
    relative_violation : float
        The largest violation of a constraint at x, over the sum of the absolute values of its
        terms: at most 1e-6, or 1e-4 at a point that :func:`dcprog.solve` has found feasible.
    scale : float
        The scale of the gap: the sum of the absolute values of F's terms at x, or a minimum that
        keeps it above rounding errors.
    time : float
        Seconds.
    open : Boxes, GlobalSearch or None
        The open boxes, or the search of a cvxpy problem, which is not pickled: for a run that
        resumes this one.
    floor : float
        A lower bound for the boxes that are not open.
    asked : float
        The gap that was asked for.
    box : pair of arrays or None
        The box on which F was bounded; None if everywhere.
    marks : array or None
        Values that identify a risk when its bound is resumed.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> rows = dc.residual_rows(np.ones((5, 1)), [0.0, 0.1, 0.2, 9.0, 9.5], fit_intercept=False)
    >>> risk = dc.Risk.from_loss(rows, dc.cap(dc.square(), 1.0))
    >>> bound = dc.lower_bound(risk)
    >>> bound.status, bound.value <= bound.objective, bound.x.shape
    ('proved', True, (1,))
    """

    value: float
    gap: float
    status: str
    nodes: int
    x: Array | None
    objective: float
    scale: float
    time: float
    open: Boxes | GlobalSearch | None = None
    floor: float = np.inf
    asked: float = 0.0
    box: tuple[Array, Array] | None = None
    marks: Array | None = None
    variables: Mapping[cp.Variable, Array] = field(default_factory=dict)
    relative_violation: float = 0.0

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | ({} if isinstance(self.open, Boxes) else {"open": None})

    def __repr__(self) -> str:
        left = len(self.open) if isinstance(self.open, Boxes) else 0
        kind = "nodes" if isinstance(self.open, GlobalSearch) else "boxes"
        return "\n".join(
            [
                f"Bound: {self.status} after {self.nodes} {kind} ({self.time:.2g} s)",
                f"  value      {self.value:.10g}",
                f"  objective  {self.objective:.10g}",
                f"  gap        {self.gap:.3g}",
                *([f"  violation  {self.relative_violation:.3g}"] if kind == "nodes" else []),
                *([f"  open boxes {left}"] if left else []),
            ]
        )


# ----------------------------------------------------------------------------------------------
# cvxpy problems, by SCIP


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
        search = search_with_loop(FactorableProblem(real, box), gap, solve)
        if start is not None:
            _begin(search, start, form)

    def report(status: str = "running") -> Bound:
        return _searched_bound(search, status, time.perf_counter() - begun, form)

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


def _searched_bound(
    search: GlobalSearch, status: str, seconds: float, form: RealForm | None
) -> Bound:
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
        relative_violation=0.0 if best is None else best.missed,
    )


# ----------------------------------------------------------------------------------------------
# searches in turns


# Seconds of a search's first turn; each later one is twice as long.
FIRST_TURN = 0.2


def leading(searches: list[Search]) -> Search:
    """The search with the best bound."""
    return max(searches, key=lambda s: s.lower)


def run_in_turns(
    searches: list[Search], deadline: float, report: Callable[[], object] | None = None
) -> tuple[Search, str]:
    """Run searches in turns until one of them ends.

    Which kind of branching suits a problem shows only in the search; with turns of doubling
    length, an unsuitable one costs a constant factor of time.

    Parameters
    ----------
    searches : list of Search
    deadline : float
        A time of ``time.perf_counter``.
    report : callable, optional
        As for :meth:`Search.run`.

    Returns
    -------
    search, status : Search, str
        The search that ended, or the one with the best bound, and the status of the last run.
    """
    if len(searches) == 1:
        return searches[0], searches[0].run(deadline, report)
    turn = FIRST_TURN
    while True:
        for search in searches:
            for other in searches:
                search.adopt(other.best)
            status = search.run(min(deadline, time.perf_counter() + turn), report)
            if status == "proved":
                return search, status
            if status != "time_limit" or time.perf_counter() >= deadline:
                best = leading(searches)
                for other in searches:
                    best.adopt(other.best)
                return best, status
        turn *= 2


# ----------------------------------------------------------------------------------------------
# the front door


@names_nearest
def lower_bound(
    problem: Any,
    *,
    start: Result | Bound | npt.ArrayLike | Mapping[Any, Any] | None = None,
    time_limit: float = 60.0,
    gap: float = 1e-3,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    callback: Callable[[Bound], object] | None = None,
    verbose: bool = False,
) -> Bound:
    r"""A proven lower bound of a problem, by branch and bound: min F ≥ value.

    A risk is bounded by the library's own search over boxes. On a box every nonconvex term has a
    convex minorant: the chord of a concave function, φ(t) ≥ φ(l) + (φ(u) − φ(l))/(u − l)·(t − l)
    for l ≤ t ≤ u. Lines below the losses at a few points give a plane below the sum, whose minimum
    over the box and under the penalty is known in closed form: the bound does not depend on a
    solver's accuracy. Boxes whose bound is above F(x) − gap are dropped, the others halved. This
    search suits few coefficients, up to about five, with thousands of samples. For a capped or
    trimmed risk with more coefficients the search branches on the samples, kept or given up: it
    suits up to about fifty samples. In between both searches run in turns.

    A cvxpy problem is bounded by SCIP, except those without constraints that :func:`dcprog.solve`
    recognises as risks. Its expressions are translated to sums of products, powers, exponentials,
    logarithms, sines and absolute values, in units in which they are about 1; SCIP's bound is
    lowered by a millionth of the unit of F, its points are moved to where the constraints hold and
    evaluated on the problem's own expressions. "Infeasible" is reported if two searches with
    different settings agree on it. Variables may be integer, boolean or complex. Every variable and
    every term must have a finite range: by bounds, by the constraints, or because F is larger
    elsewhere than at a known point.

    Better points found by the search replace the starting point, and the bound is checked against
    them.

    Parameters
    ----------
    problem : Risk, estimator fitted to one, cvxpy.Problem, or Result
        F. For a maximisation the bound is an upper one. A Result stands for the problem it came
        from and for its point.
    start : Result, Bound, array or mapping, optional
        The starting point, the best one known; by default the point that :func:`dcprog.solve`
        finds. For a cvxpy problem also a mapping from Variable to array. A ``Bound`` of the same
        problem is resumed: only its open boxes are searched. A ``Bound`` of a cvxpy problem is
        resumed where SCIP stopped, in the same process and if no Parameter has changed; otherwise
        its point is the starting point.
    time_limit : float, default 60.0
        Seconds.
    gap : float, default 1e-3
        Stop when F(x) − value is at most this share of the sum of the absolute values of F(x)'s
        terms. For a cvxpy problem gaps below 2e-6 are not reached.
    box : (lower, upper), optional
        Bound F on that box only, of θ or of all entries of all variables (column by column, in the
        order in which they were made); numbers or arrays of shape (p,). By default all points are
        covered: the penalty, the losses and the constraints determine where F can be below F(x).
    callback : callable, optional
        ``callback(bound)`` about twice a second; a true return value stops the search.
    verbose : bool, default False
        Log the progress to the logger ``dcprog``.

    Returns
    -------
    Bound
        Ctrl-C ends the search and returns the bound so far; during the search for a first point it
        raises KeyboardInterrupt.

    Raises
    ------
    WrongBound
        A bound lies above the value of a known point: an error of the library.
    NotBoundable
        A part of the problem has no minorant or no translation (the error names it), or the points
        at which F is below F(x) are not known to be bounded.
    ImportError
        The problem is a cvxpy problem and pyscipopt is not installed.
    TypeError, ValueError
        The problem has another type, or an option is invalid.

    References
    ----------
    Bestuzheva and others (2023), Global optimization of mixed-integer nonlinear programs with SCIP
    8, J. Glob. Optim. 91. Falk, Soland (1969), An algorithm for separable nonconvex programming
    problems, Management Science 15. McCormick (1976), Computability of global solutions to
    factorable nonconvex programs, Math. Program. 10. Horst, Tuy (1996), Global Optimization,
    chapter IV.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> X = np.array([[1.0], [2.0], [3.0], [-2.0]])   # the last sample is an outlier
    >>> rows = dc.binary_margins(X, [1, 1, -1, 1], fit_intercept=False)
    >>> risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.l2(0.1))
    >>> bound = dc.lower_bound(risk)
    >>> bound.status, round(bound.gap, 6)
    ('proved', 0.001)

    >>> import cvxpy as cp
    >>> x = cp.Variable(2, bounds=[-2, 2])
    >>> bound = dc.lower_bound(cp.Problem(cp.Minimize(x[0] ** 3 * x[1] + cp.exp(x[1]))))
    >>> bound.status, round(bound.objective, 4)
    ('proved', -15.8647)
    """
    begun = time.perf_counter()
    if isinstance(problem, Result):
        problem, start = _of_result(problem), problem if start is None else start
    check_number("time_limit", time_limit, 0)
    check_number("gap", gap, 0)
    check_flag("verbose", verbose)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} is not callable")
    if isinstance(problem, cp.Problem):
        by_scip = box is not None or (isinstance(start, Bound) and start.marks is None)
        found = None if by_scip else recognised(problem)
        if found is not None:
            try:
                return _recognised_bound(found, start, time_limit, gap, callback, verbose)
            except NotBoundable:
                pass  # SCIP may bound a problem that the library's own search cannot
        form = real_form(problem)
        variables = (problem if form is None else form.problem).variables()
        edges = _checked_box(box, sum(v.size for v in variables), start)
        with visible(verbose):
            return problem_bound(problem, start, time_limit, gap, edges, callback)
    risk = _declared(problem)
    spaces = risk_spaces(risk, _checked_box(box, risk.rows.shape[1], start))
    space = spaces[0]
    with visible(verbose):
        best = _incumbent(space, start, STARTING * time_limit)
        searches = _searches(spaces, best, start, gap)

        def report(search: Search, status: str) -> Bound:
            nodes = sum(s.nodes for s in searches)
            return _bound(space, search, nodes, status, time.perf_counter() - begun)

        def stop() -> object:
            return callback is not None and callback(report(leading(searches), "running"))

        search, status = run_in_turns(searches, begun + time_limit, stop)
        return report(search, status)


def _recognised_bound(
    found: Recognised,
    start: Any,
    time_limit: float,
    gap: float,
    callback: Callable[[Bound], object] | None,
    verbose: bool,
) -> Bound:
    """The bound of a cvxpy problem that is recognised as a risk."""

    def told(bound: Bound) -> object:
        return callback is not None and callback(_as_written(found, bound))

    known = _as_risk(found, start)
    options: dict[str, Any] = {"time_limit": time_limit, "gap": gap, "verbose": verbose}
    return _as_written(found, lower_bound(found.risk, start=known, callback=told, **options))


def _as_risk(found: Recognised, start: Any) -> Any:
    """A start of a recognised problem, converted to a start of its risk."""
    points = found.points
    if isinstance(start, Bound):
        objective = found.sign * start.objective - found.constant
        return replace(start, objective=objective, variables={})
    known = start.variables if isinstance(start, Result) else start
    if not isinstance(known, Mapping):
        return start
    return points.pack(given(points.variables, known, whole=True))


def _as_written(found: Recognised, bound: Bound) -> Bound:
    """The bound of a risk, converted to a bound of the problem that was recognised as it."""
    value, objective = (
        found.sign * (one + found.constant) for one in (bound.value, bound.objective)
    )
    pairs = [] if bound.x is None else found.points.unpack(bound.x)
    return replace(bound, value=value, objective=objective, variables=VariableValues(pairs))


def _of_result(result: Result) -> Any:
    """The problem that a result came from."""
    if result.examiner is None:
        raise TypeError(
            "a Result that was pickled does not hold its problem: pass lower_bound(problem, "
            "start=result)"
        )
    return result.examiner.problem


def _declared(problem: Any) -> Risk:
    """The risk that the user passed, or that of the estimator."""
    if isinstance(problem, Risk):
        return problem
    for name in ("spec_", "spec"):
        spec = getattr(problem, name, None)
        if isinstance(spec, Risk):
            return spec
    raise TypeError(
        f"a {type(problem).__name__} is not a problem: pass a dcprog Risk, an estimator fitted to "
        "one, or a cvxpy Problem"
    )


def _incumbent(space: RiskSpace, start: Any, seconds: float) -> Incumbent:
    """The incumbent at the starting point."""
    if start is None:
        return space.first(seconds)
    if isinstance(start, Result | Bound):
        if start.x is None:
            raise ValueError(f"start: the {type(start).__name__} has no point")
        start = start.x
    return space.at(space.point(start))


def _searches(spaces: list[RiskSpace], best: Incumbent, start: Any, gap: float) -> list[Search]:
    """Searches from the root, or one that resumes a Bound; with a finer gap again from the root."""
    if not isinstance(start, Bound):
        return [Search(space, space.root(best), best, gap) for space in spaces]
    known = start.objective
    if not abs(best.value - known) <= KNOWN_DIGITS * max(best.scale, start.scale):
        raise ValueError("start is a Bound of another problem: its point has another value here")
    if not _same(spaces[0].marks(best.x), start.marks):
        raise ValueError("start is a Bound of another problem: its data or parts are others")
    if gap < start.asked:
        found = [Search(space, space.root(best), best, gap) for space in spaces]
        found[0].nodes = start.nodes
        return found
    boxes = start.open if isinstance(start.open, Boxes) else None
    entries = None if boxes is None else boxes.lo.shape[1]
    fit = [space for space in spaces if entries in (None, space.entries)]
    if not fit:
        raise ValueError("start is a Bound of another problem: its boxes do not fit")
    return [Search(fit[0], boxes, best, gap, start.nodes, start.floor)]


def _same(marks: Array, others: Array | None) -> bool:
    return others is not None and np.allclose(marks, others, KNOWN_DIGITS, 0.0, equal_nan=True)


def _checked_box(box: Any, size: int, start: Any) -> tuple[Array, Array] | None:
    """The user's box after checks, or a resumed Bound's box; None if F is bounded everywhere."""
    before = start.box if isinstance(start, Bound) else None
    if box is None:
        return before
    try:
        lower, upper = box
        lo = np.broadcast_to(np.asarray(lower, dtype=float), size).copy()
        hi = np.broadcast_to(np.asarray(upper, dtype=float), size).copy()
    except (TypeError, ValueError):
        raise ValueError(f"box={box!r}: (lower, upper) is needed, numbers or ({size},)") from None
    if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)) and np.all(lo <= hi)):
        raise ValueError(f"box={box!r}: finite lower <= upper are needed")
    if isinstance(start, Bound) and (before is None or not np.array_equal((lo, hi), before)):
        raise ValueError("box: a Bound is resumed on the box that it was found on; leave it out")
    return lo, hi


def _bound(space: RiskSpace, search: Search, nodes: int, status: str, seconds: float) -> Bound:
    """The state of a search as a Bound, in the user's sign."""
    best = search.best
    value = min(search.lower, best.value)
    missing = 0.0 if value == best.value else best.value - value
    gap = missing / search.scale if search.scale > 0 else (0.0 if missing <= 0 else np.inf)
    return Bound(
        value=value,
        gap=max(gap, 0.0),
        status=status,
        nodes=nodes,
        x=best.x,
        objective=best.value,
        scale=search.scale,
        time=seconds,
        open=search.open.all(),
        floor=search.floor,
        asked=search.gap,
        box=space.box,
        marks=space.marks(best.x),
    )


Result._lower_bound = staticmethod(lower_bound)  # called by Result.certificate(bound=True)
