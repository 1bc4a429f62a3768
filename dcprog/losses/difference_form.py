"""A loss as a difference of convex functions, α·base − minus."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.losses.convex_operations import combination
from dcprog.losses.loss import ConvexLoss, Loss
from dcprog.transforms import Transform

__all__ = ["difference_form", "excess"]


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
    The difference of a hinge and the capped hinge:

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
        """``alpha * F - phi(F - G)``, whose convexity cvxpy cannot verify."""
        plus = self.factor * self.plus.expression(u)
        inside = plus if self.minus is None else plus - self.minus.expression(u)
        outer = self.outer.expression(inside)
        return self.outer.steepest * (cp.sum(plus) if self.is_joint else plus) - outer

    @property
    def has_expression(self) -> bool:
        """True if all parts have a cvxpy expression."""
        minus = self.minus is None or self.minus.has_expression
        return self.outer.has_expression and self.plus.has_expression and minus

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if φ is joint."""
        return self.outer.is_joint


def difference_form(loss: Loss) -> tuple[float, ConvexLoss, ConvexLoss | None]:
    """Write a loss as α·base − minus with α = φ'(0).

    α·base − φ(base) is convex: its slope α − φ' is nonnegative and increases with base ≥ 0. Sums
    of losses and concave functions of differences use this form.

    Parameters
    ----------
    loss : Loss

    Returns
    -------
    alpha : float
    base, minus : ConvexLoss
        `minus` is None if nothing is subtracted.

    Raises
    ------
    NotMajorizable
        α is infinite.
    """
    alpha = loss.transform.steepest
    if not np.isfinite(alpha):
        raise NotMajorizable(
            repr(loss),
            "its slope at 0 is infinite, so it is no difference of convex functions",
            "a smoothed one, such as power(loss, p, delta=1e-3)",
        )
    if loss.transform.is_linear:
        return alpha, loss.base, loss.subtracted
    rest = excess(loss.transform, 1.0, loss.base)
    return alpha, loss.base, combination([(1.0, rest), (1.0, loss.subtracted)])
