"""One fault in one problem: nothing is lost, nothing false is said, and it is on record."""

from __future__ import annotations

import itertools
import time
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from tests.fuzz.injection import KINDS, OFTEN, RAISING, STEPS, Fault, injected
from tests.fuzz.report import Report, generator, where
from tests.fuzz.subjects import SUBJECTS, Subject
from tests.fuzz.verdicts import check_point, check_status, worth

__all__ = ["MATRIX", "run"]

TOL = 1e-6
TIME_LIMIT = 5.0
SLEEPY = 1.0  # the limit of runs whose solvers sleep
AS_GOOD = 1e-4
SEEN = AS_GOOD / 10
CRUDE = {"nan", "inf"}

_ALL = list(itertools.product(SUBJECTS, KINDS, STEPS, OFTEN))
# neighbouring numbers are not neighbouring faults, and each stands here once
MATRIX = [_ALL[i] for i in np.random.default_rng(0).permutation(len(_ALL))]


def run(number: int) -> Report:
    """The fault of that number of the matrix, which repeats."""
    name, kind, step, often = MATRIX[number % len(MATRIX)]
    report = Report()
    clean = _clean(name)
    subject = SUBJECTS[name]()
    fault = Fault(kind, step, often)
    limit = SLEEPY if kind == "sleep" else TIME_LIMIT
    seen: list[tuple[float, float]] = []
    begun, own = time.perf_counter(), time.process_time()
    words = f" [{name}; {kind} at {step}, {often}]"
    with injected(fault):
        try:
            result = dc.solve(
                subject.target,
                start="convex",  # one run: of several the record is the winner's
                time_limit=limit,
                callback=lambda p: seen.append((p.value, p.violation)),
            )
        except Exception as error:
            report.outcome = type(error).__name__
            report.fail(f"{type(error).__name__} escaped", f"{where(error)[0]}: {error}{words}")
            return report
    wall, own = time.perf_counter() - begun, time.process_time() - own
    if min(wall, own + fault.slept) > 2 * limit:
        report.fail("beyond twice the time limit", f"{wall:.1f} s for {limit} s")
    _check(report, subject, fault, result, clean, seen, generator("faults", number))
    report.failures = [f + words for f in report.failures]
    return report


def _sign(target: Any) -> float:
    maximise = isinstance(target, cp.Problem) and isinstance(target.objective, cp.Maximize)
    return -1.0 if maximise else 1.0


@cache
def _clean(name: str) -> float:
    """The value without a fault, as a minimisation's."""
    subject = SUBJECTS[name]()
    return _sign(subject.target) * dc.solve(subject.target, start="convex").value


def _check(
    report: Report,
    subject: Subject,
    fault: Fault,
    result: Any,
    clean: float,
    seen: list[tuple[float, float]],
    rng: np.random.Generator,
) -> None:
    sign, land = _sign(subject.target), subject.landscape
    check_status(report, result)
    check_point(report, land, result, TOL, rng, sign)
    best = min((sign * v for v, missed in seen if missed <= 1e-9), default=np.inf)
    if result.x is None:
        if np.isfinite(best):
            report.fail("a lost point", f"{best} had been seen")
        scale = max(abs(clean), np.finfo(float).tiny)
    else:
        scale = worth(land, result.x)
        if sign * result.value > best + SEEN * scale:
            report.fail("a lost point", f"{result.value} for {best}")
    refused = fault.fired and (fault.kind in RAISING or fault.kind in CRUDE)
    if refused and not result.history.attempts:
        report.fail("a refused attempt is not on record", result.status)
    if result.status == "infeasible" and np.isfinite(best):
        report.fail("false infeasible", "a feasible point had been seen")
    if result.status == "unbounded":
        report.fail("false unbounded", "on a solver's word alone")
    if result.status == "infeasible" and not isinstance(subject.target, cp.Problem):
        report.fail("false infeasible", "a risk has no constraints")
    _check_value(report, fault, sign, result, clean, scale)


def _check_value(
    report: Report, fault: Fault, sign: float, result: Any, clean: float, scale: float
) -> None:
    """A fault that occurs once, or in one solver of several, costs a retry and not the run."""
    honest = fault.kind in RAISING | CRUDE | {"sleep"}
    if fault.often == "always" or (fault.often == "first solver" and not honest):
        return
    if fault.kind == "sleep" and result.status == "time_limit":
        return
    if result.status == "converged" and sign * result.value <= clean + AS_GOOD * scale:
        return
    text = f"{result.status} at {sign * result.value} for {clean}: {result.message[:80]}"
    if fault.step == 0 and not honest:
        report.remarks.append("another start, another end")
    elif fault.often == "first solver" and fault.calls == fault.fired:
        report.remarks.append("the broken solver is the only one")
    else:
        report.fail("a fault cost the run", text)
