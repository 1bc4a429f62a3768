"""Many paths from a nearly convex, smooth risk down to the risk itself, side by side."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk_mm.graduation import schedule
from dcprog.risk_mm.many_points import ManyPoints, Points
from dcprog.risk_mm.smoothed_newton import ridge_fits, settled, step

__all__ = ["graduated_paths"]

# Steps on the nearly convex risk; then levels of s, with so many steps on each.
CONVEX, BEGINNING, LEVELS, STEPS_A_LEVEL = 3, 3.0, 10, 2
# Widths of the smoothing in units of the margins until s is 1. Then all fall to the first, and
# those of the best points, one in so many, to the second, in so many steps.
WIDTHS = (0.7, 1.0, 1.4)
NARROW, KEPT, NARROWER, NARROWING = 0.1, 4, 0.01, 8
# Samples have weights e^a, e exponential, with powers a up to that.
UNEVEN = 0.5


def graduated_paths(
    many: ManyPoints, fits: Array, count: int, rng: np.random.Generator, deadline: Deadline
) -> Points:
    r"""Where paths end that follow minima of φ_s, s falling from nearly convex to 1.

    Losses are smoothed by so much that steps go over the rims of narrow wells. Samples are
    weighted at random first and alike in the end, so that each path ends elsewhere.

    Parameters
    ----------
    many : ManyPoints
    fits : array of shape (m, p)
        In the units of `many`: where paths begin.
    count : int
        Paths that begin at the minima of the convex risk.
    rng : numpy Generator
    deadline : Deadline

    Returns
    -------
    Points
        The best of them.

    References
    ----------
    Blake, Zisserman (1987), Visual Reconstruction: graduated non-convexity.
    """
    risk, total = many.risk, count + len(fits)
    powers = np.append(np.linspace(0, UNEVEN, count), np.linspace(0, UNEVEN, len(fits)))
    weights = rng.exponential(size=(total, many.n_groups)) ** powers[:, None]
    width = np.resize(WIDTHS, total)[:, None]

    def followed(points: Points, s: float, even: float, steps: int) -> Points:
        part = slice(len(points.values))
        graded = many.of(risk.graduated(s)).weighted(weights[part] ** (1 - even))
        for _ in range(0 if deadline.left == 0 else steps):
            points = step(graded, points, width[part], smoothly=True)
        return points

    everything = np.arange(len(many.A))[None]
    ridge = np.repeat(ridge_fits(many, everything, 1e-3), count, axis=0)
    points = followed(many.at(ridge, "graduated"), 1e6, 0.0, CONVEX)
    if len(fits):
        points = points.joined(many.at(fits, "subset"))
    for k, s in enumerate(schedule(BEGINNING, LEVELS), 1):
        points = followed(points, float(s), k / LEVELS, STEPS_A_LEVEL)
    points = _narrowed(many, points, width, NARROW, deadline)
    return _narrowed(many, points.lowest(-(-total // KEPT)), NARROW, NARROWER, deadline)


def _narrowed(
    many: ManyPoints, points: Points, begin: float | Array, end: float, deadline: Deadline
) -> Points:
    """The points after steps with less and less smoothing, with their values under `many`."""
    shares = np.arange(1, NARROWING + 1) / NARROWING
    widths = (begin * (end / begin) ** share for share in shares if deadline.left != 0)
    return settled(many, points, widths, smoothly=True)
