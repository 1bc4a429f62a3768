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
    matrix = np.random.default_rng(31).integers(-9, 10, size=(10, 10)).astype(float)
    matrix += matrix.T
    x = cp.Variable(10)
    problem = cp.Problem(cp.Minimize(cp.quad_form(x, matrix)), [equation(x)])
    assert np.allclose(list(FactorableProblem(problem).roots.values()), [two] * 10)
    cases = np.array(list(itertools.product(two, repeat=10)))
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
