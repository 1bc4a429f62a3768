"""Classifiers of published models: a subclass is a declaration and its docstring."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dcprog.engine.result import Result
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.loop_options import LoopOptions
from dcprog.estimators.margins import margins_of
from dcprog.estimators.prediction import LargestScore
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.arrays import Array
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import Scores

__all__ = ["PaperClassifier", "Solution"]


@dataclass(frozen=True)
class Solution:
    """What a fit has found.

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


class PaperClassifier(LargestScore, SampleInput, ClassifierMixin, LoopOptions, ABC):
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
    classes_ : array of shape (k,)
    """

    fit_intercept = True  # a subclass may declare a parameter of that name

    _: KW_ONLY
    n_jobs: int | None = parameter(Integral, None, default=None)

    # ---- what a subclass says --------------------------------------------------------------------

    @abstractmethod
    def _declare(self, rows: Scores) -> Risk:
        """The objective of the publication on the margins of some samples."""

    def _margins(self, k: int) -> Callable[..., Scores]:
        """What builds the margins of k classes: y·f(x) of two, ±f_j(x) of each of several."""
        return margins_of("ovr", k)

    def _rows(self, X: Any, y: Any, classes: Any) -> Scores:
        """The margins of the training samples, of linear scores."""
        return self._margins(len(classes))(X, y, self.fit_intercept, classes)

    def _solution(self, spec: Risk) -> Solution:
        """The way to the minimum."""
        return Solution(spec, self._run_refined(spec))

    def _learn(self, X: Any) -> None:
        """Set further attributes; those of the solution are set."""

    def _declare_fitted(self, rows: Scores) -> Risk:
        """The objective on other samples' margins, with what the fit has learnt of it."""
        return self._declare(rows)

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together."""

    # ---- fit -------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Minimise the objective.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more classes.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            Parameters out of their range, or such as do not go together, data that are not finite,
            fewer than two classes, a solver that cannot take the problem, numbers so large that no
            point was found.
        """
        self._check_combinations()
        X, y = validate_data(self, X, y, **self._checks())
        check_classification_targets(y)
        classes = np.unique(y)
        spec = self._declared(X, y, classes)
        self.classes_ = classes
        solution = self._solution(spec)
        self._keep(solution)
        self._learn(X)
        self._warn_unless_converged(solution.judged or self.result_, stacklevel=4)
        return self

    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        """The risk of checked data."""
        if len(classes) < 2:
            raise ValueError(f"y holds {len(classes)} class; at least two classes are needed")
        return self._declare(self._rows(X, y, classes))

    def _keep(self, solution: Solution) -> None:
        """Set the attributes that every fit has."""
        theta: Any = solution.result.x
        self.spec_, self.result_ = solution.spec, solution.result
        self.objective_ = self.result_.value
        self.n_iter_ = max(1, solution.earlier + self.result_.n_iter)
        self._penalty_value = self.spec_.penalty_value(theta)
        self.coef_, self.intercept_ = self.spec_.rows.unpack(theta)

    # ---- the objective ---------------------------------------------------------------------------

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The declaration of the objective for some data, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        Risk
            Of θ = (w_1, …, w_c, b_1, …, b_c), or of a kernel's coordinates.
        """
        self._validate_params()
        self._check_combinations()
        X, y = check_X_y(X, y, **self._checks())
        check_classification_targets(y)
        return self._declared(X, y, np.unique(y))

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The objective of the fitted function on some data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        float
            On the training data ``objective_``.
        """
        return self.objective_function(X, y)[0]

    def objective_function(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float, float]:
        """The objective of the fitted function on some data, and what it is made of.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        total, loss, penalty : float
            total = loss + penalty; on the training data it is ``objective_``.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, reset=False, **self._checks())
        loss = self._loss_of_scores(self._scores(X), y, self._declare_fitted)
        return loss + self._penalty_value, loss, self._penalty_value

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
        scores = self._scores(validate_data(self, X, reset=False, **self._checks()))
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Array:
        """Scores f(x) of shape (n, c), of checked samples."""
        return X @ self.coef_.T + self.intercept_
