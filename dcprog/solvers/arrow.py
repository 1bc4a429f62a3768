"""Quadratic programs with few shared variables, solved by dense linear algebra on those."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy import settings as s
from cvxpy.reductions.solution import Solution
from scipy.linalg import qr, solve_triangular

from dcprog.errors import SubproblemError
from dcprog.solvers.arrow_layout import Layout, layout
from dcprog.solvers.arrowhead import Arrowhead, Matrix, dense_rows
from dcprog.solvers.compiled import CompiledProblem, problem_class, save
from dcprog.solvers.faults import failures
from dcprog.solvers.interior import Program, interior_point
from dcprog.tree import Array

__all__ = ["ArrowProblem", "NotArrow"]

MOST_DENSE = 500  # variables
MOST_NUMBERS = 2**27  # in rows that are stored dense
RANK = 1e-12
CONSISTENT = 1e-9
PAYS = 10_000  # numbers; sparse solvers are as fast on less


class NotArrow(ValueError):
    """The program has no arrow structure, for the reason in the message."""


class Equations:
    """x = x₀ + Z v, all solutions of  A x = b."""

    def __init__(self, A: Array) -> None:
        self._A = A
        orthogonal, upper, order = qr(A.T, pivoting=True)
        diagonal = np.abs(np.diagonal(upper))
        rank = int(np.sum(diagonal > RANK * diagonal.max(initial=0.0)))
        self._range, self.Z = orthogonal[:, :rank], orthogonal[:, rank:]
        self._upper, self._order = upper[:rank, :rank], order[:rank]

    def origin(self, b: Array) -> Array:
        """x₀, the shortest solution.

        Raises
        ------
        SubproblemError
            There is none.
        """
        x = self._range @ solve_triangular(self._upper, b[self._order], trans=1)
        if np.max(np.abs(self._A @ x - b), initial=0.0) > CONSISTENT * (1 + np.max(np.abs(b))):
            raise SubproblemError("failed", "ARROW: the equations contradict each other")
        return np.asarray(x, dtype=float)


class Arrow:
    """A program  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g  taken apart, for any q, b and g.

    Variables that an equation defines, z_d = b/a + Dz, turn into squares of rows; the other
    equations are solved as x = x₀ + Zv. What remains is a :class:`Program` in the local variables
    and v.

    Raises
    ------
    NotArrow
        It does not come apart.
    """

    def __init__(self, P: sp.csc_array, A: sp.csc_array, F: sp.csc_array) -> None:
        self._P, self._A, self._F = P, A, F
        equations, inequalities = _clean(A), _clean(F)
        self._m, n = inequalities.shape
        self._parts = parts = layout(sp.csr_array(P), equations, inequalities)
        _check(parts.dense.size, inequalities)
        self._pivots = equations[parts.by][:, parts.defined].diagonal()
        self._definitions = _definitions(equations, parts, self._pivots)
        self._curved = parts.local[np.isin(parts.local, P.indices)]
        unit = sp.eye_array(n, format="csr")[self._curved]
        rows = sp.csr_array(sp.vstack([inequalities, self._definitions, unit], format="csr"))
        L, X = sp.csr_array(rows[:, parts.local]), sp.csr_array(rows[:, parts.dense])
        kept = equations[parts.kept][:, parts.dense].toarray()
        self._equations = Equations(kept) if len(kept) else None
        if self._equations is not None:
            self._shift = X
            X = sp.csr_array(X @ self._equations.Z)
        self._units = 1 / _sizes(X)
        X = sp.csr_array(X @ sp.diags_array(self._units))
        self.size = X.nnz
        # squares of dense variables alone are a constant part of the quadratic form
        squares = np.arange(self._m, self._m + len(parts.by))
        self._mixed = np.diff(L.indptr)[squares] > 0
        self._fixed = Matrix(sp.csr_array(X[squares[~self._mixed]]))
        kept_rows = np.delete(np.arange(L.shape[0]), squares[~self._mixed])
        self._rows = Arrowhead(sp.csr_array(L[kept_rows]), sp.csr_array(X[kept_rows]))
        self._new_form(self._P)

    def fits(self, P: sp.csc_array, A: sp.csc_array, F: sp.csc_array) -> bool:
        """Is this the same program up to q, b, g and the values of P?"""
        same = np.array_equal
        return (
            same(self._P.indptr, P.indptr)
            and same(self._P.indices, P.indices)
            and _same(self._A, A)
            and _same(self._F, F)
        )

    def _new_form(self, P: sp.csc_array) -> None:
        """Recompute what depends on the values of P."""
        self._P = P
        dense = self._parts.dense
        diagonal = P.diagonal()
        self._weights, self._bends = diagonal[self._parts.defined], diagonal[self._curved]
        self._Q = P[:, dense][dense].toarray()
        form = self._Q
        if self._equations is not None:
            form = self._equations.Z.T @ form @ self._equations.Z
        form = self._units[:, None] * form * self._units
        self._form = form + self._fixed.gram(self._weights[~self._mixed])

    def program(self, P: sp.csc_array, q: Array, b: Array, g: Array) -> Program:
        """The program in (t, v)."""
        if not np.array_equal(P.data, self._P.data):
            self._new_form(P)
        parts, k = self._parts, len(self._parts.by)
        self._constant = constant = b[parts.by] / self._pivots
        tilt = q + self._definitions.T @ q[parts.defined]
        linear = tilt[parts.dense]
        if self._equations is not None:
            self._origin = self._equations.origin(b[parts.kept])
            shift = self._shift @ self._origin
            g, constant = g - shift[: self._m], constant + shift[self._m : self._m + k]
            linear = (linear + self._Q @ self._origin) @ self._equations.Z
        mixed = self._mixed
        pulled = self._weights * constant
        return Program(
            rows=self._rows,
            Q=self._form,
            a=tilt[parts.local],
            b=linear * self._units + self._fixed.adjoint(pulled[~mixed]),
            p=np.concatenate([self._weights[mixed], self._bends]),
            h=np.concatenate([constant[mixed], np.zeros(len(self._curved))]),
            g=g,
        )

    def recover(self, t: Array, v: Array) -> Array:
        """z, for the equations of the last program."""
        z, v = np.zeros(self._F.shape[1]), v * self._units
        z[self._parts.local] = t
        z[self._parts.dense] = (
            v if self._equations is None else self._origin + self._equations.Z @ v
        )
        z[self._parts.defined] = self._constant + self._definitions @ z
        return z


def _definitions(A: sp.csr_array, parts: Layout, pivots: Array) -> sp.csr_array:
    """D  of  z_d = b/a + Dz."""
    others = np.ones(A.shape[1])
    others[parts.defined] = 0
    return _clean(sp.diags_array(-1 / pivots) @ A[parts.by] @ sp.diags_array(others))


def _sizes(X: sp.csr_array) -> Array:
    """Root mean square of each column's entries, so that it does not matter how v is scaled."""
    squares = np.bincount(X.indices, X.data**2, minlength=X.shape[1])
    counts = np.bincount(X.indices, minlength=X.shape[1])
    return np.where(squares > 0, np.sqrt(squares / np.maximum(counts, 1)), 1.0)


def _same(one: sp.csc_array, other: sp.csc_array) -> bool:
    return one is other or (
        one.shape == other.shape
        and np.array_equal(one.data, other.data)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _check(n_dense: int, F: sp.csr_array) -> None:
    """Raise where sparse solvers are the better choice, or memory runs out."""
    m = F.shape[0]
    if not n_dense:
        raise NotArrow("no variable is shared by several terms")
    if n_dense > MOST_DENSE:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {MOST_DENSE}")
    if n_dense > m:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {m} rows")
    if int(np.sum(dense_rows(F))) * n_dense > MOST_NUMBERS:
        raise NotArrow("its dense rows take too much memory")


def _bounded(data: dict[str, Any]) -> tuple[sp.csc_array, Array]:
    """F and g of cvxpy's data, with its bounds on the variables as further rows."""
    F, g = data[s.F], data[s.G]
    for key, sign in ((s.UPPER_BOUNDS, 1.0), (s.LOWER_BOUNDS, -1.0)):
        bound = data.get(key)
        if bound is not None:
            finite = np.flatnonzero(np.isfinite(bound))
            rows = sp.csr_array(sign * sp.eye_array(len(bound), format="csr")[finite])
            F = sp.csc_array(sp.vstack([F, rows], format="csc"))
            g = np.concatenate([g, sign * bound[finite]])
    return F, g


def _clean(matrix: Any) -> sp.csr_array:
    result = sp.csr_array(matrix)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


class ArrowProblem:
    """A compiled problem, as :class:`CompiledProblem`, for our own interior point method.

    Parameters
    ----------
    problem : cvxpy.Problem
        Minimisation, DCP and DPP; Parameters without a value get ones to begin with.

    Attributes
    ----------
    refusal : str or None
        Why the problem is not for this solver; None if it is.
    general : CompiledProblem or None
        The same problem compiled for PIQP, whose data this solver works on.
    pays : bool
        Is it large enough for this solver to be the fastest?
    compile_time, solve_time : float
        Seconds spent taking the problem apart, and minimising so far.
    """

    solver = "ARROW"

    def __init__(self, problem: cp.Problem) -> None:
        self.problem = problem
        self.solve_time = self.compile_time = 0.0
        self.refusal: str | None = None
        self.general: CompiledProblem | None = None
        self.pays = False
        self._arrow: Arrow | None = None
        if problem_class(problem) == "conic":
            self.refusal = "it is not a linear or quadratic program"
            return
        for parameter in problem.parameters():
            if parameter.value is None:
                parameter.value = parameter.project(np.ones(parameter.shape))
        self.general = CompiledProblem(problem, "PIQP")
        try:
            self._take_apart(self.general._data()[0])
        except NotArrow as error:
            self.refusal = str(error)

    def _take_apart(self, data: dict[str, Any]) -> Arrow:
        """The structure, found anew if a Parameter changed more than q, b, g and values of P."""
        if s.P not in data:
            raise NotArrow("nothing in it is variable")
        P, A, F = data[s.P], data[s.A], _bounded(data)[0]
        if self._arrow is None or not self._arrow.fits(P, A, F):
            begin = time.perf_counter()
            self._arrow = Arrow(P, A, F)
            self.pays = self._arrow.size >= PAYS
            self.compile_time += time.perf_counter() - begin
        return self._arrow

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """As :meth:`CompiledProblem.minimise`.

        Raises
        ------
        SubproblemError
            Always with status ``"failed"``: this solver does not tell an infeasible or unbounded
            problem from one that is too hard.
        """
        if self.refusal is not None or self.general is None:
            raise SubproblemError("failed", f"ARROW: {self.refusal}")
        with failures("ARROW"):
            data, inverse = self.general._data()
        begin = time.perf_counter()
        try:
            with failures("ARROW"):
                arrow = self._take_apart(data)
                program = arrow.program(data[s.P], data[s.Q], data[s.B], _bounded(data)[1])
                z = arrow.recover(*interior_point(program, tolerance, time_limit))
        finally:
            self.solve_time += time.perf_counter() - begin
        with failures("ARROW"):
            self._save(z, self.general._chain, inverse)

    def _save(self, z: Array, chain: Any, inverse: list[Any]) -> None:
        """Give the variables their values, back through cvxpy's reductions."""
        solution = Solution(s.OPTIMAL, 0.0, {inverse[-1][chain.solver.VAR_ID]: z}, None, {})
        for reduction, data in list(zip(chain.reductions, inverse, strict=True))[-2::-1]:
            solution = reduction.invert(solution, data)
        save(self.problem, solution.primal_vars, "ARROW")
