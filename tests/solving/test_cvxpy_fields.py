"""``problem.solve(method="dc")``: cvxpy's own fields, words and habits."""

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.solving.cvxpy_fields import STATUS

RNG = np.random.default_rng(3)
TARGET = np.array([0.3, 0.2])


def away_from(x: cp.Variable) -> tuple[cp.Problem, list[cp.Constraint]]:
    """The nearest point to a target outside the unit disc, right of 0.9."""
    constraints = [cp.norm(x) >= 1, x[0] >= 0.9]
    return cp.Problem(cp.Minimize(cp.sum_squares(x - TARGET)), constraints), constraints


def test_a_good_solve_is_optimal() -> None:
    x = cp.Variable(2)
    problem, _ = away_from(x)
    value = problem.solve(method="dc")
    assert problem.status == cp.OPTIMAL
    assert value == problem.value == pytest.approx(float(np.sum((x.value - TARGET) ** 2)))


def infeasible(x: Any) -> cp.Problem:
    return cp.Problem(cp.Minimize(-cp.norm(x)), [x >= 1, x <= 0])


def without_feasible_point(x: Any) -> cp.Problem:
    return cp.Problem(cp.Maximize(cp.sum(x)), [cp.norm(x) >= 3, cp.norm(x) <= 1])


def unbounded(x: Any) -> cp.Problem:
    return cp.Problem(cp.Minimize(cp.sum(cp.minimum(x, 1))))


@pytest.mark.parametrize(
    ("make", "status", "value"),
    [
        (infeasible, cp.INFEASIBLE, np.inf),
        (without_feasible_point, cp.INFEASIBLE_INACCURATE, -np.inf),
        (unbounded, cp.UNBOUNDED, -np.inf),
    ],
)
def test_a_failure_leaves_no_numbers(make: Any, status: str, value: float) -> None:
    x = cp.Variable(2, value=np.ones(2))
    problem = make(x)
    assert problem.solve(method="dc", n_starts=1) == value == problem.value
    assert problem.status == status
    assert x.value is None
    assert all(c.dual_value is None for c in problem.constraints)


def test_every_status_has_a_word_of_cvxpy() -> None:
    words = set(STATUS.values())
    assert words <= {
        *(cp.OPTIMAL, cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE, cp.UNBOUNDED),
        *(cp.USER_LIMIT, cp.SOLVER_ERROR),
    }


def test_limits_keep_the_point() -> None:
    x = cp.Variable(2)
    problem, _ = away_from(x)
    value = problem.solve(method="dc", start={x: [3.0, -2.0]}, max_iter=0)
    assert problem.status == cp.USER_LIMIT
    assert value == pytest.approx(float(np.sum((x.value - TARGET) ** 2)))


def test_a_point_that_a_limit_left_outside_has_no_value() -> None:
    x = cp.Variable(2)
    problem, _ = away_from(x)
    assert problem.solve(method="dc", start={x: [0.1, 0.0]}, max_iter=0) == np.inf
    assert problem.status == cp.USER_LIMIT
    assert x.value is not None


# ----------------------------------------------------------------------------------------------
# multipliers


def gradient(expression: cp.Expression, x: cp.Variable) -> Any:
    """By differences: no part of the library's."""
    at, slope = x.value.copy(), np.zeros(x.size)
    for i in range(x.size):
        ends = []
        for step in (1e-6, -1e-6):
            moved = at.copy()
            moved.flat[i] += step
            x.value = moved
            ends.append(float(expression.value))
        slope[i] = (ends[0] - ends[1]) / 2e-6
    x.value = at
    return slope


def stationarity(problem: cp.Problem, x: cp.Variable) -> float:
    """The length of the Lagrangian's gradient; complementarity and signs are asserted."""
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    total = sign * gradient(problem.objective.args[0], x)
    for constraint in problem.constraints:
        dual = np.atleast_1d(constraint.dual_value)
        expression = cp.vec(constraint.expr, order="F")
        if isinstance(constraint, cp.constraints.Inequality):
            assert np.all(dual >= -1e-6)
            assert np.all(np.abs(dual * expression.value) <= 1e-4)
        total = total + sum(dual.flat[i] * gradient(expression[i], x) for i in range(dual.size))
    return float(np.linalg.norm(total))


def far(x: Any) -> Any:
    return cp.sum_squares(x - TARGET)


MADE: dict[str, tuple[int, Any]] = {
    "reverse norm": (2, lambda x: (cp.Minimize(far(x)), [cp.norm(x) >= 1, x[0] >= 0.9])),
    "equality": (2, lambda x: (cp.Minimize(far(x)), [x[0] * x[1] == 0.3])),
    "product": (2, lambda x: (cp.Maximize(-far(x)), [x[0] * x[1] >= 0.5, x >= 0.01])),
    "quotient": (2, lambda x: (cp.Minimize(far(x)), [x[0] / (1 + x[1]) >= 0.5, x >= 0])),
    "vector": (2, lambda x: (cp.Minimize(far(x)), [cp.square(x) >= np.array([0.25, 0.5])])),
    "one side convex": (2, lambda x: (cp.Minimize(far(x)), [cp.square(x[0]) + x[1] == 1])),
    "hs071": (
        4,
        lambda x: (
            cp.Minimize(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]),
            [x[0] * x[1] * x[2] * x[3] >= 25, cp.sum(cp.square(x)) == 40],
        ),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_multipliers_are_those_of_a_kkt_point(name: str) -> None:
    size, make = MADE[name]
    x = cp.Variable(size, bounds=[0, 6]) if size == 4 else cp.Variable(size)
    problem = cp.Problem(*make(x))
    problem.solve(method="dc", tol=1e-7, n_starts=1)
    assert problem.status == cp.OPTIMAL
    assert stationarity(problem, x) <= 2e-3 * (1 + abs(problem.value))
    duals = [np.max(np.abs(c.dual_value)) for c in problem.constraints]
    assert max(duals) > 0.01


def test_multipliers_of_a_convex_problem_are_cvxpys() -> None:
    x, t = cp.Variable(3), cp.Parameter(nonneg=True, value=2.0)
    constraints = [cp.norm(x, 2) <= t, cp.sum(x) == 1, cp.SOC(t, x[:2]), x >= -0.1]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x) + 3 * x[0]), constraints)
    problem.solve(solver="CLARABEL")
    before = [c.dual_value for c in constraints]
    problem.solve(method="dc")
    for dual, constraint in zip(before, constraints, strict=True):
        ours = constraint.dual_value
        parts = zip(dual, ours, strict=True) if isinstance(dual, list) else [(dual, ours)]
        for a, b in parts:
            np.testing.assert_allclose(np.ravel(b), np.ravel(a), atol=1e-4)


def test_solver_stats() -> None:
    x = cp.Variable(2)
    problem, _ = away_from(x)
    problem.solve(method="dc", start={x: [3.0, 2.0]})
    stats = problem.solver_stats
    assert stats.solver_name
    assert stats.solve_time > 0
    assert stats.setup_time > 0
    assert stats.num_iters > 0
    assert stats.extra_stats["status"] == "converged"


# ----------------------------------------------------------------------------------------------
# options and starts


def test_warm_start_begins_at_the_variables_values() -> None:
    x = cp.Variable(2, value=np.array([-3.0, -2.0]))
    seen: list[Any] = []
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - TARGET)), [cp.norm(x) >= 1])
    problem.solve(method="dc", warm_start=True, callback=lambda p: seen.append(p.x))
    np.testing.assert_array_equal(seen[0], [-3.0, -2.0])
    x.value = None
    assert problem.solve(method="dc", warm_start=True) < 0.5


def test_solver_options_reach_the_solver() -> None:
    x = cp.Variable(2)
    problem, _ = away_from(x)
    assert not dc.solve(problem, solver="CLARABEL", start="convex").history.attempts
    one_step = {"max_iter": 1}
    with pytest.warns(UserWarning, match="stepped in"):
        result = dc.solve(problem, solver="CLARABEL", start="convex", solver_options=one_step)
    assert any(a.solver == "CLARABEL" for a in result.history.attempts)
    assert problem.solve(method="dc", solver="CLARABEL", tol_gap_abs=1e-9) < 0.5
    assert problem.solve("CLARABEL", method="dc", solver_options={"tol_gap_abs": 1e-9}) < 0.5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"solver": "CLARABEL", "solver_options": {"nonsense": 1}}, "does not take .* nonsense"),
        ({"solver_options": {"max_iter": 1}}, "name one of cvxpy's"),
        ({"solver": "ARROW", "solver_options": {"max_iter": 1}}, "name one of cvxpy's"),
        ({"solver": "CLARABEL", "solver_options": 3}, "a mapping"),
    ],
)
def test_bad_solver_options(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        dc.solve(away_from(cp.Variable(2))[0], **options)
    with pytest.raises(TypeError, match="n_start"):
        away_from(cp.Variable(2))[0].solve(method="dc", n_start=3)


@pytest.mark.parametrize("how", ["mapping", "current"])
def test_what_a_start_does_not_give_is_completed(how: str) -> None:
    x, bound = cp.Variable(2), cp.Variable()
    problem = cp.Problem(cp.Minimize(bound), [cp.norm(x) <= bound, cp.norm(x) >= 1])
    x.value = [1.0, 2.0]
    seen: list[Any] = []
    start = {x: [1.0, 2.0]} if how == "mapping" else "current"
    result = dc.solve(problem, start=start, callback=lambda p: seen.append(p.x))
    first = dict(zip((v.id for v in result.variables), range(2), strict=True))
    given = seen[0][:2] if first[x.id] == 0 else seen[0][1:]
    np.testing.assert_array_equal(given, [1.0, 2.0])
    assert result.history.value[0] == pytest.approx(np.sqrt(5), rel=1e-6)
    assert result.value == pytest.approx(1, rel=1e-6)


def test_the_key_of_a_start_is_the_variable() -> None:
    x = cp.Variable(2, name="x")
    with pytest.raises(
        ValueError, match=r"key 'x' is not a cvxpy Variable: write start=\{x: value"
    ):
        dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.abs(x), 1)))), start={"x": [0, 0]})


def test_a_start_that_contradicts_a_constraint_is_completed_all_the_same() -> None:
    x, y = cp.Variable(), cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.square(x - y) - 0.1 * cp.abs(y)), [x <= 1, y >= -2, y <= 2])
    assert dc.solve(problem, start={x: 5.0}).status == "converged"


# ----------------------------------------------------------------------------------------------
# complex variables


def test_complex_variables() -> None:
    z = cp.Variable(3, complex=True)
    unit = cp.abs(z) <= 1
    problem = cp.Problem(cp.Maximize(cp.sum_squares(z)), [unit])
    assert problem.solve(method="dc") == pytest.approx(3, rel=1e-6)
    np.testing.assert_allclose(np.abs(z.value), 1, rtol=1e-6)
    np.testing.assert_allclose(unit.dual_value, 2, rtol=1e-4)
    assert dc.is_majorizable(problem)
    assert dc.compile(problem).solve().value == pytest.approx(3, rel=1e-6)


def test_phase_retrieval_with_complex_data_as_with_real_parts() -> None:
    a = RNG.normal(size=(12, 3)) + 1j * RNG.normal(size=(12, 3))
    true = RNG.normal(size=3) + 1j * RNG.normal(size=3)
    sizes = np.abs(a @ true)
    z = cp.Variable(3, complex=True)
    fit = cp.sum(cp.abs(cp.abs(a @ z) - sizes))
    start = {z: true + 0.1 * (1 + 1j)}
    result = dc.solve(cp.Problem(cp.Minimize(fit)), start=start)
    assert result.value == pytest.approx(np.sum(np.abs(np.abs(a @ z.value) - sizes)), abs=1e-8)
    assert result.value <= 1e-5
    again = dc.solve(cp.Problem(cp.Minimize(fit)), start=result)
    assert again.value <= result.value + 1e-9


def test_hermitian_starts_and_values() -> None:
    H = cp.Variable((2, 2), hermitian=True)
    at = np.array([[1.0, 0.5 - 0.2j], [0.5 + 0.2j, 2.0]])
    problem = cp.Problem(
        cp.Minimize(cp.lambda_max(H) - 0.5 * cp.real(H[0, 0])),
        [cp.abs(H[0, 1]) >= 0.5, cp.real(cp.diag(H)) == np.ones(2)],
    )
    result = dc.solve(problem, start={H: at})
    assert result.value == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(H.value, H.value.conj().T, atol=1e-9)


def test_the_solution_is_set_as_cvxpy_sets_it() -> None:
    x = cp.Variable(2)
    outside = cp.norm(x) >= 1
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x - 0.1)), [outside])
    result = dc.solve(problem, start="convex")
    found = problem.solution
    assert (found.status, found.opt_val) == ("optimal", problem.value)
    np.testing.assert_array_equal(found.primal_vars[x.id], x.value)
    assert found.dual_vars[outside.id] == outside.dual_value
    assert found.attr["num_iters"] == result.n_iter
    problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [cp.norm(x) >= 1, cp.norm(x) <= 0.5])
    dc.solve(problem, start="convex")
    assert (problem.solution.status, problem.solution.primal_vars) == (problem.status, {})


def test_no_warning_comes_twice() -> None:
    x, a, b = cp.Variable(3), cp.Parameter(nonneg=True, value=2.0), cp.Parameter(value=1.0)
    many = sum(cp.minimum(cp.abs(x[0] - k), 1) for k in range(101))  # cvxpy: too many
    bent = cp.minimum(cp.abs(a * b * x[1] - 1), 1)  # no product of Parameters compiles once
    problem = cp.Problem(cp.Minimize(many + bent + cp.sum_squares(x)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dc.solve(problem, start="convex")
    told = [str(one.message) for one in caught]
    assert len(told) == len(set(told))
