"""The linear algebra of weighted ridge regression with a free intercept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.sums import weighted_gram, weighted_squares, weighted_sum
from dcprog.foundation.tolerances import CANCELLED
from dcprog.solvers.linalg.cholesky import MOST_UNKNOWNS, Cholesky
from dcprog.solvers.linalg.conjugate_gradients import truncated_minimiser

# An update costs twice as much per sample as a new sum.
WORTH = 0.4  # most changed weights of an update, as a share of the nonzero weights
UPDATES = 10  # most updates in a row, as they accumulate rounding errors
# Products with sparse samples are so cheap that from this many unknowns on conjugate gradients, or
# steps of single columns, are 3 to 50 times as fast as systems that are factored.
MOST_OF_SPARSE = 500


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments Σ c, x̄ = Σ c x / Σ c and Σ c (x − x̄)(x − x̄)ᵀ; x̄ is 0 without centring."""

    total: float
    mean: Array | None
    gram: Array


class WeightedMoments:
    """The moments of samples for a sequence of weight vectors.

    Capped samples and those beyond a hinge have weight 0. As few weights change from one Newton
    step to the next, only the products of these samples are added or subtracted.

    Parameters
    ----------
    X : array, CSR array or BlockedMatrix of shape (n, d)
    centred : bool
        Whether the moments are taken around the weighted mean.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.linalg.ridge import WeightedMoments
    >>> moments = WeightedMoments(np.array([[0.0], [2.0], [9.0]]), centred=True)
    >>> moments.of(np.array([1.0, 1.0, 0.0]))
    Moments(total=2.0, mean=array([1.]), gram=array([[2.]]))
    """

    def __init__(self, X: Any, centred: bool) -> None:
        self.X, self.centred = X, centred
        self._weights: Array | None = None
        self._middle: Array | None = None
        self._updates = 0

    def of(self, c: Array) -> Moments:
        """The moments for weights c ≥ 0 of shape (n,), not all 0."""
        changed = self._changed(c)
        if changed is None:
            self._sum(c)
        else:
            self._add(changed, c)
        found = self._centred()
        if self._updates and np.any(np.diagonal(found.gram) < CANCELLED * self._size):
            self._sum(c)
            found = self._centred()
        self._weights = c
        return found

    def _centred(self) -> Moments:
        """Shift the moments from the reference point of the sums to the weighted mean."""
        if self._middle is None:
            return Moments(self._total, None, self._gram.copy())
        off = self._first / self._total
        gram = self._gram - self._total * np.outer(off, off)
        return Moments(self._total, self._middle + off, gram)

    def _changed(self, c: Array) -> Index | None:
        """The indices of changed weights; None if a new sum is better than an update."""
        if self._weights is None or self._updates >= UPDATES or isinstance(self.X, BlockedMatrix):
            return None  # reading by blocks reads all samples
        changed = np.flatnonzero(c != self._weights)
        worth = changed.size <= WORTH * np.count_nonzero(c)
        return changed if worth and np.sum(c) > self._largest / 2 else None

    def _sum(self, c: Array) -> None:
        X = self.X
        self._updates, self._total = 0, float(np.sum(c))
        self._largest = self._total
        self._middle = np.asarray(X.T @ c) / self._total if self.centred else None
        self._first = np.zeros(X.shape[1])
        self._gram = weighted_gram(X, c, self._middle)
        self._size = np.diagonal(self._gram).copy()

    def _add(self, places: Index, c: Array) -> None:
        if not places.size:
            return
        assert self._weights is not None
        change = c[places] - self._weights[places]
        self._updates += 1
        self._total += float(np.sum(change))
        self._gram += weighted_gram(self.X, change, self._middle, places)
        if self._middle is not None:
            moved = weighted_sum(self.X, change, places)
            self._first += moved - np.sum(change) * self._middle


# ----------------------------------------------------------------------------------------------

Index = npt.NDArray[np.intp]


class Ridge:
    r"""Minimise  ⟨g, δ⟩ + hβ + Σ_i c_i (x_i·δ + β)² + (λ/2)‖δ‖²  over (δ, β).

    This is the Newton step of a weighted squared loss with the gradient (g, h). With x̄ the weighted
    mean and X_c = X − 1x̄ᵀ, eliminating the intercept gives the d × d system

        (2 X_cᵀ C X_c + λI) δ = h x̄ − g,     β = −h / (2 Σc) − x̄·δ.

    If there are far fewer weights than features, its dual is solved instead. For d > n the dual
    uses the Gram matrix XXᵀ, which is formed once. If all c_i are zero, β is undetermined: then
    δ = −g/λ and β = 0. If n and d are both so large that products with X cost less
    than a factorisation (:func:`is_truncated`), conjugate gradients go a part of the way.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    lam : float
        λ > 0.
    fit_intercept : bool
        If False, β = 0 and x̄ = 0.
    """

    def __init__(self, X: Any, lam: float, fit_intercept: bool = True) -> None:
        self.X = X
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.dual = X.shape[1] > X.shape[0]
        self.truncated = is_truncated(X)
        self._factored: _Factored | None = None

    @cached_property
    def gram(self) -> Array:
        """The Gram matrix XXᵀ, of shape (n, n)."""
        return dense(self.X @ self.X.T)

    def step(
        self,
        g: Array,
        h: Array,
        c: Array,
        rows: Index | None = None,
        deadline: Deadline | None = None,
    ) -> tuple[Array, Array]:
        """Solve for one or several right-hand sides.

        Parameters
        ----------
        g : array of shape (d,) or (d, k)
        h : float or array of shape (k,)
        c : array of shape (m,)
            Nonnegative weights.
        rows : int array of shape (m,), optional
            The samples of the weights; all by default.
        deadline : Deadline, optional
            At which conjugate gradients end.

        Returns
        -------
        delta : array of shape of g
        beta : array of shape of h

        Raises
        ------
        SubproblemError
            The system is not finite.
        """
        if not np.any(c):
            return -g / self.lam, np.zeros_like(h)
        if self.truncated and c.size > _most_factored(self.X):
            return self._truncated_step(g, h, c, rows, deadline)
        if self.dual or 2 * c.size < self.X.shape[1]:
            return self._dual_step(g, h, c, rows)
        if rows is not None:
            c, some = np.zeros(self.X.shape[0]), c
            c[rows] = some
        return self._factor(c).step(g, h)

    def _factor(self, c: Array) -> _Factored:
        if self._factored is None or not np.array_equal(self._factored.c, c):
            moments = self.moments.of(2 * c)
            system = moments.gram
            system[np.diag_indices_from(system)] += self.lam
            self._factored = _Factored(c, moments.total, moments.mean, Cholesky(system))
        return self._factored

    def _truncated_step(
        self, g: Array, h: Array, c: Array, rows: Index | None, deadline: Deadline | None
    ) -> tuple[Array, Array]:
        """A part of the way to the minimum, for one right-hand side, by products with X alone."""
        X, c = self.X if rows is None else self.X[rows], 2 * c
        total = float(np.sum(c))
        mean = np.asarray(X.T @ c) / total if self.fit_intercept else None
        right = -g if mean is None else h * mean - g
        diagonal = weighted_squares(X, c) + self.lam
        if mean is not None:
            diagonal = np.maximum(diagonal - total * mean**2, self.lam)

        def times(delta: Array) -> Array:
            along = X @ delta
            if mean is not None:
                along -= mean @ delta
            return np.asarray(X.T @ (c * along)) + self.lam * delta

        delta = truncated_minimiser(times, diagonal, right, deadline)
        return delta, _intercept(delta, h, total, mean)

    @cached_property
    def moments(self) -> WeightedMoments:
        """The weighted moments of the samples."""
        return WeightedMoments(self.X, self.fit_intercept)

    def _dual_step(self, g: Array, h: Array, c: Array, rows: Index | None) -> tuple[Array, Array]:
        X = self.X if rows is None else self.X[rows]
        total = float(np.sum(c))
        mean = np.asarray(X.T @ c) / total if self.fit_intercept else None
        middle = np.zeros(X.shape[1]) if mean is None else mean
        right = np.multiply.outer(middle, h) - g
        # Woodbury: (AᵀA + λI)⁻¹ r = (r − Aᵀ(AAᵀ + λI)⁻¹ A r) / λ with A = √(2C) X_c
        if self.dual:
            gram = self.gram if rows is None else self.gram[np.ix_(rows, rows)]
        else:
            gram = dense(X @ X.T)
        if self.fit_intercept:
            share = c / total
            towards = gram @ share
            gram = gram - towards[:, None] - towards + share @ towards
        root = np.sqrt(2 * c)
        system = root[:, None] * gram * root
        system[np.diag_indices_from(system)] += self.lam
        scale = root if right.ndim == 1 else root[:, None]
        image = scale * (X @ right - middle @ right)
        pulled = scale * Cholesky(system).solve(image)
        back = X.T @ pulled - np.multiply.outer(middle, np.sum(pulled, axis=0))
        delta = (right - back) / self.lam
        return delta, _intercept(delta, h, 2 * total, mean)


@dataclass(frozen=True, eq=False)
class _Factored:
    """The factored primal system of some weights, kept as Newton's last steps often reuse them."""

    c: Array
    total: float
    mean: Array | None
    factor: Cholesky

    def step(self, g: Array, h: Array) -> tuple[Array, Array]:
        """The minimiser (δ, β)."""
        right = -g if self.mean is None else np.multiply.outer(self.mean, h) - g
        delta = self.factor.solve(right)
        return delta, _intercept(delta, h, self.total, self.mean)


def is_truncated(X: Any) -> bool:
    """True if products with X are cheaper than the factors of X's smaller Gram matrix."""
    return min(X.shape) > _most_factored(X)


def _most_factored(X: Any) -> int:
    return MOST_OF_SPARSE if sp.issparse(X) else MOST_UNKNOWNS


def _intercept(delta: Array, h: Array, total: float, mean: Array | None) -> Array:
    return np.zeros_like(h) if mean is None else -h / total - mean @ delta
