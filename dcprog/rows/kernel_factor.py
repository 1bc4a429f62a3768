"""A kernel matrix as the samples of a linear machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import checked_kernel, pivoted_cholesky


class KernelFactor:
    r"""K = LLᵀ: a kernel machine f = Σ_j a_j k(·, x_j) + b is linear in w = Lᵀa.

    Its values at the samples are Lw + b, and the aᵀKa that it penalises is ‖w‖²: rows made of the
    samples L have the penalty ``l2``.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and positive semidefinite.

    Attributes
    ----------
    K : array of shape (n, n)
    L : array of shape (n, r)
        A pivoted Cholesky factor, r the rank of K.

    Raises
    ------
    ValueError
        K is not square, finite, symmetric and positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.kernel_factor import KernelFactor
    >>> factor = KernelFactor([[4.0, 2.0], [2.0, 1.0]])
    >>> factor.L.T
    array([[2., 1.]])
    >>> factor.dual_coef(factor.coordinates(np.array([[1.0, 2.0]])))
    array([[2., 0.]])
    """

    def __init__(self, K: npt.ArrayLike) -> None:
        self.K = checked_kernel(K)
        self.L, self._pivots = pivoted_cholesky(self.K)

    def dual_coef(self, coef: Array) -> Array:
        """The coefficients a (c, n) of coordinates w (c, r), nonzero for at most r samples."""
        a = np.zeros((len(coef), len(self.K)))
        if np.any(self.L):  # otherwise K = 0
            corner = self.L[self._pivots]
            a[:, self._pivots] = solve_triangular(corner, coef.T, lower=True, trans="T").T
        return a

    def coordinates(self, a: Array) -> Array:
        """The w = Lᵀa, of shape (c, r), of coefficients a, of shape (c, n)."""
        return a @ self.L
