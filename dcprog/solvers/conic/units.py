"""Units of rows and columns chosen from a program's data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.solvers.conic.cones import Rows, to_edges
from dcprog.solvers.conic.standard_form import StandardForm

__all__ = [
    "USUAL",
    "Entries",
    "Rows",
    "coefficients",
    "common_unit",
    "middle",
    "power",
    "powers",
    "units_of",
    "usual",
    "with_free",
]

USUAL = 1e2  # sizes of 1 up to this factor are not rescaled
PASSES = 30
BOOSTED = 100  # passes with boosted cones, whose units spread along chains of constraints
NEGLIGIBLE = 1e-8  # entries below this share of the largest in their row and in their column
ROUNDING = 1e-14
SQUARED = 10  # passes before outliers get smaller weights
UNLIKE = 10.0  # a cone is boosted if its two factors differ by more than this factor


class Entries:
    """The logarithms of the nonzero entries of A and b, and the units that balance them.

    Data in units have entries  a_ij = ã_ij / (r_i c_j)  and  b_i = b̃_i / r_i  with ã and b̃ around
    1. The units r and c minimise  Σ (log|a_ij| + log r_i + log c_j)² + Σ (log|b_i| + log r_i)²
    (Curtis and Reid), with bounds on an unknown treated likewise. They are found by alternation,
    first with squares and then with absolute values, because rounding errors in place of zeros are
    outliers. All rows of one cone share their r; those of exponential and power cones are not
    rescaled.

    A second-order cone  s₀ ≥ ‖s₁‖  is also  (s₀ + s₁₁)(s₀ − s₁₁) ≥ Σ_{i>1} s₁ᵢ²,  whose two factors
    may have units r·k and r/k: a Lorentz boost maps the cone onto itself. So x² ≤ t, which is the
    cone of (t + 1, t − 1, 2x), gets units for 1, x and t. The cones that start in the rows
    ``heads`` are treated in this way, with (s₀ + s₁₁, s₀ − s₁₁) as their first two rows.

    References
    ----------
    Curtis and Reid (1972), On the automatic scaling of matrices for Gaussian elimination, IMA J.
    Appl. Math. 10(1).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dcprog.solvers.conic.cones import Cones
    >>> A = sp.csc_array([[1e9, 1.0], [1e9, 2.0], [1.0, 0.0]])
    >>> form = StandardForm(None, np.ones(2), A, np.array([1.0, 1.0, 1e-9]), Cones(nonneg=3))
    >>> columns, rows = Entries(form).units()
    >>> np.round(np.log10(columns)), np.round(np.log10(rows))
    (array([-9.,  0.]), array([0., 0., 9.]))
    """

    def __init__(self, form: StandardForm, heads: Rows | None = None) -> None:
        A, b, cones = form.A, form.b, form.cones
        self._heads = np.zeros(0, dtype=np.intp) if heads is None else heads
        side = np.zeros(len(b))
        if len(self._heads):
            A, b = _edges_of(A, b, self._heads)
            side[self._heads], side[self._heads + 1] = 1.0, -1.0
        self._group = cones.groups()
        self._shape = int(self._group.max(initial=-1)) + 1, A.shape[1]
        single = cones.zero + cones.nonneg + len(cones.soc) + len(cones.psd)
        self._n_free = single  # groups that may be rescaled
        noise = _noise(A)
        live = (A.data != 0) & ~noise
        self._i = self._group[A.indices[live]]
        self._j = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))[live]
        self._log = np.log2(np.abs(A.data[live]))
        of_b = np.flatnonzero(_without_noise(b, A.indices[noise]))
        self._of_b, self._log_b = self._group[of_b], np.log2(np.abs(b[of_b]))
        self._side, self._rows_side = side, (side[A.indices[live]], side[of_b])
        bounds = [v for v in (form.lower, form.upper) if v is not None]
        used = [np.flatnonzero(np.isfinite(v) & (v != 0)) for v in bounds]
        self._bounded = np.concatenate([*used, np.zeros(0, dtype=np.intp)])
        sizes = [np.log2(np.abs(v[k])) for v, k in zip(bounds, used, strict=True)]
        self._log_bound = np.concatenate([*sizes, np.zeros(0)])

    def units(self) -> tuple[Array, Array]:
        """The units c of the columns and the factors r of the rows, as powers of two."""
        r, k, c = self._logs()
        return np.exp2(c), np.exp2(r[self._group] + self._side * k[self._group])

    def unlike(self) -> Rows:
        """The heads of the cones whose two factors have different units."""
        _, k, _ = self._logs()
        return self._heads[np.abs(k[self._group[self._heads]]) > np.log2(UNLIKE)]

    def _logs(self) -> tuple[Array, Array, Array]:
        """The logarithms of r and k of every group of rows, and of c."""
        r, k, c = np.zeros(self._shape[0]), np.zeros(self._shape[0]), np.zeros(self._shape[1])
        if self._even(r, k, c):
            return r, k, c
        for number in range(BOOSTED if len(self._heads) else PASSES):
            robust = number >= SQUARED
            r = r - self._row_means(r, k, c, robust)
            if len(self._heads):
                k = k - self._row_means(r, k, c, robust, sides=True)
            c = c - self._column_means(r, k, c, robust)
        r, k, c = np.round(r), np.round(k), np.round(c)
        r = r - self._excess(self._i, r, k, c)
        c = c - self._excess(self._j, r, k, c)
        return r, k, c

    def are_even(self, log_rows: Array, log_columns: Array) -> bool:
        """True if rows and columns are of size 1 on average in these units."""
        r, k = np.zeros(self._shape[0]), np.zeros(self._shape[0])
        r[self._group] = log_rows
        head = self._group[self._heads]
        sums, differences = log_rows[self._heads], log_rows[self._heads + 1]
        r[head], k[head] = (sums + differences) / 2, (sums - differences) / 2
        return self._even(r, k, log_columns)

    def _even(self, r: Array, k: Array, c: Array) -> bool:
        sides = self._outer(r, k)
        means = [self._row_means(r, k, c), self._column_means(r, k, c), np.array([_mean(sides)])]
        if len(self._heads):
            means.append(self._row_means(r, k, c, sides=True))
        return bool(np.all(np.abs(np.concatenate(means)) <= np.log2(USUAL)))

    def _inner(self, r: Array, k: Array, c: Array) -> Array:
        """The logarithms log|a_ij| in units."""
        return self._log + (r[self._i] + self._rows_side[0] * k[self._i]) + c[self._j]

    def _outer(self, r: Array, k: Array) -> Array:
        """The logarithms log|b_i| in units."""
        return self._log_b + (r[self._of_b] + self._rows_side[1] * k[self._of_b])

    def _row_means(
        self, r: Array, k: Array, c: Array, robust: bool = False, sides: bool = False
    ) -> Array:
        """Mean logarithms over groups of rows: for log k with ``sides``, else for log r."""
        means = _means(
            np.concatenate([self._i, self._of_b]),
            np.concatenate([self._inner(r, k, c), self._outer(r, k)]),
            self._shape[0],
            robust,
            np.concatenate(self._rows_side) if sides else 1.0,
        )
        means[self._n_free :] = 0.0
        return means

    def _column_means(self, r: Array, k: Array, c: Array, robust: bool = False) -> Array:
        outer = c[self._bounded] - self._log_bound
        return _means(
            np.concatenate([self._j, self._bounded]),
            np.concatenate([self._inner(r, k, c), outer]),
            self._shape[1],
            robust,
        )

    def _excess(self, index: Rows, r: Array, k: Array, c: Array) -> Array:
        """The logarithm of each row's or column's largest entry if above 100, otherwise 0."""
        largest = np.zeros(self._shape[0] if index is self._i else self._shape[1])
        np.maximum.at(largest, index, self._inner(r, k, c))
        if index is self._i:
            largest[self._n_free :] = 0.0
        return np.where(largest > np.log2(USUAL), np.round(largest), 0.0)


def units_of(form: StandardForm, boosts: bool = True) -> tuple[Array, Array, Rows]:
    """The units of columns, the factors of rows, and the first rows of the boosted cones.

    Cones are boosted only if the program is badly scaled, and only those that benefit.
    """
    entries, heads = Entries(form), form.cones.heads()
    if boosts and len(heads) and not entries.are_even(np.zeros(len(form.b)), np.zeros(len(form.q))):
        heads = Entries(form, heads).unlike()
        entries = Entries(form, heads) if len(heads) else entries
    else:
        heads = heads[:0]
    return *entries.units(), heads


def _edges_of(A: sp.csc_array, b: Array, heads: Rows) -> tuple[sp.csc_array, Array]:
    """Map A and b to sums and differences, with rounding errors of cancelling terms set to 0."""
    turn = to_edges(len(b), heads)
    turned, terms = sp.csc_array(turn @ A), sp.csc_array(abs(turn) @ abs(A))
    turned = turned.multiply(abs(turned) > ROUNDING * terms)
    right, size = turn @ b, abs(turn) @ np.abs(b)
    return sp.csc_array(turned), np.where(np.abs(right) > ROUNDING * size, right, 0.0)


def _noise(A: sp.csc_array) -> npt.NDArray[np.bool_]:
    """Mask of the entries that are negligible both in their row and in their column.

    Such entries arise as slopes of a square whose argument is 0 up to rounding, and do not indicate
    units. A row with a single entry (a bound) does not indicate the size of its column. If most
    entries of a column are small, they are not noise, unless they are as small as rounding errors.
    """
    sizes = np.abs(A.data)
    column = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))
    in_row, in_column = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    np.maximum.at(in_row, A.indices, sizes)
    several = np.bincount(A.indices, sizes > 0, minlength=A.shape[0])[A.indices] > 1
    np.maximum.at(in_column, column[several], sizes[several])
    share = sizes / np.maximum(np.minimum(in_row[A.indices], in_column[column]), 1e-300)
    small = share < NEGLIGIBLE
    balance = np.where(small, 1.0, -1.0)
    mostly = np.bincount(column[several], balance[several], minlength=A.shape[1]) > 0
    return small & (~mostly[column] | (share < ROUNDING))


def _without_noise(b: Array, noisy: npt.NDArray[np.integer]) -> Array:
    """The vector b with negligible entries in rows with negligible entries of A set to 0.

    Such a constant arises from the tangent of a square whose argument is 0 up to rounding.
    """
    small = np.abs(b) < NEGLIGIBLE * np.max(np.abs(b), initial=0.0)
    return np.where(small & np.isin(np.arange(len(b)), noisy), 0.0, b)


def powers(sizes: Array) -> Array:
    """The nearest powers of two, which multiply without rounding errors."""
    return np.asarray(np.exp2(np.round(np.log2(sizes))), dtype=float)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _means(
    index: Rows, values: Array, size: int, robust: bool, sides: Array | float = 1.0
) -> Array:
    """Means of the signed values with equal index; if `robust`, far values weigh less."""
    weights = 1 / np.maximum(np.abs(values), 1.0) if robust else np.ones(len(values))
    total = np.bincount(index, weights * np.abs(sides), minlength=size)
    sums = np.bincount(index, weights * sides * values, minlength=size)
    return np.divide(sums, total, out=np.zeros(size), where=total > 0)


def common_unit(form: StandardForm, columns: Array) -> float:
    """A common unit of all unknowns that balances q and P if all right-hand sides are 0; else 1."""
    bounds = [v[np.isfinite(v)] for v in (form.lower, form.upper) if v is not None]
    if form.cones.fixed or form.P is None or any(np.any(v) for v in (form.b, *bounds)):
        return 1.0
    pull = middle(columns * np.abs(form.q), none=0.0)
    return usual(pull / middle(columns**2 * np.abs(form.P.diagonal()), none=np.inf))


def with_free(form: StandardForm, columns: Array, free: npt.NDArray[np.bool_]) -> Array:
    """Set units of the unknowns in no row: their curvature then matches the other coefficients."""
    if form.P is None:
        return columns
    curvature = form.P.diagonal()
    curved = free & (curvature > 0)
    others = coefficients(form, np.where(free, 0.0, columns))
    pulls = form.q[curved] ** 2 / curvature[curved]
    size = middle(others, none=0.0) or middle(pulls, none=0.0)
    if not size:
        return columns
    sizes = np.sqrt(size / curvature[curved])
    if np.all((sizes <= USUAL) & (sizes >= 1 / USUAL)):
        sizes = np.ones(len(sizes))
    columns = columns.copy()
    columns[free] = 1.0
    columns[curved] = powers(sizes)
    return columns


def coefficients(form: StandardForm, columns: Array) -> Array:
    """The sizes of the objective's coefficients, for unknowns in the given units."""
    linear = columns * np.abs(form.q)
    return (
        linear
        if form.P is None
        else np.concatenate([linear, columns**2 * np.abs(form.P.diagonal())])
    )


def middle(sizes: Array, none: float = 1.0) -> float:
    """The median of the positive finite sizes; `none` if there are none."""
    usable = sizes[(sizes > 0) & np.isfinite(sizes)]
    return float(np.median(usable)) if len(usable) else none


def usual(size: float) -> float:
    """The nearest power of two; 1 for sizes between 1/100 and 100, and for 0 and ∞."""
    if not 0 < size < np.inf or 1 / USUAL <= size <= USUAL:
        return 1.0
    return power(size)


def power(size: float) -> float:
    """The nearest power of two."""
    return float(powers(np.array([size]))[0])
