"""Transforms that are replaced by a tangent near 0, where they are too steep or convex.

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
from dcprog.transforms.transform import Transform

__all__ = ["erf_by", "rational_by"]


class _TangentJoined(Transform):
    """A transform that is replaced by its tangent at δ for t below δ."""

    def __init__(self, s: float, delta: float) -> None:
        check_number("s", s, 0)
        check_number("delta", delta, 0, closed=True)
        self.s = s
        self.delta = delta

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
