"""The base of all estimators: checked data, one fit, and the objective on other data."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
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

from dcprog.estimators.parameters import DeclaredEstimator
from dcprog.foundation.blocked_matrix import BlockedMatrix, blocked
from dcprog.foundation.columns import largest_sizes
from dcprog.risk.risk import Risk

Doubt = tuple[str, type[Warning]]


class SampleInput:
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
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = bool(self._checks()["accept_sparse"])
        tags.input_tags.pairwise = self._is_pairwise()
        return tags


def _with_targets(X: BlockedMatrix, y: Any, numeric: bool) -> tuple[Any, Any]:
    """X with validated targets; X itself is checked for NaN only when it is read."""
    targets = _check_y(np.asarray(y), y_numeric=numeric)
    check_consistent_length(X, targets)
    return X, targets


# ----------------------------------------------------------------------------------------------


class RiskEstimator(SampleInput, DeclaredEstimator, ABC):
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
        for message, category in self._fit(X, y, sample_weight):
            warnings.warn(message, category, stacklevel=4)  # reported at the user's line
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
