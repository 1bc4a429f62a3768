"""Scalar losses: functions of one number, the margin u = y·f(x) or the residual u = y − f(x).

A new convex loss is a short subclass of :class:`ConvexLoss` with a value, a slope and an
expression. A new robust loss is a composition, sum or difference of existing losses, or a subclass
of :class:`Loss`.
"""

from dcprog.losses.arithmetic import added, difference, scaled
from dcprog.losses.caps import cap, trim, truncate
from dcprog.losses.concave_compositions import Composed, compose, log, power, rescale
from dcprog.losses.convex_operations import convex_sum, squared
from dcprog.losses.difference_form import excess
from dcprog.losses.loss import ConvexLoss, Loss
from dcprog.losses.margins import hinge, logistic, squared_hinge
from dcprog.losses.piecewise_quadratic import Pieces
from dcprog.losses.residuals import absolute, epsilon_insensitive, huber, pinball, square
from dcprog.losses.robust import andrews, erf, huberize, log_ratio, rational, tukey, welsch
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
