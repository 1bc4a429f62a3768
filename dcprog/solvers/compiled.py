"""A convex cvxpy problem, compiled once and solved again whenever its Parameters move."""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as s
from cvxpy.constraints import NonNeg, NonPos, Zero
from cvxpy.cvxcore.python.canonInterface import get_parameter_vector
from cvxpy.error import DPPError, SolverError
from cvxpy.problems.problem_form import ProblemForm
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain

from dcprog.errors import SubproblemError
from dcprog.solvers.faults import failures, valueless

__all__ = ["CompiledProblem", "check_solver", "problem_class", "solver_order"]

# Preferred solvers by problem class; the first installed one is used, the others are fallbacks.
PREFERENCE = {
    "LP": ("HIGHS", "PIQP", "CLARABEL"),
    "QP": ("PIQP", "CLARABEL", "OSQP"),
    "conic": ("CLARABEL", "SCS"),
}


@cache
def installed_solvers() -> tuple[str, ...]:
    """Our own solver and those cvxpy can call here; looked up once, it imports every one."""
    return ("ARROW", *cp.installed_solvers())


def problem_class(problem: cp.Problem) -> str:
    """``"LP"``, ``"QP"`` (linear constraints, convex quadratic objective) or ``"conic"``."""
    form = ProblemForm(problem)
    if not form.cones(quad_obj=True) <= {Zero, NonNeg, NonPos}:
        return "conic"
    return "QP" if form.has_quadratic_objective() else "LP"


def check_solver(solver: str | None) -> str | None:
    """Upper-case name of an installed solver, or None.

    Raises
    ------
    ValueError
        The name is not an installed solver's.
    """
    if solver is None:
        return None
    installed = installed_solvers()
    if not isinstance(solver, str) or solver.upper() not in installed:
        raise ValueError(
            f"solver {solver!r} is not installed or not known to cvxpy; choose one of "
            f"{', '.join(installed)}, or None to let the problem class decide"
        )
    return solver.upper()


def solver_order(kind: str, solver: str | None) -> tuple[str, ...]:
    """The solvers to try, best first: the user's, then the installed ones for the class."""
    installed = installed_solvers()
    order = [name for name in PREFERENCE[kind] if name in installed]
    if solver is not None:
        order = [solver, *(name for name in order if name != solver)]
    return tuple(order)


def _options(solver: str, tolerance: float, time_limit: float | None) -> dict[str, Any]:
    """A tolerance in each solver's own words; the relative and the absolute one alike."""
    tol = max(tolerance, 1e-12)
    seconds = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    match solver:
        case "CLARABEL":
            return {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, **seconds}
        case "PIQP":
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "eps_duality_gap_abs": tol,
                "eps_duality_gap_rel": tol,
                "max_iter": 500,
            }
        case "OSQP":
            # polishing: without it only the first of a series of solves is polished
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "max_iter": 200_000,
                "polishing": True,
                **seconds,
            }
        case "ECOS":
            return {"abstol": tol, "reltol": tol, "feastol": tol, "max_iters": 500}
        case "HIGHS":
            feasibility = float(np.clip(tol, 1e-10, 1e-7))
            return {
                "primal_feasibility_tolerance": feasibility,
                "dual_feasibility_tolerance": feasibility,
                "qp_iteration_limit": 20_000,  # its active set method may cycle
                **seconds,
            }
        case "SCS":
            limit = {} if time_limit is None else {"time_limit_secs": max(time_limit, 1e-3)}
            return {"eps_abs": tol, "eps_rel": tol, "max_iters": 200_000, **limit}
        case _:
            return {}


def _chain(problem: cp.Problem, solver: str) -> Any:
    """The reductions of a problem to a solver's data."""
    try:
        with failures(solver, let=(DPPError, SolverError)):
            return resolve_and_build_chain(problem, solver=solver, enforce_dpp=True)
    except DPPError as error:
        raise ValueError(
            "the convex subproblem is not DPP, most likely because a variable's bounds hold a "
            "Parameter: write such bounds as constraints, x <= parameter"
        ) from error
    except SolverError as error:
        raise ValueError(
            f"solver {solver} cannot handle this {problem_class(problem)} subproblem: {error} "
            "Leave solver=None to have one chosen."
        ) from error


def save(problem: cp.Problem, values: dict[int, Any], solver: str) -> None:
    """Give the variables their values, all of them or none.

    Raises
    ------
    SubproblemError
        One is not finite.
    """
    for variable in problem.variables():
        value = values[variable.id]
        if value is None or not np.all(np.isfinite(np.asarray(value, dtype=float))):
            raise SubproblemError("failed", f"{solver}: its solution holds NaN or infinity")
    for variable in problem.variables():
        variable.save_value(values[variable.id])


def _only_cost_moves(program: Any) -> bool:
    """Do Parameters appear in the linear cost alone?

    cvxpy keeps each block of a program as a sparse matrix with one column a Parameter entry and a
    last one for the constants.
    """
    if program.lb_tensor is not None or program.ub_tensor is not None:
        return False
    blocks = [t.reduced_mat for t in (program.reduced_A, program.reduced_P) if t is not None]
    return all(b is None or b.shape[1] == 1 or b.tocsc()[:, :-1].nnz == 0 for b in blocks)


def _cost(program: Any) -> Any:
    """The linear cost at the Parameters' values."""
    values = get_parameter_vector(
        program.total_param_size,
        program.param_id_to_col,
        program.param_id_to_size,
        lambda index: np.asarray(program.id_to_param[index].value),
    )
    return np.asarray(program.q @ values).ravel()[:-1]


class CompiledProblem:
    """A DPP problem compiled for one solver.

    cvxpy's chain of reductions runs once; afterwards only Parameter values flow into the solver's
    data. Bounds that cvxpy infers for its auxiliary variables are switched off: 1.9.3 infers wrong
    ones for ``pos``, ``abs`` and ``maximum`` of ``multiply(constant, X @ w)``, and solvers that
    take variable bounds then return a wrong "optimal" (users' own bounds stay).

    Parameters
    ----------
    problem : cvxpy.Problem
        Minimisation, DCP and DPP.
    solver : str
        Name of an installed solver.

    Attributes
    ----------
    compile_time, solve_time : float
        Seconds spent compiling, and in the solver's own calls so far.

    Raises
    ------
    ValueError
        The solver does not handle the class of problem.
    """

    def __init__(self, problem: cp.Problem, solver: str) -> None:
        self.problem = problem
        self.solver = solver
        self.solve_time = 0.0
        begin = time.perf_counter()
        with valueless(problem):
            self._chain = _chain(problem, solver)
        if self._chain.solver_context is not None:  # None: there is no variable to bound
            self._chain.solver_context.solver_supports_bounds = False
        self._program: Any = None
        self._inverse: Any = None
        self._constant: tuple[dict[str, Any], list[Any]] | None = None
        self._cache: dict[str, Any] = {}
        self._last_tolerance: float | None = None
        self.compile_time = time.perf_counter() - begin

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """Solve at the current Parameter values; the variables receive the minimiser.

        Parameters
        ----------
        tolerance : float
            Accuracy asked of the solver, absolute and relative.
        time_limit : float, optional
            Seconds, for the solvers that take one.

        Raises
        ------
        SubproblemError
            With status ``"infeasible"``, ``"unbounded"`` or ``"failed"``; an inaccurate solution
            is a failure too.
        """
        with failures(self.solver):
            data, inverse = self._data()
        if tolerance != self._last_tolerance:
            self._cache.clear()  # a cached solver keeps the settings it was made with
            self._last_tolerance = tolerance
        options = _options(self.solver, tolerance, time_limit)
        begin = time.perf_counter()
        try:
            with failures(self.solver), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # inaccuracy is reported by status below
                raw = self._chain.solver.solve_via_data(data, True, False, options, self._cache)
        except SubproblemError:
            self._cache.clear()
            raise
        finally:
            self.solve_time += time.perf_counter() - begin
        with failures(self.solver):
            self._accept(raw, inverse)

    def _data(self) -> tuple[dict[str, Any], list[Any]]:
        solver = self._chain.solver
        if self._program is None:
            begin = time.perf_counter()
            with valueless(self.problem):
                data, inverse = self._chain.apply(self.problem)
            if isinstance(data, dict):  # otherwise nothing is variable, and nothing is compiled
                self._program = data[s.PARAM_PROB]
                self._inverse = inverse[:-1]
            self.compile_time += time.perf_counter() - begin
            return data, inverse
        if self._constant is None:
            data, last = solver.apply(self._program)
            inverse = [*self._inverse, last]
            if _only_cost_moves(self._program):
                self._constant = (data, inverse)
            elif self.solver == "PIQP":
                self._cache.clear()  # its update of a moved quadratic form ends in user_limit
            return data, inverse
        data, inverse = self._constant
        if self._program.total_param_size:
            data = {**data, s.Q if s.Q in data else s.C: _cost(self._program)}
        return data, inverse

    def _accept(self, raw: Any, inverse: list[Any]) -> None:
        solution = self._chain.invert(raw, inverse)
        status = solution.status
        if status == s.OPTIMAL:
            save(self.problem, solution.primal_vars, self.solver)
            return
        self._cache.clear()
        if status in (s.INFEASIBLE, s.INFEASIBLE_INACCURATE):
            raise SubproblemError("infeasible", f"{self.solver} says {status}")
        if status in (s.UNBOUNDED, s.UNBOUNDED_INACCURATE):
            raise SubproblemError("unbounded", f"{self.solver} says {status}")
        raise SubproblemError("failed", f"{self.solver} says {status}")
