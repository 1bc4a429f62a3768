"""The solvers of one problem: any one missing, forgotten solutions, limits of time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import cvxpy as cp
import numpy as np
import pytest

from dcprog import SubproblemError
from dcprog.solvers.conic import compiled
from dcprog.solvers.conic.compiled import CompiledProblem, installed_solvers, options
from dcprog.solvers.conic.portfolio import Portfolio

RNG = np.random.default_rng(0)
Y = RNG.choice([-1.0, 1.0], 400)
X = RNG.normal(size=(400, 30)) + 0.3 * Y[:, None]


def hinge(penalty: Callable[[cp.Variable], cp.Expression]) -> cp.Problem:
    w, b = cp.Variable(30), cp.Variable()
    loss = cp.sum(cp.pos(1 - (Y[:, None] * X) @ w - Y * b))
    return cp.Problem(cp.Minimize(loss + penalty(w)))


def linear() -> cp.Problem:
    return hinge(lambda w: 5 * cp.norm1(w))


def quadratic() -> cp.Problem:
    return hinge(lambda w: 0.5 * cp.sum_squares(w))


def second_order() -> cp.Problem:
    return hinge(lambda w: 5 * cp.norm(w))


def conic() -> cp.Problem:
    return hinge(lambda w: 5 * cp.log_sum_exp(w))


@pytest.mark.parametrize("missing", ["PIQP", "HIGHS", "CLARABEL", "OSQP", "ECOS", "SCS"])
@pytest.mark.parametrize("make", [linear, quadratic, second_order, conic])
def test_any_one_solver_may_be_missing(
    missing: str, make: Callable[[], cp.Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = make()
    expected = float(problem.solve(solver=cp.CLARABEL))
    left = tuple(name for name in installed_solvers() if name != missing)
    monkeypatch.setattr(compiled, "installed_solvers", lambda: left)
    portfolio = Portfolio(problem)
    assert missing not in portfolio.order
    assert ("ARROW" in portfolio.order) == (make is not conic)
    for solver in portfolio.order[:2]:
        portfolio.minimise(solver, 1e-8)
        assert float(problem.objective.value) == pytest.approx(expected, rel=1e-6)
        assert portfolio.bound() == pytest.approx(expected, rel=1e-5)
        assert missing not in portfolio._compiled


def test_cones_decide_who_is_asked() -> None:
    for make in (second_order, conic):
        assert "ECOS" in Portfolio(make()).order or "ECOS" not in installed_solvers()
    S = cp.Variable((2, 2), symmetric=True)
    semidefinite = cp.Problem(cp.Minimize(cp.norm(S - np.eye(2), "fro")), [S >> 0])
    assert "ECOS" not in Portfolio(semidefinite).order
    assert Portfolio(semidefinite, "ECOS").order[0] == "ECOS"


@pytest.mark.parametrize("solver", ["ARROW", "PIQP", "OSQP", "CLARABEL", "ECOS", "SCS"])
def test_after_a_reset_the_bits_are_those_of_the_first_run(solver: str) -> None:
    w, c = cp.Variable(30), cp.Parameter(400, nonneg=True)
    loss = c @ cp.pos(1 - (Y[:, None] * X) @ w)
    problem = cp.Problem(cp.Minimize(loss + 0.5 * cp.sum_squares(w)))
    portfolio = Portfolio(problem, solver)
    rng = np.random.default_rng(1)
    runs = [factor * rng.random(400) for factor in (1.0, 1e-2, 5.0)]

    def run(weights: list[np.ndarray]) -> list[bytes]:
        points = []
        for c.value in weights:
            portfolio.minimise(solver, 1e-6)
            points.append(np.asarray(w.value).tobytes())
        return points

    first = run(runs)
    portfolio.reset()
    assert run(runs) == first
    run([30 * runs[0], runs[2]])
    portfolio.reset()
    assert portfolio.bound() == -np.inf
    assert not portfolio.inaccurate
    assert run(runs) == first
    portfolio = Portfolio(problem, solver)
    assert run(runs) == first
    # run by run, as every worker would have it
    portfolio.reset()
    one = run(runs[:1])
    portfolio.reset()
    other = run(runs[1:2])
    fresh = Portfolio(problem, solver)
    fresh.minimise(solver, 1e-6)
    assert np.asarray(w.value).tobytes() == other[0]
    assert one[0] == first[0]


@pytest.mark.parametrize("solver", ["ARROW", "PIQP", "CLARABEL", "ECOS"])
def test_an_objective_may_move_by_decades(solver: str) -> None:
    w, c = cp.Variable(30), cp.Parameter(nonneg=True)
    loss = cp.sum(cp.pos(1 - (Y[:, None] * X) @ w)) + 0.5 * cp.sum_squares(w)
    problem = cp.Problem(cp.Minimize(c * loss))
    portfolio = Portfolio(problem, solver)
    values = []
    for c.value in (1.0, 1e-9, 1e12, 1e-12):
        portfolio.minimise(solver, 1e-8)
        values.append(float(loss.value))
        assert portfolio.bound() == pytest.approx(c.value * values[0], rel=1e-6)
    np.testing.assert_allclose(values, values[0], rtol=1e-7)


def test_time_becomes_steps_where_a_solver_takes_none() -> None:
    assert options("PIQP", 1e-6, 1.0, 0.1)["max_iter"] == 10
    assert options("ECOS", 1e-6, 1e-9, 0.1)["max_iters"] == 1
    assert options("PIQP", 1e-6, 1.0, None)["max_iter"] == 500
    assert options("CLARABEL", 1e-6, 2.0, None)["time_limit"] == 2.0
    assert options("SCS", 1e-6, 2.0, 0.1)["time_limit_secs"] == 2.0
    assert options("SCIPY", 1e-6, 2.0, 0.1) == {"scipy_options": {"time_limit": 2.0}}


@pytest.mark.parametrize("solver", ["PIQP", "ECOS", "CLARABEL", "HIGHS", "SCS"])
def test_a_limit_does_not_spoil_the_next_solve(solver: str) -> None:
    problem = linear()
    held = CompiledProblem(problem, solver)
    held.minimise(1e-6)
    expected = float(problem.objective.value)
    with suppress(SubproblemError):
        held.minimise(1e-6, time_limit=1e-5)
    held.minimise(1e-6)
    assert float(problem.objective.value) == pytest.approx(expected, rel=1e-5)


def test_of_little_accuracy_a_first_order_method_asks_fewer_steps() -> None:
    asked = [options("SCS", tol, None, None)["max_iters"] for tol in (1e-4, 1e-6, 1e-8)]
    assert asked[0] == asked[1] < asked[2]
