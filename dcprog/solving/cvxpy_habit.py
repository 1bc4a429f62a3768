"""``problem.solve(method="dc")``: the driver by cvxpy's own door."""

from __future__ import annotations

import inspect
from typing import Any

import cvxpy as cp
from cvxpy import settings as s

from dcprog.solving.driver import solve

__all__ = ["solve_method"]

OWN = frozenset(inspect.signature(solve).parameters)


def solve_method(
    problem: cp.Problem,
    solver: str | None = None,
    warm_start: bool = False,
    verbose: bool = False,
    **options: Any,
) -> float:
    """Minimise (or maximise) a nonconvex problem, as ``problem.solve(method="dc")``.

    A failure leaves no numbers in the variables; what :func:`dcprog.solve` returns has them.

    Parameters
    ----------
    problem : cvxpy.Problem
    solver : str, optional
        As for :func:`dcprog.solve`.
    warm_start : bool, default False
        Start from the variables' values, where any has one.
    verbose : bool, default False
    **options
        Of :func:`dcprog.solve`. Others are the named solver's, as for cvxpy.

    Returns
    -------
    float
        ``problem.value``.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(2)
    >>> outside, right = cp.norm(x) >= 1, x[0] >= 0.6
    >>> problem = cp.Problem(cp.Minimize(cp.sum_squares(x)), [outside, right])
    >>> round(problem.solve(method="dc"), 4), problem.status
    (1.0, 'optimal')
    >>> round(float(outside.dual_value), 3)   # d(value)/d(radius)
    2.0
    """
    if solver is not None:
        foreign = {name: options.pop(name) for name in [*options] if name not in OWN}
        if foreign:
            options["solver_options"] = {**foreign, **(options.get("solver_options") or {})}
    if warm_start and any(v.value is not None for v in problem.variables()):
        options.setdefault("start", "current")
    solve(problem, solver=solver, verbose=verbose, **options)
    if problem.status not in s.SOLUTION_PRESENT:
        for variable in problem.variables():
            variable.save_value(None)
    return float(problem.value)


cp.Problem.register_solve("dc", solve_method)
