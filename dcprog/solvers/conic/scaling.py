"""The equilibration of cone programs: units of rows, unknowns and objective, as powers of two.

Solvers' tolerances are absolute around 1, so a program is solved in units in which its data are
around 1. Powers of two multiply without rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import NEGLIGIBLE, SUMMED, USUAL
from dcprog.solvers.conic.standard_form import Rows, StandardForm

ROUNDS = 3  # most repeated solutions with corrected units


def to_edges(n_rows: int, heads: Rows) -> sp.csr_array:
    """The symmetric map T: (s₀, s₁) ↦ (s₀ + s₁, s₀ − s₁) on each head's row and the next one."""
    signs = np.ones(n_rows)
    signs[heads + 1] = -1.0
    values = np.concatenate([signs, np.ones(2 * len(heads))])
    rows = np.arange(n_rows)
    at = np.concatenate([rows, heads, heads + 1]), np.concatenate([rows, heads + 1, heads])
    return sp.csr_array((values, at), shape=(n_rows, n_rows))


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scaling:
    """The scaling x = columns·x̂,  rows·(b − Ax) ∈ K,  objective·F.

    A second-order cone  s₀ ≥ ‖s₁‖  is also  (s₀ + s₁₁)(s₀ − s₁₁) ≥ Σ_{i>1} s₁ᵢ²,  whose two factors
    may have units r·k and r/k: a Lorentz boost maps the cone onto itself. So x² ≤ t, which is the
    cone of (t + 1, t − 1, 2x), gets units for 1, x and t. In the cones that start at ``heads``, the
    factors of the first two rows apply to their sum and their difference: ŝ = T⁻¹·rows·T·s.
    """

    columns: Array | float = 1.0
    rows: Array | float = 1.0
    objective: float = 1.0
    heads: Rows | None = None

    @property
    def boosts(self) -> bool:
        """True if a cone is boosted."""
        return self.heads is not None and len(self.heads) > 0

    def primal(self, x: Array) -> Array:
        """The unknowns of the program from those of the scaled one."""
        return np.asarray(self.columns * x, dtype=float)

    def dual(self, z: Array) -> Array:
        """The multipliers of the program from those of the scaled one."""
        return self.boosted(z) / self.objective

    def boosted(self, s: Any) -> Any:
        """T⁻¹·rows·T·s for rows s (of a matrix, too) or, as the map is symmetric, multipliers."""
        factors = np.asarray(self.rows) * np.ones(s.shape[0])
        if self.boosts:
            assert self.heads is not None
            turn = to_edges(len(factors), self.heads)
            factors[self.heads] /= 2  # T⁻¹ is T, halved on the boosted rows
            factors[self.heads + 1] /= 2
            # not one product of the three, because a boost has rounding errors of its own
            return turn @ (sp.diags_array(factors) @ (turn @ s))
        return sp.diags_array(factors) @ s

    def matrix(self, A: sp.csc_array) -> sp.csc_array:
        """The matrix A in units."""
        scaled = sp.csc_array(self.boosted(A) @ _diagonal(self.columns, A.shape[1]))
        if self.boosts:
            scaled.eliminate_zeros()
        return scaled

    def form(self, form: StandardForm, A: sp.csc_array | None = None) -> StandardForm:
        """The program in units; A is its matrix, if it is known."""
        if np.ndim(self.columns) == 0:
            return form
        P, units = form.P, _diagonal(self.columns, len(form.q))
        return replace(
            form,
            P=None if P is None else sp.csc_array(self.objective * (units @ P @ units)),
            q=self.objective * self.columns * form.q,
            A=self.matrix(form.A) if A is None else A,
            b=self.boosted(form.b),
            offset=self.objective * form.offset,
            lower=None if form.lower is None else form.lower / self.columns,
            upper=None if form.upper is None else form.upper / self.columns,
        )


def _diagonal(units: Array | float, size: int) -> sp.dia_array:
    return sp.diags_array(np.asarray(units) * np.ones(size))


@dataclass(frozen=True, eq=False)
class Evidence:
    """A point of a program, and multipliers of the scaled program that the solver was given.

    In the units of the program itself, the difference of a boosted cone's first two multipliers
    would be lost in the rounding errors of their sum.
    """

    x: Array
    z: Array
    scaling: Scaling = Scaling()

    def bound(self, form: StandardForm | None) -> float:
        """The lower bound of a program's optimal value from this evidence."""
        if form is None or self.x.shape != form.q.shape or self.z.shape != form.b.shape:
            return -np.inf
        scaling = self.scaling
        with np.errstate(all="ignore"):
            scaled = scaling.form(form)
        return scaled.bound(self.x / scaling.columns, self.z) / scaling.objective


# ----------------------------------------------------------------------------------------------


class Entries:
    """The logarithms of the entries of A, b and the bounds, and the units that balance them.

    Data in units are  a_ij·r_i·c_j,  b_i·r_i  and  l_j / c_j. The logarithms of the units minimise
    the sum of squares of the logarithms of all these (Curtis and Reid): a sparse least squares
    problem, of which LSQR finds the solution nearest to units of 1. All rows of a cone share their
    r; those of exponential and power cones are not rescaled. Of the cones that start in the rows
    ``heads``, the first two rows have factors r·k and r/k (see :class:`Scaling`).

    References
    ----------
    Curtis and Reid (1972), On the automatic scaling of matrices for Gaussian elimination, IMA J.
    Appl. Math. 10(1).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dcprog.solvers.conic.standard_form import Cones
    >>> A = sp.csc_array([[1e9, 1.0], [1e9, 1.0], [1.0, 0.0]])
    >>> form = StandardForm(None, np.ones(2), A, np.array([1.0, 1.0, 1e-9]), Cones(nonneg=3))
    >>> entries = Entries(form)
    >>> columns, rows = entries.units(entries.logarithms())
    >>> np.round(np.log10(columns)), np.round(np.log10(rows))
    (array([-9.,  0.]), array([0., 0., 9.]))
    """

    def __init__(self, form: StandardForm, heads: Rows | None = None) -> None:
        self.heads = np.zeros(0, dtype=np.intp) if heads is None else heads
        A, b = _edges(form.A, form.b, self.heads) if len(self.heads) else (form.A, form.b)
        self._of_rows = _factors_of_rows(form, self.heads)
        noise = _noise(A)
        live = (A.data != 0) & ~noise
        of_b = np.flatnonzero(_without_noise(b, A.indices[noise]))
        bounds = [np.zeros(0) if v is None else v for v in (form.lower, form.upper)]
        used = [np.flatnonzero(np.isfinite(v) & (v != 0)) for v in bounds]
        limits = [v[at] for v, at in zip(bounds, used, strict=True)]
        columns = sp.eye_array(A.shape[1], format="csr")
        blocks = [
            [self._of_rows[A.indices[live]], columns[_column_of(A)[live]]],
            [self._of_rows[of_b], None],
            [None, -columns[np.concatenate(used)]],
        ]
        self._M = sp.csr_array(sp.block_array(blocks, format="csr"))
        self._logs = np.log2(np.abs(np.concatenate([A.data[live], b[of_b], *limits])))
        self._right = slice(int(live.sum()), int(live.sum()) + len(of_b))
        self.size = self._M.shape[1]

    def logarithms(self) -> Array:
        """The logarithms of r, k and c, in one vector of whole numbers."""
        return np.round(lsqr(self._M, -self._logs)[0])

    def units(self, logarithms: Array) -> tuple[Array, Array]:
        """The units of the columns and the factors of the rows."""
        n = self._of_rows.shape[1]
        return np.exp2(logarithms[n:]), np.exp2(self._of_rows @ logarithms[:n])

    def unlike(self, logarithms: Array) -> Rows:
        """The heads of the cones whose two factors differ in size."""
        n = self._of_rows.shape[1]
        return self.heads[np.abs(2 * logarithms[n - len(self.heads) : n]) > np.log2(USUAL)]

    def are_even(self, logarithms: Array) -> bool:
        """True if rows, columns and right-hand sides are of size 1 on average in these units."""
        logs = self._logs + self._M @ logarithms
        sums, counts = self._M.T @ logs, abs(self._M).sum(axis=0)
        right = logs[self._right]
        sums, counts = np.append(sums, right.sum()), np.append(counts, len(right))
        return bool(np.all(np.abs(sums) <= np.log2(USUAL) * counts))


def _factors_of_rows(form: StandardForm, heads: Rows) -> sp.csr_array:
    """The matrix that maps the logarithms of r and k to those of the factors of the rows."""
    group, n = form.cones.groups(), len(form.b)
    free = np.flatnonzero(group < form.cones.n_scalable)
    cone = sp.csr_array((np.ones(len(free)), (free, group[free])), shape=(n, form.cones.n_scalable))
    number = np.arange(len(heads))
    signs = np.concatenate([np.ones(len(heads)), -np.ones(len(heads))])
    at = np.concatenate([heads, heads + 1]), np.concatenate([number, number])
    return sp.csr_array(sp.hstack([cone, sp.csr_array((signs, at), shape=(n, len(heads)))]))


def _column_of(A: sp.csc_array) -> Rows:
    """The column of each stored entry."""
    return np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))


def _edges(A: sp.csc_array, b: Array, heads: Rows) -> tuple[sp.csc_array, Array]:
    """Map A and b to sums and differences, with rounding errors of cancelling terms set to 0."""
    turn = to_edges(len(b), heads)
    turned, terms = sp.csc_array(turn @ A), sp.csc_array(abs(turn) @ abs(A))
    turned = turned.multiply(abs(turned) > SUMMED * terms)
    right, size = turn @ b, abs(turn) @ np.abs(b)
    return sp.csc_array(turned), np.where(np.abs(right) > SUMMED * size, right, 0.0)


def _noise(A: sp.csc_array) -> npt.NDArray[np.bool_]:
    """Mask of the entries that are negligible both in their row and in their column.

    Such entries arise as slopes of a square whose argument is 0 up to rounding, and do not indicate
    units. A row with a single entry (a bound) does not indicate the size of its column. If most
    entries of a column are small, they are not noise, unless they are as small as rounding errors.
    """
    sizes, column = np.abs(A.data), _column_of(A)
    in_row, in_column = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    np.maximum.at(in_row, A.indices, sizes)
    several = np.bincount(A.indices, sizes > 0, minlength=A.shape[0])[A.indices] > 1
    np.maximum.at(in_column, column[several], sizes[several])
    largest = np.minimum(in_row[A.indices], in_column[column])
    small = sizes < NEGLIGIBLE * largest
    balance = np.where(small, 1.0, -1.0)
    mostly = np.bincount(column[several], balance[several], minlength=A.shape[1]) > 0
    return small & (~mostly[column] | (sizes < SUMMED * largest))


def _without_noise(b: Array, noisy: npt.NDArray[np.integer]) -> Array:
    """The vector b with negligible entries in rows with negligible entries of A set to 0.

    Such a constant arises from the tangent of a square whose argument is 0 up to rounding.
    """
    small = np.abs(b) < NEGLIGIBLE * np.max(np.abs(b), initial=0.0)
    return np.where(small & np.isin(np.arange(len(b)), noisy), 0.0, b)


# ----------------------------------------------------------------------------------------------


class Scaler:
    """Choose units for a sequence of similar programs.

    Unknowns and rows get the units of :class:`Entries`, unknowns in no row the unit in which their
    curvature is as large as the other terms, and the objective the unit in which its coefficients
    are of size 1. The sizes at a solution correct the units of the next program. Programs that are
    of size 1 up to a factor of a hundred are not scaled.

    Examples
    --------
    >>> from dcprog.solvers.conic.standard_form import Cones
    >>> A, b = sp.csc_array([[-1.0]]), np.array([-1e9])
    >>> form = StandardForm(None, np.array([1e-12]), A, b, Cones(nonneg=1))
    >>> scaled, scaling = Scaler().scale(form)
    >>> float(np.round(scaled.b[0], 1)), float(np.round(scaled.q[0], 1))
    (-0.9, 1.1)
    """

    def __init__(self) -> None:
        self._boosts = True
        self.reset()

    def reset(self) -> None:
        """Discard all units and all sizes learnt from solutions."""
        self._boosts = True
        self._logs: Array | None = None  # of the units of A, with boosted cones at the heads
        self._heads: Rows | None = None
        self._columns, self._rows = np.zeros(0), np.zeros(0)
        self._even: sp.csc_array | None = None  # the matrix A that the units were chosen for
        self._unit: float | None = None
        self._objective: float | None = None
        self._coefficients: float | None = None  # the objective's size when its unit was chosen
        self._kept: tuple[sp.csc_array, Scaling, sp.csc_array] | None = None

    def give_up_boosts(self) -> bool:
        """Switch off boosts after a failure of the solver; False if no cone was boosted."""
        boosted = self._heads is not None and len(self._heads) > 0
        if boosted:
            self.reset()
            self._boosts = False
        return boosted

    def scale(self, form: StandardForm) -> tuple[StandardForm, Scaling]:
        """The program in its chosen units, and the scaling."""
        with np.errstate(all="ignore"):
            scaling = self._scaling(form)
            if scaling is None:
                return form, Scaling()
            return scaling.form(form, self._matrix(form.A, scaling)), scaling

    def learn(self, form: StandardForm, x: Array, tolerance: float) -> bool:
        """Correct the units by the sizes at a solution; False if the units were right.

        A size is wrong if it is too small for the tolerance, which is relative only above 1. Sizes
        up to 100 tolerances are noise.
        """

        def is_off(size: float) -> bool:
            return USUAL * tolerance < size < 1 / USUAL

        with np.errstate(all="ignore"):
            scaling, terms = self._scaling(form), form.terms(x)
            columns = 1.0 if scaling is None else scaling.columns
            assert self._objective is not None
            assert self._unit is not None
            size = float(np.max(np.abs(x / columns), initial=0.0))
            far, low = not form.cones.fixed and is_off(size), is_off(self._objective * terms)
            if far:
                self._unit = _power(self._unit * size)
            if low:
                self._objective = _power(1 / terms)
        if far or low:
            self._coefficients = None
        return far or low

    def _scaling(self, form: StandardForm) -> Scaling | None:
        """The scaling for a program; None if every unit is 1."""
        if not self._fits(form):
            self._choose(form)
        if self._unit is None:
            self._unit = _common_unit(form, self._columns)
        columns = self._columns * self._unit
        free = np.diff(form.A.indptr) == 0
        if np.any(free):
            columns = _with_free(form, columns, free)
        objective, rows = (
            self._follow(_middle(_coefficients(form, columns))),
            self._rows / self._unit,
        )
        if objective == 1 and np.all(columns == 1) and np.all(rows == 1):
            return None
        return Scaling(columns, rows, objective, self._heads)

    def _choose(self, form: StandardForm) -> None:
        """Choose the units of rows and columns; cones are boosted only if they benefit."""
        entries, heads = Entries(form), form.cones.heads()
        logs = np.zeros(entries.size)
        if not entries.are_even(logs):
            if self._boosts and len(heads):
                entries = Entries(form, heads)
                entries = Entries(form, entries.unlike(entries.logarithms()))
            logs = entries.logarithms()
        self._logs, self._heads, self._even = logs, entries.heads, form.A
        self._columns, self._rows = entries.units(logs)

    def _fits(self, form: StandardForm) -> bool:
        """True if the current units still suit the rows and columns of A."""
        if self._logs is None:
            return False
        if self._even is form.A or _alike(self._even, form.A):
            return True
        if form.A.shape != (len(self._rows), len(self._columns)):
            return False
        return Entries(form, self._heads).are_even(self._logs)

    def _follow(self, coefficients: float) -> float:
        """The unit of the objective, updated if its coefficients change by a large factor."""
        if self._objective is None:
            self._objective = _usual(1 / coefficients)
            self._coefficients = coefficients
        moved = _usual(coefficients / (self._coefficients or coefficients))
        if moved != 1 or self._coefficients is None:
            self._objective /= moved
            self._coefficients = coefficients
        return self._objective

    def _matrix(self, A: sp.csc_array, scaling: Scaling) -> sp.csc_array:
        """The matrix A in units; the last result is kept, as solvers cache what they derive."""
        if self._kept is not None:
            of, by, scaled = self._kept
            same = np.array_equal(by.rows, scaling.rows) and np.array_equal(
                by.columns, scaling.columns
            )
            if of is A and same:
                return scaled
        self._kept = (A, scaling, scaling.matrix(A))
        return self._kept[2]


def _alike(one: sp.csc_array | None, other: sp.csc_array) -> bool:
    """True if two matrices have the same pattern and entries equal up to a factor of 100."""
    if one is None or one.nnz != other.nnz or one.shape != other.shape:
        return False
    a, b = np.abs(one.data), np.abs(other.data)
    return bool(
        np.all(a <= USUAL * b)
        and np.all(b <= USUAL * a)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.indptr, other.indptr)
    )


def _common_unit(form: StandardForm, columns: Array) -> float:
    """A common unit of all unknowns that balances q and P if all right-hand sides are 0; else 1."""
    bounds = [v[np.isfinite(v)] for v in (form.lower, form.upper) if v is not None]
    if form.cones.fixed or form.P is None or any(np.any(v) for v in (form.b, *bounds)):
        return 1.0
    pull = _middle(columns * np.abs(form.q), none=0.0)
    return _usual(pull / _middle(columns**2 * np.abs(form.P.diagonal()), none=np.inf))


def _with_free(form: StandardForm, columns: Array, free: npt.NDArray[np.bool_]) -> Array:
    """Set units of the unknowns in no row: their curvature then matches the other coefficients."""
    if form.P is None:
        return columns
    curvature = form.P.diagonal()
    curved = free & (curvature > 0)
    pulls = form.q[curved] ** 2 / curvature[curved]
    others = _coefficients(form, np.where(free, 0.0, columns))
    size = _middle(others, none=0.0) or _middle(pulls, none=0.0)
    if not size:
        return columns
    sizes = np.sqrt(size / curvature[curved])
    usual = np.all((sizes <= USUAL) & (sizes >= 1 / USUAL))
    columns = np.where(free, 1.0, columns)
    columns[curved] = 1.0 if usual else _power(sizes)
    return columns


def _coefficients(form: StandardForm, columns: Array) -> Array:
    """The sizes of the objective's coefficients, for unknowns in the given units."""
    linear = columns * np.abs(form.q)
    if form.P is None:
        return linear
    return np.concatenate([linear, columns**2 * np.abs(form.P.diagonal())])


def _middle(sizes: Array, none: float = 1.0) -> float:
    """The median of the positive finite sizes; `none` if there are none."""
    usable = sizes[(sizes > 0) & np.isfinite(sizes)]
    return float(np.median(usable)) if len(usable) else none


def _power(sizes: Any) -> Any:
    """The nearest powers of two."""
    return np.exp2(np.round(np.log2(sizes)))


def _usual(size: float) -> float:
    """The nearest power of two; 1 for sizes between 1/100 and 100, and for 0 and ∞."""
    usual = not 0 < size < np.inf or 1 / USUAL <= size <= USUAL
    return 1.0 if usual else float(_power(size))


def minimise_in_units(
    scaler: Scaler,
    form: StandardForm,
    tolerance: float,
    time_limit: float | None,
    solve: Callable[[StandardForm, float, float | None], Array],
) -> Array:
    """Solve a program, and again with corrected units if the solution shows that they were wrong.

    ``solve`` takes the program, a tolerance and seconds. If a later solve fails, the last solution
    is returned.
    """
    deadline = Deadline(time_limit)
    x = solve(form, tolerance, time_limit)
    for _ in range(ROUNDS):
        if not scaler.learn(form, x, tolerance):
            break
        try:
            x = solve(form, tolerance, deadline.left)
        except SubproblemError:
            break
    return x
