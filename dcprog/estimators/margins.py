"""How classes become margins."""

from __future__ import annotations

from collections.abc import Callable

from dcprog.rows.angle import angle_margins
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.rows.scores import Scores

__all__ = ["margins_of"]


def margins_of(multiclass: str, k: int) -> Callable[..., Scores]:
    """The row builder for k classes."""
    if k == 2:
        return binary_margins
    return class_margins if multiclass == "ovr" else angle_margins
