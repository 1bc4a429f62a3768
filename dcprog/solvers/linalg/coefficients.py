"""What belongs to each entry of θ: its weights in the penalty, and its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcprog.foundation.arrays import Array

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["penalty_form", "penalty_weights", "units_of"]


def penalty_form(risk: Risk) -> tuple[Array, float] | None:
    """(l, q) of the penalty's convex part, Σ l_j|w_j| + (q/2)‖w‖²; None if it is no such thing."""
    size = int(risk.penalized.sum())
    part = risk.penalty.convex_part
    return (np.zeros(size), 0.0) if part is None else part.as_l1_l2(size)


def penalty_weights(risk: Risk, shrinkage: Array | None) -> tuple[Array, Array]:
    """The weights of |θ_j| and θ_j²/2 for all entries of θ, with a tightening's shrinkage."""
    form = penalty_form(risk)
    assert form is not None
    l1, l2 = np.zeros(risk.penalized.size), np.zeros(risk.penalized.size)
    l1[risk.penalized], l2[risk.penalized] = form
    if shrinkage is not None:
        l1[risk.penalized] += shrinkage
    return l1, l2


def units_of(X: Any, const: Array) -> Array:
    """For each feature the coefficient that moves the lines by the size of their constants."""
    squares = np.mean(X**2, axis=0) if isinstance(X, np.ndarray) else X.multiply(X).mean(axis=0)
    sizes = np.sqrt(np.asarray(squares).ravel())
    return (1 + float(np.max(np.abs(const)))) / np.where(sizes > 0, sizes, np.inf)
