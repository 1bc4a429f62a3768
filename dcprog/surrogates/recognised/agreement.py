"""Check that a risk and an objective are the same function."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.points import Points
from dcprog.majorants.tree import Values
from dcprog.risk.risk import Risk
from dcprog.surrogates.recognised.unrecognised import Unrecognised
from dcprog.surrogates.usual_sizes import usual_coefficients

__all__ = ["agreed_constant"]

SIZES = (0.1, 1.0, 1.0, 10.0)  # of the points, in units of the coefficients
AGREES = 1e-9  # of what the terms of the risk add up to
ROUNDING = 1e-13


def agreed_constant(objective: cp.Expression, sign: float, risk: Risk, points: Points) -> float:
    """The constant sign·objective − risk, the same at 0 and at random points of several sizes.

    The variables keep their values.

    Raises
    ------
    Unrecognised
        It is none.
    """
    before = [v.value for v in points.variables]
    rng, unit = np.random.default_rng(0), usual_coefficients(risk)

    def value(theta: Array) -> float:
        points.load(theta)
        return sign * float(Values().array(objective).sum())

    try:
        origin = np.zeros(points.size)
        here, known = value(origin), risk(origin)
        constant = here - known
        if abs(constant) <= ROUNDING * max(abs(here), risk.magnitude(origin)):
            constant = 0.0
        for size in SIZES:
            theta = size * unit * rng.standard_normal(points.size)
            apart = abs(value(theta) - risk(theta) - constant)
            if not apart <= AGREES * risk.magnitude(theta) + ROUNDING * abs(constant):
                raise Unrecognised("another function")
    finally:
        for variable, array in zip(points.variables, before, strict=True):
            variable.save_value(array)
    return constant
