"""Sums, differences and positive multiples of losses."""

from __future__ import annotations

import cvxpy as cp

from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import check_number, same
from dcprog.losses.convex_operations import combination, convex_sum
from dcprog.losses.difference_form import difference_form
from dcprog.losses.loss import OPERATIONS, ConvexLoss, Loss, check_is_loss
from dcprog.transforms import Transform, chain, identity, scale_by, sum_of

__all__ = ["added", "difference", "scaled"]


class scaled(Loss):
    """factor·loss(u), written ``2 * loss``.

    Parameters
    ----------
    factor : float
        A positive number.
    loss : Loss

    Raises
    ------
    TypeError, ValueError
        The factor is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> (2 * hinge())([0.0, 3.0])
    array([2., 0.])
    """

    def __init__(self, factor: float, loss: Loss) -> None:
        check_is_loss("loss", loss)
        try:
            check_number("factor", factor, 0)
        except ValueError as error:
            raise ValueError(f"{error}; a - b subtracts a convex loss b") from None
        self.factor = factor
        self.loss = loss

    @property
    def base(self) -> ConvexLoss:
        """The base of the loss, without the factor, which becomes a weight."""
        return self.loss.base

    @property
    def transform(self) -> Transform:
        """factor·φ."""
        return chain(scale_by(self.factor), self.loss.transform)

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The factor times the convex loss that the loss subtracts."""
        return combination([(self.factor, self.loss.subtracted)])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``factor * loss``."""
        return self.factor * self.loss.expression(u)

    @property
    def has_expression(self) -> bool:
        """True if the loss has a cvxpy expression."""
        return self.loss.has_expression


class added(Loss):
    """first(u) + second(u), written ``first + second``.

    If the bases are equal, the concave functions are added. Otherwise each loss is first written as
    a difference of convex functions, α·base − (α·base − φ(base)), and the bases are added.

    Parameters
    ----------
    first, second : Loss

    Raises
    ------
    NotMajorizable
        The bases differ, and one of the concave functions has an infinite slope at 0.

    Examples
    --------
    >>> from dcprog.losses import cap, hinge
    >>> (cap(hinge(), 1.0) + hinge()).surrogate([0.5, -3.0])
    (array([2., 1.]), array([0., 0.]))
    """

    def __init__(self, first: Loss, second: Loss) -> None:
        check_is_loss("first", first)
        check_is_loss("second", second)
        self.first = first
        self.second = second
        if not self._one_base:
            difference_form(first)
            difference_form(second)

    @property
    def _one_base(self) -> bool:
        return same(self.first.base, self.second.base)

    @property
    def base(self) -> ConvexLoss:
        """The common base, or a weighted sum of both."""
        if self._one_base:
            return self.first.base
        terms = [difference_form(loss)[:2] for loss in (self.first, self.second)]
        return convex_sum(tuple(f for _, f in terms), tuple(c for c, _ in terms))

    @property
    def transform(self) -> Transform:
        """The sum of the concave functions for a common base, otherwise the identity."""
        return sum_of(self.first.transform, self.second.transform) if self._one_base else identity()

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The sum of both subtracted losses, of the difference forms if the bases differ."""
        both = (self.first, self.second)
        if self._one_base:
            return combination([(1.0, loss.subtracted) for loss in both])
        return combination([(1.0, difference_form(loss)[2]) for loss in both])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``first + second``; the sum over all entries if one of them is trimmed."""
        terms = [loss.expression(u) for loss in (self.first, self.second)]
        if terms[0].shape != terms[1].shape:
            terms = [cp.sum(term) for term in terms]
        return terms[0] + terms[1]

    @property
    def has_expression(self) -> bool:
        """True if both losses have a cvxpy expression."""
        return self.first.has_expression and self.second.has_expression

    def _extremes(self) -> tuple[float, float]:
        if self.subtracted is None:
            return super()._extremes()
        return self.first.lower + self.second.lower, self.first.bound + self.second.bound


class difference(Loss):
    """first(u) − second(u) with a convex `second`, written ``first - second``.

    Parameters
    ----------
    first : Loss
    second : Loss
        A convex loss.

    Raises
    ------
    NotMajorizable
        The second loss is not convex.

    Examples
    --------
    The psi-learning loss is twice a difference of hinges:

    >>> from dcprog.losses import hinge
    >>> psi = 2 * (hinge(1.0) - hinge(0.0))
    >>> psi([-1.0, 0.5, 2.0]), psi.bound
    (array([2., 1., 0.]), 2.0)
    """

    def __init__(self, first: Loss, second: Loss) -> None:
        check_is_loss("first", first)
        check_is_loss("second", second)
        if not second.is_convex:
            raise NotMajorizable(
                f"{first!r} - {second!r}",
                "what is subtracted must be convex",
                "a subtracted base loss or a positive multiple of one, such as a - 2 * hinge()",
            )
        self.first = first
        self.second = second

    @property
    def base(self) -> ConvexLoss:
        """The base of the first loss."""
        return self.first.base

    @property
    def transform(self) -> Transform:
        """The transform of the first loss."""
        return self.first.transform

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The second loss plus the loss that the first one subtracts."""
        factor, base, _ = difference_form(self.second)
        return combination([(factor, base), (1.0, self.first.subtracted)])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``first - second``; the difference of the sums if the first one is trimmed."""
        terms = [loss.expression(u) for loss in (self.first, self.second)]
        if terms[0].shape != terms[1].shape:
            terms = [cp.sum(term) for term in terms]
        return terms[0] - terms[1]

    @property
    def has_expression(self) -> bool:
        """True if both losses have a cvxpy expression."""
        return self.first.has_expression and self.second.has_expression


OPERATIONS.update(added=added, difference=difference, scaled=scaled)
