"""What solvers ask of rows, against the matrix that is never formed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import dcprog as dc
from dcprog.foundation.arrays import Array, dense
from dcprog.rows.kernel import on_kernel
from dcprog.rows.linear import Margins, Samples
from dcprog.rows.scores import Scores

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 4)), np.arange(12) % 3
K = X @ X.T


class Own(Scores):
    """Differences of two scores, by nothing but what a subclass must say."""

    def __init__(self, X: Any) -> None:
        super().__init__(X, 2, 1, True)

    def mix(self, scores: Array) -> Array:
        return scores[:, :1] - scores[:, 1:]

    def unmix(self, rows: Array) -> Array:
        return np.hstack([rows, -rows])

    def mixing(self) -> Array:
        return np.broadcast_to([[[1.0, -1.0]]], (self.X.shape[0], 1, 2))


ROWS: dict[str, Scores] = {
    "samples": Samples(X),
    "sparse samples": Samples(sp.csr_array(X)),
    "margins": dc.class_margins(X, Y),
    "scaled margins": Margins(X, RNG.standard_normal((12, 2)), False, np.ones((12, 2))),
    "residuals": dc.residual_rows(X, X[:, 0]),
    "angle margins": dc.angle_margins(sp.csr_array(X), Y),
    "angle differences": dc.angle_differences(X, Y, fit_intercept=False),
    "kernel margins": dc.kernel_margins(K, Y > 0),
    "kernel angles": dc.kernel_angle_margins(K, Y),
    "expansion": dc.expansion_margins(K, Y > 0),
    "own": Own(X),
}
every_rows = pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())


@every_rows
def test_rows_are_codes_times_augmented_samples(rows: Scores) -> None:
    codes, augmented = rows.mixing(), dense(rows.augmented())
    B = np.arange(rows.shape[1], dtype=float).reshape(rows.n_scores, -1)
    theta = np.empty(rows.shape[1])
    theta[rows.places()] = B.ravel()
    expected = np.einsum("imc,cd,id->im", codes, B, augmented).ravel()
    np.testing.assert_allclose(rows @ theta, expected, atol=1e-9)
    np.testing.assert_allclose(rows.matrix() @ theta, expected, atol=1e-9)


@every_rows
def test_some_rows_are_those_of_the_matrix(rows: Scores) -> None:
    places = RNG.permutation(rows.shape[0])[: rows.shape[0] // 2]
    expected = dense(rows.matrix()[places])
    np.testing.assert_allclose(rows.dense_rows(places), expected, atol=1e-12)
    assert rows.dense_rows(places[:0]).shape == (0, rows.shape[1])


@every_rows
def test_grams_of_the_codes_are_those_of_the_mixing(rows: Scores) -> None:
    codes = rows.mixing()
    weights = RNG.random(codes.shape[:2])
    expected = np.einsum("im,ima,imb->iab", weights, codes, codes)
    np.testing.assert_allclose(rows.code_gram(weights), expected, atol=1e-12)


@every_rows
def test_signs_say_that_a_row_belongs_to_one_score(rows: Scores) -> None:
    if rows.signs is None:
        assert not isinstance(rows, Margins)
    else:
        np.testing.assert_array_equal(rows.mixing(), rows.signs[:, :, None] * np.eye(rows.n_scores))


@every_rows
def test_the_norm_is_that_of_the_function(rows: Scores) -> None:
    theta = RNG.standard_normal(rows.shape[1])
    a = rows.dual_coef(theta)
    norm = np.sum((a @ K) * a) if rows.kernel is not None else np.sum(a**2)
    assert rows.norm(0.6)(theta[rows.penalized]) == pytest.approx(0.3 * norm)


@every_rows
def test_coordinates_lead_back_to_the_same_function(rows: Scores) -> None:
    theta = RNG.standard_normal(rows.shape[1])
    again = rows.pack(rows.coordinates(rows.dual_coef(theta)), rows.unpack(theta)[1])
    np.testing.assert_allclose(rows @ again, rows @ theta, atol=1e-8)


def test_any_builder_has_a_kernel_machine() -> None:
    rows = on_kernel(K, Own)
    theta = RNG.standard_normal(rows.shape[1])
    a, b = rows.dual_coef(theta), rows.unpack(theta)[1]
    np.testing.assert_allclose(rows @ theta, (K @ (a[0] - a[1])) + b[0] - b[1], atol=1e-9)
    assert rows.kernel is not None
    np.testing.assert_array_equal(rows.kernel, K)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.ones((3, 2)), "square"),
        (np.ones(3), "square"),
        (np.full((2, 2), np.nan), "NaN"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semidefinite"),
    ],
)
@pytest.mark.parametrize(
    "build",
    [
        dc.kernel_margins,
        dc.kernel_residuals,
        dc.kernel_angle_margins,
        dc.kernel_angle_differences,
        dc.expansion_margins,
        dc.expansion_residuals,
    ],
)
def test_what_is_no_kernel_is_refused_everywhere(build: Any, bad: Array, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        build(bad, np.arange(len(bad)) % 2)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_a_risk_takes_arrays_for_samples(wrap: Any) -> None:
    risk = dc.Risk(wrap(X), dc.hinge())
    assert risk.no_matrix is None
    assert isinstance(risk.scores, Samples)
    np.testing.assert_array_equal(dense(risk.matrix()), X)


def test_a_general_operator_has_no_scores() -> None:
    large = LinearOperator((10**5, 10**5), matvec=lambda v: v, rmatvec=lambda v: v, dtype=float)
    risk = dc.Risk(large, dc.hinge())
    with pytest.raises(ValueError, match="not formed"):
        _ = risk.scores
