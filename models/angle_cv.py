"""Choose the penalty of the angle-based SVM by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import _safe_split

from dcprog.estimators import one_of, parameter
from dcprog.estimators.base import Doubt
from dcprog.estimators.cross_validated import PathSearch, Place
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import FisherConsistencyWarning
from dcprog.models.angle_path import STARTS, AnglePath, angle_path, checked_lams
from dcprog.models.angle_svm import AngleSVC

__all__ = ["AngleSVCCV"]


class AngleSVCCV(ClassifierMixin, PathSearch):
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
    warm_start : bool, default False
        Reuse the paths of the previous fit if data and parameters are equal, to complete a fit that
        Ctrl-C interrupted.

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
    starts: str = parameter(one_of(*STARTS), default="both")
    refit: bool = parameter("boolean", default=True)
    warm_start: bool = parameter("boolean", default=False)

    _usual = AngleSVC

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
        self._former = getattr(self, "paths_", {}) if self.warm_start else {}
        self.paths_: dict[Place, AnglePath] = {}
        self.interrupted_ = False
        self._search(X, y)
        for message, category in self._doubts():
            warnings.warn(message, category, stacklevel=3)
        return self

    def _grid(self, model: Any, total: float) -> tuple[Array, list[dict[str, Any]]]:
        self.lams_ = checked_lams(self.lams)
        elastic = model.penalty == "elasticnet"
        self.lams2_ = checked_lams(self.lams2, "lams2") if elastic else None
        if self.lams2_ is None:
            return self.lams_, [{}]
        return self.lams_, [{"lam1": None, "lam2": float(lam)} for lam in self.lams2_]

    def _job(self, place: Place, model: Any, X: Any, y: Any, weights: Any, fold: Any) -> Any:
        former = self._former.get(place)
        return joblib.delayed(_solve_row)(model, X, y, fold, self.lams_, self.starts, former)

    def _solve(self, places: list[Place], jobs: Any) -> None:
        """Solve all paths, until the end or Ctrl-C."""
        folds = len(self.scores_)
        if not self.refit and folds > 1:
            raise ValueError(f"refit=False with {folds} folds: a single split is needed")
        try:
            super()._solve(places, jobs)
        except KeyboardInterrupt:
            self.interrupted_ = True

    def _keep(self, place: Place, path: AnglePath) -> None:
        self.paths_[place] = path
        if path.status == "interrupted":
            raise KeyboardInterrupt

    def _best_of(self, ties: npt.NDArray[np.bool_]) -> Place:
        row, place = np.argwhere(ties)[-1]
        return row, place

    def _params(self, row: int, lam: float) -> dict[str, Any]:
        return self.grid_[row] | {"lam" if self.lams2_ is None else "lam1": lam}

    def _refitted(self, model: Any, place: Place, X: Any, y: Any, weights: Any) -> Any:
        if not self.refit:
            return self.paths_[0, place[0]].model(place[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FisherConsistencyWarning)
            return super()._refitted(model, place, X, y, weights)

    def _doubts(self) -> Iterator[Doubt]:
        yield from self._given().inconsistency(len(self.classes_))
        runs = [run for path in self.paths_.values() for run in path.results]
        failed = [run for run in runs if run.status != "converged"]
        if self.interrupted_:
            message = (
                f"stopped by Ctrl-C after {len(runs)} of {self.scores_.size} solutions; fit again "
                "with warm_start=True to go on"
            )
            yield message, ConvergenceWarning
        elif failed:
            message = (
                f"{len(failed)} of {len(runs)} solutions did not converge, one of them: "
                f"{failed[0].message}; increase max_iter or tol, or scale the data"
            )
            yield message, ConvergenceWarning

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the best model; see :meth:`AngleSVC.decision_function`."""
        return self._best().decision_function(self._check_fitted(X))


def _solve_row(
    model: AngleSVC,
    X: Any,
    y: Any,
    fold: tuple[Any, Any],
    lams: Array,
    starts: str,
    former: AnglePath | None,
) -> tuple[Array, AnglePath]:
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
    return path.score(X_test, y_test), path
