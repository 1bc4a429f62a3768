"""Constraints that are not convex: met from the default start; no false word of infeasibility."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.descent import descend
from dcprog.engine.track import Settings
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solving.task import ProblemTask


def packing(n: int) -> cp.Problem:
    """Unit circles in the smallest square."""
    x = cp.Variable((n, 2))
    apart = [cp.norm(x[i] - x[j]) >= 2 for i in range(n) for j in range(i)]
    return cp.Problem(cp.Minimize(cp.max(cp.abs(x))), apart)


def path() -> cp.Problem:
    """Twelve points round three discs."""
    x = cp.Variable((12, 2))
    discs = [((2.0, 0.3), 1.0), ((5.0, -0.4), 1.2), ((7.5, 0.8), 0.9)]
    ends = [x[0] == [0, 0], x[11] == [10, 0]]
    outside = [cp.norm(x[k] - np.array(c)) >= r for k in range(12) for c, r in discs]
    return cp.Problem(cp.Minimize(cp.sum_squares(x[1:] - x[:-1])), ends + outside)


def equations() -> cp.Problem:
    """Two quadratic equations in four unknowns, with a solution."""
    rng = np.random.default_rng(0)
    x, solution = cp.Variable(4), rng.standard_normal(4)
    equal = []
    for _ in range(2):
        P = rng.standard_normal((4, 4))
        form: Any = sum((P[i, j] + P[j, i]) * x[i] * x[j] for i in range(4) for j in range(4))
        equal.append(form == float(solution @ (P + P.T) @ solution))
    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), equal)


def outside_ball(objective: Callable[[cp.Variable], cp.Expression]) -> cp.Problem:
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(objective(x)), [cp.norm(x) >= 2])


def scalar(objective: Callable[[cp.Variable], cp.Expression], *, signed: bool) -> cp.Problem:
    s = cp.Variable()
    return cp.Problem(cp.Minimize(objective(s)), [s**2 >= 5, *([s >= 0] if signed else [])])


def sphere(radius: float) -> cp.Problem:
    x = cp.Variable(3)
    return cp.Problem(cp.Minimize(cp.norm1(x)), [cp.norm(x) == radius])


def exponentials() -> cp.Problem:
    p = np.random.default_rng(0).random(20) / 2
    c, t = cp.Variable(), cp.Variable(nonneg=True)
    detected = 1 - cp.exp(-t * p)
    goal = cp.Maximize(cp.log(cp.sum(cp.multiply(p, detected))))
    return cp.Problem(goal, [c <= 5, c == cp.sum(detected)])


def products() -> cp.Problem:
    """The first problem of Hock and Schittkowski's that has both kinds of constraints, 71."""
    x = cp.Variable(4, bounds=[0, 6])
    least = x[0] * x[1] * x[2] * x[3] >= 25
    goal = cp.Minimize(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2])
    return cp.Problem(goal, [least, cp.sum(cp.square(x)) == 40])


def beams() -> cp.Problem:
    H = np.random.default_rng(0).standard_normal((20, 8))
    w = cp.Variable(8)
    return cp.Problem(cp.Minimize(cp.sum_squares(w)), [cp.square(H @ w) >= 1])


def factors(u: float) -> cp.Problem:
    """A product that must not be 0, whose slope is 0 where the objective is least."""
    x, y = cp.Variable(), cp.Variable()
    return cp.Problem(cp.Minimize(x / u + y), [x * y == 4 * u, x >= 0, y >= 0])


def complements(*, equal: bool) -> cp.Problem:
    """Of neighbours one must be 0; in the end a square's argument is 0 but for rounding."""
    x = cp.Variable(3)
    products = [x[0] * x[1], x[1] * x[2]]
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x - 1)),
        [x >= 0, *(p == 0 if equal else p <= 0 for p in products)],
    )


# the problem, the value (None: any) and the most steps it may take
PROBLEMS: dict[str, tuple[Callable[[], cp.Problem], float | None, int]] = {
    "two circles": (lambda: packing(2), 0.7071068, 20),
    "ten circles": (lambda: packing(10), None, 99),
    "outside a ball, l1": (lambda: outside_ball(cp.norm1), 2.0, 30),
    "outside a ball, maximum": (lambda: outside_ball(cp.norm_inf), 2 / np.sqrt(3), 30),
    "a square, linear": (lambda: scalar(lambda s: s, signed=True), np.sqrt(5), 30),
    "a square, concave": (lambda: scalar(cp.sqrt, signed=False), 5**0.25, 30),
    "a square, logarithm": (lambda: scalar(cp.log, signed=False), np.log(5) / 2, 30),
    "a sphere": (lambda: sphere(1.0), 1.0, 30),
    "a path": (path, None, 60),
    "quadratic equations": (equations, None, 99),
    "a concave equation": (exponentials, 0.562945, 60),
    "products": (products, 16.849, 99),
    "factors": (lambda: factors(1.0), 4.0, 60),
    "factors in units of their own": (lambda: factors(1e-6), 4.0, 99),
    "complements": (lambda: complements(equal=False), 1.0, 60),
    "complementary equations": (lambda: complements(equal=True), 1.0, 99),
    "beams": (beams, None, 80),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solved_from_the_default_start(name: str) -> None:
    make, value, steps = PROBLEMS[name]
    problem = make()
    result = dc.solve(problem, n_starts=1)
    assert result.status == "converged"
    assert result.relative_violation <= 1e-6
    assert max(float(np.max(c.violation())) for c in problem.constraints) <= 1e-4
    assert result.n_iter <= steps
    if value is not None:
        assert result.value == pytest.approx(value, rel=1e-3)


@pytest.mark.slow
def test_thirty_circles() -> None:
    result = dc.solve(packing(30))
    assert result.status == "converged"
    assert result.relative_violation <= 1e-6


def test_solvers_that_fail_take_no_steps() -> None:
    """Phase retrieval: the first solver does it, or few attempts are spent on it."""
    rng = np.random.default_rng(42)
    n, m = 6, 18
    truth = rng.random(n) + 1j * rng.random(n)
    A = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
    a, b = cp.Variable(n), cp.Variable(n)
    parts = cp.vstack([A.real @ a - A.imag @ b, A.real @ b + A.imag @ a])
    equal = cp.norm(parts, 2, axis=0) == np.abs(A @ truth)
    result = dc.solve(cp.Problem(cp.Minimize(0), [equal]), n_starts=1)
    assert result.status == "converged"
    assert result.relative_violation <= 1e-6
    assert result.n_iter <= 40
    assert len(result.history.attempts) <= result.n_iter + 10


# ----------------------------------------------------------------------------------------------
# statuses

CONTRADICTIONS: dict[str, Callable[[cp.Variable], list[Any]]] = {
    "half-spaces": lambda x: [x[0] >= 1, x[0] <= -1],
    "a ball and a half-space": lambda x: [cp.norm(x) <= 1, cp.sum(x) >= 10],
    "equations": lambda x: [cp.sum(x) == 1, cp.sum(x) == 2],
    "beside a nonconvex one": lambda x: [x >= 1, x <= 0, cp.norm(x) >= 3],
}


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_convex_contradictions_are_infeasible(name: str, unit: float) -> None:
    x = cp.Variable(2)
    goal = cp.sum(cp.minimum(cp.square(x / unit - 3), 1))
    result = dc.solve(cp.Problem(cp.Minimize(goal), CONTRADICTIONS[name](x / unit)))
    assert (result.status, result.value) == ("infeasible", np.inf)
    assert result.x is None


UNREACHED: dict[str, Callable[[cp.Variable], list[Any]]] = {
    "two balls": lambda x: [cp.norm(x) >= 3, cp.norm(x) <= 1],
    "a cap": lambda x: [cp.minimum(cp.square(x[0]), 1) >= 2, cp.abs(x) <= 3],
    "an equation": lambda x: [cp.sum_squares(x) == 4, cp.abs(x) <= 1],
}


@pytest.mark.parametrize("name", UNREACHED)
def test_what_is_not_proved_is_not_called_infeasible(name: str) -> None:
    x = cp.Variable(2)
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum(x)), UNREACHED[name](x)), n_starts=1)
    assert result.status == "no_feasible_point"
    assert result.relative_violation > 1e-6
    assert "no point that meets all constraints" in result.message


def test_never_unbounded_outside_the_constraints() -> None:
    for start in ("convex", "random", 3.0):
        x = cp.Variable()
        problem = cp.Problem(cp.Minimize(cp.log(x)), [x**2 >= 5])
        given: Any = {x: start} if start == 3.0 else start
        result = dc.solve(problem, start=given)
        assert result.status == "converged"
        assert result.value == pytest.approx(np.log(5) / 2, rel=1e-5)


def test_a_run_that_misses_goes_on_from_a_restored_point() -> None:
    problem = scalar(lambda s: s, signed=True)
    surrogate = ProblemSurrogate(problem)
    missed = descend(surrogate, np.array([0.1]), Settings(max_iter=0))
    assert missed.violation > 4
    assert missed.status == "max_iter"
    rng = np.random.default_rng(0)
    task = ProblemTask(problem)
    assert task.restored(surrogate, missed, rng) is missed
    stuck = replace(missed, status="converged")
    again = task.restored(surrogate, stuck, rng)
    assert again.status == "converged"
    assert again.value == pytest.approx(np.sqrt(5), rel=1e-5)
    assert not surrogate.restoring
    assert surrogate.firmness == 1


def test_variables_in_no_constraint_set_no_price_of_violations() -> None:
    """m, which starts far out, made violations so dear that no step inside was worth one."""
    n, m = cp.Variable(nonpos=True), cp.Variable(3)
    pull = n * cp.power(1 + cp.square(n), -1) + 0.1 * (cp.square(n) + cp.sum_squares(m))
    problem = cp.Problem(cp.Minimize(1e-8 * pull), [cp.sqrt(cp.abs(n)) <= 1.05])
    result = dc.solve(problem, start={n: -4514.0, m: np.full(3, 2000.0)})
    inside = np.linspace(-1.1, 0, 10001)
    least = np.min(inside / (1 + inside**2) + 0.1 * inside**2)
    assert result.status == "converged"
    assert result.value == pytest.approx(1e-8 * least, rel=1e-4)


W = np.array([1e6, 1e-6, 1.0])
EDGES = np.array([0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    "rows",
    [
        lambda x: cp.multiply(W, x) <= W * [1.0, 2.0, 3.0],
        lambda x: cp.multiply(W, x) == W * [1.0, 2.0, 3.0],
        lambda x: cp.multiply(W, cp.square(x)) <= W * [1.0, 4.0, 9.0],
        lambda x: cp.multiply(W, cp.multiply(x - [1, 2, 3], x + np.array([3, 7, 1]))) == 0,
        lambda x: -cp.multiply(W, cp.log(x - EDGES)) >= -W * np.log([1, 2, 3] - EDGES),
        lambda x: cp.SOC(W * [1.0, 2.0, 3.0], cp.reshape(cp.multiply(W, x), (1, 3), order="F")),
        lambda x: cp.multiply([1e200, 1e-200, 1.0], x - [1, 2, 3]) <= 0,
    ],
)
@pytest.mark.filterwarnings("error:.*overflow")
@pytest.mark.parametrize("nonconvex", [True, False])
def test_small_entries_of_a_constraint_are_met_by_their_own_size(
    rows: Callable[[cp.Variable], cp.Constraint], nonconvex: bool
) -> None:
    """x[1] was 4 for 2: beside 1e6 a miss of 2e-6 was no violation."""
    x = cp.Variable(3)
    bonus = cp.minimum(cp.abs(x[0] - 5), 10) if nonconvex else 0.0
    result = dc.solve(cp.Problem(cp.Maximize(cp.sum(x) - bonus), [x <= 4, rows(x)]))
    assert result.status == "converged"
    np.testing.assert_allclose(result.variables[x], [1, 2, 3], rtol=1e-4)


@pytest.mark.parametrize("bounds", [[1e6, 2e-6, 3.0], [1e8, 1.0, 1.0]])
def test_small_constants_are_met_by_their_own_size(bounds: list[float]) -> None:
    """x[1] was 51 times its bound."""
    x, c = cp.Variable(3), np.array(bounds)
    goal = cp.sum(cp.multiply(x, 1 / c)) - cp.minimum(cp.abs(x[0] - 5), 10)
    result = dc.solve(cp.Problem(cp.Maximize(goal), [x <= c]))
    assert result.status == "converged"
    np.testing.assert_allclose(result.variables[x][1:], c[1:], rtol=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
def test_small_entries_are_met_by_the_sizes_of_new_parameters(compiled: bool) -> None:
    x, p, b = cp.Variable(3), cp.Parameter(3), cp.Parameter(3)
    p.value, b.value = np.ones(3), np.array([1.0, 2.0, 3.0])
    goal = cp.sum(x) - cp.minimum(cp.abs(x[0] - 5), 10)
    problem = cp.Problem(cp.Maximize(goal), [x <= 4, cp.multiply(p, x) <= b])
    solve: Callable[[], Any] = dc.compile(problem).solve if compiled else lambda: dc.solve(problem)
    solve()
    p.value, b.value = W, W * [1.0, 2.0, 3.0]
    result = solve()
    assert result.status == "converged"
    np.testing.assert_allclose(result.variables[x], [1, 2, 3], rtol=1e-4)


def test_multipliers_of_small_entries_are_the_users() -> None:
    x = cp.Variable(3)
    limit = cp.multiply(W, x) <= W * [1.0, 2.0, 3.0]
    dc.solve(cp.Problem(cp.Maximize(cp.sum(x)), [limit]))
    np.testing.assert_allclose(limit.dual_value, 1 / W, rtol=1e-4)
