"""Format the rows of a compiled program for a conic solver without products of tensors."""

from __future__ import annotations

from copy import copy
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

__all__ = ["with_direct_formatting"]


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
