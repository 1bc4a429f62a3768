"""Classifiers: of any margin loss and penalty, and the base of published linear ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dcprog.estimators.base import Declaration, feature_names, hardly_counting, samples_told
from dcprog.estimators.covariances import NO_ERRORS, loss_slope, transform_of
from dcprog.estimators.inference import INTERCEPT, CoefficientInference
from dcprog.estimators.kernels import Kernel, rows_of
from dcprog.estimators.loop import LoopEstimator
from dcprog.estimators.parameters import DeclaredEstimator, one_of, parameter
from dcprog.estimators.probabilities import (
    INFINITE,
    available_unless,
    has_finite_odds,
    multiplier_of,
    probabilities,
)
from dcprog.estimators.robust import RobustEstimator
from dcprog.estimators.robust_scales import SEEN
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.errors import warn
from dcprog.foundation.sums import (
    means,
    row_blocks,
    squared_norms,
    weighted_quantile,
    weighted_squares,
)
from dcprog.foundation.table import Table
from dcprog.foundation.tolerances import NEGLIGIBLE, ROUNDING
from dcprog.losses import Loss, cap, hinge, logistic
from dcprog.penalties import Penalty, l2
from dcprog.risk.risk import Risk
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices
from dcprog.rows.linear import binary_margins, class_index, class_margins
from dcprog.rows.scores import Scores
from dcprog.transforms import trim_of

# The end of the message for scores that are not log odds.
CALIBRATE = (
    "its scores are not log odds. sklearn.calibration.CalibratedClassifierCV(model) fits "
    "probabilities to them"
)
SEPARATED = (
    "the classes of the samples that count are separated, so that the coefficients grow without "
    "bound. Set a penalty such as l2(1.0)"
)


class Classifier(ClassifierMixin, DeclaredEstimator):
    """A classifier that predicts the class of the largest score.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The classes with samples of positive weight.
    """

    def _classes_of(self, y: Any, weights: Array | None = None) -> Any:
        """The classes with samples of positive weight, after a check that there are two."""
        check_classification_targets(y)
        classes = np.unique(y if weights is None else y[weights > 0])
        if len(classes) < 2:
            which = "the samples" if weights is None else "the samples of positive weight"
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but {which} are all of one "
                f"class, {classes.tolist()[0]!r}"
            )
        return classes

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest score; for two classes the sign of the only score decides.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)
        classes: npt.NDArray[Any] = self.classes_
        return classes[best]

    def _no_probabilities(self) -> str | None:
        """The reason why the scores tell no probabilities, None if they do."""
        return (
            f"the loss of {type(self).__name__} is no function of the logistic loss, as 'logistic' "
            "and, for two classes, 'capped_logistic' of RobustClassifier are (for k classes a cap "
            f"must be above k·log 2): {CALIBRATE}"
        )

    def _multiplier(self) -> float:
        """The multiplier of the scores whose softmax is the probabilities."""
        return 1.0

    @available_unless(lambda self: self._no_probabilities())
    def predict_proba(self, X: Any) -> Array:
        """The probabilities of the classes, if the base of the loss is the logistic loss.

        They are softmax(a·g) of the scores g of the classes (two classes: 1/(1 + exp(−a·f)) of the
        second), so that the class of the largest is the predicted one. Without a truncation a = 1.
        A truncated loss counts confident samples only if their label agrees with the score, and
        scores grow beyond the log odds: a undoes that
        (:func:`~dcprog.estimators.probabilities.multiplier_of`). Few samples tell a where two
        classes have a cap below 2: with 2000 samples of two features and caps 5, 3, 2.5, 2, 1.7 and
        1.5 the mean error was .013, .012, .014, .02–.03, .07–.22 and .05–.22.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k)

        Raises
        ------
        AttributeError
            The scores of the loss, or of the coding of several classes, are not log odds;
            scikit-learn's ``CalibratedClassifierCV`` fits probabilities to any scores.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return probabilities(scores, self._multiplier())


class LinearClassifier(Classifier, LoopEstimator):
    """A classifier by linear scores, or those of one kernel, with a table of its coefficients."""

    def _class_scores(self, scores: Array) -> Array:
        """The scores of the classes, (n, k), from those of the fit, (n, c); (n, 1) for two."""
        return scores

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores of the classes.

        Parameters
        ----------
        X : array, sparse matrix, memory-mapped or dask array of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
            Positive for the second of two.
        """
        scores = self._class_scores(self._scores(self._check_fitted(X)))
        return scores.ravel() if scores.shape[1] == 1 else scores

    @property
    def simplex_(self) -> Array:
        """The vertices W_1, …, W_k of the classes, of shape (k, k − 1)."""
        check_is_fitted(self)
        return simplex_vertices(len(self.classes_))

    def summary(self) -> Table:
        """Coefficients by feature and class, the intercept last if there is one.

        Each column is the linear score of a class; for two classes there is one column, the score
        of the second of ``classes_``. Where ``coef_`` holds the k − 1 components of an angle-based
        classifier, the scores are ``simplex_`` times those components. What moves a score by less
        than 1e-8 of what the largest coefficient moves it by is shown as 0.

        Returns
        -------
        Table
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine without ``coef_``.

        Examples
        --------
        >>> import numpy as np, dcprog as dc
        >>> X, y = np.array([[2.0, 0.0], [1.0, 1.0], [-1.0, 1.0], [-2.0, 0.0]]), [1, 1, 0, 0]
        >>> dc.RobustClassifier("hinge", "l2").fit(X, y).summary()
        RobustClassifier, scores by class, objective 0.5, converged
                           1
        x0                 1
        x1                 0
        intercept          0
        """
        check_is_fitted(self)
        fitted: Any = self
        if not hasattr(self, "coef_"):
            raise AttributeError("a kernel machine has no coefficients by feature to be shown")
        coef = np.atleast_2d(fitted.coef_)
        scores = np.column_stack([coef, np.broadcast_to(fitted.intercept_, len(coef))])
        if len(scores) not in (1, len(self.classes_)):
            scores = self.simplex_ @ scores
        moves = np.abs(scores) * np.append(self.spec_.rows.sizes, 1.0)
        scores = np.where(moves > NEGLIGIBLE * moves.max(), scores, 0.0)
        names = feature_names(self, coef.shape[1])
        if getattr(self, "fit_intercept", True):
            names = [*names, INTERCEPT]
        classes = self.classes_[1:] if len(scores) == 1 else self.classes_
        end = f"objective {self.objective_:.4g}, {self.result_.status}"
        return Table(
            f"{type(self).__name__}, scores by class, {end}",
            names,
            dict(zip(map(str, classes), scores[:, : len(names)], strict=True)),
        )


# ----------------------------------------------------------------------------------------------

# The rows of each coding, and the aggregate of a sample's losses; None if each counts by itself.
CODINGS: dict[str, tuple[Callable[..., Scores], str | None]] = {
    "crammer_singer": (angle_differences, "max"),
    "weston_watkins": (angle_differences, "sum"),
    "angle": (angle_margins, None),
    "ovr": (class_margins, None),
}

# The hinge at margin −1. A cap of 1 makes it cheaper to give up all samples of the rarer class than
# to have coefficients where classes overlap: on the German credit data at λ = 24.
CAP = 2.0

# With more coefficients, steps on all scores jointly are expensive: 600 samples of 784 features and
# 10 classes took half a second class by class, and more than five minutes jointly.
MANY = 1000


class RobustClassifier(LinearClassifier, CoefficientInference, RobustEstimator):
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
        ℓ, a function of the margin; by default ``cap(hinge(), 2.0)`` with the cap ``loss__c``,
        which gives up a sample at margin −1, and with a penalty of your own ``"ramp"``, which is
        ``cap(hinge(), 1.0)``. A name is one of :func:`~dcprog.losses.named_loss`. A trimmed loss
        requires equal weights.
    penalty : str or Penalty, optional
        By default ``l2(lam)`` with λ = ½ s² (ℓ(−1) − ℓ(1)) min(1, n/d), where s² is the median
        squared distance of a sample from the middle of the samples: a sample gains nothing by a
        margin of its own, and a wrong label moves f only together with others. For d < n
        standardised features and the default loss λ is about d. ``penalty_`` tells it. A name or an
        object has its own weight: ``"l2"`` is ``l2(1.0)``.
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
    covariance_ : array of shape (d + 1, d + 1)
        For two classes and a loss of the logistic base: the covariance of ``coef_`` and the
        intercept by the sandwich formula (:func:`~dcprog.estimators.covariances.sandwich`), which
        takes the truncated objective as it is. A weight s_i counts as s_i samples. It is NaN, with
        a warning, if there is no penalty and the classes are separated. The coefficients are those
        that the penalty has shrunk, and intervals do not count by how much: ``l2(0.0)`` has those
        of textbooks. Computed on access.
    standard_errors_ : array of shape (d,)
        The roots of the diagonal of ``covariance_`` but for the intercept's.
    intercept_standard_error_ : float
        That of the intercept, 0 if it is not fitted.

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
    _by_data = ("penalty__lam",)

    _: KW_ONLY
    multiclass: str = parameter(one_of("auto", *CODINGS), default="auto")
    class_weight: dict[Any, float] | str | None = parameter(
        dict, one_of("balanced"), None, default=None
    )

    # ---- statistics of the logistic loss ---------------------------------------------------------

    def summary(self) -> Any:
        """Coefficients by feature, the intercept last if there is one.

        For two classes and a loss of the logistic base these are those of the second class, with
        standard errors, z, p-values and intervals; otherwise one column for each class, as
        :meth:`LinearClassifier.summary` describes it. The heading says whether the scores are log
        odds: those of a truncated loss grow beyond them. Intervals are those of coefficients shrunk
        by the penalty, the default one too: with ``l2(0.0)`` they are those of textbooks.

        Returns
        -------
        CoefficientTable or Table
            It prints as text; ``to_frame()`` returns a DataFrame.

        Raises
        ------
        AttributeError
            The estimator is a kernel machine without ``coef_``.
        """
        check_is_fitted(self)
        if hasattr(self, "coef_") and self._no_errors() is None:
            return CoefficientInference.summary(self)
        return super().summary()

    @property
    def covariance_(self) -> Array:
        """The covariance of the coefficients and the intercept, by the sandwich formula."""
        check_is_fitted(self)
        if self._no_errors() is not None or not hasattr(self, "coef_") or not self._is_unbounded():
            return super().covariance_
        warn(NO_ERRORS + SEPARATED, RuntimeWarning)
        return np.full((self.n_features_in_ + 1,) * 2, np.nan)

    def _is_unbounded(self) -> bool:
        """True if larger coefficients are always better: separated classes, no pull to 0."""
        theta: Any = self.result_.x
        margins = self.spec_.margins(theta)
        counted = loss_slope(self.spec_, theta)(margins) != 0
        is_free = np.all(self.penalty_.slope(np.ravel(self.coef_)) == 0)
        return bool(is_free and np.all(margins[counted] > 0))

    def _title(self) -> str:
        weight = self.outlier_weight_
        exact = self._no_probabilities() is None and self._multiplier() == 1
        kind = "log odds" if exact else "scores (not log odds)"
        return (
            f"{type(self).__name__}, {kind} of class {self.classes_[1]!s}, {samples_told(self)}, "
            f"{hardly_counting(weight)}, {self.result_.status}"
        )

    def _estimating(self) -> tuple[Risk, Array, float]:
        reason = self._no_errors()
        if reason is not None:
            raise AttributeError(reason)
        return super()._estimating()

    def _no_errors(self) -> str | None:
        """The reason why there are no standard errors, None if there are."""
        if not self._is_logistic():
            return (
                f"loss={self._loss()!r} has no standard errors: they need a loss with the logistic "
                "base, such as 'logistic' or 'capped_logistic'"
            )
        if len(self.classes_) > 2:
            return f"{len(self.classes_)} classes: standard errors are known for two classes only"
        return None

    def _no_probabilities(self) -> str | None:
        if not self._is_logistic():
            return super()._no_probabilities()
        k, transform = 2, self._loss().transform  # what more classes tell is known after the fit
        if hasattr(self, "result_"):
            theta: Any = self.result_.x
            k, transform = len(self.classes_), transform_of(self.spec_, theta)
            if k > 2 and self.multiclass_ != "weston_watkins":
                return (
                    f"multiclass_ of the fit is {self.multiclass_!r}, not 'weston_watkins': "
                    f"{CALIBRATE}"
                )
        if not isinstance(transform, trim_of) and not has_finite_odds(transform, k):
            return (
                f"the loss is truncated so low that scores are infinite at any odds of {k} classes "
                f"(a cap must be above {k * np.log(2):.3g}): {CALIBRATE}"
            )
        return None

    def _is_logistic(self) -> bool:
        """True if the loss is a function of the logistic loss."""
        try:
            loss = self._loss()
        except (TypeError, ValueError):  # a wrong parameter, which fit tells
            return False
        return isinstance(loss.base, logistic) and loss.subtracted is None

    def _multiplier(self) -> float:
        theta: Any = self.result_.x
        return multiplier_of(self.spec_, theta, self._repeats)

    # ---- the objective ---------------------------------------------------------------------------

    def _class_scores(self, scores: Array) -> Array:
        """⟨W_k, f(x)⟩, or f_k(x) with ``"ovr"``."""
        plain = len(self.classes_) == 2 or self.multiclass_ == "ovr"
        return scores if plain else scores @ self.simplex_.T

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        classes, self.class_weight_ = self._weighted_classes(X, y, sample_weight)
        if not np.array_equal(getattr(self, "classes_", ()), classes):
            self.__dict__.pop("result_", None)  # no start for other classes
        self.classes_ = classes
        self.multiclass_ = self._coding(X, len(classes))

    def _weighted_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array]:
        """The classes with samples of positive weight, and the class weights."""
        weights = self._sample_weight(sample_weight, X)
        classes = self._classes_of(y, weights)
        if weights is not None:
            y, weights = y[weights > 0], weights[weights > 0]
        return classes, compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=weights
        )

    def _declared(self, X: Any, y: Any, sample_weight: Any = None) -> Declaration:
        classes, class_weight = self._weighted_classes(X, y, sample_weight)

        def share(labels: Any) -> Array:
            return class_weight[np.searchsorted(classes, labels)]

        k, coding = len(classes), self._coding(X, len(classes))
        margins, aggregate = _coded(coding, k)
        build = partial(margins, classes=classes)
        weigh = None if self.class_weight is None else share
        return self._declare(X, y, sample_weight, build, weigh, aggregate)

    def _coding(self, X: Any, k: int) -> str:
        """The coding to use: `multiclass` itself, or the choice of ``"auto"``.

        With few coefficients in all, differences of scores are clearly the most accurate:
        aggregated by the largest loss if the base is piecewise linear and nonincreasing, for which
        there is a fast solver, otherwise by their sum.
        """
        if self.multiclass != "auto":
            return self.multiclass
        size = X.shape[1] if self.kernel is None else X.shape[0]
        if (k - 1) * (size + 1) > MANY:
            return "ovr"
        base = self._loss().base
        is_linear = base.pieces is not None and not any(base.pieces.quadratic)
        falls = base.slope(np.array([INFINITE]))[0] <= 0  # the least margin has the largest loss
        return "crammer_singer" if is_linear and falls else "weston_watkins"

    def _label_weight(self, y: Any) -> Array:
        return self.class_weight_[class_index(y, self.classes_)[1]]

    def _default_loss(self) -> Loss:
        return cap(hinge(), CAP if self.penalty is None else 1.0)

    def _weighted(self, penalty: Penalty, rows: Scores, weights: Array | None) -> Penalty:
        centred = self.fit_intercept and not self.penalize_intercept
        lam = default_weight(self._loss(), rows, weights, centred)
        total = float(rows.X.shape[0] if weights is None else weights.sum())
        return l2(lam if self.normalize == "sum" else lam / total)

    def _rows(self, scores: Array, y: Any) -> Scores:
        margins, _ = _coded(self.multiclass_, len(self.classes_))
        return margins(scores, y, False, classes=self.classes_)

    def _aggregate(self) -> str | None:
        return _coded(self.multiclass_, len(self.classes_))[1]


def _coded(multiclass: str, k: int) -> tuple[Callable[..., Scores], str | None]:
    """The row builder and the aggregate for k classes."""
    return (binary_margins, None) if k == 2 else CODINGS[multiclass]


# ----------------------------------------------------------------------------------------------


class PaperClassifier(LinearClassifier):
    """A classifier with a linear score per class (one for two) that minimises a declared risk.

    A subclass declares its parameters, each by
    :func:`~dcprog.estimators.parameters.parameter`, and the risk by :meth:`_declare`. It may
    override the margins (:meth:`_margins`), the kernel (:meth:`_kernel_at`), the minimisation
    (:meth:`_solution`), the attributes learnt in a fit (:meth:`_learn`), the objective on other
    data that uses them (:meth:`_declare_fitted`), and the check for invalid combinations of
    parameters (:meth:`_check_combinations`).

    Attributes
    ----------
    coef_ : array of shape (c, d)
        The coefficients w_k as rows; c = 1 for two classes.
    intercept_ : array of shape (c,)

    Notes
    -----
    scikit-learn's callbacks (``set_callbacks``) see every step, and one that asks to stop ends the
    run.

    Examples
    --------
    >>> import numpy as np
    >>> import dcprog as dc
    >>> from dcprog.estimators import POSITIVE, parameter
    >>> class Ramp(dc.models.PaperClassifier):
    ...     lam: float = parameter(POSITIVE, default=1.0)
    ...     def _declare(self, rows):
    ...         return dc.Risk.from_loss(rows, dc.truncate(dc.hinge(), -1.0), dc.l2(self.lam))
    >>> X = np.array([[-3.0], [-2.0], [2.0], [3.0], [50.0]])
    >>> Ramp(lam=0.1).fit(X, [0, 0, 1, 1, 0]).predict(X)
    array([0, 0, 1, 1, 1])
    """

    fit_intercept = True  # a subclass may declare a parameter of that name

    @abstractmethod
    def _declare(self, rows: Scores) -> Risk:
        """The objective of the publication on the given margins."""

    def _declare_fitted(self, rows: Scores) -> Risk:
        """The objective on other samples' margins, with the values learnt in the fit."""
        return self._declare(rows)

    def _margins(self, k: int) -> Callable[..., Scores]:
        """The builder of margins of k classes: y·f(x) for two, ±f_j(x) of each class for more."""
        return _coded("ovr", k)[0]

    def _kernel_at(self, X: Any) -> Kernel | None:
        """The kernel of f, None for linear scores."""
        return None

    def _declared(self, X: Any, y: Any, sample_weight: Any = None) -> Declaration:
        classes, kernel = self._classes_of(y), self._kernel_at(X)
        margins = self._margins(len(classes))
        rows = rows_of(lambda Z: margins(Z, y, self.fit_intercept, classes), X, kernel)
        return Declaration(self._declare(rows), kernel)

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        self.classes_ = self._classes_of(y)

    def _fitted_risk(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Risk, Array]:
        check_is_fitted(self)
        X, y = self._validated(X, y, reset=False)
        scores = self._scores(X)
        margins = self._margins(len(self.classes_))
        risk = self._declare_fitted(margins(scores, y, False, self.classes_))
        return risk, np.eye(scores.shape[1]).ravel()


# ----------------------------------------------------------------------------------------------


STEPS = 2  # concentration steps; the first may start from a mean that outliers have moved


def default_weight(loss: Loss, rows: Scores, weights: Array | None, centred: bool) -> float:
    r"""The weight of ½‖w‖² at which a sample gains nothing by a margin of its own.

    .. math::
        \lambda = \tfrac12\, s^2\, (\ell(-1) - \ell(1))\, \min(1, n/d), \qquad
        s^2 = \operatorname{med}_i \|x_i - m\|^2

    with the largest column cut to the sum of all others (:func:`even_share`): the coefficient of a
    dominating column is shared by all samples, and no single sample can move it for itself alone.

    To move the margin of one sample from −1 to 1, w must move by 2/‖x_i − m‖, which costs
    ½λ(2/s)²; without the last factor that is what the loss falls. A wrong label then moves f only
    together with others. With fewer samples n than features d each sample is alone, right or wrong:
    s² counts as many features as there are samples. The fit does not change if all features are
    multiplied by the same number or, with a free intercept, if the samples are shifted, nor if the
    loss is multiplied by a number.

    Parameters
    ----------
    loss : Loss
        A loss of margins; of a trimmed loss the base counts.
    rows : Scores
        The samples, of which 5000 evenly spaced ones are used if there are more.
    weights : array of shape (n,), optional
        The number of times each sample counts.
    centred : bool
        Whether m is the mean of the half of the samples closest to it, as for a free intercept;
        otherwise m = 0.

    Returns
    -------
    float
        λ; 1 if the samples are all equal, or the loss does not fall.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> from dcprog.estimators.classifier import default_weight
    >>> rows = dc.binary_margins(np.array([[3.0], [-3.0], [3.0], [-3.0]]), [1, 0, 1, 0])
    >>> default_weight(dc.cap(dc.hinge(), 2.0), rows, None, True)
    9.0
    """
    ends = np.array([-1.0, 1.0])
    high, low = loss.base(ends) if loss.is_joint else loss(ends)
    n, d = rows.X.shape
    share = min(1.0, n / max(d, 1))
    found = float(0.5 * (high - low) * share * typical_square(rows.X, weights, centred))
    return found if 0 < found < np.inf else 1.0


def typical_square(X: Any, weights: Array | None, centred: bool) -> float:
    """The median squared distance of the samples from their centre, of those not in it.

    The largest column is cut to the sum of all others.
    """
    n = X.shape[0]
    weights = np.ones(n) if weights is None else weights
    if n > SEEN or isinstance(X, BlockedMatrix):
        seen = np.linspace(0, n - 1, min(n, SEEN)).astype(int)
        X, weights = X[seen], weights[seen]
    if centred and not isinstance(X, np.ndarray):
        X = shifted(X)
    norms = None if isinstance(X, np.ndarray) else squared_norms(X)
    centre: Array = np.zeros(X.shape[1])
    near = weights
    for _ in range(1 + STEPS if centred else 0):
        centre = X.T @ (near / near.sum())
        squares = squared_distances(X, centre, norms)
        near = np.where(squares <= weighted_quantile(squares[None], weights), weights, 0.0)
    squares = squared_distances(X, centre, norms)
    apart = squares > 0
    if not np.any(apart):
        return 0.0
    found = float(weighted_quantile(squares[None, apart], weights[apart])[0])
    drawn = weights * (found / np.maximum(squares, found))  # samples farther away, to that distance
    return found * even_share(X, centre, drawn)


def shifted(X: Any) -> Any:
    """Sparse X less the means of its columns without zeros: squares of large means would round."""
    n, d = X.shape
    full = np.bincount(X.indices, minlength=d) == n
    if not np.any(full):
        return X
    X = X.copy()
    X.data -= np.where(full, means(X), 0.0)[X.indices]
    return X


def even_share(X: Any, centre: Array, weights: Array) -> float:
    """The share that remains if the largest column is cut to the sum of all others.

    Squared distances from the centre are shared out among the columns. Constant columns count as
    none, and one column alone is not cut.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.estimators.classifier import even_share
    >>> X = np.array([[9.0, 1.0], [-9.0, -1.0]])
    >>> even_share(X, np.zeros(2), np.ones(2)), even_share(X[:, :1], np.zeros(1), np.ones(2))
    (0.024390243902439025, 1.0)
    """
    if isinstance(X, np.ndarray):
        parts = (weights[part] @ (X[part] - centre) ** 2 for part in row_blocks(X))
        sizes: Array = sum(parts, np.zeros(centre.size))
        exact = ROUNDING**2
    else:
        further = centre * (centre * weights.sum() - 2 * (X.T @ weights))
        sizes = weighted_squares(X, weights) + further
        exact = ROUNDING
    sizes = np.sort(sizes[sizes > exact * weights.sum() * centre**2])
    others = float(np.sum(sizes[:-1]))
    return min(1.0, 2 * others / (others + float(sizes[-1]))) if others > 0 else 1.0


def squared_distances(X: Any, centre: Array, norms: Array | None = None) -> Array:
    """The squared distances of the rows of X from a point, 0 where they are rounding errors.

    The squared norms of sparse rows may be given.
    """
    here = centre @ centre
    if not isinstance(X, np.ndarray):
        norms = (squared_norms(X) if norms is None else norms) + here
        squares = norms - 2 * (X @ centre)
        return np.where(squares > ROUNDING * norms, squares, 0.0)
    squares = np.concatenate([np.sum((X[part] - centre) ** 2, axis=1) for part in row_blocks(X)])
    return np.where(squares > ROUNDING**2 * here, squares, 0.0)
