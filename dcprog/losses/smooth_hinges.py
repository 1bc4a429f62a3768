"""Smooth approximations of the hinge, by a sigmoid and by a Padé approximant."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.losses.loss import ConvexLoss
from dcprog.losses.margins import StartingLoss

__all__ = ["pade_hinge", "sigmoid_hinge"]

# From η = 40 on, solving with η/8 first saves more Newton steps than it costs (measured).
SOFTER = 8.0
SOFTEST = 5.0


class SmoothHinge(StartingLoss):
    """A hinge smoothed over a width of the order 1/η.

    Parameters
    ----------
    eta : float
    at : float, default 1.0
    """

    is_smooth = True

    def __init__(self, eta: float, at: float = 1.0) -> None:
        check_number("eta", eta, 0)
        check_number("at", at)
        self.eta = eta
        self.at = at

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The loss with η and `at` in the unit, and the unit as the factor."""
        scaled = {"eta": self.eta * unit, "at": self.at / unit}
        return type(self)(**self.get_params() | scaled), unit

    @property
    def softer(self) -> ConvexLoss | None:
        """The loss with η/8, or None if η/8 is less than 5."""
        eta = self.eta / SOFTER
        return type(self)(**self.get_params() | {"eta": eta}) if eta >= SOFTEST else None


class sigmoid_hinge(SmoothHinge):
    """The hinge smoothed by the integral of a sigmoid, log(1 + e^{η(at − u)})/η.

    It lies above the hinge by at most log(2)/η.

    Parameters
    ----------
    eta : float
        η > 0, the sharpness.
    at : float, default 1.0
        The margin at which the hinge starts.

    Raises
    ------
    TypeError, ValueError
        η is not a positive number, or `at` is not finite.

    References
    ----------
    Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput. Optim. Appl. 20.

    Examples
    --------
    >>> from dcprog.losses import sigmoid_hinge
    >>> sigmoid_hinge(2.0).slope(1.0).item()
    -0.5
    """

    def __call__(self, u: npt.ArrayLike) -> Array:
        """log(1 + e^{η(at − u)})/η."""
        # with the hinge as a separate term, an overflow of η·t is harmless
        t = self._t(u)
        return np.maximum(t, 0.0) + np.log1p(np.exp(-np.abs(self._x(t)))) / self.eta

    def slope(self, u: npt.ArrayLike) -> Array:
        """−1/(1 + e^{−η(at − u)})."""
        return -special.expit(self._x(self._t(u)))

    def curvature(self, u: npt.ArrayLike) -> Array:
        """η s(1 − s), s = 1/(1 + e^{−η(at − u)})."""
        x = self._x(self._t(u))
        return self.eta * special.expit(x) * special.expit(-x)

    def _x(self, t: Array) -> Array:
        with np.errstate(over="ignore"):
            return self.eta * t

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``logistic(eta * (at - u)) / eta``."""
        return cp.logistic(self.eta * (self.at - u)) / self.eta


class pade_hinge(SmoothHinge):
    """The hinge smoothed by a Padé approximant, P(at − u).

    P(t) = t/2 + (1 + 10z + 5z²)/(2η(5 + 10z + z²)) with z = η²t² for |t| ≤ 1/η, and t₊ beyond. It
    lies above the hinge by (1 − η|t|)⁵/(2η(5 + 10z + z²)), at most 0.1/η, and is four times
    continuously differentiable.

    Parameters
    ----------
    eta : float
        η > 0, the sharpness.
    at : float, default 1.0
        The margin at which the hinge starts.

    Raises
    ------
    TypeError, ValueError
        η is not a positive number, or `at` is not finite.

    Notes
    -----
    The publication prints 11 in place of the 10 in the denominator, with which P would jump at
    ±1/η. With x = ηt and D = 5 + 10x² + x⁴ the two terms add up to P = (1 + x)⁵/(2ηD), whence
    P' = (1 + x)⁴(25 − 20x + 30x² − 4x³ + x⁴)/(2D²) and P'' = 40η(1 − x²)³(5 + 3x²)/D³. In these
    forms no digits cancel; all three are evaluated only in the band |t| < 1/η.

    References
    ----------
    Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty term, iJOE 9.

    Examples
    --------
    >>> from dcprog.losses import pade_hinge
    >>> pade_hinge(2.0)([0.0, 1.0, 2.0])
    array([1.  , 0.05, 0.  ])
    """

    has_expression = False

    def __call__(self, u: npt.ArrayLike) -> Array:
        """P(at − u)."""
        t, band, x = self._banded(u)
        values = np.asarray(np.maximum(t, 0.0))
        values[band] = (1 + x) ** 5 / (2 * self.eta) / _denominator(x)
        return values[()]

    def slope(self, u: npt.ArrayLike) -> Array:
        """−P'(at − u)."""
        t, band, x = self._banded(u)
        slopes = np.where(t > 0, -1.0, 0.0)
        a = np.abs(x)  # by P'(−t) = 1 − P'(t) the smaller part is computed, so P' stays in [0, 1]
        top = 25 + a * (20 + a * (30 + a * (4 + a)))
        small = 0.5 * top * ((1 - a) ** 2 / _denominator(a)) ** 2
        slopes[band] = np.where(x > 0, small - 1, -small)
        return slopes[()]

    def curvature(self, u: npt.ArrayLike) -> Array:
        """P''(at − u), 0 beyond |at − u| = 1/η."""
        t, band, x = self._banded(u)
        curvatures = np.zeros(t.shape)
        z = x * x
        curvatures[band] = self.eta * (40 * (5 + 3 * z) * ((1 - z) / _denominator(x)) ** 3)
        return curvatures[()]

    def _banded(self, u: npt.ArrayLike) -> tuple[Array, npt.NDArray[np.bool_], Array]:
        """The values t = at − u, the mask of the band |t| < 1/η, and ηt in the band."""
        t = self._t(u)
        band = np.abs(t) < 1 / self.eta
        return t, band, self.eta * t[band]

    def expression(self, u: cp.Expression) -> cp.Expression:
        """Raise ValueError: the Padé approximant has no cvxpy expression."""
        raise ValueError(
            f"{self!r} has no cvxpy expression: the Padé approximant is convex, but no atom says "
            "so. Newton's method takes it; or use sigmoid_hinge, which has one"
        )


def _denominator(x: Array) -> Array:
    """5 + 10x² + x⁴."""
    z = x * x
    return 5 + z * (10 + z)
