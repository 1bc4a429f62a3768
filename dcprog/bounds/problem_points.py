"""A cvxpy problem at points: its value, whether it is feasible, and where the loop gets to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.bounds.constraints import as_inequality, declared
from dcprog.bounds.search import Incumbent, heeded
from dcprog.engine.result import VariableValues
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError
from dcprog.majorants.frozen_problem import check_data, freeze
from dcprog.majorants.tree import Values
from dcprog.surrogates.driver import solve
from dcprog.surrogates.given_starts import given, numbers
from dcprog.majorants.points import Points

__all__ = ["FEASIBLE", "ProblemPoints"]

# Violations up to that share of what a constraint's terms add up to count as none.
FEASIBLE = 1e-6
# Outer steps that a point is worth.
POLISHING = 30


class ProblemPoints:
    """F(x), x all entries of all variables, column by column in the order they were made.

    Parameters
    ----------
    problem : cvxpy.Problem
    box : pair of arrays, optional
        Points outside are of no interest.

    Raises
    ------
    NotBoundable
        A constraint is no inequality and no equation.
    ValueError
        Integer or complex variables, data that are not finite.
    """

    def __init__(self, problem: cp.Problem, box: tuple[Array, Array] | None = None) -> None:
        check_data(problem)
        self.problem = problem
        self.sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
        frozen = freeze(problem)
        self.points = Points(sorted(problem.variables(), key=lambda v: v.id))
        self.box = box
        self.objective = self.sign * frozen.objective.args[0]
        self.constraints = [as_inequality(c) for c in frozen.constraints]
        self.constraints += declared(self.points)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """Puts the user's variables and the problem's fields back as they were."""
        values = [(v, v.value) for v in self.points.variables]
        fields = self.problem._value, self.problem._status
        try:
            yield
        finally:
            for variable, value in values:
                variable.save_value(value)
            self.problem._value, self.problem._status = fields

    def point(self, start: Any) -> Array:
        """A start that the user gives."""
        if isinstance(start, Mapping):
            return self.points.pack(given(self.points.variables, start, whole=True))
        return numbers(start, (self.points.size,), "the start")

    def knows(self, arrays: Mapping[cp.Variable, Array]) -> bool:
        """Are they of this problem's variables? Those of another process may not be."""
        return all(variable in arrays for variable in self.points.variables)

    def first(self, seconds: float) -> Incumbent:
        """Where the loop gets to."""
        found = self._solved(time_limit=seconds)
        return Incumbent(None, np.inf, 0.0) if found is None else found

    def variables(self, x: Array) -> Mapping[cp.Variable, Array]:
        """The arrays of the variables."""
        return VariableValues(self.points.unpack(x))

    def at(self, x: Array) -> Incumbent:
        """The problem at a point: ∞ where it is not feasible."""
        self.points.load(x)
        values = Values()
        value = float(values.array(self.objective).ravel()[0])
        if np.isnan(value) or not self._is_feasible(x):
            value = np.inf
        return Incumbent(x, value, float(np.max(values.magnitude(self.objective))))

    def _is_feasible(self, x: Array) -> bool:
        values = Values()
        for expression, equal in self.constraints:
            found = values.array(expression)
            excess = np.abs(found) if equal else np.maximum(found, 0.0)
            if not np.all(excess <= FEASIBLE * values.magnitude(expression)):
                return False
        return self.box is None or bool(np.all((x >= self.box[0]) & (x <= self.box[1])))

    def improved(self, z: Array, polish: bool) -> Incumbent | None:
        """The problem at z, or where the loop gets from there."""
        here = self.at(z)
        there = self._polished(z) if polish else None
        if there is not None and there.value < here.value:
            return there
        return here if np.isfinite(here.value) else None

    def _polished(self, z: Array) -> Incumbent | None:
        return self._solved(start=dict(self.points.unpack(z)), max_iter=POLISHING)

    def _solved(self, **options: Any) -> Incumbent | None:
        """Where the loop gets to, if that is a feasible point."""
        try:
            result = heeded(solve(self.problem, **options))
        except (SubproblemError, NotMajorizable):
            return None
        if len(result.variables) != len(self.points.variables):
            return None
        x = self.points.pack({v.id: a for v, a in result.variables.items()})
        found = self.at(x) if np.all(np.isfinite(x)) else None
        return found if found is not None and np.isfinite(found.value) else None
