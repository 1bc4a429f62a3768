"""Losses of limited influence: capped, truncated, and trimmed losses."""

from __future__ import annotations

from typing import Any

from dcprog.foundation.parameters import check_number
from dcprog.losses.concave_compositions import Composed
from dcprog.losses.loss import ConvexLoss, Loss, check_is_loss
from dcprog.losses.smooth_hinges import SmoothHinge
from dcprog.transforms import cap_at, trim_of

__all__ = ["cap", "trim", "truncate"]


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
