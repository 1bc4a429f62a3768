"""The units of rows and columns that a matrix and a right-hand side themselves suggest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.solvers.standard_form import StandardForm
from dcprog.tree import Array

__all__ = ["USUAL", "Entries", "powers"]

USUAL = 1e2  # what is of size 1 up to that factor is taken as it is
PASSES = 30
NEGLIGIBLE = 1e-8  # entries beside the largest in their row and in their column
ROUNDING = 1e-14
SQUARED = 10  # passes before the first that weighs outliers down


class Entries:
    """The nonzero entries of A and b, by their logarithms.

    Data in units have entries  a_ij = ã_ij / (r_i c_j)  and  b_i = b̃_i / r_i  with ã and b̃ around
    1. Such r and c have small  Σ (log|a_ij| + log r_i + log c_j)² + Σ (log|b_i| + log r_i)²
    (Curtis and Reid), bounds on an unknown counted likewise. They are found by turns, first for
    the squares and then for their roots: rounding errors in the place of zeros are outliers. All
    rows of one cone share their r; those of exponential and power cones have a unit of their own.

    References
    ----------
    Curtis and Reid (1972), On the automatic scaling of matrices for Gaussian elimination, IMA J.
    Appl. Math. 10(1).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from dcprog.solvers.cones import Cones
    >>> A = sp.csc_array([[1e9, 1.0], [1e9, 2.0], [1.0, 0.0]])
    >>> form = StandardForm(None, np.ones(2), A, np.array([1.0, 1.0, 1e-9]), Cones(nonneg=3))
    >>> columns, rows = Entries(form).units()
    >>> np.round(np.log10(columns)), np.round(np.log10(rows))
    (array([-9.,  0.]), array([0., 0., 9.]))
    """

    def __init__(self, form: StandardForm) -> None:
        A, cones = form.A, form.cones
        self._group = cones.groups()
        self._shape = int(self._group.max(initial=-1)) + 1, A.shape[1]
        single = cones.zero + cones.nonneg + len(cones.soc) + len(cones.psd)
        self._n_free = single  # groups whose factor may change
        live = (A.data != 0) & ~_noise(A)
        self._i = self._group[A.indices[live]]
        self._j = np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))[live]
        self._log = np.log2(np.abs(A.data[live]))
        of_b = np.flatnonzero(form.b)
        self._of_b, self._log_b = self._group[of_b], np.log2(np.abs(form.b[of_b]))
        bounds = [v for v in (form.lower, form.upper) if v is not None]
        used = [np.flatnonzero(np.isfinite(v) & (v != 0)) for v in bounds]
        self._bounded = np.concatenate([*used, np.zeros(0, dtype=np.intp)])
        sizes = [np.log2(np.abs(v[k])) for v, k in zip(bounds, used, strict=True)]
        self._log_bound = np.concatenate([*sizes, np.zeros(0)])

    def units(self) -> tuple[Array, Array]:
        """Units c of the columns and factors r of the rows, as powers of two."""
        r, c = np.zeros(self._shape[0]), np.zeros(self._shape[1])
        if self._even(r, c):
            return np.exp2(c), np.exp2(r[self._group])
        for number in range(PASSES):
            robust = number >= SQUARED
            r = r - self._row_means(r, c, robust)
            c = c - self._column_means(r, c, robust)
        r, c = np.round(r), np.round(c)
        r = r - self._excess(self._i, r, c)
        c = c - self._excess(self._j, r, c)
        return np.exp2(c), np.exp2(r[self._group])

    def are_even(self, log_rows: Array, log_columns: Array) -> bool:
        """Are rows and columns of size 1 on average, in these units?"""
        r = np.zeros(self._shape[0])
        r[self._group] = log_rows
        return self._even(r, log_columns)

    def _even(self, r: Array, c: Array) -> bool:
        sides = self._log_b + r[self._of_b]
        means = np.concatenate([self._row_means(r, c), self._column_means(r, c), [_mean(sides)]])
        return bool(np.all(np.abs(means) <= np.log2(USUAL)))

    def _row_means(self, r: Array, c: Array, robust: bool = False) -> Array:
        inner = self._log + r[self._i] + c[self._j]
        outer = self._log_b + r[self._of_b]
        means = _means(
            np.concatenate([self._i, self._of_b]),
            np.concatenate([inner, outer]),
            self._shape[0],
            robust,
        )
        means[self._n_free :] = 0.0
        return means

    def _column_means(self, r: Array, c: Array, robust: bool = False) -> Array:
        inner = self._log + r[self._i] + c[self._j]
        outer = c[self._bounded] - self._log_bound
        return _means(
            np.concatenate([self._j, self._bounded]),
            np.concatenate([inner, outer]),
            self._shape[1],
            robust,
        )

    def _excess(self, index: npt.NDArray[np.intp], r: Array, c: Array) -> Array:
        """By how much the largest entry of each row or column is more than usual."""
        largest = np.zeros(self._shape[0] if index is self._i else self._shape[1])
        np.maximum.at(largest, index, self._log + r[self._i] + c[self._j])
        if index is self._i:
            largest[self._n_free :] = 0.0
        return np.where(largest > np.log2(USUAL), np.round(largest), 0.0)


def _noise(A: sp.csc_array) -> npt.NDArray[np.bool_]:
    """Which entries are negligible both in their row and in their column.

    The slopes of a square where its argument is 0 but for rounding: they say nothing of units. A
    row with a single entry (a bound) says nothing either, of how large its column is. Where most
    entries of a column are small, that is its unit, unless they are as small as rounding errors.
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


def powers(sizes: Array) -> Array:
    """The nearest powers of two: multiplying by them rounds nothing."""
    return np.asarray(np.exp2(np.round(np.log2(sizes))), dtype=float)


def _mean(values: Array) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _means(index: npt.NDArray[np.intp], values: Array, size: int, robust: bool) -> Array:
    """The mean of the values with the same index; robust, far ones weigh less."""
    weights = 1 / np.maximum(np.abs(values), 1.0) if robust else np.ones(len(values))
    total = np.bincount(index, weights, minlength=size)
    sums = np.bincount(index, weights * values, minlength=size)
    return np.divide(sums, total, out=np.zeros(size), where=total > 0)
