"""Scalar losses: functions of one number, the margin u = y·f(x) or the residual u = y − f(x)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dcprog.tree import Array

__all__ = ["ConvexLoss", "hinge", "squared_hinge"]


class ConvexLoss(BaseEstimator, ABC):
    """A convex function of one number, given by its value, its slope and its cvxpy expression.

    At a kink the slope is the one of smallest size: a sample that just meets its margin asks for
    nothing.
    """

    bound = np.inf

    @abstractmethod
    def __call__(self, u: npt.ArrayLike) -> Array:
        """Values, entry by entry."""

    @abstractmethod
    def slope(self, u: npt.ArrayLike) -> Array:
        """A subgradient, entry by entry."""

    @abstractmethod
    def expression(self, u: cp.Expression) -> cp.Expression:
        """The loss of a cvxpy expression, entry by entry."""

    @property
    def base(self) -> ConvexLoss:
        """The convex loss itself."""
        return self

    def surrogate(self, u: npt.ArrayLike) -> tuple[Array, Array]:
        """Weight 1 and tilt 0: a convex loss is its own majorant."""
        u = np.asarray(u, dtype=float)
        return np.ones_like(u), np.zeros_like(u)


class hinge(ConvexLoss):
    """The hinge (at − u)₊.

    Parameters
    ----------
    at : float, default 1.0
        Where the loss starts.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> hinge()([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """

    def __init__(self, at: float = 1.0) -> None:
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)₊."""
        return np.maximum(self.at - np.asarray(u, dtype=float), 0.0)

    def slope(self, u: npt.ArrayLike) -> Array:
        """−1 below `at`, 0 from there on."""
        return np.where(np.asarray(u, dtype=float) < self.at, -1.0, 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``pos(at - u)``."""
        return cp.pos(self.at - u)


class squared_hinge(ConvexLoss):
    """The squared hinge (at − u)₊².

    Parameters
    ----------
    at : float, default 1.0
        Where the loss starts.

    Examples
    --------
    >>> from dcprog.losses import squared_hinge
    >>> squared_hinge()([-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    def __init__(self, at: float = 1.0) -> None:
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)₊²."""
        return np.maximum(self.at - np.asarray(u, dtype=float), 0.0) ** 2

    def slope(self, u: npt.ArrayLike) -> Array:
        """−2 (at − u)₊."""
        return -2.0 * np.maximum(self.at - np.asarray(u, dtype=float), 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(pos(at - u))``."""
        return cp.square(cp.pos(self.at - u))
