"""What linear classifiers share once they are fitted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

from dcprog.tree import Array

__all__ = ["LinearScores"]


class LinearScores:
    """Scores x·w_k + b_k, and the class of the largest, or by the sign of the only one."""

    CHECKS: ClassVar[dict[str, Any]] = {"accept_sparse": "csr", "dtype": np.float64}

    coef_: Array
    intercept_: Array
    classes_: npt.NDArray[Any]

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

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest score, or by the sign of the only one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags
