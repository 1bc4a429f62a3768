"""Codings of classes: the margins of a sample and the aggregate of their losses."""

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

# With more coefficients, steps on all scores jointly are expensive: 600 samples of 784 features and
# 10 classes took half a second class by class, and more than five minutes jointly.
MANY = 1000


def coding_of(multiclass: str, k: int, size: int, loss: Loss) -> str:
    """The coding to use: `multiclass` itself, or the choice of ``"auto"``.

    `size` is the number of coefficients per score. With few coefficients in all, differences of
    scores are clearly the most accurate: aggregated by the largest loss if the base is piecewise
    linear and nonincreasing, for which there is a fast solver, otherwise by their sum.
    """
    if multiclass != "auto":
        return multiclass
    if (k - 1) * size > MANY:
        return "ovr"
    pieces = loss.base.pieces
    is_linear = pieces is not None and not any(pieces.quadratic)
    falls = loss.base.slope(np.array([1e8]))[0] <= 0  # the least margin has the largest loss
    return "crammer_singer" if is_linear and falls else "weston_watkins"


def margins_of(multiclass: str, k: int) -> Callable[..., Scores]:
    """The row builder for k classes."""
    return binary_margins if k == 2 else MARGINS[multiclass]


def aggregate_of(multiclass: str, k: int) -> str | None:
    """The aggregate of the losses of a sample's margins, None if each counts by itself."""
    return None if k == 2 else AGGREGATES.get(multiclass)
