"""Many paths from a nearly convex, smooth risk down to the risk itself, side by side."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.deadline import Deadline
from dcprog.surrogates.graduation import schedule
from dcprog.surrogates.many_points import ManyPoints, Points
from dcprog.surrogates.smoothed_newton import ridge_fits, settled, step

__all__ = ["graduated_paths"]

# Where paths begin: s of φ_s, and widths of the smoothing in units of the margins.
BEGINNING, WIDTHS = 3.0, (0.7, 1.0, 1.4)
# Steps on the convex risk; levels of s, with so many steps on each.
CONVEX, LEVELS, STEPS_A_LEVEL = 3, 10, 2
# At s = 1 the width falls to the first in so many steps, and for the best ones to the second.
NARROW, NARROWER, NARROWING = 0.1, 0.01, 8
KEPT = 3  # one in so many
# Samples are weighted by e^a, e exponential and a up to that; in the end all alike.
UNEVEN = 0.5


def graduated_paths(
    many: ManyPoints, count: int, rng: np.random.Generator, deadline: Deadline
) -> Points:
    r"""Where paths end that follow the minima of φ_s from s at which it is nearly linear to 1.

    Losses are smoothed by so much that a step sees over the rims of narrow wells, until s is 1.
    Samples are weighted at random first and alike in the end: each path ends elsewhere.

    Parameters
    ----------
    many : ManyPoints
    count : int
        Paths, the first without weights.
    rng : numpy Generator
    deadline : Deadline

    Returns
    -------
    Points
        The best ones.

    References
    ----------
    Blake, Zisserman (1987), Visual Reconstruction: graduated non-convexity.
    """
    risk, share = many.risk, np.linspace(0.0, UNEVEN, count)[:, None]
    weights = rng.exponential(size=(count, many.n_groups)) ** share
    width = np.resize(WIDTHS, count)[:, None]
    everything = np.arange(len(many.A))[None]
    fits = np.repeat(ridge_fits(many, everything, 1e-3), count, axis=0)
    points = many.at(fits, "graduated")
    levels = [1e6, *schedule(BEGINNING, LEVELS)]
    for k, s in enumerate(levels):
        graded = many.of(risk.graduated(float(s))).weighted(weights ** (1 - k / LEVELS))
        for _ in range(STEPS_A_LEVEL if k else CONVEX):
            if deadline.left == 0:
                return many.revalued(points)
            points = step(graded, points, width)
    falling = np.arange(1, NARROWING + 1) / NARROWING
    points = settled(many, points, [width * (NARROW / width) ** share for share in falling])
    best = points.lowest(-(-count // KEPT))
    return settled(many, best, NARROW * (NARROWER / NARROW) ** falling)
