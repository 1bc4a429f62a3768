"""Transforms with a cap, fixed or set by the losses, and the trim of the largest losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_count, check_number
from dcprog.foundation.regularity import KINKED, LINEAR, Regularity
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.transforms.transform import Transform, check_is_transform, identity

__all__ = ["cap_at", "cap_largest", "trim_of"]


def share_of(fraction: float, n: int) -> int:
    """⌊fraction·n⌋, safe against rounding: 0.29 of 100 is 29."""
    return int(fraction * n + KNOWN_DIGITS)


class _Capped(Transform):
    """A transform that is applied first, and then a cap."""

    def __init__(self, inner: Transform | None) -> None:
        if inner is not None:
            check_is_transform("inner", inner)
        self.inner = inner

    @property
    def _inner(self) -> Transform:
        return identity() if self.inner is None else self.inner

    @property
    def steepest(self) -> float:
        """The inner slope at 0; that of one cap per loss itself would be an array."""
        return self._inner.steepest


class cap_at(_Capped):
    """φ(t) = min(inner(t), c).

    A loss exactly at the cap keeps its slope.

    Parameters
    ----------
    c : float or array
        c ≥ 0, possibly infinite; an array has one cap per loss.
    inner : Transform, optional
        A transform that is applied first; the identity by default.

    Raises
    ------
    TypeError
        c is not numeric, or `inner` is not a transform.
    ValueError
        c is negative or NaN.

    Examples
    --------
    >>> from dcprog.transforms import cap_at, power_of
    >>> cap_at(2.0, power_of(0.5))([1.0, 4.0, 9.0])
    array([1., 2., 2.])
    >>> cap_at(2.0, power_of(0.5)).slope([1.0, 4.0, 9.0])
    array([0.5 , 0.25, 0.  ])
    """

    def __init__(self, c: npt.ArrayLike, inner: Transform | None = None) -> None:
        if np.asarray(c).dtype.kind not in "fiu":
            raise TypeError(f"c={c!r}: a number of at least 0 is needed")
        if not np.all(np.asarray(c) >= 0):
            raise ValueError(f"c={c!r}: a cap must not be negative")
        super().__init__(inner)
        self.c = c

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The largest cap or the inner limit, whichever is smaller."""
        return min(self._inner.limit, float(np.max(self.c)))

    @property
    def regularity(self) -> Regularity:  # type: ignore[override]
        """The inner facts, with a kink unless there is no cap."""
        inner = self._inner.regularity
        return inner if np.all(np.isinf(self.c)) else replace(inner, is_smooth=False)

    @property
    def lowest(self) -> float:  # type: ignore[override]
        """The lower end of the inner transform's domain."""
        return self._inner.lowest

    def __call__(self, t: npt.ArrayLike) -> Array:
        """min(inner(t), c)."""
        return np.minimum(self._inner(t), self.c)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The inner slope up to the cap, 0 beyond."""
        # not strict: a loss at the cap keeps its weight, or the loop may stay at w = 0
        return np.where(self._inner(t) <= np.asarray(self.c), self._inner.slope(t), 0.0)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``minimum(inner, c)``."""
        inner = self._inner.expression(t)
        return inner if np.all(np.isinf(self.c)) else cp.minimum(inner, self.c)

    def of_groups(self, groups: npt.NDArray[Any] | None) -> Transform:
        """The transform of some of the losses, with their caps."""
        if groups is None or np.size(self.c) == 1:
            return super().of_groups(groups)
        inner = None if self.inner is None else self.inner.of_groups(groups)
        return cap_at(np.asarray(self.c)[groups], inner)


class cap_largest(_Capped):
    """φ(t) = min(inner(t), c), with c set such that the given share of the losses is capped.

    For n losses c is the (⌊fraction·n⌋ + 1)-th largest of inner(t). If that loss is 0, then
    c = inner(otherwise): with a cap at inner(0) every sample's loss would be the same constant, and
    w = 0 the minimiser. A run updates c during its first majorant updates and then keeps it fixed;
    until then the minimised function changes too.

    Parameters
    ----------
    fraction : float
        0 ≤ fraction < 1.
    inner : Transform, optional
        A transform that is applied first; the identity by default.
    rounds : int, default 5
        The number of majorant updates that set c.
    otherwise : float, default 1.0
        The loss to cap at if at most that share of the samples has a positive loss: 1 is the loss
        of a (squared) hinge on the decision boundary.
    least : float, default 0.0
        No cap is below inner(least), so that a smaller share is capped if the losses are small.

    Raises
    ------
    TypeError
        A parameter is not a number, or `inner` is not a transform.
    ValueError
        The fraction is outside [0, 1), `rounds` below 1, `otherwise` not positive or `least`
        negative.

    References
    ----------
    Nie, Wang, Huang (2017), Multiclass capped ℓp-norm SVM for robust classifications, AAAI.

    Examples
    --------
    >>> from dcprog.transforms import cap_largest
    >>> cap_largest(0.25)([4.0, 1.0, 3.0, 2.0])
    array([3., 1., 3., 2.])
    """

    is_joint = True  # the cap depends on all losses
    no_expression = "its cap moves with the losses; cap_at with the cap at the end of a run has one"

    def __init__(
        self,
        fraction: float,
        inner: Transform | None = None,
        rounds: int = 5,
        otherwise: float = 1.0,
        least: float = 0.0,
    ) -> None:
        self.fraction = check_number("fraction", fraction, 0, 1, closed=True)
        self.rounds = check_count("rounds", rounds, 1)
        self.otherwise = check_number("otherwise", otherwise, 0)
        self.least = check_number("least", least, 0, closed=True)
        super().__init__(inner)

    @property
    def regularity(self) -> Regularity:  # type: ignore[override]
        """The facts of the fixed cap."""
        return cap_at(1.0, self.inner).regularity

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The inner limit, because the cap is not known in advance."""
        return self._inner.limit

    def fixed(self, t: Array) -> cap_at:
        """The fixed cap that the losses t determine."""
        place = t.size - 1 - share_of(self.fraction, t.size)
        loss = max(np.partition(t, place, axis=None)[place], self.least)
        c = self._inner(loss if loss > 0 else self.otherwise)
        return cap_at(float(c), self.inner)

    def graduated(self, s: float) -> Transform:
        """The transform that caps the share fraction/s."""
        share = self.fraction / s
        return cap_largest(share, self.inner, self.rounds, self.otherwise, self.least)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The values with the cap that `t` itself determines."""
        return self.fixed(np.asarray(t, dtype=float))(t)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The slopes with the cap that `t` itself determines."""
        return self.fixed(np.asarray(t, dtype=float)).slope(t)


class trim_of(Transform):
    """φ(t)_i = t_i, or 0 for the largest ⌊fraction·n⌋ of the n losses.

    The sum of the n − ⌊fraction·n⌋ smallest losses is concave and nondecreasing in the vector of
    losses; φ is not, entry by entry. Of equal losses the first ones are dropped.

    Parameters
    ----------
    fraction : float
        0 ≤ fraction < 1.

    Raises
    ------
    TypeError, ValueError
        The fraction is not a number in [0, 1).

    References
    ----------
    Rousseeuw (1984), Least median of squares regression, JASA 79.

    Examples
    --------
    >>> from dcprog.transforms import trim_of
    >>> trim_of(0.25)([4.0, 1.0, 3.0, 2.0])
    array([0., 1., 3., 2.])
    """

    lowest = -np.inf
    is_joint = True

    def __init__(self, fraction: float) -> None:
        self.fraction = check_number("fraction", fraction, 0, 1, closed=True)

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """True if no loss is dropped."""
        return self.fraction == 0

    @property
    def regularity(self) -> Regularity:  # type: ignore[override]
        """Piecewise linear in all losses together, with kinks where two are equal."""
        return KINKED if self.fraction > 0 else LINEAR

    def graduated(self, s: float) -> Transform:
        """The transform that drops the share fraction/s."""
        return trim_of(self.fraction / s)

    def dropped(self, n: int) -> int:
        """The number ⌊fraction·n⌋ of losses that are dropped."""
        return share_of(self.fraction, n)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The losses, with 0 for the dropped ones."""
        t = np.asarray(t, dtype=float)
        return np.where(self.slope(t) > 0, t, 0.0)

    def slope(self, t: npt.ArrayLike) -> Array:
        """1 for the kept losses, 0 for the dropped ones."""
        t = np.asarray(t, dtype=float)
        k = self.dropped(t.size)
        if k == 0:
            return np.ones(t.shape)
        least = np.partition(t, t.size - k, axis=None)[t.size - k]
        kept = np.where(t > least, 0.0, 1.0)
        ties = np.flatnonzero(t == least)
        kept.flat[ties[: k - int(np.sum(t > least))]] = 0.0
        return kept

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``sum(t) - sum_largest(t, k)``, the sum of the kept losses."""
        k = self.dropped(t.size)
        return cp.sum(t) - cp.sum_largest(t, k) if k else cp.sum(t)
