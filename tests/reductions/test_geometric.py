"""Geometric programs are solved exactly, and told of in the user's variables."""

import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.engine.track import Progress


def hs93(**declared: Any) -> tuple[cp.Problem, cp.Variable]:
    """Problem 93 of Hock, Schittkowski (1981): the design of a transformer."""
    x = cp.Variable(6, **declared)
    a, b = x[0] * x[3] * (x[0] + x[1] + x[2]), x[1] * x[2] * (x[0] + 1.57 * x[1] + x[3])
    losses = 0.0607 * a * cp.square(x[4]) + 0.0437 * b * cp.square(x[5])
    power = 0.001 * x[0] * x[1] * x[2] * x[3] * x[4] * x[5] >= 2.07
    heat = 0.00062 * a * cp.square(x[4]) + 0.00058 * b * cp.square(x[5]) <= 1
    return cp.Problem(cp.Minimize(0.0204 * a + 0.0187 * b + losses), [power, heat]), x


START = np.array([5.54, 4.4, 12.02, 11.82, 0.702, 0.852])


@pytest.mark.parametrize(
    "declared", [{"pos": True}, {"bounds": [1e-3, None]}, {"bounds": [0.1, 50]}]
)
@pytest.mark.parametrize("start", ["auto", "convex", START])
def test_the_optimum_from_every_start(declared: dict[str, Any], start: Any) -> None:
    problem, x = hs93(**declared)
    result = dc.solve(problem, start=start)
    assert result.status == "converged"
    assert result.value == pytest.approx(135.07596, rel=1e-6)
    assert result.violation <= 1e-6
    assert problem.value == pytest.approx(result.value)
    assert result.x is not None
    np.testing.assert_allclose(result.x, np.ravel(x.value))
    assert result.certificate(tol=1e-5).holds


def posynomial(rng: np.random.Generator, x: cp.Variable) -> cp.Expression:
    terms = []
    for _ in range(3):
        powers = rng.integers(-2, 3, x.size) * (rng.random(x.size) < 0.6)
        factors = [cp.power(x[j], float(p)) for j, p in enumerate(powers) if p]
        terms.append(float(rng.uniform(0.5, 2)) * (cp.prod(cp.hstack(factors)) if factors else 1.0))
    return sum(terms[1:], terms[0])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("maximise", [False, True])
def test_random_programs_agree_with_cvxpy(seed: int, maximise: bool) -> None:
    rng = np.random.default_rng(seed)
    x = cp.Variable(4, bounds=[0.2, 5.0])
    inside = posynomial(rng, x)
    at_one = float(sum(np.ones(1))) * 9.0
    objective = cp.Maximize(1 / posynomial(rng, x)) if maximise else cp.Minimize(posynomial(rng, x))
    problem = cp.Problem(objective, [inside <= at_one])
    result = dc.solve(problem)
    y = cp.Variable(4, pos=True)
    swapped = np.random.default_rng(seed)
    theirs_inside = posynomial(swapped, y)
    theirs: Any = (
        cp.Maximize(1 / posynomial(swapped, y)) if maximise else cp.Minimize(posynomial(swapped, y))
    )
    value = cp.Problem(theirs, [theirs_inside <= at_one, y >= 0.2, y <= 5]).solve(gp=True)
    assert result.status == "converged"
    assert result.value == pytest.approx(value, rel=1e-5)


def test_multipliers_are_the_derivatives_of_the_value() -> None:
    def value_at(c: float, d: float) -> tuple[float, list[cp.Constraint]]:
        x, y = cp.Variable(pos=True), cp.Variable(pos=True)
        constraints = [x * y >= c, x + 2 * y <= d]
        return float(dc.solve(cp.Problem(cp.Minimize(x**2 / y), constraints)).value), constraints

    step = 1e-4
    _, (product, total) = value_at(2.0, 5.0)
    by_c = (value_at(2 + step, 5.0)[0] - value_at(2 - step, 5.0)[0]) / (2 * step)
    by_d = (value_at(2.0, 5 + step)[0] - value_at(2.0, 5 - step)[0]) / (2 * step)
    assert float(product.dual_value) == pytest.approx(by_c, rel=1e-2)
    assert float(total.dual_value) == pytest.approx(-by_d, rel=1e-2, abs=1e-3)


def test_infeasible_and_unbounded() -> None:
    x = cp.Variable(pos=True)
    empty = dc.solve(cp.Problem(cp.Minimize(1 / x + x), [x * x <= 1, x >= 2]))
    assert (empty.status, empty.value, empty.x) == ("infeasible", np.inf, None)
    best = dc.solve(cp.Problem(cp.Maximize(x / (1 + 1 / x))))
    assert (best.status, best.value) == ("unbounded", np.inf)
    none = dc.solve(cp.Problem(cp.Maximize(x / (1 + 1 / x)), [x * x <= 1, x >= 2]))
    assert (none.status, none.value) == ("infeasible", -np.inf)


def test_the_problem_has_the_infimum_that_is_not_attained() -> None:
    """√x of positive x comes near 0, and no nearer to −∞."""
    x = cp.Variable(pos=True)
    problem = cp.Problem(cp.Minimize(cp.sqrt(x)))
    assert problem.solve(method="dc") == dc.solve(problem).value == 0
    assert problem.status == cp.UNBOUNDED  # as by cvxpy's own gp=True


def test_starts_callbacks_and_results_are_in_the_users_variables() -> None:
    problem, x = hs93(pos=True)
    seen: list[Progress] = []
    result = dc.solve(problem, start={x: START}, callback=seen.append)
    np.testing.assert_allclose(seen[0].x, START)
    assert seen[0].value == pytest.approx(
        float(hs93(pos=True)[0].objective.expr.value or 137.06643), 1e-4
    )
    assert result.starts[0].value == pytest.approx(result.value)
    again = dc.solve(problem, start=result)
    assert again.value == pytest.approx(result.value, rel=1e-7)
    x.value = START
    assert dc.solve(problem, start="current").value == pytest.approx(result.value, rel=1e-6)
    assert pickle.loads(pickle.dumps(result)).value == result.value
    for wrong in (np.zeros(6), -START):
        with pytest.raises(ValueError, match="not positive"):
            dc.solve(problem, start={x: wrong})
    with pytest.raises(ValueError, match="shape"):
        dc.solve(problem, start={x: START[:3]})


def test_parameters_count_with_their_present_values() -> None:
    x, c = cp.Variable(2, pos=True), cp.Parameter(pos=True, value=1.0)
    problem = cp.Problem(cp.Minimize(x[0] + x[1]), [x[0] * x[1] >= c])
    for c.value in (1.0, 4.0, 9.0):
        assert dc.solve(problem).value == pytest.approx(2 * np.sqrt(c.value), rel=1e-6)


def test_explain_says_so() -> None:
    problem, _ = hs93(pos=True)
    assert dc.explain(problem).startswith("geometric program: solved as a convex problem")


def test_other_problems_are_left_alone() -> None:
    x = cp.Variable(2, pos=True)
    signomial = cp.Problem(cp.Minimize(x[0] * x[1] - x[0]), [x <= 2])
    assert "geometric" not in dc.explain(signomial)
    free = cp.Variable(2)
    assert "geometric" not in dc.explain(cp.Problem(cp.Minimize(cp.square(free[0] * free[1] - 1))))


def test_bounds_that_a_constraint_contradicts_are_infeasible() -> None:
    x = cp.Variable(bounds=[0.3, 0.5])
    problem = cp.Problem(cp.Minimize(cp.sqrt(x) / x), [x >= 0.6])
    assert dc.solve(problem).status == "infeasible"
