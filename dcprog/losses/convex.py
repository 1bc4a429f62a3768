"""The convex losses of a margin u = y·f(x) and of a residual u = y − f(x)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.foundation.regularity import SMOOTH
from dcprog.losses.loss import ConvexLoss
from dcprog.losses.piecewise_quadratic import Pieces

__all__ = [
    "StartingLoss",
    "absolute",
    "epsilon_insensitive",
    "hinge",
    "huber",
    "logistic",
    "pade_hinge",
    "pinball",
    "sigmoid_hinge",
    "square",
    "squared_hinge",
]


class StartingLoss(ConvexLoss):
    """A loss of at − u, which starts where u falls below `at`."""

    def __init__(self, at: float = 1.0) -> None:
        self.at = check_number("at", at)

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
    regularity = SMOOTH

    def __call__(self, u: npt.ArrayLike) -> Array:
        """log(1 + e^{−u})."""
        u = np.asarray(u, dtype=float)
        return np.log1p(np.exp(-np.abs(u))) + np.maximum(-u, 0.0)  # np.logaddexp is slower

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


# ----------------------------------------------------------------------------------------------
# smooth hinges


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
    regularity = SMOOTH

    def __init__(self, eta: float, at: float = 1.0) -> None:
        self.eta = check_number("eta", eta, 0)
        super().__init__(at)

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
    continuously differentiable. It is convex, but no atom of cvxpy says so: it has no expression,
    as :class:`sigmoid_hinge` has, and Newton's method minimises it.

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


def _denominator(x: Array) -> Array:
    """5 + 10x² + x⁴."""
    z = x * x
    return 5 + z * (10 + z)


# ----------------------------------------------------------------------------------------------
# losses of residuals


class _CentredLoss(ConvexLoss):
    """A loss of u − at, which is 0 at u = at."""

    def __init__(self, at: float = 0.0) -> None:
        self.at = check_number("at", at)

    def _r(self, u: npt.ArrayLike) -> Array:
        return np.asarray(u, dtype=float) - self.at


class absolute(_CentredLoss):
    """The absolute loss |at − u|.

    Parameters
    ----------
    at : float, default 0.0
        The point at which the loss is 0; choose 1 for a margin.

    Raises
    ------
    TypeError, ValueError
        `at` is not a finite number.

    Examples
    --------
    >>> from dcprog.losses import absolute
    >>> absolute(at=1.0)([-1.0, 1.0, 1.5])
    array([2. , 0. , 0.5])
    """

    def __call__(self, u: npt.ArrayLike) -> Array:
        """|at − u|."""
        return np.abs(self._r(u))

    def slope(self, u: npt.ArrayLike) -> Array:
        """The sign of u − at, 0 at the kink."""
        return np.sign(self._r(u))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``abs(u - at)``."""
        return cp.abs(u - self.at)

    def starting_at(self, s: float) -> ConvexLoss:
        """The ε-insensitive loss with ε = s > 0."""
        check_number("s", s, 0)
        return epsilon_insensitive(s, self.at)

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The absolute loss with `at` in the unit, and the unit as the factor."""
        return absolute(self.at / unit), unit

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The two lines of the absolute loss."""
        return Pieces((self.at,), (0.0, 0.0), (-1.0, 1.0), (self.at, -self.at))


class square(_CentredLoss):
    """The square (at − u)².

    Parameters
    ----------
    at : float, default 0.0
        The point at which the loss is 0; choose 1 for a margin.

    Raises
    ------
    TypeError, ValueError
        `at` is not a finite number.

    Examples
    --------
    >>> from dcprog.losses import square
    >>> square()([-1.0, 2.0])
    array([1., 4.])
    """

    is_smooth = True

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)²."""
        return self._r(u) ** 2

    def slope(self, u: npt.ArrayLike) -> Array:
        """2(u − at)."""
        return 2.0 * self._r(u)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """The constant 2."""
        return np.full(np.shape(u), 2.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(u - at)``."""
        return cp.square(u - self.at)

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The square with `at` in the unit, and the unit squared as the factor."""
        return square(self.at / unit), unit**2

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The single parabola."""
        return Pieces((), (1.0,), (-2.0 * self.at,), (self.at**2,))


class huber(ConvexLoss):
    """Huber's loss: ½u² up to |u| = δ, then δ|u| − ½δ².

    Parameters
    ----------
    delta : float
        δ > 0.

    Raises
    ------
    TypeError, ValueError
        δ is not a positive number.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter, Ann. Math. Statist. 35.

    Examples
    --------
    >>> from dcprog.losses import huber
    >>> huber(1.0)([-0.5, 2.0])
    array([0.125, 1.5  ])
    """

    is_smooth = True

    def __init__(self, delta: float) -> None:
        self.delta = check_number("delta", delta, 0)

    def __call__(self, u: npt.ArrayLike) -> Array:
        """a(|u| − ½a) with a = min(|u|, δ)."""
        size = np.abs(np.asarray(u, dtype=float))
        a = np.minimum(size, self.delta)
        return a * (size - a / 2)

    def slope(self, u: npt.ArrayLike) -> Array:
        """The slope u, clipped to [−δ, δ]."""
        return np.clip(np.asarray(u, dtype=float), -self.delta, self.delta)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """1 for |u| < δ, otherwise 0."""
        return np.where(np.abs(np.asarray(u, dtype=float)) < self.delta, 1.0, 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``huber(u, delta) / 2``; cvxpy's atom is twice as large."""
        return cp.huber(u, self.delta) / 2

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """Huber's loss with δ in the unit, and the unit squared as the factor."""
        return huber(self.delta / unit), unit**2

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The pieces: a line, a parabola, a line."""
        d, low = self.delta, -(self.delta**2) / 2
        return Pieces((-d, d), (0.0, 0.5, 0.0), (-d, 0.0, d), (low, 0.0, low))


class pinball(ConvexLoss):
    """The pinball loss max(τu, (τ − 1)u), whose minimiser is the τ-quantile.

    Parameters
    ----------
    tau : float
        0 < τ < 1.

    Raises
    ------
    TypeError, ValueError
        τ is not a number in (0, 1).

    References
    ----------
    Koenker, Bassett (1978), Regression quantiles, Econometrica 46.

    Examples
    --------
    >>> from dcprog.losses import pinball
    >>> pinball(0.75)([-2.0, 2.0])
    array([0.5, 1.5])
    """

    def __init__(self, tau: float) -> None:
        self.tau = check_number("tau", tau, 0, 1)

    def __call__(self, u: npt.ArrayLike) -> Array:
        """max(τu, (τ − 1)u)."""
        u = np.asarray(u, dtype=float)
        return np.maximum(self.tau * u, (self.tau - 1) * u)

    def slope(self, u: npt.ArrayLike) -> Array:
        """τ above 0, τ − 1 below, 0 at the kink."""
        u = np.asarray(u, dtype=float)
        return np.where(u > 0, self.tau, np.where(u < 0, self.tau - 1, 0.0))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``tau * pos(u) + (1 - tau) * neg(u)``, which cvxpy recognises as nonnegative."""
        return self.tau * cp.pos(u) + (1 - self.tau) * cp.neg(u)

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The loss itself, and the unit as the factor."""
        return self, unit

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The two lines of the pinball loss."""
        return Pieces((0.0,), (0.0, 0.0), (self.tau - 1, self.tau), (0.0, 0.0))


class epsilon_insensitive(_CentredLoss):
    """The ε-insensitive loss (|at − u| − ε)₊.

    Parameters
    ----------
    eps : float
        ε ≥ 0.
    at : float, default 0.0
        The centre of the tube.

    Raises
    ------
    TypeError, ValueError
        ε is not a number of at least 0, or `at` is not finite.

    References
    ----------
    Vapnik (1995), The Nature of Statistical Learning Theory.

    Examples
    --------
    >>> from dcprog.losses import epsilon_insensitive
    >>> epsilon_insensitive(0.5)([-1.0, 0.2, 2.0])
    array([0.5, 0. , 1.5])
    """

    def __init__(self, eps: float, at: float = 0.0) -> None:
        self.eps = check_number("eps", eps, 0, closed=True)
        super().__init__(at)

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(|at − u| − ε)₊."""
        return np.maximum(np.abs(self._r(u)) - self.eps, 0.0)

    def slope(self, u: npt.ArrayLike) -> Array:
        """The sign of u − at outside the tube, 0 up to its edge."""
        r = self._r(u)
        return np.where(np.abs(r) > self.eps, np.sign(r), 0.0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``pos(abs(u - at) - eps)``."""
        return cp.pos(cp.abs(u - self.at) - self.eps)

    def starting_at(self, s: float) -> ConvexLoss:
        """The ε-insensitive loss with a wider tube, ε = s."""
        check_number("s", s, self.eps)
        return epsilon_insensitive(s, self.at)

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The loss with ε and `at` in the unit, and the unit as the factor."""
        return epsilon_insensitive(self.eps / unit, self.at / unit), unit

    @property
    def pieces(self) -> Pieces:  # type: ignore[override]
        """The pieces: a line, the zero function, a line."""
        a, e = self.at, self.eps
        return Pieces((a - e, a + e), (0.0,) * 3, (-1.0, 0.0, 1.0), (a - e, 0.0, -a - e))
