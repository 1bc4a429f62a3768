"""The solvers of one convex problem: which to try in which order, each compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import SOC, ExpCone, NonNeg, NonPos, Zero
from cvxpy.problems.problem_form import ProblemForm

from dcprog.solvers.conic.compiled import CompiledProblem, problem_class, solver_order
from dcprog.solvers.conic.structured_qp import ArrowProblem

__all__ = ["Portfolio"]


class Portfolio:
    """A DPP problem for every solver that is tried on it.

    Our own solver comes first where it was asked for, or where nothing was, the problem is a
    quadratic program with arrow structure, and it is large enough to pay. Linear programs start
    with HiGHS: an interior point is near a vertex, not at one, and turns zeros into 1e-9.

    Parameters
    ----------
    problem : cvxpy.Problem
        Minimisation, DCP and DPP.
    solver : str, optional
        Name of the solver to try first.
    options : mapping, optional
        The user's options for that one.
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
        """Names of the solvers, best first.

        Raises
        ------
        ValueError
            Our own solver was asked for, and the problem is not for it.
        """
        kind = problem_class(self.problem)
        order = solver_order(kind, self._solver)
        if kind == "conic" and self._solver != "ECOS" and not _is_for_ecos(self.problem):
            order = tuple(name for name in order if name != "ECOS")
        if self._solver == "ARROW":
            refusal = self._arrow().refusal
            if refusal is not None:
                raise ValueError(f"solver ARROW cannot take this subproblem: {refusal}")
        elif self._solver is None and kind == "QP" and self._arrow().pays:
            order = ("ARROW", *order)
        return order

    def minimise(self, solver: str, tolerance: float, time_limit: float | None = None) -> None:
        """Solve by the solver of that name; see :meth:`CompiledProblem.minimise`."""
        self._last = None
        self.compile(solver)
        self._last = self._compiled[solver]
        self._last.minimise(tolerance, time_limit)

    def compile(self, solver: str) -> None:
        """Compile for the solver of that name, unless that is done."""
        if solver == "ARROW":
            self._arrow()
        elif solver not in self._compiled:
            asked = self._options if solver == self._solver else None
            self._compiled[solver] = CompiledProblem(self.problem, solver, asked)

    def duals(self, tolerance: float, time_limit: float | None = None) -> dict[int, Any]:
        """Multipliers by the first of cvxpy's solvers; see :meth:`CompiledProblem.duals`."""
        solver = next(name for name in self.order if name != "ARROW")
        self.compile(solver)
        compiled = self._compiled[solver]
        assert isinstance(compiled, CompiledProblem)
        return compiled.duals(tolerance, time_limit)

    @property
    def inaccurate(self) -> bool:
        """True if the last solver called its own solution less accurate than asked."""
        return self._last is not None and self._last.inaccurate

    def bound(self) -> float:
        """A lower bound of the optimal value at the current Parameter values.

        From the multipliers of the last :meth:`minimise` alone; see
        :meth:`~dcprog.solvers.conic.standard_form.StandardForm.bound`. −inf where there are none.
        """
        return -np.inf if self._last is None else self._last.bound()

    def reset(self) -> None:
        """Forget every solution, but not what is compiled: the next run is as the first one."""
        self._last = None
        for compiled in self._compiled.values():
            compiled.reset()

    def _arrow(self) -> ArrowProblem:
        """Ours; the solver whose compiled data it works on comes with it."""
        found = self._compiled.get("ARROW")
        if not isinstance(found, ArrowProblem):
            found = self._compiled["ARROW"] = ArrowProblem(self.problem)
            if found.general is not None:
                self._compiled.setdefault(found.general.solver, found.general)
        return found

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return sum(c.solve_time for c in self._compiled.values())

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return sum(c.compile_time for c in self._compiled.values())


def _is_for_ecos(problem: cp.Problem) -> bool:
    """True if all cones are linear, second-order or exponential ones."""
    return bool(ProblemForm(problem).cones(quad_obj=False) <= {Zero, NonNeg, NonPos, SOC, ExpCone})
