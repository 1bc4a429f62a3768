"""A matrix by blocks is the matrix, wherever its blocks come from."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dcprog as dc
from dcprog.foundation import blocked_matrix
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix, StoredMatrix, blocked
from dcprog.foundation.sums import (
    all_finite,
    largest_sizes,
    mean_sizes,
    means,
    weighted_gram,
)
from dcprog.rows.scores import data_matrix, with_ones

RNG = np.random.default_rng(0)
X: Array = RNG.standard_normal((53, 4)).astype(np.float32).astype(float)
Make = Callable[[Array], Any]


def dask_array(chunks: Any) -> Make:
    def make(X: Array) -> Any:
        da = pytest.importorskip("dask.array", reason="dask is not there")
        return da.from_array(X, chunks=chunks)

    return make


def of_unknown_sizes(X: Array) -> Any:
    d = dask_array((20, 4))(np.vstack([X, -X]))
    return d[dask_array(20)(np.arange(2.0 * len(X))) < len(X)]


MAKES: dict[str, Make] = {
    "stored": lambda X: StoredMatrix(X.astype(np.float32), rows=7),
    "one block": StoredMatrix,
    "dask": dask_array(((1, 30, 22), 4)),
    "dask in columns": dask_array((9, 3)),
    "dask of unknown sizes": of_unknown_sizes,
}
every = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES.keys())


@every
def test_products_and_rows_are_those_of_the_whole(make: Make) -> None:
    B = data_matrix(make(X))
    assert isinstance(B, BlockedMatrix)
    assert B.shape == X.shape
    W, V = RNG.standard_normal((4, 3)), RNG.standard_normal((53, 2))
    np.testing.assert_allclose(B @ W, X @ W, rtol=1e-13)
    np.testing.assert_allclose(B @ W[:, 0], X @ W[:, 0], rtol=1e-13)
    np.testing.assert_allclose(B.T @ V, X.T @ V, rtol=1e-12)
    np.testing.assert_allclose(B.T @ V[:, 0], X.T @ V[:, 0], rtol=1e-12)
    for rows in (np.array([52, 0, 7, 7]), V[:, 0] > 0, slice(5, 50, 9), np.array([], dtype=int)):
        np.testing.assert_array_equal(B[rows], X[rows])
    np.testing.assert_array_equal(np.asarray(B), X)
    np.testing.assert_array_equal(np.asarray(B[:, [2, 0]]), X[:, [2, 0]])


@every
def test_columns_and_gram_matrices_are_those_of_the_whole(make: Make) -> None:
    B, weights = data_matrix(make(X)), RNG.standard_normal(53)
    for measure in (means, mean_sizes, largest_sizes):
        np.testing.assert_allclose(measure(B), measure(X), rtol=1e-12, atol=1e-15)
    for d in (weights, np.abs(weights)):
        for mean in (None, X.mean(axis=0)):
            np.testing.assert_allclose(
                weighted_gram(B, d, mean), weighted_gram(X, d, mean), rtol=1e-11, atol=1e-12
            )


@every
def test_views_are_seen_wherever_blocks_are(make: Make) -> None:
    B = with_ones(data_matrix(make(X)).seen(np.negative, 4))
    whole = with_ones(-X)
    assert B.shape == whole.shape
    np.testing.assert_allclose(B @ np.arange(5.0), whole @ np.arange(5.0), rtol=1e-13)
    np.testing.assert_array_equal(B[[3, 1]], whole[[3, 1]])


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_found_in_the_last_block(make: Make, bad: float) -> None:
    Z = X.copy()
    assert all_finite(data_matrix(make(Z)))
    Z[-1, 2] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        dc.residual_rows(make(Z), X[:, 0])


def test_memory_mapped_files_are_read_by_blocks_unless_they_are_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = np.memmap(tmp_path / "w", np.float32, "w+", shape=(9, 2))
    assert isinstance(data_matrix(small), np.ndarray)
    monkeypatch.setattr(blocked_matrix, "COPIED", 0)
    for dtype in (np.float32, np.int16, ">f8"):
        stored = np.memmap(tmp_path / "x", dtype, "w+", shape=(9, 2))
        stored[:] = np.arange(18).reshape(9, 2)
        found = data_matrix(stored)
        assert isinstance(found, StoredMatrix)
        np.testing.assert_array_equal(np.asarray(found), stored)
    same = np.memmap(tmp_path / "y", float, "w+", shape=(9, 2))
    found = data_matrix(same)
    assert isinstance(found, np.ndarray)
    assert np.shares_memory(found, same)
    wide = np.memmap(tmp_path / "z", np.float32, "w+", shape=(2, 9))
    assert isinstance(data_matrix(wide), np.ndarray)


def test_what_is_no_matrix_of_numbers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocked_matrix, "COPIED", 0)
    with pytest.raises(TypeError, match="real numbers"):
        blocked(np.memmap(tmp_path / "x", complex, "w+", shape=(9, 2)))
    with pytest.raises(ValueError, match=r"\(n, d\)"):
        blocked(np.memmap(tmp_path / "y", np.float32, "w+", shape=(9,)))


def test_sparse_chunks_are_refused() -> None:
    sp = pytest.importorskip("scipy.sparse")
    sparse = dask_array((9, 4))(X).map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    with pytest.raises(TypeError, match="chunks of NumPy arrays"):
        dc.residual_rows(sparse, X[:, 0])


@every
def test_blocks_travel_between_processes(make: Make) -> None:
    B = pickle.loads(pickle.dumps(with_ones(data_matrix(make(X)))))
    np.testing.assert_array_equal(np.asarray(B), with_ones(X))
