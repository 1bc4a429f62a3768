"""Linear scores, and the class of the largest score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.columns import all_finite

__all__ = ["LargestScore", "scores_of"]


def scores_of(X: Any, coef: Array, intercept: Any) -> Array:
    """The scores x·w_k + b_k, of shape (n, c).

    Raises
    ------
    ValueError
        X is read by blocks and holds NaN or infinity.
    """
    scores = X @ coef.T
    if isinstance(X, BlockedMatrix):
        scores += intercept
        if not all_finite(scores):
            raise ValueError("X holds NaN or infinity; remove or impute those entries")
        return scores
    return np.asarray(scores + intercept)


class LargestScore:
    """Prediction from the scores of a classifier's ``decision_function``."""

    classes_: npt.NDArray[Any]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest score; for two classes the sign of the only score decides.

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
