"""The linear algebra of weighted ridge regression with a free intercept."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, dense
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.weighted_gram import weighted_gram

__all__ = ["Ridge"]

Index = npt.NDArray[np.intp]


class Ridge:
    r"""Minimiser (δ, β) of  ⟨g, δ⟩ + hβ + Σ_i c_i (x_i·δ + β)² + (λ/2)‖δ‖².

    That is the Newton step of a weighted squared loss whose gradient is (g, h). With x̄ the
    weighted mean and X_c = X − 1x̄ᵀ the intercept goes first,

        (2 X_cᵀ C X_c + λI) δ = h x̄ − g,     β = −h / (2 Σc) − x̄·δ,

    a d × d system; where fewer c_i than that are not zero, its dual is solved instead. When d > n
    that takes the Gram matrix XXᵀ, which is formed once. If all c_i are zero there is nothing to
    hold β: δ = −g/λ and β = 0.

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
        self._factored: tuple[Array, Index | None, Cholesky] | None = None

    @cached_property
    def gram(self) -> Array:
        """XXᵀ, of shape (n, n)."""
        return dense(self.X @ self.X.T)

    def step(self, g: Array, h: Array, c: Array, rows: Index | None = None) -> tuple[Array, Array]:
        """Solve for one or several right-hand sides.

        Parameters
        ----------
        g : array of shape (d,) or (d, k)
        h : float or array of shape (k,)
        c : array of shape (m,)
            Weights, none negative.
        rows : int array of shape (m,), optional
            The samples they belong to; all by default.

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
        X = self.X if rows is None else self.X[rows]
        total = float(np.sum(c))
        mean = np.asarray(X.T @ c) / total if self.fit_intercept else np.zeros(X.shape[1])
        right = np.multiply.outer(mean, h) - g
        if self.dual or 2 * c.size < X.shape[1]:
            delta = self._dual_step(X, mean, right, c, rows)
        else:
            delta = self._factor(X, mean, c, rows).solve(right)
        beta = -h / (2 * total) - mean @ delta if self.fit_intercept else np.zeros_like(h)
        return delta, beta

    def _factor(self, X: Any, mean: Array, c: Array, rows: Index | None) -> Cholesky:
        """That of the primal system; Newton's last step is mostly under the weights before."""
        if self._factored is not None:
            before, places, factor = self._factored
            if np.array_equal(before, c) and _same(places, rows):
                return factor
        system = weighted_gram(X, 2 * c, mean if self.fit_intercept else None)
        system[np.diag_indices_from(system)] += self.lam
        factor = Cholesky(system)
        self._factored = c, rows, factor
        return factor

    def _dual_step(self, X: Any, mean: Array, right: Array, c: Array, rows: Index | None) -> Array:
        # Woodbury: (AᵀA + λI)⁻¹ r = (r − Aᵀ(AAᵀ + λI)⁻¹ A r) / λ with A = √(2C) X_c
        if self.dual:
            gram = self.gram if rows is None else self.gram[np.ix_(rows, rows)]
        else:
            gram = dense(X @ X.T)
        if self.fit_intercept:
            share = c / np.sum(c)
            towards = gram @ share
            gram = gram - towards[:, None] - towards + share @ towards
        root = np.sqrt(2 * c)
        system = root[:, None] * gram * root
        system[np.diag_indices_from(system)] += self.lam
        scale = root if right.ndim == 1 else root[:, None]
        image = scale * (X @ right - mean @ right)
        pulled = scale * Cholesky(system).solve(image)
        back = X.T @ pulled - np.multiply.outer(mean, np.sum(pulled, axis=0))
        return (right - back) / self.lam


def _same(one: Index | None, other: Index | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)
