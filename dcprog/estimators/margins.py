"""How classes become margins, and the margins of a sample one loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.losses import Loss
from dcprog.rows.angle import angle_differences, angle_margins
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.rows.scores import Scores

__all__ = ["CODINGS", "aggregate_of", "coding_of", "margins_of"]

MARGINS: dict[str, Callable[..., Scores]] = {
    "crammer_singer": angle_differences,
    "weston_watkins": angle_differences,
    "angle": angle_margins,
    "ovr": class_margins,
}
AGGREGATES = {"crammer_singer": "max", "weston_watkins": "sum"}
CODINGS = ("auto", *MARGINS)

# From that many coefficients on the steps of all scores together are dear: 600 samples of 784
# features and 10 classes took half a second class by class, and more than five minutes together.
MANY = 1000


def coding_of(multiclass: str, k: int, size: int, loss: Loss) -> str:
    """The coding that ``"auto"`` chooses for k classes and `size` coefficients a score.

    Differences of scores are the most accurate by a margin, where all coefficients together are
    few; by their largest loss, for which there is a fast solver if it consists of lines, else by
    their sum.
    """
    if multiclass != "auto":
        return multiclass
    if (k - 1) * size > MANY:
        return "ovr"
    pieces = loss.base.pieces
    is_linear = pieces is not None and not any(pieces.quadratic)
    falls = (
        loss.base.slope(np.array([1e8]))[0] <= 0
    )  # so that the largest loss is that of the least margin
    return "crammer_singer" if is_linear and falls else "weston_watkins"


def margins_of(multiclass: str, k: int) -> Callable[..., Scores]:
    """The row builder for k classes."""
    return binary_margins if k == 2 else MARGINS[multiclass]


def aggregate_of(multiclass: str, k: int) -> str | None:
    """How the losses of a sample's margins become one, None where each counts by itself."""
    return None if k == 2 else AGGREGATES.get(multiclass)
