"""Loose steps of the loop on a risk, and its graduated start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.graduation import schedule, spread
from dcprog.risk_mm.usual_sizes import usual_coefficient

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["LOOSE", "Solve", "graduated_start", "stepped"]

LEVELS, STEPS_A_LEVEL = 5, 2
LOOSE = 1e-3  # of what the terms of F add up to
# Where slopes at 0 are infinite, those at that share of the arguments' size stand in for them.
EDGE = 0.1

Solve = Callable[[WeightedRisk, Array, float], Array]


def graduated_start(risk: Risk, x: Array, solve: Solve) -> Array:
    """A point from which the plain loop mostly ends lower than from the convex start.

    From s at which about a tenth of the losses is given up, s falls to 1 in a few levels; on each
    the majorant of Σ s·φ(loss/s) − subtracted/s is minimised a few times, loosely.

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
    for s in levels[:-1]:
        x = stepped(risk.graduated(float(s)), x, solve, STEPS_A_LEVEL)
    return x


def stepped(risk: Risk, x: Array, solve: Solve, steps: int, edge: float = EDGE) -> Array:
    """The point after a few loose steps of the loop, as far as the solver goes.

    Where slopes at 0 are infinite, those at the share `edge` of the arguments' size stand in.
    """
    for _ in range(steps):
        try:
            x = solve(_majorant(risk, x, edge), x, LOOSE * risk.magnitude(x))
        except SubproblemError:
            break
    return x


def _majorant(risk: Risk, x: Array, edge: float) -> WeightedRisk:
    losses = risk.aggregates(x)
    largest = float(np.max(losses, where=np.isfinite(losses), initial=0.0)) or 1.0
    transform = risk.transform.extended(edge * largest)
    shrinkage = None
    if not risk.penalty.is_convex:
        shrinkage = risk.penalty.weights(x[risk.penalized], edge * usual_coefficient(risk))
    weights = risk.sampled(transform.slope(losses))
    return WeightedRisk(risk, weights, risk.tilts(x), shrinkage)
