"""A classifier over any margin loss and any penalty."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.base import RobustEstimator
from dcprog.estimators.declaration import Declaration
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.margins import margins_of
from dcprog.estimators.parameter_constraints import one_of
from dcprog.estimators.prediction import LargestScore
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, cap, hinge
from dcprog.rows.angle import simplex_vertices
from dcprog.rows.scores import Scores
from dcprog.rows.targets import class_index

__all__ = ["RobustClassifier"]


class RobustClassifier(LargestScore, ClassifierMixin, RobustEstimator):
    r"""Classifier by the margin loss ℓ and the penalty of one's choice: the minimiser of

    .. math::
        \sum_i s_i\, \ell(u_i) + \text{penalty}(w), \qquad u_i = y_i (w^\top x_i + b),

    a sum, with y_i = +1 for the second of two classes and −1 for the first, and the weight s_i of
    a sample (1 by default). The intercept b is free. Robust is what a concave function of a convex
    loss, as ``cap(hinge(), 1.0)``, makes of it: a sample of large loss weighs less, or nothing.

    Of k > 2 classes, class j is the vertex W_j of a regular simplex in k − 1 dimensions, f has
    k − 1 components, and the class of the largest ⟨W_j, f(x)⟩ is predicted. Each sample has k
    margins whose losses add: ⟨W_{y_i}, f(x_i)⟩/(k − 1) and −⟨W_j, f(x_i)⟩ for every other class.
    With ``multiclass="ovr"`` every class has its own component f_j, and the margins are ±f_j(x_i).
    A trimmed loss drops the samples of the largest sums.

    Parameters
    ----------
    loss : Loss, optional
        ℓ, a function of the margin; ``cap(hinge(), 1.0)`` by default. A search over ``loss__c``
        needs it given. A trimmed loss takes no weights that differ.
    multiclass : {"angle", "ovr"}, default "angle"
        How more than two classes are coded: k − 1 components, or k.
    class_weight : dict, "balanced" or None, default None
        Multiplies the samples' weights: by class, or inversely to the classes' total weights.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        c = 1 for two classes, k − 1 with ``"angle"`` and k with ``"ovr"``; none for kernels other
        than the linear one.
    intercept_ : array of shape (c,)
    dual_coef_ : array of shape (c, n)
        a, with a kernel.
    objective_ : float
        The objective at the solution, with the training weights.
    classes_ : array of shape (k,)
        The classes that have weight.
    class_weight_ : array of shape (k,)
    simplex_ : array of shape (k, k − 1)
        The vertices W_j.
    outlier_weight_ : array of shape (n,)
        Weight of each training sample's base loss in the majorant at the solution: 1 for a sample
        that counts as in the convex problem, 0 for one that the loss gave up, or whose weight is
        0. It is the slope of ℓ over that of its base, the least over a sample's margins: below 0
        where a difference of losses falls while its base grows.

    See Also
    --------
    RobustRegressor : The same for residuals.
    dcprog.models : Published models, in their own parametrisation.

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run. Where the objective leaves the intercepts undetermined, as when all samples that would
    hold them are given up, about those nearest to the start's are taken.

    References
    ----------
    Shen, Tseng, Zhang, Wong (2003), On ψ-learning, JASA 98. Wu, Liu (2007), Robust truncated hinge
    loss support vector machines, JASA 102. Zhang, Liu (2014), Multicategory angle-based
    large-margin classification, Biometrika 101.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators import RobustClassifier
    >>> from dcprog.penalties import l2
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0], [2.0]])
    >>> y = ["low"] * 3 + ["high"] * 3 + ["low"]  # the last one is an outlier
    >>> model = RobustClassifier(penalty=l2(0.1)).fit(X, y)
    >>> model.predict([[0.1], [0.9], [2.0]])
    array(['low', 'high', 'high'], dtype='<U4')
    >>> model.outlier_weight_
    array([1., 1., 1., 1., 1., 1., 0.])
    >>> total, loss, penalty = model.objective_function(X, y)
    >>> bool(np.isclose(total, model.objective_))
    True
    """

    _: KW_ONLY
    multiclass: str = parameter(one_of("angle", "ovr"), default="angle")
    class_weight: dict[Any, float] | str | None = parameter(
        dict, one_of("balanced"), None, default=None
    )

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> RobustClassifier:
        """Minimise the objective.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more classes.
        sample_weight : array of shape (n,), optional
            s_i ≥ 0, not all 0. A sample of weight 0 is left out, a whole number repeats it.

        Returns
        -------
        RobustClassifier
            Itself.

        Raises
        ------
        ValueError
            Parameters out of their range, data that are not finite, fewer than two classes, a
            solver that cannot take the problem,
            numbers so large that no point was found.
        """
        X, y = self._validated(X, y)
        weights = self._sample_weight(sample_weight, X)
        declared = self._declared(X, y, weights)
        classes, class_weight = self._classes(y, weights)
        same = np.array_equal(getattr(self, "classes_", ()), classes)
        start = self._start(declared) if same else "auto"
        self.classes_, self.class_weight_ = classes, class_weight
        self._minimise(declared, start, X, y, sample_weight)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the classes: ⟨W_k, f(x)⟩, or f_k(x) with ``multiclass="ovr"``.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
            Positive for the second of two.
        """
        scores = self._scores(self._check_fitted(X))
        if len(self.classes_) == 2:
            return scores.ravel()
        return scores if self.multiclass == "ovr" else scores @ self.simplex_.T

    @property
    def simplex_(self) -> Array:
        """The vertices W_1, …, W_k, of shape (k, k − 1)."""
        check_is_fitted(self)
        return simplex_vertices(len(self.classes_))

    def _classes(self, y: Any, weights: Array | None) -> tuple[Any, Array]:
        """The classes that have weight, and the classes' own weights."""
        check_classification_targets(y)
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but the samples of positive "
                f"weight are all of one class, {classes[0]!r}"
            )
        return classes, compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=weights
        )

    def _declared(self, X: Any, y: Any, weights: Array | None) -> Declaration:
        classes, class_weight = self._classes(y, weights)

        def weigh(labels: Any) -> Array:
            return class_weight[np.searchsorted(classes, labels)]

        build = partial(margins_of(self.multiclass, len(classes)), classes=classes)
        return self._declare(X, y, weights, build, None if self.class_weight is None else weigh)

    def _label_weight(self, y: Any) -> Array:
        return self.class_weight_[class_index(y, self.classes_)[1]]

    def _default_loss(self) -> Loss:
        return cap(hinge(), 1.0)

    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        margins = margins_of(self.multiclass, len(self.classes_))
        return margins(X, y, fit_intercept, classes=self.classes_)

    def _shaped(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        return coef, intercept
