"""Starts of ``dc.solve``: where its runs begin, which one wins, what is resumed."""

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.lin_ops import lin_utils

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.problem.surrogate import ProblemSurrogate
from tests.solving.capped_regression import (
    A,
    B,
    capped,
    regression,
    regression_value,
    watch,
)


@pytest.fixture
def x() -> cp.Variable:
    return cp.Variable(3, name="x")


def test_the_best_of_the_starts_is_returned(x: cp.Variable) -> None:
    result = dc.solve(regression(x), start="convex", n_starts=6, random_state=1)
    kinds = [s.kind for s in result.starts]
    assert kinds == ["convex", "half", "random", "half", "random", "half"]
    values = [s.value for s in result.starts]
    assert max(values) > min(values) + 1e-3
    assert result.value == min(values) == pytest.approx(regression_value(x.value))
    best = result.starts[int(np.argmin(values))]
    assert (result.n_iter, result.gap) == (best.n_iter, best.gap)
    assert result.solve_time <= result.total_time


def test_starts_repeat(x: cp.Variable) -> None:
    problem = cp.Problem(regression(x).objective, [cp.norm(x) >= 1])
    options: dict[str, Any] = {"start": "convex", "n_starts": 4}
    alone = dc.solve(problem, random_state=3, **options)
    x.value = np.full(3, 7.0)  # what the variables hold does not matter
    again = dc.solve(problem, random_state=3, **options)
    assert [s.kind for s in again.starts] == [s.kind for s in alone.starts]
    for one, other in zip(alone.starts, again.starts, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-9)
        assert other.n_iter == one.n_iter
    np.testing.assert_allclose(again.variables[x], alone.variables[x], atol=1e-8)
    reseeded = dc.solve(problem, random_state=4, **options)
    assert [s.value for s in reseeded.starts[1:]] != [s.value for s in alone.starts[1:]]


@pytest.mark.parametrize("state", [5, np.random.RandomState, np.random.default_rng, None])
def test_random_states_of_every_kind(state: Any, x: cp.Variable) -> None:
    def run() -> float:
        made = state(2) if callable(state) else state
        return dc.solve(regression(x), start="random", random_state=made).history.value[0]

    assert run() == run()


def test_the_penalty_starts_afresh_for_every_start(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 1, cp.sum(x) == 0])
    firsts: list[Array] = []
    several = dc.solve(
        problem,
        start={x: np.zeros(3)},  # the norm has no slope there
        n_starts=3,
        callback=lambda p: firsts.append(p.x) if p.n_iter == 0 else None,
    )
    assert several.starts[0].status == "converged"
    for first, summary in zip(firsts, several.starts, strict=True):
        alone = dc.solve(problem, start={x: first})
        assert alone.n_iter == summary.n_iter
        assert alone.value == pytest.approx(summary.value, rel=1e-9)


def test_half_starts_use_half_of_the_terms() -> None:
    data = np.array([0.0] * 10 + [1.0] * 10)
    v = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.sum(cp.log(1 + cp.square(v - data)))))
    firsts: list[float] = []
    dc.solve(
        problem,
        start="convex",
        n_starts=8,
        solver="cvxpy",
        callback=lambda p: firsts.append(float(p.x[0])) if p.n_iter == 0 else None,
    )
    convex, halves = firsts[0], firsts[1::2]
    assert convex == pytest.approx(0.5, abs=1e-6)
    assert len(set(np.round(halves, 9))) > 1
    for half in halves:  # the mean of a random half of the data
        assert 0 <= half <= 1
        assert abs(half - 0.5) < 0.4


def fail_first(monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
    def meddle(number: int, solver: str, solution: Array) -> Array:
        if number <= failures:
            raise dc.SubproblemError("failed", "on demand")
        return solution

    watch(monkeypatch, meddle)


def test_a_start_that_fails_does_not_win(x: cp.Variable, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(A @ x - B)))
    plain = dc.solve(problem).value
    n = len(ProblemSurrogate(problem).solvers)
    fail_first(monkeypatch, n + 2 * n + 1)  # at the convex start, then from a random point
    result = dc.solve(problem, n_starts=3)
    assert [s.status for s in result.starts] == ["solver_failed", "converged", "converged"]
    assert result.status == "converged"
    assert result.value == pytest.approx(plain, rel=1e-6)


def test_a_feasible_run_beats_a_lower_value_that_misses_a_constraint(x: cp.Variable) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 1])
    options: dict[str, Any] = {"n_starts": 6, "max_iter": 1, "random_state": 0}
    result = dc.solve(problem, start={x: np.array([0.01, 0.0, 0.0])}, **options)
    assert {s.violation > 1e-6 for s in result.starts} == {True, False}
    assert min(s.value for s in result.starts) < 0.9
    assert result.violation <= 1e-6
    assert result.value >= 1 - 1e-6


def test_numbers_of_variables_do_not_clash_in_another_process(
    x: cp.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcprog.engine.track import Settings
    from dcprog.solving.task import ProblemTask

    goal = cp.log(1 + capped(A @ x - B, 2)) + cp.exp(cp.minimum(cp.abs(x[0] - 1), 1))
    problem = cp.Problem(cp.Minimize(goal))
    plain = dc.solve(problem, start="convex")
    packed = pickle.dumps(ProblemTask(problem, None, Settings()))
    monkeypatch.setattr(lin_utils.ID_COUNTER, "count", 1)  # as in a fresh process
    task = pickle.loads(packed)
    assert lin_utils.get_id() > x.id
    run = task("convex", np.random.SeedSequence(0))
    assert run is not None
    assert run.value == pytest.approx(plain.value)


@pytest.mark.parametrize("packed", [False, True])
def test_a_result_is_resumed(packed: bool, x: cp.Variable) -> None:
    start = {x: np.full(3, 2.0)}
    whole = dc.solve(regression(x), start=start)
    part = dc.solve(regression(x), start=start, max_iter=1)
    assert part.status == "max_iter"
    assert np.isfinite(part.gap)
    x.value = None
    rest = dc.solve(regression(x), start=pickle.loads(pickle.dumps(part)) if packed else part)
    assert rest.history.value[0] == part.value
    assert rest.value == pytest.approx(whole.value, rel=1e-9)
    assert rest.n_iter == whole.n_iter - 1


def test_the_values_of_the_variables_are_a_start(x: cp.Variable) -> None:
    x.value = np.array([1.0, -1.0, 2.0])
    result = dc.solve(regression(x), start="current")
    assert result.history.value[0] == pytest.approx(regression_value(np.array([1.0, -1.0, 2.0])))
    flat = dc.solve(regression(x), start=np.array([1.0, -1.0, 2.0]))
    np.testing.assert_array_equal(flat.history.value, result.history.value)


def test_where_a_function_has_no_slope_at_0_a_random_point_is_the_start() -> None:
    x = cp.Variable(bounds=[1e-3, 10])
    problem = cp.Problem(cp.Minimize(cp.nlp.cos(cp.power(x, -1.5))))
    result = dc.solve(problem, random_state=0)
    assert result.status == "converged"
    assert result.value == pytest.approx(-1.0, abs=1e-5)
