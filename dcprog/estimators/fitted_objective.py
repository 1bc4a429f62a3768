"""The objective and the outlier weights of a fitted function on any data."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length, column_or_1d

from dcprog.estimators.declaration import risk_of, weights_of_samples
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.named_parts import NamedParts
from dcprog.estimators.parameter_constraints import one_of
from dcprog.foundation.arrays import Array
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["FittedObjective"]


class FittedObjective(NamedParts):
    """An estimator that can evaluate its objective and outlier weights on any data.

    Parameters
    ----------
    normalize : {"sum", "mean"}, default "sum"
        With ``"sum"`` the losses' weights s_i add up to the number of samples, or to the sum of the
        given weights, as in publications. With ``"mean"`` they add up to 1, so that a penalty is as
        strong for any number of samples: ``"mean"`` with a penalty is ``"sum"`` with Σs_i times
        that penalty.
    """

    _penalty_value = 0.0  # the penalty at the solution

    _: KW_ONLY
    normalize: str = parameter(one_of("sum", "mean"), default="sum")

    @abstractmethod
    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        """The margins or residuals of linear scores of X, with the classes of the fit."""

    @abstractmethod
    def _scores(self, X: Any) -> Array:
        """The scores f(x) of validated samples, of shape (n, c)."""

    @abstractmethod
    def _check_fitted(self, X: Any) -> Any:
        """Validate samples against the training data's features."""

    @abstractmethod
    def _sample_weight(self, sample_weight: Any, X: Any) -> Array | None:
        """Validate the sample weights; None stays None."""

    def _aggregate(self) -> str | None:
        """The aggregate of a sample's base losses, None if each row counts by itself."""
        return None

    def _label_weight(self, y: Any) -> Array | None:
        """A factor of each sample's weight by its label, None for no factor."""
        return None

    def objective_function(
        self, X: npt.ArrayLike, y: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None
    ) -> tuple[float, float, float]:
        """The objective of the fitted function on the given data.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.
        sample_weight : array of shape (n,), optional
            As for ``fit``. They are multiplied by the class weights.

        Returns
        -------
        total, loss, penalty : float
            total = loss + penalty; on the training data it is ``objective_``.
        """
        X = self._check_fitted(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        weights, factor = self._sample_weight(sample_weight, X), self._label_weight(y)
        if factor is not None:
            weights = factor if weights is None else weights * factor
        scores = self._scores(X)
        risk = self._risk_of_scores(scores, y, self._normalized(weights, len(scores)))
        loss = risk(np.eye(scores.shape[1]).ravel())
        return loss + self._penalty_value, loss, self._penalty_value

    def outlier_weights(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The outlier weights of the given samples, as ``outlier_weight_`` of training samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.

        Returns
        -------
        array of shape (n,)
        """
        X = self._check_fitted(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        scores = self._scores(X)
        risk = self._risk_of_scores(scores, y, None)
        return weights_of_samples(risk, np.eye(scores.shape[1]).ravel())

    def _risk_of_scores(self, scores: Array, y: Any, weights: Array | None) -> Risk:
        """The fitted function's losses as a risk with the scores as features, θ the identity."""
        rows = self._rows(scores, y, fit_intercept=False)
        return risk_of(rows, self._loss(), l2(0.0), weights, aggregate=self._aggregate())

    def _normalized(self, weights: Array | None, n: int) -> Array | None:
        """The weights, scaled to the sum 1 if ``normalize="mean"``."""
        if self.normalize == "sum":
            return weights
        weights = np.ones(n) if weights is None else weights
        return weights / np.sum(weights)
