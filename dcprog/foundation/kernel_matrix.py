"""A kernel matrix that remembers its last products."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import ROUNDING

KEPT = 3  # latest products with K
LANCZOS = 6  # steps that look for a negative eigenvalue, each a product with K
SINGLE = 1e-6  # kernels are often computed in single precision, or from rounded distances


class Gram:
    """A kernel matrix K with its last products Ka: the outer loop repeats the same few.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and positive semidefinite. Symmetry is checked at a random x, and the sign of
        xᵀKx for the x of six steps of Lanczos from there: some n² operations, where a
        factorisation would take n³. A single small negative eigenvalue may pass.

    Attributes
    ----------
    K : array of shape (n, n)
        Float64 in C order.

    Raises
    ------
    ValueError
        K is not square, finite, symmetric and positive semidefinite.
    """

    def __init__(self, K: npt.ArrayLike) -> None:
        self.K = checked_kernel(K)
        self._last: deque[tuple[Array, Array]] = deque(maxlen=KEPT)

    def times(self, a: Array) -> Array:
        """The product Ka, of shape (n,), a read-only array."""
        for i, (known, product) in enumerate(self._last):
            if np.array_equal(known, a):
                del self._last[i]  # a product that is used again stays longest
                self._last.append((known, product))
                return product
        product = symmetric_product(self.K, a)
        product.flags.writeable = False
        self._last.append((a.copy(), product))
        return product

    @cached_property
    def factor(self) -> Array:
        """The factor L of shape (n, r) with K = LLᵀ."""
        return pivoted_cholesky(self.K)[0]

    def __getstate__(self) -> dict[str, Any]:
        return {"K": self.K, "_last": deque(maxlen=KEPT)}

    def __repr__(self) -> str:
        return f"Gram({len(self.K)} samples)"


def symmetric_product(K: Array, a: Array) -> Array:
    """The product Ka of a symmetric K in C order; reads half of K, twice as fast as ``K @ a``."""
    product: Array = blas.dsymv(1.0, K.T, a) if np.any(a) else np.zeros(len(K))
    return product


def checked_kernel(values: npt.ArrayLike) -> Array:
    """K as a symmetric float64 array in C order; errors of single precision are accepted.

    Raises
    ------
    ValueError
        K is not square, finite and symmetric, or aᵀKa < 0 for an a that was tried.
    """
    K: Array = np.ascontiguousarray(values, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(K) == 0:
        raise ValueError(f"K has shape {K.shape}: a square kernel matrix is needed")
    probe = np.random.default_rng(0).standard_normal(len(K))
    right, left = K @ probe, symmetric_product(K, probe)  # from all of K, from one triangle
    if not np.all(np.isfinite(right)):
        raise ValueError("K holds NaN or infinity")
    size = float(np.max(np.abs(right), initial=0.0))
    apart = float(np.max(np.abs(right - left)))
    if apart > SINGLE * size:
        raise ValueError("K is not symmetric: k(x, y) = k(y, x) is needed")
    if apart > ROUNDING * size:
        K = (K + K.T) / 2
    allowed = SINGLE * len(K) ** 0.5 * float(np.max(np.abs(np.diag(K))))
    if min(float(np.min(np.diag(K))), _least_ritz_value(K, probe, left)) < -allowed:
        raise ValueError("K is not positive semidefinite: it is no kernel matrix")
    return K


def _least_ritz_value(K: Array, start: Array, product: Array) -> float:
    """The least Ritz value after some Lanczos steps, an upper bound of K's least eigenvalue."""
    size = float(np.linalg.norm(start))
    basis = np.zeros((min(LANCZOS, len(K)), len(K)))
    products = np.zeros_like(basis)
    basis[0], products[0] = start / size, product / size
    for j in range(len(basis) - 1):
        new = products[j]
        for _ in range(2):  # once leaves rounding errors along the other basis vectors
            new = new - basis[: j + 1].T @ (basis[: j + 1] @ new)
        size = float(np.linalg.norm(new))
        if size <= ROUNDING * float(np.linalg.norm(products[j])):
            basis, products = basis[: j + 1], products[: j + 1]
            break
        basis[j + 1] = new / size
        products[j + 1] = symmetric_product(K, basis[j + 1])
    form = basis @ products.T
    return float(np.linalg.eigvalsh((form + form.T) / 2)[0])


def pivoted_cholesky(K: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """The L of shape (n, r) with K = LLᵀ, and the r samples at which it is triangular.

    If K is positive semidefinite up to single precision, LLᵀ equals K up to single precision.

    Raises
    ------
    ValueError
        K is not positive semidefinite.
    """
    upper, order, rank, _ = lapack.dpstrf(K, lower=0)
    order = order.astype(np.intp) - 1
    rank = max(int(rank), 1)
    factor = np.zeros((len(K), rank))
    factor[order] = np.triu(upper)[:rank].T
    missed = float(np.max(np.abs(np.diag(K) - np.sum(factor**2, axis=1))))
    if missed > 10 * SINGLE * float(np.max(np.diag(K), initial=0.0)) or np.min(np.diag(K)) < 0:
        raise ValueError("K is not positive semidefinite: it is no kernel matrix")
    return factor, order[:rank]
