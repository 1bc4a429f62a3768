"""The base classes of losses: a concave function of a convex loss, minus a convex loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import Declared, advice
from dcprog.losses.piecewise_quadratic import Pieces
from dcprog.transforms import Transform, identity

__all__ = ["OPERATIONS", "ConvexLoss", "Loss", "check_is_loss"]

# The classes that implement +, −, · and changes of units subclass Loss; their modules import this
# one and register them here, which avoids circular imports.
OPERATIONS: dict[str, Callable[..., Any]] = {}


class Loss(Declared, ABC):
    """ℓ(u) = φ(base(u)) − subtracted(u), of the margin u = y·f(x) or the residual u = y − f(x).

    A subclass defines `base` and, if needed, `transform` and `subtracted`; everything else is
    derived. Its majorant at u is φ'(base(u))·base − subtracted'(u)·id, up to a constant.

    Losses can be added and multiplied by positive numbers, and a convex loss can be subtracted.

    Examples
    --------
    >>> from dcprog.losses import Loss, hinge
    >>> from dcprog.transforms import log_of
    >>> class log_hinge(Loss):
    ...     base = hinge()
    ...     transform = log_of(2.0)
    >>> log_hinge().surrogate([-1.0, 2.0])
    (array([0.5, 1. ]), array([0., 0.]))
    """

    __array_ufunc__ = None  # a NumPy number times a loss is a loss, not an object array

    @property
    @abstractmethod
    def base(self) -> ConvexLoss:
        """The convex loss whose weighted sum a subproblem minimises."""

    @property
    def transform(self) -> Transform:
        """The concave nondecreasing function φ; the identity by default."""
        return identity()

    @property
    def subtracted(self) -> ConvexLoss | None:
        """The convex loss that a subproblem replaces by its tangent, if any."""
        return None

    def __call__(self, u: npt.ArrayLike) -> Array:
        """The values of the loss, entry by entry."""
        value = self.transform(self.base(u))
        return value if self.subtracted is None else value - self.subtracted(u)

    def slope(self, u: npt.ArrayLike) -> Array:
        """The slope of the majorant at u, entry by entry; the derivative where it exists."""
        weight, tilt = self.surrogate(u)
        return weight * self.base.slope(u) + tilt

    def expression(self, u: cp.Expression) -> cp.Expression:
        """The loss of a cvxpy expression, entry by entry; the sum for a trimmed one.

        Raises
        ------
        ValueError
            The loss has no cvxpy expression (see `has_expression`).
        """
        value = self.transform.expression(self.base.expression(u))
        return value if self.subtracted is None else value - self.subtracted.expression(u)

    @property
    def has_expression(self) -> bool:
        """True if the loss has a cvxpy expression."""
        parts: list[Any] = [self.base, self.transform]
        parts += [] if self.subtracted is None else [self.subtracted]
        return all(part.has_expression for part in parts)

    def surrogate(self, u: npt.ArrayLike, edge: float = EDGE) -> tuple[Array, Array]:
        """The weight and tilt of the convex majorant that touches the loss at u.

        Parameters
        ----------
        u : array
        edge : float, default 1e-10
            If φ'(0) is infinite, losses below `edge` use the slope at `edge`; there the majorant
            lies above the loss by at most φ(edge) − φ(0).

        Returns
        -------
        weight, tilt : arrays
            weight·base(v) + tilt·v + const ≥ ℓ(v) for all v, with equality at v = u. For a trimmed
            loss this holds for the sums over all entries.
        """
        u = np.asarray(u, dtype=float)
        weight = np.asarray(self.transform.extended(edge).slope(self.base(u)))
        return weight, np.zeros_like(u) if self.subtracted is None else -self.subtracted.slope(u)

    @property
    def is_convex(self) -> bool:
        """True if the loss is a positive multiple of its convex base."""
        return self.subtracted is None and self.transform.is_linear

    @property
    def is_joint(self) -> bool:
        """True if an entry depends on all entries of u, as in a trimmed loss."""
        rest = self.subtracted
        return self.transform.is_joint or (rest is not None and rest.is_joint)

    @property
    def bound(self) -> float:
        """The supremum or the best known upper bound, possibly ∞."""
        return self._extremes()[1]

    @property
    def lower(self) -> float:
        """The infimum or the best known lower bound."""
        return self._extremes()[0]

    @property
    def pieces(self) -> Pieces | None:
        """The pieces of a piecewise quadratic loss, None for other losses."""
        parts = self.base.pieces
        if parts is None or not self.transform.is_linear:
            return None
        parts = parts.times(self.transform.steepest)
        if self.subtracted is None:
            return parts
        other = self.subtracted.pieces
        return None if other is None else parts.plus(other.times(-1.0))

    def _extremes(self) -> tuple[float, float]:
        low, high = float(self.transform(self.base.lower)), self.transform.up_to(self.base.bound)
        if self.subtracted is None:
            return low, high
        if self.pieces is not None:
            return self.pieces.extremes()
        return low - self.subtracted.bound, high - self.subtracted.lower

    def __add__(self, other: Any) -> Loss:
        return OPERATIONS["added"](self, other) if isinstance(other, Loss) else NotImplemented

    def __radd__(self, other: Any) -> Loss:
        return self if other == 0 else NotImplemented  # the start of Python's sum()

    def __sub__(self, other: Any) -> Loss:
        return OPERATIONS["difference"](self, other) if isinstance(other, Loss) else NotImplemented

    def __mul__(self, factor: Any) -> Loss:
        return NotImplemented if isinstance(factor, Loss) else OPERATIONS["scaled"](factor, self)

    __rmul__ = __mul__


class ConvexLoss(Loss):
    """A convex function of one number, given by its value, its slope and its cvxpy expression.

    At a kink the slope is the subgradient of smallest size, so that a sample exactly at its margin
    exerts no force. Without an expression only Newton's method can be used, which requires
    `is_smooth`.

    Attributes
    ----------
    bound, lower : float
        The supremum and the infimum; ∞ and 0 unless a subclass sets them.
    is_smooth : bool
        Whether the loss has a continuous slope and a :meth:`curvature`.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import dcprog as dc
    >>> class quartic(dc.ConvexLoss):
    ...     def __call__(self, u):
    ...         return u**4
    ...     def slope(self, u):
    ...         return 4 * u**3
    ...     def expression(self, u):
    ...         return cp.power(u, 4)
    >>> dc.check_loss(dc.cap(quartic(), 2.0))
    """

    bound: float = np.inf
    lower: float = 0.0
    pieces: Pieces | None = None
    is_joint: bool = False
    is_smooth = False

    @abstractmethod
    def __call__(self, u: npt.ArrayLike) -> Array:
        """The values of the loss, entry by entry."""

    @abstractmethod
    def slope(self, u: npt.ArrayLike) -> Array:
        """A subgradient, entry by entry."""

    def expression(self, u: cp.Expression) -> cp.Expression:
        """The loss of a cvxpy expression, entry by entry.

        Raises
        ------
        ValueError
            The subclass does not define it.
        """
        raise ValueError(f"{self!r} has no cvxpy expression; Newton's method does without")

    @property
    def has_expression(self) -> bool:
        """True if the loss has a cvxpy expression; by default, if its class defines one."""
        return type(self).expression is not ConvexLoss.expression

    def curvature(self, u: npt.ArrayLike) -> Array:
        """The second derivative, entry by entry; the smaller one where it jumps, 0 at kinks.

        The default is 0 for piecewise linear losses, which have `pieces` without quadratic terms.

        Raises
        ------
        NotImplementedError
            The subclass does not define it.
        """
        if self.pieces is not None and not any(self.pieces.quadratic):
            return np.zeros(np.shape(u))
        raise NotImplementedError(
            f"{self!r} defines no curvature(u), which Newton's method needs; add it, or take a "
            "solver that does without"
        )

    @property
    def softer(self) -> ConvexLoss | None:
        """A smoother nearby loss whose solution is a good start for this one's, or None."""
        return None

    def starting_at(self, s: float) -> ConvexLoss:
        """The loss shifted to start at s, which ``truncate`` subtracts.

        Raises
        ------
        NotMajorizable
            The loss has no start.
        """
        raise NotMajorizable(
            f"truncate({self!r}, {s!r})",
            "this base has no place where it starts, so it cannot be moved",
            f"cap({self!r}, level), or {self!r} - another convex loss",
        )

    def in_units(self, unit: float) -> tuple[ConvexLoss, float]:
        """The loss as a function of margins measured in another unit.

        Parameters
        ----------
        unit : float
            A positive number.

        Returns
        -------
        loss, factor : ConvexLoss, float
            They satisfy ``self(unit * u) == factor * loss(u)``.
        """
        return (self if unit == 1 else OPERATIONS["stretched"](self, unit)), 1.0

    @property
    def base(self) -> ConvexLoss:
        """The convex loss itself."""
        return self

    def surrogate(self, u: npt.ArrayLike, edge: float = EDGE) -> tuple[Array, Array]:
        """Weight 1 and tilt 0: a convex loss is its own majorant."""
        u = np.asarray(u, dtype=float)
        return np.ones_like(u), np.zeros_like(u)


def check_is_loss(name: str, loss: Any, kind: Any = Loss) -> None:
    """Raise TypeError unless the argument is a loss of the given kind.

    Raises
    ------
    TypeError
        The argument is not a loss, for example a class in place of an instance.
    """
    if isinstance(loss, kind):
        return
    wanted = "a convex loss" if kind is ConvexLoss else "a loss"
    raise TypeError(f"{name}={loss!r}: {wanted} is needed; {advice(loss, Loss, 'dc.hinge()')}")
