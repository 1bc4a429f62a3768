"""Stationarity of a point of a risk: for the majorant there, and for every other choice at ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from dcprog.engine.stationarity import Stationarity, downhill_slope
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.near import Near
from dcprog.risk_mm.subgradients import shortest
from dcprog.risk_mm.ties import ties

__all__ = ["descents", "stationarity"]

# Within those distances kinks count as met, in units; ties of the concave part at the second.
REACHES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
TIED = 1e-5
# Slopes less steep than that, relative, lead nowhere.
STEEP = 1e-4


def stationarity(
    problem: WeightedRisk, x: Array, units: Array, scale: float, time_limit: float | None = None
) -> Stationarity:
    """How far a tightening and the other choices at its ties are from being stationary at x.

    The residual is min over r of max(r, dist(0, ∂_r M)): there are points within r at which the
    terms' subgradients sum up to r, all relative and in units.

    Parameters
    ----------
    problem : WeightedRisk
        The tightening at x.
    x, units : arrays of shape (p,)
    scale : float
    time_limit : float, optional
        Seconds.

    Returns
    -------
    Stationarity
    """
    if not 0 < scale < np.inf:
        return Stationarity()
    risk, residual, deadline = problem.risk, np.inf, Deadline(time_limit)
    for reach in REACHES:
        pull = shortest(problem, Near(risk, x, units, scale, reach))
        if pull is None:
            return Stationarity()
        residual = min(residual, max(pull.residual, reach))
        if residual <= reach:
            break
    tied = ties(problem, Near(risk, x, units, scale, TIED))
    choices = chain([problem], tied.choices(_least(problem, x, units, scale)))
    slope = min((s for _, s in _walked(choices, x, units, scale, deadline)), default=0.0)
    return Stationarity(residual, slope, tied.all_tried and deadline.left != 0)


def descents(
    problem: WeightedRisk, x: Array, units: Array, scale: float, time_limit: float | None = None
) -> Iterator[Array]:
    """Points down the slopes that other choices at ties have at x, none where nothing is tied.

    Parameters
    ----------
    problem, x, units, scale, time_limit
        As for :func:`stationarity`.
    """
    if not 0 < scale < np.inf:
        return
    tied = ties(problem, Near(problem.risk, x, units, scale, TIED))
    if not tied.flips:
        return
    choices = tied.choices(_least(problem, x, units, scale))
    for point, _ in _walked(choices, x, units, scale, Deadline(time_limit)):
        yield point


def _least(problem: WeightedRisk, x: Array, units: Array, scale: float) -> float:
    """By how much flips must change the gradient to make any slope a steep one."""
    pull = shortest(problem, Near(problem.risk, x, units, scale, TIED))
    return -np.inf if pull is None else STEEP - pull.length


def _walked(
    choices: Iterable[WeightedRisk], x: Array, units: Array, scale: float, deadline: Deadline
) -> Iterator[tuple[Array, float]]:
    """The lowest point on each way down, and the slope of F on the way."""
    for choice in choices:
        if deadline.left == 0:
            return
        risk = choice.risk
        pull = shortest(choice, Near(risk, x, units, scale, TIED))
        if pull is None or pull.length <= STEEP:
            continue
        way = -units * pull.vector / pull.length
        lowest, slope = downhill_slope(risk, x, way, scale)
        if slope < 0:
            yield lowest, slope
