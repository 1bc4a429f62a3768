"""A table of a linear classifier's coefficients, by feature name and class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.declared_estimator import DeclaredEstimator
from dcprog.foundation.arrays import Array
from dcprog.foundation.table import Table

__all__ = ["Coefficients", "feature_names"]


def feature_names(estimator: Any, d: int) -> list[str]:
    """The feature names of the training data; x0, x1, … if it had none."""
    return [str(name) for name in getattr(estimator, "feature_names_in_", _numbered(d))]


def _numbered(d: int) -> list[str]:
    return [f"x{j}" for j in range(d)]


class Coefficients(DeclaredEstimator):
    """A linear classifier with a table of its coefficients."""

    def summary(self) -> Table:
        """Coefficients by feature and class, the intercept last.

        Each column is the linear score of a class; for two classes there is one column, the score
        of the second of ``classes_``. Where ``coef_`` holds the k − 1 components of an angle-based
        classifier, the scores are ``simplex_`` times those components.

        Returns
        -------
        Table
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine without ``coef_``.

        Examples
        --------
        >>> import numpy as np, dcprog as dc
        >>> X, y = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-2.0, 0.0]]), [1, 1, 0, 0]
        >>> dc.RobustClassifier("hinge").fit(X, y).summary()
        RobustClassifier, objective 0.5, converged
                           1
        x0                 1
        x1                 0
        intercept          0
        """
        check_is_fitted(self)
        fitted: Any = self
        if not hasattr(self, "coef_"):
            raise AttributeError("a kernel machine has no coefficients by feature to be shown")
        scores = _of_classes(fitted)
        classes = fitted.classes_[1:] if len(scores) == 1 else fitted.classes_
        end = f"objective {fitted.objective_:.4g}, {fitted.result_.status}"
        names = [*feature_names(self, scores.shape[1] - 1), "intercept"]
        return Table(
            f"{type(self).__name__}, {end}",
            names,
            dict(zip(map(str, classes), scores, strict=True)),
        )


def _of_classes(fitted: Any) -> Array:
    """One row (coefficients, intercept) for each class; a single row for two classes."""
    coef = np.atleast_2d(fitted.coef_)
    both = np.column_stack([coef, np.broadcast_to(fitted.intercept_, len(coef))])
    k = len(fitted.classes_)
    return both if len(both) in (1, k) else fitted.simplex_ @ both
