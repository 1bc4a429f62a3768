"""The angle-based SVM for many penalties: paths from small to large, and cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context, clone
from sklearn.exceptions import ConvergenceWarning

from dcprog.engine.result import Result
from dcprog.estimators import one_of, parameter
from dcprog.estimators.base import Declaration, Doubt
from dcprog.estimators.cross_validated import ClassifierSearch, Part, PathScores, PathSearch, Place
from dcprog.estimators.kernels import Kernel
from dcprog.estimators.loop import Solution
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import FisherConsistencyWarning, warn
from dcprog.foundation.parameters import ascending, check_choice, names_nearest
from dcprog.foundation.progress_log import bar, logger, visible
from dcprog.models.angle_svm import AngleSVC
from dcprog.risk.risk import Risk
from dcprog.rows.angle import simplex_vertices

__all__ = ["AnglePath", "AngleSVCCV", "angle_path"]

DEFAULT_LAMS = tuple(np.logspace(-1.5, 3, 30).tolist())
STARTS = ("both", "warm", "cold")
LINE = "%s λ %-10.4g objective %-12.6g selected %-5d %s"


@dataclass(frozen=True, eq=False, repr=False)
class AnglePath:
    """The solutions for increasing λ that have been computed so far.

    Attributes
    ----------
    estimator : AngleSVC
        An unfitted estimator with all parameters except the varying λ.
    lams : array of shape (m,)
        All values of λ in increasing order.
    classes : array of shape (k,)
    results : tuple of Result
        The run that was kept for each λ.
    warm : bool array of shape (done,)
        Whether that run started from the solution of the previous λ.
    spec : Risk
        The declared risk, with the estimator's own λ.
    kernel : Kernel or None
    status : str
        ``complete``, ``interrupted``, or ``running`` during callbacks.
    fingerprint : str
        A hash of the data and parameters, for a resumption.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dcprog.models import angle_path
    >>> path = angle_path(*load_iris(return_X_y=True), [1, 10])
    >>> path.status, path.lams
    ('complete', array([ 1., 10.]))
    """

    estimator: AngleSVC
    lams: Array
    classes: npt.NDArray[Any]
    spec: Risk
    kernel: Kernel | None
    fingerprint: str
    results: tuple[Result, ...] = ()
    warm: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    status: str = "running"

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        ends = f"{self.lams[0]:.3g} to {self.lams[-1]:.3g}"
        fits = f"{len(self)} of {len(self.lams)} fits"
        return f"AnglePath({self.estimator!r}, {fits}, λ from {ends}, {self.status})"

    @cached_property
    def _points(self) -> list[dict[str, Any]]:
        declared = Declaration(self.spec, self.kernel)
        return [declared.point(np.asarray(result.x)) for result in self.results]

    @cached_property
    def coefs(self) -> Array:
        """The coefficients, (done, k − 1, d), or the kernel's coefficients, (done, k − 1, n)."""
        rows, name = self.spec.rows, "coef_" if self.kernel is None else "dual_coef_"
        width = rows.X.shape[1] if self.kernel is None else rows.X.shape[0]
        return np.reshape([p[name] for p in self._points], (len(self), rows.n_scores, width))

    @property
    def intercepts(self) -> Array:
        """The intercepts, of shape (done, k − 1)."""
        found = [point["intercept_"] for point in self._points]
        return np.reshape(found, (len(self), self.spec.rows.n_scores))

    @property
    def objectives(self) -> Array:
        """The objective at every solution."""
        return np.array([result.value for result in self.results])

    @property
    def n_selected(self) -> npt.NDArray[np.intp]:
        """The number of features with a nonzero coefficient for every solved λ."""
        return np.sum(np.any(self.coefs != 0, axis=1), axis=1)

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores u_j for every solved λ.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (done, n, k)
            All k scores, also for two classes.
        """
        features = self.estimator._validated(X, reset=False)
        features = features if self.kernel is None else self.kernel(features)
        W = simplex_vertices(len(self.classes))
        pairs = zip(self.coefs, self.intercepts, strict=True)
        scores = [(features @ coef.T + intercept) @ W.T for coef, intercept in pairs]
        return np.reshape(scores, (len(self), features.shape[0], len(W)))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The predicted classes for every solved λ, of shape (done, n)."""
        return self.classes[np.argmax(self.decision_function(X), axis=2)]

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The accuracy for every solved λ, of shape (done,)."""
        return np.mean(self.predict(X) == np.asarray(y), axis=1)

    def model(self, i: int) -> AngleSVC:
        """The i-th solution as a fitted estimator."""
        model, spec = self._at(self.lams[: len(self)][i])
        model.classes_, model.n_features_in_ = self.classes, self.estimator.n_features_in_
        model._keep(Declaration(spec, self.kernel), Solution(spec, self.results[i]))
        return model

    def _at(self, lam: float) -> tuple[AngleSVC, Risk]:
        """The estimator with another λ, and its risk."""
        name = "lam1" if self.estimator.penalty == "elasticnet" else "lam"
        model = clone(self.estimator).set_params(**{name: float(lam)})
        return model, self.spec.with_penalty(model.declared_penalty())

    def plot(self, ax: Any = None) -> Any:
        """Plot the coefficients over λ, with one colour per function β_q.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from dcprog.display.canvas import axes, legend

        ax = axes(ax)
        done = self.lams[: len(self)]
        for q in range(self.coefs.shape[1]):
            lines = ax.semilogx(done, self.coefs[:, q], color=f"C{q % 10}", lw=1)
            lines[0].set_label(f"β{q + 1}")
        ax.set(xlabel="λ", ylabel="coefficients")
        legend(ax)
        return ax


def angle_path(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    lams: npt.ArrayLike | None = None,
    *,
    estimator: AngleSVC | None = None,
    starts: str = "both",
    resume: AnglePath | None = None,
    callback: Callable[[AnglePath], object] | None = None,
    verbose: bool = False,
) -> AnglePath:
    """Solutions of the angle-based SVM for increasing λ, with warm starts.

    With a truncated loss, samples that the start has given up tend to stay given up. For large λ
    all coefficients are almost 0, and a run to a smaller λ would stay there; the path therefore
    goes from small λ to large. On data with outliers, the run from the previous λ (warm) and the
    one from the convex problem (cold) have equal ends in half to nine tenths of the cases, and each
    is better about equally often in the others. Hence both are run by default, at not quite twice
    the cost. The convex loss (``truncation=None``) has one minimum and is only warm-started.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The kernel matrix with ``kernel="precomputed"``.
    y : array of shape (n,)
        Two or more classes.
    lams : array of shape (m,), optional
        Values λ > 0 in any order; by default 30 values from 10^−1.5 to 10³. They set `lam` of the
        ℓ2 or ℓ1 penalty, or `lam1` of the elastic net, whose `lam2` is fixed.
    estimator : AngleSVC, optional
        The estimator with all other parameters; ``AngleSVC()`` by default.
    starts : {"both", "warm", "cold"}, default "both"
        The runs to try for each λ; the lower objective is kept.
    resume : AnglePath, optional
        An interrupted path for equal data and parameters, whose solutions are kept.
    callback : callable, optional
        ``callback(path)`` is called after each λ; a true return value interrupts the path.
    verbose : bool, default False
        Log one line per λ, with a progress bar, to the logger ``dcprog``.

    Returns
    -------
    AnglePath
        After an interruption the solved part, with status ``interrupted``.

    Raises
    ------
    TypeError
        `estimator` is not an AngleSVC.
    ValueError
        Parameters are out of range, the data are invalid, or the path to resume has other data or
        parameters.

    Warns
    -----
    FisherConsistencyWarning, ConvergenceWarning
        As in :class:`AngleSVC`, once for the path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dcprog.models import AngleSVC, angle_path
    >>> X, y = load_iris(return_X_y=True)
    >>> path = angle_path(X, y, [0.1, 1, 10, 100], estimator=AngleSVC(2, penalty="l1"))
    >>> path.n_selected
    array([4, 4, 4, 0])
    >>> bool(path.score(X, y).max() > 0.95)
    True
    """
    estimator = AngleSVC() if estimator is None else estimator
    if not isinstance(estimator, AngleSVC):
        raise TypeError(f"estimator={estimator!r}: an AngleSVC is needed")
    check_choice("starts", starts, STARTS)
    path = _begun(estimator, X, y, checked_lams(lams), starts, resume)
    if resume is not None and path.fingerprint != resume.fingerprint:
        raise ValueError("resume: the path is of other data, other λ or other parameters")
    with visible(verbose):
        path = _solved(path, starts, callback, verbose)
    for message, category in estimator.inconsistency(len(path.classes)) + unconverged(path.results):
        warn(message, category)
    return path


def _begun(
    estimator: AngleSVC, X: Any, y: Any, lams: Array, starts: str, former: AnglePath | None
) -> AnglePath:
    """The former path if it is of equal data and parameters, otherwise one without solutions."""
    spec, model, y = estimator.spec(X, y), clone(estimator), np.asarray(y)
    fingerprint = joblib.hash((y, spec.rows.X, lams, repr(model.get_params()), starts))
    if former is not None and former.fingerprint == fingerprint:
        return replace(former, status="running")
    kernel = model._kernel_at(model._validated(X, y)[0])
    return AnglePath(model, lams, np.unique(y), spec, kernel, fingerprint)


def unconverged(runs: Sequence[Result]) -> list[Doubt]:
    """The warning for solutions that did not converge, if there are any."""
    failed = [run.message for run in runs if run.status != "converged"]
    if not failed:
        return []
    message = f"{len(failed)} of {len(runs)} solutions did not converge, the first: {failed[0]}"
    return [(f"{message}; increase max_iter or tol, or scale the data", ConvergenceWarning)]


def checked_lams(lams: npt.ArrayLike | None, name: str = "lams") -> Array:
    """The distinct values of λ in increasing order, after validation."""
    return np.unique(ascending(name, DEFAULT_LAMS if lams is None else lams))


def _solved(path: AnglePath, starts: str, callback: Any = None, verbose: bool = False) -> AnglePath:
    """Solve the path until the last λ, Ctrl-C or an interruption by the callback."""
    try:
        while len(path) < len(path.lams):
            result, warm = _best_run(path, starts)
            path = replace(path, results=(*path.results, result), warm=np.append(path.warm, warm))
            if verbose:
                lam, selected = path.lams[len(path) - 1], path.n_selected[-1]
                done, start = bar(len(path), len(path.lams)), "warm" if warm else "cold"
                logger.info(LINE, done, lam, result.value, selected, start)
            if callback is not None and callback(path):
                return replace(path, status="interrupted")
    except KeyboardInterrupt:
        return replace(path, status="interrupted")
    return replace(path, status="complete")


def _best_run(path: AnglePath, starts: str) -> tuple[Result, bool]:
    """The lower of the cold and the warm run, and True if it is the warm one."""
    model, spec = path._at(path.lams[len(path)])
    if model.truncation is None:  # one minimum
        starts = "warm"
    runs = []
    if not path.results or starts != "warm":
        runs.append((_run(model, spec), False))
    if path.results and starts != "cold":
        runs.append((_run(model.set_params(n_starts=1), spec, path.results[-1].x), True))
    return min(runs, key=lambda run: run[0].value)


def _run(model: AngleSVC, spec: Risk, start: Any = "convex") -> Result:
    result = model.minimise(spec, start)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


# ----------------------------------------------------------------------------------------------


class AngleSVCCV(ClassifierSearch, PathSearch):
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

    @names_nearest
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, groups: npt.ArrayLike | None = None
    ) -> AngleSVCCV:
        """Solve all paths, choose the best penalty, and refit with it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Two or more classes.
        groups : array of shape (n,), optional
            The groups of the samples, for a splitter such as ``GroupKFold``.

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
        self._search(X, y, groups=groups)
        runs = [run for path in self.paths_.values() for run in path.results]
        doubts = unconverged(runs)
        if self.interrupted_:
            done = f"stopped by Ctrl-C after {len(runs)} of {self.scores_.size} solutions"
            doubts = [(f"{done}; fit again with warm_start=True to go on", ConvergenceWarning)]
        for message, category in self._given().inconsistency(len(self.classes_)) + doubts:
            warn(message, category)
        return self

    def _grid(self, model: Any, total: float) -> tuple[Array, list[dict[str, Any]]]:
        self.lams_ = checked_lams(self.lams)
        elastic = model.penalty == "elasticnet"
        self.lams2_ = checked_lams(self.lams2, "lams2") if elastic else None
        if self.lams2_ is None:
            return self.lams_, [{}]
        return self.lams_, [{"lam1": None, "lam2": float(lam)} for lam in self.lams2_]

    def _path(self, place: Place, model: Any) -> PathScores:
        former = self._former.get(place)
        return partial(_scored_path, lams=self.lams_, starts=self.starts, former=former)

    def _solve(self, places: list[Place], jobs: Any) -> None:
        """Solve all paths, until the end or Ctrl-C."""
        if not self.refit and (folds := len(self.scores_)) > 1:
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


def _scored_path(
    model: AngleSVC, train: Part, test: Part, lams: Array, starts: str, former: AnglePath | None
) -> tuple[Array, AnglePath]:
    """The path on the training part of a fold and its accuracies on the held-out part."""
    path = _solved(_begun(model, *train[:2], lams, starts, former), starts)
    return path.score(*test[:2]), path
