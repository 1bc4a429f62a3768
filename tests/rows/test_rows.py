"""Rows of scores, margins and kernels are the matrices they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.rows.kernel import kernel_angle_differences, kernel_angle_margins, kernel_margins
from dcprog.rows.linear import binary_margins, class_margins
from tests.risk.declarations import class_data, simplex


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
def test_margins_are_the_kronecker_rows(sparse: bool, intercept: bool) -> None:
    X, y = class_data()
    rows = class_margins(sp.csr_array(X) if sparse else X, y, intercept)
    rng = np.random.default_rng(3)
    theta, u = rng.standard_normal(rows.shape[1]), rng.standard_normal(rows.shape[0])
    coef, b = rows.unpack(theta)
    slow = [rows.signs[i, k] * (coef[k] @ X[i] + b[k]) for i in range(30) for k in range(3)]
    np.testing.assert_allclose(rows @ theta, slow)
    np.testing.assert_allclose(rows.matrix() @ theta, slow)
    np.testing.assert_allclose(rows.T @ u, rows.matrix().T @ u)
    np.testing.assert_array_equal(rows.pack(coef, b), theta)
    assert rows.penalized.sum() == 9


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "build", [class_margins, angle_margins, lambda X, y: binary_margins(X, y == y[0])]
)
def test_products_with_a_matrix_are_those_with_its_columns(build: Any, sparse: bool) -> None:
    X, y = class_data()
    rows = build(sp.csr_array(X) if sparse else X, y)
    thetas = np.random.default_rng(4).standard_normal((rows.shape[1], 5))
    slow = np.column_stack([rows @ theta for theta in thetas.T])
    np.testing.assert_allclose(rows @ thetas, slow, rtol=1e-12, atol=1e-12)


def test_rows_name_a_strange_label() -> None:
    with pytest.raises(ValueError, match="'z'"):
        class_margins(np.eye(2), ["a", "z"], classes=["a", "b"])
    with pytest.raises(ValueError, match="exactly two"):
        binary_margins(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="two classes"):
        class_margins(np.eye(3), [1, 1, 1])


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("build", [angle_margins, angle_differences])
def test_angle_rows_are_the_kronecker_rows(build: Any, sparse: bool, k: int) -> None:
    X, y = class_data(20, 5, k)
    rows = build(sp.csr_array(X) if sparse else X, y)
    W, rng = simplex(k), np.random.default_rng(14)
    np.testing.assert_allclose(simplex_vertices(k), W)
    theta, u = rng.standard_normal(rows.shape[1]), rng.standard_normal(rows.shape[0])
    coef, b = rows.unpack(theta)
    scores = (X @ coef.T + b) @ W.T
    own = scores[np.arange(20), y][:, None]
    if build is angle_margins:
        slow = np.where(np.arange(k) == y[:, None], own / (k - 1), -scores)
    else:
        slow = (own - scores)[np.arange(k) != y[:, None]]
    np.testing.assert_allclose(rows @ theta, slow.ravel())
    np.testing.assert_allclose(rows.matrix() @ theta, slow.ravel())
    np.testing.assert_allclose(rows.T @ u, rows.matrix().T @ u, atol=1e-12)


@pytest.mark.parametrize(
    ("build", "plain"),
    [(kernel_angle_margins, angle_margins), (kernel_angle_differences, angle_differences)],
)
def test_kernel_angle_rows_are_those_of_the_kernel(build: Any, plain: Any) -> None:
    rng = np.random.default_rng(16)
    F, y = rng.standard_normal((20, 4)), np.arange(20) % 3
    K = F @ F.T
    rows = build(K, y)
    assert rows.X.shape == (20, 4)
    theta = rng.standard_normal(rows.shape[1])
    a, b = rows.dual_coef(theta), rows.unpack(theta)[1]
    expected = plain(K, y) @ np.concatenate([a.ravel(), b])
    np.testing.assert_allclose(rows @ theta, expected, atol=1e-10)
    np.testing.assert_allclose(rows.matrix() @ theta, expected, atol=1e-10)
    assert np.sum(a @ K * a) == pytest.approx(np.sum(theta[:8] ** 2))
    assert (rows.own is None) == (build is kernel_angle_differences)


@pytest.mark.parametrize("rank", [2, 20])
def test_kernel_rows_reproduce_the_kernel(rank: int) -> None:
    rng = np.random.default_rng(15)
    F = rng.standard_normal((20, rank))
    rows = kernel_margins(F @ F.T, np.arange(20) % 2)
    assert rows.X.shape == (20, rank)
    theta = rng.standard_normal(rows.shape[1])
    a = rows.dual_coef(theta)
    np.testing.assert_allclose(rows.coordinates(a)[0], theta[:-1], atol=1e-8)
    np.testing.assert_allclose(rows.signs[:, 0] * (F @ F.T @ a[0] + theta[-1]), rows @ theta)
    assert a[0] @ F @ F.T @ a[0] == pytest.approx(theta[:-1] @ theta[:-1])
