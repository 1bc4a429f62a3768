"""Concave functions of losses: capped, trimmed, rescaled, and those of robust statistics.

The formulas of each are in the transform that its class names with ``of=``. With
``0.5 * square()`` the losses of robust statistics are the classical functions of a residual.

References
----------
Wang (2024), Unified robust estimation, Australian & New Zealand Journal of Statistics 66.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from numbers import Real
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.foundation.parameters import check_number
from dcprog.losses.convex import (
    SmoothHinge,
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    logistic,
    pinball,
    square,
    squared_hinge,
)
from dcprog.losses.loss import ConvexLoss, Loss, check_is_loss, difference_form, excess, scaled
from dcprog.transforms import (
    Transform,
    andrews_by,
    cap_at,
    chain,
    erf_by,
    huberize_by,
    identity,
    log_of,
    log_ratio_by,
    power_of,
    rational_by,
    rescale_by,
    scale_by,
    trim_of,
    tukey_by,
    welsch_by,
)

__all__ = [
    "MARGIN_LOSSES",
    "RESIDUAL_LOSSES",
    "Composed",
    "andrews",
    "cap",
    "compose",
    "erf",
    "huberize",
    "is_of_residuals",
    "log",
    "log_ratio",
    "named_loss",
    "power",
    "rational",
    "rescale",
    "trim",
    "truncate",
    "tukey",
    "welsch",
]


class Composed(Loss):
    """outer(loss(u)) for a concave nondecreasing `outer`.

    A concave function of φ(base) is a concave function of base. A concave function of a difference
    φ(base) − g = F − G is again a difference, αF − (αF − outer(F − G)), if its slope α at 0 is
    finite.

    A subclass names the class of its transform, ``class welsch(Composed, of=welsch_by)``, and its
    constructor passes the transform's parameters to ``_declare`` under their own names.
    """

    loss: Loss
    made_of = ("outer", "loss")
    _of: ClassVar[type[Any]]
    _parameters: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls, of: type[Any] | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if of is not None:
            names = inspect.signature(cls).parameters
            cls._of, cls._parameters = of, tuple(n for n in names if n != "loss")
            cls.__init__ = _loss_first(cls.__init__)  # type: ignore[method-assign]

    @property
    def outer(self) -> Transform:
        """The concave function, built from the parameters."""
        return self._of(**{name: getattr(self, name) for name in self._parameters})

    def _declare(self, loss: Loss, **parameters: Any) -> None:
        """Set the loss and the parameters, and check that they can be composed."""
        check_is_loss("loss", loss)
        self.loss = loss
        for name, value in parameters.items():
            setattr(self, name, value)
        outer = self.outer
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
            difference_form(loss)
        else:
            raise NotMajorizable(
                repr(self),
                "its slope at 0 is infinite, and its inner loss subtracts a convex one",
                "a smoothed one, such as power(loss, p, delta=1e-3)",
            )

    @property
    def base(self) -> ConvexLoss:
        """The base of the inner loss."""
        return self.loss.base

    @property
    def transform(self) -> Transform:
        """outer∘φ, or a constant factor if the inner loss is a difference."""
        if self.loss.subtracted is None:
            return chain(self.outer, self.loss.transform)
        alpha = self.outer.steepest * difference_form(self.loss)[0]
        return identity() if alpha == 1 else scale_by(alpha)

    @property
    def subtracted(self) -> ConvexLoss | None:
        """αF − outer(F − G) if the inner loss is a difference F − G, otherwise None."""
        if self.loss.subtracted is None:
            return None
        return excess(self.outer, *difference_form(self.loss))

    def __call__(self, u: npt.ArrayLike) -> Array:
        """outer(loss(u))."""
        return self.outer(self.loss(u))

    def expression(self, u: cp.Expression) -> cp.Expression:
        """The outer expression of the inner expression."""
        inner = self.loss.expression(u)
        if self.outer.lowest >= 0 and not inner.is_nonneg():
            inner = cp.pos(inner)  # shows cvxpy that it is nonnegative; avoids a domain constraint
        return self.outer.expression(inner)

    def _extremes(self) -> tuple[float, float]:
        return float(self.outer(self.loss.lower)), self.outer.up_to(self.loss.bound)


def _loss_first(init: Callable[..., None]) -> Callable[..., None]:
    """Wrap a constructor so that it checks the loss before any other parameter."""

    @wraps(init)
    def checked(self: Composed, *args: Any, **parameters: Any) -> None:
        given = inspect.signature(init).bind_partial(self, *args, **parameters).arguments
        if isinstance(given.get("loss"), Real) and len(given) == 2:  # as in R and statsmodels
            constant, name = given["loss"], type(self).__name__
            raise TypeError(
                f"loss={constant!r}: a loss is needed before the constant, as in "
                f"dc.{name}(0.5 * dc.square(), {constant!r})"
            )
        if "loss" in given:
            check_is_loss("loss", given["loss"])
        init(self, *args, **parameters)

    return checked


class rescale(Composed, of=rescale_by):
    """The rescaled loss (1 − e^{−η·loss(u)})/(1 − e^{−η}), bounded.

    Parameters
    ----------
    loss : Loss
    eta : float
        η > 0.

    Raises
    ------
    TypeError, ValueError
        η is not a positive number.

    References
    ----------
    Xu, Cao, Hu, Príncipe (2017), Robust support vector machines based on the rescaled hinge loss
    function, Pattern Recognition 63. With ``square(at=1)`` it is the C-loss.

    Examples
    --------
    >>> from dcprog.losses import hinge, rescale
    >>> round(rescale(hinge(), 0.5).bound, 2)
    2.54
    """

    def __init__(self, loss: Loss, eta: float) -> None:
        self._declare(loss, eta=eta)


class power(Composed, of=power_of):
    """The power (loss(u) + δ)^p.

    With p < 1 and δ = 0 the slope at a loss of 0 is infinite; the slope at 1e-10 is used as the
    weight of such a sample instead. The majorant still lies above the loss, but at a loss of 0 it
    misses it by (1 − p)·1e-10^p, 5e-6 for p = ½. A positive δ makes it touch.

    Parameters
    ----------
    loss : Loss
    p : float
        0 < p ≤ 1.
    delta : float, default 0.0
        δ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        p or δ is not a number in its range.

    Examples
    --------
    >>> from dcprog.losses import absolute, power
    >>> power(absolute(), 0.5)([0.0, -4.0])
    array([0., 2.])
    """

    def __init__(self, loss: Loss, p: float, delta: float = 0.0) -> None:
        self._declare(loss, p=p, delta=delta)


class log(Composed, of=log_of):
    """The logarithm scale·log(1 + loss(u)/scale).

    Parameters
    ----------
    loss : Loss
    scale : float
        A positive number.

    Raises
    ------
    TypeError, ValueError
        The scale is not a positive number.

    Examples
    --------
    The Cauchy (Lorentzian) loss:

    >>> from dcprog.losses import log, square
    >>> log(square(), 2.0).surrogate([0.0, 2.0])[0].round(3)
    array([1.   , 0.333])
    """

    def __init__(self, loss: Loss, scale: float) -> None:
        self._declare(loss, scale=scale)


class compose(Composed):
    """concave(loss(u)) for a user-defined concave nondecreasing function.

    Parameters
    ----------
    concave : Transform
        The outer function, such as ``concave(value=..., slope=...)``.
    loss : Loss

    Raises
    ------
    TypeError
        `concave` is not a transform, or `loss` is not a loss.
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
        self._declare(loss, concave=concave)

    @property
    def outer(self) -> Transform:
        """The user-defined function."""
        return self.concave


# ----------------------------------------------------------------------------------------------
# capped, truncated and trimmed losses


class cap(Composed, of=cap_at):
    """The capped loss min(loss(u), c).

    A sample exactly at the cap keeps its weight.

    Parameters
    ----------
    loss : Loss
    c : float
        c > 0.

    Raises
    ------
    TypeError, ValueError
        c is not a positive number.

    References
    ----------
    Wu, Liu (2007), Robust truncated hinge loss support vector machines, JASA 102.

    Examples
    --------
    >>> from dcprog.losses import cap, hinge
    >>> cap(hinge(), 1.0).surrogate([0.5, 0.0, -1.0])[0]
    array([1., 1., 0.])
    """

    def __init__(self, loss: Loss, c: float) -> None:
        check_number("c", c, 0)
        self._declare(loss, c=c)


class truncate(Loss):
    """The truncated loss: base(u) minus the base shifted to start at s.

    It is a difference of convex functions. For the hinge H₁ − H_s = min(H₁, 1 − s), the ramp: the
    same function as ``cap(hinge(), 1 - s)``, whose majorant has weights instead of a tilt. For the
    absolute loss it is min(|u|, s).

    Parameters
    ----------
    base : ConvexLoss
        A loss that starts at some point: a hinge of any kind, absolute or ε-insensitive.
    s : float
        The new start: below `at` for a hinge, above 0 for the absolute loss, and above ε for the
        ε-insensitive one.

    Raises
    ------
    TypeError, ValueError
        s is not a number in its range, or `base` is not a convex loss.
    NotMajorizable
        The base has no start.

    References
    ----------
    Wu, Liu (2007), Robust truncated hinge loss support vector machines, JASA 102.
    Collobert, Sinz, Weston, Bottou (2006), Trading convexity for scalability, ICML.

    Examples
    --------
    >>> from dcprog.losses import hinge, truncate
    >>> ramp = truncate(hinge(), -0.5)
    >>> ramp([-3.0, 0.0]), ramp.bound
    (array([1.5, 1. ]), 1.5)
    >>> ramp.surrogate([-3.0, 0.0])
    (array([1., 1.]), array([ 1., -0.]))
    """

    base: Any = None  # a parameter in place of the inherited property

    def __init__(self, base: ConvexLoss, s: float) -> None:
        check_is_loss("base", base, ConvexLoss)
        base.starting_at(s)
        self.base = base
        self.s = s

    @property
    def subtracted(self) -> ConvexLoss:
        """The base shifted to start at s."""
        return self.base.starting_at(self.s)

    def _extremes(self) -> tuple[float, float]:
        if isinstance(self.base, SmoothHinge):  # slope −1 for u → −∞, as the hinge
            return 0.0, float(self.base.at - self.s)
        return super()._extremes()


class trim(Composed, of=trim_of):
    """The trimmed loss: the largest ⌊fraction·n⌋ of the n losses are set to 0.

    It is a function of the whole vector u; its value is the vector of the losses with 0 for the
    dropped ones, and its sum has a majorant. Trim last: write a trimmed capped loss as
    ``trim(cap(loss, c), fraction)``.

    Parameters
    ----------
    loss : Loss
    fraction : float
        0 ≤ fraction < 1.

    Raises
    ------
    TypeError, ValueError
        The fraction is not a number in [0, 1).

    References
    ----------
    Rousseeuw (1984), Least median of squares regression, JASA 79.

    Examples
    --------
    >>> from dcprog.losses import hinge, trim
    >>> trim(hinge(), 0.34)([-3.0, 0.5, 1.0])
    array([0. , 0.5, 0. ])
    """

    def __init__(self, loss: Loss, fraction: float) -> None:
        self._declare(loss, fraction=fraction)


# ----------------------------------------------------------------------------------------------
# robust statistics


class _Scaled(Composed):
    """A composite loss with one parameter σ > 0."""

    def __init__(self, loss: Loss, sigma: float) -> None:
        self._declare(loss, sigma=sigma)


class _Joined(Composed):
    """A composite loss that follows its tangent at δ for t below δ."""

    def __init__(self, loss: Loss, s: float, delta: float) -> None:
        self._declare(loss, s=s, delta=delta)


class huberize(_Scaled, of=huberize_by):
    """The huberized loss: t up to σ²/2, then σ√(2t) − σ²/2.

    Parameters
    ----------
    loss : Loss
    sigma : float
        σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import huber, huberize, square
    >>> huberize(0.5 * square(), 1.0)([0.5, 3.0]), huber(1.0)([0.5, 3.0])
    (array([0.125, 2.5  ]), array([0.125, 2.5  ]))
    """


class andrews(_Scaled, of=andrews_by):
    """Andrews' loss: σ²(1 − cos(√(2t)/σ)) up to σ²π²/2, then 2σ².

    Parameters
    ----------
    loss : Loss
    sigma : float
        σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import andrews, square
    >>> andrews(0.5 * square(), 1.0).bound
    2.0
    """


class tukey(_Scaled, of=tukey_by):
    """Tukey's biweight: (σ²/6)(1 − (1 − 2t/σ²)³) up to σ²/2, then σ²/6.

    Parameters
    ----------
    loss : Loss
    sigma : float
        σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import absolute, tukey
    >>> tukey(absolute(), 2.0).surrogate([0.0, 1.0, 3.0])[0]
    array([1.  , 0.25, 0.  ])
    """


class welsch(_Scaled, of=welsch_by):
    """Welsch's (correntropy) loss σ²(1 − e^{−t/σ²}).

    Parameters
    ----------
    loss : Loss
    sigma : float
        σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import square, welsch
    >>> welsch(0.5 * square(), 3.0).bound
    9.0
    """


class log_ratio(_Scaled, of=log_ratio_by):
    """The log-ratio loss log((1 + t)/(1 + te^{−σ}))/(1 − e^{−σ}).

    Parameters
    ----------
    loss : Loss
    sigma : float
        σ > 0.

    Raises
    ------
    TypeError, ValueError
        σ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import hinge, log_ratio
    >>> round(log_ratio(hinge(), 1.0).bound, 3)
    1.582
    """


class rational(_Joined, of=rational_by):
    """The rational loss (t/(1 + t))^s/s, replaced by its tangent at δ for t below δ.

    Parameters
    ----------
    loss : Loss
    s : float
        s > 0.
    delta : float
        δ ≥ 0, positive if s < 1 and at least (s − 1)/2 if s > 1.

    Raises
    ------
    TypeError, ValueError
        s or δ is not a number in its range.

    Examples
    --------
    The Geman-McClure loss:

    >>> from dcprog.losses import rational, square
    >>> rational(square(), 1.0, 0.0)([0.0, 1.0, 3.0])
    array([0. , 0.5, 0.9])
    """


class erf(_Joined, of=erf_by):
    """The error-function loss erf √(t/s), replaced by its tangent at δ for t below δ.

    Parameters
    ----------
    loss : Loss
    s : float
        s > 0.
    delta : float
        δ > 0.

    Raises
    ------
    TypeError, ValueError
        s or δ is not a positive number.

    Examples
    --------
    >>> from dcprog.losses import erf, square
    >>> erf(square(), 1.0, 1e-3).bound
    1.0
    """


# ----------------------------------------------------------------------------------------------
# losses by name


HALF_SQUARE = scaled(0.5, square())
SIZES = np.geomspace(1e-15, 1e15, 11)  # test points u, for losses in any unit

MARGIN_LOSSES: dict[str, Loss] = {
    "hinge": hinge(),
    "squared_hinge": squared_hinge(),
    "logistic": logistic(),
    "ramp": cap(hinge(), 1.0),
    "capped_squared_hinge": cap(squared_hinge(), 1.0),
    "capped_logistic": cap(logistic(), 2.0),
    "rescaled_hinge": rescale(hinge(), 0.5),
    "c_loss": rescale(square(at=1.0), 0.5),
}
BIWEIGHT = 4.685  # of the tukey loss
# The constants are for residuals divided by their scale; huber, tukey, welsch, andrews and cauchy
# have efficiency 0.95 under the normal.
RESIDUAL_LOSSES: dict[str, Loss] = {
    "absolute": absolute(),
    "square": square(),
    "huber": huber(1.345),
    "pinball": pinball(0.5),
    "epsilon_insensitive": epsilon_insensitive(0.1),
    "capped_absolute": cap(absolute(), 1.0),
    "capped_square": cap(square(), 9.0),
    "tukey": tukey(HALF_SQUARE, BIWEIGHT),
    "welsch": welsch(HALF_SQUARE, 2.985),
    "andrews": andrews(HALF_SQUARE, 1.339),
    "cauchy": log(HALF_SQUARE, 2.385**2 / 2),
    "geman_mcclure": rational(square(), 1.0, 0.0),
}


def named_loss(name: str) -> Loss:
    """A new instance of the loss of the given name.

    ======================== ======================================================
    of margins
    ``hinge``                ``hinge()``
    ``squared_hinge``        ``squared_hinge()``
    ``logistic``             ``logistic()``
    ``ramp``                 ``cap(hinge(), 1.0)``
    ``capped_squared_hinge`` ``cap(squared_hinge(), 1.0)``
    ``capped_logistic``      ``cap(logistic(), 2.0)``
    ``rescaled_hinge``       ``rescale(hinge(), 0.5)``
    ``c_loss``               ``rescale(square(at=1.0), 0.5)``
    of residuals
    ``absolute``             ``absolute()``
    ``square``               ``square()``
    ``huber``                ``huber(1.345)``
    ``pinball``              ``pinball(0.5)``
    ``epsilon_insensitive``  ``epsilon_insensitive(0.1)``
    ``capped_absolute``      ``cap(absolute(), 1.0)``
    ``capped_square``        ``cap(square(), 9.0)``
    ``tukey``                ``tukey(0.5 * square(), 4.685)``
    ``welsch``               ``welsch(0.5 * square(), 2.985)``
    ``andrews``              ``andrews(0.5 * square(), 1.339)``
    ``cauchy``               ``log(0.5 * square(), 2.385**2 / 2)``
    ``geman_mcclure``        ``rational(square(), 1.0, 0.0)``
    ======================== ======================================================

    Raises
    ------
    KeyError
        No loss has this name.

    Examples
    --------
    >>> from dcprog.losses import named_loss
    >>> named_loss("ramp")
    cap(c=1.0, loss=hinge())
    """
    return deepcopy((MARGIN_LOSSES | RESIDUAL_LOSSES)[name])


def is_of_residuals(loss: Loss) -> bool:
    """True if the base has its minimum at 0 and grows on both sides: a loss of residuals.

    Otherwise it is a loss of margins.

    Examples
    --------
    >>> from dcprog.losses import absolute, cap, hinge
    >>> is_of_residuals(cap(absolute(), 1.0)), is_of_residuals(hinge())
    (True, False)
    >>> is_of_residuals(absolute(at=1.0))  # a margin wants to be 1
    False
    """
    with np.errstate(over="ignore"):
        sides, middle = loss.base(np.array([-SIZES, SIZES])), loss.base(np.zeros(1))
    best = np.all(sides >= middle) and np.all(np.any(sides > middle, axis=1))
    return bool(best and loss.base.slope(np.zeros(1))[0] == 0)
