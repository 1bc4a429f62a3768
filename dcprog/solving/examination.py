"""Certificates of a problem at a point: how critical it is there, whatever a run has said."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Examination
from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.solving.forms import form_of

__all__ = ["ProblemExaminer"]

ACCURACY = 1e-9


class ProblemExaminer:
    """The numbers that certificates of a problem need.

    Parameters
    ----------
    problem : Risk, cvxpy.Problem or spec
        As the user passed it.
    ended : Risk, optional
        What the run ended with where it adapts: a cap that was set by the losses.
    solver : str, optional
        That the run was asked to take.
    """

    def __init__(self, problem: Any, ended: Any = None, solver: str | None = None) -> None:
        self.problem = problem
        self._ended = problem if ended is None else ended
        self._solver = solver

    def __call__(self, x: Array, time_limit: float | None = None) -> Examination:
        """Gap, scale, violation and stationarity at x; variables keep their values."""
        if not isinstance(self.problem, cp.Problem):
            return self._examined(x, time_limit)
        before = [(v, v.value) for v in self.problem.variables()]
        try:
            return self._examined(x, time_limit)
        finally:
            for variable, value in before:
                variable.save_value(value)

    @np.errstate(all="ignore")
    def _examined(self, x: Array, time_limit: float | None) -> Examination:
        form = form_of(self._ended, self._solver)
        surrogate = form.surrogate()
        centre(surrogate, x)
        violation, scale = surrogate.domain.relative_violation(x), surrogate.scale(x)
        gap, seen = _gap(surrogate, x, time_limit), surrogate.nearby.stationarity(x, time_limit)
        form.keep()
        return Examination(gap, scale, violation, seen)


def _gap(surrogate: Surrogate, x: Array, time_limit: float | None) -> float:
    """M(x; x) − min M(·; x); NaN where no solver tells, or a price counts that only a run finds."""
    if surrogate.domain.mode == "penalty":
        return np.nan
    for solver in surrogate.solvers:
        try:
            best = surrogate.minimise(x, ACCURACY, solver, time_limit)
        except (SubproblemError, UnfitSolver):
            continue
        return max(0.0, surrogate.value(x) - surrogate.majorant_value(best))
    return np.nan
