"""Linear algebra of rows code_gp ⊗ x̃_i, which are never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.kronecker import DualSystem, PrimalSystem
from dcprog.solvers.piecewise.polyhedral import Index, Polyhedral

__all__ = ["KroneckerFactor", "KroneckerRows"]


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
        system: Any = (DualSystem if self._dual else PrimalSystem)(
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
        sums: Any = [np.bincount(self.sample, column, self.design.n) for column in flat.T]
        return np.stack(sums, axis=1).reshape(self.design.n, *values.shape[1:])
