"""A problem compiled once: every solver's answer, moving Parameters, statuses, bounds."""

from collections.abc import Callable
from unittest.mock import Mock

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from dcprog import SubproblemError
from dcprog.solvers.conic.compiled import CompiledProblem, check_solver, problem_class, solver_order

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = np.sign(X @ np.array([1.0, -2.0, 0.5]) + 0.3 * RNG.normal(size=40))

QP_SOLVERS = ["CLARABEL", "ECOS", "OSQP", "PIQP", "SCS"]
LP_SOLVERS = ["CLARABEL", "ECOS", "HIGHS", "PIQP", "SCIPY", "SCS"]
TOLERANCE = {"SCS": 1e-7}  # first-order: slower the more is asked


def needs(solver: str) -> str:
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    return solver


def hinge(w: cp.Variable, b: cp.Variable) -> cp.Expression:
    """Written the way for which cvxpy infers wrong bounds."""
    return cp.sum(cp.pos(1 - cp.multiply(Y, X @ w + b)))


def solve(problem: cp.Problem, solver: str) -> float:
    CompiledProblem(problem, needs(solver)).minimise(TOLERANCE.get(solver, 1e-9))
    return float(problem.objective.value)


def reference(problem: cp.Problem) -> float:
    """The optimum from a solver that takes no variable bounds."""
    return float(problem.solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("solver", QP_SOLVERS)
def test_solvers_agree_on_a_quadratic_program(solver: str) -> None:
    w, b = cp.Variable(3), cp.Variable()
    problem = cp.Problem(cp.Minimize(hinge(w, b) + 0.5 * cp.sum_squares(w)))
    assert problem_class(problem) == "QP"
    assert solve(problem, solver) == pytest.approx(reference(problem), rel=1e-5)


@pytest.mark.parametrize("solver", LP_SOLVERS)
def test_solvers_agree_on_a_linear_program(solver: str) -> None:
    w, b = cp.Variable(3), cp.Variable()
    problem = cp.Problem(cp.Minimize(hinge(w, b) + 0.5 * cp.norm1(w)))
    assert problem_class(problem) == "LP"
    assert solve(problem, solver) == pytest.approx(reference(problem), rel=1e-5)


@pytest.mark.parametrize("solver", LP_SOLVERS)
@pytest.mark.parametrize("atom", [cp.abs, cp.pos, lambda e: cp.maximum(e, -e, 0.1)])
def test_inferred_bounds_do_not_reach_the_solver(
    solver: str, atom: Callable[[cp.Expression], cp.Expression]
) -> None:
    w = cp.Variable(3)
    residual = cp.multiply(Y, 1 - X @ w)
    objective = cp.Minimize(cp.sum(atom(residual)))
    problem = cp.Problem(objective, [cp.sum(w) <= 5])  # SCS asks for a constraint
    assert solve(problem, solver) == pytest.approx(reference(problem), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("solver", LP_SOLVERS)
def test_users_own_bounds_are_kept(solver: str) -> None:
    w = cp.Variable(3, bounds=[-1, np.array([0.5, 1.0, 2.0])])
    v = cp.Variable(nonneg=True)
    problem = cp.Problem(cp.Minimize(v - cp.sum(w)), [v >= w[0] - 3])
    assert solve(problem, solver) == pytest.approx(-3.5, rel=1e-5)
    np.testing.assert_allclose(w.value, [0.5, 1.0, 2.0], atol=1e-4)
    assert v.value == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS", "HIGHS", "OSQP", "PIQP", "SCIPY", "SCS"])
def test_infeasible(solver: str) -> None:
    w = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(w)), [w >= 1, cp.sum(w) <= 1])
    with pytest.raises(SubproblemError) as caught:
        CompiledProblem(problem, needs(solver)).minimise(1e-6)
    # PIQP before 0.7 runs into its iteration limit here; the loop then asks the next solver.
    assert caught.value.status in {"infeasible", "failed" if solver == "PIQP" else "infeasible"}
    assert solver in str(caught.value)


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS", "HIGHS", "OSQP", "PIQP", "SCIPY", "SCS"])
def test_unbounded(solver: str) -> None:
    w = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(w)), [w <= 1])
    with pytest.raises(SubproblemError) as caught:
        CompiledProblem(problem, needs(solver)).minimise(1e-6)
    assert caught.value.status == "unbounded"


@pytest.mark.parametrize("solver", ["CLARABEL", "OSQP"])
def test_time_limit_is_a_failure(solver: str) -> None:
    rng = np.random.default_rng(0)
    w = cp.Variable(60)
    data = rng.normal(size=(400, 60))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.abs(data @ w - 1)) + cp.sum_squares(w)))
    compiled = CompiledProblem(problem, needs(solver))
    with pytest.raises(SubproblemError) as caught:
        compiled.minimise(1e-12, time_limit=1e-6)
    assert caught.value.status == "failed"
    compiled.minimise(1e-6)  # and the next call is not spoilt by it
    assert np.isfinite(problem.objective.value)


@pytest.mark.parametrize("solver", QP_SOLVERS)
def test_parameters_move_without_compiling_again(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    w, b = cp.Variable(3), cp.Variable()
    weight, tilt = cp.Parameter(40, nonneg=True), cp.Parameter(3)
    margins = cp.multiply(Y, X @ w + b)
    problem = cp.Problem(
        cp.Minimize(weight @ cp.pos(1 - margins) + tilt @ w + 0.5 * cp.sum_squares(w))
    )
    compiled = CompiledProblem(problem, needs(solver))
    apply = Mock(side_effect=compiled._chain.apply)
    monkeypatch.setattr(compiled._chain, "apply", apply)
    for _ in range(4):
        weight.value, tilt.value = RNG.uniform(size=40), RNG.normal(size=3)
        compiled.minimise(TOLERANCE.get(solver, 1e-9))
        found = float(problem.objective.value)
        assert found == pytest.approx(recomputed(weight.value, tilt.value), rel=1e-5)
    assert apply.call_count == 1


def recomputed(weight: np.ndarray, tilt: np.ndarray) -> float:
    """The same problem from constants, explicit slacks and another road through cvxpy."""
    w, b, s = cp.Variable(3), cp.Variable(), cp.Variable(40, nonneg=True)
    objective = weight @ s + tilt @ w + 0.5 * cp.sum_squares(w)
    constraints = [s >= 1 - (Y[:, None] * X) @ w - Y * b]
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL))


def test_times_are_kept() -> None:
    w = cp.Variable(3)
    compiled = CompiledProblem(cp.Problem(cp.Minimize(cp.sum_squares(w - 1))), "CLARABEL")
    compiled.minimise(1e-8)
    assert compiled.compile_time > 0
    first = compiled.solve_time
    compiled.minimise(1e-8)
    assert compiled.solve_time > first > 0


def test_tolerance_may_change_between_solves() -> None:
    w, c = cp.Variable(3), cp.Parameter(3, value=np.ones(3))
    for solver in ("OSQP", "CLARABEL"):
        problem = cp.Problem(cp.Minimize(cp.sum_squares(w - c) + cp.norm1(w)))
        compiled = CompiledProblem(problem, solver)
        for tolerance in (1e-3, 1e-10):
            compiled.minimise(tolerance)
        np.testing.assert_allclose(w.value, 0.5, atol=1e-7)


def test_unknown_solver() -> None:
    with pytest.raises(ValueError, match="not installed or not known"):
        check_solver("NO_SUCH_SOLVER")
    assert check_solver("clarabel") == "CLARABEL"
    assert check_solver(None) is None


def test_solver_that_does_not_fit_the_class() -> None:
    problem = cp.Problem(cp.Minimize(cp.norm(X @ cp.Variable(3) - 1)))
    assert problem_class(problem) == "conic"
    with pytest.raises(ValueError, match="cannot handle this conic"):
        CompiledProblem(problem, "HIGHS")


def test_order_of_solvers() -> None:
    assert solver_order("QP", "OSQP")[0] == "OSQP"
    assert len(set(solver_order("QP", "OSQP"))) == len(solver_order("QP", "OSQP"))
    for kind in ("LP", "QP", "conic"):
        assert "CLARABEL" in solver_order(kind, None)


def test_not_dpp_is_refused() -> None:
    a, b, w = cp.Parameter(value=1.0), cp.Parameter(value=1.0), cp.Variable()
    with pytest.raises((ValueError, cp.error.DPPError)):
        CompiledProblem(cp.Problem(cp.Minimize(cp.square(w) + a * b * w)), "CLARABEL")


@pytest.mark.parametrize("solver", ["CLARABEL", "PIQP", "HIGHS", "OSQP", "ECOS", "SCS"])
def test_a_moved_cost_is_what_cvxpy_would_pass_on(solver: str) -> None:
    if solver not in cp.installed_solvers():
        pytest.skip(f"{solver} is not installed")
    rng = np.random.default_rng(0)
    x, weight, tilt = cp.Variable(3), cp.Parameter(6, nonneg=True), cp.Parameter(3)
    loss = cp.sum(cp.multiply(weight, cp.abs(rng.normal(size=(6, 3)) @ x - 1)))
    problem = cp.Problem(cp.Minimize(loss + tilt @ x), [cp.abs(x) <= 2])
    compiled = CompiledProblem(problem, solver)
    for _ in range(3):
        weight.value, tilt.value = rng.random(6), rng.normal(size=3)
        data, _ = compiled._data()
    expected, _ = compiled._chain.solver.apply(compiled._program)
    assert compiled._constant is not None
    for key in ("q", "c", "b", "h", "G"):
        if isinstance(expected.get(key), np.ndarray):
            assert np.array_equal(data[key], expected[key]), key
    assert ("q" in data) or ("c" in data)


def test_a_parameter_in_a_constraint_is_passed_on_in_full() -> None:
    x, bound = cp.Variable(2), cp.Parameter(2)
    compiled = CompiledProblem(cp.Problem(cp.Minimize(cp.sum(x)), [x >= bound]), "CLARABEL")
    for value in ([1.0, 2.0], [3.0, 4.0], [-5.0, 6.0]):
        bound.value = np.array(value)
        compiled.minimise(1e-9)
        assert np.allclose(x.value, value)
    assert compiled._constant is None


def test_a_cached_solver_is_set_up_anew_for_entries_at_other_places() -> None:
    """OSQP takes new entries of P by their order: with fewer of them it kept the old ones."""
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - [1.0, 2.0, 3.0])), [cp.sum(x) <= 3])
    compiled = CompiledProblem(problem, needs("OSQP"))
    data, _ = compiled._data()
    compiled._call(data, 1e-9, None)
    P = data["P"].toarray()
    P += 0.01 * np.eye(len(P))[::-1]
    fresh = CompiledProblem(problem, "OSQP")
    fresh._data()
    moved = {**data, "P": sp.csc_array(P)}
    expected = fresh._call(moved, 1e-9, None).x
    assert compiled._call(moved, 1e-9, None).x == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS", "SCS"])
def test_a_quadratic_form_of_a_convex_argument(solver: str) -> None:
    z, matrix = cp.Variable(3), np.eye(40) + 0.1
    slack = cp.Variable(40, nonneg=True)
    composed = cp.Problem(cp.Minimize(cp.quad_form(cp.pos(1 - X @ z), matrix) + cp.sum_squares(z)))
    plain = cp.Problem(
        cp.Minimize(cp.quad_form(slack, matrix) + cp.sum_squares(z)), [slack >= 1 - X @ z]
    )
    plain.solve(solver="CLARABEL")
    assert solve(composed, solver) == pytest.approx(plain.value, rel=1e-6)
