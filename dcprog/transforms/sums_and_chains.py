"""Multiples, sums and compositions of transforms."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import check_number
from dcprog.transforms.transform import Transform, identity

__all__ = ["chain", "chain_of", "scale_by", "sum_of"]


class scale_by(Transform):
    """φ(t) = factor·t.

    Parameters
    ----------
    factor : float
        A positive number.

    Examples
    --------
    >>> from dcprog.transforms import scale_by
    >>> scale_by(3.0)([0.0, 2.0])
    array([0., 6.])
    """

    lowest = -np.inf
    is_linear = True

    def __init__(self, factor: float) -> None:
        check_number("factor", factor, 0)
        self.factor = factor

    def __call__(self, t: npt.ArrayLike) -> Array:
        """factor·t."""
        return self.factor * np.asarray(t, dtype=float)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The constant slope, which is the factor."""
        return np.full(np.shape(t), float(self.factor))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``factor * t``."""
        return self.factor * t


class sum_of(Transform):
    """φ(t) = first(t) + second(t).

    Parameters
    ----------
    first, second : Transform

    Examples
    --------
    >>> from dcprog.transforms import cap_at, identity, sum_of
    >>> sum_of(identity(), cap_at(1.0))([0.5, 2.0])
    array([1., 3.])
    """

    def __init__(self, first: Transform, second: Transform) -> None:
        self.first = first
        self.second = second

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The sum of the limits."""
        return self.first.limit + self.second.limit

    @property
    def lowest(self) -> float:  # type: ignore[override]
        """The lower end of the common domain."""
        return max(self.first.lowest, self.second.lowest)

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """True if both transforms are linear."""
        return self.first.is_linear and self.second.is_linear

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if one of the transforms is joint."""
        return self.first.is_joint or self.second.is_joint

    @property
    def has_expression(self) -> bool:
        """True if both transforms have a cvxpy expression."""
        return self.first.has_expression and self.second.has_expression

    def graduated(self, s: float) -> Transform:
        """The sum of both graduated transforms."""
        return sum_of(self.first.graduated(s), self.second.graduated(s))

    def __call__(self, t: npt.ArrayLike) -> Array:
        """first(t) + second(t)."""
        return self.first(t) + self.second(t)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The sum of the slopes."""
        return self.first.slope(t) + self.second.slope(t)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """The sum of both expressions; of their sums over all entries if one is joint."""
        terms = [self.first.expression(t), self.second.expression(t)]
        if self.is_joint:
            terms = [cp.sum(term) for term in terms]
        return terms[0] + terms[1]


class chain_of(Transform):
    """φ(t) = outer(inner(t)).

    Parameters
    ----------
    outer, inner : Transform

    Raises
    ------
    NotMajorizable
        The inner transform has values below the domain of the outer one, or is joint while the
        outer one is not linear.

    Examples
    --------
    >>> from dcprog.transforms import cap_at, chain_of, power_of
    >>> chain_of(cap_at(2.0), power_of(0.5)).slope([1.0, 4.0, 9.0])
    array([0.5 , 0.25, 0.  ])
    """

    def __init__(self, outer: Transform, inner: Transform) -> None:
        name = f"{outer!r} of {inner!r}"
        if inner.is_joint and not outer.is_linear:
            raise NotMajorizable(
                name,
                "the inner one is a function of all losses at once",
                "trim last: trim(cap(loss, c), fraction), not cap(trim(loss, fraction), c)",
            )
        lowest = float(inner(0.0))
        if lowest < outer.lowest:
            raise NotMajorizable(
                name,
                f"the inner one is {lowest:g} at 0, the outer one starts at {outer.lowest:g}",
                "an outer cap, or an inner transform with φ(0) >= 0",
            )
        self.outer = outer
        self.inner = inner

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The supremum of the outer transform up to the limit of the inner one."""
        return self.outer.up_to(self.inner.limit)

    @property
    def lowest(self) -> float:  # type: ignore[override]
        """The lower end of the domain: 0 if either transform is defined only from 0 on."""
        return max(self.inner.lowest, self.outer.lowest)

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """True if both transforms are linear."""
        return self.outer.is_linear and self.inner.is_linear

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if one of the transforms is joint."""
        return self.outer.is_joint or self.inner.is_joint

    @property
    def has_expression(self) -> bool:
        """True if both transforms have a cvxpy expression."""
        return self.outer.has_expression and self.inner.has_expression

    @property
    def rounds(self) -> int:  # type: ignore[override]
        """The number of majorant updates until both transforms are fixed."""
        return max(self.outer.rounds, self.inner.rounds)

    def fixed(self, t: Array) -> Transform:
        """The composition of both transforms as the losses `t` fix them."""
        inner = self.inner.fixed(t)
        return chain_of(self.outer.fixed(inner(t)), inner)

    def graduated(self, s: float) -> Transform:
        """The perspective of the composition; if it is joint, the composition of both graduated."""
        if not self.is_joint:
            return super().graduated(s)
        return chain_of(self.outer.graduated(s), self.inner.graduated(s))

    def __call__(self, t: npt.ArrayLike) -> Array:
        """outer(inner(t))."""
        return self.outer(self.inner(t))

    def slope(self, t: npt.ArrayLike) -> Array:
        """outer'(inner(t))·inner'(t)."""
        outer, inner = self.outer.slope(self.inner(t)), self.inner.slope(t)
        with np.errstate(invalid="ignore"):  # 0 times an infinite slope counts as 0
            return np.where((outer == 0) | (inner == 0), 0.0, outer * inner)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """The outer expression of the inner expression."""
        return self.outer.expression(self.inner.expression(t))


def chain(outer: Transform, inner: Transform) -> Transform:
    """The composition outer∘inner in its simplest form."""
    if isinstance(inner, identity):
        return outer
    if isinstance(outer, identity):
        return inner
    if isinstance(outer, scale_by) and isinstance(inner, scale_by):
        return scale_by(outer.factor * inner.factor)
    return chain_of(outer, inner)
