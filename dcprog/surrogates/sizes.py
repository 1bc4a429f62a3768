"""How large coordinates and constraints are along a run: what everything is measured by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.tree import Values
from dcprog.surrogates.majorised_problem import MajorisedProblem
from dcprog.surrogates.natural_units import NaturalUnits

__all__ = ["Sizes"]

SHAKEN = 0.1  # units
# A start so many times as large as what comes after it says nothing of sizes: they are measured
# anew, and what variables reached is forgotten by the other factor a step.
WILD = 1e3
DECAY = 10.0
# Points below SMALL may be 0 but for rounding, if they are NEGLIGIBLE beside the natural unit.
SMALL = 1e-3
NEGLIGIBLE = 1e-6
ENTRY = 1e-8  # an entry so much smaller than the largest of its variable counts as 0


class Sizes:
    """Typical sizes of the coordinates, and what constraints' terms add up to around a run.

    Parameters
    ----------
    problem : MajorisedProblem
    """

    def __init__(self, problem: MajorisedProblem) -> None:
        self._problem = problem
        self._points = problem.points
        self.natural = NaturalUnits(problem)
        self._reach: Array | None = None
        self._last: Array | None = None
        self._n_points = 0

    def begin(self, x: Array) -> None:
        """A run starts at x."""
        self._reach, self._last, self._n_points = None, None, 0
        self._measure(x)

    def learn(self, x: Array, *, narrower: bool = False, convex: bool = True) -> None:
        """Learn sizes of terms around x, for points where they vanish; wild starts do not count."""
        problem = self._problem
        for sizes in (problem.feasibility, problem.domain) if convex else (problem.feasibility,):
            sizes.learn(self.around(x, widely=narrower), narrower=narrower, convex=convex)

    def follow(self, x: Array) -> bool:
        """The run is at x; True if sizes have been measured anew."""
        self._n_points += 1
        self._problem.feasibility.extend(self._problem.at(x))
        narrower = self._n_points > 1 and self._narrow(x)
        self._last = x.copy()
        self._reach = self._reached(x)
        return narrower

    @property
    def variation(self) -> float:
        """The variation of the objective over the problem's own unit, or a step in the run's shape.

        The smaller one: where variables are of very different sizes, the problem's own unit may be
        far from all points that matter. The step is as long as that unit allows, for a run that
        goes to 0 has short ones.
        """
        natural = self.natural.variation
        if self._last is None or not self._last.size:
            return natural
        units = self.units(self._last)
        units = units * np.min(self.natural.unit / units)
        step = units * np.random.default_rng(0).standard_normal(units.size)
        change = self.natural.change(self._last, step)
        return min(natural, change) if change > 0 else natural

    def step(self, x: Array) -> float:
        """Length of the step to x in units of the coordinates; 0 before the first."""
        if self._last is None:
            return 0.0
        return float(np.max(np.abs(x - self._last) / self.units(x), initial=0.0))

    def units(self, x: Array) -> Array:
        """The size each coordinate has had; where that is 0, its variable's, or its unit."""
        entries = self._reached(x)
        of_variable = self._points.spread(self._points.largest(entries))
        # where no price is paid, what is not small is a size and no rounding
        if self._problem.penalised or np.any(of_variable < SMALL):
            unit = self.natural.unit
            tiny = of_variable < NEGLIGIBLE * unit
            entries, of_variable = np.where(tiny, 0.0, entries), np.where(tiny, unit, of_variable)
        return np.where(entries > ENTRY * of_variable, entries, of_variable)

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return np.where(np.abs(x) <= ENTRY * self.units(x), 0.0, x)

    def beside(self, x: Array, rng: np.random.Generator, size: float = SHAKEN) -> Array:
        """A random point some units from x."""
        return x + size * self.units(x) * rng.standard_normal(x.size)

    def around(self, x: Array, *, widely: bool = False) -> Iterator[Values]:
        """Values at x and a little beside it; widely: by the natural unit, too."""
        rng = np.random.default_rng(0)
        projected, at = self._points.projected, self._problem.at
        yield at(x)
        yield at(projected(self.beside(x, rng)))
        if widely:
            yield at(projected(x + SHAKEN * self.natural.unit * rng.standard_normal(x.size)))

    # ------------------------------------------------------------------------------------------

    def _measure(self, x: Array) -> None:
        """How large the arguments of atoms with an edge are, at x and a step away."""
        problem = self._problem
        problem.context.begin()
        for point in (x, x + self.units(x)):
            self._points.load(point)
            problem.context.measure(problem.roots, problem.context.values())
        problem.forget_values()

    def _narrow(self, x: Array) -> bool:
        """Forget the sizes of a wild start: steps end somewhere better."""
        if self._is_smaller(x, WILD):
            reach, self._reach = self._reach, None
            self._measure(x)
            self._reach = reach
        if self._n_points > 2 and not self._is_smaller(x, DECAY):
            return False
        assert self._reach is not None
        held = np.minimum(self._reach, self.natural.unit)
        self._reach = np.maximum(self._reach / DECAY, held)
        self.learn(x, narrower=True, convex=self._n_points == 2)
        return True

    def _is_smaller(self, x: Array, factor: float) -> bool:
        """True if a variable is that many times smaller than it has been."""
        before = self._points.largest(self._reached(x))
        return bool(np.any(factor * self._points.largest(np.abs(x)) < before))

    def _reached(self, x: Array) -> Array:
        """The largest that each coordinate has been."""
        return np.abs(x) if self._reach is None else np.maximum(np.abs(x), self._reach)
