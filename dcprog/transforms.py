"""Concave nondecreasing functions of a loss t ≥ 0: what makes a convex loss robust."""

from __future__ import annotations

from abc import ABC, abstractmethod

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from dcprog.tree import Array

__all__ = ["Transform", "cap_at", "cap_largest", "identity", "power_of"]


class Transform(BaseEstimator, ABC):
    """φ, concave and nondecreasing on t ≥ 0.

    By concavity φ(t) ≤ φ(t₀) + φ'(t₀)(t − t₀), so the slope at t₀ is the weight of a convex
    majorant. A tie is decided for the larger slope: a weight of 0 is a trap.

    Attributes
    ----------
    rounds : int
        For how many tightenings the transform still adapts to the losses it meets.
    """

    rounds = 0

    @abstractmethod
    def __call__(self, t: npt.ArrayLike) -> Array:
        """Values, entry by entry."""

    @abstractmethod
    def slope(self, t: npt.ArrayLike) -> Array:
        """A supergradient, entry by entry."""

    @abstractmethod
    def expression(self, t: cp.Expression) -> cp.Expression:
        """The transform of a cvxpy expression, entry by entry."""

    def fixed(self, t: Array) -> Transform:
        """The transform as the losses `t` set it; itself where nothing adapts."""
        return self


class identity(Transform):
    """φ(t) = t."""

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The losses themselves."""
        return np.asarray(t, dtype=float)

    def slope(self, t: npt.ArrayLike) -> Array:
        """Ones."""
        return np.ones_like(np.asarray(t, dtype=float))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """The expression itself."""
        return t


class power_of(Transform):
    """φ(t) = (t + δ)^p.

    Parameters
    ----------
    p : float
        0 < p ≤ 1.
    delta : float, default 0.0
        δ ≥ 0. With δ = 0 and p < 1 the slope at t = 0 is infinite and no affine majorant exists
        there; a positive δ smooths it.

    Raises
    ------
    ValueError
        p outside (0, 1] or δ negative.

    Examples
    --------
    >>> from dcprog.transforms import power_of
    >>> power_of(0.5).slope([0.25, 1.0])
    array([1. , 0.5])
    """

    def __init__(self, p: float, delta: float = 0.0) -> None:
        if not 0 < p <= 1:
            raise ValueError(f"p={p!r}: power_of is concave and nondecreasing for 0 < p <= 1 only")
        if not 0 <= delta < np.inf:
            raise ValueError(f"delta={delta!r}: a finite number of at least 0 is needed")
        self.p = p
        self.delta = delta

    def __call__(self, t: npt.ArrayLike) -> Array:
        """(t + δ)^p."""
        return (np.asarray(t, dtype=float) + self.delta) ** self.p

    def slope(self, t: npt.ArrayLike) -> Array:
        """Slope p (t + δ)^{p−1}, infinite at t = 0 if δ = 0 and p < 1."""
        with np.errstate(divide="ignore"):
            return self.p * (np.asarray(t, dtype=float) + self.delta) ** (self.p - 1)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``power(t + delta, p)``."""
        shifted = t + self.delta
        return shifted if self.p == 1 else cp.power(shifted, self.p)


class cap_at(Transform):
    """φ(t) = min(inner(t), c).

    A loss exactly at the cap keeps its slope.

    Parameters
    ----------
    c : float or array
        c ≥ 0, possibly infinite; an array has one cap a loss.
    inner : Transform, optional
        Applied first; nothing by default.

    Raises
    ------
    ValueError
        c is negative.

    Examples
    --------
    >>> from dcprog.transforms import cap_at, power_of
    >>> cap_at(2.0, power_of(0.5))([1.0, 4.0, 9.0])
    array([1., 2., 2.])
    >>> cap_at(2.0, power_of(0.5)).slope([1.0, 4.0, 9.0])
    array([0.5 , 0.25, 0.  ])
    """

    def __init__(self, c: npt.ArrayLike, inner: Transform | None = None) -> None:
        if not np.all(np.asarray(c) >= 0):
            raise ValueError(f"c={c!r}: a cap must not be negative")
        self.c = c
        self.inner = inner

    @property
    def _inner(self) -> Transform:
        return identity() if self.inner is None else self.inner

    def __call__(self, t: npt.ArrayLike) -> Array:
        """min(inner(t), c)."""
        return np.minimum(self._inner(t), self.c)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The inner slope up to the cap, 0 beyond."""
        # not strict: a loss at the cap keeps its weight, otherwise w = 0 can trap the loop
        return np.where(self._inner(t) <= np.asarray(self.c), self._inner.slope(t), 0.0)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``minimum(inner, c)``."""
        inner = self._inner.expression(t)
        return inner if np.all(np.isinf(self.c)) else cp.minimum(inner, self.c)


class cap_largest(Transform):
    """φ(t) = min(inner(t), c), with c set so that the largest share of the losses is capped.

    For n losses c is the (⌊fraction·n⌋ + 1)-th largest of inner(t). Where that sample has no loss
    at all, c = inner(otherwise): a cap at inner(0) would make every sample's loss the same
    constant, and w = 0 the minimiser. A run moves c during its first tightenings and then freezes
    it; until then the minimised function moves too.

    Parameters
    ----------
    fraction : float
        0 ≤ fraction < 1.
    inner : Transform, optional
        Applied first; nothing by default.
    rounds : int, default 5
        Tightenings that set c.
    otherwise : float, default 1.0
        The loss to cap at where fewer than the share have any: 1 is the loss of a (squared) hinge
        on the decision boundary.

    Raises
    ------
    ValueError
        The fraction is outside [0, 1).

    References
    ----------
    Nie, Wang, Huang (2017), Multiclass capped ℓp-norm SVM for robust classifications, AAAI.

    Examples
    --------
    >>> from dcprog.transforms import cap_largest
    >>> cap_largest(0.25)([4.0, 1.0, 3.0, 2.0])
    array([3., 1., 3., 2.])
    """

    def __init__(
        self,
        fraction: float,
        inner: Transform | None = None,
        rounds: int = 5,
        otherwise: float = 1.0,
    ) -> None:
        if not 0 <= fraction < 1:
            raise ValueError(f"fraction={fraction!r}: a number of at least 0 and below 1 is needed")
        self.fraction = fraction
        self.inner = inner
        self.rounds = rounds
        self.otherwise = otherwise

    def fixed(self, t: Array) -> cap_at:
        """The cap these losses set."""
        inner = identity() if self.inner is None else self.inner
        place = t.size - 1 - int(self.fraction * t.size)
        loss = np.partition(t, place)[place]
        c = inner(loss if loss > 0 else self.otherwise)
        return cap_at(float(c), self.inner)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """Values under the cap that `t` itself sets."""
        return self.fixed(np.asarray(t, dtype=float))(t)

    def slope(self, t: npt.ArrayLike) -> Array:
        """Slopes under the cap that `t` itself sets."""
        return self.fixed(np.asarray(t, dtype=float)).slope(t)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """Not available: the cap moves with the losses."""
        raise ValueError(
            "cap_largest has no fixed cvxpy expression, its cap moves with the losses; "
            "use cap_at with the cap that a run ended with"
        )
