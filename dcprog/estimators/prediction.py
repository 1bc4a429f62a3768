"""Linear scores, and the class that they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.columns import all_finite

__all__ = ["LargestScore", "scores_of"]


def scores_of(X: Any, coef: Array, intercept: Any) -> Array:
    """x·w_k + b_k of shape (n, c), block by block where X is read so.

    Raises
    ------
    ValueError
        What is read by blocks holds NaN or infinity.
    """
    scores = X @ coef.T
    if isinstance(X, BlockedMatrix):
        scores += intercept
        if not all_finite(scores):
            raise ValueError("X holds NaN or infinity; remove or impute those entries")
        return scores
    return np.asarray(scores + intercept)


class LargestScore:
    """Prediction of a classifier whose ``decision_function`` has a score a class, or one of two."""

    classes_: npt.NDArray[Any]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest score, or by the sign of the only one.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        best = (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return self.classes_[best]
