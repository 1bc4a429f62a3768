"""Sums over samples: means and sizes of columns, weighted Gram matrices, weighted quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import CACHED, PRODUCTS, Array, blocks, dense
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.jit import compiled
from dcprog.foundation.tolerances import ROUNDING


def row_blocks(X: Any) -> Iterator[slice]:
    """Slices of the rows of an array or CSR array, of about 2¹⁸ numbers.

    A pass by blocks needs no memory of the size of the data, which costs more than its arithmetic.
    """
    n, d = X.shape
    numbers = X.nnz if _is_sparse(X) else n * d
    return blocks(n, max(1, CACHED * n // max(numbers, 1)))


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
    return np.asarray(X.sum(axis=0)).ravel() / X.shape[0]


def weighted_squares(X: Any, weights: Array) -> Array:
    """The sum Σ_i d_i x_ij² of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.sums import weighted_squares
    >>> weighted_squares(np.array([[1.0, 0.0], [-3.0, 2.0]]), np.array([1.0, 2.0]))
    array([19.,  8.])
    """
    if isinstance(X, BlockedMatrix):
        return np.asarray(X.total(weighted_squares, weights))
    square = _power if _is_sparse(X) else np.square
    parts = (weights[rows] @ square(X[rows]) for rows in row_blocks(X))
    return sum(parts, np.zeros(X.shape[1]))


def squared_norms(X: Any) -> Array:
    """The squared norm Σ_j x_ij² of each row of an array or a CSR array.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.sums import squared_norms
    >>> squared_norms(np.array([[1.0, 0.0], [-3.0, 2.0]]))
    array([ 1., 13.])
    """
    if not _is_sparse(X):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    norms = [_power(X[rows]).sum(axis=1) for rows in row_blocks(X)]
    return np.concatenate([np.zeros(0), *norms])


def mean_sizes(X: Any) -> Array:
    """The mean absolute value Σ_i |x_ij| / n of each column.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.sums import mean_sizes
    >>> mean_sizes(np.array([[1.0, 0.0], [-3.0, 2.0]]))
    array([2., 1.])
    """
    total = X.total(_sizes) if isinstance(X, BlockedMatrix) else _sizes(X)
    return np.asarray(total / max(X.shape[0], 1))


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


def _sizes(X: Any) -> Array:
    return sum((abs(X[rows]).sum(axis=0) for rows in row_blocks(X)), np.zeros(X.shape[1]))


def _power(X: Any) -> Any:
    return X.power(2)


def _is_sparse(X: Any) -> bool:  # issparse narrows to a type without operations
    return bool(sp.issparse(X))


# ----------------------------------------------------------------------------------------------


FEW = 0.5  # of the weights are not 0: only these samples are gathered
DENSE = 0.2  # of the entries of a sparse matrix are not 0: products of dense rows are faster
TILE = 64  # rows and columns of a matrix that are transposed at a time

Index = npt.NDArray[np.intp]


def weighted_gram(
    X: Any, weights: Array, mean: Array | None = None, rows: Index | None = None
) -> Array:
    """XᵀDX = Σ_i d_i x_i x_iᵀ, or Σ_i d_i (x_i − x̄)(x_i − x̄)ᵀ around a point x̄.

    Parameters
    ----------
    X : array, CSR array or BlockedMatrix of shape (n, d)
    weights : array of shape (n,)
        d, of any sign.
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
    >>> from dcprog.foundation.sums import weighted_gram
    >>> weighted_gram(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, -1.0]))
    array([[ -8., -10.],
           [-10., -12.]])
    """
    if isinstance(X, BlockedMatrix):
        return np.asarray(X.total(partial(_by_blocks, mean=mean), weights))
    if isinstance(X, np.ndarray) or X.nnz > DENSE * X.shape[0] * X.shape[1]:
        return _by_blocks(X, weights, mean, rows)
    X = X if rows is None else X[rows]
    live = np.flatnonzero(weights)
    if live.size < FEW * weights.size:
        X, weights = X[live], weights[live]
    gram = _sparse_gram(X, weights)
    if mean is None:
        return gram
    across = np.outer(X.T @ weights, mean)
    return gram - across - across.T + np.sum(weights) * np.outer(mean, mean)


@compiled
def _fill_gram(
    values: Any, columns: Any, starts: Any, rows: Any, ends: Any, weights: Any, gram: Any
) -> None:
    """Add Σ_i d_i x_i x_iᵀ of CSR rows; `rows` and `ends` are the same matrix's by columns.

    A row of the lower triangle is finished before the next one is begun, so that it stays in the
    processor's cache.
    """
    p, done = len(gram), starts[:-1].copy()
    for j in range(p):
        row = gram[j]
        for k in range(ends[j], ends[j + 1]):
            i = rows[k]
            last = done[i]
            factor = weights[i] * values[last]
            for entry in range(starts[i], last + 1):
                row[columns[entry]] += factor * values[entry]
            done[i] = last + 1
    for first in range(0, p, TILE):
        for second in range(0, first + 1, TILE):
            for j in range(first, min(first + TILE, p)):
                for k in range(second, min(second + TILE, j)):
                    gram[k, j] = gram[j, k]


def _sparse_gram(X: Any, weights: Array) -> Array:
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    columns, gram = X.tocsc(), np.zeros((X.shape[1], X.shape[1]))
    _fill_gram(X.data, X.indices, X.indptr, columns.indices, columns.indptr, weights, gram)
    return gram


def gram_with_constant(X: Any, weights: Array, constant: bool) -> Array:
    """X̃ᵀDX̃, where X̃ is X with a column of ones appended if `constant`."""
    if isinstance(X, BlockedMatrix):  # in one reading of the blocks
        return np.asarray(X.total(partial(gram_with_constant, constant=constant), weights))
    gram = weighted_gram(X, weights)
    if not constant:
        return gram
    pull = X.T @ weights
    return np.block([[gram, pull[:, None]], [pull, np.sum(weights)]])


class WeightedGrams:
    """AᵀDA of a dense array for many weights at once: sums of products formed once if they are few.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.sums import WeightedGrams
    >>> WeightedGrams(np.array([[1.0, 2.0], [3.0, 4.0]]))(np.array([[1.0, -1.0]]))
    array([[[ -8., -10.],
            [-10., -12.]]])
    """

    def __init__(self, A: Array) -> None:
        n, p = A.shape
        self.A = A
        few = n * p**2 <= PRODUCTS
        self.products = (A[:, :, None] * A[:, None, :]).reshape(n, p**2) if few else None

    def __call__(self, weights: Array) -> Array:
        """The matrices, (K, p, p), of weights of shape (K, n)."""
        if self.products is None:
            return np.array([(self.A * w[:, None]).T @ self.A for w in weights])
        p = self.A.shape[1]
        return (weights @ self.products).reshape(len(weights), p, p)


def weighted_sum(X: Any, weights: Array, rows: Index) -> Array:
    """Σ_i d_i x_i over some of the samples, of shape (d,)."""
    if not isinstance(X, np.ndarray):
        return np.asarray(X[rows].T @ weights)
    total = np.zeros(X.shape[1])
    for part in _parts(X, rows.size):
        total += X[rows[part]].T @ weights[part]
    return total


def _parts(X: Any, size: int) -> Iterator[slice]:
    step = max(X.shape[1], CACHED // max(X.shape[1], 1))
    return blocks(size, step)


def _by_blocks(
    X: Any, weights: Array, mean: Array | None = None, places: Index | None = None
) -> Array:
    if np.any(weights < 0):  # of one sign each, as both halves of a product take longer
        above, below = (np.maximum(w, 0.0) for w in (weights, -weights))
        return _by_blocks(X, above, mean, places) - _by_blocks(X, below, mean, places)
    live = np.flatnonzero(weights)
    if live.size < FEW * weights.size:
        weights, places = weights[live], live if places is None else places[live]
    d = X.shape[1]
    gram, roots = np.zeros((d, d)), np.sqrt(weights)
    for part in _parts(X, weights.size):
        rows = dense(X[part] if places is None else X[places[part]])
        rows = rows if mean is None else rows - mean
        own = mean is not None or places is not None
        rows = np.multiply(rows, roots[part, None], out=rows if own else None)
        gram += rows.T @ rows  # NumPy sees one array twice and computes half of the product (dsyrk)
    return gram


def median(values: Array) -> float:
    """The median of at least one number, none of them NaN; np.median takes five times as long."""
    middle = (values.size - 1) // 2, values.size // 2
    low, high = np.partition(values, middle)[[*middle]].tolist()
    return float(low / 2 + high / 2)


def weighted_quantile(values: Array, weights: Array, share: float = 0.5) -> Array:
    """A weighted quantile of each row of `values`, (K, n), with one weight per column."""
    if share == 0.5 and np.all(weights == weights[0]):  # faster by sorting than np.median
        n = len(weights)
        return np.mean(np.sort(values, axis=1)[:, (n - 1) // 2 : n // 2 + 1], axis=1)
    order = np.argsort(values, axis=1)
    total = np.cumsum(weights[order], axis=1)
    mass = share * total[:, -1:]
    slack = ROUNDING * total[:, -1:]
    ends = np.sum(total < mass - slack, axis=1), np.sum(total <= mass + slack, axis=1)
    sides = [np.take_along_axis(order, np.minimum(e, len(weights) - 1)[:, None], 1) for e in ends]
    return np.mean([np.take_along_axis(values, side, 1)[:, 0] for side in sides], axis=0)
