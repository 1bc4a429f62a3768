"""Values of atoms at 0, at NaN, at infinity and at the edges of their domains."""

import itertools
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.affine.wraps import symmetric_wrap
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, tanh
from cvxpy.atoms.elementwise.trig import cos, tan

from dcprog.majorants.rules import Frame, fresh_context
from dcprog.majorants.tree import Values, evaluate, extended, nodes, pull_back
from dcprog.problem.majorised_problem import finite_in_domain

X, Y, M, S = (3,), (), (2, 3), (3, 3)
Build = Callable[..., Any]
W = np.array([0.5, -1.0, 2.0])

ELEMENTWISE: dict[str, Build] = {
    "abs": cp.abs,
    "asinh": asinh,
    "atanh": atanh,
    "ceil": cp.ceil,
    "cos": cos,
    "entr": cp.entr,
    "exp": cp.exp,
    "floor": cp.floor,
    "huber": cp.huber,
    "inv_pos": cp.inv_pos,
    "log": cp.log,
    "log1p": cp.log1p,
    "log_normcdf": cp.log_normcdf,
    "loggamma": cp.loggamma,
    "logistic": cp.logistic,
    "maximum": lambda x: cp.maximum(x, 1, -x),
    "minimum": lambda x: cp.minimum(x, 1),
    "neg": cp.neg,
    "pos": cp.pos,
    "power 0.3": lambda x: cp.power(x, 0.3),
    "power 3": lambda x: cp.power(x, 3),
    "power -2": lambda x: cp.power(x, -2),
    "power 4": lambda x: cp.power(x, 4),
    "scalene": lambda x: cp.scalene(x, 2, 3),
    "sign": lambda x: cp.sign(x),
    "sqrt": cp.sqrt,
    "square": cp.square,
    "tan": tan,
    "tanh": tanh,
    "xexp": cp.xexp,
    "kl_div": lambda x: cp.kl_div(x, x[::-1]),
    "rel_entr": lambda x: cp.rel_entr(x, x[::-1]),
}

WHOLE: dict[str, Build] = {
    "cumprod": lambda x: cp.cumprod(x, axis=0),
    "cummax": lambda x: cp.cummax(x, axis=0),
    "cvar": lambda x: cp.cvar(x, 0.4),
    "dotsort": lambda x: cp.dotsort(x, W),
    "geo_mean": cp.geo_mean,
    "harmonic_mean": cp.harmonic_mean,
    "inv_prod": cp.inv_prod,
    "length": lambda x: cp.length(x),
    "log_sum_exp": cp.log_sum_exp,
    "max": cp.max,
    "mean": cp.mean,
    "min": cp.min,
    "norm1": cp.norm1,
    "norm2": cp.norm2,
    "norm_inf": cp.norm_inf,
    "pnorm 0.5": lambda x: cp.pnorm(x, 0.5),
    "pnorm -1": lambda x: cp.pnorm(x, -1),
    "pnorm 3": lambda x: cp.pnorm(x, 3),
    "prod": cp.prod,
    "ptp": cp.ptp,
    "quad_form": lambda x: cp.quad_form(x, np.diag(W)),
    "quad_over_lin": lambda x: cp.quad_over_lin(x, x[0]),
    "std": cp.std,
    "sum_largest": lambda x: cp.sum_largest(x, 1.5),
    "sum_smallest": lambda x: cp.sum_smallest(x, 2),
    "sum_squares": cp.sum_squares,
    "tv": cp.tv,
    "var": cp.var,
    "vdot": lambda x: cp.vdot(x, W),
    "matrix_frac of a diagonal": lambda x: cp.matrix_frac(x, cp.diag(x)),
}

OF_MATRICES: dict[str, Build] = {
    "cummax": lambda m: cp.cummax(m, axis=1),
    "max": lambda m: cp.max(m, axis=1, keepdims=True),
    "mixed_norm": lambda m: cp.mixed_norm(m, 2, 1),
    "norm 1 axis": lambda m: cp.norm1(m, axis=0),
    "normNuc": cp.normNuc,
    "sigma_max": cp.sigma_max,
    "sum_largest axis": lambda m: cp.sum_largest(m, 2, axis=1),
    "tv": cp.tv,
    "log_sum_exp axis": lambda m: cp.log_sum_exp(m, axis=1),
}

OF_SYMMETRIC: dict[str, Build] = {
    "condition_number": cp.condition_number,
    "gen_lambda_max": lambda s: cp.gen_lambda_max(np.eye(3), s),
    "lambda_max": cp.lambda_max,
    "lambda_min": cp.lambda_min,
    "lambda_sum_largest": lambda s: cp.lambda_sum_largest(s, 1.5),
    "log_det": cp.log_det,
    "matrix_frac": lambda s: cp.matrix_frac(W, s),
    "tr_inv": cp.tr_inv,
    "von_neumann_entr": lambda s: cp.von_neumann_entr(symmetric_wrap(s)),
    "quantum_rel_entr": lambda s: cp.quantum_rel_entr(symmetric_wrap(s), symmetric_wrap(s)),
}

SPECIALS = [0.0, np.nan, np.inf, -np.inf, -1e-12, -1.0, 1e-300, 1e200]


def variable(shape: tuple[int, ...], value: Any) -> cp.Variable:
    v = cp.Variable(shape)
    v.save_value(np.broadcast_to(np.asarray(value, dtype=float), shape).copy())
    return v


def at(atom: Build, value: Any, shape: tuple[int, ...]) -> Any:
    expression = atom(variable(shape, value))
    got = Values().array(expression)
    assert got.shape == expression.shape
    return got


def slopes_or_value_error(expression: cp.Expression) -> None:
    args = [Values().array(arg) for arg in expression.args]
    try:
        pull_back(expression, args, Values().array(expression), np.ones(expression.shape))
    except ValueError as error:
        if type(error) is not ValueError or "no finite slope" not in str(error):
            raise


GROUPS = [
    *((name, atom, X) for name, atom in (ELEMENTWISE | WHOLE).items()),
    *((name, atom, M) for name, atom in OF_MATRICES.items()),
    *((name, atom, S) for name, atom in OF_SYMMETRIC.items()),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "atom", "shape"), GROUPS)
def test_evaluation_never_raises(name: str, atom: Build, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for special in SPECIALS:
        at(atom, special, shape)
        slopes_or_value_error(atom(variable(shape, special)))
        mixed = rng.normal(size=shape)
        mixed.flat[rng.integers(mixed.size)] = special
        at(atom, mixed, shape)
        at(atom, (mixed + mixed.T) / 2 if shape == S else np.abs(mixed), shape)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "atom", "shape"), GROUPS)
def test_nan_is_not_lost(name: str, atom: Build, shape: tuple[int, ...]) -> None:
    assert np.all(np.isnan(at(atom, np.nan, shape))), name
    one = np.abs(np.random.default_rng(1).normal(size=shape)) + 0.1
    one.flat[1] = np.nan
    assert np.any(np.isnan(at(atom, one, shape))), name


OUTSIDE: list[tuple[Build, Any]] = [
    (cp.entr, -1.0),
    (cp.inv_pos, -1.0),
    (cp.log, -1.0),
    (cp.log1p, -2.0),
    (cp.sqrt, -1.0),
    (lambda x: cp.power(x, 1.5), -1.0),
    (lambda x: cp.power(x, -2), -1.0),
    (lambda x: cp.power(x, -3), -1.0),
    (lambda x: cp.pnorm(x, 0.5), [1.0, -1.0, 1.0]),
    (cp.geo_mean, [-1.0, -1.0, 1.0]),
    (cp.harmonic_mean, [-1.0, 1.0, 1.0]),
    (lambda x: cp.kl_div(x, 1), -1.0),
    (lambda x: cp.rel_entr(1, x), -1.0),
    (lambda x: cp.quad_over_lin(x[:2], x[2]), [1.0, 1.0, -1.0]),
    (lambda x: cp.log_det(cp.diag(x)), [1.0, -1.0, -1.0]),
    (lambda x: cp.tr_inv(cp.diag(x)), [1.0, -1.0, -1.0]),
    (lambda x: cp.matrix_frac(x, cp.diag(x)), [1.0, -1.0, -1.0]),
]


@pytest.mark.parametrize(("atom", "point"), OUTSIDE)
def test_outside_the_domain_there_is_no_value(atom: Build, point: Any) -> None:
    """Infinity of the wrong sign would be a triumph to whoever minimises the negative."""
    assert np.all(np.isnan(at(atom, point, X)))


@pytest.mark.parametrize("p", range(1, 11))
def test_whole_powers_have_values_on_both_sides_of_0(p: int) -> None:
    point = np.array([-2.0, -1e-12, 3.0])
    np.testing.assert_array_equal(at(lambda x: cp.power(x, p), point, X), point**p)
    np.testing.assert_array_equal(at(cp.xexp, point, X), point * np.exp(point))


EDGES: list[tuple[Build, Any, float]] = [
    (cp.log, 0.0, -np.inf),
    (cp.log, -1e-12, -np.inf),
    (cp.sqrt, -1e-12, 0.0),
    (cp.entr, -1e-12, 0.0),
    (cp.inv_pos, -1e-12, np.inf),
    (cp.inv_pos, -0.0, np.inf),
    (cp.geo_mean, [-1e-12, 1, 1], 0.0),
    (lambda x: cp.kl_div(x, 0), [1.0, 1.0, 1.0], np.inf),
    (lambda x: cp.kl_div(x, 2), -1e-12, 2.0),
    (lambda x: cp.rel_entr(x, x), 0.0, 0.0),
    (lambda x: cp.quad_over_lin(x[:2], x[2]), [0, 0, 0], 0.0),
    (lambda x: cp.quad_over_lin(x[:2], x[2]), [0, 0, -1e-12], 0.0),
    (lambda x: cp.quad_over_lin(x[:2], x[2]), [1, 0, 0], np.inf),
    (lambda x: cp.quad_over_lin(x[:2], x[2]), [0, 1e-12, -1e-12], 1e-12),
    (lambda x: cp.log_det(cp.diag(x)), [1, 1, 0], -np.inf),
    (lambda x: cp.log_det(cp.diag(x)), [1, 1, -1e-12], -np.inf),
    (lambda x: cp.tr_inv(cp.diag(x)), [1, 1, 0], np.inf),
    (lambda x: cp.matrix_frac(x, cp.diag(x)), [1, 2, 0], 3.0),
    (lambda x: cp.matrix_frac([1, 1, 1], cp.diag(x)), [1, 1, 0], np.inf),
    (lambda x: cp.matrix_frac(np.zeros(3), cp.diag(x)), [0, 0, 0], 0.0),
    (lambda x: cp.von_neumann_entr(cp.diag(x)), [0.5, 0.5, -1e-17], np.log(2)),
    (lambda x: cp.norm_inf(x[0:0]), 1.0, 0.0),
    (lambda x: cp.sum(x[0:0]), 1.0, 0.0),
]


@pytest.mark.parametrize(("atom", "point", "value"), EDGES)
def test_at_the_edge_the_value_is_the_limit(atom: Build, point: Any, value: float) -> None:
    np.testing.assert_allclose(at(atom, point, X), value, rtol=1e-12, atol=1e-300)


def test_perspective_gives_the_variables_their_values_back() -> None:
    x, s = variable((), 3.0), cp.Variable(nonneg=True)
    plain, told = (
        cp.perspective(cp.square(x), s),
        cp.perspective(cp.exp(x), s, cp.Constant(0) * x),
    )
    for number, expected in ((1.5, 6.0), (0.0, np.nan), (np.nan, np.nan), (-1.0, np.nan)):
        s.save_value(np.array(number))
        np.testing.assert_allclose(Values().array(plain), expected)
        assert x.value == 3.0
    s.save_value(np.array(0.0))
    assert Values().array(told) == 0
    x.save_value(np.array(0.0))
    assert Values().array(plain) == 0


def test_the_edge_has_the_width_of_the_arguments() -> None:
    root = cp.sqrt(cp.Variable())
    for size, outside in itertools.product([1e-12, 1.0, 1e12], [1e-7, 1e-5]):
        value = evaluate(root, [np.array(-outside * size)], size)
        assert np.isnan(value) == (outside > 1e-6)


@pytest.mark.parametrize(
    ("build", "point", "expected"),
    [
        (lambda x: cp.sum(cp.sqrt(x)), [0, 1, 2], True),
        (lambda x: cp.sum(cp.sqrt(x)), [-1e-12, 1, 2], False),  # NaN to cvxpy
        (lambda x: cp.log(x[0]), [0, 1, 2], False),
        (lambda x: cp.minimum(-cp.log(x[0]), 3), [0, 1, 2], True),
        (lambda x: cp.minimum(-cp.log(x[0]), 3), [-1, 1, 2], False),
        (lambda x: cp.minimum(cp.inv_pos(x[0]), 3), [-1, 1, 2], False),  # cvxpy says −1
        (lambda x: cp.log_det(cp.diag(x)), [0, 1, 2], False),
        (lambda x: cp.log_det(cp.diag(x)), [0.1, 1, 2], True),
        (lambda x: cp.matrix_frac(x, cp.diag(x)), [0, 0, 0], False),
        (lambda x: cp.quad_over_lin(x[:2], x[2]), [0, 0, 0], False),
        (lambda x: cp.sum(x), [np.nan, 0, 0], False),
        (lambda x: cp.sum(x[0:0]), [0, 0, 0], True),
    ],
)
def test_finite_in_domain(build: Build, point: Any, expected: bool) -> None:
    assert finite_in_domain(build(variable(X, point))) is expected


def test_a_tangent_carried_on_beyond_the_edge_keeps_nan() -> None:
    root = cp.sqrt(cp.Variable(3))
    value = extended(root, [np.array([np.nan, 0.0, 4.0])], 1.0)
    np.testing.assert_allclose(value, [np.nan, 0.5, 2.0])


def test_nothing_is_finite_without_values() -> None:
    assert not finite_in_domain(cp.square(cp.Variable()))


def test_nodes_once_each_arguments_first() -> None:
    e: Any = cp.square(cp.Variable())
    for _ in range(60):
        e = cp.maximum(e, 2 * e)
    found = nodes(e)
    assert len(found) == len({id(n) for n in found})
    assert found[-1] is e
    place = {id(n): i for i, n in enumerate(found)}
    assert all(place[id(arg)] < place[id(n)] for n in found for arg in n.args)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_edges_follow_the_units_of_the_arguments(unit: float) -> None:
    """√ is carried on along its tangent from the same share of its argument's size."""
    x = cp.Variable(3)
    root = cp.sum(cp.sqrt(cp.abs(x)))
    context = fresh_context()
    frame = Frame(root, context)
    x.value = unit * np.array([0.0, 1.0, -2.0])
    context.measure([root], context.values())
    values = context.values(0.01)
    frame.update(values)
    slopes = next(p.value for p in frame.expression.parameters() if p.size == 3)
    np.testing.assert_allclose(slopes * np.sqrt(unit), 0.5 / np.sqrt([0.02, 1, 2]), rtol=1e-9)
    extended = np.sqrt(0.02) / 2 + 1 + np.sqrt(2)
    np.testing.assert_allclose(values.array(root) / np.sqrt(unit), extended, rtol=1e-9)
