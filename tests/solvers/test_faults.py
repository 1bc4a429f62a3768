"""What solvers raise or return: a failed attempt, never an exception of theirs, never NaN."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog import SubproblemError
from dcprog.foundation.errors import UnfitSolver
from dcprog.solvers.conic.arrow import ArrowProblem
from dcprog.solvers.conic.compiled import CompiledProblem
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.faults import failures, valueless


class Panic(BaseException):
    """As compiled solvers raise it."""


ERRORS = [IndexError, MemoryError, TypeError, np.linalg.LinAlgError, KeyError, Panic]


def quadratic() -> cp.Problem:
    x = cp.Variable(2)
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1) + cp.norm1(x)))


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("where", ["apply", "solve_via_data", "invert"])
def test_what_a_solver_raises_is_a_failure(
    error: type[BaseException], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **options: Any) -> Any:
        raise error("broken")

    compiled = CompiledProblem(quadratic(), "CLARABEL")
    with monkeypatch.context() as patch:
        patch.setattr(compiled._chain.solver, where, broken)
        with pytest.raises(SubproblemError) as caught:
            compiled.minimise(1e-8)
    assert caught.value.status == "failed"
    assert error.__name__ in str(caught.value)
    compiled.minimise(1e-8)
    assert compiled.problem.objective.value == pytest.approx(1.5)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_failure(interrupt: type[BaseException]) -> None:
    with pytest.raises(interrupt), failures("any"):
        raise interrupt


def test_a_refused_option_is_told_in_the_solver_s_words() -> None:
    with pytest.raises(UnfitSolver, match=r"max_iters: Clarabel: unrecognized .*'max_iters'$"):
        dc.solve(quadratic(), solver="CLARABEL", solver_options={"max_iters": 3})


def test_our_own_solver_fails_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = cp.Variable(3), cp.Variable()
    hinges = cp.sum(cp.pos(1 - np.arange(30.0).reshape(10, 3) @ x - y))
    arrow = ArrowProblem(cp.Problem(cp.Minimize(hinges + cp.sum_squares(x))))
    assert arrow.refusal is None

    def broken(*args: Any, **options: Any) -> Any:
        raise IndexError("broken")

    monkeypatch.setattr("dcprog.solvers.conic.arrow.primal_dual", broken)
    with pytest.raises(SubproblemError, match="ARROW: IndexError"):
        arrow.minimise(1e-8)


def test_canonicalisers_find_no_values() -> None:
    x = cp.Variable(3)
    x.save_value(np.full(3, np.nan))
    problem = cp.Problem(cp.Minimize(cp.sum_largest(cp.abs(x - 1), 1.5)))
    with valueless(problem):
        assert x.value is None
    assert np.all(np.isnan(np.asarray(x.value)))
    for solver in ("CLARABEL", "HIGHS"):
        x.save_value(np.full(3, np.nan))
        CompiledProblem(problem, solver).minimise(1e-9)
        np.testing.assert_allclose(np.asarray(x.value), 1, atol=1e-6)


@pytest.mark.parametrize("k", [1.5, 3])
def test_what_cvxpy_takes_is_taken(k: float) -> None:
    x = cp.Variable(3)
    capped = cp.sum(cp.minimum(cp.square(x), 1))
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum_largest(cp.abs(x - 1), k) + capped)))
    assert result.status == "converged"


def test_cvar_minus_cvar() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 3))
    b, x = A @ np.ones(3), cp.Variable(3)
    spread = cp.cvar(A @ x - b, 0.9) - cp.cvar(b - A @ x, 0.9)
    problem = cp.Problem(cp.Minimize(spread), [cp.abs(x) <= 5])
    result = dc.solve(problem, start="convex", n_starts=1)
    assert np.isfinite(result.value)


def test_groups_of_no_rows() -> None:
    n, y = cp.Variable(3, nonneg=True), cp.Variable()
    objective = cp.minimum(y, n[0]) + 0.05 * (cp.sum_squares(n) + cp.square(y))
    problem = cp.Problem(cp.Minimize(objective))
    assert dc.solve(problem, start="convex", n_starts=1).status == "converged"
    u, v = cp.Variable(), cp.Variable()
    saddle = cp.Problem(cp.Minimize(u**2 + v**2), [u * v == 4, u >= 0.5])
    assert dc.solve(saddle, n_starts=1).value == pytest.approx(8, rel=1e-5)


def test_a_solution_that_is_not_finite_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    portfolio = Portfolio(quadratic(), "CLARABEL")
    portfolio.minimise("CLARABEL", 1e-8)
    kept = [np.array(v.value) for v in portfolio.problem.variables()]
    chain: Any = portfolio._compiled["CLARABEL"]
    solver, real = chain._chain.solver, chain._chain.solver.invert

    def lying(*args: Any) -> Any:
        solution = real(*args)
        spoilt = {k: np.full(np.shape(v), np.nan) for k, v in solution.primal_vars.items()}
        solution.primal_vars = spoilt
        return solution

    monkeypatch.setattr(solver, "invert", lying)
    with pytest.raises(SubproblemError, match="NaN"):
        portfolio.minimise("CLARABEL", 1e-8)
    for variable, value in zip(portfolio.problem.variables(), kept, strict=True):
        np.testing.assert_array_equal(variable.value, value)


def test_no_solver_is_called_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a step nor to look around at the end."""
    limit, nap, calls = 1.2, 0.3, []
    minimise = Portfolio.minimise

    def slow(self: Portfolio, *args: Any, **options: Any) -> Any:
        calls.append(time.perf_counter() - begun)
        time.sleep(nap)
        return minimise(self, *args, **options)

    x = cp.Variable(2)
    on_a_circle = cp.Problem(cp.Minimize(cp.norm1(x - [2, 0.5])), [cp.sum_squares(x) == 2])
    dc.solve(on_a_circle)  # compiled before the clock runs
    monkeypatch.setattr(Portfolio, "minimise", slow)
    begun = time.perf_counter()
    dc.solve(on_a_circle, time_limit=limit)
    assert calls
    assert max(calls) <= limit + nap / 2  # a busy machine may wait between the check and a call


@pytest.mark.parametrize("far", [1e100, 1e200])
def test_a_wild_solution_sets_no_edge(far: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the start is an absurd point, logarithms do not fall for ever."""
    minimise, calls = Portfolio.minimise, [0]

    def wild(self: Portfolio, *args: Any, **options: Any) -> Any:
        minimise(self, *args, **options)
        calls[0] += 1
        if calls[0] == 1:
            for variable in self.problem.variables():
                variable.save_value(np.full(variable.shape, far))

    A = np.random.default_rng(0).standard_normal((20, 3))
    w = cp.Variable(3)
    goal = cp.sum(cp.huber(A @ w - 1)) + 2 * cp.sum(cp.log(0.1 + cp.abs(w)))
    monkeypatch.setattr(Portfolio, "minimise", wild)
    problem = cp.Problem(cp.Minimize(goal))
    assert dc.solve(problem, start="convex", n_starts=1).status == "converged"
