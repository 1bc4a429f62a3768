"""A function to be minimised over a set, as the checks see it: numbers at points, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Landscape", "free"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Landscape:
    """F, its terms, and the constraints, of a flat point.

    Attributes
    ----------
    value : callable
        F(x), infinite outside its domain.
    size : callable
        What the terms of F add up to in absolute value.
    rows : callable
        Entries g of the inequalities g ≤ 0 and h of the equations h = 0, each relative to the
        size of its terms.
    units : array
        A typical size of every coordinate.
    kinked : callable
        Entries e of the nonconvex constraints e ≤ 0, relative likewise: at their concave kinks
        one choice of slope counts as well as another.
    descended : callable, optional
        F as the run descends on it, where that differs: beyond infinite slopes.
    edge : callable, optional
        Is x where a slope is infinite, or so near that the run descends on something else?
    """

    value: Callable[[Array], float]
    size: Callable[[Array], float]
    rows: Callable[[Array], tuple[Array, Array]]
    units: Array
    kinked: Callable[[Array], Array]
    descended: Callable[[Array], float] | None = None
    edge: Callable[[Array], bool] | None = None

    def level(self, x: Array) -> float:
        """F as the run descends on it."""
        return self.value(x) if self.descended is None else self.descended(x)

    @property
    def as_is(self) -> Landscape:
        """The same with the run's descent on F itself."""
        return replace(self, descended=None)

    def miss(self, x: Array) -> float:
        """By how much x misses the constraints."""
        g, h = self.rows(x)
        worst = max(float(np.max(g, initial=0.0)), float(np.max(np.abs(h), initial=0.0)))
        return np.inf if np.isnan(worst) else worst

    def steps(self, x: Array) -> Array:
        """What a relative step is relative to, coordinate by coordinate."""
        return np.maximum(np.abs(x), 0.1 * self.units)


def free(
    value: Callable[[Array], float],
    size: Callable[[Array], float],
    units: Array,
    descended: Callable[[Array], float] | None = None,
) -> Landscape:
    """A landscape without constraints."""
    nothing = np.zeros(0)
    return Landscape(value, size, lambda x: (nothing, nothing), units, lambda x: nothing, descended)
