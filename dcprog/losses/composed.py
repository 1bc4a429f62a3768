"""Concave functions of losses: what all of them share, and the user's own."""

from __future__ import annotations

from abc import abstractmethod

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.losses.convex import excess
from dcprog.losses.loss import ConvexLoss, Loss, check_is_loss
from dcprog.transforms import Transform, chain, identity, scale_by

__all__ = ["Composed", "compose"]


class Composed(Loss):
    """outer(loss(u)) for a concave nondecreasing `outer`.

    A concave function of φ(base) is one of base. A concave function of a difference φ(base) − g is
    a difference again, αF − (αF − outer(F − G)), if its slope α at 0 is finite.

    A subclass sets `loss` and its parameters, names `outer`, and calls ``_check`` last.
    """

    loss: Loss

    @property
    @abstractmethod
    def outer(self) -> Transform:
        """The concave function."""

    def _check(self) -> None:
        check_is_loss("loss", self.loss)
        outer, loss = self.outer, self.loss
        if loss.is_joint:
            raise NotMajorizable(
                repr(self),
                "its inner loss is trimmed, a function of all samples at once",
                "trim last: trim(cap(loss, c), fraction), not cap(trim(loss, fraction), c)",
            )
        if loss.lower < outer.lowest:
            raise NotMajorizable(
                repr(self),
                f"{outer!r} is defined from {outer.lowest:g} on, and its inner loss goes down to "
                f"{loss.lower:g}",
                "cap or trim, or an inner loss that is never negative",
            )
        if loss.subtracted is None:
            chain(outer, loss.transform)
        elif np.isfinite(outer.steepest):
            loss.difference_form()
        else:
            raise NotMajorizable(
                repr(self),
                "its slope at 0 is infinite, and its inner loss subtracts a convex one",
                "a smoothed one, such as power(loss, p, delta=1e-3)",
            )

    @property
    def base(self) -> ConvexLoss:
        """The inner loss's."""
        return self.loss.base

    @property
    def transform(self) -> Transform:
        """outer∘φ, or a factor if the inner loss is a difference."""
        if self.loss.subtracted is None:
            return chain(self.outer, self.loss.transform)
        alpha = self.outer.steepest * self.loss.difference_form()[0]
        return identity() if alpha == 1 else scale_by(alpha)

    @property
    def subtracted(self) -> ConvexLoss | None:
        """αF − outer(F − G) if the inner loss is a difference F − G."""
        if self.loss.subtracted is None:
            return None
        return excess(self.outer, *self.loss.difference_form())

    def __call__(self, u: npt.ArrayLike) -> Array:
        """outer(loss(u))."""
        return self.outer(self.loss(u))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """The outer expression of the inner one."""
        inner = self.loss.expression(u)
        if self.outer.lowest >= 0 and not inner.is_nonneg():
            inner = cp.pos(inner)  # says what cvxpy cannot see, or it would guard the domain
        return self.outer.expression(inner)

    @property
    def has_expression(self) -> bool:
        """Have both?"""
        return self.outer.has_expression and self.loss.has_expression

    def _extremes(self) -> tuple[float, float]:
        low, high = self.loss.lower, self.loss.bound
        return float(self.outer(low)), float(self.outer(high))


class compose(Composed):
    """concave(loss(u)) for a concave nondecreasing function of the user's own.

    Parameters
    ----------
    concave : Transform
        Such as ``concave(value=..., slope=...)``.
    loss : Loss

    Raises
    ------
    TypeError
        Not a transform, or not a loss.
    NotMajorizable
        The loss may be negative, or is trimmed.

    Examples
    --------
    >>> from dcprog.losses import compose, square
    >>> from dcprog.transforms import concave
    >>> share = concave(value=lambda t: t / (1 + t), slope=lambda t: 1 / (1 + t) ** 2)
    >>> compose(share, square())([0.0, 1.0, 3.0])
    array([0. , 0.5, 0.9])
    """

    def __init__(self, concave: Transform, loss: Loss) -> None:
        if not isinstance(concave, Transform):
            raise TypeError(
                f"concave={concave!r}: concave(value=..., slope=...) or a transform is needed"
            )
        self.concave = concave
        self.loss = loss
        self._check()

    @property
    def outer(self) -> Transform:
        """The user's function."""
        return self.concave
