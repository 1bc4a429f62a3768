"""Rows code ⊗ x̃ of scores B x̃ seen from the samples, and penalties from the entries of θ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.rows.linear import Scores

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["order_of", "penalty_form", "penalty_weights", "samples_of", "units_of", "with_ones"]


def samples_of(rows: Any) -> Any:
    """X̃, the samples with a constant column where there are intercepts; other rows as they are."""
    if not isinstance(rows, Scores):
        return rows if isinstance(rows, np.ndarray) else sp.csr_array(rows)
    return with_ones(rows.X) if rows.fit_intercept else rows.X


def with_ones(X: Any) -> Any:
    """X with a constant column behind."""
    ones = np.ones((X.shape[0], 1))
    if isinstance(X, np.ndarray):
        return np.hstack([X, ones])
    parts: Any = [X, sp.csr_array(ones)]
    return sp.csr_array(sp.hstack(parts))


def units_of(X: Any, const: Array) -> Array:
    """For each feature the coefficient that moves the lines by the size of their constants."""
    squares = np.mean(X**2, axis=0) if isinstance(X, np.ndarray) else X.multiply(X).mean(axis=0)
    sizes = np.sqrt(np.asarray(squares).ravel())
    return (1 + float(np.max(np.abs(const)))) / np.where(sizes > 0, sizes, np.inf)


def order_of(rows: Any, c: int, d: int) -> npt.NDArray[np.intp]:
    """Places in θ of the entries of B, of shape (c, d), row by row."""
    if not (isinstance(rows, Scores) and rows.fit_intercept):
        return np.arange(c * d)
    coefs = np.arange(c * (d - 1)).reshape(c, d - 1)
    return np.column_stack([coefs, c * (d - 1) + np.arange(c)]).ravel()


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
