"""Descent on a quadratic model plus ℓ1 by single entries, where its Hessian would be too large."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.jit import compiled
from dcprog.risk.risk import Risk
from dcprog.rows.scores import with_ones
from dcprog.solvers.linalg.conjugate_gradients import FORCING

Index = npt.NDArray[np.intp]

EPOCHS = 20  # most passes over the entries that are not 0


@compiled
def _epoch(
    values: Any,
    rows: Any,
    starts: Any,
    some: Any,
    curvature: Any,
    bend: Any,
    l1: Any,
    l2: Any,
    g: Any,
    d: Any,
    x: Any,
    z: Any,
) -> Any:
    """A pass over some entries x and their changes d, with z = CAd, and the fall of the model."""
    fall = 0.0
    for j in some:
        slope = g[j] + l2[j] * d[j]
        for k in range(starts[j], starts[j + 1]):
            slope += values[k] * z[rows[k]]
        if bend[j] <= 0.0 and abs(slope) >= l1[j]:
            continue  # the model is flat, or falls for ever
        pull = bend[j] * x[j] - slope
        size = abs(pull) - l1[j]
        new = 0.0
        if size > 0.0:
            new = size / bend[j] if pull > 0.0 else -size / bend[j]
        step = new - x[j]
        if step != 0.0:
            fall -= (slope + bend[j] / 2 * step) * step + l1[j] * (abs(new) - abs(x[j]))
            x[j] = new
            d[j] += step
            for k in range(starts[j], starts[j + 1]):
                z[rows[k]] += curvature[rows[k]] * values[k] * step
    return fall


class ColumnDescent:
    r"""Descent on g·δ + ½ δᵀ(AᵀCA + diag(q))δ + Σ_j l_j|θ_j + δ_j| over δ, one entry at a time.

    An entry needs one column of A. A pass over all entries that may move is followed by passes
    over those that are not 0, until one gains little beside the first.

    Parameters
    ----------
    risk : Risk
        A risk whose rows have a matrix A.

    References
    ----------
    Yuan, Ho, Lin (2012), An improved GLMNET for L1-regularized logistic regression, JMLR 13.
    """

    def __init__(self, risk: Risk) -> None:
        scores = risk.scores
        self._risk = risk
        self._is_plain = scores.n_scores == 1 and scores.signs is not None
        self._square = scores.signs[:, 0] ** 2 if self._is_plain and scores.signs is not None else 1

    @cached_property
    def _columns(self) -> sp.csc_array:
        """The columns of A, but for the signs of margins of one score."""
        scores = self._risk.scores
        if not self._is_plain:
            return sp.csc_array(self._risk.matrix())
        X = sp.csc_array(scores.X)
        return sp.csc_array(with_ones(X)) if scores.fit_intercept else X

    @cached_property
    def _squares(self) -> sp.csc_array:
        return self._columns.power(2)

    def step(
        self,
        curvature: Array,
        model: tuple[Array, Array, Array],
        theta: Array,
        some: Index,
        deadline: Deadline,
    ) -> tuple[Array, float]:
        """A change δ of some entries, and the fall of the model.

        Parameters
        ----------
        curvature : array of shape (n_rows,)
            The diagonal of C.
        model : tuple (g, q, l)
        theta : array of shape (p,)
        some : int array
        deadline : Deadline
            At which the passes end.
        """
        g, l2, l1 = model
        c, A = curvature * self._square, self._columns
        bend = self._squares.T @ c + l2
        d, x, z = np.zeros_like(theta), theta.copy(), np.zeros(c.size)

        def passed(entries: Index) -> float:
            columns = A.data, A.indices, A.indptr
            return float(_epoch(*columns, entries, c, bend, l1, l2, g, d, x, z))

        first = fall = passed(some)
        for _ in range(EPOCHS):
            if deadline.left == 0:
                break
            more = passed(some[(x[some] != 0) | (l1[some] == 0)])
            fall += more
            if more <= FORCING * first:
                break
        return d, fall
