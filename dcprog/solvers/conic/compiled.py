"""A convex cvxpy problem compiled once for a solver and solved for many Parameter values."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import MethodType, SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy import settings as s
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.constraints import NonNeg, NonPos, Zero
from cvxpy.cvxcore.python.canonInterface import get_parameter_vector
from cvxpy.error import DPPError, SolverError
from cvxpy.problems.problem_form import ProblemForm
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from cvxpy.reductions.solvers.utilities import extract_dual_value, get_dual_values

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.deadline import LEAST_TIME
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.foundation.parameters import meant
from dcprog.foundation.tolerances import MOST_STEPS, ROUNDING, TIGHT
from dcprog.solvers.conic.scaling import Evidence, Scaler, Scaling, minimise_in_units
from dcprog.solvers.conic.standard_form import StandardForm, solver_data, standard_form
from dcprog.solvers.faults import failures, refusals, valueless

# Most steps of OSQP and SCS. Ten times as many rarely help, so only SCS is allowed them, and only
# for tight tolerances.
FIRST_ORDER_STEPS, PATIENT_STEPS = 20_000, 200_000
LOOSE = 1e-7  # tolerances above it count as loose; it is also HiGHS's largest


@dataclass(frozen=True)
class Interface:
    """The names of a solver's options, and the vectors in its raw answer.

    Attributes
    ----------
    x, z : callable
        The unknowns, and the multipliers of all rows, in an answer.
    tolerances : tuple of str
        The options that are set to the tolerance, within ``within``.
    steps : str or None
        The option for the number of steps, at most ``most`` for a tolerance.
    time : str or None
        The option for a time limit. Without one, a solver's number of steps is limited instead.
    more : mapping
        Further options.
    dual_ray, primal_ray : callable or None
        The rays in an answer, if they are not in place of the multipliers and the unknowns.
    """

    x: Callable[[Any], Any]
    z: Callable[[Any], Any]
    tolerances: tuple[str, ...] = ()
    within: tuple[float, float] = (ROUNDING, np.inf)
    steps: str | None = None
    most: Callable[[float], int] = lambda tol: MOST_STEPS
    time: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    dual_ray: Callable[[Any], Any] | None = None
    primal_ray: Callable[[Any], Any] | None = None


INTERFACES = {
    "CLARABEL": Interface(
        x=lambda raw: raw.x,
        z=lambda raw: raw.z,
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        time="time_limit",
    ),
    "ECOS": Interface(
        x=lambda raw: raw["x"],
        z=lambda raw: _joined(raw["y"], raw["z"]),
        tolerances=("abstol", "reltol", "feastol"),
        steps="max_iters",
    ),
    "HIGHS": Interface(
        x=lambda raw: raw["solution"].col_value,
        z=lambda raw: -_joined(raw["solution"].row_dual),
        tolerances=("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        within=(TIGHT, LOOSE),
        steps="qp_iteration_limit",  # its active set method may cycle
        most=lambda tol: FIRST_ORDER_STEPS,
        time="time_limit",
        dual_ray=lambda raw: -_joined(raw["dual_ray"][2]),
    ),
    "OSQP": Interface(
        x=lambda raw: raw.x,
        z=lambda raw: raw.y,
        tolerances=("eps_abs", "eps_rel"),
        steps="max_iter",
        most=lambda tol: FIRST_ORDER_STEPS,
        time="time_limit",
        more={"polishing": True},  # without it only the first of a series of solves is polished
        dual_ray=lambda raw: raw.prim_inf_cert,
        primal_ray=lambda raw: raw.dual_inf_cert,
    ),
    "PIQP": Interface(
        x=lambda raw: raw.x,
        z=lambda raw: _joined(raw.y, raw.z_u if hasattr(raw, "z_u") else raw.z),
        tolerances=("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        steps="max_iter",
    ),
    "SCIPY": Interface(
        x=lambda raw: raw["x"],
        z=lambda raw: -_joined(raw["eqlin"]["marginals"], raw["ineqlin"]["marginals"]),
        time="time_limit",
    ),
    "SCS": Interface(
        x=lambda raw: raw["x"],
        z=lambda raw: raw["y"],
        tolerances=("eps_abs", "eps_rel"),
        steps="max_iters",
        most=lambda tol: FIRST_ORDER_STEPS if tol > LOOSE else PATIENT_STEPS,
        time="time_limit_secs",
    ),
}


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
        Seconds.
    pace : float, optional
        Seconds per step in the last call.
    """
    known = INTERFACES.get(solver)
    if known is None:
        return {}
    tol = float(np.clip(tolerance, *known.within))
    asked = dict.fromkeys(known.tolerances, tol) | dict(known.more)
    if known.steps is not None:
        asked[known.steps] = known.most(tol)
    if time_limit is not None and known.time is not None:
        asked[known.time] = max(time_limit, LEAST_TIME)
    elif time_limit is not None and pace and known.steps is not None:
        asked[known.steps] = int(np.clip(time_limit / pace, 1, known.most(tol)))
    return {"scipy_options": asked} if solver == "SCIPY" and asked else asked


def _read(find: Callable[[Any], Any], raw: Any) -> Array | None:
    """A vector in a raw answer; None if it is not there."""
    with suppress(Exception):
        return _joined(find(raw))
    return None


def _joined(*parts: Any) -> Array:
    vectors = [np.asarray(p, dtype=float).ravel() for p in parts if p is not None]
    return np.concatenate(vectors)


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


def check_solver(solver: str | None, others: Iterable[str] = ()) -> str | None:
    """The upper-case name of an installed solver; None stays None.

    The error for an unknown one may name one of `others`, too.

    Raises
    ------
    ValueError
        No installed solver has this name.
    """
    if solver is None:
        return None
    installed = installed_solvers()
    if not isinstance(solver, str) or solver.upper() not in installed:
        known = [*others, *installed]
        raise ValueError(
            f"solver={solver!r} is not installed or not known: {meant(solver, known)} ('auto' "
            "chooses by the problem)"
        )
    return solver.upper()


def solver_order(kind: str, solver: str | None) -> tuple[str, ...]:
    """The solvers to try, best first: the user's, then the installed ones for the class."""
    installed = installed_solvers()
    order = [name for name in PREFERENCE[kind] if name in installed]
    if solver is not None:
        order = [solver, *(name for name in order if name != solver)]
    return tuple(order)


def data_solver(kind: str) -> str:
    """The cvxpy solver whose compiled programs our own solver uses."""
    first, *_ = (*solver_order(kind, None), "CLARABEL")
    return first


def problem_class(problem: cp.Problem) -> str:
    """``"LP"``, ``"QP"`` (linear constraints, convex quadratic objective) or ``"conic"``."""
    form = ProblemForm(problem)
    if not form.cones(quad_obj=True) <= {Zero, NonNeg, NonPos}:
        return "conic"
    return "QP" if form.has_quadratic_objective() else "LP"


class CompiledProblem:
    """A DPP problem compiled for one solver, scaled to numbers of about 1.

    cvxpy's chain of reductions runs once; afterwards only Parameter values are inserted into the
    solver's data. Bounds that cvxpy infers for its auxiliary variables are switched off: cvxpy
    1.9.3 infers wrong ones for ``pos``, ``abs`` and ``maximum`` of ``multiply(constant, X @ w)``,
    and solvers with variable bounds then return a wrong "optimal". Users' own bounds are kept.

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
        self.problem = problem
        self.solver = solver
        self._interface = INTERFACES.get(solver)
        self._asked = dict(asked or {})
        begin = time.perf_counter()
        with valueless(problem):
            self._chain = _chain(problem, solver)
        if self._chain.solver_context is not None:  # None: there is no variable to bound
            self._chain.solver_context.solver_supports_bounds = False
        self._program: Any = None
        self._inverse: Any = None
        self._constant: tuple[dict[str, Any], list[Any]] | None = None
        self._costs_move: bool | None = None
        self._matrices: StandardForm | None = None
        self._cache: dict[str, Any] = {}
        self._scaler = Scaler()
        self.solve_time = 0.0
        self.compile_time = time.perf_counter() - begin
        self.reset()

    def reset(self) -> None:
        """Discard all solutions and keep the compiled data; the next run is like the first."""
        self.inaccurate = False
        self._evidence: Evidence | None = None
        self._scaler.reset()
        self._cache.clear()
        self._last_tolerance: float | None = None
        self._last_places: list[Array] = []
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

    def form(self) -> StandardForm | None:
        """The program at the current Parameter values; None if it is not available."""
        try:
            return self.current()[0]
        except SubproblemError:
            return None

    def current(self) -> tuple[StandardForm | None, list[Any]]:
        """The program, and cvxpy's inverse data that map its points back to the problem.

        Raises
        ------
        SubproblemError
            cvxpy failed.
        """
        with failures(self.solver):
            data, inverse = self._data()
            return self._form(data, inverse), inverse

    def save(self, x: Array, inverse: list[Any], z: Array | None = None) -> dict[int, Any]:
        """Set the variables to their values at a point of the standard form.

        Parameters
        ----------
        x : array
        inverse : list
            The inverse data of :meth:`current`.
        z : array, optional
            Multipliers of all rows of the standard form.

        Returns
        -------
        dict of int to array
            The multipliers of the constraints by their ids; empty without z.

        Raises
        ------
        SubproblemError
            A value is not finite, or cvxpy failed.
        """
        with failures(self.solver):
            chain, last = self._chain, inverse[-1]
            duals = None if z is None else _by_constraint(chain.solver, z, last)
            solution = Solution(s.OPTIMAL, 0.0, {last[chain.solver.VAR_ID]: x}, duals, {})
            for reduction, data in list(zip(chain.reductions, inverse, strict=True))[-2::-1]:
                solution = reduction.invert(solution, data)
            save(self.problem, solution.primal_vars, self.solver)
            return dict(solution.dual_vars or {})

    def bound(self) -> float:
        """A lower bound of the problem's optimal value at the current Parameter values.

        It depends only on the solution and the multipliers of the last :meth:`minimise`; see
        :meth:`StandardForm.bound`. It is −inf without multipliers.
        """
        return -np.inf if self._evidence is None else self._evidence.bound(self.form())

    def _data(self) -> tuple[dict[str, Any], list[Any]]:
        solver = self._chain.solver
        if self._program is None:
            begin = time.perf_counter()
            with valueless(self.problem):
                data, inverse = _applied(self._chain, self.problem)
            if isinstance(data, dict):  # otherwise there are no variables and no compiled program
                self._program = data[s.PARAM_PROB]
                self._inverse = inverse[:-1]
            self.compile_time += time.perf_counter() - begin
            return data, inverse
        if self._constant is None:
            data, last = solver.apply(self._program)
            inverse = [*self._inverse, last]
            if self._costs_move is None:
                self._costs_move = _only_cost_moves(self._program)
            if self._costs_move:
                self._constant = (data, inverse)
            elif self.solver == "PIQP":
                self._cache.clear()  # updating a changed quadratic form ends in user_limit
            return data, inverse
        data, inverse = self._constant
        if self._program.total_param_size:
            cost, inverse[-1][s.OFFSET] = _cost(self._program)
            data = {**data, s.Q if s.Q in data else s.C: cost}
        return data, inverse

    @cached_property
    def _largest(self) -> float:
        """The largest absolute value of the problem's constants."""
        constants = [constant.value for constant in self.problem.constants() if constant.size]
        return max((float(abs(value).max()) for value in constants), default=0.0)

    def _form(self, data: Any, inverse: list[Any]) -> StandardForm | None:
        if not isinstance(data, dict) or self._interface is None:
            return None
        offset = float(inverse[-1][s.OFFSET])
        kept = self._matrices
        if kept is not None and self._constant is not None:
            return replace(kept, q=data[s.Q if s.Q in data else s.C], offset=offset)
        form = standard_form(data, offset, self._chain.solver).without_rounding(self._largest)
        if kept is not None and same_matrix(kept.A, form.A):  # cached results for A stay valid
            form = replace(form, A=kept.A)
        self._matrices = form
        return form

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
        says = SubproblemError("failed", f"{self.solver} says {answer.status}")
        found, known = next(iter((answer.primal_vars or {}).values()), None), self._interface
        if found is None and known is not None:
            found = _read(known.x, raw)
        if found is None:
            raise says
        x = scaling.primal(np.asarray(found, dtype=float).ravel())
        if not np.all(np.isfinite(x)):
            raise SubproblemError("failed", f"{self.solver}: its solution holds NaN or infinity")
        self.inaccurate = answer.status != s.OPTIMAL
        if self.inaccurate and (form is None or not form.is_nearly_feasible(x)):
            raise says
        z = None if known is None else _read(known.z, raw)
        self._evidence = None if z is None else Evidence(x, z, scaling)
        return x

    def _call(self, data: Any, tolerance: float, time_limit: float | None) -> Any:
        """Call the solver with our options and the user's, and return its raw answer."""
        if tolerance != self._last_tolerance:
            self._cache.clear()  # a cached solver keeps its settings
            self._last_tolerance = tolerance
        places = _places(data)
        if len(places) != len(self._last_places) or not all(
            map(np.array_equal, places, self._last_places)
        ):
            self._cache.clear()  # cvxpy updates the entries of matrices by their order alone
        self._last_places = places
        ours = options(self.solver, tolerance, time_limit, self._pace)
        asked = {**ours, **self._asked}
        begin = time.perf_counter()
        try:
            with refusals(self.solver, self._asked), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # inaccuracy is judged by the point itself
                return self._chain.solver.solve_via_data(data, True, False, asked, self._cache)
        except BaseException:  # an interrupt too leaves a cached solver half done
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
        known = self._interface
        if form is None or known is None:
            return error
        if error.status == "infeasible":
            ray = _read(known.dual_ray or known.z, raw)
            error.proved = ray is not None and form.proves_infeasible(scaling.dual(ray))
        else:
            ray = _read(known.primal_ray or known.x, raw)
            error.proved = ray is not None and form.proves_unbounded(scaling.primal(ray))
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


def _by_constraint(solver: Any, z: Array, inverse: Mapping[str, Any]) -> dict[int, Any]:
    """Multipliers of the rows of a cone program by its constraints, equations first."""
    duals: dict[int, Any] = {}
    for constraints in (inverse[solver.EQ_CONSTR], inverse[solver.NEQ_CONSTR]):
        duals |= get_dual_values(z, extract_dual_value, constraints)
        z = z[sum(constraint.size for constraint in constraints) :]
    return duals


def _pace(answer: Solution) -> float | None:
    """The seconds per step of the solver; None if unknown."""
    steps, seconds = answer.attr.get(s.NUM_ITERS), answer.attr.get(s.SOLVE_TIME)
    return seconds / steps if steps and seconds else None


def _chain(problem: cp.Problem, solver: str) -> Any:
    """The chain of reductions of a problem to a solver's data."""
    # cvxpy 1.9 cannot take xᵀPx of a convex x, as of [Az − b]₊, into a quadratic objective
    composed = QuadForm in problem.atoms() and _has_composed_form(problem.objective.args[0])
    options = {"use_quad_obj": not composed}
    try:
        with failures(solver, let=(DPPError, SolverError)):
            chain = resolve_and_build_chain(
                problem, solver=solver, enforce_dpp=True, solver_opts=options
            )
    except DPPError as error:
        raise UnfitSolver(
            "the convex subproblem is not DPP, most likely because a variable's bounds hold a "
            "Parameter: write such bounds as constraints, x <= parameter"
        ) from error
    except SolverError as error:
        raise UnfitSolver(
            f"solver {solver} cannot handle this {problem_class(problem)} subproblem: {error} "
            "Leave solver=None to have one chosen."
        ) from error
    return with_direct_formatting(chain)


def _has_composed_form(node: cp.Expression) -> bool:
    if isinstance(node, QuadForm) and not node.args[0].is_affine():
        return True
    return any(map(_has_composed_form, node.args))


def _applied(chain: Any, problem: cp.Problem) -> Any:
    """The reduced problem and the inverse data; a clear error for atoms without a cone program."""
    try:
        return chain.apply(problem)
    except NotImplementedError as error:
        unknown = [kind.__name__ for kind in problem.atoms() if not _has_cone_program(kind)]
        if not unknown:
            raise
        raise SubproblemError(
            "failed",
            f"cvxpy has no cone program for {', '.join(unknown)}, which is kept as it is where its "
            "curvature suits: an atom without one should declare no such curvature, and bring a "
            "rule (dc.register_atom)",
        ) from error


def _has_cone_program(kind: Any) -> bool:
    return kind in CANON_METHODS or kind.graph_implementation is not Atom.graph_implementation


def save(problem: cp.Problem, values: dict[int, Any], solver: str) -> None:
    """Set all variables to their values, or none if a value is not finite.

    Raises
    ------
    SubproblemError
        A value is missing or not finite.
    """
    for variable in problem.variables():
        value = values[variable.id]
        if value is None or not np.all(np.isfinite(dense(value))):
            raise SubproblemError("failed", f"{solver}: its solution holds NaN or infinity")
    for variable in problem.variables():
        variable.save_value(values[variable.id])


def _only_cost_moves(program: Any) -> bool:
    """True if Parameters appear only in the linear cost.

    cvxpy keeps each block of a program as a sparse matrix with one column per Parameter entry and
    a last column for the constants.
    """
    if program.lb_tensor is not None or program.ub_tensor is not None:
        return False
    blocks = [t.reduced_mat for t in (program.reduced_A, program.reduced_P) if t is not None]
    return all(b is None or b.shape[1] == 1 or b.tocsc()[:, :-1].nnz == 0 for b in blocks)


def _cost(program: Any) -> tuple[Array, float]:
    """The linear cost and the constant of the objective at the current Parameter values."""
    values = get_parameter_vector(
        program.total_param_size,
        program.param_id_to_col,
        program.param_id_to_size,
        lambda index: np.asarray(program.id_to_param[index].value),
    )
    cost = np.asarray(program.q @ values).ravel()
    return cost[:-1], float(cost[-1])


def _places(data: Any) -> list[Array]:
    """The places of the entries that the matrices of a program store."""
    held = [data.get(key) for key in (s.P, s.A, s.F)] if isinstance(data, dict) else []
    parts = ("indptr", "indices")
    return [getattr(M, part) for M in held if sp.issparse(M) for part in parts if hasattr(M, part)]


def same_matrix(one: sp.csc_array, other: sp.csc_array) -> bool:
    """True if two matrices have the same entries, stored alike."""
    parts = ("shape", "data", "indices", "indptr")
    return one is other or all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in parts
    )


# ----------------------------------------------------------------------------------------------


def with_direct_formatting(chain: Any) -> Any:
    """Make the solver of a chain of reductions format rows by :func:`formatted`.

    cvxpy keeps a matrix with Parameters as a tensor and multiplies it, constraint by constraint, in
    a form with a column for each pair of a variable and a Parameter. That takes most of the time
    and nearly all the memory of a compilation (17 GB for a product of 40 × 4 and 4 × 30 matrices).
    """
    solver = chain.solver
    ours = getattr(type(solver), "format_constraints", None)
    if getattr(ours, "__func__", None) is not ConicSolver.format_constraints.__func__:
        return chain
    direct = copy(solver)
    direct.format_constraints = MethodType(formatted, direct)
    chain.reductions[-1] = chain.solver = direct
    return chain


def formatted(solver: Any, program: Any, exp_cone_order: Any) -> Any:
    """The result of ``solver.format_constraints``, computed by moving entries.

    The moves are found by letting cvxpy format the identity. If the formatting does more than move
    and scale single rows, cvxpy's own method is used.
    """
    original = type(solver).format_constraints
    if not program.constraints:
        return original(program, exp_cone_order)
    rows = sum(arg.size for constraint in program.constraints for arg in constraint.args)
    probe = copy(program)
    probe.A, probe.x = sp.eye_array(rows, format="csc"), SimpleNamespace(size=0)
    moves = sp.csc_array(original(probe, exp_cone_order).A)
    if not np.all(np.diff(moves.indptr) == 1):
        return original(program, exp_cone_order)
    tensor = sp.coo_array(program.A)
    column, row = np.divmod(tensor.row.astype(np.int64), rows)
    moved = moves.indices[row] + moves.shape[0] * column
    shape = moves.shape[0] * (program.x.size + 1), tensor.shape[1]
    found = copy(program)
    found.A = sp.csc_array((moves.data[row] * tensor.data, (moved, tensor.col)), shape=shape)
    found.reduced_A = type(program.reduced_A)(found.A, program.x.size)
    found.formatted = True
    return found
