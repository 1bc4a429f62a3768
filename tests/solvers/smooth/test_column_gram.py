"""Gram matrices of columns that come one after the other are those of all at once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.solvers.smooth.weighted_lasso import ColumnGram


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("plain", [True, False])
def test_blocks(sparse: bool, centred: bool, plain: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 200)) * (rng.random((20, 200)) < 0.5)
    weights = np.ones(20) if plain else rng.random(20)
    gram = ColumnGram(sp.csr_array(X) if sparse else X, weights, centred)
    Z = X - centred * np.average(X, axis=0, weights=weights)
    for columns in ([3, 1], [1, 3, 7, 150], list(range(0, 200, 2)), [199, 0]):
        some = np.array(columns)
        expected = Z[:, some].T @ (weights[:, None] * Z[:, some])
        np.testing.assert_allclose(gram.block(some), expected, atol=1e-12)
        means = np.average(X[:, some], axis=0, weights=weights) * centred
        np.testing.assert_allclose(gram.means(some), means, atol=1e-14)
        x = rng.standard_normal(some.size)
        np.testing.assert_allclose(gram.times(some, x), X[:, some] @ x, atol=1e-12)


def test_what_it_fits() -> None:
    X, weights = np.eye(3), np.array([1.0, 0.5, 0.0])
    gram = ColumnGram(X, weights, False)
    assert gram.fits(X, weights.copy())
    assert not gram.fits(X, np.ones(3))
    assert not gram.fits(np.eye(3)[:, :2], weights)
