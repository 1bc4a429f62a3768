"""Linear algebra of rows code_gp ⊗ x̃_i without forming them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.kronecker import DualSystem, PrimalSystem
from dcprog.solvers.piecewise.local_lines import local_lines, row_sums
from dcprog.solvers.piecewise.polyhedral import Index, Polyhedral

__all__ = ["KroneckerFactor", "KroneckerRows"]


@dataclass(frozen=True)
class KroneckerFactor:
    """The factored normal equations of one interior point step."""

    D: Array  # the diagonal of the local variables
    share: Array  # (G, P), the share of a line in the weights of its local function
    skew: Array  # (J,), the mean of +1 and −1 with the weights of x_j ≤ τ_j and −x_j ≤ τ_j
    system: Any


class KroneckerRows:
    r"""The inequalities of a :class:`Subproblem` as rows R(t, x), t = (ξ, τ).

        code_gp · f_{i(g)}(x) − ξ_g ≤ −const_gp,     x_j − τ_j ≤ 0,   −x_j − τ_j ≤ 0.

    With the weights W of a step, the normal matrix after eliminating t is

        S = Q + diag(e) + Σ_i M_i ⊗ x̃_i x̃_iᵀ,   M_i = Σ_g Σ_p W_gp δ_gp δ_gpᵀ,

    δ the deviations of the codes of g from their weighted mean, and e_j = 4 W⁺W⁻/(W⁺ + W⁻). S is a
    c × c array of d̃ × d̃ blocks, made of weighted Gram matrices of X; K of them if the codes are
    multiples of K vectors (:class:`~dcprog.solvers.linalg.kronecker.Curvature`). With fewer
    samples than features S is diagonal plus a term of rank n·c, and a system of that size is solved
    instead (Woodbury), bordered by the entries without curvature (free intercepts).

    Parameters
    ----------
    design : Polyhedral
    live : int array
        The local functions with a positive cost.
    sparse : int array of shape (J,)
        The x_j with an ℓ1 penalty.
    held : bool array of shape (p,)
        Whether the diagonal entries of Q + diag(e) are positive.
    dual : bool
        Whether to solve the system of size n·c, for dense X.
    """

    def __init__(
        self, design: Polyhedral, live: Index, sparse: Index, held: Any, dual: bool
    ) -> None:
        self.design = design
        self._local = local_lines(design, live)
        self._sparse, self._held = sparse, held
        self._shape = live.size, design.const.shape[1]
        self._n_lines = self._shape[0] * self._shape[1]
        self.n_rows = self._n_lines + 2 * sparse.size
        # n·c unknowns instead of p; inaccurate if the diagonal tends to 0 at a solution
        self._dual = dual and isinstance(design.X, np.ndarray)

    def forward(self, t: Array, x: Array) -> Array:
        """The product R(t, x)."""
        xi, tau = t[: self._shape[0]], t[self._shape[0] :]
        lines = self._local.values(self.design.scores(x)) - xi[:, None]
        sizes = x[self._sparse]
        return np.concatenate([lines.ravel(), sizes - tau, -sizes - tau])

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """The local and the dense part of R'y."""
        lines, plus, minus = self._split(y)
        x = self._back(lines)
        x[self._sparse] += plus - minus
        return np.concatenate([-row_sums(lines), -plus - minus]), x

    def factor(self, w: Array, Q: Array) -> KroneckerFactor:
        """Factorise H for the weights w."""
        W, plus, minus = self._split(w)
        D, both = row_sums(W), plus + minus
        diagonal = Q.copy()
        diagonal[self._sparse] += 4 * plus * (minus / both)
        kind = DualSystem if self._dual else PrimalSystem
        system = kind(self.design, self._local.curvature(W), diagonal, self._held)
        share, D = W / D[:, None], np.concatenate([D, both])
        return KroneckerFactor(D, share, (plus - minus) / both, system)

    def solve(
        self, factor: KroneckerFactor, rt: Array, rx: Array, u: Array
    ) -> tuple[Array, Array, Array]:
        """Solve  H d = −r − R'u  for d; the result is d_t, d_x and R d."""
        G, skew, share = self._shape[0], factor.skew, factor.share
        lines, plus, minus = self._split(u)
        total = row_sums(lines)
        right = -rx - self._back(lines + share * (rt[:G] - total)[:, None])
        right[self._sparse] -= plus * (1 - skew) - minus * (1 + skew) + skew * rt[G:]
        dx = factor.system.solve(right)
        alone = (np.concatenate([total, plus + minus]) - rt) / factor.D
        values, sizes = self._local.values(self.design.scores(dx)), dx[self._sparse]
        middle = row_sums(share * values)
        moved = values - (middle + alone[:G])[:, None]
        tails = (1 - skew) * sizes - alone[G:], -(1 + skew) * sizes - alone[G:]
        dt = alone + np.concatenate([middle, skew * sizes])
        return dt, dx, np.concatenate([moved.ravel(), *tails])

    def _split(self, y: Array) -> tuple[Array, Array, Array]:
        """Split a vector into the parts of the lines (G, P), of x_j ≤ τ_j and of −x_j ≤ τ_j."""
        plus, minus = y[self._n_lines :].reshape(2, -1)
        return y[: self._n_lines].reshape(self._shape), plus, minus

    def _back(self, duals: Array) -> Array:
        return np.asarray(self.design.X.T @ self._local.adjoint(duals)).T.ravel()
