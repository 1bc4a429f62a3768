"""Our own interior point solver for quadratic programs with few shared variables."""

from __future__ import annotations

import time
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.conic.compiled import CompiledProblem, data_solver
from dcprog.solvers.conic.program import problem_class
from dcprog.solvers.conic.scaler import Scaler, minimise_in_units
from dcprog.solvers.conic.standard_form import Evidence, StandardForm
from dcprog.solvers.faults import failures
from dcprog.solvers.linalg.arrowhead import Arrowhead, Matrix, dense_rows
from dcprog.solvers.linalg.interior_point import Program, primal_dual
from dcprog.solvers.linalg.qp_structure import Layout, layout

__all__ = ["ArrowProblem", "NotArrow"]

MOST_DENSE = 500  # most shared variables
MOST_NUMBERS = 2**27  # most numbers in rows that are stored dense
RANK = 1e-12
CONSISTENT = 1e-9


class NotArrow(ValueError):
    """The program has no arrow structure, for the reason in the message."""


class Equations:
    """The solutions x = x₀ + Z v of  A x = b."""

    def __init__(self, A: Array) -> None:
        self._A = A
        orthogonal, upper, order = qr(A.T, pivoting=True)
        diagonal = np.abs(np.diagonal(upper))
        rank = int(np.sum(diagonal > RANK * diagonal.max(initial=0.0)))
        self._range, self.Z = orthogonal[:, :rank], orthogonal[:, rank:]
        self._upper, self._order = upper[:rank, :rank], order[:rank]

    def origin(self, b: Array) -> Array:
        """The shortest solution x₀.

        Raises
        ------
        SubproblemError
            The equations have no solution.
        """
        x = self._range @ solve_triangular(self._upper, b[self._order], trans=1)
        if np.max(np.abs(self._A @ x - b), initial=0.0) > CONSISTENT * (1 + np.max(np.abs(b))):
            raise SubproblemError("failed", "ARROW: the equations contradict each other")
        return np.asarray(x, dtype=float)

    def multipliers(self, pull: Array) -> Array:
        """A least squares solution y of  A'y = pull."""
        y = np.zeros(self._A.shape[0])
        y[self._order] = solve_triangular(self._upper, self._range.T @ pull)
        return y


class Arrow:
    """The arrow structure of  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g, for any q, b and g.

    Variables that an equation defines, z_d = b/a + Dz, become squares of rows; the other equations
    are solved as x = x₀ + Zv. The result is a :class:`Program` in the local variables and v.

    Raises
    ------
    NotArrow
        The program has no arrow structure that pays.
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
        """True if the program differs only in q, b, g and the values of P."""
        same = np.array_equal
        return (
            same(self._P.indptr, P.indptr)
            and same(self._P.indices, P.indices)
            and _same(self._A, A)
            and _same(self._F, F)
        )

    def _new_form(self, P: sp.csc_array) -> None:
        """Recompute the quantities that depend on the values of P."""
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
        """The program in the local variables t and the dense variables v."""
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
        """The variables z from (t, v), for the equations of the last program."""
        z, v = np.zeros(self._F.shape[1]), v * self._units
        z[self._parts.local] = t
        z[self._parts.dense] = (
            v if self._equations is None else self._origin + self._equations.Z @ v
        )
        z[self._parts.defined] = self._constant + self._definitions @ z
        return z

    def multipliers(self, z: Array, q: Array, inequalities: Array) -> Array:
        """The multipliers y of the equations, from  Pz + q + A'y + F'λ = 0."""
        parts, pull = self._parts, -(self._P @ z + q + self._F.T @ inequalities)
        y = np.zeros(self._A.shape[0])
        y[parts.by] = pull[parts.defined] / self._pivots
        if self._equations is not None:
            pull = pull - self._A.T @ y
            y[parts.kept] = self._equations.multipliers(pull[parts.dense])
        return y


def _definitions(A: sp.csr_array, parts: Layout, pivots: Array) -> sp.csr_array:
    """The matrix D of  z_d = b/a + Dz."""
    others = np.ones(A.shape[1])
    others[parts.defined] = 0
    return _clean(sp.diags_array(-1 / pivots) @ A[parts.by] @ sp.diags_array(others))


def _sizes(X: sp.csr_array) -> Array:
    """The root mean square of each column's stored entries, 1 for empty columns."""
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
    """Raise NotArrow if sparse solvers are a better choice, or the memory does not suffice."""
    m = F.shape[0]
    if not n_dense:
        raise NotArrow("no variable is shared by several terms")
    if n_dense > MOST_DENSE:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {MOST_DENSE}")
    if n_dense > m:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {m} rows")
    if int(np.sum(dense_rows(F))) * n_dense > MOST_NUMBERS:
        raise NotArrow("its dense rows take too much memory")


def _clean(matrix: Any) -> sp.csr_array:
    result = sp.csr_array(matrix)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


# ----------------------------------------------------------------------------------------------

PAYS = 10_000  # with fewer stored numbers sparse solvers are as fast


class ArrowProblem:
    """A problem compiled for our own interior point method, as :class:`CompiledProblem`.

    Parameters
    ----------
    problem : cvxpy.Problem
        A minimisation that is DCP and DPP; Parameters without a value are set to about 1.

    Attributes
    ----------
    refusal : str or None
        The reason why this solver cannot solve the problem, None if it can.
    general : CompiledProblem or None
        The problem compiled for another solver, whose data this one uses.
    pays : bool
        Whether the problem is large enough for this solver to be the fastest.
    inaccurate : bool
        Always False: a run that does not converge fails.
    compile_time, solve_time : float
        Seconds spent decomposing the problem, and minimising so far.
    """

    solver = "ARROW"
    inaccurate = False

    def __init__(self, problem: cp.Problem) -> None:
        self.problem = problem
        self.solve_time = self.compile_time = 0.0
        self.refusal: str | None = None
        self.general: CompiledProblem | None = None
        self.pays = False
        self._arrow: Arrow | None = None
        self._scaler = Scaler()
        self._evidence: Evidence | None = None
        self._split: tuple[sp.csc_array, sp.csc_array, sp.csc_array] | None = None
        if problem_class(problem) == "conic":
            self.refusal = "it is not a linear or quadratic program"
            return
        for parameter in problem.parameters():
            if parameter.value is None:
                parameter.value = parameter.project(np.ones(parameter.shape))
        try:
            with failures("ARROW", let=(NotArrow,)):
                self.general = CompiledProblem(problem, data_solver())
                self._take_apart(self._scaler.scale(self._current()[0])[0])
        except (NotArrow, SubproblemError) as error:
            self.refusal = str(error)
        self.reset()

    def reset(self) -> None:
        """Discard all solutions, as :meth:`CompiledProblem.reset` does."""
        self._scaler.reset()
        self._evidence = None

    def _current(self) -> tuple[StandardForm, list[Any]]:
        assert self.general is not None
        form, inverse = self.general.current()
        if form is None:
            raise NotArrow("nothing in it is variable")
        return form, inverse

    def _take_apart(self, form: StandardForm) -> tuple[Arrow, Array]:
        """The arrow structure, recomputed if more than q, b, g and values of P have changed.

        Returns
        -------
        arrow : Arrow
        g : array
            The right-hand sides of its inequalities.
        """
        P = _form_of(form)
        if self._split is None or self._split[0] is not form.A:
            zero = form.cones.zero
            self._split = (form.A, sp.csc_array(form.A[:zero]), sp.csc_array(form.A[zero:]))
        _, A, F = self._split
        F, g = _bounded(F, form)
        if self._arrow is None or not self._arrow.fits(P, A, F):
            begin = time.perf_counter()
            self._arrow = Arrow(P, A, F)
            self.pays = self._arrow.size >= PAYS
            self.compile_time += time.perf_counter() - begin
        return self._arrow, g

    def minimise(self, tolerance: float, time_limit: float | None = None) -> None:
        """Solve at the current Parameter values, as :meth:`CompiledProblem.minimise` does.

        Raises
        ------
        SubproblemError
            Always with status ``"failed"``: this solver does not distinguish an infeasible or
            unbounded problem from one that is too hard.
        """
        self._evidence = None
        if self.refusal is not None or self.general is None:
            raise SubproblemError("failed", f"ARROW: {self.refusal}")
        form, inverse = self._current()
        x = minimise_in_units(self._scaler, form, tolerance, time_limit, self._solve)
        self.general.save(x, inverse)

    def _solve(self, form: StandardForm, tolerance: float, time_limit: float | None) -> Array:
        begin = time.perf_counter()
        try:
            with failures("ARROW"):
                scaled, scaling = self._scaler.scale(form)
                arrow, g = self._take_apart(scaled)
                zero = form.cones.zero
                program = arrow.program(_form_of(scaled), scaled.q, scaled.b[:zero], g)
                optimum = primal_dual(program, tolerance, time_limit)
                z = arrow.recover(optimum.t, optimum.x)
                inequalities = optimum.multipliers[: len(form.b) - zero]
                dual = arrow.multipliers(z, scaled.q, optimum.multipliers)
                dual = scaling.dual(np.concatenate([dual, inequalities]))
        finally:
            self.solve_time += time.perf_counter() - begin
        self._evidence = Evidence(scaling.primal(z), dual, scaling.columns)
        return scaling.primal(z)

    def bound(self) -> float:
        """A lower bound of the optimal value, as :meth:`CompiledProblem.bound` gives."""
        if self._evidence is None or self.general is None:
            return -np.inf
        return self._evidence.bound(self.general.form())


def _bounded(F: sp.csc_array, form: StandardForm) -> tuple[sp.csc_array, Array]:
    """The inequalities F and g of a form, with the bounds on the unknowns as further rows."""
    g = form.b[form.cones.zero :]
    for bound, sign in ((form.upper, 1.0), (form.lower, -1.0)):
        if bound is not None:
            finite = np.flatnonzero(np.isfinite(bound))
            rows = sp.csr_array(sign * sp.eye_array(len(bound), format="csr")[finite])
            F = sp.csc_array(sp.vstack([F, rows], format="csc"))
            g = np.concatenate([g, sign * bound[finite]])
    return F, g


def _form_of(form: StandardForm) -> sp.csc_array:
    """The matrix P of the quadratic form; zero if the form has none."""
    return sp.csc_array((len(form.q),) * 2) if form.P is None else form.P
