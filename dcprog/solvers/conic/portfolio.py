"""The solvers of one convex problem in order of preference, each compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import SOC, ExpCone, NonNeg, NonPos, Zero
from cvxpy.problems.problem_form import ProblemForm

from dcprog.solvers.conic.arrow import ArrowProblem
from dcprog.solvers.conic.compiled import CompiledProblem, problem_class, solver_order


class Portfolio:
    """A DPP problem, compiled for every solver that is tried on it.

    Our own solver comes first if it was requested, or if no solver was requested and the problem is
    a large program with arrow structure: linear, quadratic, or with few rows of second order. Other
    linear programs start with HiGHS, because an interior point is near a vertex, not at one, and
    has entries of 1e-9 in place of zeros; our own moves on to the vertex.

    Parameters
    ----------
    problem : cvxpy.Problem
        A minimisation that is DCP and DPP.
    solver : str, optional
        The name of the solver to try first.
    options : mapping, optional
        The user's options for that solver.
    """

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.problem = problem
        self._solver = solver
        self._options = options
        self._compiled: dict[str, CompiledProblem | ArrowProblem] = {}
        self._last: CompiledProblem | ArrowProblem | None = None

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names of the solvers, best first.

        Raises
        ------
        ValueError
            Our own solver was requested but cannot solve the problem.
        """
        kind = problem_class(self.problem)
        order = solver_order(kind, self._solver)
        if kind == "conic" and self._solver != "ECOS" and not _is_for_ecos(self.problem):
            order = tuple(name for name in order if name != "ECOS")
        if self._solver == "ARROW":
            refusal = self._arrow().refusal
            if refusal is not None:
                raise ValueError(f"solver ARROW cannot take this subproblem: {refusal}")
        elif self._solver is None and self._arrow().pays:
            order = ("ARROW", *order)
        return order

    def minimise(self, solver: str, tolerance: float, time_limit: float | None = None) -> None:
        """Solve with the named solver; see :meth:`CompiledProblem.minimise`."""
        self._last = None
        self.compile(solver)
        self._last = self._compiled[solver]
        self._last.minimise(tolerance, time_limit)

    def compile(self, solver: str) -> None:
        """Compile the problem for the named solver, if that is not done yet."""
        if solver == "ARROW":
            self._arrow()
        elif solver not in self._compiled:
            asked = self._options if solver == self._solver else None
            self._compiled[solver] = CompiledProblem(self.problem, solver, asked)

    def duals(self, tolerance: float, time_limit: float | None = None) -> dict[int, Any]:
        """The multipliers from the first solver; see :meth:`CompiledProblem.duals`."""
        solver = self.order[0]
        self.compile(solver)
        return self._compiled[solver].duals(tolerance, time_limit)

    @property
    def inaccurate(self) -> bool:
        """True if the last solver reported its solution as less accurate than requested."""
        return self._last is not None and self._last.inaccurate

    def bound(self) -> float:
        """A lower bound of the optimal value at the current Parameter values.

        It depends only on the solution and the multipliers of the last :meth:`minimise`; see
        :meth:`~dcprog.solvers.conic.standard_form.StandardForm.bound`. It is −inf without
        multipliers.
        """
        return -np.inf if self._last is None else self._last.bound()

    def reset(self) -> None:
        """Discard all solutions and keep the compiled data; the next run is like the first."""
        self._last = None
        for compiled in self._compiled.values():
            compiled.reset()

    def _arrow(self) -> ArrowProblem:
        """The problem compiled for our own solver and for the cvxpy solver whose data it uses."""
        found = self._compiled.get("ARROW")
        if not isinstance(found, ArrowProblem):
            found = self._compiled["ARROW"] = ArrowProblem(self.problem)
            if found.general is not None:
                self._compiled.setdefault(found.general.solver, found.general)
        return found

    @property
    def solve_time(self) -> float:
        """The seconds spent in the solvers' own calls."""
        return sum(c.solve_time for c in self._compiled.values())

    @property
    def compile_time(self) -> float:
        """The seconds spent compiling."""
        return sum(c.compile_time for c in self._compiled.values())


def _is_for_ecos(problem: cp.Problem) -> bool:
    """True if all cones besides the linear ones are second-order or exponential."""
    return bool(ProblemForm(problem).cones(quad_obj=False) <= {Zero, NonNeg, NonPos, SOC, ExpCone})
