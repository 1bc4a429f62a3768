"""Sizes of a problem's coordinates before any point is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.tree import Values
from dcprog.surrogates.majorised_problem import MajorisedProblem

__all__ = ["NaturalUnits"]

DECADES = 15  # either way from 1
RESPONSE = 0.5
MANY = 20  # variables share their unit


class NaturalUnits:
    """At what size of its variables a problem's terms answer.

    Parameters
    ----------
    problem : MajorisedProblem
    """

    def __init__(self, problem: MajorisedProblem) -> None:
        self._problem = problem
        self._points = problem.points

    @property
    def unit(self) -> Array:
        """A size of every coordinate, the same for all of a variable; dear to find.

        For each variable, the smallest power of ten by which a random step of it alone changes the
        objective or a constraint by half of what they are at 0; where it changes none so (or there
        are MANY), the same for all variables together, or at which an objective that is 0 there
        bends; 1 where none does.
        """
        return self._answer[0]

    @property
    def variation(self) -> float:
        """The change of the objective over that step."""
        return self._answer[1]

    @cached_property
    def _answer(self) -> tuple[Array, float]:
        """The unit, and the variation."""
        with self._values_kept():
            return self._measured()

    def change(self, x: Array, step: Array) -> float:
        """The larger one of the objective, by a step either way; 0 where it is not finite."""
        with self._values_kept(), np.errstate(all="ignore"):
            here, *there = (self._objective(x + side * step) for side in (0.0, 1.0, -1.0))
            changes = np.abs(np.array(there) - here)
        return float(np.max(changes, where=np.isfinite(changes), initial=0.0))

    @contextmanager
    def _values_kept(self) -> Iterator[None]:
        variables = self._points.variables
        before = [v.value for v in variables]
        try:
            yield
        finally:
            for variable, value in zip(variables, before, strict=True):
                variable.save_value(value)

    def _objective(self, x: Array) -> float:
        """NaN where it has no value."""
        self._points.load(self._points.projected(x))
        try:
            return float(np.sum(Values().array(self._problem.frame.node)))
        except (ValueError, ArithmeticError):
            return np.nan

    def _measured(self) -> tuple[Array, float]:
        problem = self._problem
        nodes = [problem.frame.node, *(frame.node for frame in problem.constraints)]
        nodes += [node for c in problem.problem.constraints for node in _sides(c)]
        direction = np.random.default_rng(0).standard_normal(self._points.size)
        here = self._numbers(np.zeros(direction.size), nodes)

        def power(step: Array) -> int | None:
            def answers(power: int) -> bool:
                change = np.abs(self._numbers(10.0**power * step, nodes) - here)
                return bool(np.any(change[here != 0] >= RESPONSE * np.abs(here[here != 0])))

            return _smallest(answers)

        units = self._of_each(direction, power)
        if np.any(np.isnan(units)):
            balance = self._balance(direction)
            common = power(balance * direction)
            common = self._bend(balance * direction) if common is None else common
            units = np.where(np.isnan(units), balance * 10.0 ** (common or 0), units)
        units = np.minimum(units, self._room())
        return units, self._change(units * direction, float(np.sum(here[: nodes[0].size])))

    def _room(self) -> Array:
        """How far from 0 each variable's own bounds let it go."""
        far = np.full(self._points.size, 10.0**DECADES)
        ways = [np.abs(self._points.projected(step)) for step in (far, -far)]
        room = self._points.largest(np.maximum(*ways))
        return self._points.spread(np.where(room > 0, room, np.inf))

    def _change(self, step: Array, here: float) -> float:
        """Of the objective, one way, the other way or with one sign."""
        for there in (step, -step, np.abs(step)):
            numbers = self._numbers(there, [self._problem.frame.node])
            change = float(abs(np.sum(numbers) - here))
            if change > 0:
                return change
        return 0.0

    def _of_each(self, direction: Array, power: Callable[[Array], int | None]) -> Array:
        """The unit of each variable by itself; NaN where it has none."""
        units = np.full(len(self._points.variables), np.nan)
        for i, alone in enumerate(self._alone(direction)):
            found = (power(step) for step in (alone, -alone))  # it may have a sign
            units[i] = next((10.0**k for k in found if k is not None), np.nan)
        return self._points.spread(units)

    def _balance(self, direction: Array) -> Array:
        """Steps of the variables that change the objective alike, beside one another's.

        Each alone; then those that only a product shows, with the others where they are.
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
        """The step of each variable by itself; none where there is one, or MANY."""
        n = len(self._points.variables)
        if not 1 < n <= MANY:
            return []
        return [direction * self._points.spread(np.arange(n) == i) for i in range(n)]

    def _step(self, base: Array, alone: Array) -> float | None:
        """The factor of a step by which it changes the objective by 1; None where it does not."""
        node = [self._problem.frame.node]
        here, one, ten = (
            float(np.sum(self._numbers(base + factor * np.abs(alone), node)))
            for factor in (0.0, 1.0, 10.0)
        )
        small, large = abs(one - here), abs(ten - here)
        if not (0 < small < large < np.inf):
            return None
        power = np.log10(large / small)
        return float(10.0 ** np.round(-np.log10(small) / power)) if power > RESPONSE else None

    def _bend(self, direction: Array) -> int | None:
        """Where the objective, 0 at 0, goes over from one power of the step to another one."""
        node = [self._problem.frame.node]
        powers = range(-DECADES, DECADES + 1)
        sizes = [abs(np.sum(self._numbers(10.0**k * direction, node))) for k in powers]
        with np.errstate(all="ignore"):
            slopes = np.diff(np.log10(np.where(np.isfinite(sizes), sizes, 0.0)))
        known = np.flatnonzero(np.isfinite(slopes))
        bent = [k for k in known if abs(slopes[k] - slopes[known[0]]) > RESPONSE]
        return powers[bent[0]] if bent else None

    def _numbers(self, x: Array, nodes: list[Any]) -> Array:
        """All entries of the nodes at x, what is not finite as 0."""
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
    """The least power that answers, from 0 down or up; None where none does."""
    if answers(0):
        return next((k + 1 for k in range(-1, -DECADES - 1, -1) if not answers(k)), -DECADES)
    return next((k for k in range(1, DECADES + 1) if answers(k)), None)
