"""A result in cvxpy's own fields and words, as its users expect to find it."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as s
from cvxpy.problems.problem import SolverStats

from dcprog.engine.result import Result
from dcprog.foundation.arrays import unvec, vec

__all__ = ["STATUS", "publish"]

STATUS = {
    "converged": s.OPTIMAL,
    "max_iter": s.USER_LIMIT,
    "time_limit": s.USER_LIMIT,
    "interrupted": s.USER_LIMIT,
    "infeasible": s.INFEASIBLE,
    "no_feasible_point": s.INFEASIBLE_INACCURATE,
    "unbounded": s.UNBOUNDED,
    "solver_failed": s.SOLVER_ERROR,
}


def publish(
    problem: cp.Problem,
    result: Result,
    duals: dict[int, Any],
    *,
    feasible: bool,
    setup_time: float = 0.0,
) -> None:
    """Leave a result in the problem, its variables and its constraints.

    Variables hold the best point, wherever there is one. The value after a failure is infinite, as
    cvxpy's is (NaN where the solvers failed), and so it is where a limit has left the point outside
    the constraints; multipliers are None then.

    Parameters
    ----------
    problem : cvxpy.Problem
    result : Result
    duals : dict of constraint id to array
    feasible : bool
        Does the result's point meet the constraints?
    setup_time : float
        Seconds spent compiling.
    """
    status = STATUS[result.status]
    present = status in s.SOLUTION_PRESENT
    values = {v.id: array for v, array in result.variables.items()}
    for variable in problem.variables():
        array = values.get(variable.id)
        variable.save_value(None if array is None else array.copy())
    for constraint in problem.constraints:
        _save_dual(constraint, duals.get(constraint.id) if present else None)
    worst = -np.inf if isinstance(problem.objective, cp.Maximize) else np.inf
    if present:
        problem._value = result.value if feasible else worst
    else:
        problem._value = {s.UNBOUNDED: -worst, s.SOLVER_ERROR: np.nan}.get(status, worst)
    problem._status = status
    problem._solver_stats = SolverStats(
        result.solver, result.solve_time, setup_time, result.n_iter, _told(result)
    )


def _told(result: Result) -> dict[str, Any]:
    """Facts of a run for which cvxpy has no field."""
    names = ("status", "message", "gap", "violation", "total_time")
    return {name: getattr(result, name) for name in names}


def _save_dual(constraint: cp.Constraint, dual: Any) -> None:
    if dual is None:
        for variable in constraint.dual_variables:
            variable.save_value(None)
    elif len(constraint.dual_variables) == 1 and np.size(dual) == constraint.dual_variables[0].size:
        constraint.save_dual_value(unvec(vec(np.asarray(dual)), constraint.dual_variables[0].shape))
    else:
        constraint.save_dual_value(dual)
