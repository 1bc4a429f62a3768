"""The base class of published linear classifiers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.callback import CallbackSupportMixin
from sklearn.utils.validation import check_is_fitted

from dcprog.engine.result import Result
from dcprog.estimators.callbacks import Watch
from dcprog.estimators.coefficients import Coefficients
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.loop_options import Callback, LoopOptions
from dcprog.estimators.margins import margins_of
from dcprog.estimators.paper_estimator import PaperEstimator
from dcprog.estimators.prediction import scores_of
from dcprog.foundation.arrays import Array
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.scores import Scores

__all__ = ["PaperClassifier", "Solution"]


@dataclass(frozen=True)
class Solution:
    """The outcome of a fit.

    Attributes
    ----------
    spec : Risk
        The risk of the final run.
    result : Result
        The result of the final run.
    judged : Result or None
        The run whose convergence is reported; None for `result`.
    earlier : int
        The number of steps before the final run.
    """

    spec: Risk
    result: Result
    judged: Result | None = None
    earlier: int = 0


class PaperClassifier(CallbackSupportMixin, Coefficients, PaperEstimator, LoopOptions):
    """A classifier with a linear score per class (one for two) that minimises a declared risk.

    A subclass declares its parameters, each by
    :func:`~dcprog.estimators.declared_estimator.parameter`, and the risk by :meth:`_declare`. It
    may override the margins (:meth:`_margins`), the minimisation (:meth:`_solution`), the
    attributes learnt in a fit (:meth:`_learn`), the objective on other data that uses them
    (:meth:`_declare_fitted`), and the check for invalid combinations of parameters
    (:meth:`_check_combinations`).

    Parameters
    ----------
    n_jobs : int, optional
        Number of joblib processes for the starts.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        The coefficients w_k as rows; c = 1 for two classes.
    intercept_ : array of shape (c,)

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run.
    """

    fit_intercept = True  # a subclass may declare a parameter of that name

    _: KW_ONLY
    n_jobs: int | None = parameter(Integral, None, default=None)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _declare(self, rows: Scores) -> Risk:
        """The objective of the publication on the given margins."""

    def _margins(self, k: int) -> Callable[..., Scores]:
        """The builder of margins of k classes: y·f(x) for two, ±f_j(x) of each class for more."""
        return margins_of("ovr", k)

    def _rows(self, X: Any, y: Any, classes: Any) -> Scores:
        """The margins of linear scores of the training samples."""
        return self._margins(len(classes))(X, y, self.fit_intercept, classes)

    def _solution(self, spec: Risk, callback: Callback) -> Solution:
        """Minimise the risk; the callback is called at every step."""
        return Solution(spec, self._run_refined(spec, callback=callback))

    def _learn(self) -> None:
        """Set further attributes, after those of the solution."""

    def _declare_fitted(self, rows: Scores) -> Risk:
        """The objective on other samples' margins, with the values learnt in the fit."""
        return self._declare(rows)

    # ---- fit -------------------------------------------------------------------------------------

    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        return self._declare(self._rows(X, y, classes))

    def _fit(self, X: Any, y: Any) -> str | None:
        spec = self._declared(X, y, self.classes_)
        watch = Watch(self, lambda theta: self._point(spec, theta, X), X, y)
        # a callback would keep the starts out of parallel processes
        solution = self._solution(spec, watch.step if watch.is_needed else None)
        theta: Any = solution.result.x
        self._keep(solution, self._point(solution.spec, theta, X))
        watch.end()
        return self._doubt(solution.judged or solution.result)

    def _triviality(self) -> str | None:
        return self._trivial(self.spec_, self.result_)

    def _point(self, spec: Risk, theta: Array, X: Any) -> dict[str, Any]:
        """The fitted attributes at θ."""
        coef, intercept = spec.rows.unpack(theta)
        return {"coef_": coef, "intercept_": intercept}

    def _keep(self, solution: Solution, point: dict[str, Any]) -> None:
        """Set the fitted attributes."""
        for name in ("coef_", "dual_coef_", "kernel_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(point)
        self.spec_, self.result_ = solution.spec, solution.result
        theta: Any = self.result_.x
        self.objective_ = self.result_.value
        self.n_iter_ = max(1, solution.earlier + self.result_.n_iter)
        self._penalty_value = self.spec_.penalty_value(theta)
        self._learn()

    # ---- the objective ---------------------------------------------------------------------------

    def _parts(self, X: Any, y: Any) -> tuple[float, float]:
        X, y = self._validated(X, y, reset=False)
        loss = self._loss_of_scores(self._scores(X), y, self._declare_fitted)
        return loss, self._penalty_value

    def _loss_of_scores(self, scores: Array, y: Any, declare: Any) -> float:
        """The loss part of the objective, with the scores as features and θ the identity."""
        rows = self._margins(len(self.classes_))(scores, y, False, self.classes_)
        return declare(rows).with_penalty(l2(0.0))(np.eye(scores.shape[1]).ravel())

    # ---- the fitted function ---------------------------------------------------------------------

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores x·w_k + b_k.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, c), or (n,) for two classes
            Positive for the second of two.
        """
        check_is_fitted(self)
        scores = self._scores(self._validated(X, reset=False))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Array:
        """The scores f(x) of validated samples, of shape (n, c)."""
        return scores_of(X, self.coef_, self.intercept_)
