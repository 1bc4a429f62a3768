"""Convex losses of a margin u = y·f(x), which penalise small margins."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.losses.loss import ConvexLoss
from dcprog.losses.piecewise_quadratic import Pieces

__all__ = ["StartingLoss", "hinge", "logistic", "squared_hinge"]


class StartingLoss(ConvexLoss):
    """A loss of at − u, which starts where u falls below `at`."""

    at: float

    def _t(self, u: npt.ArrayLike) -> Array:
        return self.at - np.asarray(u, dtype=float)

    def starting_at(self, s: float) -> ConvexLoss:
        """The loss with `at` = s.

        Raises
        ------
        TypeError, ValueError
            s is not a number below `at`.
        """
        check_number("s", s)
        if not s < self.at:
            raise ValueError(f"s={s!r}: it must lie below at={self.at!r}, or nothing is left")
        return type(self)(**self.get_params() | {"at": s})


class hinge(StartingLoss):
    """The hinge (at − u)₊.

    Parameters
    ----------
    at : float, default 1.0
        The margin at which the loss starts.

    Raises
    ------
    TypeError, ValueError
        `at` is not a finite number.

    References
    ----------
    Cortes, Vapnik (1995), Support-vector networks, Machine Learning 20.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> hinge()([-1.0, 0.5, 2.0])
    array([2. , 0.5, 0. ])
    """

    def __init__(self, at: float = 1.0) -> None:
        check_number("at", at)
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)₊."""
        return np.maximum(self._t(u), 0.0)

    def slope(self, u: npt.ArrayLike) -> Array:
        """−1 below `at`, 0 from there on."""
        # strict: a subtracted hinge must have no tilt at its kink, or the loop may stay at w = 0
        return np.where(np.asarray(u, dtype=float) < self.at, -1.0, 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``pos(at - u)``."""
        return cp.pos(self.at - u)

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The hinge with `at` in the unit, and the unit as the factor."""
        return hinge(self.at / unit), unit

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The two lines of the hinge."""
        return Pieces((self.at,), (0.0, 0.0), (-1.0, 0.0), (self.at, 0.0))


class squared_hinge(StartingLoss):
    """The squared hinge (at − u)₊².

    Parameters
    ----------
    at : float, default 1.0
        The margin at which the loss starts.

    Raises
    ------
    TypeError, ValueError
        `at` is not a finite number.

    Examples
    --------
    >>> from dcprog.losses import squared_hinge
    >>> squared_hinge()([-1.0, 0.5, 2.0])
    array([4.  , 0.25, 0.  ])
    """

    is_smooth = True

    def __init__(self, at: float = 1.0) -> None:
        check_number("at", at)
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)₊²."""
        return np.maximum(self._t(u), 0.0) ** 2

    def slope(self, u: npt.ArrayLike) -> Array:
        """−2 (at − u)₊."""
        return -2.0 * np.maximum(self._t(u), 0.0)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """2 below `at`, 0 from there on."""
        return np.where(self._t(u) > 0, 2.0, 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(pos(at - u))``."""
        return cp.square(cp.pos(self.at - u))

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The squared hinge with `at` in the unit, and the unit squared as the factor."""
        return squared_hinge(self.at / unit), unit**2

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The parabola and the zero function of the squared hinge."""
        return Pieces((self.at,), (1.0, 0.0), (-2.0 * self.at, 0.0), (self.at**2, 0.0))


class logistic(ConvexLoss):
    """The logistic loss log(1 + e^{−u}).

    References
    ----------
    Berkson (1944), Application of the logistic function to bio-assay, JASA 39.

    Examples
    --------
    >>> from dcprog.losses import logistic
    >>> logistic().slope(0.0).item()
    -0.5
    """

    is_smooth = True

    def __call__(self, u: npt.ArrayLike) -> Array:
        """log(1 + e^{−u})."""
        return np.logaddexp(0.0, -np.asarray(u, dtype=float))

    def slope(self, u: npt.ArrayLike) -> Array:
        """−1/(1 + e^u)."""
        return -special.expit(-np.asarray(u, dtype=float))

    def curvature(self, u: npt.ArrayLike) -> Array:
        """e^u/(1 + e^u)²."""
        u = np.asarray(u, dtype=float)
        return special.expit(u) * special.expit(-u)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``logistic(-u)``."""
        return cp.logistic(-u)
