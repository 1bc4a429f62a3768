"""Choose the penalty of the angle-based SVM by cross-validation."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.parameter_constraints import one_of
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import FisherConsistencyWarning
from dcprog.foundation.progress_log import bar, logger, visible
from dcprog.models.angle_path import STARTS, angle_path, checked_lams
from dcprog.models.angle_solutions import AnglePath
from dcprog.models.angle_svm import AngleSVC

__all__ = ["AngleSVCCV"]


class AngleSVCCV(ClassifierMixin, DeclaredEstimator):
    """AngleSVC with λ chosen by cross-validated accuracy.

    For every fold, and with the elastic net for every λ2, one :func:`~dcprog.models.angle_path`
    over `lams` is solved. Ties are resolved to the largest penalty, λ2 first.

    Parameters
    ----------
    estimator : AngleSVC, optional
        The estimator with all other parameters; ``AngleSVC()`` by default. Its `lam`, `lam1` or
        `lam2` is replaced.
    lams : array of shape (m,), optional
        Values λ > 0 of the ℓ2 or ℓ1 penalty, or of λ1 of the elastic net; by default 30 values from
        10^−1.5 to 10³.
    lams2 : array of shape (m2,), optional
        Values λ2 > 0 of the elastic net, by default also these 30 values: a grid of 900.
    cv : int, splitter or iterable, optional
        The folds, five stratified ones by default. ``PredefinedSplit`` tunes on a held-out set.
    starts : {"both", "warm", "cold"}, default "both"
        As in :func:`~dcprog.models.angle_path`.
    refit : bool, default True
        Whether to refit with the best penalty on all samples. False keeps the model of the path,
        fitted to the training part only; `cv` must then be a single split.
    n_jobs : int, optional
        Number of joblib processes for folds and λ2.
    warm_start : bool, default False
        Reuse the paths of the previous fit if data and parameters are equal, to complete a fit that
        Ctrl-C interrupted.
    verbose : bool, default False
        Log one line per path to the logger ``dcprog``.

    Attributes
    ----------
    best_estimator_ : AngleSVC
        The estimator with the best penalty.
    best_params_ : dict
        The chosen ``lam``, or ``lam1`` and ``lam2``.
    best_score_ : float
        The mean accuracy on held-out data.
    scores_ : array of shape (folds, m2, m)
        The accuracies, NaN for fits that Ctrl-C prevented; m2 is 1 except for the elastic net.
    lams_ : array of shape (m,)
        The values of λ in increasing order.
    lams2_ : array of shape (m2,) or None
    paths_ : dict
        The :class:`~dcprog.models.AnglePath` for each (fold, index of λ2).
    interrupted_ : bool
        Whether Ctrl-C interrupted the fit. The best penalty is then the best of those scored on
        every fold.
    classes_ : array of shape (k,)
    n_features_in_ : int

    Warns
    -----
    FisherConsistencyWarning
        As in :class:`AngleSVC`, once.
    ConvergenceWarning
        Ctrl-C interrupted the fit, or solutions did not converge.

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169, section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dcprog.models import AngleSVC, AngleSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = AngleSVCCV(AngleSVC(2, penalty="l1"), lams=[0.1, 1, 10, 100], cv=3).fit(X, y)
    >>> search.best_params_
    {'lam': 1.0}
    """

    estimator: AngleSVC | None = parameter(AngleSVC, None, default=None)
    lams: npt.ArrayLike | None = parameter("array-like", None, default=None)
    lams2: npt.ArrayLike | None = parameter("array-like", None, default=None)
    _: KW_ONLY
    cv: Any = parameter("cv_object", default=None)
    starts: str = parameter(one_of(*STARTS), default="both")
    refit: bool = parameter("boolean", default=True)
    n_jobs: int | None = parameter(Integral, None, default=None)
    warm_start: bool = parameter("boolean", default=False)
    verbose: bool = parameter("verbose", default=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> AngleSVCCV:
        """Solve all paths, choose the best penalty, and refit with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Two or more classes.

        Returns
        -------
        AngleSVCCV
            Itself.

        Raises
        ------
        ValueError
            Parameters are out of range, the data are not finite, there are fewer than two classes,
            or ``refit=False`` is combined with several folds.
        KeyboardInterrupt
            Ctrl-C interrupted the fit before any penalty was scored on every fold.
        """
        model = AngleSVC() if self.estimator is None else self.estimator
        X, y = validate_data(self, X, y, **model._checks())
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size < 2:
            raise ValueError("y holds 1 class; at least two classes are needed")
        self.lams_ = checked_lams(self.lams)
        elastic = model.penalty == "elasticnet"
        self.lams2_ = checked_lams(self.lams2, "lams2") if elastic else None
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))
        if not self.refit and len(folds) > 1:
            raise ValueError(f"refit=False with {len(folds)} folds: a single split is needed")
        model.warn_of_inconsistency(self.classes_.size, stacklevel=4)
        self._solve(model, folds, X, y)
        self._choose(model, X, y)
        self._warn()
        return self

    def _solve(self, model: AngleSVC, folds: list[Any], X: Any, y: Any) -> None:
        """Solve all paths, until the end or Ctrl-C."""
        former = getattr(self, "paths_", {}) if self.warm_start else {}
        rows = 1 if self.lams2_ is None else len(self.lams2_)
        self.paths_: dict[tuple[int, int], AnglePath] = {}
        self.scores_ = np.full((len(folds), rows, len(self.lams_)), np.nan)
        self.interrupted_ = False
        jobs = [
            joblib.delayed(_solve_row)(
                (f, r), self._row(model, r), X, y, fold, self.lams_, self.starts, former.get((f, r))
            )
            for f, fold in enumerate(folds)
            for r in range(rows)
        ]
        pool = joblib.Parallel(self.n_jobs, return_as="generator_unordered")
        with visible(bool(self.verbose)):
            try:
                for place, path, scores in pool(jobs):
                    self._keep(place, path, scores, len(jobs))
                    if path.status == "interrupted":
                        raise KeyboardInterrupt
            except KeyboardInterrupt:
                self.interrupted_ = True

    def _row(self, model: AngleSVC, row: int) -> AngleSVC:
        """The estimator with the λ2 of the given row."""
        if self.lams2_ is None:
            return model
        return clone(model).set_params(lam1=None, lam2=float(self.lams2_[row]))

    def _keep(self, place: tuple[int, int], path: AnglePath, scores: Array, n_jobs: int) -> None:
        self.paths_[place] = path
        self.scores_[place][: len(path)] = scores
        if self.verbose:
            logger.info(
                "%s paths: fold %d, row %d, %s, best accuracy %.4f",
                bar(len(self.paths_), n_jobs),
                *place,
                path.status,
                np.max(scores, initial=0.0),
            )

    def _choose(self, model: AngleSVC, X: Any, y: Any) -> None:
        mean = np.mean(self.scores_, axis=0)
        if np.all(np.isnan(mean)):
            raise KeyboardInterrupt("no penalty was scored on every fold")
        self.best_score_ = float(np.nanmax(mean))
        # means that differ only by rounding are ties
        row, place = np.argwhere(np.nan_to_num(mean, nan=-1) >= self.best_score_ - 1e-12)[-1]
        lam = float(self.lams_[place])
        self.best_params_ = {"lam": lam}
        if self.lams2_ is not None:
            self.best_params_ = {"lam1": lam, "lam2": float(self.lams2_[row])}
        if not self.refit:
            self.best_estimator_ = self.paths_[0, row].model(place)
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FisherConsistencyWarning)
            self.best_estimator_ = clone(model).set_params(**self.best_params_).fit(X, y)

    def _warn(self) -> None:
        runs = [run for path in self.paths_.values() for run in path.results]
        failed = [run for run in runs if run.status != "converged"]
        if self.interrupted_:
            message = (
                f"stopped by Ctrl-C after {len(runs)} of {self.scores_.size} solutions; fit again "
                "with warm_start=True to go on"
            )
        elif failed:
            message = (
                f"{len(failed)} of {len(runs)} solutions did not converge, one of them: "
                f"{failed[0].message}; increase max_iter or tol, or scale the data"
            )
        else:
            return
        warnings.warn(message, ConvergenceWarning, stacklevel=4)

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the best model; see :meth:`AngleSVC.decision_function`."""
        return self._best().decision_function(self._checked(X))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The classes predicted by the best model."""
        return self._best().predict(self._checked(X))

    def _best(self) -> AngleSVC:
        check_is_fitted(self)
        return self.best_estimator_

    def _checked(self, X: Any) -> Any:
        return validate_data(self, X, reset=False, **self._best()._checks())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        model = AngleSVC() if self.estimator is None else self.estimator
        tags.input_tags = model.__sklearn_tags__().input_tags
        return tags


Done = tuple[tuple[int, int], AnglePath, Array]


def _solve_row(
    place: tuple[int, int],
    model: AngleSVC,
    X: Any,
    y: Any,
    fold: tuple[Any, Any],
    lams: Array,
    starts: str,
    former: AnglePath | None,
) -> Done:
    """The path on a fold's training part and its accuracies on the held-out part."""
    train, test = fold
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FisherConsistencyWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported once for all paths
        solve = partial(angle_path, X_train, y_train, lams, estimator=model, starts=starts)
        try:
            path = solve(resume=former)
        except ValueError:
            if former is None:
                raise
            path = solve()  # the former path is of other data
    return place, path, path.score(X_test, y_test)
