"""The convex problem behind a risk, from which a run starts, and sizes that are usual for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.units import margin_unit
from dcprog.rows.scores import column_sizes
from dcprog.transforms import chain_of, scale_by

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["convex_problem", "starts_finite", "usual_coefficient", "usual_coefficients"]


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


def usual_coefficients(risk: Risk) -> Array:
    """For each entry of θ what moves the margins by about their unit; 1 where nothing does."""
    sizes = column_sizes(risk.rows)
    with np.errstate(divide="ignore", over="ignore"):
        usual = margin_unit(risk) / sizes
    return np.where((usual > 0) & (usual < np.inf), usual, 1.0)


def usual_coefficient(risk: Risk) -> float:
    """The median of those that are penalised."""
    usual = usual_coefficients(risk)[risk.penalized]
    return float(np.median(usual)) if usual.size else 1.0


def starts_finite(risk: Risk) -> bool:
    """Is the slope of the penalty at 0 finite? Otherwise it changes with ε."""
    zero = np.zeros(int(risk.penalized.sum()))
    return np.array_equal(risk.penalty.weights(zero, 1e-3), risk.penalty.weights(zero, 1e-6))
