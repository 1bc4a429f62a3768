"""The base of RobustClassifier and RobustRegressor: the risk of any loss and penalty."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from dcprog.engine.track import Progress
from dcprog.estimators.base import ONE, Declaration, Unit, distinct, whole
from dcprog.estimators.kernels import KernelOption, rows_of
from dcprog.estimators.loop import Callback, LoopEstimator, Solution
from dcprog.estimators.parameters import WIDTH, NamedParts, one_of, parameter
from dcprog.estimators.robust_scales import ROUNDING
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.parameters import names_nearest
from dcprog.losses import Loss
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

RowBuilder = Callable[[Any, Any, bool], Scores]
Weighing = Callable[[Any], Array] | None


class RobustEstimator(KernelOption, NamedParts, LoopEstimator):
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
    normalize : {"sum", "mean"}, default "sum"
        With ``"sum"`` the losses' weights s_i add up to the number of samples, or to the sum of the
        given weights, as in publications. With ``"mean"`` they add up to 1, so that a penalty is as
        strong for any number of samples: ``"mean"`` with a penalty is ``"sum"`` with Σs_i times
        that penalty.
    warm_start : bool, default False
        Start from the previous solution if its shape fits. Avoid it from large penalties to small
        ones: where w is almost 0, the loss may have given up every sample that would move w.

    Attributes
    ----------
    penalty_ : Penalty
        The penalty of the objective, with its weight.
    spec_ : Risk
        The minimised function. Its samples are the distinct ones; weighted ones are reordered.
    """

    _takes_blocks = True

    _: KW_ONLY
    gamma: str | float = parameter(*WIDTH, default="scale")
    normalize: str = parameter(one_of("sum", "mean"), default="sum")
    fit_intercept: bool = parameter("boolean", default=True)
    penalize_intercept: bool = parameter("boolean", default=False)
    warm_start: bool = parameter("boolean", default=False)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _rows(self, scores: Array, y: Any) -> Scores:
        """The margins or residuals of scores as features, with the classes and unit of the fit."""

    def _polished(self, risk: Risk, theta: Array) -> Array:
        """A more accurate minimiser near theta; theta itself by default."""
        return theta

    def _in_unit(self, X: Any, y: Any, weights: Array | None) -> tuple[Any, Unit]:
        """The targets scaled for the losses, and their unit; X is None for a kernel."""
        return y, ONE

    def _aggregate(self) -> str | None:
        """The aggregate of a sample's base losses, None if each row counts by itself."""
        return None

    def _weighted(self, penalty: Penalty, rows: Scores, weights: Array | None) -> Penalty:
        """The default penalty with its weight for the rows and the weights of their samples."""
        return penalty

    def _label_weight(self, y: Any) -> Array | None:
        """A factor of each sample's weight by its label, None for no factor."""
        return None

    @names_nearest
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Minimise the objective.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            The targets, or two or more classes.
        sample_weight : array of shape (n,), optional
            s_i ≥ 0, not all 0. A sample of weight 0 is left out, a whole number repeats it.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            Parameters are out of range, the data are not finite, there are fewer than two classes,
            the solver does not accept the problem, or the numbers are so large that no point was
            found.
        """
        return self._fitted(X, y, sample_weight)

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
        return self._spec(X, y, sample_weight)

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
        loss, penalty = self._parts(X, y, sample_weight)
        return loss + penalty, loss, penalty

    def _fitted_risk(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Risk, Array]:
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        scores = self._scores(X)
        weights = _product(self._sample_weight(sample_weight, X), self._label_weight(y))
        weights = self._normalized(weights, len(scores))
        risk = risk_of(
            self._rows(scores, y), self._loss(), l2(0.0), weights, aggregate=self._aggregate()
        )
        return risk, np.eye(scores.shape[1]).ravel()

    def _sample_weight(self, sample_weight: Any, X: Any) -> Array | None:
        """Validate the sample weights; None stays None."""
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _normalized(self, weights: Array | None, n: int) -> Array | None:
        """The weights, scaled to the sum 1 if ``normalize="mean"``."""
        if self.normalize == "sum":
            return weights
        weights = np.ones(n) if weights is None else weights
        return weights / np.sum(weights)

    # ---- declare and minimise --------------------------------------------------------------------

    def _declare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        build: RowBuilder,
        share: Weighing = None,
        aggregate: str | None = None,
    ) -> Declaration:
        """Declare the risk of the samples of positive weight; `share` maps labels to factors."""
        loss, penalty = self._loss(), self._penalty()
        if self.kernel is not None and penalty.parts().ridge_alone is None:
            raise self._refuse_kernel(self.penalty, "l2(lam)")
        by_blocks = isinstance(X, BlockedMatrix)
        take = whole if by_blocks else partial(distinct, X, y, merge=not loss.is_joint)
        samples = take(self._sample_weight(sample_weight, X))
        part = samples.part
        kernel = self._kernel_of(X, self.gamma, part, samples.weights)
        labels = y[part]
        linear = X if kernel is not None or isinstance(part, slice) else X[part]
        labels, unit = self._in_unit(
            None if kernel is not None else linear, labels, samples.weights
        )
        rows = rows_of(lambda Z: build(Z, labels, self.fit_intercept), linear, kernel, part)
        weights = _product(samples.weights, None if share is None else share(labels))
        if self.penalty is None:
            penalty = self._weighted(penalty, rows, weights)
        weights = self._normalized(weights, len(labels))
        penalized = np.ones(rows.shape[1]) if self.penalize_intercept else None
        risk = risk_of(rows, loss, penalty, weights, penalized, aggregate)
        return Declaration(risk, kernel, samples, unit)

    def _start(self, declared: Declaration) -> Any:
        """The previous solution if warm_start is set and its shape fits, otherwise "auto"."""
        if not self.warm_start or not hasattr(self, "result_"):
            return "auto"
        former = getattr(self, "coef_" if declared.kernel is None else "dual_coef_", ())
        start = declared.theta(np.atleast_2d(former), np.atleast_1d(self.intercept_))
        return "auto" if start is None else start

    def _solution(self, declared: Declaration, callback: Callback) -> Solution:
        risk, starts = declared.risk, list[Array]()

        def step(progress: Progress) -> object:
            if not starts:
                starts.append(progress.x)
            return callback is not None and callback(progress)

        def level(theta: Array) -> Array:
            return nearest(risk, theta, starts[0] if starts else np.zeros_like(theta))

        def tidy(theta: Array) -> Array:
            return self._polished(risk, theta)

        # a callback would keep the starts out of parallel processes
        alone = callback is not None or self.n_jobs in (None, 1)
        start = self._start(declared)
        told = step if alone else None
        result = self._run_refined(risk, start, level=level, tidy=tidy, callback=told)
        return Solution(risk, result)

    def _learn(self, declared: Declaration) -> None:
        super()._learn(declared)
        self.penalty_ = declared.risk.penalty
        weights = declared.samples.weights
        total = float(declared.risk.n_groups if weights is None else weights.sum())
        self._repeats = 1.0 if self.normalize == "sum" else total


def _product(one: Array | None, other: Array | None) -> Array | None:
    """The product of two arrays of weights, where None stands for ones."""
    if one is None or other is None:
        return other if one is None else one
    return one * other


def risk_of(
    rows: Scores,
    loss: Loss,
    penalty: Penalty,
    weights: Array | None,
    penalized: Array | None = None,
    aggregate: str | None = None,
) -> Risk:
    """The risk Σ_i s_i Σ_k loss(u_ik) + penalty, with a weight s_i for each sample.

    With an aggregate of a sample's base losses the loss part is Σ_i s_i φ(agg_k base(u_ik)). A
    trimmed loss drops whole samples, by their sums over k. If it dropped single rows, then with
    many classes one against the rest it would drop every positive row.
    """
    if loss.is_joint and rows.X.shape[0] < rows.shape[0]:
        aggregate = aggregate or "sum"
    if aggregate is not None:
        return Risk(
            rows,
            loss.base,
            aggregate=aggregate,
            transform=loss.transform,
            penalty=penalty,
            penalized=penalized,
            sample_weight=weights,
            subtracted=loss.subtracted,
        )
    weights = None if weights is None else rows.spread(weights)
    return Risk.from_loss(rows, loss, penalty, weights, penalized=penalized)


def nearest(risk: Risk, x: Array, start: Array) -> Array:
    """Move the free intercepts of x towards the start's as far as the risk does not rise.

    If the loss has given up all samples that determine an intercept, an interior point solver may
    return an intercept of millions. The distance is halved while the risk stays the same.
    """
    base = np.where(risk.penalized, x, start)
    far = x - base
    value = risk(x)
    limit = value + ROUNDING * risk.magnitude(x)
    if not np.any(far) or risk(base + far / 2) > limit:
        return x
    if risk(base) <= limit:
        return base
    while np.any(far) and risk(base + far / 2) <= limit:
        far = far / 2
    return base + far
