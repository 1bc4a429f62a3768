"""Scalar losses: functions of one number, the margin u = y·f(x) or the residual u = y − f(x).

A new convex loss is a short subclass of :class:`ConvexLoss` with a value, a slope and an
expression; a new robust one composes, adds or subtracts what is here, or subclasses
:class:`Loss`.
"""

from dcprog.losses.algebra import added, difference, scaled
from dcprog.losses.combinators import cap, log, power, rescale, trim, truncate
from dcprog.losses.composed import Composed, compose
from dcprog.losses.composite import andrews, erf, huberize, log_ratio, rational, tukey, welsch
from dcprog.losses.convex import convex_sum, excess, squared
from dcprog.losses.loss import ConvexLoss, Loss
from dcprog.losses.margins import hinge, logistic, squared_hinge
from dcprog.losses.pieces import Pieces
from dcprog.losses.residuals import absolute, epsilon_insensitive, huber, pinball, square
from dcprog.losses.smooth_hinges import pade_hinge, sigmoid_hinge

__all__ = [
    "Composed",
    "ConvexLoss",
    "Loss",
    "Pieces",
    "absolute",
    "added",
    "andrews",
    "cap",
    "compose",
    "convex_sum",
    "difference",
    "epsilon_insensitive",
    "erf",
    "excess",
    "hinge",
    "huber",
    "huberize",
    "log",
    "log_ratio",
    "logistic",
    "pade_hinge",
    "pinball",
    "power",
    "rational",
    "rescale",
    "scaled",
    "sigmoid_hinge",
    "square",
    "squared",
    "squared_hinge",
    "trim",
    "truncate",
    "tukey",
    "welsch",
]
