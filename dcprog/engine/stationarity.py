"""The distance of a point from stationarity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import STILL

# Lengths of steps down a slope, in units.
STEPS = np.geomspace(1.0, STILL, 19)
STEEP = 1e-4  # slopes no steeper than this, relative to F's scale and in units of x, lead nowhere


@dataclass(frozen=True)
class Stationarity:
    """The distance of a point from stationarity, relative to F's scale and in units of x.

    Attributes
    ----------
    residual : float
        Length of a step to a point at which the majorant's shortest subgradient is no longer than
        the step; NaN where it is not known.
    slope : float
        The most negative slope of F that was found, over steps no shorter than it is steep; 0 if
        there is none.
    complete : bool
        True if every choice of slopes at ties was looked at.
    """

    residual: float = np.nan
    slope: float = 0.0
    complete: bool = False


def downhill_slope(
    value: Callable[[Array], float], x: Array, way: Array, scale: float
) -> tuple[Array, float]:
    """The lowest point along a direction, and the slope of the fall to where it is clearest.

    Parameters
    ----------
    value : callable
        F.
    x, way : arrays
        The way is a unit long.
    scale : float

    Returns
    -------
    point : array
    slope : float
        −max over steps s of min(s, (F(x) − F(x + s·way))/(s·scale)), at most 0: a steep fall over
        no distance is within rounding and tolerances.
    """
    if not scale > 0:
        return x, 0.0
    here = value(x)
    falls = np.array([here - value(x + s * way) for s in STEPS])
    falls = np.where(np.isfinite(falls), falls, -np.inf)
    slope = float(np.max(np.minimum(STEPS, falls / (STEPS * scale))))
    return x + STEPS[np.argmax(falls)] * way, -max(slope, 0.0)
