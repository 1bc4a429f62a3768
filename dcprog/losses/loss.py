"""Losses φ(base) − subtracted, convex losses, and their sums, differences and multiples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import Declared, advice, check_number, parts_of, same
from dcprog.foundation.regularity import UNKNOWN, Regularity
from dcprog.losses.piecewise_quadratic import Pieces
from dcprog.transforms import Transform, chain, identity, scale_by, sum_of

__all__ = [
    "ConvexLoss",
    "Loss",
    "added",
    "check_is_loss",
    "combination",
    "convex_sum",
    "difference",
    "difference_form",
    "excess",
    "scaled",
    "squared",
    "stretched",
]


DIFFERENCE = np.finfo(float).eps ** 0.5  # step of one-sided differences, for the least error


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
    made_of: ClassVar[tuple[str, ...]] = ("base", "transform", "subtracted")

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
        """True if the loss has a cvxpy expression: if all of its parts have one."""
        return all(part.has_expression for part in parts_of(self))

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
        """True if an entry depends on all entries of u, as in a trimmed loss or one made of it."""
        return any(part.is_joint for part in parts_of(self))

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
        return added(self, other) if isinstance(other, Loss) else NotImplemented

    def __radd__(self, other: Any) -> Loss:
        return self if other == 0 else NotImplemented  # the start of Python's sum()

    def __sub__(self, other: Any) -> Loss:
        return difference(self, other) if isinstance(other, Loss) else NotImplemented

    def __mul__(self, factor: Any) -> Loss:
        return NotImplemented if isinstance(factor, Loss) else scaled(factor, self)

    __rmul__ = __mul__


class ConvexLoss(Loss):
    """A convex function of one number, given by its value, its slope and its cvxpy expression.

    At a kink the slope is the subgradient of smallest size, so that a sample exactly at its margin
    exerts no force. A loss without an expression is minimised by Newton's method, which requires
    `is_smooth`; without a :meth:`curvature` of its own it takes differences of the slope.

    Attributes
    ----------
    bound, lower : float
        The supremum and the infimum; ∞ and 0 unless a subclass sets them.
    is_smooth : bool
        Whether the loss has a continuous slope.

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
    is_smooth = False
    made_of: ClassVar[tuple[str, ...]] = ()

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
        """True if the loss has a cvxpy expression: if its class defines one and its parts have."""
        defined = type(self).expression is not ConvexLoss.expression
        return defined and super().has_expression

    @property
    def regularity(self) -> Regularity:
        """What theorems on convergence may rest on: of losses with `pieces` all that these tell."""
        if self.pieces is None:
            return UNKNOWN
        return Regularity(not any(self.pieces.quadratic), self.is_smooth, is_subanalytic=True)

    def curvature(self, u: npt.ArrayLike) -> Array:
        """The second derivative, entry by entry; the smaller one where it jumps, 0 at kinks.

        The default is the smaller one of two differences of the slope, and 0 for piecewise linear
        losses, which have `pieces` without quadratic terms.

        Raises
        ------
        NotImplementedError
            The subclass neither defines it nor is smooth.
        """
        if self.pieces is not None and not any(self.pieces.quadratic):
            return np.zeros(np.shape(u))
        if not self.is_smooth:
            raise NotImplementedError(
                f"{self!r} defines no curvature(u) and does not declare is_smooth = True"
            )
        u = np.asarray(u, dtype=float)
        step = DIFFERENCE * (1 + np.abs(u))
        left, here, right = u - step, self.slope(u), u + step
        rises = (here - self.slope(left)) / (u - left), (self.slope(right) - here) / (right - u)
        return np.maximum(np.minimum(*rises), 0.0)

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
        return (self if unit == 1 else stretched(self, unit)), 1.0

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


# ----------------------------------------------------------------------------------------------
# operations on convex losses


class _OfConvex(ConvexLoss):
    """A convex loss made of convex losses, its parts."""

    @property
    def is_smooth(self) -> bool:  # type: ignore[override]
        """True if all parts are smooth."""
        return all(part.is_smooth for part in parts_of(self))

    @property
    def regularity(self) -> Regularity:
        """The facts that hold for all parts."""
        return Regularity.of_all(part.regularity for part in parts_of(self))


class convex_sum(_OfConvex):
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

    made_of = ("losses",)

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
    def lower(self) -> float:  # type: ignore[override]
        """The infimum, exact for piecewise quadratics; otherwise the sum of the infima."""
        if self.pieces is not None:
            return self.pieces.extremes()[0]
        return float(sum(c * f.lower for c, f in self._terms))

    @property
    def pieces(self) -> Pieces | None:  # type: ignore[override]
        """The pieces of the sum, None unless all losses have pieces."""
        total = None
        for c, f in self._terms:
            if f.pieces is None:
                return None
            total = f.pieces.times(c) if total is None else total.plus(f.pieces.times(c))
        return total


class squared(_OfConvex):
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

    made_of = ("loss",)

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
    def regularity(self) -> Regularity:
        """The facts about the loss, whose square is not piecewise linear."""
        return replace(self.loss.regularity, is_piecewise_linear=False)

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The square of the loss's bound."""
        return self.loss.bound**2

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The square of the loss's lower bound."""
        return self.loss.lower**2


class stretched(_OfConvex):
    """loss(unit·u): a loss of margins measured in another unit.

    Parameters
    ----------
    loss : ConvexLoss
    unit : float
        A positive number.

    Examples
    --------
    >>> from dcprog.losses import hinge
    >>> from dcprog.losses.loss import stretched
    >>> stretched(hinge(), 10.0)([0.0, 0.05])
    array([1. , 0.5])
    """

    made_of = ("loss",)

    def __init__(self, loss: ConvexLoss, unit: float) -> None:
        check_is_loss("loss", loss, ConvexLoss)
        self.unit = check_number("unit", unit, 0)
        self.loss = loss

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


# ----------------------------------------------------------------------------------------------
# differences of convex losses


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
    made_of = ("outer", "plus", "minus")

    def __init__(
        self, outer: Transform, factor: float, plus: ConvexLoss, minus: ConvexLoss | None = None
    ) -> None:
        self.outer = outer
        self.factor = factor
        self.plus = plus
        self.minus = minus

    @property
    def regularity(self) -> Regularity:
        """The facts that hold for all parts."""
        return Regularity.of_all(part.regularity for part in parts_of(self))

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


# ----------------------------------------------------------------------------------------------
# sums, differences and multiples


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

    made_of = ("loss",)

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

    made_of = ("first", "second")

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
        first, second = _of_one_shape(self.first, self.second, u)
        return first + second

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

    made_of = ("first", "second")

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
        first, second = _of_one_shape(self.first, self.second, u)
        return first - second


def _of_one_shape(
    first: Loss, second: Loss, u: cp.Expression
) -> tuple[cp.Expression, cp.Expression]:
    """The expressions of two losses; their sums over all entries if only one of them is a sum."""
    one, other = first.expression(u), second.expression(u)
    return (one, other) if one.shape == other.shape else (cp.sum(one), cp.sum(other))
