"""The class that scores say."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LargestScore"]


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
