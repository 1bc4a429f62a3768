"""The solvers of one convex problem: which to try in which order, each compiled once."""

from __future__ import annotations

from functools import cached_property

import cvxpy as cp

from dcprog.solvers.arrow import ArrowProblem
from dcprog.solvers.compiled import CompiledProblem, problem_class, solver_order

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
    """

    def __init__(self, problem: cp.Problem, solver: str | None = None) -> None:
        self.problem = problem
        self._solver = solver
        self._compiled: dict[str, CompiledProblem | ArrowProblem] = {}

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
        if self._solver == "ARROW":
            refusal = self._arrow().refusal
            if refusal is not None:
                raise ValueError(f"solver ARROW cannot take this subproblem: {refusal}")
        elif self._solver is None and kind == "QP" and self._arrow().pays:
            order = ("ARROW", *order)
        return order

    def minimise(self, solver: str, tolerance: float, time_limit: float | None = None) -> None:
        """Solve by the solver of that name; see :meth:`CompiledProblem.minimise`."""
        if solver == "ARROW":
            self._arrow()
        elif solver not in self._compiled:
            self._compiled[solver] = CompiledProblem(self.problem, solver)
        self._compiled[solver].minimise(tolerance, time_limit)

    def _arrow(self) -> ArrowProblem:
        """Ours; PIQP, whose compiled data it works on, comes with it."""
        found = self._compiled.get("ARROW")
        if not isinstance(found, ArrowProblem):
            found = self._compiled["ARROW"] = ArrowProblem(self.problem)
            if found.general is not None:
                self._compiled.setdefault("PIQP", found.general)
        return found

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return sum(c.solve_time for c in self._compiled.values())

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return sum(c.compile_time for c in self._compiled.values())
