"""Solve systems with a kernel matrix on a changing set of variables by one Cholesky factor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, solve_triangular

from dcprog.foundation.arrays import Array
from dcprog.foundation.jit import compiled

Index = npt.NDArray[np.intp]
WIDEST = 0.15  # a border wider than this share of the factor costs as much as a new factor


class SchurComplement:
    r"""Solve (K_FF + δI) x = r for a sequence of sets F of variables, with K fixed.

    The Cholesky factor LLᵀ = K_BB + δI of an earlier set B is kept, and bordered by the columns of
    the variables that have joined it and by the unit vectors of those that have left it, whose
    multipliers hold x at 0 there:

    .. math::
        \begin{pmatrix} LL^\top & C \\ C^\top & D \end{pmatrix}
        \begin{pmatrix} x_B \\ y \end{pmatrix} = \begin{pmatrix} r_B \\ r_y \end{pmatrix},
        \qquad (D - W^\top W) y = r_y - W^\top L^{-1} r_B, \quad W = L^{-1} C.

    A column of W is computed once, when its variable first joins or leaves. If the border becomes
    too wide, K_FF + δI is factored anew.

    Parameters
    ----------
    K : array of shape (n, n)
    sample : int array of shape (m,)
        The row of K of each variable.
    delta : float
        δ > 0, which may be changed later.

    References
    ----------
    Gill, Murray, Saunders, Wright (1990), A Schur-complement method for sparse quadratic
    programming, in: Reliable Numerical Computation, Oxford University Press.
    """

    def __init__(self, K: Array, sample: Index, delta: float) -> None:
        self.K = K
        self.sample = sample
        self._delta = delta
        self._reset(np.zeros(0, dtype=np.intp))

    @property
    def delta(self) -> float:
        """The regularisation δ."""
        return self._delta

    @delta.setter
    def delta(self, value: float) -> None:
        if value != self._delta:
            self._delta = value
            self._reset(np.zeros(0, dtype=np.intp))

    def _reset(self, base: Index) -> None:
        self.base = base
        self.place = np.full(self.sample.size, -1)  # index in the base
        self.place[base] = np.arange(base.size)
        self.column = np.full(self.sample.size, -1)  # index in W
        self.width = 0
        self.W = np.empty((base.size, int(WIDEST * base.size)), order="F")
        self.factor: Any = None

    def solve(self, free: Index, right: Array) -> Array | None:
        """The solution x for right sides of shape (f, k); None if the system is indefinite."""
        joined, left = self._border(free)
        missing = np.concatenate([joined, left])
        missing = missing[self.column[missing] < 0]
        if self.factor is None or self.width + missing.size > self.W.shape[1]:
            if not self._factored(free):
                return None
            joined = left = missing = joined[:0]
        if missing.size:
            self._widen(missing)
        return self._solved(free, joined, left, right)

    def _border(self, free: Index) -> tuple[Index, Index]:
        """The variables that have joined the base, and those that have left it."""
        inside = np.zeros(self.sample.size, dtype=bool)
        inside[free] = True
        return free[self.place[free] < 0], self.base[~inside[self.base]]

    def _factored(self, free: Index) -> bool:
        system = _triangle(self.K, self.sample[free])
        system[np.diag_indices_from(system)] += self.delta
        self._reset(free.copy())
        try:
            # the transpose is in Fortran order, which LAPACK accepts without a copy
            self.factor = cho_factor(system.T, lower=False, overwrite_a=True, check_finite=False)[0]
        except LinAlgError:
            return False
        return True

    def _widen(self, variables: Index) -> None:
        """Add the columns L⁻¹C of the variables to W."""
        places = self.place[variables]
        columns = self.K[np.ix_(self.sample[variables], self.sample[self.base])].T
        columns[:, places >= 0] = 0.0
        columns[places[places >= 0], np.flatnonzero(places >= 0)] = 1.0
        end = self.width + variables.size
        self.W[:, self.width : end] = self._forward(columns)
        self.column[variables] = np.arange(self.width, end)
        self.width = end

    def _forward(self, right: Array) -> Array:
        return solve_triangular(self.factor, right, trans="T", check_finite=False)

    def _solved(self, free: Index, joined: Index, left: Index, right: Array) -> Array | None:
        place, count = self.place[free], joined.size
        inside = place >= 0
        r = np.zeros((self.base.size, right.shape[1]))
        r[place[inside]] = right[inside]
        z = self._forward(r)
        y: Any = np.zeros((0, right.shape[1]))
        if count + left.size:
            W = self.W[:, self.column[np.concatenate([joined, left])]]
            schur = -(W.T @ W)
            own = self.sample[joined]
            schur[:count, :count] += self.K[np.ix_(own, own)]
            schur[np.arange(count), np.arange(count)] += self.delta
            beside = -(W.T @ z)
            beside[:count] += right[~inside]
            try:
                y = np.linalg.solve(schur, beside)
            except LinAlgError:
                return None
            z -= W @ y
        inner = solve_triangular(self.factor, z, check_finite=False)
        x = np.empty_like(right)
        x[inside], x[~inside] = inner[place[inside]], y[:count]
        return x


@compiled
def _triangle(K: Any, places: Any) -> Any:
    part = np.empty((places.size, places.size))
    for i in range(places.size):
        row = K[places[i]]
        for j in range(i + 1):
            part[i, j] = row[places[j]]
    return part
