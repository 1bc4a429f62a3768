"""Hessians AᵀDA of a risk, computed from the samples without forming the rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.weighted_gram import gram_with_constant
from dcprog.solvers.linalg.coefficients import coefficient_units
from dcprog.solvers.linalg.kronecker import Curvature, DualSystem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["RowHessian"]

Index = npt.NDArray[np.intp]


class RowHessian:
    r"""The Hessian AᵀDA = Σ_i M_i ⊗ x̃_i x̃_iᵀ, M_i = Σ_j D_ij code_ij code_ijᵀ, rows code_ij ⊗ x̃_i.

    It takes a weighted Gram matrix of X̃ for each pair of scores, or only for each score if every
    row belongs to one score.

    Parameters
    ----------
    risk : Risk
        A risk whose rows have a matrix.

    Attributes
    ----------
    c, d, n : int
        The numbers of scores, columns and samples of X̃.
    """

    def __init__(self, risk: Risk) -> None:
        self.scores = risk.scores
        self.n, self.d = self.scores.X.shape
        self.d += self.scores.fit_intercept
        self.c = self.scores.n_scores
        self._order = self.scores.places()
        self._place = np.argsort(self._order)
        self._constants = np.zeros(1) if risk.offset is None else risk.offset

    @cached_property
    def X(self) -> Any:
        """X̃, an array or a sparse matrix of shape (n, d̃); a copy if there are intercepts."""
        return self.scores.augmented()

    @cached_property
    def units(self) -> Array:
        """For each entry of θ, the change that moves margins by their constants' size; (p,)."""
        units = coefficient_units(self.scores.X, self._constants)
        if self.scores.fit_intercept:
            units = np.append(units, coefficient_units(np.ones((1, 1)), self._constants))
        return np.tile(units, self.c)[self._place]

    def hessian(self, curvature: Array, entries: Index) -> Array:
        """The rows and columns of AᵀDA for the given entries of θ.

        Parameters
        ----------
        curvature : array of shape (n_rows,)
            The diagonal of D, at least 0.
        entries : int array

        Returns
        -------
        array of shape (len(entries), len(entries))
        """
        score, column = np.divmod(self._place[entries], self.d)
        columns, column = np.unique(column, return_inverse=True)
        curvature = curvature.reshape(self.n, -1)
        M = None if self.scores.signs is not None else self._blocks(curvature)
        X, constant = self.scores.X, self.scores.fit_intercept
        if columns.size < self.d:
            constant = constant and columns[-1] == self.d - 1
            chosen = columns[:-1] if constant else columns
            X = X[:, chosen]
        H = np.zeros((entries.size, entries.size))
        members = [np.flatnonzero(score == a) for a in range(self.c)]
        for a, b in self._pairs():
            if members[a].size and members[b].size:
                d = self._of_score(curvature, a) if M is None else M[:, a, b]
                block = gram_with_constant(X, d, constant)
                block = block[np.ix_(column[members[a]], column[members[b]])]
                H[np.ix_(members[a], members[b])] = block
                H[np.ix_(members[b], members[a])] = block.T
        return H

    def _of_score(self, curvature: Array, k: int) -> Array:
        """The diagonal entries M_kk, for rows that belong to one score each."""
        assert self.scores.signs is not None
        return curvature[:, k] * self.scores.signs[:, k] ** 2

    def _pairs(self) -> list[tuple[int, int]]:
        if self.scores.signs is not None:
            return [(a, a) for a in range(self.c)]
        return [(a, b) for a in range(self.c) for b in range(a + 1)]

    def _blocks(self, curvature: Array) -> Array:
        """The matrices M_i, of shape (n, c, c)."""
        return self.scores.code_gram(curvature.reshape(self.n, -1))

    def step(self, curvature: Array, diagonal: Array, g: Array) -> Array:
        """The step −(AᵀDA + diag(q))⁻¹ g by a system of size n·c, for dense X̃.

        Parameters
        ----------
        curvature : array of shape (n_rows,)
        diagonal : array of shape (p,)
            q ≥ 0; entries of 0 should be few.
        g : array of shape (p,)

        Returns
        -------
        array of shape (p,)
        """
        diagonal = diagonal[self._order]
        system = DualSystem(self, Curvature(self._blocks(curvature)), diagonal, diagonal > 0)
        return system.solve(-g[self._order])[self._place]
