"""Operations on convex losses: sums, squares, and changes of units."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.losses.loss import OPERATIONS, ConvexLoss, check_is_loss
from dcprog.losses.piecewise_quadratic import Pieces

__all__ = ["combination", "convex_sum", "squared", "stretched"]


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

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The sum of the losses in the unit, and the first loss's factor as the common factor."""
        parts = [(c, *f.in_units(unit)) for c, f in self._terms]
        common = parts[0][2]
        factors = tuple(c * factor / common for c, _, factor in parts)
        return convex_sum(tuple(f for _, f, _ in parts), factors), common

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """True if all losses are smooth."""
        return all(f.is_smooth for f in self.losses)

    @property
    def has_expression(self) -> bool:
        """True if all losses have a cvxpy expression."""
        return all(f.has_expression for f in self.losses)

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The infimum, exact for piecewise quadratics; otherwise the sum of the infima."""
        if self.pieces is not None:
            return self.pieces.extremes()[0]
        return float(sum(c * f.lower for c, f in self._terms))

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if one of the losses is joint."""
        return any(f.is_joint for f in self.losses)

    @property
    def pieces(self) -> Pieces | None:  # type: ignore[override]
        """The pieces of the sum, None unless all losses have pieces."""
        total = None
        for c, f in self._terms:
            if f.pieces is None:
                return None
            total = f.pieces.times(c) if total is None else total.plus(f.pieces.times(c))
        return total


class squared(ConvexLoss):
    """loss(u)², the square of a nonnegative convex loss.

    Parameters
    ----------
    loss : ConvexLoss
        A loss with ``lower`` ≥ 0.

    Raises
    ------
    TypeError
        `loss` is not a convex loss.
    ValueError
        The loss may be negative; its square need not be convex.

    Examples
    --------
    The loss of the smooth support vector machine of Lee and Mangasarian (2001), Comput. Optim.
    Appl. 20, which is half of

    >>> from dcprog.losses import sigmoid_hinge, squared
    >>> squared(sigmoid_hinge(5.0))([-1.0, 1.0]).round(3)
    array([4.   , 0.019])
    """

    def __init__(self, loss: ConvexLoss) -> None:
        check_is_loss("loss", loss, ConvexLoss)
        if not loss.lower >= 0:
            raise ValueError(f"loss={loss!r} may be negative: its square need not be convex")
        self.loss = loss

    def __call__(self, u: npt.ArrayLike) -> Array:
        """loss²."""
        return self.loss(u) ** 2

    def slope(self, u: npt.ArrayLike) -> Array:
        """2·loss·slope."""
        return 2 * self.loss(u) * self.loss.slope(u)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """2·(slope² + loss·curvature)."""
        return 2 * (self.loss.slope(u) ** 2 + self.loss(u) * self.loss.curvature(u))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """``square(loss)``."""
        return cp.square(self.loss.expression(u))

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The square of the loss in the unit, and the square of its factor."""
        loss, factor = self.loss.in_units(unit)
        return squared(loss), factor**2

    @property
    def softer(self) -> ConvexLoss | None:
        """The square of the loss's softer version, if there is one."""
        return None if self.loss.softer is None else squared(self.loss.softer)

    def starting_at(self, s: float) -> ConvexLoss:
        """The square of the loss that starts at s."""
        return squared(self.loss.starting_at(s))

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The square of the loss's bound."""
        return self.loss.bound**2

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The square of the loss's lower bound."""
        return self.loss.lower**2

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """True if the loss is smooth."""
        return self.loss.is_smooth

    @property
    def has_expression(self) -> bool:
        """True if the loss has a cvxpy expression."""
        return self.loss.has_expression


class stretched(ConvexLoss):
    """loss(unit·u): a loss of margins measured in another unit.

    Parameters
    ----------
    loss : ConvexLoss
    unit : float
        A positive number.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> from dcprog.losses.convex_operations import stretched
    >>> stretched(hinge(), 10.0)([0.0, 0.05])
    array([1. , 0.5])
    """

    def __init__(self, loss: ConvexLoss, unit: float) -> None:
        check_is_loss("loss", loss, ConvexLoss)
        check_number("unit", unit, 0)
        self.loss = loss
        self.unit = unit

    def __call__(self, u: npt.ArrayLike) -> Array:
        """The loss of unit·u."""
        return self.loss(self.unit * np.asarray(u, dtype=float))

    def slope(self, u: npt.ArrayLike) -> Array:
        """unit·slope."""
        return self.unit * self.loss.slope(self.unit * np.asarray(u, dtype=float))

    def curvature(self, u: npt.ArrayLike) -> Array:
        """unit²·curvature."""
        return self.unit**2 * self.loss.curvature(self.unit * np.asarray(u, dtype=float))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """The loss of ``unit * u``."""
        return self.loss.expression(self.unit * u)

    @property
    def softer(self) -> ConvexLoss | None:
        """The loss's softer version, stretched, if there is one."""
        return None if self.loss.softer is None else stretched(self.loss.softer, self.unit)

    @property
    def pieces(self) -> Pieces | None:  # type: ignore[override]
        """The loss's pieces, stretched, if it has any."""
        return None if self.loss.pieces is None else self.loss.pieces.of_multiple(self.unit)

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The bound of the loss."""
        return self.loss.bound

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The lower bound of the loss."""
        return self.loss.lower

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """True if the loss is smooth."""
        return self.loss.is_smooth

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if the loss is joint."""
        return self.loss.is_joint

    @property
    def has_expression(self) -> bool:
        """True if the loss has a cvxpy expression."""
        return self.loss.has_expression


OPERATIONS["stretched"] = stretched


def combination(terms: Sequence[tuple[float, ConvexLoss | None]]) -> ConvexLoss | None:
    """The simplest form of Σ factor·loss; None if all losses are None."""
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
