"""A declared risk with its data: distinct samples, unit, kernel, and the outlier weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.estimators.kernels import Kernel
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.columns import row_blocks
from dcprog.risk.risk import Risk


@dataclass(frozen=True)
class Samples:
    """The m samples selected from all n, and their weights.

    Attributes
    ----------
    first : int array of shape (m,) or None
        The indices of the selected samples; None if all are selected in their order.
    place : int array of shape (n,) or None
        The index of each sample among the selected ones, −1 for weight 0; None as for `first`.
    weights : array of shape (m,) or None
        The weights of the selected samples, summed over equal ones; None if all are 1.
    """

    first: npt.NDArray[np.intp] | None
    place: npt.NDArray[np.intp] | None
    weights: Array | None

    @property
    def part(self) -> Any:
        """The index that selects these samples from an array of all samples."""
        return slice(None) if self.weights is None or self.first is None else self.first

    def spread(self, values: Array) -> Array:
        """Spread values of the selected samples, (m,), to all samples, with 0 at weight 0."""
        if self.place is None:
            return values if self.weights is None else np.where(self.weights > 0, values, 0.0)
        return np.where(self.place >= 0, values[np.maximum(self.place, 0)], 0.0)


def whole(weights: Array | None) -> Samples:
    """All samples in their order, without merging equal ones; for data read by blocks."""
    return Samples(None, None, None if weights is None or np.all(weights == 1) else weights)


def distinct(X: Any, y: Any, weights: Array | None, merge: bool = True) -> Samples:
    """The samples of positive weight, equal ones (x, y) merged with the sum of their weights.

    A repeated sample is then equivalent to an integer weight to the last digit, with any solver,
    and duplicates cost nothing.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
    weights : array of shape (n,), optional
    merge : bool, default True
        Whether equal samples are merged.

    Returns
    -------
    Samples
        In the order of the data if all weights are 1 and no samples are merged; otherwise in an
        order that depends only on the set of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.declaration import distinct
    >>> samples = distinct(np.array([[1.0], [2.0], [1.0], [3.0]]), np.zeros(4), None)
    >>> samples.first, samples.place, samples.weights
    (array([0, 1, 3]), array([0, 1, 0, 2]), array([2., 1., 1.]))
    """
    n = X.shape[0]
    if weights is not None and np.all(weights == 1):
        weights = None
    kept = np.arange(n) if weights is None else np.flatnonzero(weights)
    Z, labels = (X, y) if len(kept) == n else (X[kept], y[kept])
    key = _fingerprint(Z)
    leader = _leaders(key, Z, labels) if merge else np.arange(len(kept))
    leads = np.flatnonzero(leader == np.arange(len(kept)))
    if weights is None and len(leads) == n:
        return Samples(kept, kept, None)
    order = leads[np.lexsort((np.unique(labels[leads], return_inverse=True)[1], key[leads]))]
    rank = np.full(len(kept), -1)
    rank[order] = np.arange(len(order))
    place = np.full(n, -1)
    place[kept] = rank[leader]
    share = np.ones(n) if weights is None else weights[kept]
    total = np.bincount(place[kept], share).astype(float)
    return Samples(kept[order], place, total)


def _leaders(key: Array, X: Any, y: Any) -> npt.NDArray[np.intp]:
    """The index of the first sample equal to each sample."""
    leader = np.arange(len(key))
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    groups: dict[Any, list[int]] = {}
    for i in np.flatnonzero(counts[inverse] > 1).tolist():
        leaders = groups.setdefault((inverse[i], y[i]), [])
        leader[i] = next((j for j in leaders if _equal(X, i, j)), i)
        if leader[i] == i:
            leaders.append(i)
    return leader


def _fingerprint(X: Any) -> Array:
    """One number per sample, equal for equal samples: each row is summed separately."""
    mix = np.random.default_rng(0).standard_normal(X.shape[1])
    if sp.issparse(X):
        return X @ mix
    key = np.empty(len(X))
    for rows in row_blocks(X):
        np.sum(X[rows] * mix, axis=1, out=key[rows])
    return key


def _equal(X: Any, i: int, j: int) -> bool:
    if not isinstance(X, np.ndarray):
        return (X[[i]] != X[[j]]).nnz == 0
    return bool(np.array_equal(X[i], X[j]))


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unit:
    """The unit of targets (y − middle)/size.

    Attributes
    ----------
    size, middle : float
    start : array of shape (d + 1,) or None
        Coefficients and intercept, in units of y, of the fit whose residuals determine the size.
    """

    size: float = 1.0
    middle: float = 0.0
    start: Array | None = None

    def of(self, y: Array) -> Array:
        """Targets in this unit."""
        return (y - self.middle) / self.size


ONE = Unit()
WHOLE = whole(None)


@dataclass(frozen=True)
class Declaration:
    """A risk and the data that map its θ to fitted attributes.

    Attributes
    ----------
    risk : Risk
    kernel : Kernel or None
    samples : Samples
        The samples of the risk.
    unit : Unit
        The unit of its targets.
    """

    risk: Risk
    kernel: Kernel | None = None
    samples: Samples = WHOLE
    unit: Unit = ONE

    def point(self, theta: Array) -> dict[str, Any]:
        """The fitted attributes at θ: intercepts (c,), coefficients (c, d) or a kernel's (c, n)."""
        rows, size = self.risk.rows, self.unit.size
        coef, intercept = rows.unpack(theta)
        intercept = size * intercept + self.unit.middle
        if self.kernel is None:
            return {"coef_": size * coef, "intercept_": intercept}
        dual = own = size * rows.dual_coef(theta)
        if self.samples.place is not None:
            dual = np.zeros((len(own), len(self.samples.place)))
            dual[:, self.samples.first] = own
        found = {"kernel_": self.kernel, "dual_coef_": dual, "intercept_": intercept}
        if self.kernel.kind == "linear":
            found["coef_"] = (self.kernel.samples.T @ dual.T).T
        return found

    def theta(self, coef: Array, intercept: Array) -> Array | None:
        """The inverse of :meth:`point`; None if the coefficients' shape does not fit the data."""
        rows = self.risk.rows
        place = self.samples.place
        size = rows.X.shape[1] if self.kernel is None or place is None else len(place)
        if coef.shape != (rows.n_scores, size):
            return None
        coef, intercept = coef / self.unit.size, self.unit.of(intercept)
        if self.kernel is not None:
            coef = rows.coordinates(coef[:, self.samples.first])
        return rows.pack(coef, intercept)


def weights_of_samples(risk: Risk, theta: Array) -> Array:
    """The slope of the loss over that of its base for each sample of a risk, of shape (n,).

    It is the least over a sample's rows, relative to the transform's steepest slope if that is
    finite.
    """
    risk = risk.remembering()
    largest = 0.0
    for _, part in risk.parts(theta):
        losses = part.aggregates(theta)
        largest = max(largest, float(np.max(losses, where=np.isfinite(losses), initial=0.0)))
    transform = risk.extended(EDGE * (largest or 1.0)).transform
    weight = np.empty(risk.rows.shape[0])
    for rows, part in risk.parts(theta):
        u = part.margins(theta)
        weight[rows] = part.of_rows(transform.slope(part.aggregates(theta)))
        if risk.subtracted is not None:
            slope, tilt = risk.base.slope(u), -risk.subtracted.slope(u)
            moves = slope != 0
            weight[rows] += np.where(moves, tilt / np.where(moves, slope, 1.0), 0.0)
    full = risk.transform.steepest
    weight /= full if np.isfinite(full) and full > 0 else 1.0
    return np.asarray(weight.reshape(risk.rows.X.shape[0], -1).min(axis=1))
