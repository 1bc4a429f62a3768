"""Majorants of products: factors of any sizes, in any units."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.affine import Box
from dcprog.majorants.rules.frame import Gradient

Build = Callable[[Any, Any], Any]

PRODUCTS: dict[str, tuple[Build, tuple[int, ...], tuple[int, ...]]] = {
    "numbers": (lambda x, y: x * y, (), ()),
    "minus": (lambda x, y: 3 - 2 * x * y, (), ()),
    "entries": (cp.multiply, (3,), (3,)),
    "broadcast": (cp.multiply, (3, 1), (1, 2)),
    "inner": (lambda x, y: x @ y, (3,), (3,)),
    "matrices": (lambda x, y: x @ y, (3, 2), (2, 4)),
    "a scalar": (lambda x, y: x * y, (), (3,)),
    "bilinear form": (lambda x, y: x @ (np.arange(6.0).reshape(2, 3) @ y), (2,), (3,)),
}


def set_values(variables: list[cp.Variable], rng: np.random.Generator, unit: float) -> None:
    for variable, factor in zip(variables, (unit, 1 / unit), strict=True):
        variable.value = factor * rng.normal(size=variable.shape)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_majorant_of_a_product_has_no_units(name: str, unit: float) -> None:
    """x in metres and y per metre, or in micrometres and per micrometre: the same majorant."""
    build, *shapes = PRODUCTS[name]
    heights = []
    for factor in (1.0, unit):
        variables = [cp.Variable(shape) for shape in shapes]
        expression = build(*variables)
        rng = np.random.default_rng(0)
        set_values(variables, rng, factor)
        majorant = dc.majorize(expression)
        np.testing.assert_allclose(majorant.value, expression.value, rtol=1e-9, atol=1e-9)
        set_values(variables, rng, factor)
        assert np.all(majorant.value >= np.asarray(expression.value) - 1e-9)
        heights.append(majorant.value)
    np.testing.assert_allclose(heights[1], heights[0], rtol=1e-6)


@pytest.mark.parametrize("zero", [0, 1])
def test_a_factor_of_zero(zero: int) -> None:
    x, y = cp.Variable(), cp.Variable()
    x.value, y.value = (0.0, 5.0) if zero == 0 else (5.0, 0.0)
    majorant = dc.majorize(x * y)
    assert float(majorant.value) == pytest.approx(0, abs=1e-12)
    x.value, y.value = 1.0, -2.0
    assert float(majorant.value) >= -2


def test_the_majorant_does_not_remember_earlier_centres() -> None:
    x, y = cp.Variable(value=1e3), cp.Variable(value=1e-3)
    used = dc.majorize(x * y)
    x.value, y.value = 1.0, 2.0
    used.tighten()
    fresh = dc.majorize(x * y)
    x.value, y.value = -1.0, 0.5
    assert float(used.value) == float(fresh.value)


def test_bilinear_constraint_between_other_units() -> None:
    """min x + 2y, xy ≥ 4 from a feasible point, x a thousand times as large and y as small."""
    steps, values = [], []
    for unit in (1.0, 1000.0):
        x, y = cp.Variable(nonneg=True, value=2 * unit), cp.Variable(nonneg=True, value=3 / unit)
        objective = x / unit + 2 * y * unit + cp.square(x / unit - 1)
        result = dc.solve(cp.Problem(cp.Minimize(objective), [x * y >= 4]), start="current")
        steps.append(len(result.history.value))
        values.append(result.value)
    assert values[1] == pytest.approx(values[0], rel=1e-5)
    assert values[0] == pytest.approx(6.8826552, rel=1e-5)
    assert abs(steps[1] - steps[0]) <= 2


def test_parameters_grow_with_the_entries_that_products_touch() -> None:
    """Compiling costs their number times that of variables and cones: it took 15 GB here once."""
    sizes = []
    for n in (10, 20, 40):
        x, y = cp.Variable(n), cp.Variable(n)
        squares = sum(cp.square(x[i] * y[i] - i) for i in range(n))
        expression = dc.majorize(squares).expression
        sizes.append(sum(p.size for p in expression.parameters()))
    assert sizes[2] <= 2.2 * sizes[1] <= 4.84 * sizes[0]


def test_a_gradient_holds_what_its_terms_reach() -> None:
    x = cp.Variable((3, 2))
    gradient = Gradient(x)
    gradient.reach(np.array([0, 1, 0, 0, 0, 0], dtype=bool))
    expression = gradient.expression()
    gradient.begin()
    gradient.add(np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
    gradient.set()
    x.value = np.arange(6.0).reshape(3, 2)
    assert [p.size for p in expression.parameters()] == [1]
    assert float(expression.value) == 2 * x.value[1, 0]


def test_denominators_whose_sign_follows_from_several_constraints() -> None:
    x = cp.Variable(3, nonneg=True)
    below = np.array([2, -1, 1]) @ x
    box = Box([x[0] - x[1] >= 1, x <= 5])
    assert box.sign_below(below) == 1
    assert box.sign_below(-below) == -1
    assert box.sign_below(below - 3) == 0
    assert Box([x[0] <= x[1]]).sign_below(x[0] - x[1]) == -1
    assert Box([x[0] == x[1] + 2]).sign_below(x[0] - x[1]) == 1
    share = cp.Problem(cp.Maximize((x[0] + 1) / below), [x[0] - x[1] >= 1, x <= 5])
    assert dc.solve(share).value == pytest.approx(1.0)
