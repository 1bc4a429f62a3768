"""Scalar losses: functions of one number, the margin u = y·f(x) or the residual u = y − f(x).

A new convex loss is a short subclass of :class:`ConvexLoss` with a value, a slope and an
expression. A new robust loss is a composition, sum or difference of existing losses, or a subclass
of :class:`Loss`.
"""

from dcprog.losses.compositions import (
    Composed,
    andrews,
    cap,
    compose,
    erf,
    huberize,
    log,
    log_ratio,
    power,
    rational,
    rescale,
    trim,
    truncate,
    tukey,
    welsch,
)
from dcprog.losses.convex import (
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    logistic,
    pade_hinge,
    pinball,
    sigmoid_hinge,
    square,
    squared_hinge,
)
from dcprog.losses.loss import (
    ConvexLoss,
    Loss,
    added,
    convex_sum,
    difference,
    excess,
    scaled,
    squared,
)
from dcprog.losses.piecewise_quadratic import Pieces

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
