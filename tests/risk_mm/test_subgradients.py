"""The shortest subgradient is a subgradient, however well a solver finds it."""

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.deadline import Deadline
from dcprog.risk_mm.stationarity import Near, shortest, stationarity

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6, 3))
SORTS = {
    "losses": lambda: dc.Risk(ROWS, dc.hinge(0.0), penalty=dc.l2(1.0)),
    "maxima": lambda: dc.Risk(
        ROWS, dc.hinge(0.0), groups=[0, 0, 1, 1, 2, 2], aggregate="max", penalty=dc.l2(1.0)
    ),
    "coefficients": lambda: dc.Risk(ROWS, dc.logistic(), penalty=dc.l1(9.0)),
    "groups": lambda: dc.Risk(ROWS, dc.logistic(), penalty=dc.group_lasso(9.0, [0, 0, 0])),
}


def at_zero(name: str) -> Near:
    risk = SORTS[name]()
    surrogate = risk.surrogate()
    surrogate.tighten(np.zeros(3))
    return Near(surrogate.problem, np.zeros(3), np.ones(3), 1.0, 1e-5)


def missing(monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    """Solvers whose answers miss the constraints, and say so as cvxpy does."""
    solve = cp.Problem.solve

    def inaccurate(problem: cp.Problem, **options: Any) -> Any:
        value = solve(problem, **options)
        for variable in problem.variables():
            variable.save_value(variable.value * (1 + by) + by)
        warnings.warn("Solution may be inaccurate. Try another solver.", stacklevel=2)
        return value

    monkeypatch.setattr(cp.Problem, "solve", inaccurate)


@pytest.mark.parametrize("name", SORTS)
def test_an_inaccurate_solver_shortens_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody is told of it: what it chose is moved into its constraints."""
    near = at_zero(name)
    exact = shortest(near)
    assert exact is not None
    assert exact.length <= 1e-6  # 0 is the minimum of each
    missing(monkeypatch, by=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = shortest(near)
    assert found is not None
    risk = near.risk

    def F(theta: np.ndarray) -> float:
        return float(np.sum(risk.loss_values(theta)) + risk.penalty_value(theta))

    for direction in RNG.normal(size=(50, 3)):  # of a convex F: slope at 0 ≥ g·d
        slope = (F(1e-6 * direction) - F(np.zeros(3))) / 1e-6
        assert slope >= found.vector @ direction - 1e-4


def limits_of(calls: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Note the time limit of every least-norm problem that is solved."""
    solve = cp.Problem.solve

    def noted(problem: cp.Problem, **options: Any) -> Any:
        calls.append(options.get("time_limit"))
        return solve(problem, **options)

    monkeypatch.setattr(cp.Problem, "solve", noted)


@pytest.mark.parametrize("name", SORTS)
def test_the_solver_has_the_time_that_is_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    limits_of(calls, monkeypatch)
    near = at_zero(name)
    assert shortest(near) is not None
    assert shortest(near, Deadline(60.0)) is not None
    assert shortest(near, Deadline(0.0)) is None
    assert len(calls) == 2
    assert calls[0] is None
    assert 0 < calls[1] <= 60


def test_a_point_without_other_choices_needs_one_subgradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []
    limits_of(calls, monkeypatch)
    problem = at_zero("losses").problem
    found = stationarity(problem, np.zeros(3), np.ones(3), 1.0)
    assert found.residual <= 1e-6
    assert found.complete
    assert len(calls) == 1
    assert np.isnan(stationarity(problem, np.zeros(3), np.ones(3), 1.0, time_limit=0.0).residual)
    assert len(calls) == 1
