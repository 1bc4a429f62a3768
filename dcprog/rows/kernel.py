"""Rows of kernel machines, in coordinates in which their penalty is plain ``l2``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import checked_kernel, pivoted_cholesky
from dcprog.rows.angle import Coded, angle_differences, angle_margins
from dcprog.rows.linear import Margins, Scores, binary_signs, checked_targets

__all__ = [
    "KernelCoded",
    "KernelMargins",
    "KernelRows",
    "kernel_angle_differences",
    "kernel_angle_margins",
    "kernel_margins",
    "kernel_residuals",
]


class KernelRows(Scores):
    """Rows whose samples X are the factor L of a kernel matrix K = LLᵀ; a mixin for row builders.

    Attributes
    ----------
    kernel : array of shape (n, n)
        K.
    """

    kernel: Array
    _pivots: npt.NDArray[np.intp]

    def _factored(self, K: Array) -> Array:
        """L, of shape (n, r)."""
        self.kernel = checked_kernel(K)
        factor, self._pivots = pivoted_cholesky(self.kernel)
        return factor

    def dual_coef(self, theta: Array) -> Array:
        """The a of θ, zero but for at most r samples, so that f_q = Σ_j a_qj k(·, x_j) + b_q.

        Parameters
        ----------
        theta : array of shape (p,)

        Returns
        -------
        array of shape (c, n)
        """
        coef, _ = self.unpack(theta)
        a = np.zeros((len(coef), len(self.kernel)))
        if not np.any(self.X):  # K = 0
            return a
        a[:, self._pivots] = solve_triangular(self.X[self._pivots], coef.T, lower=True, trans="T").T
        return a

    def coordinates(self, a: Array) -> Array:
        """The w = Lᵀa of coefficients a, of shape (c, n)."""
        return a @ self.X


class KernelMargins(KernelRows, Margins):
    r"""Signed margins or residuals of f = Σ_j a_j k(·, x_j) + b.

    A kernel machine penalises aᵀKa. With a pivoted Cholesky factor K = LLᵀ of rank r and
    w = Lᵀa the values of f at the samples are Lw + b and aᵀKa = ‖w‖²: θ = (w, b), its rows are
    those of L, and the penalty is ``l2``.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and positive semidefinite.
    signs : array of shape (n, 1)
    fit_intercept : bool
    offset : array of shape (n, 1), optional

    Attributes
    ----------
    kernel : array of shape (n, n)
        K.

    Raises
    ------
    ValueError
        K is not square, finite, symmetric and positive semidefinite.
    """

    def __init__(
        self, K: Array, signs: Array, fit_intercept: bool = True, offset: Array | None = None
    ) -> None:
        super().__init__(self._factored(K), signs, fit_intercept, offset)


class KernelCoded(KernelRows, Coded):
    r"""Coded rows of a separable kernel: each of the c scores is f_q = Σ_j a_qj k(·, x_j) + b_q.

    The penalty Σ_q a_qᵀKa_q is ‖w‖² in the coordinates w_q = Lᵀa_q of a factor K = LLᵀ, so that
    ``l2`` is the penalty of the kernel machine; see :class:`KernelMargins`.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric and positive semidefinite.
    y, codes, fit_intercept
        As for :class:`~dcprog.rows.angle.Coded`.

    Attributes
    ----------
    kernel : array of shape (n, n)
        K.

    Raises
    ------
    ValueError
        K is not square, finite, symmetric and positive semidefinite.
    """

    def __init__(self, K: Array, y: Any, codes: Array, fit_intercept: bool = True) -> None:
        super().__init__(self._factored(K), y, codes, fit_intercept)

    @classmethod
    def of(cls, K: Array, plain: Coded) -> KernelCoded:
        """The kernel's rows in the code of rows that took K for samples."""
        rows = cls(K, plain.y, plain.codes, plain.fit_intercept)
        rows.own = plain.own
        return rows


def kernel_margins(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> KernelMargins:
    """Margins y_i f(x_i) of a kernel machine with two classes; ``l2(lam)`` is (λ/2)·aᵀKa.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    y, fit_intercept, classes
        As for :func:`~dcprog.rows.linear.binary_margins`.

    Returns
    -------
    KernelMargins

    Raises
    ------
    ValueError
        K is no kernel matrix, or there are not two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.kernel import kernel_margins
    >>> rows = kernel_margins([[4.0, 2.0], [2.0, 1.0]], [0, 1])
    >>> rows.shape, rows.dual_coef(np.array([2.0, 0.0]))
    ((2, 2), array([[1., 0.]]))
    """
    return KernelMargins(np.asarray(K, dtype=float), binary_signs(y, classes), fit_intercept)


def kernel_angle_margins(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> KernelCoded:
    """Margins of all k classes of a kernel machine with k − 1 scores.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    y, fit_intercept, classes
        As for :func:`~dcprog.rows.angle.angle_margins`.

    Returns
    -------
    KernelCoded
        The penalty ``l2(lam)`` is (λ/2) Σ_q a_qᵀKa_q.

    Raises
    ------
    ValueError
        K is no kernel matrix, or there are fewer than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.kernel import kernel_angle_margins
    >>> rows = kernel_angle_margins(np.eye(3), [0, 1, 2], fit_intercept=False)
    >>> rows.shape
    (9, 6)
    """
    K = np.asarray(K, dtype=float)
    return KernelCoded.of(K, angle_margins(K, y, fit_intercept, classes))


def kernel_angle_differences(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> KernelCoded:
    """Differences of a kernel machine's score to those of the k − 1 other classes.

    Parameters
    ----------
    K, y, fit_intercept, classes
        As for :func:`kernel_angle_margins`.

    Returns
    -------
    KernelCoded

    Raises
    ------
    ValueError
        K is no kernel matrix, or there are fewer than two classes.
    """
    K = np.asarray(K, dtype=float)
    return KernelCoded.of(K, angle_differences(K, y, fit_intercept, classes))


def kernel_residuals(
    K: npt.ArrayLike, y: npt.ArrayLike, fit_intercept: bool = True
) -> KernelMargins:
    """Residuals y_i − f(x_i) of a kernel machine.

    Parameters
    ----------
    K : array of shape (n, n)
    y, fit_intercept
        As for :func:`~dcprog.rows.linear.residual_rows`.

    Returns
    -------
    KernelMargins

    Raises
    ------
    ValueError
        K is no kernel matrix, or the targets do not fit.
    """
    K = np.atleast_1d(np.asarray(K, dtype=float))
    targets = checked_targets(y, len(K))
    return KernelMargins(K, -np.ones(targets.shape), fit_intercept, targets)
