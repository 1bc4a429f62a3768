"""One Cholesky factor and one weighted Gram matrix, against plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dcprog.foundation.arrays import CACHED, Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.sums import weighted_gram
from dcprog.solvers.linalg.cholesky import Cholesky


def _semidefinite(rng: Any, p: int, rank: int, spread: float) -> Array:
    """A matrix whose rows have units that differ by powers of ten."""
    root = rng.standard_normal((rank, p)) * 10.0 ** rng.uniform(-spread, spread, p)
    return np.asarray(root.T @ root)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_units_of_the_unknowns_cost_no_digits(seed: int, p: int) -> None:
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.uniform(-8, 8, p)
    plain = _semidefinite(rng, p, 2 * p, 0.0) + np.eye(p)
    x = rng.standard_normal((p, 2))
    found = Cholesky(plain * unit * unit[:, None]).solve(unit[:, None] * (plain @ x))
    np.testing.assert_allclose(unit[:, None] * found, x, rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 30))
def test_a_singular_system_is_solved_where_it_has_a_solution(seed: int, p: int) -> None:
    """What the jitter changes is refined away; the rest of the solution stays finite."""
    rng = np.random.default_rng(seed)
    S = _semidefinite(rng, p, (p + 1) // 2, 2.0)
    right = S @ (rng.standard_normal(p) / np.sqrt(np.diagonal(S)))
    x = Cholesky(S.copy()).solve(right)
    assert np.all(np.isfinite(x))
    units = np.sqrt(np.diagonal(S))
    assert np.max(np.abs(S @ x - right) / units) <= 1e-9 * (1 + np.max(np.abs(x) * units))


def test_a_vanishing_matrix_has_a_factor() -> None:
    assert np.all(Cholesky(np.zeros((3, 3))).solve(np.zeros(3)) == 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -5.0])
@pytest.mark.parametrize("place", [(0, 0), (2, 0), (2, 2)])
def test_what_has_no_factor_fails(bad: float, place: tuple[int, int]) -> None:
    S = np.eye(3)
    S[place] = S[place[::-1]] = bad
    with np.errstate(all="ignore"), pytest.raises(SubproblemError, match="not positive definite"):
        Cholesky(S)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("definite", [False, True])
@pytest.mark.parametrize(("n", "d"), [(0, 2), (7, 3), (3, 7), (CACHED // 4 + 5, 4)])
def test_a_gram_matrix_is_the_weighted_sum(sparse: bool, definite: bool, n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    weights = rng.random(n) if definite else rng.standard_normal(n)
    found = weighted_gram(sp.csr_array(X) if sparse else X, weights)
    np.testing.assert_allclose(found, np.einsum("i,ia,ib->ab", weights, X, X), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_around_the_mean(sparse: bool) -> None:
    rng = np.random.default_rng(1)
    X, weights = rng.standard_normal((50, 3)) + 2, rng.random(50)
    mean = np.average(X, axis=0, weights=weights)
    found = weighted_gram(sp.csr_array(X) if sparse else X, weights, mean)
    exact = np.sum(weights) * np.cov(X.T, aweights=weights, ddof=0)
    np.testing.assert_allclose(found, exact, atol=1e-12)


def test_samples_far_from_zero_lose_no_digits() -> None:
    rng = np.random.default_rng(2)
    X, weights = rng.standard_normal((50, 3)), rng.random(50)
    mean = np.average(X, axis=0, weights=weights)
    far = weighted_gram(X + 1e6, weights, mean + 1e6)
    np.testing.assert_allclose(far, weighted_gram(X, weights, mean), rtol=1e-7)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_the_gram_matrix_of_sparse_samples_with_entries_given_twice(share: float) -> None:
    rng = np.random.default_rng(0)
    size, n, p = int(share * 9000), 60, 150
    places = rng.integers(0, n, size), rng.integers(0, p, size)
    once = sp.coo_array((rng.standard_normal(size), places), shape=(n, p)).tocsr()
    twice = sp.csr_array((n, p))
    twice.data = np.repeat(once.data / 2, 2)
    twice.indices, twice.indptr = np.repeat(once.indices, 2), 2 * once.indptr
    weights, X = rng.standard_normal(n), once.toarray()
    expected = np.einsum("i,ia,ib->ab", weights, X, X)
    np.testing.assert_allclose(weighted_gram(once, weights), expected, atol=1e-12)
    np.testing.assert_allclose(weighted_gram(twice, weights), expected, atol=1e-12)
    assert twice.nnz == 2 * once.nnz
