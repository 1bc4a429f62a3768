"""Statistics of columns, computed a block of samples at a time without a copy of X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.blocked_matrix import BlockedMatrix

BLOCK = 2**18  # numbers


def row_blocks(X: Array) -> Iterator[slice]:
    """Slices of the rows of an array, of at most 2¹⁸ numbers unless a single row has more."""
    step = max(1, BLOCK // max(X.shape[1], 1))
    return blocks(len(X), step)


def all_finite(X: Any) -> bool:
    """True if an array, a sparse matrix or a BlockedMatrix holds no NaN or infinity."""
    if _is_sparse(X):
        return bool(np.all(np.isfinite(X.data)))
    if isinstance(X, BlockedMatrix):
        return all(X.map(all_finite))
    return all(bool(np.all(np.isfinite(X[rows]))) for rows in row_blocks(X))


def means(X: Any) -> Array:
    """The mean Σ_i x_ij / n of each column."""
    if isinstance(X, BlockedMatrix):
        return np.asarray(X.total(_sums)) / len(X)
    return np.asarray(X.mean(axis=0)).ravel()


def mean_squares(X: Any) -> Array:
    """The mean square Σ_i x_ij² / n of each column."""
    if _is_sparse(X):
        return np.asarray(X.multiply(X).mean(axis=0)).ravel()
    total = X.total(_squares) if isinstance(X, BlockedMatrix) else _squares(X)
    return np.asarray(total / max(len(X), 1))


def weighted_squares(X: Any, weights: Array) -> Array:
    """The sum Σ_i d_i x_ij² of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.columns import weighted_squares
    >>> weighted_squares(np.array([[1.0, 0.0], [-3.0, 2.0]]), np.array([1.0, 2.0]))
    array([19.,  8.])
    """
    if _is_sparse(X):
        return np.asarray(X.power(2).T @ weights)
    if isinstance(X, BlockedMatrix):
        return np.asarray(X.total(weighted_squares, weights))
    parts = (weights[rows] @ X[rows] ** 2 for rows in row_blocks(X))
    return sum(parts, np.zeros(X.shape[1]))


def mean_sizes(X: Any) -> Array:
    """The mean absolute value Σ_i |x_ij| / n of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.columns import mean_sizes
    >>> mean_sizes(np.array([[1.0, 0.0], [-3.0, 2.0]]))
    array([2., 1.])
    """
    if _is_sparse(X):
        return np.asarray(abs(X).mean(axis=0)).ravel()
    total = X.total(_sizes) if isinstance(X, BlockedMatrix) else _sizes(X)
    return np.asarray(total / max(len(X), 1))


def coefficient_units(X: Any, constants: Array) -> Array:
    """For each column, the coefficient whose effect has the size of the constants."""
    sizes = np.sqrt(mean_squares(X))
    return (1 + float(np.max(np.abs(constants)))) / np.where(sizes > 0, sizes, np.inf)


def largest_sizes(X: Any) -> Array:
    """The largest absolute value max_i |x_ij| of each column; 0 if there are no rows."""
    if _is_sparse(X):
        return np.ravel(abs(X).max(axis=0).toarray())
    if isinstance(X, BlockedMatrix):
        return np.max(list(X.map(largest_sizes)), axis=0)
    largest = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        np.maximum(largest, np.abs(X[rows]).max(axis=0), out=largest)
    return largest


def _sums(X: Array) -> Array:
    return X.sum(axis=0)


def _sizes(X: Array) -> Array:
    return sum((np.abs(X[rows]).sum(axis=0) for rows in row_blocks(X)), np.zeros(X.shape[1]))


def _squares(X: Array) -> Array:
    parts = (np.einsum("ij,ij->j", X[rows], X[rows]) for rows in row_blocks(X))
    return sum(parts, np.zeros(X.shape[1]))


def _is_sparse(X: Any) -> bool:  # issparse narrows to a type without operations
    return bool(sp.issparse(X))
