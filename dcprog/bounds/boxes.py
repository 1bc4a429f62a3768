"""Boxes with their bounds, and a queue of neighbouring boxes, the lowest bound first."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["Boxes", "OpenBoxes", "halved"]


@dataclass
class Boxes:
    """Boxes with bounds and points, one box per line.

    Attributes
    ----------
    lo, hi : arrays of shape (boxes, p)
    lower : array of shape (boxes,)
        A lower bound of the function on the box.
    z : array of shape (boxes, p)
        A point where the function may be low.
    effect : array of shape (boxes, p)
        The share of the gap between function and bound due to each coordinate's width.
    """

    lo: Array
    hi: Array
    lower: Array
    z: Array
    effect: Array

    def __len__(self) -> int:
        return self.lower.size

    def take(self, places: npt.NDArray[np.intp]) -> Boxes:
        """Some of the boxes."""
        return Boxes(
            self.lo[places],
            self.hi[places],
            self.lower[places],
            self.z[places],
            self.effect[places],
        )

    @staticmethod
    def joined(parts: list[Boxes]) -> Boxes:
        """The boxes of several lots as one lot."""
        names = ("lo", "hi", "lower", "z", "effect")
        return Boxes(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def hull(self) -> tuple[Array, Array]:
        """The smallest box around all boxes."""
        return self.lo.min(axis=0), self.hi.max(axis=0)

    def clusters(self, size: int) -> Iterator[Boxes]:
        """Lots of at most `size` neighbouring boxes."""
        if len(self) <= size:
            yield self
            return
        middle = 0.5 * (self.lo + self.hi)
        lo, hi = self.hull
        spread = np.ptp(middle, axis=0) / np.where(hi > lo, hi - lo, 1.0)
        order = np.argsort(middle[:, np.argmax(spread)], kind="stable")
        half = len(self) // 2
        yield from self.take(order[:half]).clusters(size)
        yield from self.take(order[half:]).clusters(size)


@dataclass
class OpenBoxes:
    """A queue of open boxes, in lots of neighbours, the lot with the lowest bound first."""

    heap: list[tuple[float, int, Boxes]] = field(default_factory=list)
    _count: Callable[[], int] = field(default_factory=lambda: count().__next__)

    def push(self, boxes: Boxes, size: int) -> None:
        """Add boxes, in lots of at most `size`."""
        for lot in boxes.clusters(size):
            if len(lot):
                heapq.heappush(self.heap, (float(lot.lower.min()), self._count(), lot))

    def pop(self, size: int) -> Boxes:
        """At least `size` boxes, if there are as many."""
        lots: list[Boxes] = []
        while self.heap and sum(map(len, lots)) < size:
            lots.append(heapq.heappop(self.heap)[2])
        return lots[0] if len(lots) == 1 else Boxes.joined(lots)

    def drop(self, target: float) -> None:
        """Forget the boxes whose bound has reached the target."""
        lots = [lot.take(np.flatnonzero(lot.lower < target)) for _, _, lot in self.heap]
        self.heap = []
        for lot in lots:
            self.push(lot, max(len(lot), 1))

    @property
    def lower(self) -> float:
        """The lowest bound of all open boxes; ∞ if there are none."""
        return self.heap[0][0] if self.heap else np.inf

    def __len__(self) -> int:
        return sum(len(lot) for _, _, lot in self.heap)

    def all(self) -> Boxes | None:
        """All open boxes; None if there are none."""
        return Boxes.joined([lot for _, _, lot in self.heap]) if self.heap else None


def halved(boxes: Boxes) -> Boxes:
    """Each box as two, cut in the middle of the side with the largest effect."""
    rows = np.arange(len(boxes))
    sides = boxes.hi - boxes.lo
    j = np.argmax(np.where(sides > 0, boxes.effect, -np.inf), axis=1)
    middle = 0.5 * (boxes.lo[rows, j] + boxes.hi[rows, j])
    left, right = boxes.hi.copy(), boxes.lo.copy()
    left[rows, j], right[rows, j] = middle, middle
    both = Boxes(
        np.concatenate([boxes.lo, right]),
        np.concatenate([left, boxes.hi]),
        np.tile(boxes.lower, 2),
        np.tile(boxes.z, (2, 1)),
        np.tile(boxes.effect, (2, 1)),
    )
    both.z = np.clip(both.z, both.lo, both.hi)
    return both
