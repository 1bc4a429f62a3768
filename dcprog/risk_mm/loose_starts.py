"""Loose steps of the loop on a risk, and its graduated start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.usual_sizes import usual_coefficient

__all__ = ["LOOSE", "Solve", "graduated_start", "over_rims", "schedule", "spread", "stepped"]

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk


# At the start about that share of the losses lies where φ is flat.
BEYOND = 0.1
# φ counts as flat where a per cent more of t adds less than that to φ(t), in per cent.
FLAT = 0.3
MOST = 64.0
# Where the losses say nothing: what is trimmed or subtracted comes in from an eighth on.
BLIND = 8.0
GRID = np.geomspace(1e-9, 1e9, 721)


def spread(risk: Risk, losses: Array) -> float:
    """The s of φ_s(t) = s·φ(t/s) for which about a tenth of the losses lies where φ_s is flat.

    Parameters
    ----------
    risk : Risk
    losses : array
        Aggregated base losses at a point, such as the convex start.

    Returns
    -------
    float
        1 where nothing can be graduated, as of powers, which are their own perspectives.
    """
    transform = risk.transform
    if transform.is_joint or (transform.is_linear and risk.subtracted is not None):
        return BLIND
    if transform.is_linear:
        return 1.0
    size = float(np.quantile(losses[np.isfinite(losses)], 1 - BEYOND)) if losses.size else 0.0
    if not 0 < size < np.inf or np.size(getattr(transform, "c", 0.0)) > 1:
        return 1.0
    t = size * GRID
    flat = transform.slope(t) * t < FLAT * (transform(t) - transform(np.zeros(())))
    if not np.any(flat):
        return 1.0
    return float(np.clip(1 / GRID[np.argmax(flat)], 1.0, MOST))


def schedule(s: float, levels: int) -> Array:
    """From s to 1 in equal ratios; 1 alone where s is."""
    return np.geomspace(s, 1.0, levels) if s > 1 else np.ones(1)


# ----------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk


# Shares of the usual loss below which slopes are those there, the finest first.
EDGES = (1e-6, 1e-4, 1e-2)


def over_rims(risk: Risk, x: Array, solve: Solve) -> Iterator[Array]:
    """Points beyond the rims of the narrow wells in which a run may have been caught.

    φ(t) = t^p rises infinitely steeply at 0, and its tangent at a tiny loss holds the loss there,
    though F may fall from a point a little further out. There the slope at a larger loss says so.

    Parameters
    ----------
    risk : Risk
    x : array
    solve : callable
        Minimiser of a weighted risk, from a centre, to a tolerance.

    Yields
    ------
    array
        None where all slopes are finite or no loss is small.
    """
    if np.isfinite(risk.transform.steepest):
        return
    losses = risk.aggregates(x)
    usual = float(np.max(losses, where=np.isfinite(losses), initial=0.0))
    for edge in EDGES:
        if np.any(losses < edge * usual):
            yield stepped(risk, x, solve, 1, edge)
