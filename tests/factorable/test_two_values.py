"""Entries that a quadratic equation leaves two values are binary variables of the global search."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.factorable.problem import FactorableProblem

EQUATIONS: dict[str, tuple[Any, tuple[float, float]]] = {
    "signs": (lambda x: cp.square(x) == 1, (-1, 1)),
    "a product": (lambda x: cp.multiply(x, 1 - x) == 0, (0, 1)),
    "a square less the entry": (lambda x: cp.square(x) - x == 0, (0, 1)),
    "in other units": (lambda x: cp.square(3 * x - 6) == 9, (1, 3)),
    "two lines": (lambda x: cp.multiply(2 * x - 1, x + 2) == 0, (-2, 0.5)),
}


@pytest.mark.parametrize(("equation", "two"), EQUATIONS.values(), ids=EQUATIONS)
def test_the_bound_and_the_default_are_the_best_of_all_cases(equation: Any, two: Any) -> None:
    matrix = np.random.default_rng(31).integers(-9, 10, size=(8, 8)).astype(float)
    matrix += matrix.T
    x = cp.Variable(8)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, matrix)), [equation(x)])
    assert np.allclose(list(FactorableProblem(problem).roots.values()), [two] * 8)
    cases = np.array(list(itertools.product(two, repeat=8)))
    least = np.min(np.einsum("ki,ij,kj->k", cases, matrix, cases))
    bound = dc.lower_bound(problem)
    assert bound.status == "proved"
    assert least - 1e-4 * abs(least) <= bound.value <= least + 1e-9 * abs(least)
    assert dc.solve(problem).value == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize(
    "equation",
    [
        lambda x: cp.square(x - 1) == 0,
        lambda x: cp.square(x) == -1,
        lambda x: cp.exp(x) == 2,
        lambda x: cp.square(cp.exp(x)) == 2,
        lambda x: x == 1,
        lambda x: cp.square(x) == cp.sum(x),
        lambda x: cp.power(x, 3) == 1,
    ],
)
def test_other_equations_leave_no_two_values(equation: Any) -> None:
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [equation(x)])
    assert not FactorableProblem(problem).roots


def test_the_default_reaches_the_best_of_fourteen_signs() -> None:
    """A spin glass, whose 105 products are more terms than the search takes of other problems."""
    matrix = np.triu(np.random.default_rng(13).integers(-9, 10, size=(14, 14)), 1).astype(float)
    x = cp.Variable(14)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, matrix + matrix.T)), [cp.square(x) == 1])
    assert dc.solve(problem).value == pytest.approx(-360, rel=1e-5)


def test_bounds_that_exclude_a_value() -> None:
    x = cp.Variable(3, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x) - 2 * x[0] * x[1]), [cp.square(x) == 1])
    assert dc.lower_bound(problem).value == pytest.approx(1, abs=1e-4)


def test_a_contradiction_is_infeasible() -> None:
    x = cp.Variable(3)
    odd = cp.Problem(cp.Minimize(x[0] * x[1]), [cp.square(x) == 1, cp.sum(x) == 0])
    assert dc.lower_bound(odd).status == "infeasible"


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_an_equation_does_not_count(unit: float) -> None:
    x = cp.Variable(3)
    costs = x[0] * x[1] + x[1] * x[2] + x[0] * x[2] + 0.1 * x[0]
    bound = dc.lower_bound(cp.Problem(cp.Minimize(costs), [unit * cp.square(x) == unit]))
    assert bound.status == "proved"
    assert bound.value == pytest.approx(-1.1, abs=1e-5)


def test_the_other_entries_of_a_variable_stay_continuous() -> None:
    x = cp.Variable(4, bounds=[-2, 2])
    costs = x[0] * x[1] - x[1] * x[2] / 2 + x[2] * x[3] + 0.3 * x[3]
    problem = cp.Problem(cp.Minimize(costs), [cp.square(x[:2]) == 1])
    assert set(FactorableProblem(problem).roots) == {0, 1}
    assert dc.lower_bound(problem).value == pytest.approx(-6.6, abs=1e-4)


def test_two_equations_leave_what_meets_both() -> None:
    x = cp.Variable(bounds=[-3, 3])
    both = [cp.square(x) == 1, cp.multiply(x - 1, x - 2) == 0]
    assert dc.lower_bound(cp.Problem(cp.Minimize(x), both)).value == pytest.approx(1, abs=1e-4)
    apart = [cp.square(x) == 1, cp.square(x) == 4]
    assert dc.lower_bound(cp.Problem(cp.Minimize(x), apart)).status == "infeasible"


def test_the_values_follow_a_parameter() -> None:
    x, p = cp.Variable(2), cp.Parameter()
    problem = cp.Problem(cp.Minimize(x[0] * x[1] + 0.1 * x[0]), [cp.square(x) == p])
    for p.value in (1.0, 9.0, 4.0):
        least = -p.value - 0.1 * np.sqrt(p.value)
        assert dc.lower_bound(problem).value == pytest.approx(least, rel=1e-4)


def test_an_equation_in_two_entries_is_none_in_one_however_many_terms_it_has() -> None:
    """Its first four terms are of x alone, the fifth is of y: 4(x − 2.5)² + 5 − y² = 12."""
    x, y = cp.Variable(bounds=[-9, 9]), cp.Variable(bounds=[-2, 2])
    anchors = cp.sum(cp.square(x - np.array([1.0, 2.0, 3.0, 4.0])))
    aim = cp.Minimize(-cp.square(x - 2.5) - 0.3 * x)
    problem = cp.Problem(aim, [anchors - cp.square(y) == 12])
    assert not FactorableProblem(problem).roots
    least = -2.75 - 0.3 * (2.5 + 11**0.5 / 2)
    assert dc.lower_bound(problem).value == pytest.approx(least, abs=1e-3)


def test_squares_that_cancel_but_for_rounding_make_no_quadratic_equation() -> None:
    x = cp.Variable(bounds=[-100, np.inf])
    line = cp.square(0.1 * x + 0.3) - 0.01 * cp.square(x) == 2
    assert not FactorableProblem(cp.Problem(cp.Minimize(x), [line])).roots


def test_a_small_root_beside_a_large_one_keeps_its_digits() -> None:
    x = cp.Variable()
    equation = cp.multiply(x - 1e-6, x - 1e6) == 0
    (found,) = FactorableProblem(cp.Problem(cp.Minimize(x), [equation])).roots.values()
    np.testing.assert_allclose(found, (1e-6, 1e6), rtol=1e-9)
