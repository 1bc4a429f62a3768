"""A cvxpy problem reduced once to a solver's data, which is updated for new Parameter values."""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from types import MethodType, SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy import settings as s
from cvxpy.atoms.atom import Atom
from cvxpy.constraints import NonNeg, NonPos, Zero
from cvxpy.cvxcore.python.canonInterface import get_parameter_vector
from cvxpy.error import DPPError, SolverError
from cvxpy.problems.problem_form import ProblemForm
from cvxpy.reductions.dcp2cone.canonicalizers import CANON_METHODS
from cvxpy.reductions.solution import Solution
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.solvers.conic.outcome import KNOWN
from dcprog.solvers.conic.standard_form import StandardForm, standard_form
from dcprog.solvers.faults import failures, valueless

__all__ = ["ParamProgram", "problem_class", "save", "with_direct_formatting"]


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


# ----------------------------------------------------------------------------------------------


def problem_class(problem: cp.Problem) -> str:
    """``"LP"``, ``"QP"`` (linear constraints, convex quadratic objective) or ``"conic"``."""
    form = ProblemForm(problem)
    if not form.cones(quad_obj=True) <= {Zero, NonNeg, NonPos}:
        return "conic"
    return "QP" if form.has_quadratic_objective() else "LP"


class ParamProgram:
    """A DPP problem reduced to the data of one solver.

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

    Attributes
    ----------
    compile_time : float
        Seconds spent compiling.

    Raises
    ------
    ValueError
        The solver does not handle the class of problem.
    """

    def __init__(self, problem: cp.Problem, solver: str) -> None:
        self.problem = problem
        self.solver = solver
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
        self.compile_time = time.perf_counter() - begin

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

    def save(self, x: Array, inverse: list[Any]) -> None:
        """Set the variables to their values at a point of the standard form.

        Raises
        ------
        SubproblemError
            A value is not finite, or cvxpy failed.
        """
        with failures(self.solver):
            chain = self._chain
            values = {inverse[-1][chain.solver.VAR_ID]: x}
            solution = Solution(s.OPTIMAL, 0.0, values, None, {})
            for reduction, data in list(zip(chain.reductions, inverse, strict=True))[-2::-1]:
                solution = reduction.invert(solution, data)
            save(self.problem, solution.primal_vars, self.solver)

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

    def _form(self, data: Any, inverse: list[Any]) -> StandardForm | None:
        if not isinstance(data, dict) or self.solver not in KNOWN:
            return None
        offset = float(inverse[-1][s.OFFSET])
        kept = self._matrices
        if kept is not None and self._constant is not None:
            return replace(kept, q=data[s.Q if s.Q in data else s.C], offset=offset)
        form = standard_form(data, offset, self._chain.solver)
        if kept is not None and _same(kept.A, form.A):  # cached results for A stay valid
            form = replace(form, A=kept.A)
        self._matrices = form
        return form


def _chain(problem: cp.Problem, solver: str) -> Any:
    """The chain of reductions of a problem to a solver's data."""
    try:
        with failures(solver, let=(DPPError, SolverError)):
            chain = resolve_and_build_chain(problem, solver=solver, enforce_dpp=True)
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


def _same(one: sp.csc_array, other: sp.csc_array) -> bool:
    return (
        one.shape == other.shape
        and np.array_equal(one.data, other.data)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )
