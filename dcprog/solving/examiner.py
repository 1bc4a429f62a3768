"""The numbers and theorems behind certificates, computed from the problem and not from a run."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Examination, criticality_gap
from dcprog.foundation.arrays import Array
from dcprog.solving.task import task_of
from dcprog.solving.theorems import theorems_of_surrogate


class ProblemExaminer:
    """The numbers that certificates of a problem need.

    Parameters
    ----------
    problem : Risk, cvxpy.Problem or spec
        As the user passed it.
    ended : Risk, optional
        The risk that the run ended with where it adapts: a cap that was set by the losses.
    solver : str, optional
        That the run was asked to take.
    """

    def __init__(self, problem: Any, ended: Any = None, solver: str | None = None) -> None:
        self.problem = problem
        self._ended = problem if ended is None else ended
        self._solver = solver

    @np.errstate(all="ignore")
    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap, scale, violation, stationarity at x and theorems; variables keep their values."""
        is_written = isinstance(self.problem, cp.Problem)
        before = [(v, v.value) for v in self.problem.variables()] if is_written else []
        try:
            task = task_of(self._ended, self._solver)
            surrogate = task.surrogate()
            gap = criticality_gap(surrogate, x, time_limit)
            violation, scale = surrogate.domain.relative_violation(x), surrogate.scale(x)
            seen = surrogate.nearby.stationarity(x, time_limit)
            task.keep()
            return Examination(gap, scale, violation, seen, theorems_of_surrogate(surrogate))
        finally:
            for variable, value in before:
                variable.save_value(value)
