"""Sums, differences and positive multiples of losses."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.declared import check_number, same
from dcprog.errors import NotMajorizable
from dcprog.losses.loss import ConvexLoss, Loss, check_is_loss
from dcprog.losses.pieces import Pieces
from dcprog.transforms import Transform, chain, identity, scale_by, sum_of
from dcprog.tree import Array

__all__ = ["added", "combination", "convex_sum", "difference", "excess", "scaled"]


class scaled(Loss):
    """factor·loss(u), written ``2 * loss``.

    Parameters
    ----------
    factor : float
        Positive.
    loss : Loss

    Raises
    ------
    TypeError, ValueError
        The factor is no positive number.

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
        """The loss's own: solvers see the factor as a weight."""
        return self.loss.base

    @property
    def transform(self) -> Transform:
        """factor·φ."""
        return chain(scale_by(self.factor), self.loss.transform)

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The factor times what the loss subtracts."""
        return combination([(self.factor, self.loss.subtracted)])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``factor * loss``."""
        return self.factor * self.loss.expression(u)

    @property
    def has_expression(self) -> bool:
        """Has the loss one?"""
        return self.loss.has_expression


class added(Loss):
    """first(u) + second(u), written ``first + second``.

    Losses of the same base add their concave functions. Others are written as differences of
    convex functions first, α·base − (α·base − φ(base)), and their bases add.

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
            first.difference_form()
            second.difference_form()

    @property
    def _one_base(self) -> bool:
        return same(self.first.base, self.second.base)

    @property
    def base(self) -> ConvexLoss:
        """The common base, or a weighted sum of both."""
        if self._one_base:
            return self.first.base
        terms = [loss.difference_form()[:2] for loss in (self.first, self.second)]
        return convex_sum(tuple(f for _, f in terms), tuple(c for c, _ in terms))

    @property
    def transform(self) -> Transform:
        """The sum of the concave functions of a common base."""
        return sum_of(self.first.transform, self.second.transform) if self._one_base else identity()

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The sum of what is subtracted."""
        both = (self.first, self.second)
        if self._one_base:
            return combination([(1.0, loss.subtracted) for loss in both])
        return combination([(1.0, loss.difference_form()[2]) for loss in both])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``first + second``; their sums where one is trimmed."""
        terms = [loss.expression(u) for loss in (self.first, self.second)]
        if terms[0].shape != terms[1].shape:
            terms = [cp.sum(term) for term in terms]
        return terms[0] + terms[1]

    @property
    def has_expression(self) -> bool:
        """Have both?"""
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
        Convex.

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
        """The first loss's."""
        return self.first.base

    @property
    def transform(self) -> Transform:
        """The first loss's."""
        return self.first.transform

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The second loss, and what the first one subtracts."""
        factor, base, _ = self.second.difference_form()
        return combination([(factor, base), (1.0, self.first.subtracted)])

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``first - second``; their sums where the first one is trimmed."""
        terms = [loss.expression(u) for loss in (self.first, self.second)]
        if terms[0].shape != terms[1].shape:
            terms = [cp.sum(term) for term in terms]
        return terms[0] - terms[1]

    @property
    def has_expression(self) -> bool:
        """Have both?"""
        return self.first.has_expression and self.second.has_expression


class convex_sum(ConvexLoss):
    """Σ_k factor_k·loss_k(u) with positive factors.

    Parameters
    ----------
    losses : tuple of ConvexLoss
    factors : tuple of float

    Examples
    --------
    >>> from dcprog.losses import absolute, convex_sum, hinge
    >>> convex_sum((hinge(), absolute()), (1.0, 2.0))([-1.0, 1.0])
    array([4., 2.])
    """

    def __init__(self, losses: tuple[ConvexLoss, ...], factors: tuple[float, ...]) -> None:
        for loss in losses:
            check_is_loss("losses", loss, ConvexLoss)
        for factor in factors:
            check_number("factors", factor, 0)
        if len(losses) != len(factors):
            raise ValueError(f"{len(losses)} losses and {len(factors)} factors: one each is needed")
        self.losses = losses
        self.factors = factors

    @property
    def _terms(self) -> list[tuple[float, ConvexLoss]]:
        return list(zip(self.factors, self.losses, strict=True))

    def __call__(self, u: npt.ArrayLike) -> Array:
        """Σ factor·loss."""
        return np.sum([c * f(u) for c, f in self._terms], axis=0)

    def slope(self, u: npt.ArrayLike) -> Array:
        """Σ factor·slope."""
        return np.sum([c * f.slope(u) for c, f in self._terms], axis=0)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """Σ factor·curvature."""
        return np.sum([c * f.curvature(u) for c, f in self._terms], axis=0)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """Σ factor·expression."""
        terms = [c * f.expression(u) for c, f in self._terms]
        return sum(terms[1:], terms[0])

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """Are all?"""
        return all(f.is_smooth for f in self.losses)

    @property
    def has_expression(self) -> bool:  # type: ignore[override]
        """Have all?"""
        return all(f.has_expression for f in self.losses)

    @property
    def lower(self) -> float:  # type: ignore[override]
        """Exact for piecewise quadratics, otherwise the sum of the infima."""
        if self.pieces is not None:
            return self.pieces.extremes()[0]
        return float(sum(c * f.lower for c, f in self._terms))

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """Is one?"""
        return any(f.is_joint for f in self.losses)

    @property
    def pieces(self) -> Pieces | None:  # type: ignore[override]
        """Those of all, if all have them."""
        total = None
        for c, f in self._terms:
            if f.pieces is None:
                return None
            total = f.pieces.times(c) if total is None else total.plus(f.pieces.times(c))
        return total


class excess(ConvexLoss):
    """αF(u) − φ(F(u) − G(u)), with F = factor·plus, G = minus and α = φ'(0): convex.

    It is sup_t [(α − φ'(t))·F(u) + φ'(t)·G(u) + const], with 0 ≤ φ' ≤ α.

    Parameters
    ----------
    outer : Transform
        φ, with a finite slope at 0.
    factor : float
    plus : ConvexLoss
    minus : ConvexLoss, optional

    Examples
    --------
    What the cap takes off a hinge:

    >>> from dcprog.losses import excess, hinge
    >>> from dcprog.transforms import cap_at
    >>> excess(cap_at(1.0), 1.0, hinge())([-1.0, 0.5])
    array([1., 0.])
    """

    lower = -np.inf

    def __init__(
        self,
        outer: Transform,
        factor: float,
        plus: ConvexLoss,
        minus: ConvexLoss | None = None,
    ) -> None:
        self.outer = outer
        self.factor = factor
        self.plus = plus
        self.minus = minus

    def _inside(self, u: npt.ArrayLike) -> Array:
        plus = self.factor * self.plus(u)
        return plus if self.minus is None else plus - self.minus(u)

    def __call__(self, u: npt.ArrayLike) -> Array:
        """αF − φ(F − G)."""
        return self.outer.steepest * self.factor * self.plus(u) - self.outer(self._inside(u))

    def slope(self, u: npt.ArrayLike) -> Array:
        """(α − φ')F' + φ'G', with the slope φ' at F − G."""
        rate = self.outer.slope(self._inside(u))
        slope = (self.outer.steepest - rate) * self.factor * self.plus.slope(u)
        return slope if self.minus is None else slope + rate * self.minus.slope(u)

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``alpha * F - phi(F - G)``: of the right value, of a curvature cvxpy cannot see."""
        plus = self.factor * self.plus.expression(u)
        inside = plus if self.minus is None else plus - self.minus.expression(u)
        outer = self.outer.expression(inside)
        return self.outer.steepest * (cp.sum(plus) if self.is_joint else plus) - outer

    @property
    def has_expression(self) -> bool:  # type: ignore[override]
        """Have all parts?"""
        parts = [self.outer, self.plus] + ([] if self.minus is None else [self.minus])
        return all(part.has_expression for part in parts)

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """Is φ?"""
        return self.outer.is_joint


def combination(terms: Sequence[tuple[float, ConvexLoss | None]]) -> ConvexLoss | None:
    """Σ factor·loss, written as simply as it can be; None if no term is left."""
    flat: list[tuple[float, ConvexLoss]] = []
    for c, f in terms:
        if isinstance(f, convex_sum):
            flat += [(c * d, g) for d, g in f._terms]
        elif f is not None:
            flat.append((c, f))
    if not flat:
        return None
    if len(flat) == 1 and flat[0][0] == 1:
        return flat[0][1]
    return convex_sum(tuple(f for _, f in flat), tuple(c for c, _ in flat))
