"""Robust estimators whose penalty weight and further parameters cross-validation chooses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dcprog.estimators.base import RobustEstimator
from dcprog.estimators.classifier import RobustClassifier
from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.penalty_family import USUAL
from dcprog.estimators.regressor import RobustRegressor
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.foundation.progress_log import bar, logger, visible

__all__ = ["RobustClassifierCV", "RobustRegressorCV", "path_scores", "weight_name"]


def weight_name(model: Any) -> str:
    """The name of the parameter that is the penalty's weight, such as ``penalty__lam``."""
    names = [name for name in model.get_params() if name.startswith("penalty__")]
    found = [name for name in names if name.split("__")[-1] in USUAL]
    if not found:
        raise ValueError(f"penalty={model.penalty!r}: it has no parameter lam to choose")
    return min(found, key=lambda name: name.count("__"))


def path_scores(
    model: Any,
    name: str,
    lambdas: Array,
    scorer: Any,
    X: Any,
    y: Any,
    weights: Array | None,
    fold: tuple[Any, Any],
) -> list[float]:
    """The scores on the held-out part of a fold, one for each λ in order."""
    train, test = fold
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    given = {} if weights is None else {"sample_weight": weights[test]}
    own = None if weights is None else weights[train]
    return [
        float(scorer(fitted, X_test, y_test, **given))
        for fitted in _path(model, name, lambdas, X_train, y_train, own)
    ]


def _path(
    model: Any, name: str, lambdas: Array, X: Any, y: Any, weights: Array | None
) -> Iterator[Any]:
    """Yield the estimator fitted for each λ in order, warm-started from the previous fit."""
    model.set_params(warm_start=True)
    for lam in lambdas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrivialSolutionWarning)  # expected at large λ
            warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
            fitted = model.set_params(**{name: float(lam)}).fit(X, y, sample_weight=weights)
        if getattr(model, "scale", None) == "mad":
            model.set_params(scale=fitted.scale_)  # it does not depend on λ
        yield fitted


# ----------------------------------------------------------------------------------------------


LAMBDAS = np.geomspace(1e-5, 1.0, 11)  # default values of λ, for a mean of losses
ROUNDING = 1e-12  # mean scores this close count as ties


class RobustCV(SampleInput, DeclaredEstimator):
    """An estimator whose penalty weight λ is chosen by cross-validation.

    For every fold and every combination of the grid's parameters, one path is fitted from small λ
    to large, each fit warm-started from the previous solution. In the other direction a robust loss
    may have given up, at w ≈ 0, every sample that would move w. Ties are resolved to the largest λ.

    Parameters
    ----------
    lambdas : array of shape (m,), optional
        Values λ > 0 of the penalty's weight. By default 11 values from 1e-5 to 1, times the sum of
        the samples' weights unless ``normalize="mean"``; they suit features and targets of about
        the size 1.
    grid : dict of str to list, optional
        Values for other parameters of the estimator, such as ``{"loss__c": [0.5, 1.0, 2.0]}``.
    cv : int, splitter or iterable, optional
        The folds; five by default, stratified for classifiers.
    scoring : str or callable, optional
        A scikit-learn scorer; the estimator's own ``score`` by default.
    n_jobs : int, optional
        Number of joblib processes for the paths; starting one takes some seconds.
    verbose : bool, default False
        Log one line per path to the logger ``dcprog``.

    Attributes
    ----------
    best_params_ : dict
        The chosen λ, as ``penalty__lam`` or ``penalty__l1``, and the chosen values of the grid.
    best_score_ : float
        The mean score over the folds at ``best_params_``, up to ties.
    lambdas_ : array of shape (m,)
        The values of λ, in increasing order.
    grid_ : list of dict
        The combinations of the grid's parameters.
    scores_ : array of shape (folds, combinations, m)
    n_features_in_ : int
    """

    estimator: RobustEstimator | None = parameter(RobustEstimator, None, default=None)
    lambdas: npt.ArrayLike | None = parameter("array-like", None, default=None)
    grid: Mapping[str, Any] | None = parameter(dict, None, default=None)
    _: KW_ONLY
    cv: Any = parameter("cv_object", default=None)
    scoring: Any = parameter(str, callable, None, default=None)
    n_jobs: int | None = parameter(Integral, None, default=None)
    verbose: bool = parameter("verbose", default=False)

    _usual: ClassVar[type[Any]]

    def _model(self) -> Any:
        """The estimator, or the default one, after a check of its type."""
        model = self._given()
        if not isinstance(model, self._usual):
            name = type(self).__name__
            raise ValueError(f"estimator={model!r}: {name} takes a {self._usual.__name__}")
        return model

    def _given(self) -> Any:
        return self._usual() if self.estimator is None else self.estimator

    def _checks(self) -> dict[str, Any]:
        checks: dict[str, Any] = self._given()._checks()
        return checks

    def _is_pairwise(self) -> bool:
        return bool(self._given()._is_pairwise())

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit all paths, choose the best parameters and refit on all samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Weights for the fits and the scores.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError, ValueError
            Parameters are out of range or unknown to the estimator, or the data are not finite.
        """
        model = self._model()
        X, y = self._validated(X, y)
        weights: Array | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if is_classifier(model):
            check_classification_targets(y)
            kept = slice(None) if weights is None else weights > 0
            self.classes_ = np.unique(np.asarray(y)[kept])
        total = float(np.size(y) if weights is None else np.sum(weights))
        self.lambdas_ = self._checked_lambdas(1.0 if model.normalize == "mean" else total)
        self.grid_ = list(ParameterGrid(self.grid or {}))
        folds = list(check_cv(self.cv, y, classifier=is_classifier(model)).split(X, y))
        self.scores_ = self._scores_of(model, folds, X, y, weights)
        self._choose(model)
        self.best_estimator_ = clone(model).set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, sample_weight=weights)
        return self

    def _checked_lambdas(self, total: float) -> Array:
        values = total * LAMBDAS if self.lambdas is None else np.asarray(self.lambdas, dtype=float)
        if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
            raise ValueError(f"lambdas={self.lambdas!r}: positive finite numbers are needed")
        return np.sort(values)

    def _scores_of(
        self, model: Any, folds: list[Any], X: Any, y: Any, weights: Array | None
    ) -> Array:
        """The held-out scores of all paths, of shape (folds, combinations, lambdas)."""
        name, scorer = weight_name(model), check_scoring(model, self.scoring)
        jobs = [
            joblib.delayed(path_scores)(
                clone(model).set_params(**others), name, self.lambdas_, scorer, X, y, weights, fold
            )
            for fold in folds
            for others in self.grid_
        ]
        scores = []
        with visible(bool(self.verbose)):
            for found in joblib.Parallel(self.n_jobs, return_as="generator")(jobs):
                scores.append(found)
                if self.verbose:
                    done = bar(len(scores), len(jobs))
                    logger.info("%s paths, best score of the last %.4g", done, np.max(found))
        return np.reshape(scores, (len(folds), len(self.grid_), len(self.lambdas_)))

    def _choose(self, model: Any) -> None:
        mean = np.mean(self.scores_, axis=0)
        self.best_score_ = float(np.max(mean))
        place, row = np.argwhere(mean.T >= self.best_score_ - ROUNDING)[-1]  # the largest λ
        lam = {weight_name(model): float(self.lambdas_[place])}
        self.best_params_ = self.grid_[row] | lam

    # ---- the fitted function ---------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """The coefficients of the best estimator."""
        return self._best().coef_

    @property
    def intercept_(self) -> Any:
        """The intercepts of the best estimator."""
        return self._best().intercept_

    @property
    def outlier_weight_(self) -> Array:
        """The outlier weights of the training samples in the best estimator."""
        return self._best().outlier_weight_

    @property
    def spec_(self) -> Any:
        """The risk that the best estimator minimised."""
        return self._best().spec_

    def outlier_weights(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The outlier weights of the given samples, from the best estimator."""
        return self._best().outlier_weights(X, y)

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The predictions of the best estimator, of shape (n,)."""
        return self._best().predict(self._check_fitted(X))

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _check_fitted(self, X: Any) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self._validated(X, reset=False)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")


class RobustClassifierCV(ClassifierMixin, RobustCV):
    """RobustClassifier with λ and other parameters chosen by cross-validation.

    Parameters
    ----------
    estimator : RobustClassifier, optional
        The estimator with all other parameters; ``RobustClassifier()`` by default.

    Attributes
    ----------
    best_estimator_ : RobustClassifier
        The estimator with ``best_params_``, fitted to all samples.
    classes_ : array of shape (k,)

    See Also
    --------
    dcprog.penalty_path : One path, with all its results.

    Examples
    --------
    >>> import dcprog as dc
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> search = dc.RobustClassifierCV(lambdas=[0.1, 1.0, 10.0], grid={"loss__c": [1.0, 2.0]}, cv=3)
    >>> sorted(search.fit(X, y).best_params_)
    ['loss__c', 'penalty__lam']
    >>> search.scores_.shape, search.score(X, y) > 0.95
    ((3, 2, 3), True)
    """

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the classes from the best estimator.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
        """
        return self._best().decision_function(self._check_fitted(X))

    _usual = RobustClassifier


class RobustRegressorCV(RegressorMixin, RobustCV):
    """RobustRegressor with λ and other parameters chosen by cross-validation.

    If held-out targets have outliers too, choose a score that is robust to them, such as
    ``scoring="neg_median_absolute_error"``.

    Parameters
    ----------
    estimator : RobustRegressor, optional
        The estimator with all other parameters; ``RobustRegressor()`` by default.

    Attributes
    ----------
    best_estimator_ : RobustRegressor
        The estimator with ``best_params_``, fitted to all samples.

    See Also
    --------
    dcprog.penalty_path : One path, with all its results.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 20))
    >>> y = X[:, :2] @ [3.0, -2.0] + 0.1 * rng.standard_normal(60)
    >>> y[::10] += 30.0
    >>> model = dc.RobustRegressor(dc.tukey(0.5 * dc.square(), 2.0), "mcp")
    >>> search = dc.RobustRegressorCV(model, scoring="neg_median_absolute_error").fit(X, y)
    >>> np.flatnonzero(np.abs(search.coef_) > 0.5)
    array([0, 1])
    """

    _usual = RobustRegressor
