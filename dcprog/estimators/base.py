"""The base of all estimators: checked data, a declared risk with its samples, one fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_y,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from dcprog.estimators.formulas import FormulaFit
from dcprog.estimators.kernels import Kernel
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.blocked_matrix import BlockedMatrix, blocked
from dcprog.foundation.errors import lost_before_a_point, warn
from dcprog.foundation.parameters import names_nearest
from dcprog.foundation.sums import largest_sizes, row_blocks
from dcprog.risk.risk import Risk

LOW_WEIGHT = 0.1  # of a sample that hardly counts


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
    >>> from dcprog.estimators.base import distinct
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


def hardly_counting(weights: Array) -> str:
    """How many samples have hardly any weight, as told below a table of coefficients."""
    return f"{int(np.sum(weights < LOW_WEIGHT))} of weight below {LOW_WEIGHT}"


def samples_told(model: Any) -> str:
    """How many samples a fit has, and how many rows a formula left out, as a summary tells them."""
    told = f"{model.outlier_weight_.size} samples"
    left_out = model.design_.left_out if hasattr(model, "design_") else 0
    return f"{told} ({left_out} rows with missing values left out)" if left_out else told


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


# ----------------------------------------------------------------------------------------------


Doubt = tuple[str, type[Warning]]


class SampleInput(FormulaFit):
    """An estimator of dense or sparse X, or a dense kernel matrix with ``kernel="precomputed"``.

    Subclasses with ``_takes_blocks`` also accept an X that is read by blocks, if f is linear.
    """

    _takes_blocks: ClassVar[bool] = False

    def _checks(self) -> dict[str, Any]:
        """The options of scikit-learn's data validation."""
        return {"accept_sparse": False if self._is_pairwise() else "csr", "dtype": np.float64}

    def _is_pairwise(self) -> bool:
        return getattr(self, "kernel", None) == "precomputed"

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """Validate X, or X and y; a large X is returned as a matrix by blocks."""
        X = self._by_formula(X, reset)
        checks, by_blocks = self._checks(), self._blocked(X)
        numeric = checks.pop("y_numeric", False)
        if by_blocks is None:
            # scikit-learn accepts strings of a fixed length as numbers
            if y and numeric and np.asarray(y[0]).dtype.kind in "US":
                raise ValueError(
                    f"y holds text: {type(self).__name__} takes numbers; RobustClassifier takes "
                    "labels"
                )
            numeric = {"y_numeric": numeric} if y else {}
            return validate_data(self, X, *y, reset=reset, **checks, **numeric)
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, by_blocks, reset=reset)
        return _with_targets(by_blocks, y[0], numeric) if y else by_blocks

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Validate X and y without reading or setting the estimator's fitted attributes."""
        by_blocks = self._blocked(X)
        if by_blocks is None:
            return check_X_y(X, y, **self._checks())
        return _with_targets(by_blocks, y, self._checks().get("y_numeric", False))

    def _check_fitted(self, X: Any) -> Any:
        """Validate samples against the training data's features."""
        check_is_fitted(self)
        return self._validated(X, reset=False)

    def _blocked(self, X: Any) -> BlockedMatrix | None:
        """X by blocks; None if X is read as a whole, as for a kernel."""
        takes = self._takes_blocks and getattr(self, "kernel", None) is None
        return blocked(X) if takes else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = bool(self._checks()["accept_sparse"])
        tags.input_tags.pairwise = self._is_pairwise()
        return tags


def _with_targets(X: BlockedMatrix, y: Any, numeric: bool) -> tuple[Any, Any]:
    """X with validated targets; X itself is checked for NaN only when it is read."""
    targets = _check_y(np.asarray(y), y_numeric=numeric)
    check_consistent_length(X, targets)
    return X, targets


# ----------------------------------------------------------------------------------------------


class RiskEstimator(SampleInput, ABC):
    """An estimator that minimises the risk of its training data.

    A subclass defines the risk of data (:meth:`_risk`), its minimisation (:meth:`_fit`) and the
    loss and penalty of the fitted function (:meth:`_parts`).

    Attributes
    ----------
    n_features_in_ : int
    """

    @abstractmethod
    def _risk(self, X: Any, y: Any, sample_weight: Any = None) -> Risk:
        """The risk of validated data."""

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> Iterable[Doubt]:
        """Minimise the risk of validated data, set the fitted attributes and tell warnings."""

    @abstractmethod
    def _parts(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
        """The loss and the penalty of the fitted function on data that are not validated yet."""

    def _check_combinations(self) -> None:
        """Raise ValueError for an invalid combination of parameters."""

    @names_nearest
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Minimise the objective.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more classes, or targets of a regression.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            Parameters are out of range or cannot be combined, the data are not finite, there are
            fewer than two classes, the solver does not accept the problem, or the numbers are so
            large that no point was found. With a kernel also: the kernel matrix exceeds
            ``memory_limit`` or is not symmetric and positive semidefinite, as that of a callable
            may be.
        """
        return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._check_combinations()
        X, y = self._validated(X, y)
        with lost_before_a_point():
            doubts = list(self._fit(X, y, sample_weight))
        for message, category in doubts:
            warn(message, category)
        return self

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The objective on the given data as a risk, which :func:`dcprog.solve` accepts.

        Parameters
        ----------
        X, y
            As for ``fit``.

        Returns
        -------
        Risk
            A function of θ = (w_1, …, w_c, b_1, …, b_c), where w may be the coordinates of a
            kernel's factor, or of θ = (a, b) with f = Σ_j a_j k(·, x_j) + b.

        Raises
        ------
        ValueError
            As from ``fit``, or the objective is a sum over several two-class problems.
        """
        return self._spec(X, y)

    def _spec(self, X: Any, y: Any, sample_weight: Any = None) -> Risk:
        self._validate_params()
        self._check_combinations()
        return self._risk(*self._checked(X, y), sample_weight)

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The objective of the fitted function on the given data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.

        Returns
        -------
        float
            On the training data it is ``objective_``.
        """
        return self.objective_function(X, y)[0]

    def objective_function(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float, float]:
        """The objective of the fitted function on the given data, with its loss and penalty.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.

        Returns
        -------
        total, loss, penalty : float
            total = loss + penalty; on the training data it is ``objective_``.
        """
        loss, penalty = self._parts(X, y)
        return loss + penalty, loss, penalty


def unusable(risk: Risk, reason: str) -> ValueError:
    """The error for a fit that has found no point, not even θ = 0.

    It names the feature with the largest entry, or the targets' size if that is larger.
    """
    targets = 0.0 if risk.offset is None else float(np.max(np.abs(risk.offset)))
    sizes = largest_sizes(getattr(risk.rows, "X", np.zeros((1, 1))))
    place = int(np.argmax(sizes))
    reached = f"feature {place} goes up to {sizes[place]:.3g}"
    if targets > sizes[place]:
        reached = f"targets go up to {targets:.3g}"
    return ValueError(f"no point was found ({reason}): {reached}; scale the data")


def feature_names(estimator: Any, d: int) -> list[str]:
    """The feature names of the training data; x0, x1, … if it had none."""
    numbered = [f"x{j}" for j in range(d)]
    return [str(name) for name in getattr(estimator, "feature_names_in_", numbered)]
