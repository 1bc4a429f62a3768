"""Weighted Gram matrices of samples, and systems with their Kronecker sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.foundation.arrays import Array

__all__ = ["DualSystem", "PrimalSystem", "cholesky", "weighted_gram"]

JITTER = (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7)
REFINEMENTS = 2
CHUNK = 2**17  # numbers of a block of samples that a product works on at a time


class PrimalSystem:
    """S itself, c(c + 1)/2 weighted Gram matrices of X."""

    def __init__(self, design: Any, M: Array, diagonal: Array, held: Any) -> None:
        c, d = design.c, design.d
        S = np.empty((c, d, c, d))
        for a in range(c):
            for b in range(a + 1):
                S[a, :, b] = weighted_gram(design.X, M[:, a, b], definite=a == b)
                S[b, :, a] = S[a, :, b].T
        self.S = S.reshape(c * d, c * d)
        self.S[np.diag_indices_from(self.S)] += diagonal
        top = np.diagonal(self.S)
        floor = 1e-30 * max(float(top.max()), 1e-200)
        self.scale = 1 / np.sqrt(np.maximum(top, floor))
        self.S *= self.scale * self.scale[:, None]
        self.lower = cholesky(self.S)

    def solve(self, right: Array) -> Array:
        """S⁻¹ right, corrected for the jitter and for what the factorisation lost."""
        right = self.scale * right
        x = dpotrs(self.lower, right, lower=1)[0]
        for _ in range(REFINEMENTS):
            x += dpotrs(self.lower, right - self.S @ x, lower=1)[0]
        return self.scale * x


class DualSystem:
    """S = Λ + VᵀV with rows V_ia = R_ia ⊗ x̃_i, M_i = R_i'R_i, by the matrix I + VΛ⁻¹Vᵀ."""

    def __init__(self, design: Any, M: Array, diagonal: Array, held: Any) -> None:
        self.X, self.c, self.n = design.X, design.c, design.n
        self.roots = _roots(M)
        self.held, self.free = held, np.flatnonzero(~held)
        self.diagonal = diagonal
        self.inverse = np.zeros(diagonal.size)
        self.inverse[held] = 1 / np.maximum(diagonal[held], 1e-300)
        inverse = self.inverse.reshape(self.c, -1)
        T = np.zeros((self.n, self.c, self.n, self.c))
        for q in range(self.c):
            gram = (self.X * inverse[q]) @ self.X.T
            root = self.roots[:, :, q]
            T += root[:, :, None, None] * gram[:, None, :, None] * root
        self.T = T.reshape(self.n * self.c, -1)
        self.T[np.diag_indices_from(self.T)] += 1.0
        self.scale = 1 / np.sqrt(np.diagonal(self.T))
        self.T *= self.scale * self.scale[:, None]
        self.lower = cholesky(self.T)
        if self.free.size:
            self._border()

    def _border(self) -> None:
        """V_F, (I + G)⁻¹V_F and the Schur complement of the free entries."""
        d = self.X.shape[1]
        columns = [(self.roots[:, :, j // d] * self.X[:, j % d, None]).ravel() for j in self.free]
        self.border = np.column_stack(columns)
        self.solved = self._inner(self.border)
        self.schur = self.border.T @ self.solved

    def _inner(self, right: Array) -> Array:
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        return scale * dpotrs(self.lower, scale * right, lower=1)[0]

    def _forward(self, x: Array) -> Array:
        """V x."""
        scores = self.X @ x.reshape(self.c, -1).T
        return np.einsum("iaq,iq->ia", self.roots, scores).ravel()

    def _adjoint(self, y: Array) -> Array:
        """Vᵀy."""
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
        """S⁻¹ right, refined."""
        x = self._once(right)
        for _ in range(REFINEMENTS):
            x += self._once(right - self.diagonal * x - self._adjoint(self._forward(x)))
        return x


def weighted_gram(X: Any, weights: Array, definite: bool) -> Array:
    """X' diag(weights) X, block by block."""
    if not isinstance(X, np.ndarray):
        return np.asarray((X.T @ sp.diags_array(weights) @ X).toarray())
    d = X.shape[1]
    result = np.zeros((d, d))
    step = max(d, CHUNK // max(d, 1))
    weights = np.sqrt(np.maximum(weights, 0)) if definite else weights
    for begin in range(0, len(X), step):
        rows = X[begin : begin + step]
        scaled = rows * weights[begin : begin + step, None]
        result += scaled.T @ (scaled if definite else rows)
    return result


def _roots(M: Array) -> Array:
    """R with M_i = R_i'R_i, for semidefinite M_i."""
    if M.shape[1] == 1:
        return np.sqrt(np.maximum(M, 0.0))
    values, vectors = np.linalg.eigh(M)
    return np.sqrt(np.maximum(values, 0.0))[:, :, None] * np.swapaxes(vectors, 1, 2)


def cholesky(S: Array) -> Array:
    """Lower factor of S, whose diagonal is 1, with as little added to it as it takes."""
    for jitter in JITTER:
        lower, failed = dpotrf(S + jitter * np.eye(len(S)) if jitter else S, lower=1)
        if not failed:
            return lower
    raise ArithmeticError("the normal equations are not positive definite")
