"""Rounds of dual coordinate descent on centred samples, without forming the centred matrix."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.losses import Pieces
from dcprog.solvers.smooth.screening import ScoreProblem

__all__ = ["CoordinateRounds"]

LOOPS = "dcprog.solvers.piecewise.dual_coordinate_numba"
EASE = 0.05  # square of the constant column, relative to the centred samples' mean square

Index = npt.NDArray[np.intp]


class CoordinateRounds:
    r"""Rounds over single multipliers α_i, with w = −Σ_i s_i (α_i + t_i) z_i/λ and z = x − x̄.

    With w = v + τx̄ and b̄ = b + x̄·w, a step of α_i adds only a multiple of x_i to v, so that sparse
    samples stay sparse:  z_i·w + b̄ = x_i·v + τ z_i·x̄ + (b̄ − x̄·v).

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
    lam : float
        λ > 0.
    free : bool
        Whether there is a free intercept; otherwise x̄ = 0.
    """

    def __init__(self, X: Any, lam: float, free: bool) -> None:
        self.lam, self.free = lam, free
        self._X = X
        is_dense = isinstance(X, np.ndarray)
        squares = np.einsum("ij,ij->i", X, X) if is_dense else X.multiply(X).sum(axis=1)
        self._mean = np.asarray(X.mean(axis=0)).ravel() if free else np.zeros(X.shape[1])
        along, self._middle = X @ self._mean, float(self._mean @ self._mean)
        self._across = along - self._middle
        squares = np.maximum(np.ravel(squares) - along - self._across, 0.0)
        self.ease = EASE * float(np.mean(squares)) if free else 0.0
        self._curvature = np.maximum((squares + self.ease) / lam, np.finfo(float).tiny)
        self._rows = (np.ascontiguousarray(X), None, None) if is_dense else _csr(X)

    def left(self, problem: ScoreProblem, alpha: Array) -> float:
        """The sum Σ_i s_i (α_i + t_i), which is 0 at the optimum of a free intercept."""
        return float(problem.sign @ (alpha + problem.tilt)) if self.free else 0.0

    def coefficients(self, problem: ScoreProblem, alpha: Array) -> tuple[Array, float]:
        """The vector w of the multipliers α, and the residual :meth:`left`."""
        pull, left = problem.sign * (alpha + problem.tilt), self.left(problem, alpha)
        return (left * self._mean - self._X.T @ pull) / self.lam, left

    def reach(self, w: Array) -> float:
        """The distance |x̄·w| between the intercepts for centred and for original samples."""
        return abs(float(self._mean @ w))

    def descend(
        self,
        problem: ScoreProblem,
        pieces: Pieces,
        point: tuple[Array, Array, float],
        places: Index,
        seed: int,
        target: float,
        most: int,
    ) -> tuple[Array, float, float, int]:
        """A round over the given samples, which updates α in place.

        Parameters
        ----------
        problem : ScoreProblem
        pieces : Pieces
        point : tuple (α, w, b)
        places : int array
            The samples; they are reordered in place.
        seed : int
            The seed of the order.
        target : float
            The round ends if the samples' parts of the duality gap add up to at most this.
        most : int
            The most samples to visit, up to one epoch more.

        Returns
        -------
        w, b : array, float
        change : float
            The largest change of a margin by its own sample's step in the last epoch.
        taken : int
            The number of visited samples.
        """
        alpha, w, b = point
        v = w.copy()
        shape = (pieces.knots, pieces.quadratic, pieces.linear, pieces.constant)
        base, shift, change, taken = import_module(LOOPS).epochs(
            *self._rows,
            problem.sign,
            problem.offset,
            problem.weight,
            self._curvature,
            self._across,
            self._middle,
            *(np.array(part) for part in shape),
            self.lam,
            self.ease,
            alpha,
            v,
            b,
            places,
            seed,
            target,
            most,
        )
        return v + shift * self._mean, base - shift * self._middle, change, taken


def _csr(X: Any) -> tuple[Array, Any, Any]:
    return X.data[None], X.indices, X.indptr
