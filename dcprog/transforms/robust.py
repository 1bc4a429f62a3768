"""The transforms of robust statistics: Huber, Andrews, Tukey, Welsch and others, of t = ½u².

Each is concave in t ≥ 0. With t = ½u² it gives the classical function of the residual u, and with
any other convex loss a new one.

References
----------
Wang (2024), Unified robust estimation, Australian & New Zealand Journal of Statistics 66.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.transforms.transform import Transform

__all__ = ["andrews_by", "huberize_by", "log_ratio_by", "tukey_by", "welsch_by"]

LARGE_SIGMA = 12.0


class _Scaled(Transform):
    """A transform with one parameter σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.
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

    no_expression = "cvxpy has no cosine"

    @property
    def limit(self) -> float:  # type: ignore[override]
        """2σ²."""
        return 2 * self.sigma**2

    def _angle(self, t: npt.ArrayLike) -> Array:
        return np.minimum(np.sqrt(2 * np.asarray(t, dtype=float)) / self.sigma, np.pi)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """2σ² sin²(½√(2t)/σ), which is accurate for small t."""
        return 2 * self.sigma**2 * np.sin(self._angle(t) / 2) ** 2

    def slope(self, t: npt.ArrayLike) -> Array:
        """sin(x)/x with x = √(2t)/σ, 0 from x = π on."""
        x = self._angle(t)
        return np.where(x < np.pi, np.sinc(x / np.pi), 0.0)


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

    @property
    def limit(self) -> float:  # type: ignore[override]
        """σ²/6."""
        return self.sigma**2 / 6

    def _used(self, t: npt.ArrayLike) -> Array:
        return np.minimum(2 * np.asarray(t, dtype=float) / self.sigma**2, 1.0)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """(σ²/6)(1 − (1 − 2t/σ²)₊³)."""
        x = self._used(t)
        return self.sigma**2 / 6 * x * (3 - 3 * x + x**2)

    def slope(self, t: npt.ArrayLike) -> Array:
        """(1 − 2t/σ²)₊²."""
        return (1 - self._used(t)) ** 2

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

    @property
    def limit(self) -> float:  # type: ignore[override]
        """σ²."""
        return self.sigma**2

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
    """φ(t) = log((1 + t)/(1 + te^{−σ}))/(1 − e^{−σ}).

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

    @property
    def limit(self) -> float:  # type: ignore[override]
        """σ/(1 − e^{−σ})."""
        return float(self.sigma / -np.expm1(-self.sigma))

    def __call__(self, t: npt.ArrayLike) -> Array:
        """log(1 + k/(1/t + e^{−σ}))/k with k = 1 − e^{−σ}."""
        k = -np.expm1(-self.sigma)
        with np.errstate(divide="ignore"):  # at t = 0, and at t = ∞ if e^{−σ} underflows
            rise = k / (1 / np.asarray(t, dtype=float) + np.exp(-self.sigma))
        return np.minimum(np.log1p(rise), self.sigma) / k

    def slope(self, t: npt.ArrayLike) -> Array:
        """1/((1 + t)(1 + te^{−σ}))."""
        t = np.asarray(t, dtype=float)
        return 1 / ((1 + t) * (1 + t * np.exp(-self.sigma)))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``log1p(pos(h)) / k`` with k = 1 − e^{−σ} and h = (e^σ − 1)(1 − 1/(1 + te^{−σ})) ≥ 0.

        For σ > 12, where e^σ costs a third of the digits, it is a difference of two logarithms.
        """
        if self.sigma > LARGE_SIGMA:
            return cp.log1p(t) - cp.log1p(np.exp(-self.sigma) * t)
        h = np.expm1(self.sigma) * (1 - cp.inv_pos(1 + np.exp(-self.sigma) * t))
        return cp.log1p(cp.pos(h)) / -np.expm1(-self.sigma)
