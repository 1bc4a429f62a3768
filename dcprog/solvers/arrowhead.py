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
        step = max(p, CHUNK // max(p, 1))
        for begin in range(0, len(self._at), step):
            chunk = self._dense[begin : begin + step] * roots[begin : begin + step]
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
        vector, c, vectors, self._n_single = _vectors(X, group)
        self._K = Matrix(X[vectors])
        self._single = Matrix(X[vectors[: self._n_single]])
        self._block = X[vectors[self._n_single :]]
        self._owner = group[vectors]
        self._rows, self._columns = _entries(group, vector, self._owner, self._n_single)
        mine = vector[self._rows] == self._columns
        self._c, self._f = np.where(mine, c[self._rows], 0.0), f[self._rows]
        own = np.flatnonzero(vector >= 0)
        shape = (self.n_rows, len(vectors))
        C = sp.csr_array((c[own], (own, vector[own])), shape=shape)
        self._C, self._Ct = C, sp.csr_array(C.T)
        self._L, self._Lt = L, sp.csr_array(L.T)
        self._L2t = sp.csr_array(self._Lt.power(2))
        self._LCt = sp.csr_array(sp.csr_array((f[own] * c[own], (own, vector[own])), shape=shape).T)
        self._E = sp.csr_array((self._c, (self._rows, self._columns)), shape=shape)

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
        E = self._E
        deviations = self._c - self._f * mean[self._columns]
        E = sp.csr_array((deviations, E.indices, E.indptr), shape=E.shape)
        S = Q + self._gram(E, w)
        diagonal = np.diagonal(S)
        scale = 1 / np.sqrt(np.maximum(diagonal, 1e-30 * max(float(diagonal.max()), 1e-200)))
        return Factor(D, mean, E, _cholesky(S * scale * scale[:, None]), scale)

    def _gram(self, E: sp.csr_array, w: Array) -> Array:
        """K'(E'WE)K."""
        ...

    def solve(
        self, factor: Factor, rt: Array, rx: Array, u: Array
    ) -> tuple[Array, Array, Array]:
        """Solution d of  H d = −r − R'u,  as d_t, d_x and R d."""
        ...
