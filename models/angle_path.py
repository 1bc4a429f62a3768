"""The angle-based SVM for many penalties, from small to large."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from dcprog.engine.result import Result
from dcprog.estimators.declaration import Declaration
from dcprog.estimators.kernels import Kernel
from dcprog.estimators.loop import Solution
from dcprog.foundation.arrays import Array
from dcprog.foundation.progress_log import bar, logger, visible
from dcprog.models.angle_svm import AngleSVC
from dcprog.risk.risk import Risk
from dcprog.rows.angle import simplex_vertices

__all__ = ["AnglePath", "angle_path", "checked_lams"]

DEFAULT_LAMS = tuple(np.logspace(-1.5, 3, 30).tolist())
STARTS = ("both", "warm", "cold")


@dataclass(frozen=True, eq=False)
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
    results: tuple[Result, ...]
    warm: npt.NDArray[np.bool_]
    spec: Risk
    kernel: Kernel | None
    status: str
    fingerprint: str

    def __len__(self) -> int:
        return len(self.results)

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
        checked: Any = check_array(X, accept_sparse="csr", dtype=np.float64)
        d, width = checked.shape[1], self.spec.rows.X.shape[1]
        if self.kernel is None and d != width:
            raise ValueError(f"X has {d} features, the path was fitted with {width}")
        features: Any = checked if self.kernel is None else self.kernel(checked)
        W = simplex_vertices(len(self.classes))
        pairs = zip(self.coefs, self.intercepts, strict=True)
        scores = [(features @ coef.T + intercept) @ W.T for coef, intercept in pairs]
        return np.array(scores).reshape(len(self), features.shape[0], len(W))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """The predicted classes for every solved λ, of shape (done, n)."""
        return self.classes[np.argmax(self.decision_function(X), axis=2)]

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The accuracy for every solved λ, of shape (done,)."""
        return np.mean(self.predict(X) == np.asarray(y), axis=1)

    def model(self, i: int) -> AngleSVC:
        """The i-th solution as a fitted estimator."""
        model = self._at(self.lams[: len(self)][i])
        model.classes_ = self.classes
        samples = self.spec.rows.X if self.kernel is None else self.kernel.samples
        model.n_features_in_ = samples.shape[1]
        spec = self.spec.with_penalty(model.declared_penalty())
        model._keep(Declaration(spec, self.kernel), Solution(spec, self.results[i]))
        return model

    def _at(self, lam: float) -> AngleSVC:
        """The estimator with another λ."""
        name = "lam1" if self.estimator.penalty == "elasticnet" else "lam"
        return clone(self.estimator).set_params(**{name: float(lam)})

    def plot(self, ax: Any = None) -> Any:
        """Plot the coefficients over λ, with one colour per function β_q.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from dcprog.display.canvas import axes

        ax = axes(ax)
        done = self.lams[: len(self)]
        for q in range(self.coefs.shape[1]):
            ax.semilogx(done, self.coefs[:, q], color=f"C{q % 10}", lw=1)
        ax.set(xlabel="λ", ylabel="coefficients")
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
    if starts not in STARTS:
        raise ValueError(f"starts={starts!r}: choose one of {STARTS}")
    values, spec = checked_lams(lams), estimator.spec(X, y)
    params = repr(sorted(estimator.get_params().items()))
    path = AnglePath(
        estimator=clone(estimator),
        lams=values,
        classes=np.unique(np.asarray(y)),
        results=(),
        warm=np.zeros(0, dtype=bool),
        spec=spec,
        kernel=estimator._kernel_at(check_array(X, **estimator._checks())),
        status="running",
        fingerprint=joblib.hash((np.asarray(y), spec.rows.X, values, params, starts)),
    )
    if resume is not None:
        if resume.fingerprint != path.fingerprint:
            raise ValueError("resume: the path is of other data, other λ or other parameters")
        path = replace(resume, status="running")
    for message, category in estimator.inconsistency(len(path.classes)):
        warnings.warn(message, category, stacklevel=2)
    with visible(verbose):
        path = _solved(path, starts, callback, verbose)
    failed = [r for r in path.results if r.status not in ("converged", "interrupted")]
    if failed:
        warnings.warn(
            f"{len(failed)} of {len(path)} solutions did not converge, the first: "
            f"{failed[0].message}; increase max_iter or tol, or scale the data",
            ConvergenceWarning,
            stacklevel=2,
        )
    return path


def checked_lams(lams: npt.ArrayLike | None, name: str = "lams") -> Array:
    """The distinct values of λ in increasing order, after validation."""
    array = np.unique(np.asarray(DEFAULT_LAMS if lams is None else lams, dtype=float))
    if array.size == 0 or not np.all(np.isfinite(array)) or array[0] <= 0:
        raise ValueError(f"{name}={lams!r}: positive finite numbers are needed")
    return array


def _solved(path: AnglePath, starts: str, callback: Any, verbose: bool) -> AnglePath:
    """Solve the path until the last λ, Ctrl-C or an interruption by the callback."""
    try:
        while len(path) < len(path.lams):
            result, warm = _best_run(path, starts)
            path = replace(path, results=(*path.results, result), warm=np.append(path.warm, warm))
            if verbose:
                logger.info(
                    "%s λ %-10.4g objective %-12.6g selected %-5d %s",
                    bar(len(path), len(path.lams)),
                    path.lams[len(path) - 1],
                    result.value,
                    path.n_selected[-1],
                    "warm" if warm else "cold",
                )
            if callback is not None and callback(path):
                return replace(path, status="interrupted")
    except KeyboardInterrupt:
        return replace(path, status="interrupted")
    return replace(path, status="complete")


def _best_run(path: AnglePath, starts: str) -> tuple[Result, bool]:
    """The lower of the cold and the warm run, and True if it is the warm one."""
    model = path._at(path.lams[len(path)])
    spec = path.spec.with_penalty(model.declared_penalty())
    before = path.results[-1].x if len(path) else None
    if model.truncation is None:  # one minimum
        starts = "warm"
    runs = []
    if before is None or starts != "warm":
        runs.append((_run(model, spec), False))
    if before is not None and starts != "cold":
        runs.append((_run(model.set_params(n_starts=1), spec, before), True))
    return min(runs, key=lambda run: run[0].value)


def _run(model: AngleSVC, spec: Risk, *start: Array) -> Result:
    result = model.minimise(spec, *start)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result
