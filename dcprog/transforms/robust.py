"""Transforms given by a formula: powers, logarithms, and those of robust statistics.

Each is concave in t ≥ 0. With t = ½u² most of them give a classical function of the residual u, and
with any other convex loss a new one.

References
----------
Wang (2024), Unified robust estimation, Australian & New Zealand Journal of Statistics 66.
"""

from __future__ import annotations

from abc import abstractmethod

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy import special

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.foundation.regularity import LINEAR, SMOOTH, STEEP, Regularity
from dcprog.transforms.transform import Transform

__all__ = [
    "andrews_by",
    "erf_by",
    "huberize_by",
    "log_of",
    "log_ratio_by",
    "power_of",
    "rational_by",
    "rescale_by",
    "tukey_by",
    "welsch_by",
]


class rescale_by(Transform):
    """φ(t) = (1 − e^{−ηt})/(1 − e^{−η}), which is 0 at 0, 1 at 1 and bounded.

    Parameters
    ----------
    eta : float
        η > 0. For η → 0 the transform tends to the identity.

    Raises
    ------
    TypeError, ValueError
        η is not a positive number.

    References
    ----------
    Xu, Cao, Hu, Príncipe (2017), Robust support vector machines based on the rescaled hinge loss
    function, Pattern Recognition 63.

    Examples
    --------
    >>> from dcprog.transforms import rescale_by
    >>> rescale_by(2.0)([0.0, 1.0]).tolist()
    [0.0, 1.0]
    """

    regularity = SMOOTH

    def __init__(self, eta: float) -> None:
        self.eta = check_number("eta", eta, 0)

    @property
    def limit(self) -> float:  # type: ignore[override]
        """1/(1 − e^{−η})."""
        return float(-1 / np.expm1(-self.eta))

    def __call__(self, t: npt.ArrayLike) -> Array:
        """(1 − e^{−ηt})/(1 − e^{−η})."""
        return np.expm1(-self.eta * np.asarray(t, dtype=float)) / np.expm1(-self.eta)

    def slope(self, t: npt.ArrayLike) -> Array:
        """ηe^{−ηt}/(1 − e^{−η})."""
        return -self.eta * np.exp(-self.eta * np.asarray(t, dtype=float)) / np.expm1(-self.eta)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``(1 - exp(-eta * t)) / (1 - exp(-eta))``."""
        return (1 - cp.exp(-self.eta * t)) / -np.expm1(-self.eta)


class power_of(Transform):
    """φ(t) = (t + δ)^p.

    Parameters
    ----------
    p : float
        0 < p ≤ 1.
    delta : float, default 0.0
        δ ≥ 0. With δ = 0 and p < 1 the slope at t = 0 is infinite and no affine majorant exists
        there. A positive δ makes it finite, and
        :meth:`~dcprog.transforms.Transform.extended` replaces it near 0 by a tangent.

    Raises
    ------
    TypeError
        p or δ is not a number.
    ValueError
        p is outside (0, 1], or δ is negative.

    Examples
    --------
    >>> from dcprog.transforms import power_of
    >>> power_of(0.5).slope([0.25, 1.0])
    array([1. , 0.5])
    """

    def __init__(self, p: float, delta: float = 0.0) -> None:
        self.p = check_number("p", p, 0)
        if not p <= 1:
            raise ValueError(f"p={p!r}: power_of is concave and nondecreasing for 0 < p <= 1 only")
        self.delta = check_number("delta", delta, 0, closed=True)

    @property
    def regularity(self) -> Regularity:  # type: ignore[override]
        """Smooth unless the slope at 0 is infinite; linear for p = 1."""
        if self.p == 1:
            return LINEAR
        return SMOOTH if np.isfinite(self.steepest) else STEEP

    def __call__(self, t: npt.ArrayLike) -> Array:
        """(t + δ)^p."""
        return (np.asarray(t, dtype=float) + self.delta) ** self.p

    def slope(self, t: npt.ArrayLike) -> Array:
        """The slope p (t + δ)^{p−1}, infinite at t = 0 if δ = 0 and p < 1."""
        with np.errstate(divide="ignore"):
            return self.p * (np.asarray(t, dtype=float) + self.delta) ** (self.p - 1)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``power(t + delta, p)``."""
        shifted = t + self.delta
        return shifted if self.p == 1 else cp.power(shifted, self.p)


class log_of(Transform):
    """φ(t) = scale·log(1 + t/scale).

    Parameters
    ----------
    scale : float
        A positive number. For scale → ∞ the transform tends to the identity.

    Raises
    ------
    TypeError, ValueError
        The scale is not a positive number.

    References
    ----------
    Geman, McClure (1985) and Black, Anandan (1996) for the Lorentzian log(1 + u²/2σ²).

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.transforms import log_of
    >>> log_of(2.0)(2.0 * (np.e - 1)).item()
    2.0
    """

    regularity = SMOOTH

    def __init__(self, scale: float) -> None:
        self.scale = check_number("scale", scale, 0)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """scale·log(1 + t/scale)."""
        return self.scale * np.log1p(np.asarray(t, dtype=float) / self.scale)

    def slope(self, t: npt.ArrayLike) -> Array:
        """scale/(scale + t)."""
        return self.scale / (self.scale + np.asarray(t, dtype=float))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``scale * log1p(t / scale)``."""
        return self.scale * cp.log1p(t / self.scale)


# ----------------------------------------------------------------------------------------------
# robust statistics


# From here on e^σ costs a third of the digits of log_ratio_by's expression.
LARGE_SIGMA = 12.0


class _Scaled(Transform):
    """A transform with one parameter σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.
    """

    def __init__(self, sigma: float) -> None:
        self.sigma = check_number("sigma", sigma, 0)


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

    regularity = SMOOTH

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

    regularity = SMOOTH

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

    regularity = SMOOTH

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

    regularity = SMOOTH

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

    regularity = SMOOTH

    @property
    def limit(self) -> float:  # type: ignore[override]
        """σ/(1 − e^{−σ})."""
        return float(self.sigma / -np.expm1(-self.sigma))

    def __call__(self, t: npt.ArrayLike) -> Array:
        """log(1 + k/(1/t + e^{−σ}))/k with k = 1 − e^{−σ}."""
        k = -np.expm1(-self.sigma)
        with np.errstate(all="ignore"):  # at t near 0, and at t = ∞ if e^{−σ} underflows
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


# ----------------------------------------------------------------------------------------------
# tangents near 0


class _TangentJoined(Transform):
    """A transform that is replaced by its tangent at δ for t below δ."""

    def __init__(self, s: float, delta: float) -> None:
        self.s = check_number("s", s, 0)
        self.delta = check_number("delta", delta, 0, closed=True)

    @abstractmethod
    def _above(self, t: Array) -> Array:
        """The values of the original function, for t ≥ δ."""

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The original function for t ≥ δ, its tangent at δ below."""
        t = np.asarray(t, dtype=float)
        inside, short = np.maximum(t, self.delta), np.maximum(self.delta - t, 0.0)
        return self._above(inside) - self.slope(inside) * short


class rational_by(_TangentJoined):
    """φ(t) = (t/(1 + t))^s/s for t ≥ δ, its tangent at δ below.

    Parameters
    ----------
    s : float
        s > 0.
    delta : float
        δ ≥ 0; positive if s < 1, when the slope at 0 is infinite, and at least (s − 1)/2 if s > 1,
        below which the function is convex.

    Raises
    ------
    TypeError
        s or δ is not a number.
    ValueError
        s or δ is out of range.

    Examples
    --------
    >>> from dcprog.transforms import rational_by
    >>> rational_by(1.0, 0.0)([0.0, 1.0])
    array([0. , 0.5])
    """

    regularity = SMOOTH

    def __init__(self, s: float, delta: float) -> None:
        super().__init__(s, delta)
        if delta < (s - 1) / 2 or (s < 1 and delta == 0):
            raise ValueError(
                f"delta={delta!r} with s={s!r}: the function is concave with finite slopes if "
                "delta > 0 and delta >= (s - 1) / 2"
            )

    @property
    def limit(self) -> float:  # type: ignore[override]
        """1/s."""
        return 1 / self.s

    def _above(self, t: Array) -> Array:
        return _share(t) ** self.s / self.s

    def slope(self, t: npt.ArrayLike) -> Array:
        """(t/(1 + t))^{s−1}/(1 + t)² at max(t, δ)."""
        at = np.maximum(np.asarray(t, dtype=float), self.delta)
        return _share(at) ** (self.s - 1) / (1 + at) ** 2

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``minimum(tangent, power(pos(1 - inv_pos(1 + maximum(t, delta))), s) / s)``."""
        above = cp.pos(1 - cp.inv_pos(1 + cp.maximum(t, self.delta)))
        above = above if self.s == 1 else cp.power(above, self.s) / self.s
        slope = float(self.slope(self.delta))
        line = float(self._above(np.asarray(self.delta))) + slope * (t - self.delta)
        return cp.minimum(line, above)


class erf_by(_TangentJoined):
    """φ(t) = erf √(t/s) for t ≥ δ, its tangent at δ below.

    Parameters
    ----------
    s : float
        s > 0.
    delta : float
        δ > 0, because the slope at 0 would be infinite.

    Raises
    ------
    TypeError
        s or δ is not a number.
    ValueError
        s or δ is not positive.

    Examples
    --------
    >>> from dcprog.transforms import erf_by
    >>> round(erf_by(1.0, 0.01)(1.0).item(), 4)
    0.8427
    """

    regularity = SMOOTH

    limit = 1.0
    no_expression = "cvxpy has no error function"

    def __init__(self, s: float, delta: float) -> None:
        super().__init__(s, delta)
        check_number("delta", delta, 0)

    def _above(self, t: Array) -> Array:
        return special.erf(np.sqrt(t / self.s))

    def slope(self, t: npt.ArrayLike) -> Array:
        """e^{−t/s}/√(πst) at max(t, δ)."""
        at = np.maximum(np.asarray(t, dtype=float), self.delta)
        return np.exp(-at / self.s) / np.sqrt(np.pi * self.s * at)


def _share(t: Array) -> Array:
    """t/(1 + t), with the value 1 at ∞."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(t), 1.0, t / (1 + t))
