"""Classifiers of published models: a subclass is a declaration and its docstring."""

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
    """The solution of a fit.

    Attributes
    ----------
    spec : Risk
        The function that was minimised in the end.
    result : Result
        The run that minimised it.
    judged : Result or None
        The run that has to have converged, if that is another one.
    earlier : int
        Steps taken before that run.
    """

    spec: Risk
    result: Result
    judged: Result | None = None
    earlier: int = 0


class PaperClassifier(CallbackSupportMixin, Coefficients, PaperEstimator, LoopOptions):
    """A classifier by linear scores of its classes, one of two, that minimises a declared risk.

    A subclass declares its parameters, each by
    :func:`~dcprog.estimators.declared_estimator.parameter`, and the risk by :meth:`_declare`. What
    else a publication may have of its own, each in a method that may be replaced: other margins
    (:meth:`_margins`), another way to the minimum (:meth:`_solution`), values that the fit learns
    (:meth:`_learn`) and that the objective of other data keeps (:meth:`_declare_fitted`), and
    combinations of parameters that cannot be (:meth:`_check_combinations`).

    Parameters
    ----------
    n_jobs : int, optional
        Processes for the starts, by joblib.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        Rows w_k; c = 1 for two classes.
    intercept_ : array of shape (c,)

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run.
    """

    fit_intercept = True  # a subclass may declare a parameter of that name

    _: KW_ONLY
    n_jobs: int | None = parameter(Integral, None, default=None)

    # ---- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def _declare(self, rows: Scores) -> Risk:
        """The objective of the publication on the margins of some samples."""

    def _margins(self, k: int) -> Callable[..., Scores]:
        """The function that builds margins of k classes: y·f(x) of two, ±f_j(x) of several."""
        return margins_of("ovr", k)

    def _rows(self, X: Any, y: Any, classes: Any) -> Scores:
        """The margins of the training samples, of linear scores."""
        return self._margins(len(classes))(X, y, self.fit_intercept, classes)

    def _solution(self, spec: Risk, callback: Callback) -> Solution:
        """The way to the minimum; the callback wants to be told of every step."""
        return Solution(spec, self._run_refined(spec, callback=callback))

    def _learn(self) -> None:
        """Set further attributes; those of the solution are set."""

    def _declare_fitted(self, rows: Scores) -> Risk:
        """The objective on other samples' margins, with what the fit has learnt of it."""
        return self._declare(rows)

    # ---- fit -------------------------------------------------------------------------------------

    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        return self._declare(self._rows(X, y, classes))

    def _fit(self, X: Any, y: Any) -> str | None:
        spec = self._declared(X, y, self.classes_)
        watch = Watch(self, lambda theta: self._point(spec, theta, X), X, y)
        # where nobody looks on, starts may be run in processes
        solution = self._solution(spec, watch.step if watch.is_needed else None)
        theta: Any = solution.result.x
        self._keep(solution, self._point(solution.spec, theta, X))
        watch.end()
        return self._doubt(solution.judged or solution.result)

    def _triviality(self) -> str | None:
        return self._trivial(self.spec_, self.result_)

    def _point(self, spec: Risk, theta: Array, X: Any) -> dict[str, Any]:
        """The attributes of the function of θ, learnt from X."""
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
        """The loss part; scores are features of themselves."""
        rows = self._margins(len(self.classes_))(scores, y, False, self.classes_)
        return declare(rows).with_penalty(l2(0.0))(np.eye(scores.shape[1]).ravel())

    # ---- the fitted function ---------------------------------------------------------------------

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores x·w_k + b_k.

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
        """Scores f(x) of shape (n, c), of checked samples."""
        return scores_of(X, self.coef_, self.intercept_)
