"""The base class of all published classifiers: fit, declaration and objective on given data."""

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
    """A classifier that minimises the objective of its publication.

    A subclass defines the risk of data (:meth:`_declared`), its minimisation (:meth:`_fit`) and the
    loss and penalty of the fitted function (:meth:`_parts`).

    Attributes
    ----------
    classes_ : array of shape (k,)
    n_features_in_ : int
    """

    @abstractmethod
    def _declared(self, X: Any, y: Any, classes: Any) -> Risk:
        """The risk of validated data with at least two classes."""

    @abstractmethod
    def _fit(self, X: Any, y: Any) -> str | None:
        """Minimise the risk of validated data, set the fitted attributes and return a warning.

        The warning is None for a converged fit.
        """

    @abstractmethod
    def _parts(self, X: Any, y: Any) -> tuple[float, float]:
        """The loss and the penalty of the fitted function on data that are not validated yet."""

    def _triviality(self) -> str | None:
        """The warning for a trivial solution, None if there is none."""
        return None

    def _check_combinations(self) -> None:
        """Raise ValueError for an invalid combination of parameters."""

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
            Parameters are out of range or cannot be combined, the data are not finite, there are
            fewer than two classes, the solver does not accept the problem, or the numbers are so
            large that no point was found. With a kernel also: the kernel matrix exceeds
            ``memory_limit`` or is not symmetric and positive semidefinite, as that of a callable
            may be.
        """
        self._check_combinations()
        X, y = self._validated(X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        self._check_classes(classes)
        self.classes_ = classes
        doubt = self._fit(X, y)
        if doubt is not None:
            warnings.warn(doubt, ConvergenceWarning, stacklevel=3)  # reported at the user's line
        trivial = self._triviality()
        if trivial is not None:
            warnings.warn(trivial, TrivialSolutionWarning, stacklevel=3)
        return self

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The objective on the given data as a risk, which :func:`dcprog.solve` accepts.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        Risk
            A function of θ = (w_1, …, w_c, b_1, …, b_c), where w may be the coordinates of a
            kernel's factor, or of θ = (a, b) with f = Σ_j a_j k(·, x_j) + b.

        Raises
        ------
        ValueError
            As from ``fit``, or the objective is a sum over several two-class problems.
        """
        self._validate_params()
        self._check_combinations()
        X, y = self._checked(X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        self._check_classes(classes)
        return self._declared(X, y, classes)

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike) -> float:
        """The objective of the fitted function on the given data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.

        Returns
        -------
        float
            On the training data it is ``objective_``.
        """
        return self.objective_function(X, y)[0]

    def objective_function(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[float, float, float]:
        """The objective of the fitted function on the given data, with its loss and penalty.

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
