"""Systems with Kronecker sums Σ_i M_i ⊗ x̃_i x̃_iᵀ of samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.sums import gram_with_constant, weighted_gram
from dcprog.risk.risk import Risk
from dcprog.solvers.linalg.cholesky import Cholesky

Index = npt.NDArray[np.intp]

REFINEMENTS = 2  # steps of iterative refinement, as for Cholesky factors


@dataclass(frozen=True, eq=False)
class Curvature:
    """Matrices M_i, or sums M_i = Σ_k m_ik v_k v_kᵀ of a few products shared by all samples.

    Attributes
    ----------
    weights : array of shape (n, c, c) or (n, K)
        The matrices M_i, or the weights m_ik.
    vectors : array of shape (K, c), optional
        The vectors v_k.
    """

    weights: Array
    vectors: Array | None = None

    @classmethod
    def of(cls, weights: Array, vectors: Array) -> Curvature:
        """The sums of products; as matrices M_i if there are too many vectors."""
        c = vectors.shape[1]
        few = len(vectors) <= c * (c + 1) // 2
        shared = cls(weights, vectors)
        return shared if few else cls(shared.matrices())

    def matrices(self) -> Array:
        """The matrices M_i, of shape (n, c, c)."""
        if self.vectors is None:
            return self.weights
        c = self.vectors.shape[1]
        return (self.weights @ self._products()).reshape(-1, c, c)

    def summed(self, X: Any, diagonal: Array) -> Array:
        """The sum diag + Σ_i M_i ⊗ x_i x_iᵀ, of shape (c·d, c·d), by Gram matrices of X."""
        S = self._summed(X)
        S[np.diag_indices_from(S)] += diagonal
        return S

    def _summed(self, X: Any) -> Array:
        d = X.shape[1]
        if self.vectors is None:
            c = self.weights.shape[1]
            S = np.empty((c, d, c, d))
            for a in range(c):
                for b in range(a + 1):
                    S[a, :, b] = weighted_gram(X, self.weights[:, a, b])
                    S[b, :, a] = S[a, :, b].T
            return S.reshape(c * d, c * d)
        c = self.vectors.shape[1]
        if c == 1:  # one Gram matrix, of which large ones are not copied
            return weighted_gram(X, self.weights @ np.ravel(self.vectors**2))
        grams = np.array([weighted_gram(X, weights).ravel() for weights in self.weights.T])
        S = (self._products().T @ grams).reshape(c, c, d, d)
        return np.ascontiguousarray(S.swapaxes(1, 2)).reshape(c * d, c * d)

    def _products(self) -> Array:
        """The products v_k v_kᵀ, of shape (K, c²)."""
        assert self.vectors is not None
        return (self.vectors[:, :, None] * self.vectors[:, None]).reshape(len(self.vectors), -1)


class DualSystem:
    """The system S = Λ + VᵀV, V_ia = R_ia ⊗ x̃_i, M_i = R_i'R_i, solved by I + VΛ⁻¹Vᵀ."""

    def __init__(self, X: Any, matrices: Array, diagonal: Array, held: Any) -> None:
        self.X, (self.n, self.c, _) = X, matrices.shape
        self.roots = _roots(matrices)
        self.held, self.free = held, np.flatnonzero(~held)
        self.diagonal = diagonal
        self.inverse = np.zeros(diagonal.size)
        self.inverse[held] = 1 / np.maximum(diagonal[held], np.finfo(float).tiny)
        inverse = self.inverse.reshape(self.c, -1)
        blocks = np.zeros((self.n, self.c, self.n, self.c))
        for q in range(self.c):
            gram = (self.X * inverse[q]) @ self.X.T
            root = self.roots[:, :, q]
            blocks += root[:, :, None, None] * gram[:, None, :, None] * root
        T = blocks.reshape(self.n * self.c, -1)
        T[np.diag_indices_from(T)] += 1.0
        self.factor = Cholesky(T)
        if self.free.size:
            self._border()

    def _border(self) -> None:
        """Compute V_F, (I + VΛ⁻¹Vᵀ)⁻¹V_F and the Schur complement of the free entries F."""
        d = self.X.shape[1]
        columns = [(self.roots[:, :, j // d] * self.X[:, j % d, None]).ravel() for j in self.free]
        self.border = np.column_stack(columns)
        self.solved = self._inner(self.border)
        self.schur = self.border.T @ self.solved

    def _inner(self, right: Array) -> Array:
        return self.factor.solve(right, refinements=0)  # solve() refines instead

    def _forward(self, x: Array) -> Array:
        """The product V x."""
        scores = self.X @ x.reshape(self.c, -1).T
        return np.einsum("iaq,iq->ia", self.roots, scores).ravel()

    def _adjoint(self, y: Array) -> Array:
        """The product Vᵀy."""
        codes = np.einsum("iaq,ia->iq", self.roots, y.reshape(self.n, self.c))
        return (self.X.T @ codes).T.ravel()

    def _once(self, right: Array) -> Array:
        x = self.inverse * right
        image = self._forward(x)
        along: Any = np.zeros(0)
        if self.free.size:
            left = right[self.free] - self.solved.T @ image
            along = np.linalg.lstsq(self.schur, left, rcond=None)[0]
            image = image + self.border @ along
        x -= self.inverse * self._adjoint(self._inner(image))
        x[self.free] = along
        return x

    def solve(self, right: Array) -> Array:
        """The solution S⁻¹ right, with iterative refinement."""
        x = self._once(right)
        for _ in range(REFINEMENTS):
            x += self._once(right - self.diagonal * x - self._adjoint(self._forward(x)))
        return x


def _roots(M: Array) -> Array:
    """Matrix roots R_i with M_i = R_i'R_i, for semidefinite M_i."""
    if M.shape[1] == 1:
        return np.sqrt(np.maximum(M, 0.0))
    values, vectors = np.linalg.eigh(M)
    return np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(vectors, 1, 2)


class RowHessian:
    r"""The Hessian AᵀDA = Σ_i M_i ⊗ x̃_i x̃_iᵀ, M_i = Σ_j D_ij code_ij code_ijᵀ, rows code_ij ⊗ x̃_i.

    It takes a weighted Gram matrix of X̃ for each pair of scores, or only for each score if every
    row belongs to one score.

    Parameters
    ----------
    risk : Risk
        A risk whose rows have a matrix.

    Attributes
    ----------
    c, d, n : int
        The numbers of scores, columns and samples of X̃.
    """

    def __init__(self, risk: Risk) -> None:
        self.scores = risk.scores
        self.n, self.d = self.scores.X.shape
        self.d += self.scores.fit_intercept
        self.c = self.scores.n_scores
        self._order = self.scores.places()
        self._place = np.argsort(self._order)

    @cached_property
    def X(self) -> Any:
        """X̃, an array or a sparse matrix of shape (n, d̃); a copy if there are intercepts."""
        return self.scores.augmented()

    def hessian(self, curvature: Array, entries: Index) -> Array:
        """The rows and columns of AᵀDA for the given entries of θ.

        Parameters
        ----------
        curvature : array of shape (n_rows,)
            The diagonal of D, at least 0.
        entries : int array

        Returns
        -------
        array of shape (len(entries), len(entries))
        """
        score, column = np.divmod(self._place[entries], self.d)
        columns, column = np.unique(column, return_inverse=True)
        curvature = curvature.reshape(self.n, -1)
        signs = self.scores.signs
        coded = self.scores.code_gram(curvature) if signs is None else curvature * signs**2
        X, constant = self.scores.X, self.scores.fit_intercept
        if columns.size < self.d:
            constant = constant and columns[-1] == self.d - 1
            chosen = columns[:-1] if constant else columns
            X = X[:, chosen]
        H = np.zeros((entries.size, entries.size))
        members = [np.flatnonzero(score == a) for a in range(self.c)]
        for a, b in self._pairs():
            if members[a].size and members[b].size:
                d = coded[:, a, b] if signs is None else coded[:, a]
                block = gram_with_constant(X, d, constant)
                block = block[np.ix_(column[members[a]], column[members[b]])]
                H[np.ix_(members[a], members[b])] = block
                H[np.ix_(members[b], members[a])] = block.T
        return H

    def _pairs(self) -> list[tuple[int, int]]:
        if self.scores.signs is not None:
            return [(a, a) for a in range(self.c)]
        return [(a, b) for a in range(self.c) for b in range(a + 1)]

    def step(self, curvature: Array, diagonal: Array, g: Array) -> Array:
        """The step −(AᵀDA + diag(q))⁻¹ g by a system of size n·c, for dense X̃.

        Parameters
        ----------
        curvature : array of shape (n_rows,)
        diagonal : array of shape (p,)
            q ≥ 0; entries of 0 should be few.
        g : array of shape (p,)

        Returns
        -------
        array of shape (p,)
        """
        diagonal = diagonal[self._order]
        matrices = self.scores.code_gram(curvature.reshape(self.n, -1))
        system = DualSystem(self.X, matrices, diagonal, diagonal > 0)
        return system.solve(-g[self._order])[self._place]
