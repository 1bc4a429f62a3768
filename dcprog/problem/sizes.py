"""Typical sizes of coordinates and constraints along a run: the units of steps and violations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.kept_values import values_kept
from dcprog.foundation.tolerances import BESIDE, NEGLIGIBLE, STILL, TOL
from dcprog.majorants.tree import Values
from dcprog.problem.majorised_problem import MajorisedProblem

DECADE = 10.0  # units are searched in steps of a decade; a former size fades by one at each step
DECADES = 15  # decades from 1, either way, in which a unit is searched
RESPONSE = 0.5  # share of a term by which a step of one unit changes it
MANY = 20  # problems with more variables than this have one unit for all of them
WILD = 1e3  # a start this many times larger than the next point is no measure of sizes
KNOWN = float(np.sqrt(TOL))  # accuracy, in units, of a smooth minimum whose value is known to TOL
SMALL = 1e-3  # smaller entries may be 0 but for rounding


class NaturalUnits:
    """The sizes of a problem's variables at which its terms change.

    Parameters
    ----------
    problem : MajorisedProblem
    """

    def __init__(self, problem: MajorisedProblem) -> None:
        self._problem = problem
        self._points = problem.points

    @cached_property
    def unit(self) -> Array:
        """A typical size of every coordinate, one number a variable; costly to compute.

        For each variable, the smallest power of ten by which a random step of it alone changes the
        objective or a constraint by half of their sizes at 0. If there is none, or there are MANY
        variables, the smallest power for all variables together; else 1.
        """
        with values_kept(self._points.variables):
            return self._measured()

    def change(self, x: Array, step: Array) -> float:
        """The largest finite change of the objective by a step: either way or with one sign."""
        with values_kept(self._points.variables), np.errstate(invalid="ignore"):
            ways = 0.0, step, -step, np.abs(step)
            here, *there = (self._objective(x + way) for way in ways)
            changes = np.abs(np.array(there) - here)
        return float(np.max(changes, where=np.isfinite(changes), initial=0.0))

    def _objective(self, x: Array) -> float:
        """The objective at x; NaN where it has no value."""
        self._points.load(self._points.projected(x))
        try:
            with np.errstate(all="ignore"):
                return float(np.sum(Values().array(self._problem.frame.node)))
        except (ValueError, ArithmeticError):
            return np.nan

    def _terms(self) -> Array:
        """What the objective's terms add up to at 0, without constants that are added to them."""
        self._points.load(self._points.projected(np.zeros(self._points.size)))
        with np.errstate(all="ignore"):
            return np.ravel(Values().magnitude(self._problem.frame.node))

    def _measured(self) -> Array:
        problem = self._problem
        nodes = [problem.frame.node, *(frame.node for frame in problem.constraints)]
        nodes += [node for c in problem.problem.constraints for node in _sides(c)]
        direction = np.random.default_rng(0).standard_normal(self._points.size)
        here = self._numbers(np.zeros(direction.size), nodes)
        sizes = np.abs(here)
        sizes[: nodes[0].size] = self._terms()

        def power(step: Array) -> int | None:
            def answers(power: int) -> bool:
                change = np.abs(self._numbers(DECADE**power * step, nodes) - here)
                return bool(np.any(change[sizes != 0] >= RESPONSE * sizes[sizes != 0]))

            return _smallest(answers)

        units = self._of_each(direction, power)
        if np.any(np.isnan(units)):
            balance = self._balance(direction)
            common = power(balance * direction)
            units = np.where(np.isnan(units), balance * DECADE ** (common or 0), units)
        return np.minimum(units, self._room())

    def _room(self) -> Array:
        """The largest absolute value that each variable's own bounds allow."""
        far = np.full(self._points.size, DECADE**DECADES)
        ways = [np.abs(self._points.projected(step)) for step in (far, -far)]
        room = self._points.largest(np.maximum(*ways))
        return self._points.spread(np.where(room > 0, room, np.inf))

    def _of_each(self, direction: Array, power: Callable[[Array], int | None]) -> Array:
        """The unit of each variable by itself; NaN where it has none."""
        units = np.full(len(self._points.variables), np.nan)
        for i, alone in enumerate(self._alone(direction)):
            found = (power(step) for step in (alone, -alone))  # it may have a sign
            units[i] = next((DECADE**k for k in found if k is not None), np.nan)
        return self._points.spread(units)

    def _balance(self, direction: Array) -> Array:
        """Steps of the variables, each of which changes the objective by about 1.

        Each variable is moved alone first. Variables that change nothing alone, as factors of a
        product, are then moved with the others at their steps.
        """
        n, alone = len(self._points.variables), self._alone(direction)
        steps = np.ones(n)
        base, left = np.zeros(direction.size), list(range(len(alone)))
        for _ in range(2):
            found = {i: self._step(base, alone[i]) for i in left}
            left = [i for i in left if found[i] is None]
            for i, step in found.items():
                steps[i] = step or 1.0
            known = np.array([i not in left for i in range(n)])
            base = self._points.spread(steps * known) * np.abs(direction)
        return self._points.spread(steps)

    def _alone(self, direction: Array) -> list[Array]:
        """A step of each variable alone; no steps for one variable, or more than MANY."""
        n = len(self._points.variables)
        if not 1 < n <= MANY:
            return []
        return [direction * self._points.spread(np.arange(n) == i) for i in range(n)]

    def _step(self, base: Array, alone: Array) -> float | None:
        """The factor of a step by which it changes the objective by 1; None where it does not."""
        factors = (0.0, 1.0, DECADE)
        here, one, ten = (self._objective(base + f * np.abs(alone)) for f in factors)
        small, large = abs(one - here), abs(ten - here)
        if not (0 < small < large < np.inf):
            return None
        power = np.log10(large / small)
        return float(DECADE ** np.round(-np.log10(small) / power)) if power > RESPONSE else None

    def _numbers(self, x: Array, nodes: list[Any]) -> Array:
        """All entries of the nodes at x, with 0 for entries that are not finite."""
        self._points.load(self._points.projected(x))
        values, numbers = Values(), []
        for node in nodes:
            try:
                with np.errstate(all="ignore"):
                    numbers.append(values.array(node).ravel())
            except (ValueError, ArithmeticError):
                numbers.append(np.zeros(node.size))
        joined = np.concatenate(numbers or [np.zeros(0)])
        return np.where(np.isfinite(joined), joined, 0.0)


def _sides(constraint: cp.Constraint) -> list[cp.Expression]:
    """The sides that are compared with 0, or a cone's arguments."""
    compared = isinstance(constraint, cp.constraints.Inequality | cp.constraints.Equality)
    return [constraint.expr] if compared else list(constraint.args)


def _smallest(answers: Callable[[int], bool]) -> int | None:
    """The smallest power at which `answers` is true, searched from 0; None if it never is."""
    if answers(0):
        return next((k + 1 for k in range(-1, -DECADES - 1, -1) if not answers(k)), -DECADES)
    return next((k for k in range(1, DECADES + 1) if answers(k)), None)


# ----------------------------------------------------------------------------------------------


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
        self._last = np.zeros(self._points.size)
        self._n_points = 0

    def begin(self, x: Array) -> None:
        """Begin a run at x."""
        self._reach, self._last, self._n_points = None, x.copy(), 0
        self._measure(x)

    def learn(self, x: Array, *, narrower: bool = False, convex: bool = True) -> None:
        """Learn sizes of terms around x, for points where they vanish; wild starts do not count."""
        problem = self._problem
        for sizes in (problem.feasibility, problem.domain) if convex else (problem.feasibility,):
            sizes.learn(self.around(x, widely=narrower), narrower=narrower, convex=convex)

    def follow(self, x: Array) -> bool:
        """Note that the run is at x; True if sizes have been measured anew."""
        self._n_points += 1
        self._problem.feasibility.extend(self._problem.at(x))
        narrower = self._n_points > 1 and self._narrow(x)
        self._last = x.copy()
        self._reach = self._reached(x)
        return narrower

    @property
    def variation(self) -> float:
        """The change of the objective by a random step of KNOWN units from the run's last point."""
        x, rng = self._last, np.random.default_rng(0)
        return self.natural.change(x, KNOWN * self.units(x) * rng.standard_normal(x.size))

    def step(self, x: Array) -> float:
        """Length of the step to x in units of the coordinates; 0 before the first."""
        return float(np.max(np.abs(x - self._last) / self.units(x), initial=0.0))

    def units(self, x: Array) -> Array:
        """The size each coordinate has had; where that is 0, its variable's, or its unit."""
        entries = self._reached(x)
        of_variable = self._points.spread(self._points.largest(entries))
        # without a penalty, a coordinate that is not small has a size and is no rounding error
        if self._problem.penalised or np.any(of_variable < SMALL):
            unit = self.natural.unit
            tiny = of_variable < STILL * unit
            entries, of_variable = np.where(tiny, 0.0, entries), np.where(tiny, unit, of_variable)
        return np.where(entries > NEGLIGIBLE * of_variable, entries, of_variable)

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return np.where(np.abs(x) <= NEGLIGIBLE * self.units(x), 0.0, x)

    def beside(self, x: Array, rng: np.random.Generator, size: float = BESIDE) -> Array:
        """A random point some units from x."""
        return x + size * self.units(x) * rng.standard_normal(x.size)

    def around(self, x: Array, *, widely: bool = False) -> Iterator[Values]:
        """Values at x and a little beside it; widely: by the natural unit, too."""
        rng = np.random.default_rng(0)
        projected, at = self._points.projected, self._problem.at
        yield at(x)
        yield at(projected(self.beside(x, rng)))
        if widely:
            yield at(projected(x + BESIDE * self.natural.unit * rng.standard_normal(x.size)))

    # ------------------------------------------------------------------------------------------

    def _measure(self, x: Array) -> None:
        """Measure the arguments of atoms with an edge, at x and a step away."""
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
        if self._n_points > 2 and not self._is_smaller(x, DECADE):
            return False
        assert self._reach is not None
        held = np.minimum(self._reach, self.natural.unit)
        self._reach = np.maximum(self._reach / DECADE, held)
        self.learn(x, narrower=True, convex=self._n_points == 2)
        return True

    def _is_smaller(self, x: Array, factor: float) -> bool:
        """True if a variable is more than `factor` times smaller than it has been."""
        before = self._points.largest(self._reached(x))
        return bool(np.any(factor * self._points.largest(np.abs(x)) < before))

    def _reached(self, x: Array) -> Array:
        """The largest absolute value of each coordinate so far."""
        return np.abs(x) if self._reach is None else np.maximum(np.abs(x), self._reach)
