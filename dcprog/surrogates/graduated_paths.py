"""Paths from a nearly convex, smooth risk down to the risk itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.surrogates.graduation import schedule
from dcprog.surrogates.many_points import ManyPoints, Points
from dcprog.surrogates.smoothed_newton import ridge_fits, settled

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["graduated_paths"]

# Where paths begin: s of φ_s, and the width of the smoothing in units of the margins. Each ends
# elsewhere, and which ends lowest no rule foretells.
BEGINNINGS = ((2.5, 1.0), (4.0, 1.0), (2.5, 0.5), (4.0, 4.0), (4.0, 2.0), (1.5, 1.0))
CONVEX, LEVELS, STEPS_A_LEVEL = 3, 10, 2  # steps and levels of s
NARROWING, NARROW = 15, 0.01  # steps in which the width falls, at s = 1


def graduated_paths(risk: Risk, many: ManyPoints, deadline: Deadline) -> Iterator[Points]:
    everything = np.arange(len(many.A))[None]
    fit = many.at(ridge_fits(many, everything, 1e-3), "graduated")
    for s, width in BEGINNINGS:
        if deadline.left == 0:
            return
        points = settled(many.of(risk.graduated(1e6)), fit, (width,) * CONVEX)
        for level in schedule(s, LEVELS):
            graded = many.of(risk.graduated(float(level)))
            points = settled(graded, points, (width,) * STEPS_A_LEVEL)
        yield settled(many, points, np.geomspace(width, NARROW, NARROWING + 1)[1:])
