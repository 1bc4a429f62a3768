"""What the terms of an expression add up to."""

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.majorants.tree import Values

A = np.array([[1.0, -2.0, 0.0], [0.5, 1.0, -1.0]])
X = np.array([1.0, -3.0, 2.0])


def size(expression: cp.Expression) -> Any:
    return Values().magnitude(expression)


@pytest.fixture
def x() -> cp.Variable:
    return cp.Variable(3, value=X)


CASES: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda x: x, np.abs(X)),
    (lambda x: -x, np.abs(X)),
    (lambda x: cp.sum(x), 6.0),
    (lambda x: x - 5, np.abs(X)),
    (lambda x: A @ x, np.abs(A) @ np.abs(X)),
    (lambda x: sp.csr_array(A) @ x, np.abs(A) @ np.abs(X)),
    (lambda x: x[::2] / -2, [0.5, 1.0]),
    (lambda x: cp.sum(cp.pos(1 - x)) - 3 * cp.sum_squares(x) + 7, 4 + 3 * 14.0),
    (lambda x: cp.square(x[0] + x[1]) - cp.exp(x[0]), 4 + np.e),
    (lambda x: cp.hstack([x, -x[0], 3.0]), [1, 3, 2, 1, 0]),
    (lambda x: cp.vstack([x, 2 * x])[:, 1], [3, 6]),
    (lambda x: cp.reshape(x, (3, 1), order="F") + cp.reshape(x, (1, 3), order="F"), None),
    (lambda x: cp.diff(x), [4, 5]),
    (lambda x: cp.cumsum(x), [1, 4, 6]),
    (lambda x: cp.convolve([1.0, -1.0], x), [1, 4, 5, 2]),
    (lambda x: cp.trace(cp.diag(x)), 6.0),
    (lambda x: cp.Constant(3.0), 0.0),
    (lambda x: x[0] * x[1], 3.0),
    (lambda x: x[0:0], np.zeros(0)),
    (lambda x: cp.log(x), [0.0, 0.0, np.log(2)]),
]


@pytest.mark.parametrize(("build", "expected"), CASES)
def test_terms_count_with_their_absolute_value(
    x: cp.Variable, build: Callable[[Any], Any], expected: Any
) -> None:
    expression = build(x)
    got = size(expression)
    assert got.shape == expression.shape
    wanted = np.abs(X)[:, None] + np.abs(X) if expected is None else expected
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-12, -3.0, 1e12])
def test_homogeneous(x: cp.Variable, factor: float) -> None:
    f = cp.sum(cp.pos(1 - x)) - cp.norm(x) + cp.minimum(x[0], 0.5)
    np.testing.assert_allclose(size(factor * f), abs(factor) * size(f), rtol=1e-12)


def test_cost_is_linear_in_shared_nodes(x: cp.Variable) -> None:
    e = cp.square(x)
    for _ in range(60):
        e = 0.5 * e + 0.5 * e
    np.testing.assert_allclose(size(e), X**2)


def test_nan_counts_nothing() -> None:
    x = cp.Variable(2)
    x.save_value(np.array([np.nan, 2.0]))
    np.testing.assert_array_equal(size(3 * x), [0, 6])
    np.testing.assert_array_equal(size(cp.sum(3 * x)), 6)
