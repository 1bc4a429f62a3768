"""Majorants of quotients, positive products and smooth functions: above, touching, convex."""

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation.arrays import dense
from dcprog.majorants.affine import Box
from dcprog.majorants.rules.products import exact_form

nlp = cp.nlp
x = cp.Variable(3, pos=True, name="x")
y = cp.Variable(3, name="y")
b = cp.Variable(3, bounds=[0.1, 5], name="b")
u = cp.Variable(pos=True, name="u")
S = np.array([[2, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 3.0]])
DATA = np.array([1.0, -2.0, 0.5])

NONLINEAR = {
    "inverse": 1 / x,
    "minus inverse": -1 / x,
    "share": cp.sum(x / (x[::-1] + 0.1)),
    "minus share": -(x / (x[::-1] + 0.1)),
    "negative denominator": u / (-1 - x),
    "negative numerator": -x / (1 + cp.square(y)),
    "numerator of any sign": y / b,
    "minus that": -y / b,
    "square over bound": cp.square(y[0]) / b[0],
    "squares over a square": cp.sum_squares(y) / cp.square(u),
    "Sharpe ratio": -cp.square(y[0] + y[1]) / cp.quad_form(y, S),
    "inverse of a quadratic form": u / cp.quad_form(y, S),
    "sinusoid over square": nlp.sin(y) / (1 + cp.square(y)),
    "rates": -cp.sum(cp.log(1 + x / (x[::-1] + 1))),
    "minus rates": cp.sum(cp.log1p(2 * x / (x[::-1] + 1))),
    "log of a quotient": cp.log(x / (1 + u)),
    "sigmoid": 1 / (1 + cp.exp(-y)),
    "minus sigmoid": -1 / (1 + cp.exp(-y)),
    "product with a quotient": cp.multiply(x / (1 + u), cp.square(y)),
    "product of four": x[0] * x[1] * b[0] * (1 + u),
    "minus product of four": -x[0] * x[1] * b[0] * (1 + u),
    "product of three, entries": cp.multiply(cp.multiply(x, b), u * np.ones(3)),
    "product of convex": cp.square(y[0]) * cp.exp(y[1]),
    "prod": cp.prod(x),
    "minus prod": -cp.prod(x),
    "prod of any sign": cp.prod(y),
    "prod of one": cp.prod(y[:1]),
    "prod along columns": cp.prod(cp.vstack([y, x]), axis=0),
    "prod along rows": -cp.prod(cp.vstack([b, x]), axis=1),
    "prod of rows, any sign": cp.prod(cp.vstack([y, x]), axis=1, keepdims=True),
    "sin": nlp.sin(y),
    "minus sin": -2 * nlp.sin(3 * y - 1),
    "cos, mixed signs": DATA @ nlp.cos(y),
    "product of sin and cos": cp.sum(cp.multiply(nlp.sin(y), nlp.cos(y))),
    "exp of sin": cp.exp(nlp.sin(y)),
    "square of sin": cp.square(nlp.sin(y)),
    "tanh of convex": nlp.tanh(cp.logistic(2 * y)),
    "minus tanh of convex": -nlp.tanh(cp.square(y)),
    "sinh": nlp.sinh(y),
    "minus sinh of nonconvex": -nlp.sinh(cp.minimum(cp.square(y), 1)),
    "asinh": -nlp.asinh(y),
    "atanh": nlp.atanh(y / 10),
    "minus atanh": -nlp.atanh(y / 10),
    "tan": nlp.tan(y / 5),
    "minus tan": -nlp.tan(y / 5),
    "normcdf": nlp.normcdf(y),
    "kl_div": cp.kl_div(np.ones(3), 1 + cp.multiply(x, b)),
    "xexp": cp.xexp(b),
    "softmax": cp.exp(y) / cp.sum(cp.exp(y)),
    "minus softmax": -cp.exp(y) / cp.sum(cp.exp(y)),
    "distance to softmax": cp.sum_squares(cp.exp(y) / cp.sum(cp.exp(y)) - 0.3),
    "ratio of exponentials": cp.sum(cp.exp(S @ y)) / (1 + 2 * cp.sum(cp.exp(-y))),
    "minus that ratio": -(3 + cp.exp(y[0])) / (cp.exp(y[1]) + cp.exp(cp.square(y[2]))),
    "sigmoids of two signs": DATA @ (1 / (1 + cp.exp(-y))),
    "weighted softmax": cp.multiply(np.array([1, 2, 3.0]), cp.exp(y)) / cp.sum(cp.exp(y)),
    "cube less square": cp.power(y, 3) - cp.square(y),
    "square less cube": cp.square(y) - cp.power(y, 3),
    "sum of odd powers": y[0] ** 3 - 2 * y[1] ** 5 + y[2] ** 7,
    "square of a cube": cp.square(cp.power(y, 3) - 1),
    "minus a sixth power": cp.square(y) - cp.power(y, 6),
    "cube of nonconvex": cp.power(cp.minimum(cp.square(y), 1) - 0.5, 3),
    "product with a cube": cp.multiply(y, cp.power(y[::-1], 3)),
    "cube": cp.power(y, 3),
    "minus a fifth power": -cp.power(y - 1, 5),
    "sixth power of nonconvex": cp.power(cp.minimum(cp.square(y), 1) - 0.5, 6),
    "exp of a cube": cp.exp(cp.power(y, 3)),
    "xexp, both sides": cp.xexp(y),
    "minus xexp": -cp.xexp(3 * y - 1),
    "xexp, mixed signs": DATA @ cp.xexp(2 * y),
    "xexp of convex": cp.xexp(cp.square(y) - 2),
    "xexp of nonconvex": -cp.xexp(cp.minimum(cp.square(y), 1) - 2),
    "square of xexp": cp.square(cp.xexp(y)),
}


def move(expression: cp.Expression, rng: np.random.Generator, spread: float = 1.0) -> None:
    for variable in expression.variables():
        drawn = spread * rng.normal(size=variable.shape)
        if variable is b:
            drawn = rng.uniform(0.1, 5, size=3)
        variable.value = np.abs(drawn) + 0.01 if variable.attributes["pos"] else drawn


@pytest.mark.parametrize("name", NONLINEAR)
def test_above_touching_and_convex(name: str) -> None:
    expression = NONLINEAR[name]
    rng = np.random.default_rng(3)
    move(expression, rng)
    majorant = dc.majorize(expression)
    assert majorant.expression.is_dcp(dpp=True)
    for _ in range(10):
        move(expression, rng)
        majorant.tighten()
        np.testing.assert_allclose(majorant.value, dense(expression.value), rtol=1e-9, atol=1e-9)
        heights, points = [], []
        for spread in (0.1, 1.0, 2.0):
            move(expression, rng, spread)
            below, above = dense(expression.value), majorant.value
            if np.all(np.isfinite(above)):  # a majorant may be infinite
                assert np.all(above - below >= -1e-9 * (1 + np.abs(below) + np.abs(above)))
                heights.append(above)
                points.append([v.value for v in expression.variables()])
        for i in range(1, len(points)):
            for v, p, q in zip(expression.variables(), points[i - 1], points[i], strict=True):
                v.value = (p + q) / 2
            chord = (heights[i - 1] + heights[i]) / 2
            assert np.all(majorant.value <= chord + 1e-8 * (1 + np.abs(chord)))


@pytest.mark.parametrize("name", ["share", "Sharpe ratio", "rates", "product of four", "sinh"])
def test_majorants_have_the_slope_of_what_they_majorise(name: str) -> None:
    expression = NONLINEAR[name]
    rng = np.random.default_rng(4)
    move(expression, rng)
    majorant = dc.majorize(expression)
    centre = {v: v.value for v in expression.variables()}
    for variable, at in centre.items():
        step = 1e-5 * rng.normal(size=variable.shape)
        changes = []
        for sign in (1, -1):
            variable.value = at + sign * step
            changes.append((np.sum(majorant.value), np.sum(expression.value)))
        variable.value = at
        ours, true = np.subtract(changes[0], changes[1])
        assert ours == pytest.approx(true, rel=1e-4, abs=1e-9)


def test_a_numerator_that_is_0_everywhere_is_taken() -> None:
    x, m = cp.Variable(3), cp.Variable()
    total = (np.zeros(3) @ x) / (1 + cp.abs(m)) + cp.norm1(x - 1) + cp.abs(m - 2)
    problem = cp.Problem(cp.Minimize(total), [cp.abs(x) <= 3, cp.abs(m) <= 3])
    result = dc.solve(problem, n_starts=1)
    assert result.status == "converged"
    assert result.value == pytest.approx(0.0, abs=1e-6)


def test_a_quotient_of_unknown_sign_is_refused() -> None:
    with pytest.raises(dc.NotMajorizable, match="sign of its denominator"):
        dc.majorize(x[0] / y[0])


def test_signs_from_bounds_and_constraints() -> None:
    free = cp.Variable(3)
    box = Box([free[:2] >= 1, 2 * free[2] <= -4, free[0] + free[1] <= 9])
    assert box.is_nonneg(free[0] * free[1])
    assert not box.is_nonneg(free[2])
    assert box.is_nonpos(free[2] + 2)
    assert box.is_nonneg(2 * free[0] - free[2] - 4)
    assert not box.is_nonneg(2 * free[0] - free[2] - 4.1)
    assert not box.is_nonneg(free[0] - free[1])
    assert Box().is_nonneg(b - 0.1)
    assert not Box().is_nonneg(b - 0.2)
    assert Box().is_nonpos(b - 5)


def test_signs_from_constraints_with_parameters() -> None:
    free, low = cp.Variable(2), cp.Parameter(nonneg=True)
    box = Box([free[0] >= low, 2 * free[1] <= -low, free[1] <= low * free[0]])
    assert box.is_nonneg(free[0])
    assert not box.is_nonneg(free[0] - 1)
    assert box.is_nonpos(free[1])
    assert not Box([free[0] >= cp.Parameter(value=1.0)]).is_nonneg(free[0])


EXACT = {
    "quotient": x[0] / (1 + x[1]) <= 0.4,
    "quotient from below": (x[0] + u) / (1 + x[1]) >= 0.4,
    "quotients": x / (1 + x[::-1]) <= DATA + 3,
    "product": x[0] * x[1] * u >= 0.7,
    "product times a constant": 2 * x[0] * u >= 0.7,
    "prod": cp.prod(x) >= 0.3,
    "products": cp.multiply(x, b) >= 0.5,
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_forms_hold_at_the_same_points_and_are_convex(name: str) -> None:
    constraint = EXACT[name]
    form = exact_form(constraint.expr, Box())
    assert form is not None
    assert form.expression.is_convex()
    assert form.expression.shape == constraint.expr.shape
    rng = np.random.default_rng(5)
    for _ in range(100):
        move(constraint.expr, rng)
        asked, ours = dense(constraint.expr.value), dense(form.expression.value)
        np.testing.assert_array_equal(asked <= 0, ours <= 0)


def test_odd_powers_are_on_both_sides_whether_cvxpy_takes_the_problem_or_not() -> None:
    t = cp.Variable()
    inside = [t >= -2, t <= 1]
    cube = cp.power(t, 3)
    with pytest.warns(UserWarning, match="both sides of 0"):
        least = cp.Problem(cp.Minimize(cube), inside).solve(method="dc")
    assert least == pytest.approx(-8, rel=1e-6)
    both = cp.Problem(cp.Minimize(cube - cp.square(t)), inside)
    assert both.solve(method="dc") == pytest.approx(-12, rel=1e-6)
    falling = cp.Problem(cp.Minimize(t - cube), inside)
    assert falling.solve(method="dc") == pytest.approx(-2 / np.sqrt(27), rel=1e-6)
    assert float(t.value) == pytest.approx(-1 / np.sqrt(3), abs=1e-3)


def test_xexp_is_majorised_with_its_own_curvature() -> None:
    """Second differences at the centre, from −1 on for xexp and up to −3 for its negative."""
    t = cp.Variable()
    for sign, centres in ((1, (-1.0, 0.0, 2.0)), (-1, (-3.0, -5.0))):
        for centre in centres:
            t.value = centre
            majorant = dc.majorize(sign * cp.xexp(t))
            heights = []
            for step in (-1e-3, 0.0, 1e-3):
                t.value = centre + step
                heights.append(float(majorant.value))
            bend = (heights[0] - 2 * heights[1] + heights[2]) / 1e-6
            assert bend == pytest.approx(sign * (centre + 2) * np.exp(centre), rel=1e-3)


def test_odd_powers_of_known_sign_are_kept() -> None:
    t = cp.Variable()
    problem = cp.Problem(cp.Minimize(cp.power(t, 3) - cp.square(t)), [t >= 0])
    assert "maximum" not in dc.explain(problem)
    assert problem.solve(method="dc") == pytest.approx(-4 / 27, rel=1e-6)


def test_an_odd_equality_is_met_on_either_side() -> None:
    v = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(v)), [v[0] ** 3 + v[1] ** 3 == -2])
    assert problem.solve(method="dc") == pytest.approx(2 ** (2 / 3), rel=1e-5)
    assert problem.status == cp.OPTIMAL
