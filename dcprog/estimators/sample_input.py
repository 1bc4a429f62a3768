"""Forms of X that an estimator takes: dense, sparse, by blocks, or a kernel matrix."""

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
    """X is dense or sparse; with ``kernel="precomputed"`` it is a dense kernel matrix.

    Linear functions may be fitted to an X that is read by blocks, too.
    """

    _takes_blocks: ClassVar[bool] = False

    def _checks(self) -> dict[str, Any]:
        """Arguments of scikit-learn's own validation."""
        return {"accept_sparse": False if self._is_pairwise() else "csr", "dtype": np.float64}

    def _is_pairwise(self) -> bool:
        return getattr(self, "kernel", None) == "precomputed"

    def _validated(self, X: Any, *y: Any, reset: bool = True) -> Any:
        """The point x, or X and y, checked; X by blocks where it is read so."""
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
        """Validated samples, without a comparison with those of the fit."""
        by_blocks = self._blocked(X)
        if by_blocks is None:
            return check_X_y(X, y, **self._checks())
        return _with_targets(by_blocks, (y,), self._checks().get("y_numeric", False))

    def _blocked(self, X: Any) -> BlockedMatrix | None:
        """X by blocks; None where it is read as a whole, as it is for a kernel."""
        takes = self._takes_blocks and getattr(self, "kernel", None) is None
        return blocked(X) if takes else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = not self._is_pairwise()
        tags.input_tags.pairwise = self._is_pairwise()
        return tags


def _check_numbers(estimator: Any, y: Any) -> None:
    """Refuse text as targets; scikit-learn would go on with strings of a fixed length."""
    kind = np.asarray(y).dtype.kind
    if kind in "US":
        raise ValueError(
            f"y holds text: {type(estimator).__name__} takes numbers; RobustClassifier takes labels"
        )


def _with_targets(X: BlockedMatrix, y: tuple[Any, ...], numeric: bool) -> Any:
    """X alone, or with checked targets; whether X is finite shows when it is read."""
    if not y:
        return X
    targets = _check_y(np.asarray(y[0]), y_numeric=numeric)
    check_consistent_length(X, targets)
    return X, targets
