"""Sizes of columns by blocks are those of the whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dcprog.foundation import sums
from dcprog.foundation.sums import largest_sizes, mean_sizes, squared_norms
from dcprog.rows.linear import residual_rows


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1000, 3), (5, 400)])
def test_blocks_are_the_whole(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "CACHED", 100)
    X = np.random.default_rng(0).normal(size=shape) * (np.arange(shape[1]) % 2)
    for kind in (X, np.asfortranarray(X), sp.csr_array(X)):
        np.testing.assert_allclose(mean_sizes(kind), np.abs(X).mean(axis=0), rtol=1e-13)
        np.testing.assert_array_equal(largest_sizes(kind), np.abs(X).max(axis=0))


def test_nothing_has_no_size() -> None:
    assert not np.any(largest_sizes(np.zeros((0, 2))))
    assert not np.any(mean_sizes(np.zeros((0, 2))))


def test_norms_of_rows_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "CACHED", 100)
    X = np.random.default_rng(0).normal(size=(50, 7)) * (np.arange(7) % 2)
    for kind in (X, sp.csr_array(X)):
        np.testing.assert_allclose(squared_norms(kind), np.sum(X**2, axis=1), rtol=1e-13)
    assert squared_norms(sp.csr_array((0, 2))).shape == (0,)


def test_duplicate_entries_count_once_and_the_users_matrix_is_left_alone() -> None:
    parts = np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])
    X = sp.csr_array(parts, shape=(1, 2))
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    rows = residual_rows(X, [1.0])
    np.testing.assert_array_equal(rows.X.toarray(), [[4.0, 3.0]])
    assert X.nnz == 3
