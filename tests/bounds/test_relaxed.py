"""Ranges and planes of expressions on boxes, held against the expressions at random points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import dcprog as dc
from dcprog.bounds.relaxed.program import Program

A = np.random.default_rng(7).normal(size=(4, 3))
P = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.5], [0.0, 0.5, 0.3]])
BOXES = 30

Form = Callable[[cp.Variable, cp.Variable], cp.Expression]
FORMS: dict[str, Form] = {
    "affine": lambda x, y: A @ x + 1,
    "product": lambda x, y: x[0] * x[1],
    "broadcast product": lambda x, y: cp.multiply(x[0], y),
    "same twice": lambda x, y: cp.multiply(x, x),
    "ramp": lambda x, y: cp.sum(cp.minimum(cp.pos(1 - A @ x), 1)),
    "norm": lambda x, y: cp.norm(A @ x),
    "minus norm": lambda x, y: -cp.norm(x),
    "norm of a curve": lambda x, y: cp.norm(cp.square(x) - 1),
    "norms by axis": lambda x, y: cp.norm(cp.vstack([x, 2 * x - 1]), axis=1),
    "norms 1 and inf": lambda x, y: cp.norm1(x) - cp.norm_inf(x),
    "inner product": lambda x, y: cp.exp(x) @ x,
    "matrix products": lambda x, y: cp.max(y @ y, axis=0) + y @ x[:2],
    "sum by axis": lambda x, y: cp.sum(cp.square(y) * 2, axis=0),
    "quadratic form": lambda x, y: cp.quad_form(x, P),
    "logarithm": lambda x, y: cp.log(1 + cp.square(x[0])),
    "root": lambda x, y: cp.sqrt(cp.abs(x[1])),
    "quotient": lambda x, y: x[0] / (3 + x[1]),
    "constant quotient": lambda x, y: cp.square(x) / 4,
    "inverse": lambda x, y: cp.inv_pos(3 + x[0] * x[1] / 2),
    "sorted": lambda x, y: cp.sum_largest(cp.square(x), 2) - cp.sum_smallest(cp.abs(x), 1),
    "squares": lambda x, y: cp.sum_squares(A @ x) - cp.sum_squares(x),
    "squares over": lambda x, y: cp.norm(y, "fro") + cp.quad_over_lin(x, 4 + x[1]),
    "least of exponentials": lambda x, y: cp.min(cp.exp(x)),
    "log-sum-exp": lambda x, y: cp.log_sum_exp(cp.square(x)),
    "entropy": lambda x, y: cp.entr(3 + x[2]),
    "Huber and logistic": lambda x, y: cp.huber(x) - cp.logistic(x),
    "least of three": lambda x, y: cp.minimum(cp.abs(x), cp.exp(x), 0.5),
    "powers": lambda x, y: cp.power(cp.abs(x), 1.5) + cp.power(2.5 + x, -2),
    "largest of products": lambda x, y: cp.square(cp.pos(x)) - cp.maximum(x[0], x[1] * x[2]),
    "log1p": lambda x, y: cp.log1p(cp.exp(x)) + cp.trace(y) * y[0, 1],
}


def boxes(rng: np.random.Generator, p: int) -> tuple[Any, Any, Any]:
    lo = rng.uniform(-2, 1, size=(BOXES, p))
    sides = rng.uniform(0, 1.5, size=(BOXES, p)) * rng.choice([0.0, 1e-6, 1.0], size=(BOXES, 1))
    return lo, lo + sides, lo + rng.random((BOXES, p)) * sides


@pytest.mark.parametrize("name", FORMS)
def test_ranges_and_planes_hold(name: str) -> None:
    x, y = cp.Variable(3), cp.Variable((2, 2))
    expression = FORMS[name](x, y)
    rng = np.random.default_rng(0)
    program = Program([expression], [x, y])
    lo, hi, z = boxes(rng, 7)
    (found,) = program(lo, hi, z)
    for trial in range(12):
        w = lo + rng.random(lo.shape) * (hi - lo)
        if trial < 4:
            w = np.where(rng.random(lo.shape) < 0.5, lo, hi)
        value = np.empty(found.value.shape)
        for k in range(BOXES):
            x.value, y.value = w[k, :3], w[k, 3:].reshape(2, 2, order="F")
            value[k] = np.ravel(expression.value, order="F")
        slack = 1e-9 * (1 + np.abs(value))
        below = found.below + np.einsum("bsp,bp->bs", found.slope_below, w - z)
        above = found.above + np.einsum("bsp,bp->bs", found.slope_above, w - z)
        assert np.all(found.lo <= value + slack)
        assert np.all(value <= found.hi + slack)
        assert np.all(below <= value + slack)
        assert np.all(value <= above + slack)
    small = np.max(hi - lo, axis=1) < 1e-5
    assert np.any(small)
    assert np.allclose(found.below[small], found.above[small], atol=1e-3)
    assert np.allclose(found.value[small], found.above[small], atol=1e-3)


def test_infinite_ranges_are_no_numbers_that_lie() -> None:
    x = cp.Variable(2)
    forms = [cp.square(x[0]) - x[1], x[0] * x[1], cp.exp(x[0]) - cp.exp(x[1]), 1 / x[0]]
    program = Program(forms, [x])
    lo, hi = np.array([[-np.inf, 0.0], [0.0, -np.inf]]), np.array([[np.inf, 1.0], [np.inf, np.inf]])
    for found in program(lo, hi, np.array([[0.5, 0.5], [2.0, -3.0]])):
        assert not np.any(np.isnan(found.lo) | np.isnan(found.hi))
        assert np.all(found.lo <= found.value)
        assert np.all(found.value <= found.hi)
        assert np.all(found.below <= found.value + 1e-12)


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (lambda x: cp.geo_mean(cp.square(x)), "GeoMean"),
        (lambda x: cp.pnorm(cp.square(x), 3), "order 3"),
        (lambda x: cp.sum_largest(x, 1.5), "whole number"),
        (lambda x: cp.kl_div(cp.square(x), x), "neither rises nor falls"),
    ],
)
def test_what_has_no_rule_is_named(form: Callable[[cp.Variable], Any], words: str) -> None:
    x = cp.Variable(3)
    problem = cp.Problem(cp.Minimize(cp.sum(form(x))))
    with pytest.raises(dc.NotBoundable, match=words):
        dc.lower_bound(problem, box=(1.0, 2.0))
