"""Weighted Gram matrices of columns that are added on demand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array

__all__ = ["ColumnGram"]

Index = npt.NDArray[np.intp]

ROOM = 64  # initial capacity, in columns
KEPT = 2**24  # most numbers of gathered columns that are kept


class ColumnGram:
    r"""The Gram matrix Z_S'ρZ_S of columns S of X, with Z = X − 1x̄' for a free intercept, else X.

    Here x̄ = X'ρ/Σρ. Each new column is multiplied once with the earlier ones, and then serves all
    problems with the same samples and weights.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    weights : array of shape (n,)
        The weights ρ ≥ 0.
    centred : bool
        Whether there is a free intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.linalg.column_gram import ColumnGram
    >>> gram = ColumnGram(np.array([[1.0, 7.0, 0.0], [3.0, 7.0, 2.0]]), np.ones(2), centred=True)
    >>> gram.block(np.array([0, 2]))
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, X: Any, weights: Array, centred: bool) -> None:
        self.weights, self.centred = weights, centred
        self._X = X if isinstance(X, np.ndarray) else sp.csc_array(X)
        self._plain = bool(np.all(weights == 1.0))
        self._total = float(np.sum(weights))
        self._place = np.full(X.shape[1], -1)
        self._columns = np.empty(0, dtype=np.intp)
        self._gram = np.empty((0, 0))
        self._sums = np.empty(0)
        self._gathered: Any = np.empty((X.shape[0], 0), order="F")

    @property
    def width(self) -> int:
        """The number of columns of X."""
        return self._place.size

    def fits(self, X: Any, weights: Array) -> bool:
        """True if the weights and the number of columns are the given ones."""
        return self._place.size == X.shape[1] and np.array_equal(self.weights, weights)

    def means(self, columns: Index) -> Array:
        """The means x̄_j of columns that were added before; 0 without an intercept."""
        return self._sums[self._place[columns]] / self._total

    def block(self, columns: Index) -> Array:
        """A copy of the Gram matrix of the given columns."""
        self._include(columns[self._place[columns] < 0])
        where = self._place[columns]
        return self._gram[np.ix_(where, where)]

    def times(self, columns: Index, x: Array) -> Array:
        """The product X_S x for columns that were added before."""
        if self._gathered is None:
            return np.asarray(self._X[:, columns] @ x)
        full = np.zeros(self._columns.size)
        full[self._place[columns]] = x
        return np.asarray(self._gathered[:, : full.size] @ full)

    def _include(self, new: Index) -> None:
        if new.size == 0:
            return
        k, more = self._columns.size, self._columns.size + new.size
        B = self._X[:, new]
        weighted = B if self._plain else self._weighted(B)
        old = self._old(new, B)
        self._columns = np.concatenate([self._columns, new])
        self._place[new] = np.arange(k, more)
        if more > len(self._gram):
            grown = np.empty((max(2 * more, ROOM),) * 2)
            grown[:k, :k] = self._gram[:k, :k]
            self._gram = grown
        sums = np.asarray(weighted.sum(axis=0)).ravel() if self.centred else np.zeros(new.size)
        self._sums = np.concatenate([self._sums, sums])
        means = self._sums[:more, None] * (sums / self._total)
        self._gram[k:more, k:more] = _dense(B.T @ weighted) - means[k:]
        self._gram[:k, k:more] = _dense(old.T @ weighted) - means[:k]
        self._gram[k:more, :k] = self._gram[:k, k:more].T

    def _weighted(self, B: Any) -> Any:
        if isinstance(B, np.ndarray):
            return self.weights[:, None] * B
        return sp.csc_array(sp.diags_array(self.weights) @ B)

    def _old(self, new: Index, B: Any) -> Any:
        """The earlier columns; the new ones are stored beside them if memory allows."""
        k, n = self._columns.size, self._X.shape[0]
        if not isinstance(B, np.ndarray) or n * (k + new.size) > KEPT:
            self._gathered = None
            return self._X[:, self._columns]
        if self._gathered is None:
            return self._X[:, self._columns]
        if self._gathered.shape[1] < k + new.size:
            grown = np.empty((n, max(2 * (k + new.size), ROOM)), order="F")
            grown[:, :k] = self._gathered[:, :k]
            self._gathered = grown
        self._gathered[:, k : k + new.size] = B
        return self._gathered[:, :k]


def _dense(product: Any) -> Array:
    return product if isinstance(product, np.ndarray) else product.toarray()
