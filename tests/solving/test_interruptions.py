"""What a solve keeps when solvers fail, time runs out or Ctrl-C is pressed; accelerated steps."""

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
import dcprog.solving.task as task_module
from dcprog.foundation.arrays import Array
from dcprog.starts.local import SmoothProblem
from tests.solving.capped_regression import A, B, nothing, regression, regression_value, watch


@pytest.fixture
def x() -> cp.Variable:
    return cp.Variable(3, name="x")


def test_a_wrong_optimum_is_caught(x: cp.Variable, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = dc.solve(regression(x), start={x: np.full(3, 2.0)}, solver="cvxpy")

    def wrong(number: int, solver: str, solution: Array) -> Array:
        return solution + 3.0 if solver == plain.solver else solution

    calls = watch(monkeypatch, wrong)
    result = dc.solve(regression(x), start={x: np.full(3, 2.0)}, solver="cvxpy")
    assert result.value == pytest.approx(plain.value, rel=1e-6)
    assert len(set(calls)) == 2
    assert {a.solver for a in result.history.attempts} == {plain.solver}
    assert all("rose" in a.outcome for a in result.history.attempts)


def test_the_best_point_survives_failing_solvers(
    x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = {x: np.full(3, 2.0)}

    def failing(number: int, solver: str, solution: Array) -> Array:
        if number > 1:
            raise dc.SubproblemError("failed", "on demand")
        return solution

    watch(monkeypatch, failing)
    result = dc.solve(regression(x), start=start, solver="cvxpy")
    assert (result.status, result.n_iter) == ("solver_failed", 1)
    assert result.value == pytest.approx(regression_value(x.value)) == result.history.value[-1]
    assert len(result.history.attempts) >= 3


@pytest.mark.parametrize("call", [2, 3])
def test_ctrl_c_inside_a_solver_keeps_the_best_point(
    call: int, x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int, solver: str, solution: Array) -> Array:
        if number == call:
            raise KeyboardInterrupt
        return solution

    watch(monkeypatch, interrupted)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.log(0.1 + cp.square(A @ x - B)))))
    result = dc.solve(problem, n_starts=3, solver="cvxpy")
    assert result.status == "interrupted"
    assert result.n_iter == call - 2
    assert len(result.starts) == 1
    assert result.value == pytest.approx(np.sum(np.log(0.1 + (A @ x.value - B) ** 2)))


def test_ctrl_c_before_there_is_a_point_is_passed_on(
    x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int, solver: str, solution: Array) -> Array:
        raise KeyboardInterrupt

    watch(monkeypatch, interrupted)
    with pytest.raises(KeyboardInterrupt):
        dc.solve(regression(x), solver="cvxpy")


def test_ctrl_c_in_a_later_start_keeps_the_earlier_ones(
    x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = watch(monkeypatch, nothing)
    first = dc.solve(regression(x), start="convex", solver="cvxpy")
    until = len(calls)

    def interrupted(number: int, solver: str, solution: Array) -> Array:
        if number > until:
            raise KeyboardInterrupt
        return solution

    monkeypatch.undo()
    watch(monkeypatch, interrupted)
    result = dc.solve(regression(x), start="convex", n_starts=3, solver="cvxpy")
    assert (result.value, len(result.starts)) == (first.value, 1)


def test_time_limit(x: cp.Variable) -> None:
    result = dc.solve(regression(x), start={x: np.full(3, 2.0)}, time_limit=1e-6, n_starts=50)
    assert result.status == "time_limit"
    assert len(result.starts) == 1
    assert result.value <= result.history.value[0]


@pytest.mark.parametrize("solver", ["auto", "cvxpy"])
def test_callback_stops_and_sees_the_variables(solver: str, x: cp.Variable) -> None:
    def callback(progress: dc.Progress) -> bool:
        np.testing.assert_array_equal(x.value, progress.x)
        return progress.n_iter == 1

    start = {x: np.full(3, 2.0)}
    result = dc.solve(regression(x), start=start, solver=solver, callback=callback, n_jobs=2)
    assert (result.status, result.n_iter) == ("interrupted", 1)


@pytest.mark.parametrize("acceleration", ["linesearch", "squarem"])
@pytest.mark.parametrize("constrained", [False, True])
def test_acceleration_reaches_a_critical_point_downhill(
    acceleration: str, constrained: bool, x: cp.Variable
) -> None:
    constraints = [cp.norm(x) >= 1, cp.sum(x) <= 3] if constrained else []
    problem = cp.Problem(cp.Minimize(cp.sum(cp.log(0.01 + cp.square(A @ x - B)))), constraints)
    start = {x: np.array([1.0, 1.0, 1.0])}
    result = dc.solve(problem, start=start, solver="cvxpy", acceleration=acceleration, max_iter=300)
    assert result.status == "converged"
    assert result.gap <= 1e-6 * (1 + abs(result.value))
    assert np.all(np.diff(result.history.value) <= 1e-7 * (1 + abs(result.value)))
    assert result.violation <= 1e-6


def test_an_interrupt_of_the_smooth_method_keeps_the_run_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(task_module, "HASTY", 2)  # a step or two, then the smooth method
    monkeypatch.setattr(SmoothProblem, "minimised", interrupted)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 6))
    x = cp.Variable(6, value=rng.normal(size=6))
    powers = cp.power(cp.square(A @ x) - 1, 2)
    problem = cp.Problem(cp.Minimize(cp.sum(powers)), [cp.sum_squares(x) == 1])
    result = dc.solve(problem, start="current", n_starts=1)
    assert result.status == "interrupted"
    assert result.x is not None
    assert np.isfinite(result.value)
