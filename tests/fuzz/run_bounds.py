"""One random problem on a box: bounded from below, and judged by a dense grid.

The grid, a search around its best points and a point that the problem was built around give values
that no bound may exceed; "infeasible" is refuted by any of these points, and nothing but
"infeasible" may be proved of a problem that was built to be.
"""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from tests.fuzz.boxed import Boxed, random_boxed
from tests.fuzz.evaluation import dense, number
from tests.fuzz.lowest import FLOOR, LEAST, STILL, Landmark, Lowest
from tests.fuzz.report import Report, generator, where
from tests.fuzz.run_problems import check_time

__all__ = ["check_bound", "run"]

TIME_LIMITS = 1.0, 1.0, 0.3, 0.1  # seconds, in turn: a search that is cut short claims no more
GAPS = [1e-3, 1e-3, 1e-3, 1e-2, 1e-4]
STATUSES = {"proved", "infeasible", "time_limit", "interrupted", "stopped", "inaccurate"}
ABOVE = 1e-7  # of the terms: how far rounding may put a bound above a value
FEASIBLE = 1e-6  # of the terms
FAR = 1e-3  # the same, for points that are said to be inaccurate
SAME = 1e-9  # of the terms, between two evaluations of F
EVALUATED = 3  # points at which the fuzzer's own numbers are compared to cvxpy's

# Nonlinear nodes that every bound is documented for; others may be refused.
BOUNDABLE = {
    *("abs", "Power", "PowerApprox", "exp", "log", "log1p", "entr", "rel_entr", "kl_div", "xexp"),
    *("logistic", "huber", "maximum", "minimum", "sin", "cos", "sinh", "asinh", "tanh"),
    *("multiply", "MulExpression", "DivExpression", "QuadForm", "quad_over_lin", "Prod"),
    *("max", "min", "norm1", "norm_inf", "Pnorm", "PnormApprox", "log_sum_exp", "sum_largest"),
    *("GeoMean", "GeoMeanApprox"),
}


def run(number_: int) -> Report:
    """Bound the problem of that number and check what comes out."""
    rng = generator("bounds", number_)
    made = random_boxed(rng)
    options = _options(made, rng) | {"time_limit": TIME_LIMITS[number_ % len(TIME_LIMITS)]}
    lowest = Lowest(made, rng)
    landmark = lowest.search()
    _check_evaluation(made, lowest, rng)
    report = Report()
    _warm_up()
    kept = made.arrays(rng.uniform(made.lo, made.hi))
    for variable, value in kept.items():
        variable.save_value(value)
    begun = time.perf_counter(), time.process_time()
    try:
        bound = dc.lower_bound(made.problem, **options)
    except dc.NotBoundable as refusal:
        report.outcome = "NotBoundable"
        _check_refusal(report, lowest, refusal)
        return report
    except Exception as error:
        report.outcome = type(error).__name__
        place, _ = where(error)
        report.fail(f"undocumented {report.outcome}", f"{place}: {str(error)[:160]}")
        return report
    check_time(report, begun, TIME_LIMITS[0])  # reading and compiling have no limit
    if any(not np.array_equal(v.value, a) for v, a in kept.items()):
        report.fail("the variables' values are changed")
    report.outcome = bound.status
    check_bound(report, lowest, landmark, bound, options["gap"])
    if bound.status == "stopped" and "callback" not in options:
        report.fail("stopped by nobody")
    return report


@cache
def _warm_up() -> None:
    """What the first call of a process imports and compiles is no case's time."""
    x = cp.Variable(2, bounds=[-1, 1])
    dc.lower_bound(cp.Problem(cp.Minimize(x[0] * x[1])), time_limit=TIME_LIMITS[0])


def _options(made: Boxed, rng: np.random.Generator) -> dict[str, Any]:
    options: dict[str, Any] = {"gap": GAPS[int(rng.integers(len(GAPS)))]}
    if made.witness is not None and rng.uniform() < 0.15:
        options["start"] = made.arrays(made.witness)
    if rng.uniform() < 0.03:
        options["callback"] = lambda bound: True
    if made.box:
        variables = made.problem.variables()
        order = sorted(range(len(variables)), key=lambda k: variables[k].id)
        ends = np.cumsum([v.size for v in variables])[:-1]
        options["box"] = tuple(
            np.concatenate([np.split(side, ends)[k] for k in order]) for side in (made.lo, made.hi)
        )
    return options


def _check_evaluation(made: Boxed, lowest: Lowest, rng: np.random.Generator) -> None:
    """The fuzzer's own formulas are cvxpy's, or it is a mistake of the fuzzer."""
    points = rng.uniform(made.lo, made.hi, size=(EVALUATED, made.lo.size))
    if made.witness is not None:
        points = np.vstack([points, made.witness])
    values, _ = lowest.rows(points)
    for x, value in zip(points, values, strict=True):
        theirs = lowest.sign * _objective(made, x)
        allowed = SAME * lowest.scale(x) + 10 * lowest.noise(x)
        if np.isfinite(value) and not abs(theirs - value) <= allowed:
            raise AssertionError(f"F is {theirs}, not {value}, at {x} in {made.problem}")


def _objective(made: Boxed, x: Any) -> float:
    """F by cvxpy."""
    for variable, value in made.arrays(x).items():
        variable.save_value(value)
    return float(np.sum(number(made.problem.objective.args[0])))


def _check_refusal(report: Report, lowest: Lowest, refusal: dc.NotBoundable) -> None:
    """What is finite on the whole box and made of documented atoms is bounded."""
    strange = lowest.batched.names - BOUNDABLE
    if strange:
        report.remarks.append(f"refused: {', '.join(sorted(strange))}")
    elif not lowest.defined:
        report.remarks.append("refused: not finite, or nearly so, on the box")
    else:
        report.fail("a problem of documented atoms is refused", str(refusal)[:160])


def check_bound(
    report: Report, lowest: Lowest, landmark: Landmark | None, bound: Any, gap: float
) -> None:
    """All the checks of a bound."""
    sign = lowest.sign
    value, objective = sign * bound.value, sign * bound.objective
    if bound.status not in STATUSES:
        report.fail("undocumented status", bound.status)
    if np.isnan(bound.value) or np.isnan(bound.gap) or bound.gap < 0 or bound.nodes < 0:
        report.fail("numbers that are none", f"{bound.value}, {bound.gap}, {bound.nodes}")
    _check_value(report, lowest, landmark, value)
    if bound.status == "infeasible":
        if landmark is not None:
            missed = lowest.missed(landmark.x)
            report.fail("false infeasible", f"{landmark.x} misses by {missed:.1e}")
        if bound.x is not None or value != np.inf:
            report.fail("infeasible, with a point or a value", str(bound.value))
    if bound.x is None:
        if bound.status == "proved":
            report.fail("proved without a point")
        if len(bound.variables) or objective != np.inf:
            report.fail("an objective without a point", str(bound.objective))
        return
    if lowest.made.witness is None and bound.status != "inaccurate":
        report.fail("a point where there is none", str(bound.x))
    _check_point(report, lowest, bound)
    x = _point(lowest, bound)
    scale = lowest.scale(x)
    most = 2 * max(scale, FLOOR * lowest.largest) + 10 * lowest.noise(x)  # terms within terms
    if bound.scale > most and lowest.largest > 0:
        report.fail("a scale beyond the terms", f"{bound.scale:.6g} for {scale:.6g}")
    missing = max(objective - value, 0.0)
    if abs(bound.gap * bound.scale - missing) > FEASIBLE * max(scale, missing):
        report.fail("a gap of its own", f"{bound.gap} of {bound.scale} for {missing}")
    if bound.status == "proved" and missing > gap * bound.scale + SAME * scale:
        report.fail("proved with a gap", f"{max(bound.gap, missing / scale):.3e} for {gap:g}")


def _check_value(report: Report, lowest: Lowest, landmark: Landmark | None, value: float) -> None:
    """No bound is above the value of a feasible point."""
    if landmark is None:
        return
    scale = lowest.scale(landmark.x)
    above = value - landmark.value
    if above > ABOVE * scale + landmark.noise:
        report.fail(
            "a bound above the optimum",
            f"{lowest.sign * value:.10g} for {lowest.sign * landmark.value:.10g} at {landmark.x}, "
            f"{above / max(scale, LEAST):.1e} of the terms",
        )


def _point(lowest: Lowest, bound: Any) -> Any:
    variables = lowest.made.problem.variables()
    return np.concatenate([dense(bound.variables[v]).ravel(order="F") for v in variables])


def _check_point(report: Report, lowest: Lowest, bound: Any) -> None:
    """The point is one of the problem, feasible, and has the value that is said."""
    variables = sorted(lowest.made.problem.variables(), key=lambda v: v.id)
    flat = [dense(bound.variables[v]).ravel(order="F") for v in variables]
    if not np.array_equal(np.concatenate(flat), bound.x):
        report.fail("x and variables differ")
    x = _point(lowest, bound)
    uneven = np.max(np.abs(x - np.round(x))[lowest.made.whole], initial=0.0)
    if not uneven <= FEASIBLE:
        report.fail("whole numbers with fractions", str(x))
    missed = lowest.missed(x)
    if bound.status == "inaccurate":
        report.remarks.append("inaccurate")
    if not missed <= (FAR if bound.status == "inaccurate" else FEASIBLE):
        report.fail("a point outside the constraints", f"by {missed:.2e} of the terms")
    value, scale = _objective(lowest.made, x), lowest.scale(x)
    noise = lowest.noise(x)
    if missed <= STILL and lowest.sign * (bound.value - value) > ABOVE * scale + noise:
        report.fail("a bound above the optimum", f"{bound.value} for {value} at its own point {x}")
    if not abs(value - bound.objective) <= SAME * scale + noise:
        report.fail("a wrong objective", f"{bound.objective} for {value}, terms {scale:.3g}")
