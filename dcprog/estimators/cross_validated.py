"""Estimators whose penalty weight and further parameters are chosen by cross-validated paths."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import KW_ONLY
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dcprog.estimators.base import SampleInput
from dcprog.estimators.classifier import RobustClassifier
from dcprog.estimators.formulas import Design
from dcprog.estimators.parameters import JOBS, parameter
from dcprog.estimators.probabilities import available_unless
from dcprog.estimators.regressor import RobustRegressor
from dcprog.estimators.robust import RobustEstimator
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.foundation.parameters import ascending, names_nearest
from dcprog.foundation.progress_log import bar, logger, visible
from dcprog.foundation.tolerances import ROUNDING
from dcprog.penalties.weight import PenaltyWeight

Place = tuple[int, int]  # a fold and a combination of parameters
Part = tuple[Any, Any, Array | None]  # samples, targets and weights of one side of a fold
# A function of an estimator, training and held-out samples: scores, one for each λ, and the path.
PathScores = Callable[[Any, Part, Part], tuple[Any, Any]]


def on_fold(
    scored: PathScores, model: Any, X: Any, y: Any, weights: Array | None, fold: Any
) -> tuple[Any, Any]:
    """The scores and the path of a fold, given as the indices of training and held-out samples."""
    train, test = fold
    own, held = (None, None) if weights is None else (weights[train], weights[test])
    left_out = (*_safe_split(model, X, y, test, train), held)
    return scored(model, (*_safe_split(model, X, y, train), own), left_out)


class PathSearch(SampleInput, ABC):
    """An estimator whose penalty weight λ is chosen by the cross-validated scores of paths.

    For every fold and every combination of the grid's parameters, one path over all λ is fitted to
    the training part and scored on the held-out part. Ties are resolved to the largest λ.

    Parameters
    ----------
    cv : int, splitter or iterable, optional
        The folds; five by default, stratified for classifiers.
    n_jobs : int, optional
        Number of joblib processes for the paths; starting one takes some seconds.
    verbose : bool, default False
        Log one line per path to the logger ``dcprog``.

    Attributes
    ----------
    best_score_ : float
        The mean score over the folds at ``best_params_``, up to ties.
    scores_ : array of shape (folds, combinations, m)
    n_features_in_ : int
    """

    _: KW_ONLY
    cv: Any = parameter("cv_object", default=None)
    n_jobs: int | None = parameter(*JOBS, default=None)
    verbose: bool = parameter("verbose", default=False)

    _usual: ClassVar[type[Any]]
    estimator: Any = parameter(object, default=None)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _grid(self, model: Any, total: float) -> tuple[Array, list[dict[str, Any]]]:
        """The values of λ in increasing order, and the combinations of other parameters."""

    @abstractmethod
    def _path(self, place: Place, model: Any) -> PathScores:
        """The function that fits a path on the training samples of a fold and scores it."""

    def _keep(self, place: Place, path: Any) -> None:
        """Keep the path of a fold and a combination."""

    @abstractmethod
    def _best_of(self, ties: npt.NDArray[np.bool_]) -> Place:
        """The combination and the λ to choose among those of the best score."""

    @abstractmethod
    def _params(self, row: int, lam: float) -> dict[str, Any]:
        """The estimator's parameters for a combination and λ."""

    # ---- fit -------------------------------------------------------------------------------------

    def _given(self) -> Any:
        return self._usual() if self.estimator is None else self.estimator

    def _set_intercept(self, design: Design) -> None:
        self.estimator = clone(self._given())
        self.estimator._set_intercept(design)

    def _checks(self) -> dict[str, Any]:
        checks: dict[str, Any] = self._given()._checks()
        return checks

    def _is_pairwise(self) -> bool:
        return bool(self._given()._is_pairwise())

    def _validate_params(self) -> None:
        model = self._given()
        if not isinstance(model, self._usual):  # a loss, maybe with a penalty in the place of λ
            name, usual = type(self).__name__, self._usual.__name__
            written = f"{name}({usual}(…))"
            raise ValueError(f"estimator={model!r}: {name} takes a {usual}: write {written}")
        super()._validate_params()

    def _search(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit all paths, choose the best parameters and refit on all samples."""
        model = self._given()
        X, y = self._validated(X, y)
        weights: Array | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if is_classifier(model):
            self.classes_ = model._classes_of(y, weights)
        total = float(np.size(y) if weights is None else np.sum(weights))
        self.lambdas_, self.grid_ = self._grid(model, total)
        folds = list(check_cv(self.cv, y, classifier=is_classifier(model)).split(X, y, groups))
        self.scores_ = np.full((len(folds), len(self.grid_), len(self.lambdas_)), np.nan)
        places = list(product(range(len(folds)), range(len(self.grid_))))

        def job(place: Place) -> Any:
            fold, row = place
            at = self._at(model, self.grid_[row])
            return joblib.delayed(on_fold)(self._path(place, at), at, X, y, weights, folds[fold])

        self._solve(places, map(job, places))
        mean = np.mean(self.scores_, axis=0)
        if np.all(np.isnan(mean)):
            raise KeyboardInterrupt("no penalty was scored on every fold")
        self.best_score_ = float(np.nanmax(mean))
        row, place = self._best_of(mean >= self.best_score_ - ROUNDING)  # ties
        self.best_params_ = self._params(row, float(self.lambdas_[place]))
        self.best_estimator_ = self._refitted(model, (row, place), X, y, weights)
        return self

    def _at(self, model: Any, values: dict[str, Any]) -> Any:
        return clone(model).set_params(**values)

    def _solve(self, places: list[Place], jobs: Any) -> None:
        """Run the paths and keep their scores."""
        pool = joblib.Parallel(self.n_jobs, return_as="generator")
        with visible(bool(self.verbose)):
            for k, (place, (scores, path)) in enumerate(zip(places, pool(jobs), strict=True)):
                self.scores_[place][: len(scores)] = scores
                if self.verbose:
                    done, best = bar(k + 1, len(places)), np.max(scores, initial=0.0)
                    logger.info("%s paths: fold %d, row %d, best score %.4g", done, *place, best)
                self._keep(place, path)

    def _refitted(self, model: Any, place: Place, X: Any, y: Any, weights: Array | None) -> Any:
        """The estimator with the best parameters, fitted to all samples."""
        given = {} if weights is None else {"sample_weight": weights}
        return clone(model).set_params(**self.best_params_).fit(X, y, **given)

    # ---- the fitted function ---------------------------------------------------------------------

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The predictions of the best estimator, of shape (n,)."""
        return self._best().predict(self._check_fitted(X))

    def summary(self) -> Any:
        """The coefficients of the best estimator as a table: its ``summary()``.

        Intervals and p-values are those of the chosen λ: they do not count the choice.
        """
        best = copy(self._best())  # which is fitted to an array
        if hasattr(self, "feature_names_in_"):
            best.feature_names_in_ = self.feature_names_in_
        return best.summary()

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")


class ClassifierSearch(ClassifierMixin):
    """The scores of a :class:`PathSearch` for classifiers, which is the other base class."""

    def decision_function(self: Any, X: npt.ArrayLike) -> Array:
        """The scores of the classes from the best estimator.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
        """
        return self._best().decision_function(self._check_fitted(X))


# ----------------------------------------------------------------------------------------------

LAMBDAS = np.geomspace(1e-5, 1.0, 11)  # default values of λ, for a mean of losses


def path_scores(
    model: Any, train: Part, test: Part, *, settings: list[dict[str, Any]], scorer: Any
) -> tuple[list[float], None]:
    """The scores on held-out samples of the fits for all λ in order, warm-started.

    Each setting holds the parameters of the estimator for a λ.
    """
    X, y, weights = test
    given = {} if weights is None else {"sample_weight": weights}
    model.set_params(warm_start=True)
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)  # expected at large λ
        warnings.simplefilter("ignore", ConvergenceWarning)  # the final fit warns
        for setting in settings:
            model.set_params(**setting).fit(*train)
            scores.append(float(scorer(model, X, y, **given)))
            if isinstance(getattr(model, "scale", None), str):
                model.set_params(scale=model.scale_)  # it does not depend on λ
    return scores, None


class RobustCV(PathSearch):
    """An estimator whose penalty weight λ is chosen by cross-validation.

    For every fold and every combination of the grid's parameters, one path is fitted from small λ
    to large, each fit warm-started from the previous solution. In the other direction a robust loss
    may have given up, at w ≈ 0, every sample that would move w. Ties are resolved to the largest λ.

    Parameters
    ----------
    lambdas : array of shape (m,), optional
        Values λ > 0 of the penalty's weight, as :func:`~dcprog.lambda_max` finds it: a penalty
        without parameters, such as one of your own, is multiplied by λ. By default 11 values from
        1e-5 to 1, times the sum of the samples' weights unless ``normalize="mean"``; they suit
        features and targets of about the size 1.
    grid : dict of str to list, optional
        Values for other parameters of the estimator, such as ``{"loss__c": [0.5, 1.0, 2.0]}``.
    scoring : str or callable, optional
        A scikit-learn scorer; the estimator's own ``score`` by default.

    Attributes
    ----------
    best_params_ : dict
        The chosen λ, as ``penalty__lam`` or ``penalty__l1``, or as ``penalty`` if λ is a factor of
        it, and the chosen values of the grid.
    lambdas_ : array of shape (m,)
        The values of λ, in increasing order.
    grid_ : list of dict
        The combinations of the grid's parameters.
    """

    estimator: RobustEstimator | None = parameter(object, default=None)
    lambdas: npt.ArrayLike | None = parameter("array-like", None, default=None)
    grid: Mapping[str, Any] | None = parameter(dict, None, default=None)
    _: KW_ONLY
    scoring: Any = parameter(str, callable, None, default=None)

    @names_nearest
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit all paths, choose the best parameters and refit on all samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Weights for the fits and the scores.
        groups : array of shape (n,), optional
            The groups of the samples, for a splitter such as ``GroupKFold``.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        TypeError, ValueError
            Parameters are out of range or unknown to the estimator, or the data are not finite.
        """
        return self._search(X, y, sample_weight, groups)

    def _grid(self, model: Any, total: float) -> tuple[Array, list[dict[str, Any]]]:
        size = 1.0 if model.normalize == "mean" else total
        values = size * LAMBDAS if self.lambdas is None else self.lambdas
        return ascending("lambdas", values), list(ParameterGrid(self.grid or {}))

    def _path(self, place: Place, model: Any) -> PathScores:
        settings = [self._setting(place[1], float(lam)) for lam in self.lambdas_]
        return partial(path_scores, settings=settings, scorer=check_scoring(model, self.scoring))

    def _best_of(self, ties: npt.NDArray[np.bool_]) -> Place:
        place, row = np.argwhere(ties.T)[-1]
        return row, place

    def _params(self, row: int, lam: float) -> dict[str, Any]:
        return self.grid_[row] | self._setting(row, lam)

    def _setting(self, row: int, lam: float) -> dict[str, Any]:
        """The estimator's parameter that λ is, such as ``penalty__lam``, or the whole penalty."""
        weight = PenaltyWeight.of(self._at(self._given(), self.grid_[row])._penalty())
        if weight.name is None:
            return {"penalty": weight.at(lam)}
        return {f"penalty__{weight.name}": lam}

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
        return self._best().outlier_weights(self._check_fitted(X), y)


class RobustClassifierCV(ClassifierSearch, RobustCV):
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

    @available_unless(lambda self: self._no_probabilities())
    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """The probabilities of the classes from the best estimator.

        They are there if the base of the loss is the logistic loss.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k)

        Raises
        ------
        AttributeError
            As from :meth:`RobustClassifier.predict_proba`.
        """
        return self._best().predict_proba(self._check_fitted(X))

    def _no_probabilities(self) -> str | None:
        """The reason why the scores tell no probabilities, None if they do."""
        reason: str | None = getattr(self, "best_estimator_", self._given())._no_probabilities()
        return reason

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
