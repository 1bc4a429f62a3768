"""No units: a·F, and variables in any unit, take the same decisions through the same steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.problem.surrogate import ProblemSurrogate

RNG = np.random.default_rng(0)
A = RNG.normal(size=(20, 3))
B = A @ [1, -2, 0.5] + 0.1 * RNG.normal(size=20)
B[:3] += 10
Y = np.sign(B)
CENTRES = np.array([[-1.0, 0.3], [1.1, 0.2], [0.1, 1.5]])

Scaled = tuple[cp.Variable, cp.Expression, list[Any]]


def solve(problem: cp.Problem, **options: Any) -> dc.Result:
    """One run from the default start: the race around it has tests of its own."""
    return dc.solve(problem, **{"n_starts": 1} | options)


def ramp(u: float) -> Scaled:
    x = cp.Variable(3)
    hinge = cp.pos(1 - cp.multiply(Y, (A / u) @ x))
    return x, cp.sum(cp.minimum(hinge, 1)) + 0.05 * cp.sum_squares(x / u), []


def capped_l1(u: float) -> Scaled:
    x = cp.Variable(3)
    return x, cp.sum(cp.minimum(cp.abs((A / u) @ x - B), 1)) + 0.1 * cp.norm1(x / u), []


def logarithm(u: float) -> Scaled:
    x = cp.Variable(3)
    return x, cp.sum(cp.log(1 + cp.square((A / u) @ x - B))) + 0.1 * cp.sum_squares(x / u), []


def in_a_ball(u: float) -> Scaled:
    x = cp.Variable(3)
    return x, cp.sum(cp.minimum(cp.square((A / u) @ x - B), 1)), [cp.norm(x) <= u]


def circles(u: float) -> Scaled:
    x = cp.Variable((3, 2))
    apart = [cp.norm(x[i] - x[j]) >= 2 * u for i in range(3) for j in range(i)]
    return x, cp.sum_squares(x / u - CENTRES), apart


def beyond(u: float) -> Scaled:
    x = cp.Variable()
    return x, x / u, [x**2 >= 5 * u**2, x >= 0]


def on_a_sphere(u: float) -> Scaled:
    x = cp.Variable(3)
    return x, cp.sum(cp.minimum(cp.square((A / u) @ x - B), 1)), [cp.norm(x) == 2 * u]


MODELS: dict[str, Callable[[float], Scaled]] = {
    "ramp": ramp,
    "capped l1": capped_l1,
    "logarithm": logarithm,
    "in a ball": in_a_ball,
    "circles": circles,
    "beyond": beyond,
    "on a sphere": on_a_sphere,
}


@cache
def solved(name: str, a: float, u: float) -> tuple[dc.Result, np.ndarray]:
    _, objective, constraints = MODELS[name](u)
    result = solve(cp.Problem(cp.Minimize(a * objective), constraints), start="convex")
    assert result.x is not None
    return result, result.x / u


@pytest.mark.parametrize(
    ("a", "u"),
    [
        (1e-12, 1.0),
        (1e12, 1.0),
        (1.0, 1e-12),
        (1.0, 1e12),
        (1e-9, 1e9),
    ],
)
@pytest.mark.parametrize("name", MODELS)
def test_same_decisions_in_all_units(name: str, a: float, u: float) -> None:
    usual, point = solved(name, 1.0, 1.0)
    other, same_point = solved(name, a, u)
    assert (other.status, other.n_iter) == (usual.status, usual.n_iter)
    assert other.value == pytest.approx(a * usual.value, rel=1e-6)
    np.testing.assert_allclose(same_point, point, rtol=1e-5, atol=1e-5 * np.max(np.abs(point)))
    assert other.certificate().holds


@pytest.mark.parametrize("factor", [1e-12, 1e12])
@pytest.mark.parametrize("name", MODELS)
def test_scale_and_units_follow(name: str, factor: float) -> None:
    sizes = []
    for a, u in ((1.0, 1.0), (factor, 1.0), (1.0, factor)):
        x, objective, constraints = MODELS[name](u)
        surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(a * objective), constraints))
        point = u * np.linspace(0.5, 1.5, x.size)
        surrogate.begin(point)
        surrogate.tighten(point)
        unit = surrogate.sizes.natural.unit
        sizes.append((surrogate.scale(point) / a, surrogate.units(point) / u, unit / u))
    for scale, units, unit in sizes[1:]:
        assert scale == pytest.approx(sizes[0][0], rel=1e-9)
        np.testing.assert_allclose(units, sizes[0][1], rtol=1e-12)
        np.testing.assert_array_less(np.abs(np.log10(unit / sizes[0][2])), 2.01)


@pytest.mark.parametrize("constant", [1e6, -1e6])
def test_units_do_not_count_a_constant(constant: float) -> None:
    x = cp.Variable(3)
    objective = cp.sum(cp.abs(cp.square(x) - np.array([1.0, 2.0, 3.0])))
    own, moved = (
        ProblemSurrogate(cp.Problem(cp.Minimize(objective + c))).sizes.natural.unit
        for c in (0, constant)
    )
    np.testing.assert_array_equal(own, moved)


Constrained = Callable[[cp.Variable, float], list[Any]]
SQUARES: dict[str, Constrained] = {
    "sum of squares": lambda x, u: [cp.sum_squares(x) <= u**2],
    "squares": lambda x, u: [cp.square(x) <= u**2],
    "equation": lambda x, u: [cp.sum_squares(x) == 4 * u**2],
    "product": lambda x, u: [x[0] * x[1] >= 4 * u**2],
    "outside": lambda x, u: [cp.sum_squares(x) >= 9 * u**2],
}


@pytest.mark.parametrize("u", [1e6])
@pytest.mark.parametrize(
    "name",
    [name if name == "squares" else pytest.param(name, marks=pytest.mark.slow) for name in SQUARES],
)
def test_squares_in_constraints(name: str, u: float) -> None:
    """A square's unit is another one than its argument's, in one cone.

    By a race: where all losses are capped, a plain run goes on from any of the minimisers.
    """
    values = []
    for unit in (1.0, u):
        x = cp.Variable(3)
        goal = cp.sum(cp.minimum(cp.square((A / unit) @ x - B), 1))
        result = dc.solve(cp.Problem(cp.Minimize(goal), SQUARES[name](x, unit)))
        assert result.status == "converged"
        assert result.relative_violation <= 1e-6
        values.append(result.value)
    assert values[1] == pytest.approx(values[0], rel=1e-4)


@pytest.mark.parametrize("far", [1e9, 1e15])
def test_a_wild_start_is_no_measure(far: float) -> None:
    """What counts as small is judged where the run ends, not where it began."""
    x = cp.Variable((3, 2))
    apart = [cp.sum_squares(x[i] - x[j]) >= 4 for i in range(3) for j in range(i)]
    problem = cp.Problem(cp.Minimize(cp.norm(x, "fro")), apart)
    result = solve(problem, start={x: far * CENTRES}, max_iter=300)
    assert result.status == "converged"
    assert result.value == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize("shift", [1e3, 1e9])
def test_a_constant_changes_no_decision(shift: float) -> None:
    """Neither one in the objective nor the same one on both sides of a constraint."""
    x = cp.Variable(3)
    loss = cp.sum(cp.minimum(cp.square(A @ x - B), 1))
    plain = solve(cp.Problem(cp.Minimize(loss), [cp.norm(x) >= 3]))
    far = solve(cp.Problem(cp.Minimize(loss + shift), [cp.norm(x) >= 3]))
    assert far.status == plain.status
    assert far.value - shift == pytest.approx(plain.value, rel=1e-4, abs=1e-6 * shift)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1e-5, 1e5), (1e8, 1e8), (1e-9, 1e-3)])
def test_factors_in_units_of_their_own(a: float, b: float) -> None:
    """A bilinear equation between variables of any sizes, and another variable beside it."""
    v, t, m = cp.Variable(nonneg=True), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    goal = a * v + t + cp.square(b * m - 1)
    result = solve(cp.Problem(cp.Minimize(goal), [a * v * t == 4]))
    assert result.status == "converged"
    assert result.relative_violation <= 1e-6
    assert result.value == pytest.approx(4, rel=1e-4)


def test_monomials_in_units_of_their_own() -> None:
    """No variable alone changes a product, from 0: the objective tells what their units are."""
    units = (1e9, 1e-9, 1.0)
    x = [cp.Variable() for _ in units]
    z = [variable / unit for variable, unit in zip(x, units, strict=True)]
    squares = cp.Minimize(cp.square(z[0]) + cp.square(z[1]) + cp.square(z[2]))
    three = solve(cp.Problem(squares, [z[0] * z[1] * z[2] == 8]))
    assert three.status == "converged"
    assert three.value == pytest.approx(12, rel=1e-3)
    area = cp.square(z[0]) + z[0] * z[1]
    can = solve(cp.Problem(cp.Minimize(area), [cp.square(z[0]) * z[1] >= 1, *(v >= 0 for v in x)]))
    assert can.status == "converged"
    assert can.value == pytest.approx(1.889882, rel=1e-3)


@pytest.mark.parametrize("k", [1e6, 1e-12])
def test_a_constant_inside_a_product_changes_nothing(k: float) -> None:
    r, h = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    for volume in (k * cp.square(r) * h, cp.square(r) * k * h):
        result = solve(cp.Problem(cp.Minimize(cp.square(r) + r * h), [volume >= k]))
        assert result.status == "converged"
        assert result.value == pytest.approx(1.889882, rel=1e-3)


def test_variables_in_units_of_their_own() -> None:
    """One variable in millionths, one in millions."""
    small, large = cp.Variable(), cp.Variable()
    fit = (A[:, 0] * 1e6) * small + (A[:, 1] * 1e-6) * large
    goal = cp.sum(cp.log(1 + cp.square(fit - B)))
    result = solve(cp.Problem(cp.Minimize(goal)))
    x = cp.Variable(2)
    usual = solve(cp.Problem(cp.Minimize(cp.sum(cp.log(1 + cp.square(A[:, :2] @ x - B))))))
    assert result.status == usual.status == "converged"
    assert result.value == pytest.approx(usual.value, rel=1e-6)
    point = [1e6 * float(result.variables[small]), 1e-6 * float(result.variables[large])]
    np.testing.assert_allclose(point, usual.variables[x], rtol=1e-4)


def test_units_stay_within_what_variables_are_declared_to_be() -> None:
    """Beyond its bounds a variable answers to no step, however long."""
    t, z = cp.Variable(2, bounds=[0, np.array([1.0, 3.0])]), cp.Variable(2)
    objective = cp.entr(cp.abs(0.2 * t[1] - t[0])) + 0.01 * (cp.sum_squares(t) + cp.sum_squares(z))
    problem = cp.Problem(cp.Minimize(objective), [cp.norm_inf(z) <= 3])
    surrogate = ProblemSurrogate(problem)
    unit = surrogate.points.largest(surrogate.sizes.natural.unit)
    assert dict(zip(surrogate.points.variables, unit, strict=True))[t] <= 3
    result = solve(problem, start="convex", n_starts=1)
    assert result.status == "converged"
    assert result.value <= result.history.value[0] + 1e-9
