"""Concave nondecreasing functions of a loss t ≥ 0, which make a convex loss robust.

A new transform is a short class with a value, a slope, a limit if it is bounded and, if cvxpy has
the atoms, an expression. The names that a file lists in ``__all__`` are names of this package.
"""

from dcprog.transforms.caps import *  # noqa: F403
from dcprog.transforms.from_functions import *  # noqa: F403
from dcprog.transforms.robust import *  # noqa: F403
from dcprog.transforms.transform import *  # noqa: F403
