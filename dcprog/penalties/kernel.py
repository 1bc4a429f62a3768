"""The squared norm of a kernel machine as a function of its expansion coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp

from dcprog.foundation.arrays import Array
from dcprog.foundation.kernel_matrix import Gram
from dcprog.foundation.parameters import check_number
from dcprog.penalties.penalty import Penalty


class kernel_norm(Penalty):
    """(λ/2)·aᵀKa, the squared norm of Σ_j a_j k(·, x_j).

    Parameters
    ----------
    K : array of shape (n, n) or Gram
        A symmetric positive semidefinite kernel matrix.
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        λ is not a finite number of at least 0; K is not a kernel matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import kernel_norm
    >>> kernel_norm(np.array([[2.0, 1.0], [1.0, 2.0]]), 0.5)(np.array([1.0, 1.0]))
    1.5
    """

    def __init__(self, K: Any, lam: float = 1.0) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.K = K
        self.gram = K if isinstance(K, Gram) else Gram(K)

    def __call__(self, w: Array) -> float:
        """(λ/2)·aᵀKa."""
        return 0.5 * self.lam * float(w @ self.gram.times(w))

    def along(self, w: Array, way: Array) -> Callable[[float], float]:
        """The penalty of w + t·way as a function of t, a parabola."""
        here, change = self.gram.times(w), self.gram.times(way)
        start, rise, bend = w @ here, way @ here, way @ change
        return lambda t: 0.5 * self.lam * float(start + 2 * t * rise + t**2 * bend)

    def slope(self, w: Array) -> Array:
        """λKa."""
        return self.lam * self.gram.times(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam / 2 * sum_squares(L.T @ w)`` with K = LLᵀ."""
        return 0.5 * self.lam * cp.sum_squares(self.gram.factor.T @ w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty with λ replaced by factor·unit²·λ."""
        return kernel_norm(self.gram, factor * unit**2 * self.lam)

    def __repr__(self) -> str:
        n = len(self.gram.K)
        return f"kernel_norm(K of {n} samples, lam={self.lam:g})"
