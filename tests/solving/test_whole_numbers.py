"""Integer and boolean variables in ``dc.solve``: answers by enumeration, fields, starts, limits."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import combinations, count, product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.elementwise.trig import sin

import dcprog as dc
from dcprog.factorable.problem import FactorableProblem
from dcprog.solving import whole_numbers


def knapsack() -> tuple[cp.Problem, cp.Variable]:
    take = cp.Variable(6, boolean=True)
    worth, weight = np.array([3, 5, 6, 10, 11, 13]), np.array([3, 4, 5, 8, 9, 10])
    return cp.Problem(cp.Maximize(worth @ take), [weight @ take <= 14]), take


def test_a_knapsack_is_solved_and_the_problem_says_so() -> None:
    problem, take = knapsack()
    result = dc.solve(problem)
    assert (result.status, result.value, result.violation) == ("converged", 18.0, 0.0)
    assert take.value.tolist() == [0, 1, 0, 0, 0, 1]
    assert (problem.status, problem.value) == (cp.OPTIMAL, 18.0)
    assert "bound" in result.message
    assert result.certificate().holds
    bound = result.certificate(bound=True).bound
    assert bound is not None
    assert bound.value == pytest.approx(18.0, rel=1e-3)
    assert pickle.loads(pickle.dumps(result)).value == 18.0
    assert problem.solve(method="dc") == 18.0


@pytest.mark.parametrize("seed", range(1))
def test_the_best_subset_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(15, 6))
    y = A @ (rng.normal(size=6) * (rng.random(6) < 0.5)) + 0.3 * rng.normal(size=15)
    b, used = cp.Variable(6), cp.Variable(6, boolean=True)
    fit = cp.sum_squares(A @ b - y)
    problem = cp.Problem(cp.Minimize(fit), [cp.abs(b) <= 5 * used, cp.sum(used) <= 2])
    result = dc.solve(problem)
    least = min(
        float(np.linalg.lstsq(A[:, list(two)], y, rcond=None)[1][0])
        for two in combinations(range(6), 2)
    )
    assert result.status == "converged"
    assert result.value == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_nonconvex_mixed_problems_end_at_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, d = rng.normal(size=2), rng.normal(size=2)
    x, n = cp.Variable(bounds=[-2, 2]), cp.Variable(2, integer=True)
    value = sin(3 * x) + c[0] * x * n[0] + d @ n + 0.3 * cp.square(n[0] - n[1] - x)
    problem = cp.Problem(cp.Minimize(value), [cp.abs(n) <= 2])
    result = dc.solve(problem)
    grid = np.linspace(-2, 2, 20001)
    least = min(
        np.min(np.sin(3 * grid) + c[0] * grid * i + d @ [i, j] + 0.3 * (i - j - grid) ** 2)
        for i, j in product(range(-2, 3), repeat=2)
    )
    assert result.status == "converged"
    assert result.value == pytest.approx(float(least), abs=1e-5)
    assert np.array_equal(n.value, np.round(n.value))


@pytest.mark.parametrize("shape", ["ball", "absolute", "norm"])
def test_the_tolerance_of_constraints_makes_no_failure_of_an_optimum(shape: str) -> None:
    x, k = cp.Variable(2), cp.Variable(integer=True)
    square, most, optimum = {
        "ball": (x[0] * x[1], cp.sum_squares(x) + cp.square(k) <= 4.3, 2.65),
        "absolute": (1.14 * cp.square(x[1]), cp.abs(x) <= 2.35, 1.14 * 2.35**2 + 3),
        "norm": (cp.sum_squares(x - 1), cp.norm(x) <= 2, 2 * (1 + 2**0.5) ** 2 + 3),
    }[shape]
    result = dc.solve(cp.Problem(cp.Maximize(square + k), [most, k >= 0, k <= 3]))
    assert result.status == "converged"
    assert result.value == pytest.approx(optimum, rel=1e-6)
    bound = float(result.message.split()[1])
    assert 0 <= bound - optimum <= 1e-5 * optimum


@pytest.mark.parametrize("bound", [None, 100.0])
def test_products_that_constraints_set_to_zero_keep_their_equations(bound: float | None) -> None:
    x, z = cp.Variable(2, bounds=[0, bound]), cp.Variable(2, boolean=True)
    constraints = [cp.multiply(x, 1 - z) == 0, x >= [5, 0], cp.sum(x) >= 20]
    cost = cp.Problem(cp.Minimize([30, 40] @ z + cp.sum(x)), constraints)
    result = dc.solve(cost)
    assert result.status == "converged"
    assert np.isclose(result.value, 50.0)


@pytest.mark.parametrize("size", [1.0, 1e5])
def test_products_of_booleans_and_variables_without_bounds_are_searched_in_a_box(
    size: float,
) -> None:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(12, 4))
    b = size * (A @ [2.0, -1.5, 0, 0] + 0.1 * rng.normal(size=12))
    x, used = cp.Variable(4), cp.Variable(4, boolean=True)
    price = 0.5 * size**2
    misfit = cp.sum_squares(A @ cp.multiply(x, used) - b)
    result = dc.solve(cp.Problem(cp.Minimize(misfit + price * cp.sum(used))))
    sets = [list(s) for k in range(1, 5) for s in combinations(range(4), k)]
    least = min(
        np.linalg.norm(A[:, s] @ np.linalg.pinv(A[:, s]) @ b - b) ** 2 + price * len(s)
        for s in sets
    )
    assert result.status == "converged"
    assert result.value == pytest.approx(float(least), rel=1e-6)
    assert "has no bounds: no point is lower within" in result.message


def test_the_first_box_has_the_size_of_the_loops_ends_and_not_of_a_factor_of_zero() -> None:
    rng = np.random.default_rng(42)
    A, b = rng.normal(size=(10, 5)), rng.normal(size=10)
    x, used = cp.Variable(5), cp.Variable(5, boolean=True)
    misfit = cp.norm(A @ cp.multiply(x, used) - b)
    result = dc.solve(cp.Problem(cp.Minimize(misfit), [cp.sum(used) <= 2]))
    pairs = [list(two) for two in combinations(range(5), 2)]
    least = min(np.linalg.norm(A[:, s] @ np.linalg.pinv(A[:, s]) @ b - b) for s in pairs)
    assert result.status == "converged"
    assert result.value == pytest.approx(float(least), rel=1e-6)


def two_wells() -> cp.Problem:
    x, z = cp.Variable(), cp.Variable(2, boolean=True)
    far = cp.square(x - 500) - 1
    return cp.Problem(cp.Minimize(z[0] * cp.square(x - 2) + z[1] * far), [cp.sum(z) == 1])


@pytest.mark.parametrize("call", [1, 2, 3])
def test_ctrl_c_keeps_the_best_point_of_variables_without_bounds(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, looped = count(1), whole_numbers._looped

    def stopped(*given: Any) -> Any:
        if next(calls) == call:
            raise KeyboardInterrupt
        return looped(*given)

    monkeypatch.setattr(whole_numbers, "_looped", stopped)
    result = dc.solve(two_wells())
    assert result.status == "interrupted"
    assert result.value == pytest.approx(-1.0)


def test_a_time_limit_asks_for_no_bounds() -> None:
    result = dc.solve(two_wells(), time_limit=1e-3)
    assert result.status in ("time_limit", "no_feasible_point")
    result = dc.solve(two_wells())
    assert result.status == "converged"
    assert result.value == pytest.approx(-1.0)


def test_a_box_of_variables_without_bounds_is_given_up_after_much_work() -> None:
    x, z = cp.Variable(), cp.Variable(boolean=True)
    wells = cp.minimum(cp.square(x - 1e4) - 5, 0) + cp.minimum(cp.square(x) - 1, 0)
    result = dc.solve(cp.Problem(cp.Minimize(z * wells)), time_limit=60.0)
    assert result.status == "max_iter"
    assert result.value == pytest.approx(-5.0)
    assert "lower points are not excluded" in result.message
    assert "the limit of work" in result.message


def test_ctrl_c_in_a_loop_keeps_the_point_that_it_has_reached() -> None:
    x, z = cp.Variable(), cp.Variable(boolean=True)
    square = cp.minimum(cp.square(x - 500), 2) + cp.square(x - 499)
    problem = FactorableProblem(cp.Problem(cp.Minimize(z * square)))

    def interrupted(*given: Any, **named: Any) -> dc.Result:
        return replace(dc.solve(*given, **named), status="interrupted")

    noted = list[Any]()
    improve = whole_numbers.local_search(problem, interrupted, noted.append)
    with pytest.raises(KeyboardInterrupt):
        improve(problem.points.pack({x.id: np.array(490.0), z.id: np.array(1.0)}), 10.0)
    assert [problem.at(point).value for point in noted] == pytest.approx([0.5])


def test_a_product_of_a_boolean_that_falls_without_end_asks_for_bounds() -> None:
    x, z = cp.Variable(name="x"), cp.Variable(boolean=True)
    with pytest.raises(dc.NotBoundable, match=r"`x`.*bounds on it"):
        dc.solve(cp.Problem(cp.Minimize(x * z)))


def test_integers_without_bounds_are_held_by_the_objective() -> None:
    n = cp.Variable(2, integer=True)
    goal = cp.square(n[0] - 2.5) + cp.square(n[1] - 3.2) + 0.01 * cp.sum_squares(n)
    result = dc.solve(cp.Problem(cp.Minimize(goal)))
    assert result.status == "converged"
    assert n.value.tolist() == [2, 3]


def test_what_no_whole_number_meets_is_infeasible() -> None:
    n = cp.Variable(integer=True)
    problem = cp.Problem(cp.Minimize(n), [2 * n == 1, cp.abs(n) <= 3])
    result = dc.solve(problem)
    assert (result.status, result.x, problem.status) == ("infeasible", None, cp.INFEASIBLE)


def test_some_entries_are_whole() -> None:
    x = cp.Variable((2, 2), integer=[(0, 1), (0, 1)])  # the diagonal
    goal = cp.sum_squares(x - np.array([[0.4, 0.6], [1.3, 2.6]]))
    result = dc.solve(cp.Problem(cp.Minimize(goal), [cp.abs(x) <= 5]))
    assert x.value == pytest.approx(np.array([[0, 0.6], [1.3, 3]]), abs=1e-6)
    assert result.value == pytest.approx(0.32, abs=1e-6)


@pytest.mark.parametrize("start", ["auto", "current", "given", "list", "numbers"])
def test_starts_are_points_to_begin_with(start: str) -> None:
    problem, take = knapsack()
    take.value = np.array([1, 0, 0, 0, 1, 0])
    starts: dict[str, Any] = {
        "auto": "auto",
        "current": "current",
        "given": {take: np.array([0, 1, 0, 0, 0, 1])},
        "list": [{take: np.zeros(6)}, "convex"],
        "numbers": [0, 1, 0, 0, 0, 1],
    }
    assert dc.solve(problem, start=starts[start]).value == 18.0


def test_a_time_limit_keeps_the_best_plan() -> None:
    rng = np.random.default_rng(0)
    weight = rng.integers(5, 99, (5, 40))
    take = cp.Variable(40, boolean=True)
    goal = np.arange(1, 41) @ take + cp.sum_squares(weight[:2] @ take / 100 - 3)
    problem = cp.Problem(cp.Maximize(goal), [weight @ take <= weight.sum(axis=1) / 3])
    result = dc.solve(problem, time_limit=1.0)
    assert result.status in ("time_limit", "converged")
    assert result.violation <= 1e-6
    assert problem.status in (cp.USER_LIMIT, cp.OPTIMAL)


def test_what_has_no_translation_is_named() -> None:
    n = cp.Variable(2, integer=True)
    with pytest.raises(dc.NotMajorizable, match="lambda_max"):
        dc.solve(cp.Problem(cp.Minimize(cp.lambda_max(cp.diag(n))), [cp.abs(n) <= 2]))


def test_without_pyscipopt_only_integers_and_bounds_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    problem, _ = knapsack()
    with pytest.raises(ImportError, match="pip install pyscipopt"):
        dc.solve(problem)
    x = cp.Variable()
    goal = cp.minimum(cp.square(x - 1), 1) + cp.square(x) / 4
    assert dc.solve(cp.Problem(cp.Minimize(goal))).value == pytest.approx(0.2)
