"""Linear algebra of rows code_gp ⊗ x̃_i, which are never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.foundation.arrays import Array
from dcprog.solvers.piecewise.polyhedral import Polyhedral
from dcprog.solvers.piecewise.subproblem import Index

__all__ = ["DualSystem", "KroneckerFactor", "KroneckerRows", "cholesky", "weighted_gram"]

JITTER = (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7)
REFINEMENTS = 2
CHUNK = 2**17  # numbers of a block of samples that a product works on at a time


@dataclass(frozen=True)
class KroneckerFactor:
    """What the weights of one interior point step leave to solve."""

    D: Array  # of the local variables
    mean: Array  # (G, c), weighted means of the codes of a local function
    deviation: Array  # (G, P, c), codes minus the mean
    skew: Array  # (J,), the mean of +1 and −1 by the weights of x_j ≤ τ_j and −x_j ≤ τ_j
    system: Any


class KroneckerRows:
    r"""The inequalities of a :class:`Subproblem` as rows R(t, x), t = (ξ, τ).

        code_gp · f_{i(g)}(x) − ξ_g ≤ −const_gp,     x_j − τ_j ≤ 0,   −x_j − τ_j ≤ 0.

    With the weights W of a step the normal matrix without t is

        S = Q + diag(e) + Σ_i M_i ⊗ x̃_i x̃_iᵀ,   M_i = Σ_g Σ_p W_gp δ_gp δ_gpᵀ,

    δ the deviations of the codes of g from their weighted mean, and e_j = 4 W⁺W⁻/(W⁺ + W⁻): a
    c × c array of d̃ × d̃ blocks, each a weighted Gram matrix of X. With fewer samples than
    features S is diagonal plus a term of rank n·c, and a system of that size is solved instead
    (Woodbury), bordered by the entries that nothing holds (free intercepts).

    Parameters
    ----------
    design : Polyhedral
    live : int array
        The local functions that count.
    sparse : int array of shape (J,)
        The x_j whose size is penalised.
    held : bool array of shape (p,)
        Has the diagonal of Q + diag(e) a positive entry there?
    dual : bool
        Solve the system of size n·c, for dense X.
    """

    def __init__(
        self, design: Polyhedral, live: Index, sparse: Index, held: Any, dual: bool
    ) -> None:
        self.design = design
        self.code, self.sample = design.code[live], design.sample[live]
        self._sparse, self._held = sparse, held
        self._shape = self.code.shape[:2]
        self._n_lines = self.code.shape[0] * self.code.shape[1]
        self.n_rows = self._n_lines + 2 * sparse.size
        # n·c unknowns instead of p; a diagonal that vanishes at a solution would cost its digits
        self._dual = dual and isinstance(design.X, np.ndarray)

    def forward(self, t: Array, x: Array) -> Array:
        """R(t, x)."""
        xi, tau = t[: self._shape[0]], t[self._shape[0] :]
        lines = self._lines(self.code, self.design.scores(x)) - xi[:, None]
        sizes = x[self._sparse]
        return np.concatenate([lines.ravel(), sizes - tau, -sizes - tau])

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """R'y."""
        lines, plus, minus = self._split(y)
        x = self._back(np.einsum("gp,gpc->gc", lines, self.code))
        x[self._sparse] += plus - minus
        return np.concatenate([-lines.sum(axis=1), -plus - minus]), x

    def factor(self, w: Array, Q: Array) -> KroneckerFactor:
        """Factorise H."""
        W, plus, minus = self._split(w)
        D = W.sum(axis=1)
        mean = np.einsum("gp,gpc->gc", W, self.code) / D[:, None]
        deviation = self.code - mean[:, None]
        both = plus + minus
        diagonal = Q.copy()
        diagonal[self._sparse] += 4 * plus * (minus / both)
        M = self._gather(np.einsum("gp,gpa,gpb->gab", W, deviation, deviation))
        system: Any = (DualSystem if self._dual else _PrimalSystem)(
            self.design, M, diagonal, self._held
        )
        D = np.concatenate([D, both])
        return KroneckerFactor(D, mean, deviation, (plus - minus) / both, system)

    def solve(
        self, factor: KroneckerFactor, rt: Array, rx: Array, u: Array
    ) -> tuple[Array, Array, Array]:
        """Solution d of  H d = −r − R'u,  as d_t, d_x and R d."""
        G, skew = self._shape[0], factor.skew
        lines, plus, minus = self._split(u)
        right = np.einsum("gp,gpc->gc", lines, factor.deviation) + factor.mean * rt[:G, None]
        right = -rx - self._back(right)
        right[self._sparse] -= plus * (1 - skew) - minus * (1 + skew) + skew * rt[G:]
        dx = factor.system.solve(right)
        alone = (np.concatenate([lines.sum(axis=1), plus + minus]) - rt) / factor.D
        scores, sizes = self.design.scores(dx), dx[self._sparse]
        shared = np.concatenate([np.sum(factor.mean * scores[self.sample], axis=1), skew * sizes])
        moved = self._lines(factor.deviation, scores) - alone[:G, None]
        tails = (1 - skew) * sizes - alone[G:], -(1 + skew) * sizes - alone[G:]
        return alone + shared, dx, np.concatenate([moved.ravel(), *tails])

    def _split(self, y: Array) -> tuple[Array, Array, Array]:
        """The parts of the lines (G, P), and of x_j ≤ τ_j and −x_j ≤ τ_j."""
        plus, minus = y[self._n_lines :].reshape(2, -1)
        return y[: self._n_lines].reshape(self._shape), plus, minus

    def _lines(self, code: Array, scores: Array) -> Array:
        return np.einsum("gpc,gc->gp", code, scores[self.sample])

    def _back(self, codes: Array) -> Array:
        return np.asarray(self.design.X.T @ self._gather(codes)).T.ravel()

    def _gather(self, values: Array) -> Array:
        """Sums over the local functions of each sample."""
        flat = values.reshape(len(values), -1)
        sums = [np.bincount(self.sample, column, self.design.n) for column in flat.T]
        return np.stack(sums, axis=1).reshape(self.design.n, *values.shape[1:])


class _PrimalSystem:
    """S itself, c(c + 1)/2 weighted Gram matrices of X."""

    def __init__(self, design: Polyhedral, M: Array, diagonal: Array, held: Any) -> None:
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
