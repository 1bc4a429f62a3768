"""Where a problem lies is no matter: far from 0 it is solved around its start."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc

Make = Callable[[cp.Variable, Any], cp.Problem]

SHIFTS = [0.0, -1e6, 1e8]


def product(x: cp.Variable, c: Any) -> cp.Problem:
    return cp.Problem(cp.Minimize(cp.sum_squares(x - c)), [(x[0] - c[0]) * (x[1] - c[1]) == 1])


def outside(x: cp.Variable, c: Any) -> cp.Problem:
    return cp.Problem(cp.Minimize(cp.sum_squares(x - c)), [cp.norm(x - c) >= 2])


def corner(x: cp.Variable, c: Any) -> cp.Problem:
    return cp.Problem(
        cp.Minimize(cp.norm1(x - c - 1)), [cp.norm(x - c) >= 2, x >= c - 5, cp.sum(x) <= 9 + sum(c)]
    )


def capped(x: cp.Variable, c: Any) -> cp.Problem:
    A = np.random.default_rng(0).standard_normal((12, 2))
    losses = cp.minimum(cp.square(A @ x - (A @ c + A[:, 0] + (A[:, 1] > 1) * 20)), 4)
    return cp.Problem(cp.Minimize(cp.sum(losses)))


OPTIMA: dict[Make, float | None] = {
    product: 2.0,
    outside: 4.0,
    corner: np.sqrt(3) - 1,
    capped: None,
}


@pytest.mark.parametrize("make", OPTIMA)
def test_the_same_answer_wherever_the_problem_lies(make: Make) -> None:
    found = []
    for shift in SHIFTS:
        x, c = cp.Variable(2), np.array([shift, -shift])
        result = dc.solve(make(x, c), start="convex", n_starts=1)
        assert result.status == "converged"
        np.testing.assert_array_equal(x.value, result.x)
        found.append(result.value)
        assert make(x, c).objective.value == pytest.approx(result.value, abs=1e-6)
    assert found == pytest.approx([OPTIMA[make] or found[0]] * len(found), rel=1e-4)


def test_parameters_callbacks_and_given_starts_are_in_the_users_own_coordinates() -> None:
    x, c = cp.Variable(2, name="x"), cp.Parameter(2, value=[1e7, 1e7])
    seen: list[Any] = []
    result = dc.solve(
        outside(x, c), start={x: [1e7 + 3, 1e7]}, callback=lambda now: seen.append(now.x)
    )
    assert result.value == pytest.approx(4, rel=1e-6)
    np.testing.assert_allclose(seen[0], [1e7 + 3, 1e7], atol=1e-6)
    np.testing.assert_allclose(seen[-1] - c.value, result.variables[x] - c.value, atol=1e-5)
    c.value = [-1e7, 1e7]
    assert dc.solve(outside(x, c), start="convex").value == pytest.approx(4, rel=1e-6)


def test_declared_variables_stay_where_they_are() -> None:
    x, u = cp.Variable(2), cp.Variable(nonneg=True)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(x - 1e6) + cp.square(u - 3)), [cp.norm(x - 1e6) >= 1 + u]
    )
    result = dc.solve(problem, start="convex")
    assert result.status == "converged"
    assert result.value == pytest.approx(8.0, rel=1e-5)  # ‖x − c‖ = 2, u = 1
    assert u.value == pytest.approx(1.0, rel=1e-3)
