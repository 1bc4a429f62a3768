"""Whole powers and xexp mean their values on both sides of 0, whoever takes the problem."""

from __future__ import annotations

import warnings
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc

x = cp.Variable(name="x")
y = cp.Variable(3, name="y")
n = cp.Variable(nonneg=True, name="n")
b = cp.Variable(bounds=[0, None], name="b")
THREE = cp.Parameter(value=3.0)
POWER = cp.power

PROBLEMS: dict[str, tuple[Any, list[Any], float]] = {
    "cube from above": (cp.Minimize(x), [POWER(x, 3) <= -1, x >= -3], -3),
    "cube from above, tight": (cp.Maximize(x), [POWER(x, 3) <= -8, x >= -3], -2),
    "cube from below": (cp.Minimize(x), [POWER(x, 3) >= -8, x >= -3], -2),
    "cube as an equation": (cp.Minimize(x), [POWER(x, 3) == -1, x >= -3], -1),
    "cube less x": (cp.Minimize(POWER(x, 3) - x), [cp.abs(x) <= 2], -6),
    "the same, not DCP": (
        cp.Minimize(POWER(x, 3) - x - 1e-9 * cp.square(x)),
        [cp.abs(x) <= 2],
        -6,
    ),
    "cube, maximised": (cp.Maximize(POWER(x, 3) - x), [x >= -2, x <= 1], 2 / np.sqrt(27)),
    "exponent a Parameter": (cp.Minimize(POWER(x, THREE) - x), [cp.abs(x) <= 2], -6),
    "fifth power": (cp.Minimize(POWER(x, 5)), [x >= -2, x <= 1], -32),
    "seventh power from above": (cp.Maximize(x), [x**7 <= -1, x >= -3], -1),
    "sixth power": (cp.Minimize(POWER(x, 6) + 6 * x), [], -5),
    "sixth power, maximised": (cp.Maximize(POWER(x, 6)), [x >= -2, x <= 1], 64),
    "sixth power from above": (cp.Minimize(x), [POWER(x, 6) <= 64], -2),
    "sixth power from below": (cp.Maximize(x), [POWER(x, 6) >= 64, x <= 1, x >= -5], -2),
    "tenth power": (cp.Minimize(POWER(x, 10) + 10 * x), [], -9),
    "power cone": (cp.Minimize(cp.power(x, 6, approx=False) + 6 * x), [], -5),
    "affine argument": (cp.Minimize(cp.sum(POWER(y - 1, 3))), [cp.abs(y) <= 1], -24),
    "matrix argument": (
        cp.Minimize(cp.sum(POWER(cp.outer(y, np.ones(2)) - 1, 3))),
        [cp.abs(y) <= 1],
        -48,
    ),
    "entries of mixed signs": (
        cp.Minimize(cp.sum(POWER(y, 3))),
        [y[0] >= 1, y[1] <= 0, y[1] >= -1, cp.abs(y[2]) <= 2],
        -8,
    ),
    "nonpositive argument": (cp.Maximize(POWER(x, 3)), [x <= -1, x >= -4], -1),
    "power of a power": (cp.Minimize(POWER(POWER(x, 3), 3)), [x >= -1.5, x <= 1], -(1.5**9)),
    "in an exponential": (cp.Minimize(cp.exp(POWER(x - 1, 3))), [x >= 0], np.exp(-1)),
    "in an absolute value": (cp.Minimize(cp.abs(POWER(x, 3) + 8)), [], 0),
    "constant base": (cp.Minimize(POWER(cp.Constant(-2), 3) * cp.square(x)), [x <= 1, x >= 0], -8),
    "xexp": (cp.Minimize(cp.xexp(x)), [], -np.exp(-1)),
    "xexp, maximised": (cp.Maximize(cp.xexp(x)), [x >= -9, x <= -1], -9 * np.exp(-9)),
    "xexp from above": (cp.Minimize(x), [cp.xexp(x) <= -np.exp(-1) / 2], -2.6783469900166605),
    "xexp from below": (cp.Minimize(x), [cp.xexp(x) >= -np.exp(-1) / 2, x >= -1], -0.23196095298),
}


def solved(problem: cp.Problem, **options: Any) -> tuple[dc.Result, list[str]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = dc.solve(problem, **options)
    return result, [str(w.message) for w in said if w.category is UserWarning]


@pytest.mark.parametrize("name", PROBLEMS)
def test_values_are_those_of_both_sides(name: str) -> None:
    objective, constraints, value = PROBLEMS[name]
    problem = cp.Problem(objective, constraints)
    result, said = solved(problem)
    assert result.status == "converged"
    assert result.value == pytest.approx(value, rel=1e-5, abs=1e-5)
    assert float(problem.objective.value) == pytest.approx(result.value, rel=1e-9, abs=1e-9)
    assert dc.is_majorizable(problem)
    assert len(said) <= 1


def test_by_cvxpys_own_door_with_a_multiplier() -> None:
    low = POWER(x, 3) <= -8
    problem = cp.Problem(cp.Minimize(cp.square(x)), [low])
    with pytest.warns(UserWarning, match="add `x >= 0`"):
        assert problem.solve(method="dc") == pytest.approx(4, rel=1e-5)
    assert float(low.dual_value) == pytest.approx(1 / 3, rel=1e-3)


@pytest.mark.parametrize("name", ["cube less x", "xexp", "sixth power", "cube from above"])
def test_polished_points_are_no_worse(name: str) -> None:
    objective, constraints, value = PROBLEMS[name]
    result, _ = solved(cp.Problem(objective, constraints), polish=True)
    assert result.value == pytest.approx(value, rel=1e-8)


def test_a_falling_cube_is_unbounded() -> None:
    result, _ = solved(cp.Problem(cp.Minimize(POWER(x, 3))))
    assert result.status == "unbounded"


NONNEGATIVE = {
    "declared": (n, []),
    "bounds": (b, []),
    "constraint": (x, [x >= 0]),
    "constraint with a Parameter": (x, [x >= cp.Parameter(nonneg=True, value=0.5)]),
    "sum of them": (n + b, [n == b]),
}


@pytest.mark.parametrize("name", NONNEGATIVE)
def test_a_power_of_known_sign_stays_convex(name: str) -> None:
    base, constraints = NONNEGATIVE[name]
    problem = cp.Problem(cp.Minimize(POWER(base, 3) - 3 * base), constraints)
    result, said = solved(problem)
    assert result.message == "the problem is convex: solved once"
    assert result.value == pytest.approx(-2, rel=1e-6)
    assert said == []
    assert "both sides" not in dc.explain(problem)


def test_xexp_of_known_sign_is_convex() -> None:
    for base, constraints in ((n, []), (x, [x >= 0])):
        result, said = solved(cp.Problem(cp.Minimize(cp.xexp(base) - 2 * base), constraints))
        assert result.message == "the problem is convex: solved once"
        assert result.value == pytest.approx(-0.2043782734, rel=1e-6)
        assert said == []


def test_a_sign_that_is_not_seen_does_no_harm() -> None:
    result, said = solved(cp.Problem(cp.Minimize(POWER(x, 3) - 3 * x), [x == n]))
    assert result.value == pytest.approx(-2, rel=1e-6)
    assert said == []


def test_a_parameter_that_turns_a_sign_is_followed() -> None:
    p = cp.Parameter(value=1.0)
    problem = cp.Problem(cp.Minimize(POWER(p * n, 3) + n), [n <= 2])
    for value, least in ((1.0, 0.0), (-1.0, -6.0), (0.5, 0.0)):
        p.value = value
        assert solved(problem)[0].value == pytest.approx(least, abs=1e-6)


# ----------------------------------------------------------------------------------------------
# what the user is told


def test_the_warning_names_the_power_once() -> None:
    problem = cp.Problem(cp.Minimize(POWER(x, 3) + POWER(x, 5)), [cp.abs(x) <= 2])
    _, said = solved(problem)
    assert len(said) == 1
    assert "`power(x, 3.0)` (and 1 more) is taken on both sides of 0" in said[0]
    assert "add `x >= 0` if that was meant" in said[0]


@pytest.mark.parametrize(
    "problem",
    [
        cp.Problem(cp.Minimize(POWER(x, 3) - x - cp.square(x)), [cp.abs(x) <= 2]),  # not DCP
        cp.Problem(cp.Minimize(POWER(x + 1, 6) + cp.square(x + 1))),  # ends at 0, but for rounding
        cp.Problem(cp.Minimize(POWER(x, 3) + cp.square(x - 1)), [cp.abs(x) <= 1]),
        cp.Problem(cp.Minimize(POWER(x, 4) + x)),  # a power of 2 has both sides for cvxpy, too
        cp.Problem(cp.Minimize(POWER(cp.Constant(-2), 3) + cp.square(x))),
    ],
    ids=str,
)
def test_nothing_is_said_where_cvxpy_would_agree_or_refuse(problem: cp.Problem) -> None:
    assert solved(problem)[1] == []


def test_explain_says_so_at_the_node() -> None:
    asked = [POWER(x, 6) <= 3, cp.xexp(x) >= -1]
    text = dc.explain(cp.Problem(cp.Minimize(POWER(x, 3) - x), asked))
    assert "power(x, 3.0) is taken on both sides of 0" in text
    assert "subject to power(x, 6.0) <= 3.0\n  [convex]  kept; power(x, 6.0) is taken on" in text
    assert "xexp(x) is taken on both sides of 0" in text
    assert "power(x, 5.0) is taken on both sides of 0" in dc.explain(POWER(x, 5))
    assert "both sides" not in dc.explain(POWER(n, 5))


# ----------------------------------------------------------------------------------------------
# exponents that are not whole, and negative ones


@pytest.mark.parametrize("p", [-1, -2, -3, 1.5, 0.5])
@pytest.mark.parametrize("extra", [0.0, 1e-9], ids=["DCP", "not DCP"])
def test_other_exponents_keep_the_domain_of_cvxpy(p: float, extra: float) -> None:
    """1/x, 1/x² and x^1.5 are for x > 0, whether cvxpy takes the problem or not."""
    sign = 1 if p < 0 or p > 1 else -1
    term = sign * POWER(x, p) - extra * cp.square(x)
    result, _ = solved(cp.Problem(cp.Minimize(term + 0.1 * x), [cp.abs(x) <= 3]))
    grid = np.linspace(1e-9, 3, 300_001)
    least = np.min(sign * grid**p - extra * grid**2 + 0.1 * grid)
    assert result.status == "converged"
    assert float(x.value) >= -1e-9
    assert result.value == pytest.approx(least, abs=1e-5)


# ----------------------------------------------------------------------------------------------
# random problems against a grid

GRID = np.linspace(-1.5, 1.5, 61)
POINTS = np.array(np.meshgrid(GRID, GRID)).reshape(2, -1)


def random_terms(rng: np.random.Generator, v: cp.Variable, count: int) -> tuple[Any, Any]:
    """A sum of powers and xexp of affine arguments, and the same in NumPy on the grid."""
    terms, values = [], []
    for _ in range(count):
        weight, slope, offset = rng.uniform(-1, 1), rng.uniform(-1, 1, 2), rng.uniform(-1, 1)
        arg, at = slope @ v + offset, slope @ POINTS + offset
        p = int(rng.choice([1, 3, 5, 6, 7, 9, 10]))
        terms.append(weight * (cp.xexp(arg) if p == 1 else POWER(arg, p)))
        values.append(weight * (at * np.exp(at) if p == 1 else at**p))
    return sum(terms[1:], terms[0]), np.sum(values, axis=0)


@pytest.mark.parametrize("seed", range(6))
def test_random_problems_against_a_grid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    v = cp.Variable(2)
    (f, on_grid), (g, bound) = (random_terms(rng, v, int(rng.integers(1, 4))) for _ in range(2))
    level = np.quantile(bound, 0.4)
    problem = cp.Problem(cp.Minimize(f), [cp.abs(v) <= 1.5, g <= level])
    result, _ = solved(problem)
    assert result.status not in ("infeasible", "no_feasible_point")
    assert float(f.value) == pytest.approx(result.value, rel=1e-7, abs=1e-9)
    assert float(g.value) <= level + 1e-5 * np.ptp(bound)
    inside = on_grid[bound <= level]
    assert result.value <= np.min(inside) + 1e-2 * np.ptp(inside)
