"""Offsets of tangents: those of norms are 0, and cone programs do not get units by rounding."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from dcprog.foundation.arrays import Array
from dcprog.problem.surrogate import ProblemSurrogate


def offset_at(objective: cp.Expression, x: cp.Variable, point: Array) -> float:
    """The constant of the objective's majorant at a point."""
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(objective), [cp.norm(x) <= 1]))
    surrogate.begin(point)
    surrogate.centre_at(point)
    expression = surrogate.majorised.frame.expression
    (offset,) = (p for p in expression.parameters() if p.shape == ())
    x.value = point
    assert expression.value == pytest.approx(objective.value, rel=1e-12)
    return float(offset.value)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_tangent_of_a_norm_has_no_offset(size: float) -> None:
    x = cp.Variable(3)
    for seed in range(10):
        point = size * np.random.default_rng(seed).standard_normal(3)
        assert offset_at(-cp.norm(x), x, point) == 0


def test_a_small_offset_that_the_function_has_stays() -> None:
    x = cp.Variable(2)
    found = offset_at(1e-9 - cp.norm(x), x, np.array([0.3, 0.4]))
    assert found == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS"])
def test_points_on_a_sphere_are_no_infeasible_program(solver: str) -> None:
    """Every offset but those of the norms' bounds is 0: solvers said "infeasible" before."""
    points, distance = cp.Variable((12, 3)), cp.Variable()
    pairs = [(i, j) for i in range(12) for j in range(i)]
    apart = [cp.norm(points[i] - points[j]) >= distance for i, j in pairs]
    on = [cp.norm(point) == 1 for point in points]
    surrogate = ProblemSurrogate(cp.Problem(cp.Maximize(distance), apart + on))
    x = np.random.default_rng(0).standard_normal(37)
    surrogate.firmness = 1e3  # the slacks' price: at a low one the program is unbounded
    surrogate.begin(x)
    surrogate.tighten(x)
    before = surrogate.majorant_value(x)
    assert surrogate.majorant_value(surrogate.minimise(x, 1e-6, solver)) < before
