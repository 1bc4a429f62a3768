"""How far a point misses constraints: in every cone, in no unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from dcprog.majorants.feasibility import LEAST_SIZE, Feasibility
from dcprog.majorants.tree import Values
from dcprog.problem.split_constraints import split


def miss(constraint: Any, *, learnt: Any = None, **values: Any) -> Any:
    """The miss at some values, of a constraint in the variables of these names."""
    parts = split([constraint])
    convex, nonconvex = parts.convex, parts.nonconvex
    feasibility = Feasibility(convex, nonconvex, constraint.variables())

    def points(given: dict[str, Any]) -> Any:
        for variable in constraint.variables():
            variable.save_value(np.asarray(given[variable.name()], dtype=float))
        yield Values()

    feasibility.learn(points(learnt or values))
    (now,) = points(values)
    return feasibility.all(now)


CONES: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "inequality": (lambda x: x <= 1, [2.0, 3.0, 0.0], 2.0),
    "equality": (lambda x: x == 1, [2.0, -3.0, 1.0], 4.0),
    "nonneg": (lambda x: cp.constraints.NonNeg(x), [2.0, -3.0, 1.0], 3.0),
    "nonpos": (lambda x: cp.constraints.NonPos(x), [2.0, -3.0, 1.0], 2.0),
    "zero": (lambda x: cp.constraints.Zero(x), [2.0, -3.0, 1.0], 3.0),
    "second-order": (lambda x: cp.SOC(x[0], x[1:]), [1.0, 3.0, 4.0], 4.0),
    "inside a cone": (lambda x: cp.SOC(x[0], x[1:]), [5.0, 3.0, 4.0], 0.0),
    "exponential": (lambda x: cp.ExpCone(x[0], x[1], x[2]), [0.0, 1.0, 1.0], 0.0),
    "power": (lambda x: cp.PowCone3D(x[0], x[1], x[2], 0.5), [4.0, 1.0, 2.0], 0.0),
    "semidefinite": (lambda x: cp.diag(x) >> 0, [1.0, 0.0, 2.0], 0.0),
    "nonconvex": (lambda x: cp.norm(x) >= 10, [0.0, 3.0, 4.0], 5.0),
    "nonconvex equality": (lambda x: cp.sum_squares(x) == 30, [0.0, 3.0, 4.0], 5.0),
}


@pytest.mark.filterwarnings("ignore:Explicitly invoking")
@pytest.mark.parametrize("name", CONES)
def test_absolute_miss(name: str) -> None:
    build, point, expected = CONES[name]
    x = cp.Variable(3, name="x")
    assert miss(build(x), x=point).absolute == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "build", [lambda x: cp.ExpCone(x[0], x[1], x[2]), lambda x: cp.diag(x) >> 0]
)
def test_outside_other_cones(build: Any) -> None:
    x = cp.Variable(3, name="x")
    assert miss(build(x), x=[3.0, 1.0, -1.0]).relative > 0.1


@pytest.mark.filterwarnings("ignore:Explicitly invoking")
@pytest.mark.parametrize("name", CONES)
def test_a_point_that_is_nan_meets_nothing(name: str) -> None:
    x = cp.Variable(3, name="x")
    assert miss(CONES[name][0](x), x=[np.nan, 1.0, 1.0]).relative == np.inf


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e6, 1e12])
@pytest.mark.parametrize(
    "build",
    [
        lambda x, u: cp.norm(x) >= 10 * u,
        lambda x, u: cp.sum(x) <= -u,
        lambda x, u: cp.SOC(u + 0 * x[0], x),
        lambda x, u: cp.sum_squares(x) == 30 * u**2,
        lambda x, u: cp.multiply(x, x[::-1]) >= 100 * u**2,
    ],
)
def test_the_relative_miss_has_no_unit(build: Any, unit: float) -> None:
    x = cp.Variable(3, name="x")
    point = np.array([0.0, 3.0, 4.0])
    usual, other = miss(build(x, 1.0), x=point), miss(build(x, unit), x=unit * point)
    assert other.relative == pytest.approx(usual.relative, rel=1e-9)
    assert 0 < usual.relative <= 1


def test_bounds_of_different_sizes_are_not_compared() -> None:
    x = cp.Variable(2, bounds=[0, [1e8, 1]])
    feasibility = Feasibility([], [], [x])
    for value, least, most in ((1.01, 1e-3, 1e-1), (1 + 1e-9, 1e-10, 1e-8)):
        x.save_value(np.array([1e8, value]))
        assert least < feasibility.all(Values()).relative < most


def test_where_terms_vanish_those_of_the_start_count() -> None:
    x = cp.Variable(name="x")
    for near in (0.0, -1e-9):
        found = miss(x >= 0, learnt={"x": 100.0}, x=near)
        assert found.relative == pytest.approx(-near / (LEAST_SIZE * 100))
    assert miss(x >= 0, learnt={"x": 1e-9}, x=-1e-9).relative == 1


def test_sizes_are_forgotten_slowly() -> None:
    x = cp.Variable(name="x")
    feasibility = Feasibility([], [1 - cp.square(x)], [x])

    def at(value: float) -> Any:
        x.value = value
        yield Values()

    feasibility.learn(at(1e6))
    assert feasibility.sizes == [pytest.approx(1e12)]
    feasibility.learn(at(1.0), narrower=True)
    assert feasibility.sizes == [pytest.approx(LEAST_SIZE * 1e12)]
    feasibility.learn(at(1e9), narrower=True)
    assert feasibility.sizes == [pytest.approx(LEAST_SIZE * 1e12)]


ATTRIBUTES: list[tuple[dict[str, Any], Any, float]] = [
    ({"nonneg": True}, [[1.0, -2.0], [0.0, 0.0]], 2.0),
    ({"nonpos": True}, [[1.0, -2.0], [0.0, 0.0]], 1.0),
    ({"bounds": [0, 1]}, [[1.5, 0.0], [-0.25, 0.0]], 0.5),
    ({"symmetric": True}, [[1.0, 2.0], [5.0, 0.0]], 3.0),
    ({"PSD": True}, [[1.0, 0.0], [0.0, -2.0]], 2.0),
    ({"NSD": True}, [[1.0, 0.0], [0.0, -2.0]], 1.0),
    ({"PSD": True}, [[2.0, 1.0], [1.0, 2.0]], 0.0),
    ({"nonneg": True, "symmetric": True}, [[-1.0, 4.0], [0.0, 0.0]], 4.0),
    ({"nonneg": True}, [[np.nan, 0.0], [0.0, 0.0]], np.inf),
]


@pytest.mark.parametrize(("attributes", "value", "expected"), ATTRIBUTES)
def test_distance_to_attributes(attributes: dict[str, Any], value: Any, expected: float) -> None:
    variable = cp.Variable((2, 2), **attributes)
    variable.save_value(np.array(value))
    assert Feasibility([], [], [variable]).all(Values()).absolute == expected


def test_a_constraint_that_vanishes_around_the_start_has_a_size_later() -> None:
    x = cp.Variable()
    feasibility = Feasibility([], [cp.pos(x - 1)], [x])

    def at(point: float) -> Values:
        x.value = np.array(point)
        return Values()

    feasibility.learn(at(point) for point in (0.0, 0.1))
    assert feasibility.nonconvex(at(1 + 1e-12)).relative == 1  # of itself: nothing else is known
    feasibility.extend(at(2.0))
    assert feasibility.nonconvex(at(1 + 1e-12)).relative <= 1e-6
    assert feasibility.nonconvex(at(1 + 1e-3)).relative > 1e-6
