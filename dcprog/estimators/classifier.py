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
from dcprog.estimators.coefficients import Coefficients
from dcprog.estimators.declaration import Declaration
from dcprog.estimators.declared_estimator import parameter
from dcprog.estimators.margins import CODINGS, aggregate_of, coding_of, margins_of
from dcprog.estimators.parameter_constraints import one_of
from dcprog.estimators.prediction import LargestScore
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, cap, hinge
from dcprog.rows.angle import simplex_vertices
from dcprog.rows.scores import Scores
from dcprog.rows.targets import class_index

__all__ = ["RobustClassifier"]


class RobustClassifier(LargestScore, ClassifierMixin, Coefficients, RobustEstimator):
    r"""Classifier for any margin loss ℓ and any penalty.

    It minimises

    .. math::
        \sum_i s_i\, \ell(u_i) + \text{penalty}(w), \qquad u_i = y_i (w^\top x_i + b),

    a sum, with y_i = +1 for the second of two classes and −1 for the first, and the weight s_i of
    a sample (1 by default). The intercept b is not penalised by default. The fit is robust if ℓ is
    a concave function of a convex loss, such as ``cap(hinge(), 1.0)``: a sample of large loss then
    weighs less, or nothing.

    With k > 2 classes, class j is the vertex W_j of a regular simplex in k − 1 dimensions, f has
    k − 1 components, and the class of the largest score g_j = ⟨W_j, f(x)⟩ is predicted. A sample
    has several margins, and ℓ = φ(base) combines them into one loss:

    =================== ============================ ================================
    ``multiclass``      margins                      loss of a sample
    ``crammer_singer``  g_y − g_j for every j ≠ y    φ(max_j base)
    ``weston_watkins``  g_y − g_j for every j ≠ y    φ(Σ_j base)
    ``angle``           g_y/(k − 1), −g_j for j ≠ y  Σ_j ℓ
    ``ovr``             ±f_j, of k components f_j    Σ_j ℓ
    =================== ============================ ================================

    ``"auto"`` chooses ``crammer_singer`` for losses with a nonincreasing piecewise linear base,
    such as hinges, ``weston_watkins`` for other losses, and ``ovr`` (one against the rest) if there
    are more than 1000 coefficients, (k − 1)(d + 1). The codings with joint scores would then solve
    a system of min(n, d)·(k − 1) unknowns a step: with 600 samples, 784 features and ten classes a
    run takes five minutes, against half a second for ``ovr``. A ``time_limit`` stops such a run and
    keeps the best point so far. A trimmed loss drops the samples of the largest losses.

    Parameters
    ----------
    loss : str or Loss, optional
        ℓ, a function of the margin; ``"ramp"``, which is ``cap(hinge(), 1.0)`` with the cap
        ``loss__c``, by default; a name is one of :func:`dcprog.losses.names.named_loss`. A trimmed
        loss requires equal weights.
    multiclass : {"auto", "crammer_singer", "weston_watkins", "angle", "ovr"}, default "auto"
        The coding of more than two classes.
    class_weight : dict, "balanced" or None, default None
        Multiplies the samples' weights: by class, or inversely to the classes' total weights.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        c = 1 for two classes, k with ``"ovr"``, otherwise k − 1. Not set with a kernel other than
        ``"linear"``.
    intercept_ : array of shape (c,)
    dual_coef_ : array of shape (c, n)
        The coefficients a, with a kernel.
    objective_ : float
        The objective at the solution, with the training weights.
    classes_ : array of shape (k,)
        The classes with samples of positive weight.
    class_weight_ : array of shape (k,)
    multiclass_ : str
        The coding that was used.
    simplex_ : array of shape (k, k − 1)
        The vertices W_j.
    outlier_weight_ : array of shape (n,)
        Weight of each training sample's base loss in the majorant at the solution: 1 for a sample
        that counts as in the convex problem, 0 for one that the loss gave up, or whose weight is
        0. It is the slope of ℓ over that of its base, the least over a sample's margins: below 0
        where a difference of losses falls while its base grows.

    See Also
    --------
    RobustRegressor : The analogous estimator for losses of residuals.
    dcprog.models : Published models, in their own parametrisation.

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run. If the objective does not determine the intercepts, for example because the loss has given
    up all samples that would, intercepts close to those of the start are chosen.

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

    Parameters of a named loss or penalty can be set, and searched, from the start:

    >>> RobustClassifier().set_params(loss__c=2.0, penalty__lam=0.1)
    RobustClassifier(loss=cap(c=2.0, loss=hinge()), penalty=l2(lam=0.1))
    """

    _of_residuals = False

    _: KW_ONLY
    multiclass: str = parameter(one_of(*CODINGS), default="auto")
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
            Parameters are out of range, the data are not finite, there are fewer than two classes,
            the solver does not accept the problem, or the numbers are so large that no point was
            found.
        """
        X, y = self._validated(X, y)
        weights = self._sample_weight(sample_weight, X)
        declared = self._declared(X, y, weights)
        classes, class_weight = self._classes(y, weights)
        same = np.array_equal(getattr(self, "classes_", ()), classes)
        start = self._start(declared) if same else "auto"
        self.classes_, self.class_weight_ = classes, class_weight
        self.multiclass_ = self._coding(X, len(classes))
        self._minimise(declared, start, X, y, sample_weight)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the classes: ⟨W_k, f(x)⟩, or f_k(x) with ``"ovr"``.

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
        return scores if self.multiclass_ == "ovr" else scores @ self.simplex_.T

    @property
    def simplex_(self) -> Array:
        """The vertices W_1, …, W_k, of shape (k, k − 1)."""
        check_is_fitted(self)
        return simplex_vertices(len(self.classes_))

    def _classes(self, y: Any, weights: Array | None) -> tuple[Any, Array]:
        """The classes with samples of positive weight, and the class weights."""
        check_classification_targets(y)
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        classes = np.unique(y)
        if len(classes) < 2:
            which = "the samples" if weights is None else "the samples of positive weight"
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but {which} are all of one "
                f"class, {classes.tolist()[0]!r}"
            )
        return classes, compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=weights
        )

    def _declared(self, X: Any, y: Any, weights: Array | None) -> Declaration:
        classes, class_weight = self._classes(y, weights)

        def weigh(labels: Any) -> Array:
            return class_weight[np.searchsorted(classes, labels)]

        k, coding = len(classes), self._coding(X, len(classes))
        build = partial(margins_of(coding, k), classes=classes)
        share = None if self.class_weight is None else weigh
        return self._declare(X, y, weights, build, share, aggregate_of(coding, k))

    def _coding(self, X: Any, k: int) -> str:
        size = X.shape[1] if self.kernel is None else X.shape[0]
        return coding_of(self.multiclass, k, size + 1, self._loss())

    def _label_weight(self, y: Any) -> Array:
        return self.class_weight_[class_index(y, self.classes_)[1]]

    def _default_loss(self) -> Loss:
        return cap(hinge(), 1.0)

    def _rows(self, X: Any, y: Any, fit_intercept: bool) -> Scores:
        margins = margins_of(self.multiclass_, len(self.classes_))
        return margins(X, y, fit_intercept, classes=self.classes_)

    def _aggregate(self) -> str | None:
        return aggregate_of(self.multiclass_, len(self.classes_))

    def _shaped(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        return coef, intercept
