"""Smooth transforms: the exponential rescaling, the power and the logarithm."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.transforms.transform import Transform

__all__ = ["log_of", "power_of", "rescale_by"]


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

    def __init__(self, eta: float) -> None:
        check_number("eta", eta, 0)
        self.eta = eta

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
        check_number("p", p, 0)
        if not p <= 1:
            raise ValueError(f"p={p!r}: power_of is concave and nondecreasing for 0 < p <= 1 only")
        check_number("delta", delta, 0, closed=True)
        self.p = p
        self.delta = delta

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

    def __init__(self, scale: float) -> None:
        check_number("scale", scale, 0)
        self.scale = scale

    def __call__(self, t: npt.ArrayLike) -> Array:
        """scale·log(1 + t/scale)."""
        return self.scale * np.log1p(np.asarray(t, dtype=float) / self.scale)

    def slope(self, t: npt.ArrayLike) -> Array:
        """scale/(scale + t)."""
        return self.scale / (self.scale + np.asarray(t, dtype=float))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``scale * log1p(t / scale)``."""
        return self.scale * cp.log1p(t / self.scale)
