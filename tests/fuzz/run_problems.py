"""One random problem: solved, and every verdict checked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

import dcprog as dc
from tests.fuzz.evaluation import Evaluation, is_convex
from tests.fuzz.landscape import Array
from tests.fuzz.problems import Problem, random_problem
from tests.fuzz.report import Report, generator, judged_exception
from tests.fuzz.verdicts import check_point, check_status, resolved, worth

__all__ = ["TIME_LIMIT", "check_problem", "run"]

TIME_LIMIT = 5.0
TOL = 1e-6
REFERENCES = 3
CONVEX = 1e-4  # how far from cvxpy's own value, relative to the terms
SIMPLEX: dict[str, Any] = {"method": "Nelder-Mead", "options": {"maxfev": 1500}}
POLISHED = 3  # every third problem
FALL = 1e3  # how far F must be seen to fall, in its terms, for "unbounded"
SEARCH = 10.0  # seconds for that


def run(number: int) -> Report:
    """Solve the problem of that number and check what comes out."""
    rng = generator("problems", number)
    made = random_problem(rng)
    report = Report()
    begun = time.perf_counter(), time.process_time()
    try:
        last = number % POLISHED == 0
        result = dc.solve(made.problem, time_limit=TIME_LIMIT, max_iter=60, polish=last)
    except Exception as error:
        report.outcome, failure = judged_exception(error, lambda text: made.refused)
        report.include(failure)
        if report.outcome == "NotMajorizable" and is_convex(made.problem) and not made.refused:
            report.fail("a convex problem is refused", str(error)[:160])
        return report
    check_time(report, begun, TIME_LIMIT)
    if made.refused:
        report.fail("bad input is accepted", result.status)
    check_problem(report, made, result, rng)
    return report


def check_time(report: Report, begun: tuple[float, float], limit: float) -> None:
    """No run takes twice its limit, by its own clock where others share the processor."""
    wall, own = time.perf_counter() - begun[0], time.process_time() - begun[1]
    if min(wall, own) > 2 * limit:
        report.fail("beyond twice the time limit", f"{own:.1f} s for {limit} s")


def check_problem(report: Report, made: Problem, result: Any, rng: np.random.Generator) -> None:
    """All the checks of a result."""
    references = _references(made, rng)
    problem = Evaluation(made.problem, made.unit, references)
    check_status(report, result)
    if set(result.variables) and len(result.variables) == len(problem.variables):
        x = problem.pack({v.id: result.variables[v] for v in problem.variables})
        if result.x is not None and not np.array_equal(x, result.x):
            report.fail("x and variables differ")
    check_point(report, problem.landscape, result, TOL, rng, problem.sign)
    if result.status == "infeasible":
        check_infeasible(report, made, problem)
    if result.status == "no_feasible_point" and made.witness is not None:
        report.remarks.append("a feasible point was missed")
    if result.status == "solver_failed":
        report.remarks.append("solver_failed")
    if result.status == "unbounded":
        check_unbounded(report, made, problem, result, rng)
    if is_convex(made.problem) and result.status == "converged":
        check_convex(report, made, problem, result, rng)


def _references(made: Problem, rng: np.random.Generator) -> list[dict[int, Array]]:
    variables = made.problem.variables()
    drawn = [
        {v.id: made.unit * rng.normal(size=v.shape) for v in variables} for _ in range(REFERENCES)
    ]
    return drawn


def check_infeasible(report: Report, made: Problem, problem: Evaluation) -> None:
    """The witness of the construction, or a point that a search finds, refutes it."""
    if made.witness is None:
        return
    known = [v for v in problem.variables if v.id in made.witness]
    if len(known) == len(problem.variables):
        x = problem.pack(made.witness)
        if not np.isfinite(problem.value(x)):  # a power of a negative number, which cvxpy evaluates
            return
        missed = problem.landscape.miss(x)
        report.fail("false infeasible", f"a point misses the constraints by {missed:.1e}")


def check_unbounded(
    report: Report, made: Problem, problem: Evaluation, result: Any, rng: np.random.Generator
) -> None:
    """F must be seen to fall without end, along points that meet the constraints."""
    land = problem.landscape
    centres = [problem.pack(made.witness)] if made.witness is not None else []
    if result.x is not None:
        centres.append(result.x)
    centres = [c for c in centres if land.miss(c) <= 1e-5]
    if not centres:
        report.fail("unbounded without a feasible point")
        return
    enough = max(land.value(c) for c in centres) - FALL * worth(land, centres[0])
    bottom, end = np.inf, time.monotonic() + SEARCH
    for value in _seen(problem, centres, made.unit, rng, end):
        bottom = min(bottom, value)
        if bottom < enough:
            return
        if time.monotonic() > end:
            report.remarks.append("no time to see an unbounded problem fall")
            return
    report.fail("false unbounded" if made.compact else "unbounded without evidence", f"{bottom}")


def _seen(
    problem: Evaluation,
    centres: list[Array],
    unit: float,
    rng: np.random.Generator,
    end: float,
) -> Iterator[float]:
    """F along random and coordinate rays, at the domain's edge, and where a descent leads."""
    land, n = problem.landscape, problem.n
    yield from map(land.value, centres)
    directions = [unit * d for d in (*np.eye(n), *-np.eye(n), *rng.normal(size=(40, n)))]
    for centre in centres:
        for direction in directions:
            for t in (1e2, 1e4, 1e6, 1e8):
                value = land.value(centre + t * direction)
                if np.isfinite(value) and land.miss(centre + t * direction) <= 1e-5:
                    yield value
        yield from (_at_the_edge(problem, centre, direction) for direction in directions)
    for centre in centres:
        yield _descended(problem, centre, unit, end)


def _descended(problem: Evaluation, centre: Array, unit: float, end: float) -> float:
    """F where a simplex search ends, or is at its end."""

    def watch(_: Array) -> None:
        if time.monotonic() > end:
            raise StopIteration

    with np.errstate(all="ignore"):
        answer: Any = minimize(
            _barred(problem, unit), centre / unit, **SIMPLEX | {"callback": watch}
        )
    x = answer.x * unit
    return problem.value(x) if problem.landscape.miss(x) <= 1e-5 else np.inf


def _barred(problem: Evaluation, unit: float) -> Any:
    """F, with a wall around the constraints."""

    def value(z: Array) -> float:
        level = float(np.nan_to_num(problem.value(z * unit), posinf=1e30, neginf=-1e30))
        return level + 1e6 * max(0.0, min(problem.landscape.miss(z * unit), 1e20) - 1e-6)

    return value


def _at_the_edge(problem: Evaluation, centre: Array, direction: Array) -> float:
    """−∞ where F falls by as much every time the distance to the domain's edge is halved."""
    land = problem.landscape
    inside, outside = 0.0, 1e3
    if np.isfinite(land.value(centre + outside * direction)):
        return np.inf
    values = []
    for _ in range(45):
        middle = (inside + outside) / 2
        value = land.value(centre + middle * direction)
        if np.isfinite(value) and land.miss(centre + middle * direction) <= 1e-5:
            inside = middle
        else:
            outside = middle
        values.append(land.value(centre + inside * direction))
    early, late = values[20] - values[30], values[30] - values[40]
    least = 1e-3 * worth(land, centre)
    return -np.inf if early > least and late > max(least, 0.3 * early) else np.inf


def check_convex(
    report: Report, made: Problem, problem: Evaluation, result: Any, rng: np.random.Generator
) -> None:
    """A convex problem has the value that cvxpy finds by itself.

    Where F vanishes, solvers resolve the tolerance times what it varies by, and some stop there.
    """
    kept = result.x
    try:
        made.problem.solve(solver=cp.CLARABEL)
    except Exception:
        return
    if made.problem.status != cp.OPTIMAL or kept is None:
        return
    other = problem.pack({v.id: v.value for v in problem.variables})
    if not np.all(np.isfinite(other)) or problem.landscape.miss(other) > 1e-7:
        return
    better = problem.value(kept) - problem.value(other)
    scale = worth(problem.landscape, kept)
    if better > max(CONVEX * scale, 10 * TOL * resolved(problem.landscape, kept, rng)):
        report.fail("a convex problem's minimum is missed", f"by {better / scale:.2e}")
