"""Best-first branch and bound over boxes: bound many at once, drop, halve, until the gap closes."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from itertools import count
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dcprog.bounds.boxed_risk import PerBox
from dcprog.bounds.rounding import SMALLEST
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import WrongBound
from dcprog.foundation.progress_log import logger
from dcprog.foundation.tolerances import FORCING, KNOWN_DIGITS


@dataclass
class Boxes(PerBox):
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

    @staticmethod
    def joined(parts: list[Boxes]) -> Boxes:
        """The boxes of several lots as one lot."""
        names = [field.name for field in fields(Boxes)]
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
        """Remove the next boxes of the heap, at least `size` of them, or all, and return them."""
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
    """The boxes cut in two, each in the middle of the side with the largest effect."""
    rows = np.arange(len(boxes))
    sides = boxes.hi - boxes.lo
    j = np.argmax(np.where(sides > 0, boxes.effect, -np.inf), axis=1)
    middle = 0.5 * (boxes.lo[rows, j] + boxes.hi[rows, j])
    both = boxes.take(np.tile(rows, 2))
    both.hi[rows, j] = middle
    both.lo[rows + rows.size, j] = middle
    both.z = np.clip(both.z, both.lo, both.hi)
    return both


# ----------------------------------------------------------------------------------------------
# the search


# Seconds between lines of the log and calls of the callback.
PAUSE = 0.5
# A new incumbent is improved by the outer loop if it is better by more than FORCING of the gap.
# Number of known points that the bounds of every batch are checked against.
REMEMBERED = 8


@dataclass
class Incumbent:
    """The best point known.

    Attributes
    ----------
    x : array
    value : float
    scale : float
        The sum of the absolute values of the function's terms at x.
    rounding : float
        A bound of the change of the value by rounding errors in the arguments of its terms.
    """

    x: Array
    value: float
    scale: float
    rounding: float


@dataclass
class Placed:
    """A known point with bounds of its search coordinates."""

    point: Incumbent
    low: Array
    high: Array


def inside(known: list[Placed], boxes: Boxes) -> npt.NDArray[np.bool_]:
    """A mask of which point may lie in which box, of shape (points, boxes)."""
    low, high = np.array([k.low for k in known]), np.array([k.high for k in known])
    return np.asarray(np.all((boxes.lo <= high[:, None]) & (low[:, None] <= boxes.hi), axis=2))


@dataclass
class Found:
    """Bounds and points that a space finds for a batch of boxes, one line per box.

    Attributes
    ----------
    lower : array of shape (boxes,)
        Proven bounds; ∞ for a box that is known to hold no point of interest.
    z, value : arrays of shape (boxes, p) and (boxes,)
        A point in each box and the function there.
    effect : array of shape (boxes, p)
        The share of value − lower that is due to the width of each coordinate.
    """

    lower: Array
    z: Array
    value: Array
    effect: Array


class Space(Protocol):
    """A function on boxes."""

    @property
    def lot(self) -> int:
        """The number of boxes that are bounded at once."""

    @property
    def least_scale(self) -> float:
        """A lower bound of the scale that gaps are relative to."""

    def root(self, best: Incumbent) -> Boxes:
        """Boxes that hold, for every point below the incumbent's value, one at least as good."""

    def bound(self, boxes: Boxes, target: float) -> Found:
        """Lower bounds of the boxes; bounds beyond the target need not be sharp."""

    def improved(self, z: Array, seconds: float) -> Incumbent:
        """The user's point for z, or a better one found from it in so many seconds."""

    def value(self, z: Array) -> float:
        """The user's function at the point z."""

    def region(self, x: Array) -> tuple[Array, Array]:
        """Bounds of the search coordinates of the user's point x."""


class Search:
    """Best-first branch and bound.

    Every bound is checked against known points: the bounds of a batch against the latest
    incumbents and against the point of the batch that is nearest to its bound, evaluated by the
    user's function; a new incumbent against the bounds of all open boxes and of the dropped ones.

    Parameters
    ----------
    space : Space
    boxes : Boxes or None
        The boxes of the root, or those that another search has left open.
    incumbent : Incumbent
    gap : float
        Relative to the incumbent's scale.
    nodes : int, default 0
        The number of boxes bounded before.
    floor : float, default infinite
        A lower bound for the boxes dropped before.

    Raises
    ------
    WrongBound
        A known point, the first incumbent or one met later, lies below a bound.
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
        self._least_scale = space.least_scale
        self._first = boxes
        self._deadline = np.inf
        self._known: list[Placed] = []
        self.open = OpenBoxes()
        if boxes is not None:
            self.open.push(boxes, space.lot)
        self._learn(incumbent)

    @property
    def target(self) -> float:
        """The bound at which a box is dropped: the best value minus the gap."""
        return self.best.value - self.gap * self.scale

    @property
    def scale(self) -> float:
        """The scale that the gap is relative to."""
        return max(self.best.scale, self._least_scale)

    @property
    def lower(self) -> float:
        """The lower bound that is proved so far."""
        return min(self.open.lower, self.floor)

    def run(self, deadline: float, report: Callable[[], object] | None = None) -> str:
        """Search until the gap is closed, the deadline has passed, or the user stops it.

        The deadline is a time of ``time.perf_counter``.

        Returns
        -------
        str
            ``proved``, ``time_limit``, ``interrupted`` or ``stopped``.
        """
        said, self._deadline = time.perf_counter(), deadline
        while self._has_more():
            now = time.perf_counter()
            if now >= deadline:
                return "time_limit"
            if now - said > PAUSE:
                said = now
                told = "%-11.11s %22.9g  a lower bound, %d boxes, %d open; %.9g is found"
                counts = self.nodes, len(self.open)
                logger.info(told, "boxes", self.lower, *counts, self.best.value)
                if report is not None and report():
                    return "stopped"
            boxes = self.open.pop(self.space.lot)
            try:
                rest, new = self._expanded(boxes)
            except KeyboardInterrupt:
                self.open.push(boxes, len(boxes))
                return "interrupted"
            self.open.push(rest, self.space.lot)
            if new is not None:
                self.adopt(new)
        self.floor = min(self.floor, self.open.lower)
        self.open.drop(-np.inf)
        return "proved"

    def _has_more(self) -> bool:
        """True if a bound is still below the target.

        If the scale has become smaller since boxes were dropped, these were dropped too early: the
        search begins again at the root, with the bound proved for the dropped boxes.
        """
        lost = self.target - self.floor > KNOWN_DIGITS * self.scale
        if lost and self.target <= self.open.lower:
            boxes = self.space.root(self.best)
            boxes.lower = np.fmax(boxes.lower, self.floor)
            self._first, self.floor = boxes, np.inf
            self.open.push(boxes, self.space.lot)
        return self.open.lower < self.target

    def _expanded(self, boxes: Boxes) -> tuple[Boxes, Incumbent | None]:
        """The halves of the boxes that stay open, and a better incumbent if one was found."""
        halves = halved(boxes)
        found = self.space.bound(halves, self.target)
        self.floor = min(self.floor, self.target)
        self.nodes += len(halves)
        halves.lower = np.fmax(found.lower, halves.lower)
        self._check(halves, found)
        rest = Boxes(halves.lo, halves.hi, halves.lower, found.z, found.effect)
        left = ~(rest.lower >= self.target)
        return rest.take(np.flatnonzero(left)), self._better(found)

    def _check(self, boxes: Boxes, found: Found) -> None:
        """Check the bounds of a batch against the known points and one point of the batch."""
        self._hold(self._known, boxes)
        room = found.value - boxes.lower
        room = np.where(np.isfinite(room), room, np.inf)
        place = int(np.argmin(room))
        z = found.z[place]
        if room[place] < np.inf and self.space.value(z) < boxes.lower[place]:
            self._hold([self._placed(self.space.improved(z, 0.0))], boxes)

    def _learn(self, point: Incumbent) -> None:
        """Check a point against all bounds so far, and remember it."""
        placed = self._placed(point)
        held = [self._hold([placed], lot) for _, _, lot in self.open.heap]
        if not any(held):
            self._hold_outside(placed)
        self._known = [placed, *self._known][:REMEMBERED]

    def _placed(self, point: Incumbent) -> Placed:
        return Placed(point, *self.space.region(point.x))

    def _hold(self, known: list[Placed], boxes: Boxes) -> bool:
        """Check points against the bounds of the boxes they are in; True if any is in a box."""
        within = inside(known, boxes)
        claims = np.where(within, boxes.lower, -np.inf)
        for one, worst, claim in zip(known, claims.argmax(axis=1), claims, strict=True):
            self._refute(one.point, float(claim[worst]), (boxes.lo[worst], boxes.hi[worst]))
        return bool(np.any(within))

    def _hold_outside(self, placed: Placed) -> None:
        """Check a point that lies in no open box against the bound of the dropped boxes.

        For a point outside the first boxes, the claim is that some point inside is as good.
        """
        if self._first is not None and np.any(inside([placed], self._first)):
            self._refute(placed.point, self.floor, self._first.hull)
        else:
            self._refute(placed.point, self.lower, None)

    def _refute(self, point: Incumbent, claim: float, box: tuple[Array, Array] | None) -> None:
        """Raise WrongBound if the point lies below the claim by more than rounding."""
        scale = max(point.scale, self._least_scale)
        if point.value < claim - 2 * point.rounding - KNOWN_DIGITS * scale - SMALLEST:
            raise WrongBound(point.x, point.value, claim, box)

    def _better(self, found: Found) -> Incumbent | None:
        """The incumbent at the lowest point of a batch, if that is lower than the best one."""
        place = int(np.argmin(np.where(np.isnan(found.value), np.inf, found.value)))
        value = found.value[place]
        if not value < self.best.value:
            return None
        is_much = self.best.value - value > FORCING * self.gap * self.scale
        left = max(0.0, self._deadline - time.perf_counter()) if is_much else 0.0
        return self.space.improved(found.z[place], left)

    def adopt(self, new: Incumbent) -> None:
        """Take a point as the incumbent if it is better than the present one."""
        if new.value < self.best.value:
            self._learn(new)
            self.best = new
            self.floor = min(self.floor, self.target)
            self.open.drop(self.target)
