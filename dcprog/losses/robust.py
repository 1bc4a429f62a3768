"""The composite losses of robust statistics, as functions of any convex loss t = loss(u) ≥ 0.

With ``0.5 * square()`` they are the classical functions of a residual. All but ``rational`` and
``erf``, which may need a tangent near 0, have slope 1 at t = 0.

References
----------
Wang (2024), Unified robust estimation, Australian & New Zealand Journal of Statistics 66.
"""

from __future__ import annotations

from dcprog.losses.concave_compositions import Composed
from dcprog.losses.loss import Loss
from dcprog.transforms import (
    andrews_by,
    erf_by,
    huberize_by,
    log_ratio_by,
    rational_by,
    tukey_by,
    welsch_by,
)

__all__ = ["andrews", "erf", "huberize", "log_ratio", "rational", "tukey", "welsch"]


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
