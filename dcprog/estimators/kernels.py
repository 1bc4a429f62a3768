"""Kernels of estimators: f(x) = Σ_j a_j k(x, x_j) + b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from dcprog.rows import Margins, Scores
from dcprog.rows_angle import Coded
from dcprog.rows_kernel import KernelCoded, KernelMargins, KernelRows
from dcprog.tree import Array

__all__ = ["KERNELS", "Kernel", "kernel_rows"]

KERNELS = {"linear", "poly", "rbf", "precomputed"}


@dataclass(frozen=True)
class Kernel:
    """K = k(x, x_j) of samples x with the training samples x_j.

    Attributes
    ----------
    kind : str or callable
        A name of ``KERNELS``, or a function that maps X and the samples to K.
    samples : array or sparse matrix of shape (n, d)
        The x_j.
    gamma : float
        Of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree.
    degree, coef0 : float
        Of ``"poly"``.
    """

    kind: str | Callable[[Any, Any], Array]
    samples: Any
    gamma: float
    degree: float
    coef0: float

    def __call__(self, X: Any) -> Array:
        """K of shape (len(X), n)."""
        if self.kind == "precomputed":
            return X
        if callable(self.kind):
            return self._checked(self.kind(X, self.samples), X.shape[0])
        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        K = pairwise_kernels(X, self.samples, metric=self.kind, filter_params=True, **options)
        return K.toarray() if hasattr(K, "toarray") else K

    def _checked(self, K: Any, n: int) -> Array:
        K = np.asarray(K, dtype=float)
        shape = (n, self.samples.shape[0])
        if K.shape != shape:
            raise ValueError(f"kernel={self.kind!r} returned shape {K.shape}: {shape} is needed")
        return K


def width(gamma: str | float, X: Any, weights: Array | None) -> float:
    """γ: 1/(d·variance of X) for ``"scale"``, 1/d for ``"auto"``, or the number itself."""
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return 1 / d
    share = np.full(X.shape[0], 1.0) if weights is None else weights
    share = share / (d * np.sum(share))
    mean = float(np.sum(X.T @ share))
    square = float(np.sum((X * X if isinstance(X, np.ndarray) else X.multiply(X)).T @ share))
    variance = square - mean**2
    return 1 / (d * variance) if variance > 0 else 1.0


def kernel_rows(build: Callable[[Array], Scores], K: Array) -> tuple[Scores, KernelRows]:
    """Rows of f = Σ_j a_j k(·, x_j) + b, and what leads from their θ to a.

    Parameters
    ----------
    build : callable
        From samples X to rows of linear scores.
    K : array of shape (n, n)

    Returns
    -------
    rows : Scores
        In coordinates in which aᵀKa is ‖w‖².
    span : KernelRows
        With the methods ``dual_coef`` and ``coordinates``.
    """
    plain = build(K)
    if isinstance(plain, Margins):
        rows = KernelMargins(K, plain.signs, plain.fit_intercept, plain.offset)
        return rows, rows
    if isinstance(plain, Coded):
        coded = KernelCoded.of(K, plain)
        return coded, coded
    span = KernelMargins(K, np.ones((len(K), plain.n_scores)), plain.fit_intercept)
    return build(span.X), span
