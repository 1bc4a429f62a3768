"""Drafts: points that are cheap to find and mostly good, from which runs may start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.surrogates.graduation import schedule, spread
from dcprog.surrogates.many_points import ManyPoints, Points
from dcprog.surrogates.subsets import labels_of, subset_fits

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["Draft", "drafts"]


@dataclass(frozen=True)
class Draft:
    """A point that a run may start from, F there, and how it was found."""

    kind: str
    x: Array
    value: float


@dataclass(frozen=True)
class Effort:
    """How many points are looked at.

    Attributes
    ----------
    subsets : int
        That are fitted.
    kept : tuple of int
        Of all points, after the first steps and after the next.
    kicks : int
        Rounds in which the best points are moved at random.
    """

    subsets: int
    kept: tuple[int, int, int]
    kicks: int


EFFORTS = {
    "default": Effort(200, (16, 8, 4), 1),
    "high": Effort(1000, (60, 24, 10), 6),
}
# Widths of the smoothing in units of the margins: after the first two steps the best are kept.
WIDTHS = ((0.4, 0.3), (0.2, 0.15, 0.1), (0.08, 0.06, 0.05, 0.04, 0.03, 0.03))
LEVELS, STEPS_A_LEVEL = 6, 2
KICK = 0.5
# Two points closer than that, relative to their size, are one.
SAME = 1e-2


def drafts(
    risk: Risk,
    near: list[Array],
    effort: str,
    rng: np.random.Generator,
    time_limit: float | None = None,
) -> list[Draft]:
    """The best of many starts after a few smoothed Newton steps, best first, no two alike."""
    if not ManyPoints.takes(risk):
        return []
    with np.errstate(all="ignore"):
        return _Drafting(risk, EFFORTS[effort], rng, Deadline(time_limit)).run(near)


class _Drafting:
    def __init__(
        self, risk: Risk, effort: Effort, rng: np.random.Generator, deadline: Deadline
    ) -> None:
        self.risk, self.effort, self.rng, self.deadline = risk, effort, rng, deadline
        self.many = ManyPoints(risk)

    def run(self, near: list[Array]) -> list[Draft]:
        many, kept = self.many, self.effort.kept
        fits = subset_fits(many, labels_of(self.risk), self.effort.subsets, self.rng)
        points = many.at(fits).lowest(kept[0])
        points = points.joined(self._graduated())
        for widths, count in zip(WIDTHS, kept, strict=True):
            points = self._settled(points.lowest(count), widths)
        if near:
            points = points.joined(many.at(np.vstack([many.given(x) for x in near])))
        for _ in range(self.effort.kicks):
            best = points.lowest(4)
            kicked = self._settled(many.at(self._kicked(best.theta)).lowest(8), WIDTHS[1])
            points = points.joined(self._settled(kicked.lowest(3), WIDTHS[2])).lowest(12)
        return self._distinct(points.lowest(len(points.values)))

    def _settled(self, points: Points, widths: tuple[float, ...]) -> Points:
        for width in widths:
            if self.deadline.left == 0:
                break
            points = self.many.step(points, width)
        return points

    def _kicked(self, theta: Array) -> Array:
        """Points around, at the size of a coefficient's usual change."""
        size = np.sqrt(np.mean(theta**2, axis=1, keepdims=True))
        noise = self.rng.standard_normal((6, *theta.shape))
        return (theta + KICK * size * noise).reshape(-1, theta.shape[1])

    def _graduated(self) -> Points:
        """The path of φ_s from a nearly convex risk down to the risk itself, by few steps each."""
        many = self.many
        everything = np.arange(len(many.A))[None]
        points = many.at(many.ridge(everything, 1e-3))
        convex = many.of(self.risk.graduated(1e6))
        points = convex.revalued(points)
        for width in (0.5, 0.3, 0.2):
            points = convex.step(points, width)
        s = spread(self.risk, many.losses(points.margins)[0])
        found = []
        for factor in (1.0, 2.0):
            path = points
            levels = schedule(factor * s, LEVELS) if s > 1 else np.ones(1)
            for level, width in zip(levels, np.geomspace(0.3, 0.1, len(levels)), strict=True):
                graded = many.of(self.risk.graduated(float(level)))
                path = graded.revalued(path)
                for _ in range(STEPS_A_LEVEL):
                    path = graded.step(path, width)
            found.append(many.revalued(path))
        return found[0].joined(found[1])

    def _distinct(self, points: Points) -> list[Draft]:
        many = self.many
        chosen: list[int] = []
        for i, theta in enumerate(points.theta):
            size = SAME * np.linalg.norm(theta)
            if all(np.linalg.norm(theta - points.theta[j]) > size for j in chosen):
                chosen.append(i)
        return [
            Draft("subset", many.taken(points.theta[i]), float(points.values[i])) for i in chosen
        ]
