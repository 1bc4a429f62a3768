"""Smooth support vector machines with a 1-norm loss (Shen, Peng 2013; Lee, Mangasarian 2001)."""

from __future__ import annotations

import warnings
from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dcprog.engine.result import Result
from dcprog.estimators.refusal import unusable
from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss, pade_hinge, sigmoid_hinge, squared
from dcprog.models.linear import LinearScores
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.surrogates.driver import solve
from dcprog.transforms import trim_of

__all__ = ["SmoothSVC"]

SMOOTHINGS = {"pade": pade_hinge, "sigmoid": sigmoid_hinge}
PERCENTILE = 90.0  # only slacks from there on are filtered in one step


class SmoothSVC(LinearScores, ClassifierMixin, BaseEstimator):
    r"""Linear classifier with a smoothed hinge and a penalised intercept.

    .. math::
        F(w, b) = \tfrac12 (\|w\|^2 + b^2) + C \sum_i \rho(t_i, \eta),
        \qquad t_i = 1 - y_i (w^\top x_i + b),

    with y_i ∈ {−1, +1} and ρ a smoothing of [t]_+ that lies above it: by at most 0.1/η for
    ``"pade"``, which is :math:`(1 + x)^5 / (2\eta(5 + 10x^2 + x^4))` with x = ηt inside the band
    |t| < 1/η and exactly [t]_+ outside, and by at most log(2)/η for ``"sigmoid"``, which is
    :math:`\log(1 + e^{\eta t}) / \eta`. With ``slack_norm=2`` the loss is
    :math:`\tfrac{C}{2} \sum_i \rho(t_i, \eta)^2`.

    F is strongly convex. Its only minimiser θ_η tends to the support vector machine with a
    penalised intercept, ‖θ_η − θ*‖² ≤ 2C·m·max(ρ − [t]_+), which is 0.2·C·m/η for Padé and m
    samples. Newton's method with Armijo's rule finds it; only samples in the band have curvature.

    More than two classes are fitted one against the rest, each by its own F.

    Parameters
    ----------
    C : float, default 1.0
        C > 0.
    eta : float, default 10.0
        Sharpness η > 0.
    smoothing : {"pade", "sigmoid"}, default "pade"
        Which ρ.
    slack_norm : {1, 2}, default 1
        Power of ρ in the loss.
    outlier_ratio : float, default 0.0
        0 ≤ ratio < 1. The K = ⌈ratio·m⌉ samples of largest loss are left out.
    filtering : {"one_step", "trimmed"}, default "one_step"
        ``"one_step"``: fit, leave out K samples, fit the rest once; as published, only samples
        whose slack is not below the 90th percentile are left out, which matters if ratio > 0.1.
        ``"trimmed"``: minimise ½(‖w‖² + b²) plus the loss without its K largest terms, a difference
        of convex functions, to a critical point. The former is one step of the latter.
    solver : str, default "auto"
        ``"newton_armijo"`` (``"auto"``), ``"newton"``, or, for the sigmoid, ``"cvxpy"`` or a cvxpy
        solver by name.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol·(1 + F). Without outliers
        F is convex, and Newton's method ends at rounding.
    max_iter : int, default 100
        Steps of the trimmed loss from each start.
    n_starts : int, default 1
        Starts of the trimmed loss: the plain fit, then random halves and random points.
    random_state : int, RandomState or None, default None
        Seed of the starts after the first; None is a fixed seed.
    verbose : bool, default False
        Log a line a step.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        Rows w_k; c = 1 for two classes.
    intercept_ : array of shape (c,)
    classes_ : array
    n_features_in_ : int
    outlier_ : bool array of shape (m,)
        The samples that the last fit left out.
    n_iter_ : int
        Steps taken after the plain fit, at least 1.
    objective_ : float
        The trimmed F at the solution; F itself if ``outlier_ratio=0``.
    result_ : Result
        The run, with history and certificate. After ``"one_step"`` its gap says how far the point
        is from being critical for the trimmed loss.
    spec_ : Risk
        The minimised function of θ = (w_1, …, w_c, b).

    Warns
    -----
    ConvergenceWarning
        `max_iter` was not enough, or no solver got further.

    Notes
    -----
    Where the publication and this class differ:

    - It prints 11 for the 10 of the denominator; with 11 the loss jumps at |t| = 1/η.
    - It says ρ > [t]_+ everywhere and ρ''(1/η) = 1; there is equality for |t| ≥ 1/η, and ρ'' = 0.
    - Its claim that the Padé smoothing withstands outliers that defeat the sigmoid does not hold
      where both are minimised to the end: all 1-norm losses have the break-down point of the hinge.
      ``outlier_ratio`` is what helps, in one step as long as the plain fit has not broken down, and
      with ``filtering="trimmed"`` and some `n_starts` beyond that.
    - For c > 2 classes a sample's loss is the sum over its c margins, and samples are left out as a
      whole. One step of the trimmed loss then orders them by Σρ, not by their slack, which differs
      by at most 0.1c/η.

    References
    ----------
    Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty term, iJOE 9.
    Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput. Optim. Appl. 20.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import SmoothSVC
    >>> X = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0], [-4.0]])
    >>> y = ["low", "low", "low", "high", "high", "high", "high"]  # the last one is an outlier
    >>> SmoothSVC().fit(X, y).coef_.round(2)
    array([[-0.58]])
    >>> model = SmoothSVC(outlier_ratio=1 / 7).fit(X, y)
    >>> model.coef_.round(2), np.flatnonzero(model.outlier_)
    (array([[-1.]]), array([6]))
    >>> model.predict([[-1.0], [1.0], [-4.0]])
    array(['low', 'high', 'low'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "smoothing": [StrOptions(set(SMOOTHINGS))],
        "slack_norm": [Interval(Integral, 1, 2, closed="both")],
        "outlier_ratio": [Interval(Real, 0, 1, closed="left")],
        "filtering": [StrOptions({"one_step", "trimmed"})],
        "solver": [str],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        C: float = 1.0,
        eta: float = 10.0,
        smoothing: str = "pade",
        slack_norm: int = 1,
        outlier_ratio: float = 0.0,
        filtering: str = "one_step",
        *,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.eta = eta
        self.smoothing = smoothing
        self.slack_norm = slack_norm
        self.outlier_ratio = outlier_ratio
        self.filtering = filtering
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> SmoothSVC:
        """Minimise F, or F without its largest losses.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, d)
        y : array of shape (m,)
            Two or more classes.

        Returns
        -------
        SmoothSVC
            Itself.

        Raises
        ------
        ValueError
            Parameters out of their range, data that are not finite, fewer than two classes, a
            ratio that leaves no sample,
            numbers so large that no point was found.
        """
        X, y = validate_data(self, X, y, **self.CHECKS)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        dropped = self._dropped(len(y))
        if dropped and self.filtering == "one_step":
            self._fit_and_filter(X, y, dropped)
        else:
            self.spec_ = self._declare(X, y, self.classes_, dropped / len(y))
            self.result_, theta = self._solve(self.spec_, n_starts=self.n_starts)
            self._warn_unless_converged()
            self.outlier_ = _left_out(self.spec_, theta)
        self.coef_, self.intercept_ = self.spec_.rows.unpack(self.result_.x)
        self.n_iter_ = max(1, self.result_.n_iter)
        self.objective_ = self.result_.value
        return self

    def _fit_and_filter(self, X: Any, y: Any, dropped: int) -> None:
        """The plain fit, and one step of the trimmed loss from there."""
        plain = self._declare(X, y, self.classes_, 0.0)
        self.result_, start = self._solve(plain)
        self._warn_unless_converged()
        margins = plain.margins(start).reshape(len(y), -1)
        slack = np.sum(np.maximum(1 - margins, 0), axis=1)
        large = int(np.sum(slack >= np.percentile(slack, PERCENTILE)))
        self.spec_ = self._declare(X, y, self.classes_, min(dropped, large) / len(y))
        self.outlier_ = _left_out(self.spec_, start)
        self.result_, _ = self._solve(self.spec_, start=start, max_iter=1, escape=False)

    def _solve(self, spec: Risk, **options: Any) -> tuple[Result, Array]:
        options = {"max_iter": self.max_iter, "random_state": self.random_state} | options
        result = solve(spec, solver=self.solver, tol=self.tol, verbose=self.verbose, **options)
        if result.x is None:
            raise unusable(spec, result.message)
        return result, result.x

    def _warn_unless_converged(self) -> None:
        if self.result_.status != "converged":
            warnings.warn(
                f"{self.result_.message}; increase max_iter or tol, or scale the data",
                ConvergenceWarning,
                stacklevel=4,
            )

    def spec(self, X: Any, y: Any) -> Risk:
        """The declaration F for some data, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, d)
        y : array of shape (m,)

        Returns
        -------
        Risk
            Trimmed by K samples, without the 90th percentile's rule.
        """
        self._validate_params()
        X, y = check_X_y(X, y, **self.CHECKS)
        check_classification_targets(y)
        return self._declare(X, y, np.unique(y), self._dropped(len(y)) / len(y))

    def objective(self, X: Any, y: Any) -> float:
        """F of the fitted coefficients on some data, without the share of samples left out.

        Parameters
        ----------
        X : array or sparse matrix of shape (m, d)
        y : array of shape (m,)
            Labels among ``classes_``.

        Returns
        -------
        float
            On the training data, ``objective_``.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, reset=False, **self.CHECKS)
        risk = self._declare(X, y, self.classes_, self.spec_.transform.fraction)
        return risk(risk.rows.pack(self.coef_, self.intercept_))

    def _dropped(self, m: int) -> int:
        """The number of samples left out, K."""
        dropped = ceil(self.outlier_ratio * m - 1e-9)  # 0.07 of 100 is 7, whatever rounding says
        if dropped >= m:
            raise ValueError(f"outlier_ratio={self.outlier_ratio!r} leaves none of {m} samples")
        return dropped

    def _loss(self) -> ConvexLoss:
        smoothed = SMOOTHINGS[self.smoothing](self.eta)
        return smoothed if self.slack_norm == 1 else squared(smoothed)

    def _declare(self, X: Any, y: Any, classes: Any, fraction: float) -> Risk:
        margins = binary_margins if len(classes) == 2 else class_margins
        rows = margins(X, y, classes=classes)
        m, p = rows.shape
        return Risk(
            rows,
            self._loss(),
            weights=np.full(m, self.C / self.slack_norm),
            aggregate=None if len(classes) == 2 else "sum",
            transform=trim_of(fraction),
            penalty=l2(1.0),
            penalized=np.ones(p),
        )


def _left_out(spec: Risk, theta: Array) -> npt.NDArray[np.bool_]:
    """The samples that the trimmed loss leaves out at θ."""
    return spec.transform.slope(spec.aggregates(theta)) == 0
