"""Concave nondecreasing functions of a loss t ≥ 0, which make a convex loss robust.

A new transform is a short class with a value, a slope, a limit if it is bounded and, if cvxpy has
the atoms, an expression.
"""

from dcprog.transforms.caps import cap_at, cap_largest, trim_of
from dcprog.transforms.from_functions import concave
from dcprog.transforms.robust import (
    andrews_by,
    erf_by,
    huberize_by,
    log_of,
    log_ratio_by,
    power_of,
    rational_by,
    rescale_by,
    tukey_by,
    welsch_by,
)
from dcprog.transforms.transform import (
    Transform,
    chain,
    chain_of,
    extended_from,
    identity,
    perspective_of,
    scale_by,
    sum_of,
)

__all__ = [
    "Transform",
    "andrews_by",
    "cap_at",
    "cap_largest",
    "chain",
    "chain_of",
    "concave",
    "erf_by",
    "extended_from",
    "huberize_by",
    "identity",
    "log_of",
    "log_ratio_by",
    "perspective_of",
    "power_of",
    "rational_by",
    "rescale_by",
    "scale_by",
    "sum_of",
    "trim_of",
    "tukey_by",
    "welsch_by",
]
