"""Starts of a risk: its convex problem, loose steps of the loop, and the graduated start."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import SOFT
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.units import usual_coefficient
from dcprog.transforms import chain_of, scale_by

Solve = Callable[[WeightedRisk, Array, float], Array]


def convex_problem(risk: Risk) -> WeightedRisk:
    """The convex problem behind a risk: weights are the slopes at loss 0 and θ = 0.

    Nothing is subtracted. Where a slope is infinite, that at a usual size stands in for it.
    """
    weights = risk.sampled(np.full(risk.n_groups, _slope(risk)))
    if risk.penalty.is_convex:
        return WeightedRisk(risk, weights)
    zero = np.zeros(int(risk.penalized.sum()))
    shrinkage = risk.penalty.weights(zero, usual_coefficient(risk))
    return WeightedRisk(risk, weights, None, shrinkage)


def _slope(risk: Risk) -> float:
    """The weight of the base losses: 1 for margins, whose losses have no units, times φ's factor.

    For residuals φ'(0), or where that is infinite the slope of the chord from 0 to a usual loss.
    """
    transform = risk.transform
    if risk.offset is None and not transform.is_linear:
        outer = transform.outer if isinstance(transform, chain_of) else None
        return float(outer.factor) if isinstance(outer, scale_by) else 1.0
    if np.isfinite(transform.steepest):
        return transform.steepest
    losses = risk.aggregates(np.zeros(risk.rows.shape[1]))
    losses = losses[(losses > 0) & (losses < np.inf)]
    usual = float(np.median(losses)) if losses.size else 1.0
    rise = transform(np.full(risk.n_groups, usual)) - transform(np.zeros(risk.n_groups))
    return float(np.mean(rise)) / usual


def starts_finite(risk: Risk) -> bool:
    """True if the penalty's slope at 0 is finite: otherwise it changes with ε."""
    zero = np.zeros(int(risk.penalized.sum()))
    return np.array_equal(risk.penalty.weights(zero, 1.0), risk.penalty.weights(zero, 0.5))


# ----------------------------------------------------------------------------------------------

# At the start about this share of the losses lies where φ is flat.
BEYOND = 0.1
# φ counts as flat where a per cent more of t adds less than this to φ(t), in per cent.
FLAT = 0.3
MOST = 64.0
# The first s of trimmed and subtracted losses, whose sizes do not determine it.
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


LEVELS, STEPS_A_LEVEL = 5, 2
LOOSE = 1e-3  # relative to the sum of the absolute values of F's terms


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
        If a subproblem fails, the last point before it.
    """
    risk = risk.fixed(x)
    s = spread(risk, risk.aggregates(x))
    for level in np.geomspace(s, 1.0, LEVELS)[:-1] if s > 1 else ():
        x = stepped(risk.graduated(float(level)), x, solve, STEPS_A_LEVEL)
    return x


def stepped(risk: Risk, x: Array, solve: Solve, steps: int, edge: float = SOFT) -> Array:
    """The point after a few loose steps of the loop, or before the first that fails.

    An infinite slope at 0 is replaced by the slope at the share `edge` of the arguments' size.
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

# Losses below one of these shares of the usual loss get the slope at that share; finest first.
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
