"""A convex cvxpy problem that is compiled once and solved for many Parameter values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as s
from cvxpy.reductions.solution import Solution

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.solvers.conic.outcome import dual_ray, multipliers, point, primal_ray
from dcprog.solvers.conic.program import ParamProgram, problem_class, save
from dcprog.solvers.conic.scaler import Scaler, minimise_in_units
from dcprog.solvers.conic.scaling import Scaling
from dcprog.solvers.conic.standard_form import Evidence, StandardForm, solver_data
from dcprog.solvers.faults import failures, refusals

__all__ = ["CompiledProblem", "check_solver", "options", "problem_class", "solver_order"]

MOST_STEPS = 500  # most steps of an interior point method
# Most steps of SCS. Ten times as many rarely help, so they are allowed only for tight tolerances.
FIRST_ORDER_STEPS, PATIENT_STEPS = 20_000, 200_000
LOOSE = 1e-7


def options(
    solver: str, tolerance: float, time_limit: float | None, pace: float | None
) -> dict[str, Any]:
    """The options of a solver for a tolerance and a time limit.

    Parameters
    ----------
    solver : str
    tolerance : float
        The relative and the absolute tolerance.
    time_limit : float, optional
        Seconds. PIQP and ECOS have no time limit; their number of steps is limited instead.
    pace : float, optional
        Seconds per step in the last call.
    """
    tol = max(tolerance, 1e-12)
    seconds = {} if time_limit is None else {"time_limit": max(time_limit, 1e-3)}
    steps = MOST_STEPS
    if time_limit is not None and pace:
        steps = int(np.clip(time_limit / pace, 1, MOST_STEPS))
    match solver:
        case "CLARABEL":
            return {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, **seconds}
        case "PIQP":
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "eps_duality_gap_abs": tol,
                "eps_duality_gap_rel": tol,
                "max_iter": steps,
            }
        case "OSQP":
            # without this option only the first of a series of solves is polished
            return {
                "eps_abs": tol,
                "eps_rel": tol,
                "max_iter": 200_000,
                "polishing": True,
                **seconds,
            }
        case "ECOS":
            return {"abstol": tol, "reltol": tol, "feastol": tol, "max_iters": steps}
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
            most = FIRST_ORDER_STEPS if tol > LOOSE else PATIENT_STEPS
            return {"eps_abs": tol, "eps_rel": tol, "max_iters": most, **limit}
        case "SCIPY" if seconds:
            return {"scipy_options": seconds}
        case _:
            return {}


# ----------------------------------------------------------------------------------------------

# Preferred solvers by problem class: the first installed one is used, later ones are fallbacks.
PREFERENCE = {
    "LP": ("HIGHS", "PIQP", "CLARABEL"),
    "QP": ("PIQP", "CLARABEL", "OSQP"),
    "conic": ("CLARABEL", "ECOS", "SCS"),
}


NO_SOLUTION = {
    s.INFEASIBLE: "infeasible",
    s.INFEASIBLE_INACCURATE: "infeasible",
    s.UNBOUNDED: "unbounded",
    s.UNBOUNDED_INACCURATE: "unbounded",
}


@cache
def installed_solvers() -> tuple[str, ...]:
    """The names of our own solver and of cvxpy's installed solvers, cached as it imports them."""
    return ("ARROW", *cp.installed_solvers())


def check_solver(solver: str | None) -> str | None:
    """The upper-case name of an installed solver; None stays None.

    Raises
    ------
    ValueError
        No installed solver has this name.
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


def data_solver() -> str:
    """The cvxpy solver whose compiled quadratic programs our own solver uses."""
    installed = installed_solvers()
    return next((name for name in ("PIQP", "OSQP", "CLARABEL") if name in installed), "CLARABEL")


class CompiledProblem(ParamProgram):
    """A DPP problem compiled for one solver, scaled to numbers of about 1.

    Parameters
    ----------
    problem : cvxpy.Problem
        A minimisation that is DCP and DPP.
    solver : str
        The name of an installed solver.
    asked : mapping, optional
        The user's options under the solver's own names; they override ours.

    Attributes
    ----------
    inaccurate : bool
        Whether the solver reported its last solution as less accurate than requested.
    compile_time, solve_time : float
        Seconds spent compiling, and in the solver's own calls so far.

    Raises
    ------
    ValueError
        The solver does not handle the class of problem.
    """

    def __init__(
        self, problem: cp.Problem, solver: str, asked: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(problem, solver)
        self._asked = dict(asked or {})
        self.solve_time = 0.0
        self._scaler = Scaler()
        self._cache: dict[str, Any] = {}
        self.reset()

    def reset(self) -> None:
        """Discard all solutions and keep the compiled data; the next run is like the first."""
        self.inaccurate = False
        self._evidence: Evidence | None = None
        self._scaler.reset()
        self._cache.clear()
        self._last_tolerance: float | None = None
        self._pace: float | None = None

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """Solve at the current Parameter values and set the variables to the minimiser.

        A point that the solver reports as inaccurate is accepted if it meets the constraints to
        1e-4, and marked :attr:`inaccurate`; its objective value shows its quality.

        Parameters
        ----------
        tolerance : float
            The accuracy requested of the solver, absolute and relative, in the program's units.
        time_limit : float, optional
            Seconds, for solvers with a time limit.

        Raises
        ------
        SubproblemError
            With status ``"infeasible"``, ``"unbounded"`` or ``"failed"``. For the first two, its
            attribute `proved` is True if the solver's certificate was verified.
        """
        self.inaccurate, self._evidence = False, None
        with failures(self.solver):
            data, inverse = self._data()
            form = self._form(data, inverse)

        def solve(form: StandardForm | None, tolerance: float, left: float | None) -> Array:
            return self._solve(form, data, inverse, tolerance, left)

        if self._program is None:
            self._accept_constant(data, inverse)
        elif form is None:
            self.save(solve(form, tolerance, time_limit), inverse)
        else:
            x = minimise_in_units(self._scaler, form, tolerance, time_limit, solve)
            self.save(x, inverse)

    def duals(self, tolerance: float, time_limit: float | None = None) -> dict[int, Any]:
        """The multipliers of the constraints at the current Parameter values, by constraint id.

        They come from a separate solve in the problem's own units, so that cvxpy can invert its
        reductions. The variables are set to the minimiser.

        Parameters
        ----------
        tolerance : float
        time_limit : float, optional

        Raises
        ------
        SubproblemError
            The solver finds no solution.
        """
        with failures(self.solver):
            data, inverse = self._data()
        self._cache.clear()
        raw = self._call(data, tolerance, time_limit)
        self._cache.clear()
        with failures(self.solver):
            solution = self._chain.invert(raw, inverse)
        if solution.status not in (s.OPTIMAL, s.OPTIMAL_INACCURATE):
            raise SubproblemError("failed", f"{self.solver} says {solution.status}")
        save(self.problem, solution.primal_vars, self.solver)
        return dict(solution.dual_vars or {})

    def bound(self) -> float:
        """A lower bound of the problem's optimal value at the current Parameter values.

        It depends only on the solution and the multipliers of the last :meth:`minimise`; see
        :meth:`StandardForm.bound`. It is −inf without multipliers.
        """
        return -np.inf if self._evidence is None else self._evidence.bound(self.form())

    def _solve(
        self,
        form: StandardForm | None,
        data: Any,
        inverse: list[Any],
        tolerance: float,
        time_limit: float | None,
    ) -> Array:
        """Call the solver on the scaled program and return its point in the program's units."""
        scaling, given = Scaling(), data
        if form is not None:
            scaled, scaling = self._scaler.scale(form)
            given = data if scaled is form else solver_data(scaled, data)
        raw = self._call(given, tolerance, time_limit)
        with failures(self.solver):
            answer = self._chain.solver.invert(raw, inverse[-1])
            self._pace = _pace(answer)
        if answer.status != s.OPTIMAL:
            self._cache.clear()
            if form is not None and self._scaler.give_up_boosts():
                return self._solve(form, data, inverse, tolerance, time_limit)
        if answer.status in NO_SOLUTION:
            raise self._without_solution(form, scaling, answer.status, raw)
        found = next(iter((answer.primal_vars or {}).values()), None)
        found = point(self.solver, raw) if found is None else found
        if found is None:
            raise SubproblemError("failed", f"{self.solver} says {answer.status}")
        x = scaling.primal(np.asarray(found, dtype=float).ravel())
        self._judge(x, form, answer.status)
        z = multipliers(self.solver, raw)
        self._evidence = None if z is None else scaling.evidence(x, z)
        return x

    def _judge(self, x: Array, form: StandardForm | None, status: str) -> None:
        """Raise SubproblemError for a point that is not finite, or inaccurate and infeasible."""
        if not np.all(np.isfinite(x)):
            raise SubproblemError("failed", f"{self.solver}: its solution holds NaN or infinity")
        self.inaccurate = status != s.OPTIMAL
        if self.inaccurate and (form is None or not form.is_nearly_feasible(x)):
            raise SubproblemError("failed", f"{self.solver} says {status}")

    def _call(self, data: Any, tolerance: float, time_limit: float | None) -> Any:
        """Call the solver with our options and the user's, and return its raw answer."""
        if tolerance != self._last_tolerance:
            self._cache.clear()  # a cached solver keeps its settings
            self._last_tolerance = tolerance
        ours = options(self.solver, tolerance, time_limit, self._pace)
        asked = {**ours, **self._asked}
        begin = time.perf_counter()
        try:
            with refusals(self.solver, self._asked), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # inaccuracy is judged by the point itself
                return self._chain.solver.solve_via_data(data, True, False, asked, self._cache)
        except (SubproblemError, UnfitSolver):
            self._cache.clear()
            raise
        finally:
            self.solve_time += time.perf_counter() - begin

    def _without_solution(
        self, form: StandardForm | None, scaling: Scaling, status: str, raw: Any
    ) -> SubproblemError:
        """The error for a program that the solver reports as infeasible or unbounded."""
        error = SubproblemError(NO_SOLUTION[status], f"{self.solver} says {status}")
        error.proved = False
        infeasible = error.status == "infeasible"
        ray = (dual_ray if infeasible else primal_ray)(self.solver, raw)
        if form is not None and ray is not None:
            error.proved = (
                form.proves_infeasible(scaling.dual(ray))
                if infeasible
                else form.proves_unbounded(scaling.primal(ray))
            )
        return error

    def _accept_constant(self, data: Any, inverse: list[Any]) -> None:
        """Handle the answer for a problem without variables."""
        raw = self._call(data, 1.0, None)
        with failures(self.solver):
            solution = self._chain.invert(raw, inverse)
            if solution.status == s.OPTIMAL:
                save(self.problem, solution.primal_vars, self.solver)
                return
        raise SubproblemError(
            NO_SOLUTION.get(solution.status, "failed"), f"it is {solution.status}"
        )


def _pace(answer: Solution) -> float | None:
    """The seconds per step of the solver; None if unknown."""
    steps, seconds = answer.attr.get(s.NUM_ITERS), answer.attr.get(s.SOLVE_TIME)
    return seconds / steps if steps and seconds else None
