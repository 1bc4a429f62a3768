"""Slopes against finite differences, subgradients at ties, and which end a tie takes."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from dcprog.foundation.arrays import EDGE
from dcprog.majorants.tree import evaluate, interior, pull_back

RNG = np.random.default_rng(3)


def anything(shape: tuple[int, ...], kinks: bool) -> Any:
    drawn = RNG.normal(size=shape) * 1.5
    return np.round(drawn) if kinks else drawn


def positive(shape: tuple[int, ...], kinks: bool) -> Any:
    return np.abs(anything(shape, kinks)) + 0.5


def definite(shape: tuple[int, ...], kinks: bool) -> Any:
    root = anything(shape, kinks)
    return root @ root.T + np.eye(shape[0])


def symmetric(shape: tuple[int, ...], kinks: bool) -> Any:
    root = anything(shape, kinks)
    return root + root.T


Draw = Callable[[tuple[int, ...], bool], Any]
V, M, S, T = (4,), (3, 2), (3, 3), (2, 3, 2)

ATOMS: list[tuple[Callable[..., Any], list[tuple[tuple[int, ...], Draw]]]] = [
    (lambda a: cp.maximum(a, 0.3), [(V, anything)]),
    (lambda a, b, c: cp.maximum(a, b, c), [(V, anything)] * 3),
    (lambda a, b: cp.minimum(a, b), [((3, 1), anything), ((1, 2), anything)]),
    (lambda a, b: cp.maximum(a, b), [(M, anything), ((), anything)]),
    (lambda a, b: cp.minimum(a, b), [(M, anything), ((2,), anything)]),
    (cp.abs, [(M, anything)]),
    (cp.square, [(V, anything)]),
    (lambda a: cp.power(a, 4), [(V, anything)]),
    (lambda a: cp.power(a, 3), [(V, positive)]),
    (lambda a: cp.power(a, 1.7), [(V, positive)]),
    (lambda a: cp.power(a, 0.3), [(V, positive)]),
    (lambda a: cp.power(a, -1.5), [(V, positive)]),
    (cp.exp, [(V, anything)]),
    (cp.log, [(V, positive)]),
    (cp.log1p, [(V, positive)]),
    (cp.logistic, [(V, anything)]),
    (cp.entr, [(V, positive)]),
    (cp.xexp, [(V, positive)]),
    (lambda a: cp.huber(a, 0.7), [(V, anything)]),
    (cp.kl_div, [(V, positive), (V, positive)]),
    (cp.kl_div, [(V, positive), ((), positive)]),
    (cp.rel_entr, [((), positive), (M, positive)]),
    (cp.max, [(M, anything)]),
    (lambda a: cp.max(a, axis=0), [(M, anything)]),
    (lambda a: cp.max(a, axis=1, keepdims=True), [(M, anything)]),
    (lambda a: cp.max(a, axis=(0, 2)), [(T, anything)]),
    (cp.min, [(V, anything)]),
    (lambda a: cp.min(a, axis=1), [(T, anything)]),
    (cp.norm1, [(M, anything)]),
    (lambda a: cp.norm1(a, axis=0), [(M, anything)]),
    (cp.norm_inf, [(V, anything)]),
    (lambda a: cp.norm_inf(a, axis=1, keepdims=True), [(M, anything)]),
    (lambda a: cp.pnorm(a, 2), [(V, anything)]),
    (lambda a: cp.pnorm(a, 3), [(V, anything)]),
    (lambda a: cp.pnorm(a, 0.5), [(V, positive)]),
    (lambda a: cp.norm(a, axis=1), [(M, anything)]),
    (lambda a: cp.norm(a, axis=0, keepdims=True), [(M, anything)]),
    (cp.sum_squares, [(M, anything)]),
    (cp.quad_over_lin, [(V, anything), ((), positive)]),
    (lambda a: cp.sum_largest(a, 2), [(M, anything)]),
    (lambda a: cp.sum_largest(a, 2.5), [(V, anything)]),
    (lambda a: cp.sum_largest(a, 2, axis=0), [(M, anything)]),
    (lambda a: cp.sum_largest(a, 2, axis=(0, 2), keepdims=True), [(T, anything)]),
    (cp.log_sum_exp, [(V, anything)]),
    (lambda a: cp.log_sum_exp(a, axis=0), [(M, anything)]),
    (lambda a: cp.log_sum_exp(a, axis=1, keepdims=True), [(T, anything)]),
    (lambda a: cp.quad_form(a, np.array([[2.0, 1.0], [1.0, 3.0]])), [((2,), anything)]),
    (lambda a: cp.dotsort(a, np.array([1.0, 2.0])), [(V, anything)]),
    (cp.geo_mean, [(V, positive)]),
    (lambda a: cp.geo_mean(a, [1, 2, 0, 1]), [(V, positive)]),
    (cp.log_det, [(S, definite)]),
    (cp.tr_inv, [(S, definite)]),
    (cp.matrix_frac, [((3,), anything), (S, definite)]),
    (cp.lambda_max, [(S, symmetric)]),
    (lambda a: cp.lambda_sum_largest(a, 2), [(S, symmetric)]),
    (cp.sigma_max, [(M, anything)]),
    (cp.normNuc, [(M, anything)]),
]

Case = tuple[Any, list[Any], Callable[[bool], list[Any]]]


@pytest.fixture(params=range(len(ATOMS)), ids=lambda i: f"{i}")
def case(request: pytest.FixtureRequest) -> Case:
    """An atom, and a draw of values for all of its arguments, the constant ones included."""
    build, inputs = ATOMS[request.param]
    variables = [
        cp.Variable(shape, symmetric=draw is symmetric, nonneg=draw is positive)
        for shape, draw in inputs
    ]
    atom = build(*variables)
    places = {v.id: draw for v, (_, draw) in zip(variables, inputs, strict=True)}

    def values(kinks: bool) -> list[Any]:
        return [
            np.asarray(places[a.id](a.shape, kinks) if isinstance(a, cp.Variable) else a.value)
            for a in atom.args
        ]

    return atom, [i for i, a in enumerate(atom.args) if isinstance(a, cp.Variable)], values


def slopes_at(atom: Any, args: list[Any], weight: Any) -> list[Any]:
    return pull_back(atom, args, np.asarray(evaluate(atom, args)), weight)


def test_agrees_with_central_differences(case: Case) -> None:
    atom, live, values = case
    step = 1e-6
    for _ in range(5):
        args, weight = values(False), RNG.normal(size=atom.shape)
        slopes = slopes_at(atom, args, weight)
        for i in live:
            direction = RNG.normal(size=args[i].shape)
            if atom.args[i].ndim == 2 and type(atom).__name__ in SYMMETRIC:
                direction = direction + direction.T
            ends = [
                np.sum(
                    weight * evaluate(atom, [*args[:i], args[i] + t * direction, *args[i + 1 :]])
                )
                for t in (step, -step)
            ]
            expected = (ends[0] - ends[1]) / (2 * step)
            assert slopes[i].shape == args[i].shape
            assert np.sum(slopes[i] * direction) == pytest.approx(expected, rel=1e-5, abs=1e-6)


SYMMETRIC = {"log_det", "tr_inv", "lambda_max", "lambda_sum_largest", "MatrixFrac", "matrix_frac"}


def test_is_a_subgradient_at_ties(case: Case) -> None:
    """φ(b) ≥ φ(a) + slope·(b − a) for a convex atom, ≤ for a concave one."""
    atom, live, values = case
    sign = 1 if atom.is_atom_convex() else -1
    for _ in range(20):
        here, there = values(True), values(True)
        weight = np.abs(RNG.normal(size=atom.shape))
        slopes = slopes_at(atom, here, weight)
        tangent = np.sum(weight * evaluate(atom, here)) + sum(
            np.sum(slopes[i] * (there[i] - here[i])) for i in live
        )
        gap = sign * (np.sum(weight * evaluate(atom, there)) - tangent)
        assert gap >= -1e-9 * (1 + abs(tangent))


def slope(atom: Any, *args: Any) -> Any:
    """Slopes at a point, with weight 1; the first argument's."""
    arrays = [np.asarray(a, dtype=float) for a in args]
    return slopes_at(atom, arrays, np.ones(atom.shape))


u, t = cp.Variable(), cp.Variable()
x = cp.Variable(3)


def test_positive_part_has_no_slope_at_its_kink() -> None:
    assert slope(cp.pos(u), 0.0, 0.0)[0] == 0
    assert slope(cp.maximum(0.0, u), 0.0, 0.0)[1] == 0


@pytest.mark.parametrize("constant_first", [True, False])
def test_cap_keeps_the_slope_at_the_cap(constant_first: bool) -> None:
    atom = cp.minimum(1.0, u) if constant_first else cp.minimum(u, 1.0)
    assert slope(atom, 1.0, 1.0)[1 if constant_first else 0] == 1


def test_between_two_expressions_the_first_wins() -> None:
    assert [float(s) for s in slope(cp.maximum(u, t), 2.0, 2.0)] == [1, 0]
    assert [float(s) for s in slope(cp.minimum(u, t), 2.0, 2.0)] == [1, 0]


@pytest.mark.parametrize(
    "atom", [cp.abs(x), cp.norm1(x), cp.norm_inf(x), cp.norm(x), cp.pnorm(x, 3)], ids=str
)
def test_no_slope_at_zero(atom: Any) -> None:
    np.testing.assert_array_equal(slope(atom, np.zeros(3))[0], np.zeros(3))


def test_one_of_several_largest_entries_takes_all() -> None:
    np.testing.assert_array_equal(slope(cp.max(x), [1.0, 2.0, 2.0])[0], [0, 1, 0])
    np.testing.assert_array_equal(slope(cp.sum_largest(x, 2), [2.0, 2.0, 2.0])[0], [1, 1, 0])


@pytest.mark.parametrize("atom", [cp.sqrt(u), cp.log(u), cp.entr(u)], ids=str)
def test_tangent_at_the_edge_is_taken_inside(atom: Any) -> None:
    (moved,) = interior(atom, [np.asarray(-1e-12)])
    assert moved == EDGE
    assert np.isfinite(slope(atom, moved)[0])


@pytest.mark.parametrize("atom", [cp.inv_pos(u), cp.power(u, -2)], ids=str)
def test_outside_the_domain_is_an_error(atom: Any) -> None:
    with pytest.raises(ValueError, match="start inside its domain"):
        slope(atom, -1.0)
