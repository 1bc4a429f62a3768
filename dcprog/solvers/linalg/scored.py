"""Rows code ⊗ x̃ of scores B x̃ seen from the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.rows.linear import Scores

__all__ = ["order_of", "samples_of", "units_of", "with_ones"]


def samples_of(rows: Any) -> Any:
    """X̃, the samples with a constant column where there are intercepts; other rows as they are."""
    if not isinstance(rows, Scores):
        return rows if isinstance(rows, np.ndarray) else sp.csr_array(rows)
    return with_ones(rows.X) if rows.fit_intercept else rows.X


def with_ones(X: Any) -> Any:
    """X with a constant column behind."""
    ones = np.ones((X.shape[0], 1))
    if isinstance(X, np.ndarray):
        return np.hstack([X, ones])
    parts: Any = [X, sp.csr_array(ones)]
    return sp.csr_array(sp.hstack(parts))


def units_of(X: Any, const: Array) -> Array:
    """For each feature the coefficient that moves the lines by the size of their constants."""
    squares = np.mean(X**2, axis=0) if isinstance(X, np.ndarray) else X.multiply(X).mean(axis=0)
    sizes = np.sqrt(np.asarray(squares).ravel())
    return (1 + float(np.max(np.abs(const)))) / np.where(sizes > 0, sizes, np.inf)


def order_of(rows: Any, c: int, d: int) -> npt.NDArray[np.intp]:
    """Places in θ of the entries of B, of shape (c, d), row by row."""
    if not (isinstance(rows, Scores) and rows.fit_intercept):
        return np.arange(c * d)
    coefs = np.arange(c * (d - 1)).reshape(c, d - 1)
    return np.column_stack([coefs, c * (d - 1) + np.arange(c)]).ravel()
