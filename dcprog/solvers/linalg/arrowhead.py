"""Linear algebra of rows with at most one local variable each and a few shared ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.weighted_gram import weighted_gram
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.qp_structure import Index, Mask

__all__ = ["Arrowhead", "Factor", "Matrix", "dense_rows"]

DENSE = 0.15  # share of nonzeros from which a row is stored dense
PROPORTIONAL = 1e-13


class Matrix:
    """A matrix whose dense rows are stored dense and whose sparse rows are stored sparse."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.shape = matrix.shape
        dense = dense_rows(matrix)
        self._at, self._sparse_at = np.flatnonzero(dense), np.flatnonzero(~dense)
        self._dense = np.ascontiguousarray(matrix[self._at].toarray())
        self._sparse = sp.csr_array(matrix[self._sparse_at])
        self._transposed = sp.csr_array(self._sparse.T)

    def __matmul__(self, x: Array) -> Array:
        """The product K x."""
        if not self._sparse_at.size:
            return self._dense @ x
        result = np.empty(self.shape[0])
        result[self._at] = self._dense @ x
        result[self._sparse_at] = self._sparse @ x
        return result

    def adjoint(self, y: Array) -> Array:
        """The product K'y."""
        if not self._sparse_at.size:
            return y @ self._dense
        return y[self._at] @ self._dense + self._transposed @ y[self._sparse_at]

    def gram(self, weights: Array) -> Array:
        """The matrix K' diag(weights) K."""
        result = weighted_gram(self._dense, weights[self._at])
        if self._sparse.nnz:
            result += weighted_gram(self._sparse, weights[self._sparse_at])
        return result


def dense_rows(matrix: sp.csr_array) -> Mask:
    """Mask of the rows with enough nonzeros to store them dense."""
    return np.diff(matrix.indptr) > max(1, DENSE * matrix.shape[1])


@dataclass(frozen=True)
class Factor:
    """A factorisation of the matrix H for one set of weights."""

    D: Array
    mean: Array
    E: Array
    schur: Cholesky


class Arrowhead:
    """Rows  R (t, x) = L t + X x,  X = C K,  with at most one local variable t_g per row.

    The rows that share t_g are a group. If the dense parts of its rows are multiples of one vector
    (a hinge has a and 0, an absolute value a and −a), that vector is the group's only row of K. For
    weights W = diag(w) > 0 the normal equations have the arrow matrix

        H = R'WR + Q = [ D  B' ]      D = L'WL diagonal,  B = X'WL,
                       [ B  …  ]

    and eliminating t leaves the Schur complement S = Q + X'WX − BD⁻¹B'. Near a solution w spans
    many orders of magnitude and the difference would cancel. It is therefore written as a sum of
    squares of deviations from the group's weighted mean:

        S = Q + K'(E'WE)K,   E = C − L D⁻¹L'WC.

    E'WE is diagonal for groups with one vector, and has a small block for each other group.

    Parameters
    ----------
    L, X : sparse arrays
        The coefficients of the local and the dense variables, row by row.

    References
    ----------
    Wright (1997), Primal-Dual Interior-Point Methods, chapter 11 (normal equations).
    """

    def __init__(self, L: sp.csr_array, X: sp.csr_array) -> None:
        self.n_rows, self.n_local = L.shape
        self.n_dense = X.shape[1]
        group = np.full(self.n_rows, self.n_local)
        f = np.zeros(self.n_rows)
        held = np.diff(L.indptr) > 0
        group[held], f[held] = L.indices, L.data
        vector, c, vectors, self._n_single = _vectors(X, group, self.n_local)
        self._group, self._f, self._vector, self._c = group, f, vector, c
        self._K = Matrix(X[vectors])
        self._owner = group[vectors]
        self._rows, self._columns, self._starts = _entries(group, vector, self._owner, self.n_local)
        mine = vector[self._rows] == self._columns
        self._entry_c = np.where(mine, c[self._rows], 0.0)
        self._entry_f = f[self._rows] * (self._owner[self._columns] == group[self._rows])
        self._in_block = np.flatnonzero(
            np.isin(group, self._owner[self._n_single :]) & (group < self.n_local)
        )
        block = sp.csr_array(X[vectors[self._n_single :]])
        mostly_dense = 2 * np.count_nonzero(dense_rows(block)) > block.shape[0]
        self._block = block.toarray() if mostly_dense else block

    def forward(self, t: Array, x: Array) -> Array:
        """The product R (t, x)."""
        return self._f * np.append(t, 0.0)[self._group] + self._c * (self._K @ x)[self._vector]

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """The local and the dense part of R'y."""
        return self._local_adjoint(self._f * y), self._K.adjoint(self._gather(self._c * y))

    def _local_adjoint(self, y: Array) -> Array:
        """Sums over the groups."""
        return _sums(self._group, y, self.n_local + 1)[: self.n_local]

    def _gather(self, y: Array) -> Array:
        """Sums over the rows with the same row of K."""
        return _sums(self._vector, y, len(self._owner))

    def factor(self, w: Array, Q: Array) -> Factor:
        """Factorise H for the weights w."""
        wf = w * self._f
        D = np.maximum(self._local_adjoint(wf * self._f), 1e-300)
        mean = self._gather(wf * self._c) / np.append(D, 1.0)[self._owner]
        E = self._entry_c - self._entry_f * mean[self._columns]
        return Factor(D, mean, E, Cholesky(Q + self._gram(E, w)))

    def _gram(self, E: Array, w: Array) -> Array:
        """The matrix K'(E'WE)K."""
        weights = _sums(self._columns, w[self._rows] * E**2, len(self._owner))
        weights[self._n_single :] = 0
        result = self._K.gram(weights)
        if len(self._in_block):
            weighted = (np.sqrt(w)[self._rows] * E, self._columns, np.append(self._starts, len(E)))
            rows = sp.csr_array(weighted, shape=(self.n_rows, len(self._owner)))
            T: Any = rows[self._in_block][:, self._n_single :] @ self._block
            result += (T.T @ T).toarray() if sp.issparse(self._block) else T.T @ T
        return result

    def solve(self, factor: Factor, rt: Array, rx: Array, u: Array) -> tuple[Array, Array, Array]:
        """Solve  H d = −r − R'u  for d; the result is d_t, d_x and R d."""
        E, mean = factor.E, factor.mean
        moved = np.append(rt, 0.0)[self._owner] * mean
        moved -= _sums(self._columns, E * u[self._rows], len(mean))
        dx = factor.schur.solve(self._K.adjoint(moved) - rx)
        along = self._K @ dx
        alone = -(rt + self._local_adjoint(self._f * u)) / factor.D
        shared = _sums(self._owner, mean * along, self.n_local + 1)
        moved = E * along[self._columns]
        if len(E) > self.n_rows:
            moved = np.add.reduceat(moved, self._starts)
        moved += self._f * np.append(alone, 0.0)[self._group]
        return alone - shared[: self.n_local], dx, moved


def _sums(index: Index, values: Array, size: int) -> Array:
    """Sums of the values with the same index."""
    return np.asarray(np.bincount(index, values, minlength=size), dtype=float)


def _vectors(X: sp.csr_array, group: Index, n_groups: int) -> tuple[Index, Array, Index, int]:
    """Write each row of X as a multiple of a row of K.

    Returns
    -------
    vector, c : arrays
        Row r of X is c[r]·K[vector[r]]; c[r] = 0 for zero rows.
    vectors : array
        The rows of X that form K, those of groups with one vector first.
    n_single : int
        The number of groups with one vector.
    """
    live = np.diff(X.indptr) > 0
    reference = _references(live, group, n_groups)
    ratio, multiple = _ratios(X, reference, live)
    bad = np.zeros(n_groups + 1, dtype=bool)
    bad[group[live & ~multiple]] = True
    in_block = live & bad[group]
    rows = np.arange(len(group))
    single = np.flatnonzero(live & ~in_block & (reference == rows))
    vectors = np.concatenate([single, np.flatnonzero(in_block)])
    if not len(vectors):  # all rows are zero: take one of them, so that K has a row
        vectors = rows[:1]
        single = vectors
    place = np.zeros(len(group), dtype=np.intp)
    place[vectors] = np.arange(len(vectors))
    reference[in_block] = rows[in_block]
    c = np.where(live, np.where(in_block, 1.0, ratio), 0.0)
    return np.where(live, place[reference], 0), c, vectors, len(single)


def _references(live: Mask, group: Index, n_groups: int) -> Index:
    """The first nonzero row of each row's group; the row itself if it has no group."""
    reference = np.arange(len(group))
    candidates = np.flatnonzero(live & (group < n_groups))
    groups, first = np.unique(group[candidates], return_index=True)
    of_group = np.zeros(n_groups, dtype=np.intp)
    of_group[groups] = candidates[first]
    reference[candidates] = of_group[group[candidates]]
    return reference


def _ratios(X: sp.csr_array, reference: Index, live: Mask) -> tuple[Array, Mask]:
    """Each row's ratio to its reference row, and a mask of the rows that are its multiples."""
    counts = np.diff(X.indptr)
    same = live & (counts == counts[reference])
    ratio = np.ones(len(reference))
    ratio[same] = X.data[X.indptr[:-1][same]] / X.data[X.indptr[reference[same]]]
    rows = np.repeat(np.flatnonzero(same), counts[same])
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(counts[same]) - counts[same], counts[same])
    here, there = X.indptr[rows] + offset, X.indptr[reference[rows]] + offset
    wrong = X.indices[here] != X.indices[there]
    error = np.abs(X.data[here] - ratio[rows] * X.data[there])
    wrong |= error > PROPORTIONAL * np.abs(X.data[here])
    return ratio, same & (np.bincount(rows, wrong, minlength=len(reference)) == 0)


def _entries(
    group: Index, vector: Index, owner: Index, n_groups: int
) -> tuple[Index, Index, Index]:
    """The rows and columns of E's entries: each row with each vector of its group, row by row.

    The third array has the position of each row's first entry. A row without vectors has one entry
    of value 0, so that the positions are increasing.
    """
    by_owner = np.argsort(owner, kind="stable")
    n_vectors = np.bincount(owner, minlength=n_groups + 1)
    n_vectors[n_groups] = 0  # rows of no group have their own vector only
    first = np.cumsum(n_vectors) - n_vectors
    counts = np.maximum(n_vectors[group], 1)
    rows = np.repeat(np.arange(len(group)), counts)
    starts = np.cumsum(counts) - counts
    at = first[group[rows]] + np.arange(len(rows)) - starts[rows]
    shared = n_vectors[group[rows]] > 0
    return rows, np.where(shared, by_owner[np.where(shared, at, 0)], vector[rows]), starts
