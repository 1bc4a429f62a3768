"""A result in cvxpy's own fields and words, as its users expect to find it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as s
from cvxpy.problems.problem import SolverStats
from cvxpy.reductions.solution import Solution

from dcprog.engine.protocol import centre
from dcprog.engine.result import Result
from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.foundation.tolerances import FEASIBLE, KNOWN_DIGITS
from dcprog.majorants.rewrites import is_narrowed
from dcprog.majorants.tree import Values, nodes, short
from dcprog.problem.split_constraints import Origin
from dcprog.problem.surrogate import FIRMNESS, ProblemSurrogate


def negative_bases(problem: cp.Problem, surrogate: ProblemSurrogate, x: Array | None) -> str | None:
    """A message about powers such as x³ whose base is negative at a point; None without any.

    Only where cvxpy takes the problem: its cones then ask for x ≥ 0. A base that is so near to 0
    that the power is rounding, beside the power of the argument's usual size, does not count.

    Parameters
    ----------
    problem : cvxpy.Problem
        Before any rewriting.
    surrogate : ProblemSurrogate
        Of the same problem.
    x : array, optional
        A flat point.

    Returns
    -------
    str or None
    """
    roots = [problem.objective.args[0], *(a for c in problem.constraints for a in c.args)]
    below = {id(node): node for root in roots for node in reversed(nodes(root))}
    powers = {k: n for k, n in below.items() if is_narrowed(n) and not n.is_constant()}
    if x is None or not powers or not problem.is_dcp():
        return None
    surrogate.points.load(surrogate.units(x))
    usual = Values()
    sizes = {key: usual.magnitude(node.args[0]) for key, node in powers.items()}
    surrogate.points.load(x)
    here = Values()
    found = [n for key, n in powers.items() if _is_negative(n, here.array(n.args[0]), sizes[key])]
    if not found:
        return None
    power, base = short(found[0]), short(found[0].args[0])
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return (
        f"`{power}`{others} is taken on both sides of 0, and its argument is negative at the "
        f"answer, where cvxpy's own solve keeps it nonnegative: add `{base} >= 0` if that was meant"
    )


def _is_negative(power: cp.Expression, base: Array, size: Array) -> bool:
    """True if an entry of the base is so far below 0 that its power counts."""
    p = 1.0 if isinstance(power, cp.xexp) else float(power.p.value)
    with np.errstate(all="ignore"):
        share = np.maximum(-base, 0.0) / np.where(size > 0, size, 1.0)
        return bool(np.any(share**p > FEASIBLE))


# ----------------------------------------------------------------------------------------------

SPENT = 0.99  # a multiplier that is this share of its price asks for a higher one


def multipliers(
    surrogate: ProblemSurrogate, x: Array, time_limit: float | None = None
) -> dict[int, Any]:
    """Multipliers of the majorised problem that is centred at x, by the constraints' ids.

    Majorants touch with the slopes of the functions above which they lie, so where x solves the
    majorised problem these are KKT multipliers of the problem itself. Signs and shapes are cvxpy's.
    An equality that was split in two has the difference of its sides' multipliers.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    x : array
        A point that meets the constraints. The variables are left elsewhere.
    time_limit : float, optional

    Returns
    -------
    dict of int to array
        Empty where no solver finds them.
    """
    deadline = Deadline(time_limit)
    if surrogate.facts.is_convex:  # its own majorant, wherever it is centred
        try:
            return _found(surrogate, deadline) or {}
        except (SubproblemError, UnfitSolver):
            return {}
    for paying in (False, True):
        surrogate.restart()
        surrogate.paying = paying
        for firmness in FIRMNESS:
            surrogate.firmness = firmness
            try:
                centre(surrogate, x)
                found = _found(surrogate, deadline)
            except (SubproblemError, UnfitSolver, ValueError, ArithmeticError):
                break
            if found is not None:
                return found
    return {}


def _found(surrogate: ProblemSurrogate, deadline: Deadline) -> dict[int, Any] | None:
    """Multipliers of the user's constraints; None where a price is too low to tell them."""
    problem = surrogate.majorised
    duals = problem.modes.portfolio(problem.mode).duals(KNOWN_DIGITS, deadline.left)
    majorised = [duals[c.id] for c in problem.modes.majorised(problem.mode)]
    if problem.penalised and any(
        np.any(dual > SPENT * price)
        for dual, price in zip(majorised, problem.modes.prices, strict=True)
    ):
        return None
    total: dict[int, Any] = {}

    def count(dual: Any, origin: Origin) -> None:
        factor = origin.factor
        scale = factor if isinstance(factor, float) else Values().array(factor)
        key = origin.constraint
        total[key] = total.get(key, 0.0) + origin.sign * scale * np.reshape(
            dual, np.shape(scale) or np.shape(dual), order="F"
        )

    for dual, origins in zip(majorised, problem.parts.origins, strict=True):
        entries = [dual] if len(origins) == 1 else np.ravel(dual)
        for entry, origin in zip(entries, origins, strict=True):
            count(entry, origin)
    for constraint in problem.parts.convex:
        if constraint.id in problem.parts.sides:
            count(duals[constraint.id], problem.parts.sides[constraint.id])
        elif constraint.id in duals:
            total[constraint.id] = duals[constraint.id]
    return total


# ----------------------------------------------------------------------------------------------

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
    duals: Mapping[int, Any],
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
        True if the result's point meets the constraints.
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
        problem._value = {s.UNBOUNDED: result.value, s.SOLVER_ERROR: np.nan}.get(status, worst)
    problem._status = status
    duals = {c.id: c.dual_value for c in problem.constraints if c.dual_value is not None}
    primal = {key: array.copy() for key, array in values.items()} if present else {}
    times = {s.SOLVE_TIME: result.solve_time, s.SETUP_TIME: setup_time, s.NUM_ITERS: result.n_iter}
    problem._solution = Solution(status, problem._value, primal, duals, times)
    told = ("status", "message", "gap", "violation", "total_time")  # facts without a field there
    extra = {name: getattr(result, name) for name in told}
    problem._solver_stats = SolverStats(
        result.solver, result.solve_time, setup_time, result.n_iter, extra
    )


def _save_dual(constraint: cp.Constraint, dual: Any) -> None:
    if dual is None:
        for variable in constraint.dual_variables:
            variable.save_value(None)
    elif len(constraint.dual_variables) == 1 and np.size(dual) == constraint.dual_variables[0].size:
        constraint.save_dual_value(unvec(vec(np.asarray(dual)), constraint.dual_variables[0].shape))
    else:
        constraint.save_dual_value(dual)
