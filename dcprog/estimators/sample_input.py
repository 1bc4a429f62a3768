"""Validation of an estimator's X: dense, sparse, by blocks, or a kernel matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    _check_y,
    check_X_y,
    validate_data,
)

from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.large_data import blocked

__all__ = ["SampleInput"]


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
            if y and numeric:
                _check_numbers(self, y[0])
            numeric = {"y_numeric": numeric} if y else {}
            return validate_data(self, X, *y, reset=reset, **checks, **numeric)
        _check_feature_names(self, X, reset=reset)
        _check_n_features(self, by_blocks, reset=reset)
        return _with_targets(by_blocks, y, numeric)

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Validate X and y without reading or setting the estimator's fitted attributes."""
        by_blocks = self._blocked(X)
        if by_blocks is None:
            return check_X_y(X, y, **self._checks())
        return _with_targets(by_blocks, (y,), self._checks().get("y_numeric", False))

    def _blocked(self, X: Any) -> BlockedMatrix | None:
        """X by blocks; None if X is read as a whole, as for a kernel."""
        takes = self._takes_blocks and getattr(self, "kernel", None) is None
        return blocked(X) if takes else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = not self._is_pairwise()
        tags.input_tags.pairwise = self._is_pairwise()
        return tags


def _check_numbers(estimator: Any, y: Any) -> None:
    """Raise ValueError for text as targets; scikit-learn accepts strings of a fixed length."""
    kind = np.asarray(y).dtype.kind
    if kind in "US":
        raise ValueError(
            f"y holds text: {type(estimator).__name__} takes numbers; RobustClassifier takes labels"
        )


def _with_targets(X: BlockedMatrix, y: tuple[Any, ...], numeric: bool) -> Any:
    """X alone, or with validated targets; X itself is checked for NaN only when it is read."""
    if not y:
        return X
    targets = _check_y(np.asarray(y[0]), y_numeric=numeric)
    check_consistent_length(X, targets)
    return X, targets
