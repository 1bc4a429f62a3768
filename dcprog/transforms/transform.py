"""Concave transforms of a loss: the base class, multiples, sums and compositions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import Declared, check_number, parts_of
from dcprog.foundation.regularity import LINEAR, UNKNOWN, Regularity

__all__ = [
    "Transform",
    "chain",
    "chain_of",
    "check_is_transform",
    "extended_from",
    "identity",
    "perspective_of",
    "scale_by",
    "sum_of",
]


class Transform(Declared, ABC):
    """A function φ that is concave and nondecreasing on t ≥ 0.

    By concavity φ(t) ≤ φ(t₀) + φ'(t₀)(t − t₀), so the slope at t₀ is the weight of a convex
    majorant. At a kink the larger slope is taken, because a run may not leave a weight of 0.

    A subclass defines values and slopes, `limit` if φ is bounded, and an expression if cvxpy has
    the atoms.

    Attributes
    ----------
    limit : float
        The supremum of φ, a bound of the transformed losses; ∞ unless a subclass sets it.
    rounds : int
        The number of majorant updates in which the transform adapts to the current losses.
    lowest : float
        The lower end of the domain of φ: 0, or −∞.
    is_linear : bool
        Whether φ(t) = c·t.
    is_joint : bool
        Whether an entry of φ(t) depends on all losses; the sum of φ(t) is then concave.
    regularity : Regularity
        What theorems on convergence may rest on; nothing unless a subclass says so.
    no_expression : str
        The reason why there is no cvxpy expression, if there is none.

    Examples
    --------
    >>> import dcprog as dc
    >>> class share(dc.Transform):
    ...     limit = 1.0
    ...     def __call__(self, t):
    ...         return t / (1 + t)
    ...     def slope(self, t):
    ...         return 1 / (1 + t) ** 2
    >>> geman_mcclure = dc.compose(share(), dc.square())
    >>> geman_mcclure.bound
    1.0
    >>> dc.check_loss(geman_mcclure)
    """

    limit: float = np.inf
    rounds = 0
    lowest = 0.0
    is_linear = False
    is_joint = False
    regularity = UNKNOWN
    no_expression = "its class states none"

    @abstractmethod
    def __call__(self, t: npt.ArrayLike) -> Array:
        """The values φ(t), entry by entry."""

    @abstractmethod
    def slope(self, t: npt.ArrayLike) -> Array:
        """Supergradients of φ at t, entry by entry."""

    def expression(self, t: cp.Expression) -> cp.Expression:
        """The transform of a cvxpy expression, entry by entry; its sum if it is joint.

        Raises
        ------
        ValueError
            The transform has no cvxpy expression (see `has_expression`).
        """
        raise ValueError(
            f"{self!r} has no cvxpy expression: {self.no_expression}. Take the structured path "
            "(Risk, estimators)"
        )

    @property
    def has_expression(self) -> bool:
        """True if the transform has a cvxpy expression; by default, if its class defines one."""
        return type(self).expression is not Transform.expression

    def up_to(self, t: float) -> float:
        """The supremum of φ on [0, t]: φ(t), or the limit for t = ∞."""
        return float(self.limit if t == np.inf else np.max(self(t)))

    def fixed(self, t: Array) -> Transform:
        """The transform as the losses `t` fix it; itself if it does not adapt."""
        return self

    def of_groups(self, groups: npt.NDArray[Any] | None) -> Transform:
        """The transform of some of the losses, given by a mask or by places; None: of all.

        Only caps that differ between the losses make a difference.
        """
        before = self.get_params(deep=False)
        now = {k: v.of_groups(groups) for k, v in before.items() if isinstance(v, Transform)}
        if all(value is before[name] for name, value in now.items()):
            return self
        return type(self)(**before | now)

    @property
    def steepest(self) -> float:
        """The largest slope φ'(0), possibly infinite."""
        with np.errstate(all="ignore"):  # for an array 1/0 is infinite, not an error
            return float(self.slope(np.zeros(())))

    def extended(self, edge: float = EDGE) -> Transform:
        """The transform, replaced by its tangent at `edge` below `edge` if φ'(0) is infinite.

        It is concave, nondecreasing and nowhere below φ, so its tangents are majorants of φ. They
        touch φ at every t₀ ≥ edge, and miss it by φ(edge) − edge·φ'(edge) − φ(0) at t₀ = 0.
        """
        return self if np.isfinite(self.steepest) else extended_from(self, edge)

    def graduated(self, s: float) -> Transform:
        """The perspective of φ: nearly linear for large s, and φ itself for s = 1.

        φ_s(t) = s·φ(t/s) is concave and nondecreasing, its slope is φ'(t/s), and for s → ∞ it
        tends to φ'(0)·t + s·φ(0). Joint transforms, which are their own perspectives, divide the
        share of losses that they drop or cap by s instead.

        Parameters
        ----------
        s : float
            At least 1.

        Examples
        --------
        >>> from dcprog.transforms import cap_at
        >>> cap_at(1.0).graduated(4.0)([0.5, 3.0, 9.0])
        array([0.5, 3. , 4. ])

        References
        ----------
        Blake, Zisserman (1987), Visual Reconstruction: graduated non-convexity.
        """
        return self if s == 1 or self.is_linear else perspective_of(self, s)


class identity(Transform):
    """φ(t) = t."""

    lowest = -np.inf
    is_linear = True
    regularity = LINEAR

    def __call__(self, t: npt.ArrayLike) -> Array:
        """The losses themselves."""
        return np.asarray(t, dtype=float)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The constant slope 1."""
        return np.ones_like(np.asarray(t, dtype=float))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """The expression itself."""
        return t


class _Composite(Transform):
    """A transform that is made of others."""

    made_of: ClassVar[tuple[str, ...]] = ()

    @property
    def has_expression(self) -> bool:
        """True if the class defines a cvxpy expression and all parts have one."""
        return super().has_expression and all(part.has_expression for part in parts_of(self))

    @property
    def is_joint(self) -> bool:  # type: ignore[override]
        """True if a part is joint."""
        return any(part.is_joint for part in parts_of(self))

    @property
    def regularity(self) -> Regularity:  # type: ignore[override]
        """The facts that hold for all parts."""
        return Regularity.of_all(part.regularity for part in parts_of(self))

    @property
    def is_linear(self) -> bool:  # type: ignore[override]
        """True if all parts are linear."""
        return all(part.is_linear for part in parts_of(self))

    @property
    def lowest(self) -> float:  # type: ignore[override]
        """The lower end of the domain: 0 if a part is defined from 0 on only."""
        return max(part.lowest for part in parts_of(self))


class extended_from(_Composite):
    """φ(t) for t ≥ `edge`, and its tangent φ(edge) + φ'(edge)(t − edge) below.

    Parameters
    ----------
    transform : Transform
        φ, whose slope at 0 may be infinite.
    edge : float, default 1e-10
        A positive number.

    Examples
    --------
    >>> from dcprog.transforms import extended_from, power_of
    >>> extended_from(power_of(0.5), 0.25).slope([0.0, 0.25, 1.0])
    array([1. , 1. , 0.5])
    """

    made_of = ("transform",)
    no_expression = "cvxpy's path takes that of the transform itself"

    def __init__(self, transform: Transform, edge: float = EDGE) -> None:
        self.transform = transform
        self.edge = edge

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The limit of φ."""
        return self.transform.limit

    def __call__(self, t: npt.ArrayLike) -> Array:
        """φ(max(t, edge)) − φ'(edge)·(edge − t)₊."""
        t = np.asarray(t, dtype=float)
        inside, short = np.maximum(t, self.edge), np.maximum(self.edge - t, 0.0)
        return self.transform(inside) - self.transform.slope(inside) * short

    def slope(self, t: npt.ArrayLike) -> Array:
        """φ'(max(t, edge))."""
        return self.transform.slope(np.maximum(np.asarray(t, dtype=float), self.edge))


class perspective_of(_Composite):
    """φ_s(t) = s·φ(t/s), with the slope φ'(t/s); it becomes more linear as s grows.

    Parameters
    ----------
    transform : Transform
        φ.
    s : float
        A positive number.

    Raises
    ------
    TypeError, ValueError
        s is not a positive number, or φ is not a transform.

    Examples
    --------
    >>> from dcprog.transforms import perspective_of, power_of
    >>> perspective_of(power_of(0.5), 4.0)([1.0, 4.0])  # 4·√(t/4)
    array([2., 4.])
    """

    made_of = ("transform",)

    def __init__(self, transform: Transform, s: float) -> None:
        check_is_transform("transform", transform)
        self.s = check_number("s", s, 0)
        self.transform = transform

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The limit of φ times s."""
        return self.s * self.transform.limit

    @property
    def steepest(self) -> float:
        """φ'(0)."""
        return self.transform.steepest

    def __call__(self, t: npt.ArrayLike) -> Array:
        """s·φ(t/s)."""
        return self.s * self.transform(np.asarray(t, dtype=float) / self.s)

    def slope(self, t: npt.ArrayLike) -> Array:
        """φ'(t/s)."""
        return self.transform.slope(np.asarray(t, dtype=float) / self.s)

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``s * phi(t / s)``."""
        return self.s * self.transform.expression(t / self.s)


def check_is_transform(name: str, transform: object) -> None:
    """Raise TypeError unless the argument is a transform.

    Raises
    ------
    TypeError
        The argument is not a transform.
    """
    if not isinstance(transform, Transform):
        raise TypeError(f"{name}={transform!r}: a transform is needed, such as power_of(0.5)")


# ----------------------------------------------------------------------------------------------
# multiples, sums and compositions


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
    regularity = LINEAR

    def __init__(self, factor: float) -> None:
        self.factor = check_number("factor", factor, 0)

    def __call__(self, t: npt.ArrayLike) -> Array:
        """factor·t."""
        return self.factor * np.asarray(t, dtype=float)

    def slope(self, t: npt.ArrayLike) -> Array:
        """The constant slope, which is the factor."""
        return np.full(np.shape(t), float(self.factor))

    def expression(self, t: cp.Expression) -> cp.Expression:
        """``factor * t``."""
        return self.factor * t


class sum_of(_Composite):
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

    made_of = ("first", "second")

    def __init__(self, first: Transform, second: Transform) -> None:
        self.first = first
        self.second = second

    @property
    def limit(self) -> float:  # type: ignore[override]
        """The sum of the limits."""
        return self.first.limit + self.second.limit

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


class chain_of(_Composite):
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

    made_of = ("outer", "inner")

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
