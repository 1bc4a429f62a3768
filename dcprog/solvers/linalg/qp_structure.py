"""Partition the variables of a quadratic program into defined, local and shared ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["Index", "Layout", "Mask", "layout"]

Index = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

LARGEST_GROUP = 64  # most rows of one local variable, as their products are formed


@dataclass(frozen=True)
class Layout:
    """The roles of the variables of  min ½z'Pz + q'z  s.t.  Az = b, Fz ≤ g.

    Attributes
    ----------
    defined, by : arrays
        z[defined[i]] occurs only in equation by[i], in no inequality and no product: the equation
        defines it, and it is eliminated.
    kept : array
        The other equations, which contain no local variables.
    local : array
        The local variables: no two share a row (an inequality or a definition), and none occurs in
        a kept equation or a product.
    dense : array
        The other variables.
    """

    defined: Index
    by: Index
    kept: Index
    local: Index
    dense: Index


def layout(P: sp.csr_array, A: sp.csr_array, F: sp.csr_array) -> Layout:
    """Partition the variables greedily: those with few rows become local first."""
    single = ~_in_products(P)
    defined, by = _definitions(A, single & (_counts(F) == 0))
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


def _definitions(A: sp.csr_array, may: Mask) -> tuple[Index, Index]:
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
