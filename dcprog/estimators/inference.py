"""Standard errors and a summary of a fitted linear function."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.coefficient_table import CoefficientTable
from dcprog.estimators.coefficients import feature_names
from dcprog.estimators.declared_estimator import DeclaredEstimator
from dcprog.estimators.sandwich import sandwich
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["LinearInference"]


class LinearInference(DeclaredEstimator):
    """A regressor whose coefficients come with standard errors.

    Attributes
    ----------
    covariance_ : array of shape (d + 1, d + 1)
        The covariance of ``coef_`` and the intercept by the sandwich formula at fixed σ̂
        (:func:`~dcprog.estimators.sandwich.sandwich`). It is NaN for coefficients that a penalty
        has set to 0 and, with a warning, for all if the objective's estimated curvature is not
        positive; 0 for an intercept that is not fitted. A weight s_i counts as s_i samples.
        Computed on access.
    standard_errors_ : array of shape (d,)
        The standard errors of ``coef_``, the roots of the diagonal of ``covariance_``.
    """

    def _estimating(self) -> tuple[Risk, Any, float]:
        """The risk that the coefficients minimise, θ, and the unit of θ."""
        fitted: Any = self
        return fitted.spec_, fitted.result_.x, fitted.scale_

    def _repeats(self) -> float:
        """The number of samples that a weight of 1 in the risk represents."""
        return 1.0

    @property
    def covariance_(self) -> Array:
        """The covariance of the coefficients and the intercept, by the sandwich at fixed σ̂."""
        check_is_fitted(self)
        risk, theta, unit = self._estimating()
        if risk.scores.kernel is not None:
            raise AttributeError("a kernel machine has no coefficients that errors could be of")
        covariance = unit**2 * sandwich(risk, theta, self._repeats())
        d = risk.rows.X.shape[1]
        padded = np.zeros((d + 1, d + 1))
        padded[: len(covariance), : len(covariance)] = covariance
        return padded

    @property
    def standard_errors_(self) -> Array:
        """The standard errors of the coefficients, by the sandwich at fixed σ̂."""
        return np.sqrt(np.diag(self.covariance_)[:-1])

    def summary(self) -> CoefficientTable:
        """Coefficients, standard errors, z, p-values and intervals, the intercept last.

        Returns
        -------
        CoefficientTable
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine.
        """
        errors = np.sqrt(np.diag(self.covariance_))
        fitted: Any = self
        names = feature_names(self, errors.size - 1)
        coef = np.append(fitted.coef_, fitted.intercept_)
        return CoefficientTable(self._title(), [*names, "intercept"], coef, errors)

    def _title(self) -> str:
        fitted: Any = self
        weight = fitted.outlier_weight_
        return (
            f"{type(self).__name__}, {weight.size} samples, scale {fitted.scale_:.4g}, "
            f"{int(np.sum(weight < 0.1))} of weight below 0.1, {fitted.result_.status}"
        )
