"""Base of classifiers of published models: fit, declaration and objective for some data."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.declared_estimator import DeclaredEstimator
from dcprog.estimators.prediction import LargestScore
from dcprog.estimators.sample_input import SampleInput
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.risk.risk import Risk

__all__ = ["PaperEstimator"]


class PaperEstimator(LargestScore, SampleInput, ClassifierMixin, DeclaredEstimator, ABC):
    """A classifier that minimises what its publication does.

    A subclass says how data become a risk (:meth:`_declared`), how its minimum is found and kept
    (:meth:`_fit`), and what the fitted function costs (:meth:`_parts`).

    Attributes
    ----------
    classes_ : array of shape (k,)
    n_features_in_ : int
    """

    @abstractmethod
    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        """The risk of checked data, of at least two classes."""

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> str | None:
        """Minimise the risk of checked data of the classes ``classes_``; what to warn of, if any.

        It sets the fitted attributes.
        """

    @abstractmethod
    def _parts(self, X: Any, y: Any) -> tuple[float, float]:
        """Loss and penalty of the fitted function on data as they come."""

    def _triviality(self) -> str | None:
        """The reason why a fit says little of the data, if there is one."""
        return None

    def _check_combinations(self) -> None:
        """Refuse parameters that do not go together."""

    def _check_classes(self, classes: Any) -> None:
        if len(classes) < 2:
            raise ValueError(f"y holds {len(classes)} class; at least two classes are needed")

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
            point was found. Of a kernel matrix: more than ``memory_limit``, or one that is not
            symmetric and positive semidefinite (as that of ``"poly"`` with coef0 < 0, or a
            callable's, may be).
        """
        self._check_combinations()
        X, y = self._validated(X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        self._check_classes(classes)
        self.classes_ = classes
        doubt = self._fit(X, y)
        if doubt is not None:
            warnings.warn(doubt, ConvergenceWarning, stacklevel=3)  # at the user's line
        trivial = self._triviality()
        if trivial is not None:
            warnings.warn(trivial, TrivialSolutionWarning, stacklevel=3)
        return self

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The declaration of the objective for some data, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        Risk
            Of θ = (w_1, …, w_c, b_1, …, b_c), of a kernel's coordinates, or (a, b) of a function
            f = Σ_j a_j k(·, x_j) + b.

        Raises
        ------
        ValueError
            As from ``fit``; or the objective is a sum of several two-class problems.
        """
        self._validate_params()
        self._check_combinations()
        X, y = self._checked(X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        self._check_classes(classes)
        return self._declared(X, y, classes)

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
        loss, penalty = self._parts(X, y)
        return loss + penalty, loss, penalty
