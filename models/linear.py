"""What linear classifiers share once they are fitted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from dcprog.estimators.prediction import LargestScore
from dcprog.foundation.arrays import Array

__all__ = ["LinearScores"]


class LinearScores(LargestScore):
    """Scores x·w_k + b_k, and the class that they say."""

    CHECKS: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}

    coef_: Array
    intercept_: Array

    def decision_function(self, X: Any) -> Array:
        """Scores x·w_k + b_k.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, c), or (n,) for two classes
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self.CHECKS)
        scores = X @ self.coef_.T + self.intercept_
        return scores.ravel() if len(self.coef_) == 1 else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags
