"""Weighted moments of samples, updated where only a few weights change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.weighted_gram import weighted_gram, weighted_sum

__all__ = ["Moments", "WeightedMoments"]

Index = npt.NDArray[np.intp]

# An update costs twice as much per sample as a new sum, and accumulates rounding errors.
WORTH = 0.4
UPDATES = 10
SMALL = 1e-3  # moments that have shrunk below this share may consist of rounding errors


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
    >>> from dcprog.solvers.linalg.weighted_moments import WeightedMoments
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
        if self._updates and np.any(np.diagonal(found.gram) < SMALL * self._size):
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
        X, places = self.X, np.flatnonzero(c)
        self._updates, self._total = 0, float(np.sum(c))
        self._largest = self._total
        self._middle = np.asarray(X.T @ c) / self._total if self.centred else None
        self._first = np.zeros(X.shape[1])
        few = 2 * places.size <= c.size and not isinstance(X, BlockedMatrix)
        some = (c[places], self._middle, places) if few else (c, self._middle)
        self._gram = weighted_gram(X, *some)
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
