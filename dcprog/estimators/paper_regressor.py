"""The base class of published regressors: fit, declaration, objective and prediction."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.high_breakdown import Criterion, high_breakdown_fit
from dcprog.estimators.inference import LinearInference
from dcprog.estimators.loop_options import LoopOptions
from dcprog.estimators.prediction import scores_of
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.rows.linear import residual_rows
from dcprog.rows.scores import Scores

__all__ = ["PaperRegressor"]


class PaperRegressor(RegressorMixin, LinearInference, SampleInput, LoopOptions, ABC):
    """A linear regressor that minimises the objective of its publication.

    A subclass defines the risk of residuals (:meth:`_declare`), its minimisation (:meth:`_fit`) and
    the samples' weights (:meth:`_weights`).

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an intercept b.
    n_jobs : int, optional
        Number of joblib processes for the starts.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    scale_ : float
        σ̂, the residuals' scale.
    outlier_weight_ : array of shape (n,)
        The weight of each training sample at the solution, from 0 to 1.
    """

    _: KW_ONLY
    fit_intercept: bool = parameter("boolean", default=True)
    n_jobs: int | None = parameter(Integral, None, default=None)

    @abstractmethod
    def _declare(self, rows: Scores, scale: float) -> Risk:
        """The objective of the publication on residuals divided by the scale."""

    @abstractmethod
    def _fit(self, X: Array, y: Array) -> str | None:
        """Minimise the objective on validated data and return a warning, None if there is none."""

    @abstractmethod
    def _weights(self, risk: Risk, theta: Array) -> Array:
        """The weights of the samples of a risk at θ, of shape (n,)."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Minimise the objective.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Targets.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            Parameters are out of range, the data are not finite, the solver does not accept the
            problem, or the numbers are so large that no point was found.
        """
        doubt = self._fit(*self._validated(X, y))
        if doubt is not None:
            warnings.warn(doubt, ConvergenceWarning, stacklevel=3)  # reported at the user's line
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """The predictions w·x + b.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        return scores_of(self._validated(X, reset=False), self.coef_, self.intercept_)

    def outlier_weights(self, X: Any, y: Any) -> Array:
        """The weights of the given samples, as ``outlier_weight_`` of the training samples.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        array of shape (n,)
        """
        return self._weights(*self._there(X, y))

    def objective(self, X: Any, y: Any) -> float:
        """The objective at ``result_.x`` on the given data; on training data ``objective_``.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        float
        """
        risk, theta = self._there(X, y)
        return risk(theta)

    def _there(self, X: Any, y: Any) -> tuple[Risk, Array]:
        """The risk of the given data, and the θ of the fit."""
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        theta: Any = self.result_.x
        return self._risk(X, y, self._unit), theta

    def _checks(self) -> dict[str, Any]:
        return {"accept_sparse": False, "dtype": np.float64, "y_numeric": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _risk(self, X: Array, y: Array, unit: float = 1.0) -> Risk:
        return self._declare(residual_rows(X, y / unit, self.fit_intercept), unit)

    def _start(self, X: Array, y: Array, criterion: Criterion) -> Array:
        """Coefficients and intercept of a high-breakdown fit by random subsets."""
        if not self.fit_intercept:
            return high_breakdown_fit(X, y, criterion)
        shift, middle = np.median(X, axis=0), float(np.median(y))
        A = np.column_stack([X - shift, np.ones(len(y))])
        fit = high_breakdown_fit(A, y - middle, criterion)
        fit[-1] += middle - fit[:-1] @ shift
        return fit

    def _minimise(self, spec: Risk, start: Array, unit: float = 1.0, **options: Any) -> Array:
        """Minimise from `start`, keep the run and return (coefficients, intercept) in y's units."""
        result = self._run(spec, start=[start / unit], **options)
        self.spec_, self.result_, self._unit = spec, result, unit
        self.objective_, self.n_iter_ = result.value, max(1, result.n_iter)
        theta: Any = result.x
        return unit * theta

    def _set(self, theta: Array, d: int) -> None:
        self.coef_ = theta[:d]
        self.intercept_ = float(theta[d]) if self.fit_intercept else 0.0

    def _estimating(self) -> tuple[Risk, Any, float]:
        return self.spec_, self.result_.x, self._unit
