"""Hessians AᵀDA of the rows of a risk, from the samples: the rows are never formed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.solvers.linalg.coefficients import coefficient_units
from dcprog.solvers.linalg.kronecker import Curvature, DualSystem
from dcprog.solvers.linalg.weighted_gram import weighted_gram

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["RowHessian"]

Index = npt.NDArray[np.intp]
FEW = 0.5  # of the samples: gathering more of them costs as much as their zeros


class RowHessian:
    r"""AᵀDA = Σ_i M_i ⊗ x̃_i x̃_iᵀ with M_i = Σ_j D_ij code_ij code_ijᵀ, for rows code_ij ⊗ x̃_i.

    A weighted Gram matrix of X̃ for each pair of scores; where a row belongs to one score, for
    each score only.

    Parameters
    ----------
    risk : Risk
        Whose rows have a matrix.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d̃)
    c, d, n : int
        Scores, columns and samples of X̃.
    units : array of shape (p,)
        For each entry of θ the coefficient that moves the margins by the size of their constants.
    """

    def __init__(self, risk: Risk) -> None:
        self.scores = risk.scores
        self.X: Any = self.scores.augmented()
        self.n, self.d = self.X.shape
        self.c = self.scores.n_scores
        self._order = self.scores.places()
        self._place = np.argsort(self._order)
        constants = np.zeros(1) if risk.offset is None else risk.offset
        self.units = np.tile(coefficient_units(self.X, constants), self.c)[self._place]

    def hessian(self, curvature: Array, entries: Index) -> Array:
        """The rows and columns of AᵀDA that belong to some entries of θ.

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
        M = self._blocks(curvature)
        live = np.flatnonzero(np.any(M.reshape(self.n, -1) != 0, axis=1))
        X = self.X
        if live.size < FEW * self.n:
            X, M = X[live], M[live]
        X = X if columns.size == self.d else X[:, columns]
        H = np.zeros((entries.size, entries.size))
        members = [np.flatnonzero(score == a) for a in range(self.c)]
        for a, b in self._pairs():
            if members[a].size and members[b].size:
                block = weighted_gram(X, M[:, a, b])
                block = block[np.ix_(column[members[a]], column[members[b]])]
                H[np.ix_(members[a], members[b])] = block
                H[np.ix_(members[b], members[a])] = block.T
        return H

    def _pairs(self) -> list[tuple[int, int]]:
        if self.scores.signs is not None:
            return [(a, a) for a in range(self.c)]
        return [(a, b) for a in range(self.c) for b in range(a + 1)]

    def _blocks(self, curvature: Array) -> Array:
        """M, of shape (n, c, c)."""
        return self.scores.code_gram(curvature.reshape(self.n, -1))

    def step(self, curvature: Array, diagonal: Array, g: Array) -> Array:
        """−(AᵀDA + diag(q))⁻¹ g by a system of size n·c, for dense X̃.

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
