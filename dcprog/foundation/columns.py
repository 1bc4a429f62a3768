"""Sizes of columns, a block of samples at a time: no copy of X."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["largest_sizes", "mean_sizes", "row_blocks"]

BLOCK = 2**18  # numbers


def row_blocks(X: Array) -> Iterator[slice]:
    """Slices of the rows of an array, of few numbers each."""
    step = max(1, BLOCK // max(X.shape[1], 1))
    return (slice(begin, begin + step) for begin in range(0, len(X), step))


def mean_sizes(X: Any) -> Array:
    """Σ_i |x_ij| / n for each column of an array or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.columns import mean_sizes
    >>> mean_sizes(np.array([[1.0, 0.0], [-3.0, 2.0]]))
    array([2., 1.])
    """
    if not isinstance(X, np.ndarray):
        return np.asarray(abs(X).mean(axis=0)).ravel()
    total = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        total += np.abs(X[rows]).sum(axis=0)
    return total / max(len(X), 1)


def largest_sizes(X: Any) -> Array:
    """max_i |x_ij| for each column of an array or a sparse matrix; 0 where there are no rows."""
    if not isinstance(X, np.ndarray):
        return np.ravel(abs(X).max(axis=0).toarray())
    largest = np.zeros(X.shape[1])
    for rows in row_blocks(X):
        np.maximum(largest, np.abs(X[rows]).max(axis=0), out=largest)
    return largest
