"""Penalties on the coefficients w."""

from __future__ import annotations

from abc import ABC, abstractmethod

import cvxpy as cp
import numpy as np
from sklearn.base import BaseEstimator

from dcprog.tree import Array

__all__ = ["Penalty", "l2"]


class Penalty(BaseEstimator, ABC):
    """A function of the penalised coefficients, given by value, gradient and expression."""

    @abstractmethod
    def __call__(self, w: Array) -> float:
        """Value."""

    @abstractmethod
    def slope(self, w: Array) -> Array:
        """A subgradient."""

    @abstractmethod
    def expression(self, w: cp.Expression) -> cp.Expression:
        """The penalty of a cvxpy expression."""


class l2(Penalty):
    """(λ/2)‖w‖².

    Parameters
    ----------
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    ValueError
        λ is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l2
    >>> l2(2.0)(np.array([1.0, 2.0]))
    5.0
    """

    def __init__(self, lam: float = 1.0) -> None:
        if not 0 <= lam < np.inf:
            raise ValueError(f"lam={lam!r}: a finite number of at least 0 is needed")
        self.lam = lam

    def __call__(self, w: Array) -> float:
        """(λ/2)‖w‖²."""
        return 0.5 * self.lam * float(w @ w)

    def slope(self, w: Array) -> Array:
        """λw."""
        return self.lam * w

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam / 2 * sum_squares(w)``."""
        return 0.5 * self.lam * cp.sum_squares(w)
