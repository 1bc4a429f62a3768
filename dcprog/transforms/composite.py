"""The transforms of robust statistics: Huber, Andrews, Tukey, Welsch and others, of t = ½u².

Each is concave in t ≥ 0, so that with t = ½u² the classical function of the residual u comes out,
and with any other convex loss a new one.

References
----------
Wang (2024), Unified robust estimation, Australian & New Zealand Journal of Statistics 66.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.declared import check_number
from dcprog.transforms.transform import Transform
from dcprog.tree import Array

__all__ = [
    "andrews_by",
    "erf_by",
    "huberize_by",
    "log_ratio_by",
    "rational_by",
    "tukey_by",
    "welsch_by",
]

NO_ATOM = "{} has no cvxpy expression: cvxpy has no {}. Take the structured path (Risk, estimators)"


class _Scaled(Transform):
    """A transform with one parameter σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is no positive number.
    """

    def __init__(self, sigma: float) -> None:
        check_number("sigma", sigma, 0)
        self.sigma = sigma


class huberize_by(_Scaled):
    """φ(t) = t up to σ²/2, then σ√(2t) − σ²/2.

    Parameters
    ----------
    sigma : float
        σ > 0.

    Examples
    --------
    >>> from dcprog.transforms import huberize_by
    >>> huberize_by(1.0)([0.5, 2.0])
    array([0.5, 1.5])
    """

    def __call__(self, t: npt.ArrayLike) -> Array:
        """min(t, σ√(2 max(t, σ²/2)) − σ²/2)."""
        t, knee = np.asarray(t, dtype=float), self.sigma**2 / 2
        return np.where(t <= knee, t, self.sigma * np.sqrt(2 * np.maximum(t, knee)) - knee)

    def slope(self, t: npt.ArrayLike) -> Array:
        """min(1, σ/√(2t))."""
        knee = self.sigma**2 / 2
        return self.sigma / np.sqrt(2 * np.maximum(np.asarray(t, dtype=float), knee))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``minimum(t, sigma * sqrt(2 * maximum(t, knee)) - knee)``, knee = σ²/2."""
        knee = self.sigma**2 / 2
        return cp.minimum(t, self.sigma * cp.sqrt(2 * cp.maximum(t, knee)) - knee)


class andrews_by(_Scaled):
    """φ(t) = σ²(1 − cos(√(2t)/σ)) up to σ²π²/2, then 2σ².

    Parameters
    ----------
    sigma : float
        σ > 0.

    Examples
    --------
    >>> from dcprog.transforms import andrews_by
    >>> andrews_by(1.0)([0.0, 100.0])
    array([0., 2.])
    """

    has_expression = False

    def _angle(self, t: npt.ArrayLike) -> Array:
        return np.minimum(np.sqrt(2 * np.asarray(t, dtype=float)) / self.sigma, np.pi)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """2σ² sin²(½√(2t)/σ), which loses no digits at small t."""
        return 2 * self.sigma**2 * np.sin(self._angle(t) / 2) ** 2

    def slope(self, t: npt.ArrayLike) -> Array:
        """Slope sin(x)/x at x = √(2t)/σ."""
        x = self._angle(t)
        return np.where(x < np.pi, np.sinc(x / np.pi), 0.0)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Not available."""
        raise ValueError(NO_ATOM.format(repr(self), "cosine"))


class tukey_by(_Scaled):
    """φ(t) = (σ²/6)(1 − (1 − 2t/σ²)³) up to σ²/2, then σ²/6.

    Parameters
    ----------
    sigma : float
        σ > 0.

    References
    ----------
    Beaton, Tukey (1974), The fitting of power series, Technometrics 16.

    Examples
    --------
    >>> from dcprog.transforms import tukey_by
    >>> tukey_by(2.0).slope([0.0, 1.0, 2.0])
    array([1.  , 0.25, 0.  ])
    """

    def _rest(self, t: npt.ArrayLike) -> Array:
        return np.maximum(1 - 2 * np.asarray(t, dtype=float) / self.sigma**2, 0.0)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """(σ²/6)(1 − (1 − 2t/σ²)₊³)."""
        r = self._rest(t)
        return self.sigma**2 / 6 * (1 - r) * (1 + r + r**2)

    def slope(self, t: npt.ArrayLike) -> Array:
        """(1 − 2t/σ²)₊²."""
        return self._rest(t) ** 2

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``sigma**2 / 6 * (1 - power(pos(1 - 2 * t / sigma**2), 3))``."""
        rest = cp.pos(1 - (2 / self.sigma**2) * t)
        return self.sigma**2 / 6 * (1 - cp.power(rest, 3))


class welsch_by(_Scaled):
    """φ(t) = σ²(1 − e^{−t/σ²}).

    Parameters
    ----------
    sigma : float
        σ > 0.

    References
    ----------
    Dennis, Welsch (1978), Techniques for nonlinear least squares and robust regression, Comm.
    Statist. B 7.

    Examples
    --------
    >>> from dcprog.transforms import welsch_by
    >>> welsch_by(1.0).slope(0.0).item()
    1.0
    """

    def __call__(self, t: npt.ArrayLike) -> Array:
        """σ²(1 − e^{−t/σ²})."""
        return -(self.sigma**2) * np.expm1(-np.asarray(t, dtype=float) / self.sigma**2)

    def slope(self, t: npt.ArrayLike) -> Array:
        """e^{−t/σ²}."""
        return np.exp(-np.asarray(t, dtype=float) / self.sigma**2)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``sigma**2 * (1 - exp(-t / sigma**2))``."""
        return self.sigma**2 * (1 - cp.exp(-t / self.sigma**2))


class log_ratio_by(_Scaled):
    """φ(t) = log((1 + t)/(1 + te^{−σ}))/(1 − e^{−σ}), bounded by σ/(1 − e^{−σ}).

    Parameters
    ----------
    sigma : float
        σ > 0.

    Examples
    --------
    >>> from dcprog.transforms import log_ratio_by
    >>> log_ratio_by(1.0).slope(0.0).item()
    1.0
    """

    def __call__(self, t: npt.ArrayLike) -> Array:
        """−log(1 − k·t/(1 + t))/k with k = 1 − e^{−σ}."""
        k = -np.expm1(-self.sigma)
        return -np.log1p(-k * _share(t)) / k

    def slope(self, t: npt.ArrayLike) -> Array:
        """1/((1 + t)(1 + te^{−σ}))."""
        t = np.asarray(t, dtype=float)
        return 1 / ((1 + t) * (1 + t * np.exp(-self.sigma)))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``-log(1 - k + k * inv_pos(1 + t)) / k``."""
        k = -np.expm1(-self.sigma)
        return -cp.log(1 - k + k * cp.inv_pos(1 + t)) / k


class _Joined(Transform):
    """A transform that is joined to its tangent at δ below δ."""

    def __init__(self, s: float, delta: float) -> None:
        check_number("s", s, 0)
        check_number("delta", delta, 0, closed=True)
        self.s = s
        self.delta = delta

    def _above(self, t: Array) -> Array:
        raise NotImplementedError

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The function from δ on, its tangent at δ below."""
        t = np.asarray(t, dtype=float)
        inside = np.maximum(t, self.delta)
        return self._above(inside) - self.slope(inside) * (inside - t)


class rational_by(_Joined):
    """φ(t) = (t/(1 + t))^s/s from δ on, its tangent at δ below.

    Parameters
    ----------
    s : float
        s > 0.
    delta : float
        δ ≥ 0, positive if s < 1 (where the slope at 0 is infinite) and at least (s − 1)/2 if
        s > 1 (below, the function is convex).

    Raises
    ------
    TypeError
        Not a number.
    ValueError
        Outside those ranges.

    Examples
    --------
    >>> from dcprog.transforms import rational_by
    >>> rational_by(1.0, 0.0)([0.0, 1.0])
    array([0. , 0.5])
    """

    def __init__(self, s: float, delta: float) -> None:
        super().__init__(s, delta)
        if delta < (s - 1) / 2 or (s < 1 and delta == 0):
            raise ValueError(
                f"delta={delta!r} with s={s!r}: the function is concave with finite slopes if "
                "delta > 0 and delta >= (s - 1) / 2"
            )

    def _above(self, t: Array) -> Array:
        return _share(t) ** self.s / self.s

    def slope(self, t: npt.ArrayLike) -> Array:
        """(t/(1 + t))^{s−1}/(1 + t)² at max(t, δ)."""
        t = np.maximum(np.asarray(t, dtype=float), self.delta)
        return _share(t) ** (self.s - 1) / (1 + t) ** 2

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``minimum(tangent, power(1 - inv_pos(1 + maximum(t, delta)), s) / s)``."""
        above = 1 - cp.inv_pos(1 + cp.maximum(t, self.delta))
        above = above if self.s == 1 else cp.power(above, self.s) / self.s
        slope = float(self.slope(self.delta))
        line = float(self._above(np.asarray(self.delta))) + slope * (t - self.delta)
        return cp.minimum(line, above)


class erf_by(_Joined):
    """φ(t) = erf √(t/s) from δ on, its tangent at δ below.

    Parameters
    ----------
    s : float
        s > 0.
    delta : float
        δ > 0: the slope at 0 would be infinite.

    Raises
    ------
    TypeError
        Not a number.
    ValueError
        Not positive.

    Examples
    --------
    >>> from dcprog.transforms import erf_by
    >>> round(erf_by(1.0, 0.01)(1.0).item(), 4)
    0.8427
    """

    has_expression = False

    def __init__(self, s: float, delta: float) -> None:
        super().__init__(s, delta)
        check_number("delta", delta, 0)

    def _above(self, t: Array) -> Array:
        return special.erf(np.sqrt(t / self.s))

    def slope(self, t: npt.ArrayLike) -> Array:
        """e^{−t/s}/√(πst) at max(t, δ)."""
        t = np.maximum(np.asarray(t, dtype=float), self.delta)
        return np.exp(-t / self.s) / np.sqrt(np.pi * self.s * t)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Not available."""
        raise ValueError(NO_ATOM.format(repr(self), "error function"))


def _share(t: npt.ArrayLike) -> Array:
    """t/(1 + t), which is 1 at ∞."""
    t = np.asarray(t, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(t), 1.0, t / (1 + t))
