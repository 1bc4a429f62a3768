"""The base class of RobustClassifier and RobustRegressor: declare a risk and minimise it."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dcprog.engine.result import Result
from dcprog.engine.track import Progress
from dcprog.estimators.callbacks import Watch
from dcprog.estimators.declaration import (
    Declaration,
    nearest,
    outlier_weights,
    risk_of,
    weights_of_samples,
)
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.kernel_option import KernelOption
from dcprog.estimators.kernels import Kernel
from dcprog.estimators.loop_options import LoopOptions
from dcprog.estimators.named_parts import NamedParts
from dcprog.estimators.parameter_constraints import WIDTH, one_of
from dcprog.estimators.prediction import scores_of
from dcprog.estimators.residual_unit import ONE, Unit
from dcprog.estimators.samples import Samples, distinct, whole
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel import on_kernel
from dcprog.rows.scores import Scores

__all__ = ["RobustEstimator"]


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


# ----------------------------------------------------------------------------------------------

RowBuilder = Callable[[Any, Any, bool], Scores]
Weighing = Callable[[Any], Array] | None


class RobustEstimator(CallbackSupportMixin, KernelOption, LoopOptions, FittedObjective, ABC):
    """Minimise Σ sample_weight_i·loss(u_i) + penalty(w); a subclass defines the rows u.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        f(x) = Σ_j a_j k(x, x_j) + b with the penalty λ/2·aᵀKa in the place of λ/2·‖w‖²; the penalty
        must be an ``l2``. A callable maps two sets of samples to their kernel matrix. By default f
        is linear and needs no kernel matrix; ``"linear"`` fits the same f with an n × n matrix.
    gamma : {"scale", "auto"} or float, default "scale"
        γ > 0 of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree: 1/(d·variance
        of X), 1/d, or a number.
    fit_intercept : bool, default True
        Whether f has an intercept b.
    penalize_intercept : bool, default False
        Whether the penalty includes b, as one more coefficient.
    n_jobs : int, optional
        Number of joblib processes for the starts.
    warm_start : bool, default False
        Start from the previous solution if its shape fits. Avoid it from large penalties to small
        ones: where w is almost 0, the loss may have given up every sample that would move w.

    Attributes
    ----------
    spec_ : Risk
        The minimised function. Its samples are the distinct ones; weighted ones are reordered.
    """

    _takes_blocks = True

    _: KW_ONLY
    gamma: str | float = parameter(*WIDTH, default="scale")
    fit_intercept: bool = parameter("boolean", default=True)
    penalize_intercept: bool = parameter("boolean", default=False)
    warm_start: bool = parameter("boolean", default=False)
    n_jobs: int | None = parameter(Integral, None, default=None)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _shaped(self, coef: Array, intercept: Array) -> tuple[Any, Any]:
        """Coefficients (c, d) and intercepts (c,) in the shape of the fitted attributes."""

    @abstractmethod
    def _declared(self, X: Any, y: Any, weights: Array | None) -> Declaration:
        """The declaration of the objective for checked data."""

    def _polished(self, risk: Risk, theta: Array) -> Array:
        """A more accurate minimiser near theta; theta itself by default."""
        return theta

    def _in_unit(self, X: Any, y: Any, weights: Array | None) -> tuple[Any, Unit]:
        """The targets scaled for the losses, and their unit; X is None for a kernel."""
        return y, ONE

    # ---- the objective ---------------------------------------------------------------------------

    def spec(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Risk:
        """The objective on the given data as a risk, which :func:`dcprog.solve` accepts.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        Risk
        """
        self._validate_params()
        X, y = self._checked(X, y)
        return self._declared(X, y, self._sample_weight(sample_weight, X)).risk

    # ---- data ------------------------------------------------------------------------------------

    def _sample_weight(self, sample_weight: Any, X: Any) -> Array | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    # ---- declare ---------------------------------------------------------------------------------

    def _declare(
        self,
        X: Any,
        y: Any,
        weights: Array | None,
        build: RowBuilder,
        share: Weighing = None,
        aggregate: str | None = None,
    ) -> Declaration:
        """Declare the risk of the samples of positive weight; `share` maps labels to factors."""
        loss = self._loss()
        by_blocks = isinstance(X, BlockedMatrix)
        take = whole if by_blocks else partial(distinct, X, y, merge=not loss.is_joint)
        samples = take(weights)
        part, weights = samples.part, samples.weights
        labels = y[part]
        kernel = self._kernel_at(X, samples)
        linear = X if by_blocks or kernel is not None else X[part]
        labels, unit = self._in_unit(None if kernel is not None else linear, labels, weights)
        if kernel is None:
            rows = build(linear, labels, self.fit_intercept)
        else:
            K = kernel(X)[part][:, part]
            rows = on_kernel(K, lambda L: build(L, labels, self.fit_intercept))
        if share is not None:
            weights = share(labels) if weights is None else share(labels) * weights
        weights = self._normalized(weights, len(labels))
        penalized = np.ones(rows.shape[1]) if self.penalize_intercept else None
        risk = risk_of(rows, loss, self._penalty(), weights, penalized, aggregate)
        return Declaration(loss, risk, kernel, samples, unit)

    def _kernel_at(self, X: Any, samples: Samples) -> Kernel | None:
        if self.kernel is not None and self._penalty().parts().ridge_alone is None:
            raise self._refuse_kernel(self.penalty, "l2(lam)")
        return self._kernel_of(X, self.gamma, samples.part, samples.weights)

    # ---- minimise --------------------------------------------------------------------------------

    def _minimise(
        self, declared: Declaration, start: Any, X: Any, y: Any, sample_weight: Any
    ) -> None:
        """Run the solver with the callbacks, set the fitted attributes and warn if needed."""
        risk, starts = declared.risk, list[Array]()
        watch = Watch(self, lambda theta: self._point(declared, theta), X, y, sample_weight)

        def step(progress: Progress) -> bool:
            if not starts:
                starts.append(progress.x)
            return watch.step(progress)

        def tidy(theta: Array) -> Array:
            near = nearest(risk, theta, starts[0] if starts else np.zeros_like(theta))
            return self._polished(risk, near)

        with np.errstate(all="ignore"):
            # a callback would keep the starts out of parallel processes
            alone = watch.is_needed or self.n_jobs in (None, 1)
            result = self._run_refined(risk, start, tidy=tidy, callback=step if alone else None)
        self._keep(declared, result)
        watch.end()
        doubt = self._doubt(result)
        if doubt is not None:
            warnings.warn(doubt, ConvergenceWarning, stacklevel=4)  # reported at the user's line
        trivial = self._trivial(risk, result)
        if trivial is not None:
            warnings.warn(trivial, TrivialSolutionWarning, stacklevel=4)

    @np.errstate(all="ignore")
    def _keep(self, declared: Declaration, result: Result) -> None:
        """Set the fitted attributes."""
        theta: Any = result.x
        self.spec_, self.result_ = declared.risk, result
        self.objective_ = result.value
        self.n_iter_ = max(1, result.n_iter)
        self.outlier_weight_ = outlier_weights(declared, theta)
        self._penalty_value = declared.risk.penalty_value(theta)
        for name in ("coef_", "dual_coef_", "kernel_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(self._point(declared, theta))

    def _start(self, declared: Declaration) -> Any:
        """The previous solution if warm_start is set and its shape fits, otherwise "auto"."""
        if not self.warm_start or not hasattr(self, "result_"):
            return "auto"
        former = getattr(self, "coef_" if declared.kernel is None else "dual_coef_", ())
        start = declared.theta(np.atleast_2d(former), np.atleast_1d(self.intercept_))
        return "auto" if start is None else start

    def _point(self, declared: Declaration, theta: Array) -> dict[str, Any]:
        """The fitted attributes of the function at θ."""
        name, coef, intercept = declared.point(theta)
        point: dict[str, Any] = {}
        if declared.kernel is not None:
            point["kernel_"] = declared.kernel
            if self.kernel == "linear":
                linear = (declared.kernel.samples.T @ coef.T).T
                point["coef_"], _ = self._shaped(linear, intercept)
        point[name], point["intercept_"] = self._shaped(coef, intercept)
        return point

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """The scores f(x) of validated samples, of shape (n, c)."""
        if self.kernel is None:
            return scores_of(X, np.atleast_2d(self.coef_), self.intercept_)
        return self.kernel_(X) @ np.atleast_2d(self.dual_coef_).T + self.intercept_

    def _check_fitted(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validated(X, reset=False)
