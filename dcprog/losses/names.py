"""Losses by name, with their usual parameters."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from dcprog.losses.compositions import andrews, cap, log, rational, rescale, tukey, welsch
from dcprog.losses.convex import (
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    logistic,
    pinball,
    square,
    squared_hinge,
)
from dcprog.losses.loss import Loss, scaled

__all__ = ["MARGIN_LOSSES", "RESIDUAL_LOSSES", "is_of_residuals", "named_loss"]

HALF_SQUARE = scaled(0.5, square())
SIZES = 10.0 ** np.arange(-15, 16, 3)  # test points u, for losses in any unit

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
    "tukey": tukey(HALF_SQUARE, 4.685),
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
    >>> from dcprog.losses.names import named_loss
    >>> named_loss("ramp")
    cap(c=1.0, loss=hinge())
    """
    return clone((MARGIN_LOSSES | RESIDUAL_LOSSES)[name])


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
