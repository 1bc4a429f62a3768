"""The linear algebra of weighted ridge regression with a free intercept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, dense
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.weighted_moments import WeightedMoments

__all__ = ["Ridge"]

Index = npt.NDArray[np.intp]


class Ridge:
    r"""Minimise  ⟨g, δ⟩ + hβ + Σ_i c_i (x_i·δ + β)² + (λ/2)‖δ‖²  over (δ, β).

    This is the Newton step of a weighted squared loss with the gradient (g, h). With x̄ the weighted
    mean and X_c = X − 1x̄ᵀ, eliminating the intercept gives the d × d system

        (2 X_cᵀ C X_c + λI) δ = h x̄ − g,     β = −h / (2 Σc) − x̄·δ.

    If there are far fewer weights than features, its dual is solved instead. For d > n the dual
    uses the Gram matrix XXᵀ, which is formed once. If all c_i are zero, β is undetermined: then
    δ = −g/λ and β = 0.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    lam : float
        λ > 0.
    fit_intercept : bool
        If False, β = 0 and x̄ = 0.
    """

    def __init__(self, X: Any, lam: float, fit_intercept: bool = True) -> None:
        self.X = X
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.dual = X.shape[1] > X.shape[0]
        self._factored: _Factored | None = None

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix XXᵀ, of shape (n, n)."""
        return dense(self.X @ self.X.T)

    def step(self, g: Array, h: Array, c: Array, rows: Index | None = None) -> tuple[Array, Array]:
        """Solve for one or several right-hand sides.

        Parameters
        ----------
        g : array of shape (d,) or (d, k)
        h : float or array of shape (k,)
        c : array of shape (m,)
            Nonnegative weights.
        rows : int array of shape (m,), optional
            The samples of the weights; all by default.

        Returns
        -------
        delta : array of shape of g
        beta : array of shape of h

        Raises
        ------
        SubproblemError
            The system is not finite.
        """
        if not np.any(c):
            return -g / self.lam, np.zeros_like(h)
        if self.dual or 2 * c.size < self.X.shape[1]:
            return self._dual_step(g, h, c, rows)
        if rows is not None:
            c, some = np.zeros(self.X.shape[0]), c
            c[rows] = some
        return self._factor(c).step(g, h)

    def _factor(self, c: Array) -> _Factored:
        if self._factored is None or not np.array_equal(self._factored.c, c):
            moments = self.moments.of(2 * c)
            system = moments.gram
            system[np.diag_indices_from(system)] += self.lam
            self._factored = _Factored(c, moments.total, moments.mean, Cholesky(system))
        return self._factored

    @cached_property
    def moments(self) -> WeightedMoments:
        """The weighted moments of the samples."""
        return WeightedMoments(self.X, self.fit_intercept)

    def _dual_step(self, g: Array, h: Array, c: Array, rows: Index | None) -> tuple[Array, Array]:
        X = self.X if rows is None else self.X[rows]
        total = float(np.sum(c))
        mean = np.asarray(X.T @ c) / total if self.fit_intercept else None
        middle = np.zeros(X.shape[1]) if mean is None else mean
        right = np.multiply.outer(middle, h) - g
        # Woodbury: (AᵀA + λI)⁻¹ r = (r − Aᵀ(AAᵀ + λI)⁻¹ A r) / λ with A = √(2C) X_c
        if self.dual:
            gram = self.gram if rows is None else self.gram[np.ix_(rows, rows)]
        else:
            gram = dense(X @ X.T)
        if self.fit_intercept:
            share = c / total
            towards = gram @ share
            gram = gram - towards[:, None] - towards + share @ towards
        root = np.sqrt(2 * c)
        system = root[:, None] * gram * root
        system[np.diag_indices_from(system)] += self.lam
        scale = root if right.ndim == 1 else root[:, None]
        image = scale * (X @ right - middle @ right)
        pulled = scale * Cholesky(system).solve(image)
        back = X.T @ pulled - np.multiply.outer(middle, np.sum(pulled, axis=0))
        delta = (right - back) / self.lam
        return delta, _intercept(delta, h, 2 * total, mean)


@dataclass(frozen=True, eq=False)
class _Factored:
    """The factored primal system of some weights, kept as Newton's last steps often reuse them."""

    c: Array
    total: float
    mean: Array | None
    factor: Cholesky

    def step(self, g: Array, h: Array) -> tuple[Array, Array]:
        """The minimiser (δ, β)."""
        right = -g if self.mean is None else np.multiply.outer(self.mean, h) - g
        delta = self.factor.solve(right)
        return delta, _intercept(delta, h, self.total, self.mean)


def _intercept(delta: Array, h: Array, total: float, mean: Array | None) -> Array:
    return np.zeros_like(h) if mean is None else -h / total - mean @ delta
