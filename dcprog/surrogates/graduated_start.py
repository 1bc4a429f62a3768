"""The graduated start of a risk: the path of φ_s, followed by the solvers of its subproblems."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.surrogates.graduation import schedule, spread
from dcprog.surrogates.usual_sizes import usual_coefficient

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["graduated_start"]

LEVELS, STEPS_A_LEVEL = 5, 2
LOOSE = 1e-3  # of what the terms of F add up to
# Where slopes at 0 are infinite, those at that share of the arguments' size stand in for them.
EDGE = 0.1

Solve = Callable[[WeightedRisk, Array, float], Array]


def graduated_start(risk: Risk, x: Array, solve: Solve) -> Array:
    """A point from which the plain loop mostly ends lower than from the convex start.

    From s at which about a tenth of the losses is given up, s falls to 1 in a few levels; on each
    the majorant of Σ s·φ(loss/s) − subtracted/s is minimised a few times, loosely. A concave
    penalty has the slopes that it has at coefficients of a usual size: with those at 0 every
    coefficient that is 0 stays there.

    Parameters
    ----------
    risk : Risk
    x : array
        The convex start.
    solve : callable
        Minimiser of a weighted risk, from a centre, to a tolerance.

    Returns
    -------
    array
        Where a subproblem fails, as far as the path was followed.
    """
    risk = risk.fixed(x)
    levels = schedule(spread(risk, risk.aggregates(x)), LEVELS)
    levels = levels[:-1] if len(levels) > 1 else np.zeros(0)
    for s in np.repeat(levels, STEPS_A_LEVEL):
        try:
            x = solve(_majorant(risk.graduated(float(s)), x), x, LOOSE * risk.magnitude(x))
        except SubproblemError:
            break
    return x


def _majorant(risk: Risk, x: Array) -> WeightedRisk:
    losses = risk.aggregates(x)
    edge = EDGE * (float(np.max(losses, where=np.isfinite(losses), initial=0.0)) or 1.0)
    transform = risk.transform.extended(edge)
    shrinkage = None
    if not risk.penalty.is_convex:
        shrinkage = risk.penalty.weights(x[risk.penalized], EDGE * usual_coefficient(risk))
    weights = risk.sampled(transform.slope(losses))
    return WeightedRisk(risk, weights, risk.tilts(x), shrinkage)
