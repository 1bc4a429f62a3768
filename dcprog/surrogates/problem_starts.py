"""Where runs on a cvxpy problem begin: convex, half, random, shaken and restored points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.result import Attempt
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.majorants.tree import Values

__all__ = ["Starts"]

START_TOLERANCE = 1e-8
SHARE = 0.5  # of the time that is left, for a solver behind the first
# A point that misses a constraint or says nothing is moved by that many units.
SHAKEN = 0.1
# The unit of a problem that starts at 0 is looked for among powers of ten up to that, either way.
DECADES = 15
RESPONSE = 0.5
FAR_OFF = 1e2  # units
MANY = 20  # variables share their unit
SAMPLES = 10
# How far inside its domain a start is moved, in units.
MARGINS = (0.1, 1e-3, 1e-6, 0.0)
MARGINS_STRICT = (1e-7, 1e-5, 1e-3)  # and from there back as near as possible
HALVINGS = 30


def _sides(constraint: cp.Constraint) -> list[cp.Expression]:
    """What is compared with 0, or a cone's arguments."""
    compared = isinstance(constraint, cp.constraints.Inequality | cp.constraints.Equality)
    return [constraint.expr] if compared else list(constraint.args)


def _nearest(x: Array, inside: Array, accepts: Callable[[Array], bool]) -> Array:
    """The first accepted point on the way from x to one that is accepted, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if accepts(x + middle * (inside - x)):
            high = middle
        else:
            low = middle
    return x + high * (inside - x) if high < 1 else inside


def _smallest(answers: Callable[[int], bool]) -> int | None:
    """The least power that answers, from 0 down or up; None where none does."""
    if answers(0):
        return next((k + 1 for k in range(-1, -DECADES - 1, -1) if not answers(k)), -DECADES)
    return next((k for k in range(1, DECADES + 1) if answers(k)), None)


class Starts:
    """Starting points of a problem, and what a size of its coordinates is before any is known."""

    def __init__(self, surrogate: Any) -> None:
        self._of = surrogate
        self._deadline = Deadline()

    def __call__(
        self, kind: str, rng: np.random.Generator, time_limit: float | None = None
    ) -> Array:
        """The convex problem's solution, the same on half of the terms, or a random point.

        Raises
        ------
        SubproblemError
            The convex constraints contradict one another.
        """
        self.limit(time_limit)
        if kind == "random":
            return self.random(rng)
        try:
            x = self._convex(rng if kind == "half" else None)
        except SubproblemError as error:
            if error.status == "infeasible" and self.is_proved_infeasible():
                raise
            self._note("convex start", str(error))
            return self.random(rng)  # unbounded or failed: F need not be
        if self._of.is_convex:
            return x
        x = self._tame(self.inside(x), rng)
        # ‖x‖ at 0 has no slope to leave by: a point that misses a constraint may as well move, and
        # so may one that the convex problem says nothing about
        missed = not self._of.is_feasible(x)
        return self.shaken(x, rng) if missed or self._is_flat(x, rng) else x

    def _tame(self, x: Array, rng: np.random.Generator) -> Array:
        """The same point, or where it is absurdly far, a random one at which F is lower.

        A flat relaxation has its minimum anywhere, and solvers find it thousands of units away.
        """
        if not np.any(np.abs(x) > FAR_OFF * self.unit):
            return x
        near = self.random(rng)
        with np.errstate(all="ignore"):
            far_value, near_value = (
                float(np.sum(self._of.at(point).array(self._of.frame.node))) for point in (x, near)
            )
        return near if near_value < far_value and self._usable(near) else x

    def limit(self, seconds: float | None) -> None:
        """From now on, at most so many seconds for everything together."""
        self._deadline = Deadline(seconds)

    def random(self, rng: np.random.Generator, size: float = 1.0) -> Array:
        """A random point that meets the convex constraints, some units from 0."""
        of = self._of
        x = size * self.unit * rng.standard_normal(sum(v.size for v in of.variables))
        return self.inside(self._projected(x))

    def shaken(self, x: Array, rng: np.random.Generator, size: float = SHAKEN) -> Array:
        """A point beside x that meets the convex constraints."""
        return self.inside(self._projected(self._beside(x, rng, size)))

    def _beside(self, x: Array, rng: np.random.Generator, size: float = SHAKEN) -> Array:
        return x + size * self._of.units(x) * rng.standard_normal(x.size)

    def _projected(self, x: Array) -> Array:
        """The nearest point that is what the variables were declared to be."""
        of = self._of
        return of.pack({v.id: v.project(array) for v, array in of.unpack(x)})

    # ------------------------------------------------------------------------------------------

    def inside(self, x: Array, *, strictly: bool = False) -> Array:
        """The same point, or near it one inside the convex constraints and the domain of F.

        Strictly: cvxpy's own evaluation, too, finds a number everywhere.
        """
        of = self._of

        def accepts(point: Array) -> bool:
            return self._usable(point) and (not strictly or of.is_finite(point))

        if accepts(x):
            return x
        units = of.units(x)
        for margin in MARGINS_STRICT if strictly else MARGINS:
            of.modes.aim(of.split(x), of.split(units), margin * float(np.max(units, initial=0.0)))
            try:
                near = self._first_solved("project")
            except SubproblemError:
                continue
            if accepts(near):
                return _nearest(x, near, accepts) if strictly else near
        return x

    def inside_domain(self, x: Array) -> Array:
        """The same point, where F has slopes there; constraints may be missed."""
        try:
            with np.errstate(all="ignore"):
                self._of.update(self._of.at(x))
        except (ValueError, ArithmeticError):
            return self.inside(x)
        return x

    def _usable(self, x: Array) -> bool:
        """Are convex constraints met, and has F a value and slopes at x?"""
        of = self._of
        try:
            with np.errstate(all="ignore"):
                values = of.at(x)
                met = of.convex_miss(values).relative <= of.tolerance
                of.update(values)
                return met and bool(np.all(np.isfinite(values.array(of.frame.node))))
        except (ValueError, ArithmeticError):
            return False

    def is_proved_infeasible(self) -> bool:
        """Do the convex constraints alone contradict one another?

        By a certificate that was checked, or by the word of two solvers.
        """
        said = 0
        portfolio = self._of.modes.portfolio("relaxation")
        for solver in portfolio.order:
            try:
                self._of.minimise_in("relaxation", START_TOLERANCE, solver, self._deadline.left)
                return False
            except SubproblemError as error:
                said += error.status == "infeasible"
                if error.proved or said == min(2, len(portfolio.order)):
                    return error.status == "infeasible"
        return False

    # ------------------------------------------------------------------------------------------

    def _convex(self, thin: np.random.Generator | None) -> Array:
        of = self._of
        for variable in of.variables:
            if variable.value is None:  # tangents in the convex start do not depend on the point
                variable.save_value(np.zeros(variable.shape))
        of.mode_now = "feasible"
        of.update(of.context.values(relaxed=True, thin=thin))
        return self._first_solved("free" if of.constraints else "feasible")

    def _first_solved(self, mode: str) -> Array:
        """By the first solver that can; one behind the first may take half of the time left."""
        of = self._of
        failures: list[SubproblemError] = []
        for solver in of.modes.portfolio(mode).order:
            left = self._deadline.left
            if left is not None and failures:
                left *= SHARE
            try:
                if left == 0:
                    raise SubproblemError("failed", "the time limit is reached")
                x = of.minimise_in(mode, START_TOLERANCE, solver, left)
            except SubproblemError as error:
                failures.append(error)
                self._note(solver, str(error))
                continue
            if mode != "project":
                of.start_solver = solver
            return x
        decided = [e for e in failures if e.status != "failed"]
        raise (decided or failures)[0]

    def _note(self, solver: str, outcome: str) -> None:
        self._of.start_attempts.append(Attempt(0, solver, START_TOLERANCE, outcome))

    def _is_flat(self, x: Array, rng: np.random.Generator) -> bool:
        """Is the convex start's objective a constant?"""
        of = self._of
        there = of.objective_majorant(self._beside(x, rng))
        return bool(np.isclose(there, of.objective_majorant(x), rtol=1e-12, atol=0))

    # ------------------------------------------------------------------------------------------
    # sizes

    @property
    def unit(self) -> Array:
        """Sizes of coordinates at which the problem's terms answer, where nothing else is known.

        For each variable, the smallest power of ten by which a random step of it alone changes the
        objective or a constraint by half of what they are at 0; where it changes none so (or there
        are MANY), the same for all variables together, or at which an objective that is 0 there
        bends; 1 where none does.
        """
        return self._answer[0]

    @property
    def variation(self) -> float:
        """What the objective changes by over that step."""
        return self._answer[1]

    @cached_property
    def _answer(self) -> tuple[Array, float]:
        """The unit, and the variation."""
        of = self._of
        before = [v.value for v in of.variables]
        nodes = [of.frame.node, *(frame.node for frame in of.constraints)]
        nodes += [node for constraint in of.problem.constraints for node in _sides(constraint)]
        direction = np.random.default_rng(0).standard_normal(sum(v.size for v in of.variables))
        here = self._numbers(np.zeros(direction.size), nodes)

        def power(step: Array) -> int | None:
            def answers(power: int) -> bool:
                change = np.abs(self._numbers(10.0**power * step, nodes) - here)
                return bool(np.any(change[here != 0] >= RESPONSE * np.abs(here[here != 0])))

            return _smallest(answers)

        try:
            units = self._of_each(direction, power)
            if np.any(np.isnan(units)):
                common = power(direction)
                common = self._bend(direction) if common is None else common
                units = np.where(np.isnan(units), 1.0 if common is None else 10.0**common, units)
            steps = (direction, -direction, np.abs(direction))
            there = [self._numbers(units * step, nodes[:1]) for step in steps]
        finally:
            for variable, value in zip(of.variables, before, strict=True):
                variable.save_value(value)
        beside = np.sum(here[: of.frame.node.size])
        changes = (float(abs(np.sum(numbers) - beside)) for numbers in there)
        return units, next((change for change in changes if change > 0), 0.0)

    def _of_each(self, direction: Array, power: Callable[[Array], int | None]) -> Array:
        """The unit of each variable by itself; NaN where it has none."""
        sizes = [v.size for v in self._of.variables]
        if not 1 < len(sizes) <= MANY:
            return np.full(direction.size, np.nan)
        number = np.repeat(np.arange(len(sizes)), sizes)
        units = []
        for i in range(len(sizes)):
            alone = direction * (number == i)
            found = (power(step) for step in (alone, -alone))  # it may have a sign
            units.append(next((10.0**k for k in found if k is not None), np.nan))
        return np.repeat(units, sizes)

    def _bend(self, direction: Array) -> int | None:
        """Where the objective, 0 at 0, goes over from one power of the step to another one."""
        node = [self._of.frame.node]
        powers = range(-DECADES, DECADES + 1)
        sizes = [abs(np.sum(self._numbers(10.0**k * direction, node))) for k in powers]
        with np.errstate(all="ignore"):
            slopes = np.diff(np.log10(np.where(np.isfinite(sizes), sizes, 0.0)))
        known = np.flatnonzero(np.isfinite(slopes))
        bent = [k for k in known if abs(slopes[k] - slopes[known[0]]) > RESPONSE]
        return powers[bent[0]] if bent else None

    def _numbers(self, x: Array, nodes: list[Any]) -> Array:
        """All entries of the nodes at x, what is not finite as 0."""
        self._of.load(self._projected(x))
        values, numbers = Values(), []
        for node in nodes:
            try:
                with np.errstate(all="ignore"):
                    numbers.append(values.array(node).ravel())
            except (ValueError, ArithmeticError):
                numbers.append(np.zeros(node.size))
        joined = np.concatenate(numbers or [np.zeros(0)])
        return np.where(np.isfinite(joined), joined, 0.0)

    def around(self, x: Array, *, widely: bool = False) -> Iterator[Values]:
        """Values at x and a little beside it; widely: by the problem's own unit, too."""
        of = self._of
        rng = np.random.default_rng(0)
        yield of.at(x)
        yield of.at(self._projected(self._beside(x, rng)))
        if widely:
            yield of.at(self._projected(x + SHAKEN * self.unit * rng.standard_normal(x.size)))

    def exchange_rate(self, x: Array) -> float:
        """How fast the objective varies against the violation around x: the scale of τ."""
        of = self._of
        rng = np.random.default_rng(0)

        def at(point: Array) -> tuple[float, float]:
            values = of.at(point)
            return float(np.sum(values.array(of.frame.node))), of.missed(values)

        with np.errstate(all="ignore"):
            here = at(x)
            there = [at(self._beside(x, rng)) for _ in range(SAMPLES)]
            changes = np.abs(np.array(there) - here)
        usable = np.all(np.isfinite(changes), axis=1) & (changes[:, 1] > of.tolerance)
        objective, missed = np.sum(changes[usable], axis=0)
        if objective > 0 and missed > 0:
            return float(objective / missed)
        return float(np.sum(of.at(x).magnitude(of.frame.node))) or 1.0
