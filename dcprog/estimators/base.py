"""What the robust classifier and regressor share: declare a risk, minimise it, keep the outcome."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from dcprog.engine.descent import Progress
from dcprog.engine.result import Result
from dcprog.estimators.constraints import LOOP, SHAPE
from dcprog.estimators.declaration import Declaration, nearest, outlier_weights, risk_of
from dcprog.estimators.kernels import KERNELS, Kernel, width
from dcprog.estimators.refine import refined
from dcprog.estimators.refusal import unusable
from dcprog.estimators.samples import Samples, distinct
from dcprog.estimators.sparsity import cleared
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.kernel import on_kernel
from dcprog.rows.scores import Scores
from dcprog.surrogates.driver import solve

__all__ = ["RobustEstimator"]

CLEARED = 1e-2  # of the tolerance: what exact zeros may cost

RowBuilder = Callable[[Any, Any, bool], Scores]
Weighing = Callable[[Any], Array] | None


class RobustEstimator(CallbackSupportMixin, BaseEstimator, ABC):
    """Σ sample_weight_i·loss(u_i) + penalty(w); a subclass says what u is.

    The parameters are those of ``RobustRegressor``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [Loss, None],
        "penalty": [Penalty, None],
        "kernel": [StrOptions(KERNELS), callable, None],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        **SHAPE,
        "fit_intercept": ["boolean"],
        "penalize_intercept": ["boolean"],
        "warm_start": ["boolean"],
        **LOOP,
    }

    def __init__(
        self,
        loss: Loss | None = None,
        penalty: Penalty | None = None,
        *,
        kernel: str | Callable[[Any, Any], Array] | None = None,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = None,
        acceleration: str | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.acceleration = acceleration
        self.warm_start = warm_start
        self.verbose = verbose

    # ---- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def _default_loss(self) -> Loss:
        """The loss for ``loss=None``."""

    @abstractmethod
    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        """The margins or residuals of linear scores of X, for the fitted classes."""

    @abstractmethod
    def _shaped(self, coef: Array, intercept: Array) -> tuple[Any, Any]:
        """Coefficients (c, d) and intercepts (c,) as fitted attributes have them."""

    @abstractmethod
    def _declared(self, X: Any, y: Any, weights: Array | None) -> Declaration:
        """The declaration of the objective for checked data."""

    def _label_weight(self, y: Any) -> Array | None:
        """A factor of each sample's weight."""
        return None

    # ---- the objective ---------------------------------------------------------------------------

    def spec(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Risk:
        """The declaration of the objective for some data, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``.

        Returns
        -------
        Risk
        """
        self._validate_params()
        X, y = check_X_y(X, y, **self._checks())
        return self._declared(X, y, self._sample_weight(sample_weight, X)).risk

    def objective_function(
        self, X: npt.ArrayLike, y: npt.ArrayLike, *, sample_weight: npt.ArrayLike | None = None
    ) -> tuple[float, float, float]:
        """The objective of the fitted function on some data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.
        sample_weight : array of shape (n,), optional
            As for ``fit``. Weights of the classes multiply them.

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
        rows = self._rows(scores, y, fit_intercept=False)  # scores are features of themselves
        risk = risk_of(rows, self._loss(), l2(0.0), weights)
        loss = risk(np.eye(scores.shape[1]).ravel())
        return loss + self._penalty_value, loss, self._penalty_value

    def _loss(self) -> Loss:
        return self._default_loss() if self.loss is None else self.loss

    # ---- data ------------------------------------------------------------------------------------

    def _checks(self) -> dict[str, Any]:
        sparse = False if self.kernel == "precomputed" else "csr"
        return {"accept_sparse": sparse, "dtype": np.float64}

    def _sample_weight(self, sample_weight: Any, X: Any) -> Array | None:
        if sample_weight is None:
            return None
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    # ---- declare ---------------------------------------------------------------------------------

    def _declare(
        self, X: Any, y: Any, weights: Array | None, build: RowBuilder, share: Weighing = None
    ) -> Declaration:
        """The risk of the samples of positive weight; `share` is a factor of a label's weight."""
        loss = self._loss()
        samples = distinct(X, y, weights, merge=not loss.is_joint)
        part, weights = samples.part, samples.weights
        labels = y[part]
        kernel = self._kernel_at(X, samples)
        if kernel is None:
            rows = build(X[part], labels, self.fit_intercept)
        else:
            K = kernel(X)[part][:, part]
            rows = on_kernel(K, lambda L: build(L, labels, self.fit_intercept))
        if share is not None:
            weights = share(labels) if weights is None else share(labels) * weights
        penalized = np.ones(rows.shape[1]) if self.penalize_intercept else None
        risk = risk_of(rows, loss, self.penalty or l2(1.0), weights, penalized)
        return Declaration(loss, risk, kernel, samples)

    def _kernel_at(self, X: Any, samples: Samples) -> Kernel | None:
        if self.kernel is None:
            return None
        form = (self.penalty or l2()).as_l1_l2(1)
        if form is None or np.any(form[0]):
            raise ValueError(
                f"kernel={self.kernel!r} with penalty={self.penalty!r}: a kernel machine's penalty "
                "is its squared norm; take l2(lam), or kernel=None"
            )
        gamma = 1.0
        if self.kernel in ("rbf", "poly"):
            gamma = width(self.gamma, X[samples.part], samples.weights)
        return Kernel(self.kernel, X, gamma, self.degree, self.coef0)

    # ---- minimise --------------------------------------------------------------------------------

    def _minimise(
        self, declared: Declaration, start: Any, X: Any, y: Any, sample_weight: Any
    ) -> None:
        """Run the solver, with the callbacks looking on, and keep the outcome."""
        data: dict[str, Any] = {"estimator": self, "X": X, "y": y}
        if sample_weight is not None:
            data["metadata"] = {"sample_weight": sample_weight}
        context = self._init_callback_context(max_subtasks=None).call_on_fit_task_begin(**data)
        starts: list[Array] = []

        def step(progress: Progress) -> bool:
            if not starts:
                starts.append(progress.x)
            if not hasattr(self, "_skl_callbacks"):
                return False
            inner = context.subcontext(task_name="step").call_on_fit_task_begin(**data)
            return inner.call_on_fit_task_end(
                **data, reconstruction_attributes=lambda: self._point(declared, progress.x)
            )

        def run(start: Any, max_iter: int, n_starts: int = 1) -> Result:
            with np.errstate(all="ignore"):
                return solve(
                    declared.risk,
                    start=start,
                    solver=self.solver,
                    tol=self.tol,
                    max_iter=max_iter,
                    n_starts=n_starts,
                    random_state=self.random_state,
                    acceleration=self.acceleration,
                    callback=step,
                    verbose=bool(self.verbose),
                )

        def tidy(theta: Array) -> Array:
            near = nearest(declared.risk, theta, starts[0]) if starts else theta
            return cleared(declared.risk, near, CLEARED * self.tol)

        result = run(start, self.max_iter, self.n_starts)
        if result.x is None:
            raise unusable(declared.risk, result.message)
        kept = refined(result, declared.risk, tidy, run, tol=self.tol, max_iter=self.max_iter)
        self._keep(declared, kept)
        context.call_on_fit_task_end(**data, reconstruction_attributes={})
        self._warn()

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

    def _warn(self) -> None:
        if self.result_.status not in ("converged", "interrupted"):
            warnings.warn(
                f"{self.result_.message}; increase max_iter or tol, or scale the data",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _start(self, declared: Declaration) -> Any:
        """The former solution where it is asked for and fits; otherwise the convex problem's."""
        if not self.warm_start or not hasattr(self, "result_"):
            return "convex"
        former = getattr(self, "coef_" if declared.kernel is None else "dual_coef_", ())
        start = declared.theta(np.atleast_2d(former), np.atleast_1d(self.intercept_))
        return "convex" if start is None else start

    def _point(self, declared: Declaration, theta: Array) -> dict[str, Any]:
        """Fitted attributes at θ."""
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
        """Scores f(x) of shape (n, c), of checked samples."""
        if self.kernel is None:
            return X @ np.atleast_2d(self.coef_).T + self.intercept_
        return self.kernel_(X) @ np.atleast_2d(self.dual_coef_).T + self.intercept_

    def _check_fitted(self, X: Any) -> Any:
        check_is_fitted(self)
        checks = {k: v for k, v in self._checks().items() if k != "y_numeric"}
        return validate_data(self, X, reset=False, **checks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
