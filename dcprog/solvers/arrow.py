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
from dcprog.solvers.arrow_layout import layout
from dcprog.solvers.arrowhead import Arrowhead, Matrix
from dcprog.solvers.compiled import CompiledProblem
from dcprog.solvers.interior import Program, interior_point
from dcprog.tree import Array

__all__ = ["ArrowProblem", "NotArrow"]

MOST_DENSE = 500
MOST_NUMBERS = 2**27


class NotArrow(ValueError):
    """The program has no arrow structure, for the reason in the message."""


class Equations:
    """x = x₀ + Z v, all solutions of  A x = b."""

    def __init__(self, A: Array) -> None:
        self._A = A
        self._trivial = not len(A)
        if self._trivial:
            return
        orthogonal, upper, order = qr(A.T, pivoting=True)
        diagonal = np.abs(np.diagonal(upper))
        self._rank = int(np.sum(diagonal > 1e-12 * diagonal.max(initial=0.0)))
        self._range = orthogonal[:, : self._rank]
        self._upper = upper[: self._rank, : self._rank]
        self._order = order[: self._rank]
        self.Z = orthogonal[:, self._rank :]

    def reduce(self, rows: sp.csr_array) -> sp.csr_array:
        """Rows of x as rows of v."""
        return rows if self._trivial else sp.csr_array(rows @ self.Z)

    def form(self, Q: Array) -> Array:
        """The quadratic form in v."""
        return Q if self._trivial else self.Z.T @ Q @ self.Z

    def origin(self, b: Array) -> Array:
        """x₀."""
        n = self._A.shape[1]
        if self._trivial:
            return np.zeros(n)
        x = self._range @ solve_triangular(self._upper, b[self._order], trans=1)
        if np.max(np.abs(self._A @ x - b)) > 1e-9 * (1 + np.max(np.abs(b))):
            raise SubproblemError("failed", "ARROW: the equations contradict each other")
        return x

    def project(self, b: Array) -> Array:
        """Z'b."""
        return b if self._trivial else b @ self.Z

    def expand(self, v: Array, origin: Array) -> Array:
        """x."""
        return v if self._trivial else origin + self.Z @ v


class Arrow:
    """A program  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g  taken apart, for any q, b, g.

    Raises
    ------
    NotArrow
        It does not come apart.
    """

    def __init__(self, P: sp.csr_array, A: sp.csr_array, F: sp.csr_array) -> None:
        self._signature = P.indptr, P.indices, A, F
        self._A = A
        self._parts = parts = layout(P, A, F)
        m, n = F.shape
        _check(parts.dense.size, m, F)
        pivots = A[parts.by][:, parts.defined].diagonal()
        self._pivots = pivots
        definitions = A[parts.by]
        definitions = sp.csr_array(sp.diags_array(-1 / pivots) @ definitions)
        keep = np.ones(n)
        keep[parts.defined] = 0
        self._definitions = sp.csr_array(definitions @ sp.diags_array(keep))
        self._definitions.eliminate_zeros()
        in_form = np.zeros(n, dtype=bool)
        in_form[P.indices] = True
        self._curved = parts.local[in_form[parts.local]]
        unit = sp.csr_array(sp.eye_array(n, format="csr")[self._curved])
        L, X = (
            sp.csr_array(sp.vstack([F, self._definitions, unit], format="csr")[:, columns])
            for columns in (parts.local, parts.dense)
        )
        self._equations = Equations(A[parts.kept][:, parts.dense].toarray())
        self._X = X[: m + len(parts.by)]
        X = self._equations.reduce(X)
        touches = np.diff(L.indptr) > 0
        square = touches[m:]
        # squares of dense variables alone are a fixed part of the quadratic form
        k = len(parts.by)
        self._square = square[:k]
        rows = np.concatenate([np.ones(m, dtype=bool), square])
        self._fixed = Matrix(X[m : m + k][~self._square])
        self.rows = Arrowhead(sp.csr_array(L[rows]), sp.csr_array(X[rows]))
        self._m = m
        self._P_data: Array | None = None

    def fits(self, P: sp.csr_array, A: sp.csr_array, F: sp.csr_array) -> bool:
        """Is this the same program up to q, b, g and the values of P?"""
        indptr, indices, A0, F0 = self._signature
        return (
            np.array_equal(indptr, P.indptr)
            and np.array_equal(indices, P.indices)
            and _same(A0, A)
            and _same(F0, F)
        )

    def minimise(
        self,
        P: sp.csr_array,
        q: Array,
        b: Array,
        g: Array,
        tolerance: float,
        time_limit: float | None,
    ) -> Array:
        """z."""
        parts, eq = self._parts, self._equations
        diagonal = P.diagonal()
        weights = diagonal[parts.defined]
        constant = b[parts.by] / self._pivots
        # z_d = constant + D z: its terms in the objective
        if self._P_data is None or not np.array_equal(P.data, self._P_data):
            dense = P[parts.dense][:, parts.dense].toarray()
            self._Q = dense
            self._form = eq.form(dense) + self._fixed.gram(weights[~self._square])
            self._P_data = P.data.copy()
        origin = eq.origin(b[parts.kept])
        tilt = q + self._definitions.T @ q[parts.defined]
        shift = self._X @ origin if len(parts.kept) else np.zeros(self._X.shape[0])
        constant_v = constant + shift[self._m :]
        fixed = weights * constant_v
        fixed[self._square] = 0.0
        free = ~self._square
        linear = eq.project(tilt[parts.dense] + self._Q @ origin)
        linear = linear + self._fixed.adjoint(fixed[free])
        program = Program(
            rows=self.rows,
            Q=self._form,
            a=tilt[parts.local],
            b=linear,
            p=np.concatenate([weights[self._square], diagonal[self._curved]]),
            h=np.concatenate([constant_v[self._square], np.zeros(len(self._curved))]),
            g=g - shift[: self._m],
        )
        t, v = interior_point(program, tolerance, time_limit)
        z = np.zeros(len(q))
        z[parts.local] = t
        z[parts.dense] = eq.expand(v, origin)
        z[parts.defined] = constant + self._definitions @ z
        return z


def _same(one: sp.csr_array, other: sp.csr_array) -> bool:
    return (
        one.shape == other.shape
        and np.array_equal(one.data, other.data)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _check(n_dense: int, n_rows: int, F: sp.csr_array) -> None:
    if not n_dense:
        raise NotArrow("no variable is shared by several terms")
    if n_dense > MOST_DENSE:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {MOST_DENSE}")
    if n_dense > n_rows:
        raise NotArrow(f"{n_dense} shared variables are more than the {n_rows} inequalities")


def _clean(matrix: Any) -> sp.csr_array:
    result = sp.csr_array(matrix)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


class ArrowProblem(CompiledProblem):
    """A :class:`CompiledProblem` for our own solver of programs with arrow structure.

    Raises
    ------
    NotArrow
        The program has no such structure.
    """

    def __init__(self, problem: cp.Problem) -> None:
        super().__init__(problem, "PIQP")
        self.solver = "ARROW"
        self._arrow: Arrow | None = None

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """As :meth:`CompiledProblem.minimise`."""
        data, inverse = self._data()
        begin = time.perf_counter()
        try:
            P, A, F = sp.csr_array(data[s.P]), _clean(data[s.A]), _clean(data[s.F])
            if self._arrow is None or not self._arrow.fits(P, A, F):
                self._arrow = Arrow(P, A, F)
            z = self._arrow.minimise(
                P, data[s.Q], data[s.B], data[s.G], tolerance, time_limit
            )
        except (ArithmeticError, NotArrow, np.linalg.LinAlgError) as error:
            raise SubproblemError("failed", f"ARROW: {error}") from error
        finally:
            self.solve_time += time.perf_counter() - begin
        solution = Solution(s.OPTIMAL, 0.0, {inverse[-1]["var_id"]: z}, None, {})
        for reduction, inv in reversed(list(zip(self._chain.reductions, inverse, strict=True))[:-1]):
            solution = reduction.invert(solution, inv)
        for variable in self.problem.variables():
            variable.save_value(solution.primal_vars[variable.id])
