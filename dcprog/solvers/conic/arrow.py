"""ARROW: an interior point method for linear and quadratic programs in few shared variables.

Constraints of second order on shared variables, as balls, are taken too. The variables of
min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g  are told apart by their roles: those that
an equation defines, local ones of which a row has at most one, and shared ones. The first two are
eliminated, so that a step factors one matrix of the size of the shared variables.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.constraints import SOC, NonNeg, NonPos, Zero
from cvxpy.problems.problem_form import ProblemForm
from scipy.linalg import qr, solve_triangular

from dcprog.foundation.arrays import FORMED, Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.sums import weighted_gram
from dcprog.foundation.tolerances import KNOWN_DIGITS, ROUNDING
from dcprog.solvers.conic.compiled import CompiledProblem, data_solver, problem_class, same_matrix
from dcprog.solvers.conic.scaling import Evidence, Scaler, minimise_in_units
from dcprog.solvers.conic.standard_form import StandardForm
from dcprog.solvers.faults import failures
from dcprog.solvers.linalg.cholesky import Cholesky
from dcprog.solvers.linalg.interior_point import Optimum, Program, onto_active_face, primal_dual

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

LARGEST_GROUP = 64  # most rows of one local variable, as their products are formed
MOST_DENSE = 500  # most shared variables, and rows of cones on them
PAYS = 10_000  # with fewer stored numbers sparse solvers are as fast
DENSE = 0.15  # share of nonzeros from which a row is stored dense


class NotArrow(ValueError):
    """The program has no arrow structure, for the reason in the message."""


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """The roles of the variables of  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g.

    Attributes
    ----------
    defined, by : arrays
        z[defined[i]] occurs only in equation by[i], in no inequality, cone and product: the
        equation defines it, and it is eliminated.
    kept : array
        The other equations, which contain no local variables.
    local : array
        The local variables: no two share a row (an inequality or a definition), and none occurs in
        a kept equation, a cone or a product.
    dense : array
        The other variables.
    """

    defined: Index
    by: Index
    kept: Index
    local: Index
    dense: Index


def layout(P: sp.csr_array, A: sp.csr_array, F: sp.csr_array, C: sp.csr_array) -> Layout:
    """Partition the variables greedily: those with few rows become local first.

    C has the rows of the cones.
    """
    single = ~_in_products(P) & (_counts(C) == 0)
    defined, by = _defining(A, single & (_counts(F) == 0))
    kept = np.setdiff1d(np.arange(A.shape[0]), by)
    free = np.ones(F.shape[1], dtype=bool)
    free[defined] = False
    may = free & single & (_counts(sp.csr_array(A[kept])) == 0)
    local = _independent(sp.csr_array(sp.vstack([F, A[by]], format="csr")), may)
    free[local] = False
    return Layout(defined, by, kept, local, np.flatnonzero(free))


def _counts(matrix: sp.csr_array) -> Index:
    """The number of entries in each column."""
    return np.bincount(matrix.indices, minlength=matrix.shape[1])


def _in_products(P: sp.csr_array) -> Mask:
    """Mask of the variables that the quadratic form multiplies with others."""
    rows, columns = sp.coo_array(P).coords
    off = rows != columns
    found = np.zeros(P.shape[0], dtype=bool)
    found[rows[off]] = found[columns[off]] = True
    return found


def _defining(A: sp.csr_array, may: Mask) -> tuple[Index, Index]:
    """Variables that occur in a single equation, at most one per equation, and the equations."""
    rows, columns = sp.coo_array(A).coords
    found = (may & (_counts(A) == 1))[columns]
    by, first = np.unique(rows[found], return_index=True)
    return columns[found][first], by


def _independent(rows: sp.csr_array, may: Mask) -> Index:
    """Candidate variables that have the fewest rows among all candidates in each of their rows."""
    n = rows.shape[1]
    counts = _counts(rows)
    may = may & (counts > 0) & (counts <= LARGEST_GROUP)
    rank = np.empty(n, dtype=np.intp)
    order = np.argsort(counts, kind="stable")
    rank[order] = np.arange(n)
    rank[~may] = n
    of_row, of_column = sp.coo_array(rows).coords
    lowest = np.full(rows.shape[0], n)
    np.minimum.at(lowest, of_row, rank[of_column])
    beaten = np.bincount(of_column, lowest[of_row] < rank[of_column], minlength=n)
    return np.flatnonzero(may & (beaten == 0))


# ----------------------------------------------------------------------------------------------


class Matrix:
    """A matrix whose dense rows are stored dense and whose sparse rows are stored sparse."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.shape = matrix.shape
        dense = dense_rows(matrix)
        if 2 * np.count_nonzero(dense) >= len(dense):  # then few products of both kinds cost more
            dense[:] = True
        self._at, self._sparse_at = np.flatnonzero(dense), np.flatnonzero(~dense)
        self._dense = np.ascontiguousarray(matrix[self._at].toarray())
        self._sparse = sp.csr_array(matrix[self._sparse_at])
        self._transposed = sp.csr_array(self._sparse.T)

    def __matmul__(self, x: Array) -> Array:
        """The product K x."""
        if not self._sparse_at.size:
            return self._dense @ x
        result = np.empty(self.shape[0])
        result[self._at] = self._dense @ x
        result[self._sparse_at] = self._sparse @ x
        return result

    def adjoint(self, y: Array) -> Array:
        """The product K'y."""
        if not self._sparse_at.size:
            return y @ self._dense
        return y[self._at] @ self._dense + self._transposed @ y[self._sparse_at]

    def gram(self, weights: Array) -> Array:
        """The matrix K' diag(weights) K."""
        result = weighted_gram(self._dense, weights[self._at])
        if self._sparse.nnz:
            result += weighted_gram(self._sparse, weights[self._sparse_at])
        return result


def dense_rows(matrix: sp.csr_array) -> Mask:
    """Mask of the rows with enough nonzeros to store them dense."""
    return np.diff(matrix.indptr) > max(1, DENSE * matrix.shape[1])


@dataclass(frozen=True)
class Factor:
    """A factorisation of the matrix H for one set of weights."""

    D: Array
    mean: Array
    E: Array
    schur: Cholesky


class Arrowhead:
    """Rows  R (t, x) = L t + X x,  X = C K,  with at most one local variable t_g per row.

    The rows that share t_g are a group. If the dense parts of its rows are multiples of one vector
    (a hinge has a and 0, an absolute value a and −a), that vector is the group's only row of K. For
    weights W = diag(w) > 0 the normal equations have the arrow matrix

        H = R'WR + Q = [ D  B' ]      D = L'WL diagonal,  B = X'WL,
                       [ B  …  ]

    and eliminating t leaves the Schur complement S = Q + X'WX − BD⁻¹B'. Near a solution w spans
    many orders of magnitude and the difference would cancel. It is therefore written as a sum of
    squares of deviations from the group's weighted mean:

        S = Q + K'(E'WE)K,   E = C − L D⁻¹L'WC.

    E'WE is diagonal for groups with one vector, and has a small block for each other group.

    Parameters
    ----------
    L, X : sparse arrays
        The coefficients of the local and the dense variables, row by row.

    References
    ----------
    Wright (1997), Primal-Dual Interior-Point Methods, chapter 11 (normal equations).
    """

    def __init__(self, L: sp.csr_array, X: sp.csr_array) -> None:
        self.n_rows, self.n_local = L.shape
        self.n_dense = X.shape[1]
        group = np.full(self.n_rows, self.n_local)
        f = np.zeros(self.n_rows)
        held = np.diff(L.indptr) > 0
        group[held], f[held] = L.indices, L.data
        vector, c, vectors, self._n_single = _vectors(X, group, self.n_local)
        self._group, self._f, self._vector, self._c = group, f, vector, c
        self._K = Matrix(X[vectors])
        self._owner = group[vectors]
        self._rows, self._columns, self._starts = _entries(group, vector, self._owner, self.n_local)
        mine = vector[self._rows] == self._columns
        self._entry_c = np.where(mine, c[self._rows], 0.0)
        self._entry_f = f[self._rows] * (self._owner[self._columns] == group[self._rows])
        block = sp.csr_array(X[vectors[self._n_single :]])
        mostly_dense = 2 * np.count_nonzero(dense_rows(block)) > block.shape[0]
        self._block = block.toarray() if mostly_dense else block
        self._in_block = np.flatnonzero(self._columns >= self._n_single)
        rows, places = np.unique(self._rows[self._in_block], return_inverse=True)
        self._of_block = places, self._columns[self._in_block] - self._n_single
        self._block_shape = rows.size, block.shape[0]

    def forward(self, t: Array, x: Array) -> Array:
        """The product R (t, x)."""
        return self._f * np.append(t, 0.0)[self._group] + self._c * (self._K @ x)[self._vector]

    def adjoint(self, y: Array) -> tuple[Array, Array]:
        """The local and the dense part of R'y."""
        return self._local_adjoint(self._f * y), self._K.adjoint(self._gather(self._c * y))

    def _local_adjoint(self, y: Array) -> Array:
        """Sums over the groups."""
        return _sums(self._group, y, self.n_local + 1)[: self.n_local]

    def _gather(self, y: Array) -> Array:
        """Sums over the rows with the same row of K."""
        return _sums(self._vector, y, len(self._owner))

    def factor(self, w: Array, Q: Array) -> Factor:
        """Factorise H for the weights w."""
        wf = w * self._f
        D = np.maximum(self._local_adjoint(wf * self._f), np.finfo(float).tiny)
        mean = self._gather(wf * self._c) / np.append(D, 1.0)[self._owner]
        E = self._entry_c - self._entry_f * mean[self._columns]
        return Factor(D, mean, E, Cholesky(Q + self._gram(E, w)))

    def _gram(self, E: Array, w: Array) -> Array:
        """The matrix K'(E'WE)K."""
        weights = _sums(self._columns, w[self._rows] * E**2, len(self._owner))
        weights[self._n_single :] = 0
        result = self._K.gram(weights)
        if len(self._in_block):
            weighted = np.sqrt(w)[self._rows[self._in_block]] * E[self._in_block]
            T: Any = sp.coo_array((weighted, self._of_block), self._block_shape) @ self._block
            result += (T.T @ T).toarray() if sp.issparse(self._block) else T.T @ T
        return result

    def solve(self, factor: Factor, rt: Array, rx: Array, u: Array) -> tuple[Array, Array, Array]:
        """Solve  H d = −r − R'u  for d; the result is d_t, d_x and R d."""
        E, mean = factor.E, factor.mean
        moved = np.append(rt, 0.0)[self._owner] * mean
        moved -= _sums(self._columns, E * u[self._rows], len(mean))
        dx = factor.schur.solve(self._K.adjoint(moved) - rx)
        along = self._K @ dx
        alone = -(rt + self._local_adjoint(self._f * u)) / factor.D
        shared = _sums(self._owner, mean * along, self.n_local + 1)
        moved = E * along[self._columns]
        if len(E) > self.n_rows:
            moved = np.add.reduceat(moved, self._starts)
        moved += self._f * np.append(alone, 0.0)[self._group]
        return alone - shared[: self.n_local], dx, moved


def _sums(index: Index, values: Array, size: int) -> Array:
    """Sums of the values with the same index."""
    return np.asarray(np.bincount(index, values, minlength=size), dtype=float)


def _vectors(X: sp.csr_array, group: Index, n_groups: int) -> tuple[Index, Array, Index, int]:
    """Write each row of X as a multiple of a row of K.

    Returns
    -------
    vector, c : arrays
        Row r of X is c[r]·K[vector[r]]; c[r] = 0 for zero rows.
    vectors : array
        The rows of X that form K, those of groups with one vector first.
    n_single : int
        The number of groups with one vector.
    """
    live = np.diff(X.indptr) > 0
    reference = _references(live, group, n_groups)
    ratio, multiple = _ratios(X, reference, live)
    bad = np.zeros(n_groups + 1, dtype=bool)
    bad[group[live & ~multiple]] = True
    in_block = live & bad[group]
    rows = np.arange(len(group))
    single = np.flatnonzero(live & ~in_block & (reference == rows))
    vectors = np.concatenate([single, np.flatnonzero(in_block)])
    if not len(vectors):  # all rows are zero: take one of them, so that K has a row
        vectors = rows[:1]
        single = vectors
    place = np.zeros(len(group), dtype=np.intp)
    place[vectors] = np.arange(len(vectors))
    reference[in_block] = rows[in_block]
    c = np.where(live, np.where(in_block, 1.0, ratio), 0.0)
    return np.where(live, place[reference], 0), c, vectors, len(single)


def _references(live: Mask, group: Index, n_groups: int) -> Index:
    """The first nonzero row of each row's group; the row itself if it has no group."""
    reference = np.arange(len(group))
    candidates = np.flatnonzero(live & (group < n_groups))
    groups, first = np.unique(group[candidates], return_index=True)
    of_group = np.zeros(n_groups, dtype=np.intp)
    of_group[groups] = candidates[first]
    reference[candidates] = of_group[group[candidates]]
    return reference


def _ratios(X: sp.csr_array, reference: Index, live: Mask) -> tuple[Array, Mask]:
    """Each row's ratio to its reference row, and a mask of the rows that are its multiples."""
    counts = np.diff(X.indptr)
    same = live & (counts == counts[reference])
    ratio = np.ones(len(reference))
    ratio[same] = X.data[X.indptr[:-1][same]] / X.data[X.indptr[reference[same]]]
    rows = np.repeat(np.flatnonzero(same), counts[same])
    offset = np.arange(len(rows)) - np.repeat(np.cumsum(counts[same]) - counts[same], counts[same])
    here, there = X.indptr[rows] + offset, X.indptr[reference[rows]] + offset
    wrong = X.indices[here] != X.indices[there]
    error = np.abs(X.data[here] - ratio[rows] * X.data[there])
    wrong |= error > ROUNDING * np.abs(X.data[here])
    return ratio, same & (np.bincount(rows, wrong, minlength=len(reference)) == 0)


def _entries(
    group: Index, vector: Index, owner: Index, n_groups: int
) -> tuple[Index, Index, Index]:
    """The rows and columns of E's entries: each row with each vector of its group, row by row.

    The third array has the position of each row's first entry. A row without vectors has one entry
    of value 0, so that the positions are increasing.
    """
    by_owner = np.argsort(owner, kind="stable")
    n_vectors = np.bincount(owner, minlength=n_groups + 1)
    n_vectors[n_groups] = 0  # rows of no group have their own vector only
    first = np.cumsum(n_vectors) - n_vectors
    counts = np.maximum(n_vectors[group], 1)
    rows = np.repeat(np.arange(len(group)), counts)
    starts = np.cumsum(counts) - counts
    at = first[group[rows]] + np.arange(len(rows)) - starts[rows]
    shared = n_vectors[group[rows]] > 0
    return rows, np.where(shared, by_owner[np.where(shared, at, 0)], vector[rows]), starts


# ----------------------------------------------------------------------------------------------


class Equations:
    """The solutions x = x₀ + Z v of  A x = b."""

    def __init__(self, A: Array) -> None:
        self._A = A
        orthogonal, upper, order = qr(A.T, pivoting=True)
        diagonal = np.abs(np.diagonal(upper))
        rank = int(np.sum(diagonal > ROUNDING * diagonal.max(initial=0.0)))
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
        if np.max(np.abs(self._A @ x - b), initial=0.0) > KNOWN_DIGITS * (1 + np.max(np.abs(b))):
            raise SubproblemError("failed", "ARROW: the equations contradict each other")
        return np.asarray(x, dtype=float)

    def multipliers(self, pull: Array) -> Array:
        """A least squares solution y of  A'y = pull."""
        y = np.zeros(self._A.shape[0])
        y[self._order] = solve_triangular(self._upper, self._range.T @ pull)
        return y


class Arrow:
    """The arrow structure of  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g, d − Cz ∈ K.

    It is that for any q, b, g and d; K has second-order cones of the sizes `cones`.

    Variables that an equation defines, z_d = b/a + Dz, become squares of rows; the other equations
    are solved as x = x₀ + Zv. The result is a :class:`Program` in the local variables and v.

    Raises
    ------
    NotArrow
        The program has no arrow structure that pays.
    """

    def __init__(
        self,
        P: sp.csc_array,
        A: sp.csc_array,
        F: sp.csc_array,
        C: sp.csc_array,
        cones: tuple[int, ...] = (),
    ) -> None:
        self._P, self._A, self._F, self._C = P, A, F, C
        equations, inequalities = _clean(A), _clean(F)
        self._m, n = inequalities.shape
        self._parts = parts = layout(sp.csr_array(P), equations, inequalities, _clean(C))
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
        self._balls, self._ends = C[:, parts.dense].toarray(), np.cumsum(cones)[:-1]
        self.size = X.nnz
        # squares of dense variables alone are a constant part of the quadratic form
        squares = np.arange(self._m, self._m + len(parts.by))
        self._mixed = np.diff(L.indptr)[squares] > 0
        self._fixed = Matrix(sp.csr_array(X[squares[~self._mixed]]))
        kept_rows = np.delete(np.arange(L.shape[0]), squares[~self._mixed])
        self._rows = Arrowhead(sp.csr_array(L[kept_rows]), sp.csr_array(X[kept_rows]))
        self._new_form(self._P)

    def fits(self, P: sp.csc_array, A: sp.csc_array, F: sp.csc_array, C: sp.csc_array) -> bool:
        """True if the program differs only in q, b, g, d and the values of P."""
        same = np.array_equal
        return (
            same(self._P.indptr, P.indptr)
            and same(self._P.indices, P.indices)
            and same_matrix(self._A, A)
            and same_matrix(self._F, F)
            and same_matrix(self._C, C)
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
        self._form = form + self._fixed.gram(self._weights[~self._mixed])

    def program(self, P: sp.csc_array, q: Array, b: Array, g: Array, d: Array) -> Program:
        """The program in the local variables t and the dense variables v."""
        if not np.array_equal(P.data, self._P.data):
            self._new_form(P)
        parts, k = self._parts, len(self._parts.by)
        self._constant = constant = b[parts.by] / self._pivots
        tilt = q + self._definitions.T @ q[parts.defined]
        linear, balls = tilt[parts.dense], self._balls
        if self._equations is not None:
            self._origin = self._equations.origin(b[parts.kept])
            shift = self._shift @ self._origin
            g, constant = g - shift[: self._m], constant + shift[self._m : self._m + k]
            linear = (linear + self._Q @ self._origin) @ self._equations.Z
            d, balls = d - balls @ self._origin, balls @ self._equations.Z
        mixed = self._mixed
        pulled = self._weights * constant
        return Program(
            rows=self._rows,
            Q=self._form,
            a=tilt[parts.local],
            b=linear + self._fixed.adjoint(pulled[~mixed]),
            p=np.concatenate([self._weights[mixed], self._bends]),
            h=np.concatenate([constant[mixed], np.zeros(len(self._curved))]),
            g=g,
            cones=tuple(zip(np.split(balls, self._ends), np.split(d, self._ends), strict=True))
            if len(d)
            else (),
        )

    def recover(self, t: Array, v: Array) -> Array:
        """The variables z from (t, v), for the equations of the last program."""
        z = np.zeros(self._F.shape[1])
        z[self._parts.local] = t
        z[self._parts.dense] = (
            v if self._equations is None else self._origin + self._equations.Z @ v
        )
        z[self._parts.defined] = self._constant + self._definitions @ z
        return z

    def multipliers(self, z: Array, q: Array, inequalities: Array, polars: Array) -> Array:
        """The multipliers y of the equations, from  Pz + q + A'y + F'λ + C'ν = 0."""
        parts = self._parts
        pull = -(self._P @ z + q + self._F.T @ inequalities + self._C.T @ polars)
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


def _check(n_dense: int, F: sp.csr_array) -> None:
    """Raise NotArrow if sparse solvers are a better choice, or the memory does not suffice."""
    m = F.shape[0]
    if not n_dense:
        raise NotArrow("no variable is shared by several terms")
    if n_dense > MOST_DENSE:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {MOST_DENSE}")
    if n_dense > m:
        raise NotArrow(f"{n_dense} variables are shared by several terms, more than {m} rows")
    if int(np.sum(dense_rows(F))) * n_dense > FORMED:
        raise NotArrow("its dense rows take too much memory")


def _clean(matrix: Any) -> sp.csr_array:
    result = sp.csr_array(matrix)
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


# ----------------------------------------------------------------------------------------------


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
        self._split: tuple[sp.csc_array, ...] | None = None
        kind = problem_class(problem)
        if kind == "conic" and not _is_second_order(problem):
            self.refusal = "it is not a linear, quadratic or second-order program"
            return
        for parameter in problem.parameters():
            if parameter.value is None:
                parameter.value = parameter.project(np.ones(parameter.shape))
        try:
            with failures("ARROW", let=(NotArrow,)):
                self.general = CompiledProblem(problem, data_solver(kind))
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
        """The arrow structure, recomputed if more than q, b, g, d and values of P have changed.

        Returns
        -------
        arrow : Arrow
        g : array
            The right-hand sides of its inequalities.
        """
        P = _form_of(form)
        if self._split is None or self._split[0] is not form.A:
            zero, linear = form.cones.zero, form.cones.zero + form.cones.nonneg
            parts = form.A[:zero], form.A[zero:linear], form.A[linear:]
            self._split = (form.A, *map(sp.csc_array, parts))
        _, A, F, C = self._split
        if C.shape[0] > MOST_DENSE:
            raise NotArrow(f"its cones have {C.shape[0]} rows, more than {MOST_DENSE}")
        F, g = _bounded(F, form)
        if self._arrow is None or not self._arrow.fits(P, A, F, C):
            begin = time.perf_counter()
            self._arrow = Arrow(P, A, F, C, form.cones.soc)
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
        general, x, inverse = self._minimiser(tolerance, time_limit)
        general.save(x, inverse)

    def duals(self, tolerance: float, time_limit: float | None = None) -> dict[int, Any]:
        """The multipliers of the constraints, as :meth:`CompiledProblem.duals` gives."""
        general, x, inverse = self._minimiser(tolerance, time_limit)
        assert self._evidence is not None
        return general.save(x, inverse, self._evidence.scaling.dual(self._evidence.z))

    def _minimiser(
        self, tolerance: float, time_limit: float | None
    ) -> tuple[CompiledProblem, Array, list[Any]]:
        """The problem that another solver would be given, its minimiser and inverse data."""
        self._evidence = None
        if self.refusal is not None or self.general is None:
            raise SubproblemError("failed", f"ARROW: {self.refusal}")
        form, inverse = self._current()
        x = minimise_in_units(self._scaler, form, tolerance, time_limit, self._solve)
        return self.general, x, inverse

    def _solve(self, form: StandardForm, tolerance: float, time_limit: float | None) -> Array:
        begin = time.perf_counter()
        try:
            with failures("ARROW"):
                scaled, scaling = self._scaler.scale(form)
                arrow, g = self._take_apart(scaled)
                zero, linear = form.cones.zero, form.cones.zero + form.cones.nonneg
                b, d = scaled.b[:zero], scaled.b[linear:]
                program = arrow.program(_form_of(scaled), scaled.q, b, g, d)
                optimum = _optimum(program, tolerance, time_limit)
                z = arrow.recover(optimum.t, optimum.x)
                polars, inequalities = optimum.polars, optimum.multipliers
                dual = arrow.multipliers(z, scaled.q, inequalities, polars)
                multipliers = np.concatenate([dual, inequalities[: linear - zero], polars])
        finally:
            self.solve_time += time.perf_counter() - begin
        self._evidence = Evidence(scaling.primal(z), multipliers, scaling)
        return scaling.primal(z)

    def bound(self) -> float:
        """A lower bound of the optimal value, as :meth:`CompiledProblem.bound` gives."""
        if self._evidence is None or self.general is None:
            return -np.inf
        return self._evidence.bound(self.general.form())


def _is_second_order(problem: cp.Problem) -> bool:
    """True if all cones besides the linear ones are second-order cones."""
    return bool(ProblemForm(problem).cones(quad_obj=True) <= {Zero, NonNeg, NonPos, SOC})


def _optimum(program: Program, tolerance: float, time_limit: float | None) -> Optimum:
    """The optimum; an error has no point, which would be in the program's unknowns."""
    try:
        optimum = primal_dual(program, tolerance, time_limit)
        return onto_active_face(program, optimum) if program.is_linear else optimum
    except SubproblemError as error:
        error.point = None
        raise


def _bounded(F: sp.csc_array, form: StandardForm) -> tuple[sp.csc_array, Array]:
    """The inequalities F and g of a form, with the bounds on the unknowns as further rows."""
    g = form.b[form.cones.zero :][: form.cones.nonneg]
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
