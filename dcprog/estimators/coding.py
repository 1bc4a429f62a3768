"""How classes become margins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dcprog.rows import Scores, binary_margins, class_index, class_margins
from dcprog.rows_angle import Coded, simplex_vertices

__all__ = ["margins_of", "own_angle_margins"]


def margins_of(multiclass: str, k: int) -> Callable[..., Scores]:
    """The row builder for k classes."""
    if k == 2:
        return binary_margins
    return class_margins if multiclass == "ovr" else own_angle_margins


def own_angle_margins(X: Any, y: Any, fit_intercept: bool, classes: Any) -> Coded:
    """Margins u_i = ⟨W_{y_i}, f(x_i)⟩, one row a sample."""
    known, index = class_index(y, classes)
    return Coded(X, index, simplex_vertices(len(known))[:, None, :], fit_intercept)
