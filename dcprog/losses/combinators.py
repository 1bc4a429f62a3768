"""Robust losses from convex ones: capped, truncated, rescaled, powers, logarithms, trimmed."""

from __future__ import annotations

from typing import Any

from dcprog.foundation.parameters import check_number
from dcprog.losses.composed import Composed
from dcprog.losses.loss import ConvexLoss, Loss, check_is_loss
from dcprog.losses.smooth_hinges import pade_hinge, sigmoid_hinge
from dcprog.transforms import Transform, cap_at, log_of, power_of, rescale_by, trim_of

__all__ = ["cap", "log", "power", "rescale", "trim", "truncate"]


class cap(Composed):
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
        c is no positive number.

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
        self.loss = loss
        self.c = c
        self._check()

    @property
    def outer(self) -> Transform:
        """min(t, c)."""
        return cap_at(self.c)


class truncate(Loss):
    """base(u) minus the same base moved to start at s, a difference of convex functions.

    For the hinge H₁ − H_s = min(H₁, 1 − s), the ramp: the same function as
    ``cap(hinge(), 1 - s)``, whose majorant has weights where this one has a tilt. For the absolute
    loss it is min(|u|, s).

    Parameters
    ----------
    base : ConvexLoss
        One that starts somewhere: a hinge of any kind, absolute or ε-insensitive.
    s : float
        Below where a hinge starts; beyond where the other two do.

    Raises
    ------
    TypeError, ValueError
        s is no such number, or base no convex loss.
    NotMajorizable
        The base does not start anywhere.

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
        """The base moved to s."""
        return self.base.starting_at(self.s)

    def _extremes(self) -> tuple[float, float]:
        if isinstance(self.base, pade_hinge | sigmoid_hinge):  # slope −1 far out, as the hinge
            return 0.0, float(self.base.at - self.s)
        return super()._extremes()


class rescale(Composed):
    """The rescaled loss (1 − e^{−η·loss(u)})/(1 − e^{−η}), bounded.

    Parameters
    ----------
    loss : Loss
    eta : float
        η > 0.

    Raises
    ------
    TypeError, ValueError
        η is no positive number.

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
        self.loss = loss
        self.eta = eta
        self._check()

    @property
    def outer(self) -> Transform:
        """(1 − e^{−ηt})/(1 − e^{−η})."""
        return rescale_by(self.eta)


class power(Composed):
    """The power (loss(u) + δ)^p.

    With p < 1 and δ = 0 the slope at a loss of 0 is infinite: the weight of such a sample is the
    slope at 1e-10 instead. Its majorant lies above the loss as ever, but at a loss of 0 it touches
    only up to (1 − p)·1e-10^p, 5e-6 for p = ½. A positive δ makes it touch.

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
        p or δ is no such number.

    Examples
    --------
    >>> from dcprog.losses import absolute, power
    >>> power(absolute(), 0.5)([0.0, -4.0])
    array([0., 2.])
    """

    def __init__(self, loss: Loss, p: float, delta: float = 0.0) -> None:
        self.loss = loss
        self.p = p
        self.delta = delta
        self._check()

    @property
    def outer(self) -> Transform:
        """(t + δ)^p."""
        return power_of(self.p, self.delta)


class log(Composed):
    """The logarithm scale·log(1 + loss(u)/scale).

    Parameters
    ----------
    loss : Loss
    scale : float
        Positive.

    Raises
    ------
    TypeError, ValueError
        The scale is no positive number.

    Examples
    --------
    The Cauchy (Lorentzian) loss:

    >>> from dcprog.losses import log, square
    >>> log(square(), 2.0).surrogate([0.0, 2.0])[0].round(3)
    array([1.   , 0.333])
    """

    def __init__(self, loss: Loss, scale: float) -> None:
        self.loss = loss
        self.scale = scale
        self._check()

    @property
    def outer(self) -> Transform:
        """scale·log(1 + t/scale)."""
        return log_of(self.scale)


class trim(Composed):
    """The losses of all samples without the largest ⌊fraction·n⌋ of them.

    A function of the vector u: the value is the vector of the losses with 0 for those dropped. It
    is the sum that has a majorant. Trim last: a cap of a trimmed loss is a trimmed cap.

    Parameters
    ----------
    loss : Loss
    fraction : float
        0 ≤ fraction < 1.

    Raises
    ------
    TypeError, ValueError
        The fraction is no number in [0, 1).

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
        self.loss = loss
        self.fraction = fraction
        self._check()

    @property
    def outer(self) -> Transform:
        """The losses, with 0 for the dropped ones."""
        return trim_of(self.fraction)
