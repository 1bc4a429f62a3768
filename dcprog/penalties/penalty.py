"""The base class of penalties, sums of penalties, and changes of units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.parameters import Declared, check_number
from dcprog.foundation.regularity import UNKNOWN, Regularity


@dataclass(frozen=True)
class Parts:
    """A penalty as Σ_j l1_j|w_j| + (ridge/2)‖w‖² + groups + concave + others.

    Attributes
    ----------
    l1 : float or array
        One weight, or one per coefficient.
    ridge : float
    groups : tuple of group_lasso
    concave : tuple of Penalty
        Sums Σ_j ψ(|w_j|) with concave ψ, each with ``of_size`` for ψ.
    others : tuple of Penalty
        Penalties of any other form.
    """

    l1: Any = 0.0
    ridge: float = 0.0
    groups: tuple[Any, ...] = ()
    concave: tuple[Any, ...] = ()
    others: tuple[Penalty, ...] = ()

    def __add__(self, other: Parts) -> Parts:
        return Parts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Parts)))

    @property
    def is_elastic(self) -> bool:
        """True if the convex part is an elastic net: Σ_j l1_j|w_j| + (ridge/2)‖w‖²."""
        return not (self.groups or self.others)

    @property
    def ridge_alone(self) -> float | None:
        """λ if the penalty is (λ/2)‖w‖² and nothing else, otherwise None."""
        alone = self.is_elastic and not self.concave and not np.any(self.l1)
        return self.ridge if alone else None


class Penalty(Declared, ABC):
    """A function of the penalised coefficients w, given by its value and slope.

    Penalties can be added and multiplied by positive numbers. A subclass that defines only value,
    slope and expression is treated as convex, and its subproblems are solved by cvxpy. A nonconvex
    penalty is majorised by its convex part plus a weighted ℓ1 norm, Σ_j weights_j |w_j|; of such a
    norm alone every solver takes the majorant, without an expression. A penalty that is concave in
    the sizes |w_j| is a subclass of ``dcprog.penalties.ConcavePenalty``, of two functions of them.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> import dcprog as dc
    >>> class largest(dc.Penalty):
    ...     def __call__(self, w):
    ...         return np.max(np.abs(w))
    ...     def slope(self, w):
    ...         return np.sign(w) * (np.arange(w.size) == np.argmax(np.abs(w)))
    ...     def expression(self, w):
    ...         return cp.norm_inf(w)
    >>> dc.check_penalty(0.5 * largest() + dc.l2(1.0))
    """

    __array_ufunc__ = None  # a NumPy number times a penalty is a penalty, not an object array

    @abstractmethod
    def __call__(self, w: Array) -> float:
        """The value of the penalty."""

    @abstractmethod
    def slope(self, w: Array) -> Array:
        """A subgradient, with entry 0 where w_j = 0 is a kink."""

    def expression(self, w: cp.Expression) -> cp.Expression:
        """The penalty of a cvxpy expression.

        Raises
        ------
        ValueError
            The penalty has no cvxpy expression (see `has_expression`).
        """
        raise ValueError(f"{self!r} has no cvxpy expression")

    @property
    def has_expression(self) -> bool:
        """True if the penalty has a cvxpy expression: if its class, or its parts, define one."""
        return type(self).expression is not Penalty.expression

    @property
    def is_convex(self) -> bool:
        """True if the penalty is convex, and hence its own majorant."""
        return True

    @property
    def convex_part(self) -> Penalty | None:
        """The convex part, which a majorant keeps unchanged; None if there is none."""
        return self

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """The ℓ1 weights of the majorant that touches at w, of w's shape; 0 if convex."""
        return np.zeros(np.shape(w))

    def surrogate(self, w: npt.ArrayLike, edge: float = EDGE) -> Penalty:
        """The convex majorant of this penalty that touches it at w, up to a constant.

        It is ``convex_part + weighted_l1(weights(w))``, or the penalty itself if that is convex. If
        the slope at 0 is infinite, coefficients smaller than `edge` use the slope at `edge`.
        """
        if self.is_convex:
            return self
        weighted = weighted_l1(self.weights(w, edge))
        return weighted if self.convex_part is None else self.convex_part + weighted

    def expression_with(
        self, w: cp.Expression, weights: cp.Expression | npt.ArrayLike
    ) -> cp.Expression:
        """The majorant as a cvxpy expression: the convex part plus Σ weights_j |w_j|.

        With ``weights = cp.Parameter(w.size, nonneg=True)`` a problem compiles only once;
        ``weights.value = penalty.weights(w.value)`` then updates the majorant.
        """
        if self.is_convex:
            return self.expression(w)
        total = cp.sum(cp.multiply(weights, cp.abs(w)))
        return total if self.convex_part is None else self.convex_part.expression(w) + total

    def extended(self, edge: float = EDGE) -> Penalty:
        """The penalty with finite slopes, which the majorants with this `edge` touch exactly."""
        return self

    def parts(self) -> Parts:
        """The penalty as a sum of parts of known form and of others."""
        return Parts(others=(self,))

    def along(self, w: Array, way: Array) -> Callable[[float], float]:
        """The penalty of w + t·way as a function of t."""
        return lambda t: self(w + t * way)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """factor·penalty(unit·w), for coefficients measured in another unit; both positive."""
        return self if unit == factor == 1 else penalty_in_units(self, unit, factor)

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """The distance of each entry from a kink at 0: |w_j| or its group's norm; ∞ without one."""
        w, parts = np.asarray(w, dtype=float), self.parts()
        slopes = parts.l1 + sum(concave.weights(np.zeros(w.shape)) for concave in parts.concave)
        sizes = np.where(slopes > 0, np.abs(w), np.inf)
        for penalty in parts.groups:
            for g in penalty.members(w.size) if penalty.lam > 0 else ():
                sizes[g] = np.minimum(sizes[g], np.linalg.norm(w[g]))
        return sizes

    def __add__(self, other: Any) -> Penalty:
        return penalty_sum(self, other) if isinstance(other, Penalty) else NotImplemented

    def __radd__(self, other: Any) -> Penalty:
        return self if other == 0 else NotImplemented  # the start of Python's sum()

    def __mul__(self, factor: Any) -> Penalty:
        if isinstance(factor, Penalty):
            return NotImplemented
        check_number("factor", factor, 0)
        return self.in_units(1.0, factor)

    __rmul__ = __mul__


class weighted_l1(Penalty):
    """Σ_j v_j |w_j|, the majorant of a concave penalty.

    Parameters
    ----------
    v : array
        One weight of at least 0 per coefficient.

    Raises
    ------
    ValueError
        A weight is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import weighted_l1
    >>> weighted_l1([1.0, 3.0])(np.array([1.0, -2.0]))
    7.0
    """

    def __init__(self, v: npt.ArrayLike) -> None:
        array = np.asarray(v, dtype=float)
        if not np.all((array >= 0) & np.isfinite(array)):
            raise ValueError(f"v={v!r}: finite weights of at least 0 are needed")
        self.v = v

    def __call__(self, w: Array) -> float:
        """Σ v_j |w_j|."""
        return float(np.sum(np.asarray(self.v) * np.abs(w)))

    def slope(self, w: Array) -> Array:
        """v_j sign(w_j)."""
        return np.asarray(self.v) * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``sum(multiply(v, abs(w)))``."""
        return cp.sum(cp.multiply(np.asarray(self.v, dtype=float), cp.abs(w)))

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The penalty with the weights factor·unit·v."""
        return weighted_l1(factor * unit * np.asarray(self.v))

    def parts(self) -> Parts:
        """The ℓ1 weights v."""
        return Parts(l1=np.asarray(self.v, dtype=float))


class penalty_sum(Penalty):
    """first(w) + second(w), written ``first + second``.

    Parameters
    ----------
    first, second : Penalty

    Raises
    ------
    TypeError
        One of them is not a penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l2, mcp
    >>> (mcp(1.0, 3.0) + l2(0.5)).weights(np.array([0.0, 1.5, 9.0]))
    array([1. , 0.5, 0. ])
    """

    def __init__(self, first: Penalty, second: Penalty) -> None:
        for name, penalty in (("first", first), ("second", second)):
            if not isinstance(penalty, Penalty):
                raise TypeError(f"{name}={penalty!r}: a penalty is needed, such as l2(1.0)")
        self.first = first
        self.second = second

    @property
    def has_expression(self) -> bool:
        """True if both penalties have a cvxpy expression."""
        return self.first.has_expression and self.second.has_expression

    @property
    def is_convex(self) -> bool:
        """True if both penalties are convex."""
        return self.first.is_convex and self.second.is_convex

    @property
    def convex_part(self) -> Penalty | None:
        """The sum of both convex parts; None if neither has one."""
        if self.is_convex:
            return self
        parts = [p for p in (self.first.convex_part, self.second.convex_part) if p is not None]
        return penalty_sum(*parts) if len(parts) == 2 else next(iter(parts), None)

    def __call__(self, w: Array) -> float:
        """first(w) + second(w)."""
        return self.first(w) + self.second(w)

    def slope(self, w: Array) -> Array:
        """The sum of the slopes."""
        return self.first.slope(w) + self.second.slope(w)

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """The sum of the weights."""
        return self.first.weights(w, edge) + self.second.weights(w, edge)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``first + second``."""
        return self.first.expression(w) + self.second.expression(w)

    def extended(self, edge: float = EDGE) -> Penalty:
        """The sum of both extended penalties."""
        return penalty_sum(self.first.extended(edge), self.second.extended(edge))

    def parts(self) -> Parts:
        """The parts of both penalties."""
        return self.first.parts() + self.second.parts()

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The sum of both penalties in the unit."""
        return penalty_sum(self.first.in_units(unit, factor), self.second.in_units(unit, factor))


class penalty_in_units(Penalty):
    """factor·penalty(unit·w) with positive numbers; ``factor * penalty`` if the unit is 1."""

    def __init__(self, penalty: Penalty, unit: float, factor: float) -> None:
        self.penalty = penalty
        self.unit = unit
        self.factor = factor

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The inner penalty with the product of both units and of both factors."""
        return self.penalty.in_units(unit * self.unit, factor * self.factor)

    @property
    def has_expression(self) -> bool:
        """True if the inner penalty has a cvxpy expression."""
        return self.penalty.has_expression

    @property
    def is_convex(self) -> bool:
        """True if the inner penalty is convex."""
        return self.penalty.is_convex

    @property
    def convex_part(self) -> Penalty | None:
        """The convex part of the inner penalty, in the unit."""
        part = self.penalty.convex_part
        return None if part is None else part.in_units(self.unit, self.factor)

    def __call__(self, w: Array) -> float:
        """factor·penalty(unit·w)."""
        return self.factor * self.penalty(self.unit * w)

    def slope(self, w: Array) -> Array:
        """factor·unit·slope."""
        return self.factor * self.unit * self.penalty.slope(self.unit * w)

    def weights(self, w: npt.ArrayLike, edge: float = EDGE) -> Array:
        """factor·unit·weights."""
        weights = self.penalty.weights(self.unit * np.asarray(w, dtype=float), self.unit * edge)
        return self.factor * self.unit * weights

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``factor * penalty``."""
        return self.factor * self.penalty.expression(self.unit * w)

    def extended(self, edge: float = EDGE) -> Penalty:
        """The extended inner penalty, in the unit."""
        return penalty_in_units(self.penalty.extended(self.unit * edge), self.unit, self.factor)

    @property
    def regularity(self) -> Regularity:
        """The facts about the ψ of a concave inner penalty."""
        return getattr(self.penalty, "regularity", UNKNOWN)

    def of_size(self, t: Array) -> Array:
        """factor·ψ(unit·t), for a concave inner penalty."""
        inner: Any = self.penalty
        return self.factor * inner.of_size(self.unit * t)

    def parts(self) -> Parts:
        """The penalty itself, as a concave part if the inner penalty is one."""
        return Parts(concave=(self,)) if self.penalty.parts().concave else Parts(others=(self,))
