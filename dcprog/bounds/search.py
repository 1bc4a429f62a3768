"""Best-first branch and bound over boxes: bound many at once, drop, halve, until the gap closes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dcprog.bounds.boxes import Boxes, OpenBoxes, halved
from dcprog.engine.result import Result
from dcprog.foundation.arrays import Array
from dcprog.foundation.progress_log import logger

__all__ = ["Found", "Incumbent", "Search", "Space", "heeded"]

# Seconds between lines of the log and calls of the callback.
PAUSE = 0.5
# A new incumbent is improved by the loop where it is that much better, in shares of the gap.
WORTH = 0.1


@dataclass
class Incumbent:
    """The best point known.

    Attributes
    ----------
    x : array or None
    value : float
        ∞ without a point.
    scale : float
        What the terms of the function add up to there.
    """

    x: Array | None
    value: float
    scale: float


@dataclass
class Found:
    """What a space says of a batch of boxes, a line each.

    Attributes
    ----------
    lower : array of shape (boxes,)
        Proven bounds; ∞ for a box without a feasible point.
    z, value : arrays of shape (boxes, p) and (boxes,)
        A point in each box and the function there, ∞ where it is not feasible.
    effect : array of shape (boxes, p)
        How much of value − lower belongs to the width of each coordinate.
    lo, hi : arrays of shape (boxes, p)
        The boxes without what is certain to lie above the target.
    """

    lower: Array
    z: Array
    value: Array
    effect: Array
    lo: Array
    hi: Array


class Space(Protocol):
    """A function on boxes."""

    @property
    def lot(self) -> int:
        """How many boxes are bounded at once."""

    @property
    def least_scale(self) -> float:
        """Gaps are relative to that much at least."""

    def settle(self, boxes: Boxes) -> None:
        """Said once: the boxes that the search begins with."""

    def bound(self, boxes: Boxes, target: float) -> Found:
        """Bounds of the boxes; of no interest beyond the target."""

    def improved(self, z: Array, polish: bool) -> Incumbent | None:
        """The point z as the user's function sees it, or one found from it; None if unfit."""


def heeded(result: Result) -> Result:
    """A result of the loop; the interrupt that the loop has swallowed is raised again."""
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


class Search:
    """Branch and bound.

    Parameters
    ----------
    space : Space
    boxes : Boxes
        That hold every point below the incumbent's value.
    incumbent : Incumbent
    gap : float
        Share of the incumbent's scale.
    nodes : int, default 0
        Boxes bounded before.
    floor : float, default infinite
        A bound for what was dropped before.
    """

    def __init__(
        self,
        space: Space,
        boxes: Boxes | None,
        incumbent: Incumbent,
        gap: float,
        nodes: int = 0,
        floor: float = np.inf,
    ) -> None:
        self.space = space
        self.best = incumbent
        self.gap = gap
        self.nodes = nodes
        self.floor = floor
        if boxes is not None:
            space.settle(boxes)
        self._least_scale = space.least_scale
        self.open = OpenBoxes()
        if boxes is not None:
            self.open.push(boxes, space.lot)

    @property
    def target(self) -> float:
        """Boxes whose bound has reached it are done with."""
        return self.best.value - self.gap * self.scale

    @property
    def scale(self) -> float:
        """What the gap is relative to."""
        return max(self.best.scale, self._least_scale)

    @property
    def lower(self) -> float:
        """The bound that is proved."""
        return min(self.open.lower, self.floor)

    def run(self, deadline: float, report: Callable[[], object] | None = None) -> str:
        """Search until the gap is closed, the clock (``time.perf_counter``) or the user stops it.

        Returns
        -------
        str
            ``proved``, ``infeasible``, ``time_limit``, ``interrupted`` or ``stopped``.
        """
        said = time.perf_counter()
        while self.open.lower < self.target:
            now = time.perf_counter()
            if now >= deadline:
                return "time_limit"
            if now - said > PAUSE:
                said = now
                logger.info(
                    "bound %.6g of %.6g, %d boxes, %d open",
                    self.lower,
                    self.best.value,
                    self.nodes,
                    len(self.open),
                )
                if report is not None and report():
                    return "stopped"
            boxes = self.open.pop(self.space.lot)
            try:
                rest = self._expanded(boxes)
            except KeyboardInterrupt:
                self.open.push(boxes, len(boxes))
                return "interrupted"
            self.open.push(rest, self.space.lot)
        self.floor = min(self.floor, self.open.lower)
        self.open.drop(-np.inf)
        return "proved" if self.best.x is not None else "infeasible"

    def _expanded(self, boxes: Boxes) -> Boxes:
        """What is left of the boxes' halves."""
        halves = halved(boxes)
        found = self.space.bound(halves, self.target)
        self.floor = min(self.floor, self.target)
        self.nodes += len(halves)
        lower = np.fmax(found.lower, halves.lower)
        rest = Boxes(found.lo, found.hi, lower, found.z, found.effect)
        rest = rest.take(np.flatnonzero(~(lower >= self.target) & np.all(found.lo <= found.hi, 1)))
        self._look(found)
        return rest.take(np.flatnonzero(~(rest.lower >= self.target)))

    def _look(self, found: Found) -> None:
        """Take the lowest point of a batch where it is lower than the best."""
        place = int(np.argmin(np.where(np.isnan(found.value), np.inf, found.value)))
        value = found.value[place]
        if not value < self.best.value:
            return
        polish = self.best.x is None or self.best.value - value > WORTH * self.gap * self.scale
        new = self.space.improved(found.z[place], polish)
        if new is not None:
            self.adopt(new)

    def adopt(self, new: Incumbent) -> None:
        """Take a point in place of the best one, if it is better."""
        if new.value < self.best.value:
            self.best = new
            self.floor = min(self.floor, self.target)
            self.open.drop(self.target)
