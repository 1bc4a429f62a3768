"""Weighted Gram matrices of samples."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.blocked_matrix import BlockedMatrix

FEW = 0.5  # of the weights are not 0: only these samples are gathered

Index = npt.NDArray[np.intp]

CHUNK = 2**17  # numbers of a block of samples that a product works on at a time


def weighted_gram(
    X: Any, weights: Array, mean: Array | None = None, rows: Index | None = None
) -> Array:
    """XᵀDX = Σ_i d_i x_i x_iᵀ, or Σ_i d_i (x_i − x̄)(x_i − x̄)ᵀ around a point x̄.

    Parameters
    ----------
    X : array, CSR array or BlockedMatrix of shape (n, d)
    weights : array of shape (n,)
        d; if no weight is negative, the product costs half as much.
    mean : array of shape (d,), optional
        x̄, such as the weighted mean Σ d_i x_i / Σ d_i.
    rows : int array, optional
        The samples that the weights belong to; all by default.

    Returns
    -------
    array of shape (d, d)
        For dense samples as accurate as sums of squares are, however far from 0 x̄ is.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.weighted_gram import weighted_gram
    >>> weighted_gram(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([[ -8., -10.],
           [-10., -12.]])
    """
    if isinstance(X, BlockedMatrix):
        return np.asarray(X.total(partial(_by_blocks, mean=mean), weights))
    if isinstance(X, np.ndarray):
        return _by_blocks(X, weights, mean, rows)
    X = X if rows is None else X[rows]
    live = np.flatnonzero(weights)
    if live.size < FEW * weights.size:
        X, weights = X[live], weights[live]
    entries = X.data * np.repeat(weights, np.diff(X.indptr))
    gram: Array = (X.T @ sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)).toarray()
    if mean is None:
        return gram
    across = np.outer(X.T @ weights, mean)
    return gram - across - across.T + np.sum(weights) * np.outer(mean, mean)


def gram_with_constant(X: Any, weights: Array, constant: bool) -> Array:
    """X̃ᵀDX̃, where X̃ is X with a column of ones appended if `constant`."""
    if isinstance(X, BlockedMatrix):  # in one reading of the blocks
        return np.asarray(X.total(partial(gram_with_constant, constant=constant), weights))
    gram = weighted_gram(X, weights)
    if not constant:
        return gram
    pull = X.T @ weights
    return np.block([[gram, pull[:, None]], [pull, np.sum(weights)]])


def weighted_sum(X: Any, weights: Array, rows: Index) -> Array:
    """Σ_i d_i x_i over some of the samples, of shape (d,)."""
    if not isinstance(X, np.ndarray):
        return np.asarray(X[rows].T @ weights)
    total = np.zeros(X.shape[1])
    for part in _parts(X, rows.size):
        total += X[rows[part]].T @ weights[part]
    return total


def _parts(X: Array, size: int) -> Iterator[slice]:
    step = max(X.shape[1], CHUNK // max(X.shape[1], 1))
    return blocks(size, step)


def _by_blocks(
    X: Array, weights: Array, mean: Array | None = None, places: Index | None = None
) -> Array:
    live = np.flatnonzero(weights)
    if live.size < FEW * weights.size:
        weights, places = weights[live], live if places is None else places[live]
    d = X.shape[1]
    gram = np.zeros((d, d))
    definite = bool(np.all(weights >= 0))
    factors = np.sqrt(weights) if definite else weights
    for part in _parts(X, weights.size):
        rows = X[part] if places is None else X[places[part]]
        rows = rows if mean is None else rows - mean
        scaled = rows * factors[part, None]
        # NumPy sees one array twice and computes half of a symmetric product (dsyrk)
        gram += scaled.T @ (scaled if definite else rows)
    return gram
