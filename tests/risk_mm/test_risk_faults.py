"""Whatever a subproblem's solver does costs a retry: the verdict and the best point are kept."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm import surrogate as risk_surrogate
from dcprog.rows.kernel import kernel_margins
from dcprog.rows.linear import binary_margins
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.registry import choose, make

RNG = np.random.default_rng(0)
Y = RNG.choice([-1.0, 1.0], 30)
X = RNG.standard_normal((30, 2)) + Y[:, None]
X[:4] *= -10

RISKS = {
    "newton": Risk.from_loss(binary_margins(X, Y), dc.cap(dc.squared_hinge(), 1.0), dc.l2(1.0)),
    "pivoting": Risk.from_loss(binary_margins(X, Y), dc.cap(dc.hinge(), 1.0), dc.l2(1.0)),
    "proximal_newton": Risk.from_loss(
        binary_margins(X, Y), dc.trim(dc.logistic(), 0.1), dc.l1(0.5)
    ),
    "squares": Risk.from_loss(binary_margins(X, Y), dc.trim(dc.square(1.0), 0.1), dc.l2()),
}
Fault = Callable[[Any, np.ndarray], Any]


def _raise(error: type[BaseException]) -> Fault:
    def fault(solution: Any, start: np.ndarray) -> Any:
        raise error("injected")

    return fault


def _put(change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Fault:
    def fault(solution: Any, start: np.ndarray) -> Any:
        return dataclasses.replace(solution, coefficients=change(solution.coefficients, start))

    return fault


FAULTS = {
    **{error.__name__: _raise(error) for error in (np.linalg.LinAlgError, MemoryError, IndexError)},
    "nan": _put(lambda x, start: np.nan * x),
    "one nan": _put(lambda x, start: np.where(np.arange(x.size) == 0, np.nan, x)),
    "huge": _put(lambda x, start: np.full_like(x, 1e200)),
    "start": _put(lambda x, start: start.copy()),
    "worse": _put(lambda x, start: x + 1e-3 * (1 + np.abs(x))),
    "short": _put(lambda x, start: x[:-1]),
    "nothing": lambda solution, start: None,
}


def _spoil(monkeypatch: pytest.MonkeyPatch, calls: Any, fault: Fault, only: str = "") -> None:
    """Solvers fail at some of their calls."""
    make, number = risk_surrogate.make, itertools.count()

    def spoiled(name: str, risk: Risk) -> Any:
        solver = make(name, risk)
        real = solver.minimise

        def minimise(problem: Any, start: np.ndarray, *rest: Any) -> Any:
            solution = real(problem, start, *rest)
            hit = name.startswith(only) and next(number) in calls
            return fault(solution, start) if hit else solution

        solver.minimise = minimise  # type: ignore[method-assign,assignment]
        return solver

    monkeypatch.setattr(risk_surrogate, "make", spoiled)


@cache
def clean_result(name: str) -> dc.Result:
    return dc.solve(RISKS[name])


# Every fault once in each solver, and at the first calls of one.
ONE_FAULT = [
    *((name, fault, 1) for name in RISKS for fault in FAULTS),
    *(("pivoting", fault, call) for fault in FAULTS for call in (0, 2)),
]


@pytest.mark.parametrize(("name", "fault", "call"), ONE_FAULT)
def test_one_fault_costs_a_retry(
    name: str, fault: str, call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = clean_result(name)
    _spoil(monkeypatch, {call}, FAULTS[fault])
    result = dc.solve(RISKS[name])
    assert result.status == "converged"
    assert result.x is not None
    assert np.all(np.isfinite(result.x))
    if call == 0 and fault in ("start", "worse"):
        return  # another start
    assert result.value <= clean.value + 1e-6 * abs(clean.value)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        *(("newton", fault) for fault in ("LinAlgError", "nan", "nothing", "short")),
        *((name, "nan") for name in ("pivoting", "proximal_newton", "squares")),
    ],
)
def test_a_solver_that_always_fails_leaves_it_to_the_next(
    name: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, first = clean_result(name), choose(RISKS[name])[0]
    _spoil(monkeypatch, range(10**6), FAULTS[fault], only=first)
    result = dc.solve(RISKS[name])
    assert result.status == "converged"
    assert result.solver != first
    assert result.value == pytest.approx(clean.value, rel=1e-4)
    assert any(attempt.solver == first for attempt in result.history.attempts)


@pytest.mark.parametrize("fault", ["LinAlgError", "nan", "nothing"])
def test_where_all_fail_the_status_says_so(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _spoil(monkeypatch, range(10**6), FAULTS[fault])
    result = dc.solve(RISKS["newton"])
    assert result.status == "solver_failed"
    start = np.array([1.0, 1.0, 0.0])
    kept = dc.solve(RISKS["newton"], start=start)
    assert kept.status == "solver_failed"
    assert kept.x is not None
    assert np.array_equal(kept.x, start)


def test_interrupts_are_no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    _spoil(monkeypatch, {2}, _raise(KeyboardInterrupt))
    result = dc.solve(RISKS["newton"])
    assert result.status == "interrupted"
    assert result.x is not None


def test_failed_starts_are_on_record(monkeypatch: pytest.MonkeyPatch) -> None:
    _spoil(monkeypatch, {0}, FAULTS["MemoryError"])
    surrogate = RISKS["newton"].surrogate()
    surrogate.starts("convex", np.random.default_rng(0))
    (attempt,) = surrogate.record.take_attempts()
    assert surrogate.record.take_attempts() == ()
    assert attempt.solver == "newton"
    assert "MemoryError: injected" in attempt.outcome


def test_a_named_solver_has_the_others_for_witnesses() -> None:
    surrogate = RISKS["newton"].surrogate("CLARABEL")
    assert surrogate.solvers == ("CLARABEL",)
    assert surrogate.facts.verifiers[0] == "CLARABEL"
    assert {"newton", "cvxpy"} < set(surrogate.facts.verifiers)


def test_a_failure_keeps_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    _spoil(monkeypatch, {0}, FAULTS["IndexError"])
    surrogate = RISKS["newton"].surrogate()
    with pytest.raises(SubproblemError, match="newton raised IndexError: injected") as raised:
        surrogate.minimise(np.zeros(3), 1e-8, "newton")
    assert isinstance(raised.value.__cause__, IndexError)


# ---- cvxpy's solvers -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["nan", "raises", "huge"])
def test_a_fault_of_one_cvxpy_solver_leaves_it_to_the_next(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, number = Portfolio.minimise, itertools.count()

    def minimise(self: Portfolio, *rest: Any) -> None:
        real(self, *rest)
        if next(number) != 1:
            return
        if fault == "raises":
            raise IndexError("injected")
        for variable in self.problem.variables():
            spoiled = np.nan if fault == "nan" else 1e200
            variable.save_value(spoiled * np.ones(variable.shape))

    clean = dc.solve(RISKS["pivoting"], solver="cvxpy")
    monkeypatch.setattr(Portfolio, "minimise", minimise)
    result = dc.solve(RISKS["pivoting"], solver="cvxpy")
    assert result.status == "converged"
    assert result.value == pytest.approx(clean.value, rel=1e-6)


# ---- time ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["newton", "logistic", "multipliers", "smo"])
def test_a_deadline_that_has_passed_ends_a_solver(name: str) -> None:
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    base = {"newton": dc.squared_hinge(), "logistic": dc.logistic()}.get(name, dc.hinge())
    rows = kernel_margins(K, Y) if name == "smo" else binary_margins(X, Y)
    risk = Risk(rows, base)
    solver = make("newton" if name == "logistic" else name, risk)
    with pytest.raises(SubproblemError, match="the time limit ended"):
        solver.minimise(WeightedRisk(risk, np.ones(30)), np.zeros(rows.shape[1]), 1e-8, 0.0)
