"""Weighted Gram matrices of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array

__all__ = ["weighted_gram"]

CHUNK = 2**17  # numbers of a block of samples that a product works on at a time


def weighted_gram(X: Any, weights: Array, mean: Array | None = None) -> Array:
    """XᵀDX = Σ_i d_i x_i x_iᵀ, or Σ_i d_i (x_i − x̄)(x_i − x̄)ᵀ around a point x̄.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    weights : array of shape (n,)
        d; where none is negative it costs half as much.
    mean : array of shape (d,), optional
        x̄, such as the weighted mean Σ d_i x_i / Σ d_i.

    Returns
    -------
    array of shape (d, d)
        For dense samples as accurate as sums of squares are, however far from 0 x̄ is.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.linalg.weighted_gram import weighted_gram
    >>> weighted_gram(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([[ -8., -10.],
           [-10., -12.]])
    """
    if isinstance(X, np.ndarray):
        return _by_blocks(X, weights, mean)
    entries = X.data * np.repeat(weights, np.diff(X.indptr))
    gram: Array = (X.T @ sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)).toarray()
    if mean is None:
        return gram
    across = np.outer(X.T @ weights, mean)
    return gram - across - across.T + np.sum(weights) * np.outer(mean, mean)


def _by_blocks(X: Array, weights: Array, mean: Array | None) -> Array:
    d = X.shape[1]
    gram = np.zeros((d, d))
    definite = bool(np.all(weights >= 0))
    factors = np.sqrt(weights) if definite else weights
    step = max(d, CHUNK // max(d, 1))
    for begin in range(0, len(X), step):
        part = slice(begin, begin + step)
        rows = X[part] if mean is None else X[part] - mean
        scaled = rows * factors[part, None]
        # NumPy sees one array twice and computes half of a symmetric product (dsyrk)
        gram += scaled.T @ (scaled if definite else rows)
    return gram
