"""Linear algebra of rows that touch one local variable each and a few shared ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.solvers.arrow_layout import Index, Mask
from dcprog.tree import Array

__all__ = ["Arrowhead", "Factor", "Matrix"]

DENSE = 0.15  # share of nonzeros from which a row is stored dense
CHUNK = 2**16  # numbers a product works on at a time: what the second-level cache holds
PROPORTIONAL = 1e-13
JITTER = 1e-14


class Matrix:
    """A matrix whose dense rows are stored dense and whose sparse rows are stored sparse."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.shape = matrix.shape
        dense = dense_rows(matrix)
        self._at, self._sparse_at = np.flatnonzero(dense), np.flatnonzero(~dense)
        self._dense = np.ascontiguousarray(matrix[self._at].toarray())
        self._sparse = sp.csr_array(matrix[self._sparse_at])
        self._transposed = sp.csr_array(self._sparse.T)
        self._counts = np.diff(self._sparse.indptr)

    def __matmul__(self, x: Array) -> Array:
        """K x."""
        if not self._sparse_at.size:
            return self._dense @ x
        result = np.empty(self.shape[0])
        result[self._at] = self._dense @ x
        result[self._sparse_at] = self._sparse @ x
        return result

    def adjoint(self, y: Array) -> Array:
        """K'y."""
        if not self._sparse_at.size:
            return y @ self._dense
        return y[self._at] @ self._dense + self._transposed @ y[self._sparse_at]

    def gram(self, weights: Array) -> Array:
        """K' diag(weights) K."""
        p = self.shape[1]
        result = np.zeros((p, p))
        roots = np.sqrt(weights[self._at])[:, None]
        rows = np.flatnonzero(roots)
        step = max(p, CHUNK // max(p, 1))
        for begin in range(0, len(rows), step):
            some = rows[begin : begin + step]
            chunk = self._dense[some] * roots[some]
            result += chunk.T @ chunk
        if self._sparse.nnz:
            scaled = self._sparse.copy()
            scaled.data = scaled.data * np.repeat(weights[self._sparse_at], self._counts)
            result += (self._transposed @ scaled).toarray()
        return result


def dense_rows(matrix: sp.csr_array) -> Mask:
    """The rows worth storing dense."""
    return np.diff(matrix.indptr) > max(1, DENSE * matrix.shape[1])


@dataclass(frozen=True)
class Factor:
    """A factorisation of H for one set of weights."""

    D: Array
    mean: Array
    E: sp.csr_array
    cholesky: Array
    scale: Array


class Arrowhead:
    """Rows  R (t, x) = L t + X x,  X = C K,  with one local variable t_g a row or none.

    The rows that share t_g are a group. Where the dense parts of its rows are multiples of one
    vector (a hinge has a and 0, an absolute value a and −a), that vector is the group's one row
    of K. For weights W = diag(w) > 0 the normal equations have the arrow matrix

        H = R'WR + Q = [ D  B' ]      D = L'WL diagonal,  B = X'WL,
                       [ B  …  ]

    and what remains of them after t is the Schur complement S = Q + X'WX − BD⁻¹B'. At a solution
    w spans many orders of magnitude and the difference would cancel, so that it is written as a
    sum of squares of deviations from the group's weighted mean:

        S = Q + K'(E'WE)K,   E = C − L D⁻¹L'WC.

    E'WE is diagonal on the groups with one vector, and a small block on the others.

    Parameters
    ----------
    L, X : sparse arrays
        Coefficients of the local and the dense variables, row by row.

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
        self._K = Matrix(X[vectors])
        self._owner = group[vectors]
        self._rows, self._columns = _entries(group, vector, self._owner, self.n_local)
        mine = vector[self._rows] == self._columns
        self._c, self._f = np.where(mine, c[self._rows], 0.0), f[self._rows]
        own = np.flatnonzero(vector >= 0)
        C, LC = (
            sp.csr_array((data, (own, vector[own])), shape=(self.n_rows, len(vectors)))
            for data in (c[own], f[own] * c[own])
        )
        self._C, self._Ct, self._LCt = C, sp.csr_array(C.T), sp.csr_array(LC.T)
        self._L, self._Lt, self._L2t = L, sp.csr_array(L.T), sp.csr_array(L.T.power(2))
        self._indptr = np.searchsorted(self._rows, np.arange(self.n_rows + 1))
        self._in_block = np.flatnonzero(np.isin(group, self._owner[self._n_single :]) & (group < self.n_local))
        block = sp.csr_array(X[vectors[self._n_single :]])
        self._block = block.toarray() if np.mean(dense_rows(block)) > 0.5 else block

    def forward(self, t: Array, x: Array) -> Array:
        """R (t, x)."""
        return self._L @ t + self._C @ (self._K @ x)

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """R'y, its local and its dense part."""
        return self._Lt @ y, self._K.adjoint(self._Ct @ y)

    def factor(self, w: Array, Q: Array) -> Factor:
        """Factorise H."""
        D = np.maximum(self._L2t @ w, 1e-300)
        mean = (self._LCt @ w) / np.append(D, 1.0)[self._owner]
        deviations = self._c - self._f * mean[self._columns]
        shape = (self.n_rows, len(mean))
        E = sp.csr_array((deviations, self._columns, self._indptr), shape=shape)
        S = Q + self._gram(E, w)
        diagonal = np.diagonal(S)
        scale = 1 / np.sqrt(np.maximum(diagonal, 1e-30 * max(float(diagonal.max()), 1e-200)))
        return Factor(D, mean, E, _cholesky(S * scale * scale[:, None]), scale)

    def _gram(self, E: sp.csr_array, w: Array) -> Array:
        """K'(E'WE)K."""
        weights = np.bincount(self._columns, w[self._rows] * E.data**2, minlength=E.shape[1])
        weights[self._n_single :] = 0
        result = self._K.gram(weights)
        if len(self._in_block):
            rows = E[self._in_block][:, self._n_single :]
            T = sp.diags_array(np.sqrt(w[self._in_block])) @ rows @ self._block
            product = T.T @ T
            result += product.toarray() if sp.issparse(product) else product
        return result

    def solve(self, factor: Factor, rt: Array, rx: Array, u: Array) -> tuple[Array, Array, Array]:
        """Solution d of  H d = −r − R'u,  as d_t, d_x and R d."""
        E, mean = factor.E, factor.mean
        moved = np.append(rt, 0.0)[self._owner] * mean
        moved -= np.bincount(self._columns, E.data * u[self._rows], minlength=len(mean))
        right = self._K.adjoint(moved) - rx
        dx = factor.scale * dpotrs(factor.cholesky, factor.scale * right, lower=1)[0]
        along = self._K @ dx
        alone = -(rt + self._Lt @ u) / factor.D
        shared = np.bincount(self._owner, mean * along, minlength=self.n_local + 1)
        return alone - shared[: self.n_local], dx, self._L @ alone + E @ along


def _cholesky(S: Array) -> Array:
    """Lower factor of S, whose diagonal is 1, with as little added to it as it takes."""
    jitter = JITTER
    while jitter < 1:
        lower, failed = dpotrf(S + jitter * np.eye(len(S)), lower=1)
        if not failed:
            return lower
        jitter *= 100
    raise ArithmeticError("the normal equations are not positive definite")


def _vectors(X: sp.csr_array, group: Index, n_groups: int) -> tuple[Index, Array, Index, int]:
    """Which row of K each row is a multiple of (−1: it is zero), and by which factor.

    Returns
    -------
    vector, c : arrays
        Row r of X is c[r]·K[vector[r]].
    vectors : array
        Rows of X that make K, those of the groups with one vector first.
    n_single : int
        How many these are.
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
    place = np.full(len(group), -1)
    place[vectors] = np.arange(len(vectors))
    reference[in_block] = rows[in_block]
    c = np.where(live, np.where(in_block, 1.0, ratio), 0.0)
    return np.where(live, place[reference], -1), c, vectors, len(single)


def _references(live: Mask, group: Index, n_groups: int) -> Index:
    """The first nonzero row of each row's group; rows of no group stand for themselves."""
    reference = np.arange(len(group))
    candidates = np.flatnonzero(live & (group < n_groups))
    groups, first = np.unique(group[candidates], return_index=True)
    of_group = np.zeros(n_groups, dtype=np.intp)
    of_group[groups] = candidates[first]
    reference[candidates] = of_group[group[candidates]]
    return reference


def _ratios(X: sp.csr_array, reference: Index, live: Mask) -> tuple[Array, Mask]:
    """Row r of X as a multiple of its reference row, and whether it is one."""
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


def _entries(group: Index, vector: Index, owner: Index, n_groups: int) -> tuple[Index, Index]:
    """Rows and columns of E: every row with every vector of its group, in the rows' order."""
    by_owner = np.argsort(owner, kind="stable")
    n_vectors = np.bincount(owner, minlength=n_groups + 1)
    starts = np.cumsum(n_vectors) - n_vectors
    grouped = group < n_groups
    counts = np.where(grouped, n_vectors[group], vector >= 0)
    rows = np.repeat(np.arange(len(group)), counts)
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.where(grouped[rows], starts[group[rows]] + offset, 0)
    return rows, np.where(grouped[rows], by_owner[at], vector[rows])
