"""Rows of kernel machines in the coefficients of their expansion, without a factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import Gram
from dcprog.penalties.kernel import kernel_norm
from dcprog.rows.linear import Margins
from dcprog.rows.targets import binary_signs, checked_targets

__all__ = ["KernelExpansion", "expansion_margins", "expansion_residuals"]


class KernelExpansion(Margins):
    r"""Signed margins or residuals of f = Σ_j a_j k(·, x_j) + b with θ = (a, b).

    Its penalty is ``rows.norm(lam)``, the (λ/2)·aᵀKa. :func:`~dcprog.rows.kernel.kernel_margins`
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
    >>> from dcprog.rows.kernel_expansion import expansion_margins
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
