"""The doors beside ``dc.solve``: ``dc.compile`` and ``problem.solve(method="dc")``."""

from __future__ import annotations

import inspect
from typing import Any

import cvxpy as cp
from cvxpy import settings as s

from dcprog.engine.result import Result
from dcprog.foundation.errors import UnfitSolver
from dcprog.foundation.parameters import nearest
from dcprog.reductions.chain import chain
from dcprog.solving.driver import solve
from dcprog.solving.task import task_of


class Compiled:
    """A cvxpy problem whose majorant is compiled.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its Parameters have values, for the rules depend on their signs.
    solver : str, optional
        As for :func:`dcprog.solve`.

    Attributes
    ----------
    compile_time : float
        Seconds inside cvxpy's compilation. 0 where there is nothing to compile: the problem is
        solved as a :class:`~dcprog.Risk`.

    Raises
    ------
    NotMajorizable, TypeError, ValueError
        As by :func:`dcprog.solve`.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, dcprog as dc
    >>> x, far = cp.Variable(2), cp.Parameter(nonneg=True, value=1.0)
    >>> compiled = dc.compile(cp.Problem(cp.Minimize(x[0] + x[1]), [cp.norm(x) >= far, x >= 0]))
    >>> [round(float(compiled.solve().value), 4) for far.value in (1.0, 2.0)]
    [1.0, 2.0]
    """

    def __init__(self, problem: cp.Problem, solver: str | None = None) -> None:
        if not isinstance(problem, cp.Problem):
            kind = type(problem).__name__
            raise TypeError(f"a {kind} has nothing to compile: pass a cvxpy Problem")
        self.problem, self.solver = problem, solver
        task = task_of(chain(problem).problem, solver)
        task.compile()
        self.compile_time = task.compile_time
        task.keep()

    def solve(self, **options: Any) -> Result:
        """:func:`dcprog.solve` with the Parameters' present values.

        Nothing is compiled again, unless a Parameter takes a sign that asks for another rule.

        Parameters
        ----------
        **options
            Of :func:`dcprog.solve`, but `solver`.

        Returns
        -------
        Result
        """
        return solve(self.problem, solver=self.solver, **options)

    def __repr__(self) -> str:
        return f"Compiled({self.problem.objective}, solver={self.solver!r})"


def compile(problem: cp.Problem, *, solver: str | None = None) -> Compiled:
    """Compile the majorant of a cvxpy problem, to solve it again and again.

    The second solve of a problem finds its compiled majorant by itself; this compiles before the
    first solve, and refuses problems that cannot be majorised.

    Parameters
    ----------
    problem : cvxpy.Problem
        Its Parameters have values, for the rules depend on their signs; they may move afterwards.
    solver : str, optional
        As for :func:`dcprog.solve`.

    Returns
    -------
    Compiled
        With ``solve(**options)``.

    Raises
    ------
    NotMajorizable, TypeError, ValueError
        As by :func:`dcprog.solve`.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x, c = cp.Variable(), cp.Parameter(nonneg=True, value=1.0)
    >>> compiled = dc.compile(cp.Problem(cp.Minimize(cp.minimum(cp.abs(x), c) + (x - 3) ** 2)))
    >>> c.value = 2.0
    >>> round(float(compiled.solve().value), 4)
    2.0
    """
    return Compiled(problem, solver)


# ----------------------------------------------------------------------------------------------

OWN = frozenset(inspect.signature(solve).parameters)


def solve_method(
    problem: cp.Problem,
    solver: str | None = None,
    warm_start: bool = False,
    verbose: bool = False,
    **options: Any,
) -> float:
    """Minimise (or maximise) a nonconvex problem, as ``problem.solve(method="dc")``.

    A failure leaves no numbers in the variables; the result of :func:`dcprog.solve` has them.

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

    Raises
    ------
    UnfitSolver
        The named solver does not take an option; the error tells the nearest of ours.

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
    foreign = {}
    if solver is not None:
        foreign = {name: options.pop(name) for name in [*options] if name not in OWN}
        if foreign:
            options["solver_options"] = {**foreign, **(options.get("solver_options") or {})}
    if warm_start and any(v.value is not None for v in problem.variables()):
        options.setdefault("start", "current")
    try:
        solve(problem, solver=solver, verbose=verbose, **options)
    except UnfitSolver as error:
        ours = {name: nearest(name, OWN) for name in foreign}
        asked = [f"is {near!r} meant by {name!r}?" for name, near in ours.items() if near]
        raise type(error)("; ".join([str(error), *asked])) from error
    if problem.status not in s.SOLUTION_PRESENT:
        for variable in problem.variables():
            variable.save_value(None)
    return float(problem.value)


cp.Problem.register_solve("dc", solve_method)
