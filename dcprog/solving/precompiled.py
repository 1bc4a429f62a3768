"""``dc.compile``: what a problem needs before its first step, made once for all its solves."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from dcprog.engine.result import Result
from dcprog.reductions.chain import chain
from dcprog.solving.driver import solve
from dcprog.solving.forms import form_of

__all__ = ["Compiled", "compile"]


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
        form = form_of(chain(problem).problem, solver)
        form.compile()
        self.compile_time = form.compile_time
        form.keep()

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

    A problem that is solved twice finds what was compiled by itself; this does it before the first
    solve, and refuses here what cannot be majorised.

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
