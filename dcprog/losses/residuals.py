"""Convex losses of a residual u = y − f(x), which grow on both sides of their minimum."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.losses.loss import ConvexLoss
from dcprog.losses.piecewise_quadratic import Pieces

__all__ = ["absolute", "epsilon_insensitive", "huber", "pinball", "square"]


class absolute(ConvexLoss):
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

    def __init__(self, at: float = 0.0) -> None:
        check_number("at", at)
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """|at − u|."""
        return np.abs(np.asarray(u, dtype=float) - self.at)

    def slope(self, u: npt.ArrayLike) -> Array:
        """The sign of u − at, 0 at the kink."""
        return np.sign(np.asarray(u, dtype=float) - self.at)

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


class square(ConvexLoss):
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

    def __init__(self, at: float = 0.0) -> None:
        check_number("at", at)
        self.at = at

    def __call__(self, u: npt.ArrayLike) -> Array:
        """(at − u)²."""
        return (np.asarray(u, dtype=float) - self.at) ** 2

    def slope(self, u: npt.ArrayLike) -> Array:
        """2(u − at)."""
        return 2.0 * (np.asarray(u, dtype=float) - self.at)

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
        check_number("delta", delta, 0)
        self.delta = delta

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
        check_number("tau", tau, 0, 1)
        self.tau = tau

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


class epsilon_insensitive(ConvexLoss):
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
        check_number("eps", eps, 0, closed=True)
        check_number("at", at)
        self.eps = eps
        self.at = at

    def _r(self, u: npt.ArrayLike) -> Array:
        return np.asarray(u, dtype=float) - self.at

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
