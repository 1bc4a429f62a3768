"""Scalar losses: functions of one number, the margin u = y·f(x) or the residual u = y − f(x).

A new convex loss is a short subclass of :class:`ConvexLoss` with a value, a slope and an
expression. A new robust loss is a composition, sum or difference of existing losses, or a subclass
of :class:`Loss`. The names that a file lists in ``__all__`` are names of this package.
"""

from dcprog.losses.compositions import *  # noqa: F403
from dcprog.losses.convex import *  # noqa: F403
from dcprog.losses.loss import *  # noqa: F403
from dcprog.losses.piecewise_quadratic import *  # noqa: F403
