"""The hinge, smoothed in two ways."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.declared import check_number
from dcprog.losses.margins import StartingLoss
from dcprog.tree import Array

__all__ = ["pade_hinge", "sigmoid_hinge"]


class sigmoid_hinge(StartingLoss):
    """The hinge smoothed by the integral of a sigmoid, log(1 + e^{η(at − u)})/η.

    It lies above the hinge by at most log(2)/η.

    Parameters
    ----------
    eta : float
        η > 0, the sharpness.
    at : float, default 1.0
        Where the hinge starts.

    Raises
    ------
    TypeError, ValueError
        η is no positive number, `at` no finite one.

    References
    ----------
    Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput. Optim. Appl. 20.

    Examples
    --------
    >>> from dcprog.losses import sigmoid_hinge
    >>> sigmoid_hinge(2.0).slope(1.0).item()
    -0.5
    """

    is_smooth = True

    def __init__(self, eta: float, at: float = 1.0) -> None:
        check_number("eta", eta, 0)
        check_number("at", at)
        self.eta = eta
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """log(1 + e^{η(at − u)})/η."""
        return np.logaddexp(0.0, self.eta * self._t(u)) / self.eta

    def slope(self, u: npt.ArrayLike) -> Array:
        """−1/(1 + e^{−η(at − u)})."""
        return -special.expit(self.eta * self._t(u))

    def curvature(self, u: npt.ArrayLike) -> Array:
        """η s(1 − s), s = 1/(1 + e^{−η(at − u)})."""
        x = self.eta * self._t(u)
        return self.eta * special.expit(x) * special.expit(-x)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``logistic(eta * (at - u)) / eta``."""
        return cp.logistic(self.eta * (self.at - u)) / self.eta


class pade_hinge(StartingLoss):
    """The hinge smoothed by a Padé approximant, P(at − u).

    P(t) = t/2 + (1 + 10z + 5z²)/(2η(5 + 10z + z²)) with z = η²t² for |t| ≤ 1/η, and t₊ beyond. It
    lies above the hinge by (1 − η|t|)⁵/(2η(5 + 10z + z²)), at most 0.1/η, and is four times
    continuously differentiable.

    Parameters
    ----------
    eta : float
        η > 0, the sharpness.
    at : float, default 1.0
        Where the hinge starts.

    Raises
    ------
    TypeError, ValueError
        η is no positive number, `at` no finite one.

    Notes
    -----
    The publication prints 11 for the first 10 of the denominator; then P jumps at ±1/η.

    References
    ----------
    Shen, Peng (2013), Padé smooth support vector machine with 1-norm loss.

    Examples
    --------
    >>> from dcprog.losses import pade_hinge
    >>> pade_hinge(2.0)([0.0, 1.0, 2.0])
    array([1.  , 0.05, 0.  ])
    """

    is_smooth = True
    has_expression = False

    def __init__(self, eta: float, at: float = 1.0) -> None:
        check_number("eta", eta, 0)
        check_number("at", at)
        self.eta = eta
        self.at = at

    def _x(self, u: npt.ArrayLike) -> Array:
        return np.clip(self.eta * self._t(u), -1.0, 1.0)

    def __call__(self, u: npt.ArrayLike) -> Array:
        """P(at − u)."""
        x = self._x(u)
        z = x**2
        ratio = (1 + 10 * z + 5 * z**2) / (5 + 10 * z + z**2)
        return (x + ratio) / (2 * self.eta) + np.maximum(self._t(u) - 1 / self.eta, 0.0)

    def slope(self, u: npt.ArrayLike) -> Array:
        """−P'(at − u)."""
        x = self._x(u)
        return -0.5 - x * _ratio_slopes(x**2)[0]

    def curvature(self, u: npt.ArrayLike) -> Array:
        """P''(at − u), 0 beyond |at − u| = 1/η."""
        z = self._x(u) ** 2
        first, second = _ratio_slopes(z)
        return np.where(z < 1, self.eta * (first + 2 * z * second), 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """Not available."""
        raise ValueError(
            f"{self!r} has no cvxpy expression: the Padé approximant is convex, but no atom says "
            "so. Newton's method takes it; or use sigmoid_hinge, which has one"
        )


def _ratio_slopes(z: Array) -> tuple[Array, Array]:
    """First and second derivative of (1 + 10z + 5z²)/(5 + 10z + z²)."""
    n, d = 1 + 10 * z + 5 * z**2, 5 + 10 * z + z**2
    dn, dd = 10 + 10 * z, 10 + 2 * z
    top = dn * d - n * dd
    return top / d**2, (10 * d - 2 * n) / d**2 - 2 * dd * top / d**3
