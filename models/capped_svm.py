"""Multiclass capped ℓp-norm support vector machine (Nie, Wang, Huang 2017)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dcprog.engine.certificate import criticality_gap
from dcprog.engine.result import Result
from dcprog.estimators.constraints import LOOP
from dcprog.estimators.refusal import unusable
from dcprog.losses import squared_hinge
from dcprog.models.linear import LinearScores
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.rows.linear import binary_margins, class_margins
from dcprog.surrogates.driver import solve
from dcprog.transforms import Transform, cap_at, cap_largest, power_of

__all__ = ["CappedSVC"]

STALLED = 1e-3


class CappedSVC(LinearScores, ClassifierMixin, BaseEstimator):
    r"""Linear classifier whose samples lose at most ε each.

    .. math::
        J_\delta(W, b) = \sum_i \min\{(g_i + \delta)^{p/2}, \varepsilon\} + \gamma \|W\|_F^2,
        \qquad g_i = \|[1 - y_i \circ (W^\top x_i + b)]_+\|_2^2,

    with y_i ∈ {−1, +1}^c, +1 for the class of sample i. The intercepts b are not penalised. Two
    classes have one score (c = 1). A sample is predicted as the class of its largest score, or by
    the sign of its only one.

    The cap makes a sample's loss concave in g_i, so tightening the majorant is one weight a sample,

    .. math::
        d_i = \tfrac{p}{2} (g_i + \delta)^{(p-2)/2} \text{ if } (g_i + \delta)^{p/2} \le
        \varepsilon, \text{ otherwise } 0,

    and what is left to minimise is a weighted squared hinge for each class,
    :math:`\sum_i d_i [1 - y_{ik} f_{ik}]_+^2 + \gamma \|w_k\|^2`.

    Parameters
    ----------
    p : float, default 1.0
        0 < p ≤ 2. The norm of a sample's residual is raised to p.
    eps : float, optional
        Cap ε > 0. By default the first five tightenings set it so that the share `cap_fraction`
        of the samples, those of largest loss, is capped; then it is frozen.
    cap_fraction : float, default 0.1
        0 ≤ cap_fraction < 1, heeded with ``eps=None``: ε is the (⌊cap_fraction·n⌋ + 1)-th largest
        (g_i + δ)^{p/2}; where that sample has g_i = 0, ε = (1 + δ)^{p/2} instead.
    gamma : float, default 1.0
        γ > 0.
    delta : float, default 1e-8
        Smoothing δ ≥ 0, in the units of g. It must be positive if p < 2.
    algorithm : {"exact", "alternating"}, default "exact"
        ``"exact"``: every weighted problem is solved to the end (algorithm 1). ``"alternating"``:
        one pass of closed forms for (W, b) and the slacks a weighting (algorithm 2 as published).
    solver : str, default "auto"
        For the weighted problems of ``"exact"``: ``"newton"`` (finite Newton; ``"auto"``, with
        cvxpy behind it), ``"cvxpy"``, or a cvxpy solver by name.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times what the
        terms of J add up to.
    max_iter : int, default 500
        Reweightings from each start.
    n_starts : int, default 1
        Starts: the plain squared hinge, then random halves and random points. All minimise the
        same function: with ``eps=None`` the first start sets ε for the others.
    random_state : int, RandomState or None, default None
        Seed of the starts after the first; None is a fixed seed.
    acceleration : {"linesearch", "squarem"}, optional
        As in :func:`dcprog.solve`.
    verbose : bool, default False
        Log a line a step.

    Attributes
    ----------
    coef_ : array of shape (c, d)
        Rows w_k; c = 1 for two classes.
    intercept_ : array of shape (c,)
    eps_ : float
        The cap.
    classes_ : array
    n_features_in_ : int
    n_iter_ : int
        Reweightings taken.
    objective_ : float
        J_δ at the solution.
    result_ : Result
        The run, with history and certificate, since ε is frozen. With ``"alternating"`` the
        history's gaps are those of the pass, ``result_.gap`` that of the exact subproblem.
    spec_ : Risk
        The minimised function of θ = (w_1, …, w_c, b).

    Warns
    -----
    ConvergenceWarning
        `max_iter` was not enough, or no subproblem solver got further.

    Notes
    -----
    Where the publication and this class differ:

    - Its stationarity theorem needs every g_i off the cap's kink. A sample exactly at the cap keeps
      its weight here; a fixed point is then critical, not always a local minimum.
    - Its weights are infinite at g_i = 0, that is for every well classified sample, if p < 2; δ
      smooths them. J_δ never rises along a run, and J ≤ J_δ ≤ J + nδ^{p/2} for the unsmoothed J.
    - Its heuristic for ε caps everything where fewer than the share of samples have a loss, which
      well separated classes bring about: W = 0 is then the minimiser. Hence the 1 above.
    - Its closed forms divide by Σd. When all samples are capped, W = 0 and b stays.
    - Its single pass (``"alternating"``) stalls for p < 2 and small δ, because a satisfied sample
      of large weight is held at its score; use δ ≈ 1e-4 … 1e-2 there, or ``"exact"``.

    References
    ----------
    Nie, Wang, Huang (2017), Multiclass capped ℓp-norm SVM for robust classifications, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import CappedSVC
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [0.7], [0.8], [0.9], [1.0], [2.0]])
    >>> y = ["low"] * 4 + ["high"] * 4 + ["low"]  # the last one is an outlier
    >>> model = CappedSVC(eps=1.0, gamma=0.01).fit(X, y)
    >>> model.predict([[0.15], [0.85], [2.0]])
    array(['low', 'high', 'high'], dtype='<U4')
    >>> model.result_.status
    'converged'
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "p": [Interval(Real, 0, 2, closed="right")],
        "eps": [None, Interval(Real, 0, None, closed="neither")],
        "cap_fraction": [Interval(Real, 0, 1, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, None, closed="left")],
        "algorithm": [StrOptions({"exact", "alternating"})],
        **LOOP,
    }

    def __init__(
        self,
        p: float = 1.0,
        eps: float | None = None,
        cap_fraction: float = 0.1,
        gamma: float = 1.0,
        delta: float = 1e-8,
        algorithm: str = "exact",
        *,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 500,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = None,
        acceleration: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.p = p
        self.eps = eps
        self.cap_fraction = cap_fraction
        self.gamma = gamma
        self.delta = delta
        self.algorithm = algorithm
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.acceleration = acceleration
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> CappedSVC:
        """Minimise J_δ.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Two or more classes.

        Returns
        -------
        CappedSVC
            Itself.

        Raises
        ------
        ValueError
            Parameters out of their range, data that are not finite, fewer than two classes,
            numbers so large that no point was found.
        """
        self._check_combinations()
        X, y = validate_data(self, X, y, **self.CHECKS)
        check_classification_targets(y)
        spec = self._declare(X, y, np.unique(y), self._transform())
        self.classes_ = np.unique(y)
        self.spec_, self.result_, self.n_iter_ = self._minimise(spec)
        self.coef_, self.intercept_ = self.spec_.rows.unpack(self.result_.x)
        self.eps_ = float(self.spec_.transform.c)
        self.objective_ = self.result_.value
        if self.algorithm == "alternating":
            self._look_behind_the_pass()
        if self.result_.status != "converged":
            warnings.warn(
                f"{self.result_.message}; increase max_iter or tol, or scale the data",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _look_behind_the_pass(self) -> None:
        """Measure the gap against the exact subproblem: a stalled pass is critical for its own."""
        result = self.result_
        theta = self.spec_.rows.pack(self.coef_, self.intercept_)
        surrogate = self.spec_.surrogate("newton")
        gap = criticality_gap(surrogate, theta)
        message = f"the single pass changes little; {gap=:.3g} is that of the exact subproblem"
        if gap > STALLED * surrogate.scale(theta):
            message = f"the single pass stalled: its point is not critical, the gap is {gap:.3g}"
            warnings.warn(
                f"{message}; take algorithm='exact' or a larger delta",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.result_ = replace(result, gap=gap, message=message)

    def _minimise(self, spec: Risk) -> tuple[Risk, Result, int]:
        """The function with its cap frozen, the run that minimised it, and all steps taken."""
        options: dict[str, Any] = {
            "solver": self._subproblem_solver(),
            "tol": self.tol,
            "verbose": self.verbose,
        }
        start: Any = "convex"
        steps = 0
        if self.eps is None:
            rounds = min(spec.transform.rounds - 1, self.max_iter - 1)
            start = _with_point(spec, solve(spec, max_iter=rounds, **options))
            spec, steps = spec.fixed(start.x), start.n_iter
        result = solve(
            spec,
            start=start,
            max_iter=self.max_iter - steps,
            n_starts=self.n_starts,
            random_state=self.random_state,
            acceleration=self.acceleration,
            **options,
        )
        return spec, _with_point(spec, result), max(1, steps + result.n_iter)

    def spec(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Risk:
        """The declaration J_δ for some data, which :func:`dcprog.solve` takes too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        Risk
            With ``eps=None`` its cap adapts in a run's first five tightenings.
        """
        self._validate_params()
        self._check_combinations()
        X, y = check_X_y(X, y, **self.CHECKS)
        check_classification_targets(y)
        return self._declare(X, y, np.unique(y), self._transform())

    def objective(self, X: npt.ArrayLike, y: npt.ArrayLike, *, delta: float | None = None) -> float:
        """J_δ of the fitted coefficients and cap on some data.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels among ``classes_``.
        delta : float, optional
            By default the model's own, and on the training data the value is ``objective_``. 0
            gives the J of the publication.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, reset=False, **self.CHECKS)
        smoothing = self.delta if delta is None else delta
        transform = cap_at(self.eps_, power_of(self.p / 2, smoothing))
        risk = self._declare(X, y, self.classes_, transform)
        return risk(risk.rows.pack(self.coef_, self.intercept_))

    def _check_combinations(self) -> None:
        if self.delta == 0 and self.p < 2:
            raise ValueError(
                f"delta=0 with p={self.p}: satisfied samples have infinite weights for p < 2; "
                "give a positive delta, such as 1e-8"
            )
        named = str(self.solver).upper() in cp.installed_solvers()
        if self.solver not in ("auto", "newton", "cvxpy") and not named:
            raise ValueError(
                f"solver={self.solver!r}: choose 'auto', 'newton', 'cvxpy' or a cvxpy solver's name"
            )
        if self.algorithm == "alternating" and self.solver != "auto":
            raise ValueError(
                f"solver={self.solver!r} with algorithm='alternating': its pass is a closed form "
                "and takes no solver; leave solver='auto'"
            )

    def _subproblem_solver(self) -> str:
        return "alternating" if self.algorithm == "alternating" else self.solver

    def _transform(self) -> Transform:
        power = power_of(self.p / 2, self.delta)
        if self.eps is None:
            return cap_largest(self.cap_fraction, power)
        return cap_at(self.eps, power)

    def _declare(self, X: Any, y: Any, classes: Any, transform: Transform) -> Risk:
        margins = binary_margins if len(classes) == 2 else class_margins
        return Risk(
            margins(X, y, classes=classes),
            base=squared_hinge(),
            aggregate="sum",
            transform=transform,
            penalty=l2(2 * self.gamma),
        )


def _with_point(risk: Risk, result: Result) -> Result:
    if result.x is None:
        raise unusable(risk, result.message)
    return result
