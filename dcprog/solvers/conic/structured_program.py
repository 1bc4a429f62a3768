"""Decompose a quadratic program into a few shared variables and many local ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr, solve_triangular

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.linalg.arrowhead import Arrowhead, Matrix, dense_rows
from dcprog.solvers.linalg.interior_point import Program
from dcprog.solvers.linalg.qp_structure import Layout, layout

__all__ = ["Arrow", "NotArrow"]

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
