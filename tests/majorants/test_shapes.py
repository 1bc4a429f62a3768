"""Every shape, axis and affine atom has a valid majorant or a refusal, and nothing else."""

import itertools
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import dcprog as dc
from dcprog.foundation.arrays import dense, vec
from dcprog.majorants.affine import jacobian

Build = Callable[[Any], Any]

SHAPES: list[tuple[int, ...]] = [
    (),
    (1,),
    (1, 1),
    (3,),
    (3, 1),
    (1, 2),
    (3, 2),
    (2, 3, 2),
    (0,),
    (0, 3),
    (3, 0),
]

INNER: dict[str, Build] = {
    "cap": lambda v: cp.minimum(cp.square(v), 1),
    "difference": lambda v: cp.square(v) - cp.abs(v),
    "product": lambda v: cp.multiply(v, cp.minimum(v, 1)),
}

OUTER: dict[str, Build] = {
    "zero matrix": lambda e: np.zeros((2, e.shape[0])) @ e,
    "zero vector": lambda e: np.zeros(e.shape[0]) @ e,
    "sparse zero matrix": lambda e: sp.csr_array((2, e.shape[0])) @ e,
    "zero matrix on the right": lambda e: e @ np.zeros((e.shape[-1], 2)),
    "zero weights": lambda e: cp.multiply(np.zeros(e.shape), e),
    "zero": lambda e: 0 * e,
    "zero convolution": lambda e: cp.convolve([0.0, 0.0], e),
    "zero quadratic form": lambda e: cp.quad_form(e, np.zeros((e.size, e.size))),
    "zero inside": lambda e: cp.exp(0 * e) + cp.abs(cp.multiply(np.zeros(e.shape), e)),
    "sparse weights": lambda e: cp.multiply(sp.csr_array(np.eye(*e.shape)), e),
    "divided": lambda e: e / np.full(e.shape, -2.0),
    "empty": lambda e: e[0:0],
    "nothing of a mask": lambda e: e[np.zeros(e.shape[0], dtype=bool)],
    "mask": lambda e: e[np.arange(e.shape[0]) % 2 == 0],
    "step": lambda e: e[::-2],
    "repeated": lambda e: e[[0, 0]],
    "first": lambda e: e[0],
    "column": lambda e: e[:, 0],
    "sum": cp.sum,
    "sum 0": lambda e: cp.sum(e, axis=0),
    "sum 1 kept": lambda e: cp.sum(e, axis=1, keepdims=True),
    "norm_inf 1 kept": lambda e: cp.norm_inf(e, axis=1, keepdims=True),
    "norm1 0 kept": lambda e: cp.norm1(e, axis=0, keepdims=True),
    "max 0 kept": lambda e: cp.max(e, axis=0, keepdims=True),
    "min 1": lambda e: cp.min(e, axis=1),
    "-max": lambda e: -cp.max(e),
    "-norm 0": lambda e: -cp.norm(e, axis=0),
    "norm1": cp.norm1,
    "norm_inf": cp.norm_inf,
    "-log_sum_exp 1": lambda e: -cp.log_sum_exp(e, axis=1, keepdims=True),
    "-sum_largest 0": lambda e: -cp.sum_largest(e, 2, axis=0),
    "-dotsort": lambda e: -cp.dotsort(e, np.array([1.0, 0.5])),
    "-sum_squares": lambda e: -cp.sum_squares(e),
    "-quad_over_lin 0": lambda e: -cp.quad_over_lin(e, 2.0, axis=0),
    "row added": lambda e: e + np.ones((1, 2)),
    "column added": lambda e: e + cp.Variable((3, 1)),
    "nonconvex row subtracted": lambda e: e - cp.minimum(cp.square(cp.Variable((1, 2))), 1),
    "times a row": lambda e: cp.multiply(e, cp.Variable((1, 2))),
    "times a scalar": lambda e: e * cp.Variable(),
    "times a vector": lambda e: e @ cp.Variable(e.shape[-1]),
    "gram": lambda e: e.T @ e,
    "minimum with a row": lambda e: cp.minimum(e, cp.Variable((1, 2))),
    "bmat": lambda e: cp.bmat([[e, e], [e, e]]),
    "hstack": lambda e: cp.hstack([e, np.ones(e.shape)]),
    "vstack": lambda e: cp.vstack([e, -e]),
    "stack": lambda e: cp.stack([e, e]),
    "concatenate": lambda e: cp.concatenate([e, e], axis=0),
    "kron": lambda e: cp.kron(e, np.array([[1.0, -1.0], [0.0, 0.0]])),
    "convolve": lambda e: cp.convolve([1.0, -1.0], e),
    "diag": cp.diag,
    "diag above": lambda e: cp.diag(e, k=1),
    "upper_tri": cp.upper_tri,
    "trace": cp.trace,
    "partial_trace": lambda e: cp.partial_trace(cp.kron(np.eye(2), e), (2, e.shape[0]), axis=0),
    "cumsum": lambda e: cp.cumsum(e, axis=0),
    "diff": cp.diff,
    "-tv": lambda e: -cp.tv(e),
    "by rows": lambda e: cp.reshape(e, (1, e.size), order="C"),
    "transposed": lambda e: e.T,
    "squeezed": cp.squeeze,
    "broadcast": lambda e: cp.broadcast_to(e, (4, *e.shape)),
    "swapped": lambda e: cp.swapaxes(e, 0, 1),
    "outer": lambda e: cp.outer(e, e),
    "geo_mean": lambda e: cp.geo_mean(1 + cp.abs(e)),
    "cvar": lambda e: -cp.cvar(e, 0.5),
    "std": lambda e: -cp.std(e),
}


def draw(expression: cp.Expression, rng: np.random.Generator) -> None:
    for variable in expression.variables():
        variable.value = rng.normal(size=variable.shape)


def value(expression: cp.Expression) -> Any:
    """cvxpy's own; NaN where it has none."""
    try:
        return dense(expression.value).reshape(expression.shape, order="F")
    except (ValueError, IndexError, AssertionError, ZeroDivisionError):
        return np.full(expression.shape, np.nan)


def check(expression: cp.Expression) -> None:
    rng = np.random.default_rng(0)
    draw(expression, rng)
    here = value(expression)
    if not dc.is_majorizable(expression):
        with pytest.raises(dc.NotMajorizable):
            dc.majorize(expression)
        return
    if not np.all(np.isfinite(here)):  # such as the maximum of nothing
        return
    whole = dc.majorize(expression)
    total = whole if expression.size == 1 else dc.majorize(cp.sum(expression))
    assert whole.expression.shape == expression.shape
    assert whole.expression.is_dcp(dpp=True)
    np.testing.assert_allclose(whole.value, here, rtol=1e-7, atol=1e-7)
    draw(expression, rng)
    below = value(expression)
    for majorant, under in ((whole, below), (total, np.sum(below))):
        above = majorant.value
        inside = np.isfinite(above)
        assert np.all((above - under)[inside] >= -1e-7 * (1 + np.abs(np.sum(below))))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("outer", OUTER)
def test_any_shape(outer: str) -> None:
    built = 0
    for shape, inner in zip(SHAPES, itertools.cycle(INNER.values()), strict=False):
        inside = inner(cp.Variable(shape))
        try:
            expression = OUTER[outer](inside)
        except Exception:
            continue  # not a shape for this atom, says cvxpy
        check(expression)
        built += 1
    assert built
    assert dc.explain(expression)


@pytest.mark.parametrize(
    "build",
    [
        lambda v: cp.hstack([v, v]),  # cvxpy's derivative is another map
        lambda v: cp.bmat([[v, v], [v, v]]),
        lambda v: cp.sum(v, axis=1) - v[:, 0] + 3,
        lambda v: cp.broadcast_to(2 * v, (2, 2, 3, 2)),
        lambda v: cp.quad_form(v[0, :, 0], np.zeros((3, 3))) + cp.sum(v),
        lambda v: v @ np.ones((2, 4)) + v[:, :, :1],
    ],
)
def test_jacobian_is_the_map(build: Build) -> None:
    v = cp.Variable((2, 3, 2))
    expression = build(v)
    matrix = jacobian(expression)[v.id]
    v.value = np.zeros(v.shape)
    origin = vec(expression.value)
    v.value = np.random.default_rng(0).normal(size=v.shape)
    np.testing.assert_allclose(matrix.T @ vec(v.value), vec(expression.value) - origin, atol=1e-12)


def test_jacobian_of_a_shared_expression_takes_each_node_once() -> None:
    v = cp.Variable(2)
    e: Any = v
    for _ in range(60):
        e = 0.5 * (e + e[::-1])
    np.testing.assert_allclose(dense(jacobian(e)[v.id]), 0.5 * np.ones((2, 2)))


def test_the_jacobian_of_a_sum_of_nothing_is_0() -> None:
    x = cp.Variable(2)
    e = cp.sum(cp.Constant(np.zeros((0, 2))) + cp.sum(0.0 * x))
    assert dense(jacobian(e)[x.id]).tolist() == [[0.0], [0.0]]
