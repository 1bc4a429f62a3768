"""Rows of kernel machines, by a factor of K or in the coefficients of their expansion.

In the coordinates of a factor the penalty is a plain ``l2``, which all solvers take; the expansion
needs no factorisation and has a penalty of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import Gram
from dcprog.penalties.kernel import kernel_norm
from dcprog.rows.angle import Coded, angle_differences, angle_margins
from dcprog.rows.kernel_factor import KernelFactor
from dcprog.rows.linear import Margins, binary_margins, binary_signs, checked_targets, residual_rows
from dcprog.rows.scores import Scores

Rows = TypeVar("Rows", bound=Scores)


def on_kernel(K: npt.ArrayLike, build: Callable[[Array], Rows]) -> Rows:
    """Rows of a kernel machine, made as those of a linear one whose samples are a factor of K.

    Each score is f = Σ_j a_j k(·, x_j) + b; :meth:`~dcprog.rows.scores.Scores.dual_coef` converts
    θ to a, and the penalty ``l2(lam)`` is (λ/2) Σ aᵀKa.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    build : callable
        A function from n samples to their rows.

    Returns
    -------
    Scores
        The rows that `build` returns, with the attribute ``factor``.

    Raises
    ------
    ValueError
        K is not square, finite, symmetric and positive semidefinite; or from `build`.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.kernel import on_kernel
    >>> from dcprog.rows.linear import class_margins
    >>> on_kernel(np.eye(3), lambda L: class_margins(L, [0, 1, 2])).n_scores
    3
    """
    factor = KernelFactor(K)
    rows = build(factor.L)
    rows.factor = factor
    return rows


def kernel_margins(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> Margins:
    """Margins y_i f(x_i) of a kernel machine with two classes; ``l2(lam)`` is (λ/2)·aᵀKa.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    y, fit_intercept, classes
        As for :func:`~dcprog.rows.linear.binary_margins`.

    Returns
    -------
    Margins

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
    return on_kernel(K, lambda L: binary_margins(L, y, fit_intercept, classes))


def kernel_angle_margins(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> Coded:
    """Margins of all k classes of a kernel machine with k − 1 scores.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    y, fit_intercept, classes
        As for :func:`~dcprog.rows.angle.angle_margins`.

    Returns
    -------
    Coded
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
    return on_kernel(K, lambda L: angle_margins(L, y, fit_intercept, classes))


def kernel_angle_differences(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> Coded:
    """Differences of a kernel machine's score to those of the k − 1 other classes.

    Parameters
    ----------
    K, y, fit_intercept, classes
        As for :func:`kernel_angle_margins`.

    Returns
    -------
    Coded

    Raises
    ------
    ValueError
        K is no kernel matrix, or there are fewer than two classes.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> dc.kernel_angle_differences(np.eye(3), [0, 1, 2], fit_intercept=False).shape
    (6, 6)
    """
    return on_kernel(K, lambda L: angle_differences(L, y, fit_intercept, classes))


def kernel_residuals(K: npt.ArrayLike, y: npt.ArrayLike, fit_intercept: bool = True) -> Margins:
    """Residuals y_i − f(x_i) of a kernel machine.

    Parameters
    ----------
    K : array of shape (n, n)
    y, fit_intercept
        As for :func:`~dcprog.rows.linear.residual_rows`.

    Returns
    -------
    Margins

    Raises
    ------
    ValueError
        K is no kernel matrix, or the targets do not fit.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> dc.kernel_residuals(np.eye(2), [1.0, -1.0]).shape
    (2, 3)
    """
    return on_kernel(K, lambda L: residual_rows(L, y, fit_intercept))


class KernelExpansion(Margins):
    r"""Signed margins or residuals of f = Σ_j a_j k(·, x_j) + b with θ = (a, b).

    Its penalty is ``rows.norm(lam)``, the (λ/2)·aᵀKa. :func:`kernel_margins`
    writes f in coordinates in which the penalty is a plain ``l2``, which more solvers accept; these
    coordinates cost n³/3 operations, as much as all the rest at some thousand samples.

    Parameters
    ----------
    K : array of shape (n, n) or Gram
        Symmetric and positive semidefinite.
    signs : array of shape (n, 1)
    fit_intercept : bool, default True
    offset : array of shape (n, 1), optional

    Attributes
    ----------
    gram : Gram

    Raises
    ------
    ValueError
        K is no kernel matrix.
    """

    gram: Gram

    def __init__(
        self, K: Any, signs: Array, fit_intercept: bool = True, offset: Array | None = None
    ) -> None:
        self.gram = K if isinstance(K, Gram) else Gram(K)
        super().__init__(self.gram.K, signs, fit_intercept, offset)
        if self.n_scores != 1:
            raise ValueError(f"signs has {self.n_scores} columns: a kernel expansion has one score")

    def norm(self, lam: float = 1.0) -> kernel_norm:
        """The penalty (λ/2)·aᵀKa."""
        return kernel_norm(self.gram, lam)

    def _matvec(self, theta: Array) -> Array:
        coef, intercept = self.unpack(np.ravel(theta))
        return self.mix((self.gram.times(coef[0]) + intercept)[:, None]).ravel()


def expansion_margins(
    K: npt.ArrayLike,
    y: npt.ArrayLike,
    fit_intercept: bool = True,
    classes: npt.ArrayLike | None = None,
) -> KernelExpansion:
    """Margins y_i (Σ_j a_j k(x_i, x_j) + b) of two classes.

    Parameters
    ----------
    K : array of shape (n, n)
        k(x_i, x_j).
    y, fit_intercept, classes
        As for :func:`~dcprog.rows.linear.binary_margins`.

    Returns
    -------
    KernelExpansion

    Raises
    ------
    ValueError
        K is no kernel matrix, or there are not two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import hinge
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.rows.kernel import expansion_margins
    >>> rows = expansion_margins([[2.0, 0.0], [0.0, 2.0]], [0, 1])
    >>> risk = Risk.from_loss(rows, hinge(), rows.norm(1.0))
    >>> risk(np.array([-0.5, 0.5, 0.0]))
    0.5
    """
    return KernelExpansion(K, binary_signs(y, classes), fit_intercept)


def expansion_residuals(
    K: npt.ArrayLike, y: npt.ArrayLike, fit_intercept: bool = True
) -> KernelExpansion:
    """Residuals y_i − (Σ_j a_j k(x_i, x_j) + b).

    Parameters
    ----------
    K : array of shape (n, n)
    y, fit_intercept
        As for :func:`~dcprog.rows.linear.residual_rows`.

    Returns
    -------
    KernelExpansion

    Raises
    ------
    ValueError
        K is no kernel matrix, or the targets do not fit.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> rows = dc.expansion_residuals([[2.0, 0.0], [0.0, 2.0]], [1.0, -1.0])
    >>> risk = dc.Risk.from_loss(rows, dc.square(), rows.norm(1.0))
    >>> risk(np.array([0.25, -0.25, 0.0]))
    0.625
    """
    gram = Gram(K)
    targets = checked_targets(y, len(gram.K))
    return KernelExpansion(gram, -np.ones(targets.shape), fit_intercept, targets)
