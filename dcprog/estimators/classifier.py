"""A classifier over any margin loss and any penalty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dcprog.estimators.base import RobustEstimator
from dcprog.estimators.coding import margins_of
from dcprog.estimators.declaration import Declaration
from dcprog.estimators.prediction import LargestScore
from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, cap, hinge
from dcprog.penalties import Penalty
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
    penalty : Penalty, optional
        ``l2(1.0)``, that is ½‖w‖², by default.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        f(x) = Σ_j a_j k(x, x_j) + b with the penalty λ/2·aᵀKa in the place of λ/2·‖w‖²; the penalty
        must be an ``l2``. A callable maps two sets of samples to their matrix. By default f is
        linear, which ``"linear"`` is too, at the cost of n × n numbers in the place of n × d.
    gamma : {"scale", "auto"} or float, default "scale"
        γ > 0 of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree: 1/(d·variance
        of X), 1/d, or a number.
    degree : int, default 3
        Of ``"poly"``.
    coef0 : float, default 0.0
        Of ``"poly"``, not negative.
    fit_intercept : bool, default True
        Whether there is b.
    penalize_intercept : bool, default False
        Whether the penalty sees b too, as a coefficient.
    multiclass : {"angle", "ovr"}, default "angle"
        How more than two classes are coded: k − 1 components, or k.
    class_weight : dict, "balanced" or None, default None
        Multiplies the samples' weights: by class, or inversely to the classes' total weights.
    solver : str, default "auto"
        For the convex subproblems: the fastest that takes them, one of
        :mod:`dcprog.solvers.registry`, or a cvxpy solver by name. ``result_.solver`` says which.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times what the
        terms of the objective add up to.
    max_iter : int, default 100
        Tightenings of the majorant from each start.
    n_starts : int, default 1
        Starts: the convex problem with the base loss, then random halves and random points.
    random_state : int, RandomState or None, default None
        Seed of the starts after the first; None is a fixed seed.
    acceleration : {"linesearch", "squarem"}, optional
        As in :func:`dcprog.solve`.
    warm_start : bool, default False
        Start from the former solution where its shape fits. From large penalties to small ones
        that can be a trap: where w is almost 0, the loss may have given up all that would move it.
    verbose : bool, default False
        Log a line a step.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        c = 1 for two classes, k − 1 with ``"angle"`` and k with ``"ovr"``; none for kernels other
        than the linear one.
    intercept_ : array of shape (c,)
    dual_coef_ : array of shape (c, n)
        a, with a kernel.
    kernel_ : Kernel
        k(·, x_j), with a kernel.
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
    objective_ : float
        The objective at the solution, with the training weights.
    n_iter_ : int
        Steps taken, at least 1.
    n_features_in_ : int
    result_ : Result
        The run, with history and certificate; ``result_.x`` is θ of `spec_`.
    spec_ : Risk
        The minimised function. Equal samples are merged in it, and weighted ones reordered.

    Warns
    -----
    ConvergenceWarning
        `max_iter` was not enough, or no subproblem solver got further.

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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **RobustEstimator._parameter_constraints,
        "multiclass": [StrOptions({"angle", "ovr"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
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
        multiclass: str = "angle",
        class_weight: dict[Any, float] | str | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = None,
        acceleration: str | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            loss,
            penalty,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            n_starts=n_starts,
            random_state=random_state,
            acceleration=acceleration,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.multiclass = multiclass
        self.class_weight = class_weight

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> RobustClassifier:
        """Minimise the objective.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
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
        X, y = validate_data(self, X, y, **self._checks())
        weights = self._sample_weight(sample_weight, X)
        declared = self._declared(X, y, weights)
        classes, class_weight = self._classes(y, weights)
        same = np.array_equal(getattr(self, "classes_", ()), classes)
        start = self._start(declared) if same else "convex"
        self.classes_, self.class_weight_ = classes, class_weight
        self._minimise(declared, start, X, y, sample_weight)
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Scores of the classes: ⟨W_k, f(x)⟩, or f_k(x) with ``multiclass="ovr"``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

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
