"""``polish=True``: x to cvxpy's ``allclose``, never at F's or the constraints' cost."""

from itertools import combinations
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.majorants.gradients import Tape
from dcprog.majorants.user_problem import Points
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.solving.polish import ActivePieces, examined
from tests.majorants.test_nonlinear_rules import NONLINEAR, move

CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-8}  # cvxpy's own tests'


def both(problem: cp.Problem, **options: Any) -> tuple[dc.Result, dc.Result]:
    """The plain and the polished result of one start; the variables hold the second."""
    options = {"n_starts": 1} | options
    plain = dc.solve(problem, **options)
    better = dc.solve(problem, polish=True, **options)
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    worth = 1e-5 * (1 + abs(plain.value)) * (plain.violation > 0)
    assert sign * better.value <= sign * plain.value + worth + 1e-11 * (1 + abs(plain.value))
    assert better.violation <= max(plain.violation, 1e-11)
    assert better.value == pytest.approx(float(np.sum(problem.objective.args[0].value)), rel=1e-12)
    return plain, better


def test_hs071() -> None:
    """Hock and Schittkowski 71, whose solution is published with eight digits."""
    x = cp.Variable(4, bounds=[1, 5])
    goal = x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    constraints = [cp.prod(x) >= 25, cp.sum(cp.square(x)) == 40]
    problem = cp.Problem(cp.Minimize(goal), constraints)
    start = {x: np.array([1.0, 5.0, 5.0, 1.0])}
    _, better = both(problem, start=start)
    np.testing.assert_allclose(x.value, [1, 4.74299963, 3.82114998, 1.37940829], rtol=1e-8)
    assert better.value == pytest.approx(17.0140173, rel=1e-8)
    assert better.violation <= 1e-12
    assert all(c.dual_value is not None for c in constraints)


@pytest.mark.slow
def test_circles_in_a_square() -> None:
    centres = cp.Variable((4, 2))
    i, j = (list(side) for side in zip(*combinations(range(4), 2), strict=True))
    apart = [cp.norm(centres[i] - centres[j], axis=1) >= 2]
    both(cp.Problem(cp.Minimize(2 * cp.max(cp.abs(centres) + 1)), apart))
    np.testing.assert_allclose(np.abs(centres.value), 1, **CLOSE)
    np.testing.assert_allclose(np.sort(centres.value, axis=0)[1:3], [[-1, -1], [1, 1]], **CLOSE)


def test_bilinear() -> None:
    X, Y = cp.Variable((3, 4), bounds=[-1, 1]), cp.Variable((4, 5), bounds=[-2, 2])
    _, better = both(cp.Problem(cp.Minimize(cp.sum(X @ Y))))
    assert better.value == pytest.approx(-120, rel=1e-12)
    np.testing.assert_allclose(np.abs(X.value), 1, **CLOSE)
    np.testing.assert_allclose(np.abs(Y.value), 2, **CLOSE)


def test_curved_valley_and_curved_constraint() -> None:
    x = cp.Variable(2)
    both(cp.Problem(cp.Minimize((1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)))
    np.testing.assert_allclose(x.value, 1, rtol=1e-10)
    both(cp.Problem(cp.Minimize(cp.sum_squares(x - [1, -2])), [cp.norm(x) >= 3]))
    np.testing.assert_allclose(x.value, 3 * np.array([1, -2]) / np.sqrt(5), rtol=1e-12)


def test_complex_variables() -> None:
    z, a = cp.Variable(2, complex=True), np.array([0.1 + 0.2j, 0.3j])
    both(cp.Problem(cp.Minimize(cp.sum_squares(z - a)), [cp.abs(z) >= 1]))
    np.testing.assert_allclose(z.value, a / np.abs(a), **CLOSE)


def test_by_cvxpys_own_door() -> None:
    x = cp.Variable()
    problem = cp.Problem(cp.Maximize(cp.square(x) + x), [x >= -1, x <= 0.7])
    assert problem.solve(method="dc", polish=True) == pytest.approx(1.19, rel=1e-14)
    assert problem.status == cp.OPTIMAL


def test_what_cannot_be_polished_stays() -> None:
    x = cp.Variable(2)
    cone = cp.Problem(cp.Maximize(cp.sum_squares(x)), [cp.SOC(cp.Constant(1.0), x)])
    plain, better = both(cone)
    np.testing.assert_array_equal(plain.x, better.x)
    S = cp.Variable((2, 2), PSD=True)
    plain, better = both(cp.Problem(cp.Maximize(cp.sum_squares(S)), [cp.trace(S) <= 1]))
    np.testing.assert_array_equal(plain.x, better.x)


def test_options_are_checked() -> None:
    x = cp.Variable()
    with pytest.raises(ValueError, match="polish"):
        dc.solve(cp.Problem(cp.Minimize(cp.square(x))), polish="yes")  # type: ignore[arg-type]
    rows = dc.residual_rows(np.ones((3, 1)), np.arange(3.0))
    with pytest.raises(ValueError, match="polish"):
        dc.solve(dc.Risk.from_loss(rows, dc.square(), dc.l2(1.0)), polish=True)


@pytest.mark.parametrize("name", NONLINEAR)
def test_gradients_against_differences(name: str) -> None:
    expression = NONLINEAR[name]
    rng = np.random.default_rng(7)
    move(expression, rng, 0.5)
    weight = rng.normal(size=expression.shape)
    points = Points(expression.variables())
    at = np.concatenate([v.value.ravel(order="F") for v in points.variables])
    tape = Tape([expression], points)
    slope = tape.gradient([weight], tape.values(at))
    ours = dict(zip((v.id for v in points.variables), points.split(slope), strict=True))
    points.load(at)
    for variable in expression.variables():
        at, aside = variable.value, 1e-5 * rng.normal(size=variable.shape)
        ends = []
        for sign in (1, -1):
            variable.value = at + sign * aside
            ends.append(float(np.sum(weight * expression.value)))
        variable.value = at
        change = float(np.sum(ours[variable.id] * aside))
        assert change == pytest.approx((ends[0] - ends[1]) / 2, rel=1e-4, abs=1e-11)


def test_pieces_have_the_value_and_their_ties_vanish() -> None:
    x = cp.Variable((2, 3), value=np.array([[1.0, 1.0, 0.0], [-2.0, 0.5, -2.0]]))
    kinked = [
        cp.max(x),
        cp.min(x, axis=1),
        cp.max(x, axis=0, keepdims=True),
        cp.norm1(x),
        cp.norm_inf(x),
        cp.abs(x),
        cp.maximum(x, 0.5, -x),
        cp.minimum(cp.pos(x), 1),
        cp.square(cp.max(cp.abs(x), axis=1)),
    ]
    for expression in kinked:
        pieces = ActivePieces(1e-9)
        smooth = pieces.of(expression)
        np.testing.assert_allclose(smooth.value, expression.value, atol=1e-14)
        assert smooth.shape == expression.shape
        assert all(np.max(np.abs(tie.value)) <= 1e-12 for tie in pieces.ties)
    assert ActivePieces(1e-9).of(cp.square(x)).args[0] is x


def test_a_point_near_a_bound_is_not_judged_as_one_at_the_bound() -> None:
    # x₁ + x₂ rises along √x₁ + √x₂ = 2 towards (0, 4); were x₁ ≥ 0 active, the conditions held
    x = cp.Variable(2, nonneg=True)
    problem = cp.Problem(cp.Maximize(cp.sum(x)), [cp.sum(cp.sqrt(x)) == 2])
    surrogate = ProblemSurrogate(problem)
    point = np.array([2e-4, (2 - np.sqrt(2e-4)) ** 2])
    assert surrogate.domain.is_feasible(point)
    verdict = examined(surrogate, point, 60)
    assert verdict.x is None or verdict.x[0] < 1e-9


def test_a_maximum_many_periods_from_0_is_no_minimum() -> None:
    # differences of gradients that step over whole periods of the cosine saw it curve upwards
    x, y = cp.Variable(), cp.Variable()
    surrogate = ProblemSurrogate(cp.Problem(cp.Minimize(cp.nlp.cos(x) + 1e4 * y), [y >= 1]))
    ends = {x.id: np.array(2 * np.pi * 160_000), y.id: np.array(1.0)}
    point = surrogate.points.pack(ends)
    assert examined(surrogate, point, 24).x is None
    ends[x.id] = ends[x.id] + np.pi
    assert examined(surrogate, surrogate.points.pack(ends), 24).downhill is None


def test_a_tie_that_x_misses_is_no_violation() -> None:
    """|z⁶/10| near 0 ties with 0, at a huge price of its flat slope: F rose from .0997 to .1075."""
    c = cp.Variable(2, nonneg=True)
    far = np.array([[0.8, 0.3], [0.8, -0.4], [0.3, 1.1]]) @ c + np.array([-1.3, -0.1, 0.7])
    size = cp.sqrt(cp.abs(1.19 + 0.867 * c[0] + 2.023 * c[1]))
    loss = size / (1 + cp.prod(0.5 + cp.abs(0.1 * far**6))) + 0.01 * cp.sum_squares(c)
    problem = cp.Problem(cp.Minimize(loss), [c[1] >= 0.108])
    both(problem, start={c: np.array([4.2e-11, 2.7578])})
