"""Robust angle-based multicategory support vector machines (Zhang, Pham, Fu, Liu 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from dcprog.engine.result import Result
from dcprog.estimators.constraints import LOOP, SHAPE
from dcprog.estimators.kernels import KERNELS, Kernel, width
from dcprog.estimators.prediction import LargestScore
from dcprog.estimators.refine import refined
from dcprog.estimators.refusal import unusable
from dcprog.estimators.sparsity import cleared
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import FisherConsistencyWarning
from dcprog.losses import hinge
from dcprog.models.angle_consistency import fisher_gamma, is_fisher_consistent
from dcprog.penalties import Penalty, elastic_net, l1, l2
from dcprog.risk.risk import Risk
from dcprog.rows.angle import Coded, angle_differences, angle_margins, simplex_vertices
from dcprog.rows.kernel import on_kernel
from dcprog.surrogates.driver import solve
from dcprog.transforms import cap_at

__all__ = ["AngleSVC"]

# Entries of an ℓ1 solution go to 0 if the objective rises by less than the subproblems' accuracy.
CLEARED = 1e-2


class AngleSVC(LargestScore, ClassifierMixin, BaseEstimator):
    r"""Classifier of k classes by k − 1 functions, with truncated hinges as losses.

    Class j is the vertex W_j of a regular simplex, the sample x has the scores
    :math:`u_j = \langle W_j, f(x) \rangle`, which sum to 0, and is predicted as the class of the
    largest. With :math:`H_a(u) = [a - u]_+`, :math:`G_a(u) = [a + u]_+`, β = (β_1, …, β_{k−1}) and
    :math:`f_q(x) = x^\top \beta_q`,

    .. math::
        \sum_i \phi(u(x_i), y_i) + \lambda_1 \|\beta\|_1 + \tfrac{\lambda_2}{2} \|\beta\|_2^2

    is minimised, a sum over the samples and not a mean. Loss 1, ``form=1``, is

    .. math::
        \phi_1 = \gamma [H_{k-1}(u_y) - H_{(k-1)s}(u_y)]
            + (1 - \gamma) \sum_{j \ne y} [G_1(u_j) - G_s(u_j)],

    and loss 2, ``form=2``, with the margin :math:`m = \min_{j \ne y} (u_y - u_j)`, is

    .. math:: \phi_2 = H_1(m) - H_s(m).

    For truncation at s ≤ 0 no sample costs more than (k−1)(1−s) or 1−s.

    A truncated hinge is a capped one, H_1 − H_s = min{H_1, 1 − s}, and has two majorants at a
    point: the hinge with weight 0 beyond s and 1 before, or the hinge plus the tangent of −H_s,
    which is the difference-of-convex algorithm of the publication. The first is the tighter one.

    Parameters
    ----------
    form : {1, 2}, default 1
        Loss 1 (RSVM1) or 2 (RSVM2).
    truncation : "auto", float or None, default "auto"
        s ≤ 0; ``"auto"`` is −1/(k−1), as recommended. None leaves the convex loss: the reinforced
        hinge of angle-based machines, or the pairwise hinge.
    gamma : float, default 0.5
        0 ≤ γ ≤ 1, weight of the own class in loss 1. Loss 1 is Fisher consistent for
        γ ≤ min{1/2, max(1/k, (1−s)/(k+1−s))}, :func:`~dcprog.models.fisher_gamma`: up to 1/k with
        the default truncation. The default 1/2 is that of the literature. Loss 2, which has no γ,
        is for −1/(k−1) ≤ s ≤ 0. With two classes both are.
    penalty : {"l2", "l1", "elasticnet"}, default "l2"
        λ2 = `lam`, λ1 = `lam`, or both by `lam1` and `lam2`.
    lam : float, default 1.0
        λ > 0.
    lam1, lam2 : float, optional
        λ1, λ2 ≥ 0 of ``"elasticnet"``, not both 0, `lam` each by default.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, optional
        :math:`f_q(x) = \sum_j a_{qj} k(x, x_j)` with λ2/2·Σ_q a_qᵀKa_q for the penalty, which must
        be ``"l2"``. A callable maps two sets of samples to their matrix. By default f is linear.
    kernel_gamma : {"scale", "auto"} or float, default "scale"
        Of ``"rbf"``, exp(−γ‖x − z‖²), and ``"poly"``, (γ⟨x, z⟩ + coef0)^degree: 1/(d·variance of
        X), 1/d, or a number.
    degree : int, default 3
        Of ``"poly"``.
    coef0 : float, default 0.0
        Of ``"poly"``, not negative.
    fit_intercept : bool, default True
        Append a constant feature 1, penalised like the others. The publication has none.
    majorant : {"cap", "dc"}, default "cap"
        The weights, or the tangents of the publication. The objective is the same; their runs may
        end at different critical points.
    solver : str, default "auto"
        For the convex subproblems: the fastest that takes them, one of
        :mod:`dcprog.solvers.registry`, or a cvxpy solver by name.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times what the
        terms of the objective add up to.
    max_iter : int, default 100
        Tightenings of the majorant from each start.
    n_starts : int, default 1
        Starts: the convex problem without truncation, then random halves and random points.
    random_state : int, RandomState or None, default None
        Seed of the starts after the first; None is a fixed seed.
    acceleration : {"linesearch", "squarem"}, optional
        As in :func:`dcprog.solve`.
    verbose : bool, default False
        Log a line a step.

    Attributes
    ----------
    coef_ : array of shape (k − 1, d)
        Rows β_q; none for kernels other than the linear one.
    intercept_ : array of shape (k − 1,)
    dual_coef_ : array of shape (k − 1, n)
        a, with a kernel.
    kernel_ : Kernel
        k(·, x_j), with a kernel.
    simplex_ : array of shape (k, k − 1)
        The vertices W_j.
    truncation_ : float or None
        s.
    classes_ : array of shape (k,)
    n_features_in_ : int
    n_iter_ : int
        Steps taken, at least 1.
    objective_ : float
        The objective at the solution.
    result_ : Result
        The run, with history and certificate; ``result_.x`` is θ of `spec_`.
    spec_ : Risk
        The minimised function.

    Warns
    -----
    FisherConsistencyWarning
        The loss is not Fisher consistent for the number of classes. With the default γ = 1/2 that
        is so from three classes on; take γ = 1/k, or loss 2.
    ConvergenceWarning
        `max_iter` was not enough, or no subproblem solver got further.

    See Also
    --------
    AngleSVCCV : The penalty by cross-validation.
    angle_path : The solutions for many penalties.

    Notes
    -----
    The order of the classes decides which vertex each of them gets. Another order is a rotation of
    the simplex: with ``"l2"``, and with a kernel, it leaves the objective and the scores of each
    class as they are. ‖β‖₁ is not invariant under rotations: with ``"l1"`` and ``"elasticnet"`` it
    matters which class comes first (all others are alike, and with k = 4 all are).

    Where the publication and this class differ: its H of loss 1 has H_s where H_{(k−1)s} is meant;
    its experiments print s = 1/(k−1) for −1/(k−1); its range of Fisher consistency for loss 1 is
    too large (:func:`~dcprog.models.fisher_gamma`).

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169, 277–305.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.models import AngleSVC
    >>> X = np.array([[1, 0], [2, 0], [1, 1], [0, 2], [-1, 1], [0, 1], [-1, -1], [-1, -2], [3, -1]])
    >>> y = ["east"] * 3 + ["north"] * 3 + ["south"] * 2 + ["north"]  # the last one is an outlier
    >>> model = AngleSVC(gamma=1 / 3, lam=0.01).fit(X, y)
    >>> int(np.sum(model.predict(X) != y)), model.predict(X[-1:])
    (1, array(['east'], dtype='<U5'))
    >>> convex = AngleSVC(gamma=1 / 3, lam=0.01, truncation=None).fit(X, y)
    >>> int(np.sum(convex.predict(X) != y))
    2
    >>> bool(np.isclose(model.objective(X, y), model.objective_))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "form": [Options(Integral, {1, 2})],
        "truncation": [StrOptions({"auto"}), Interval(Real, None, 0, closed="right"), None],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "lam1": [None, Interval(Real, 0, None, closed="left")],
        "lam2": [None, Interval(Real, 0, None, closed="left")],
        "kernel": [StrOptions(KERNELS), callable, None],
        "kernel_gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        **SHAPE,
        "fit_intercept": ["boolean"],
        "majorant": [StrOptions({"cap", "dc"})],
        **LOOP,
    }

    def __init__(
        self,
        form: int = 1,
        truncation: str | float | None = "auto",
        gamma: float = 0.5,
        penalty: str = "l2",
        lam: float = 1.0,
        lam1: float | None = None,
        lam2: float | None = None,
        *,
        kernel: str | Callable[[Any, Any], Array] | None = None,
        kernel_gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        majorant: str = "cap",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        n_starts: int = 1,
        random_state: int | np.random.RandomState | None = None,
        acceleration: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.form = form
        self.truncation = truncation
        self.gamma = gamma
        self.penalty = penalty
        self.lam = lam
        self.lam1 = lam1
        self.lam2 = lam2
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.majorant = majorant
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.random_state = random_state
        self.acceleration = acceleration
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> AngleSVC:
        """Minimise the objective.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The kernel matrix, (n, n), with ``kernel="precomputed"``.
        y : array of shape (n,)
            Two or more classes.

        Returns
        -------
        AngleSVC
            Itself.

        Raises
        ------
        ValueError
            Parameters out of their range, data that are not finite, fewer than two classes, a
            solver that cannot take the problem,
            numbers so large that no point was found.
        """
        X, y = validate_data(self, X, y, **self._checks())
        check_classification_targets(y)
        spec, kernel = self._declare(X, y, np.unique(y))
        self.warn_of_inconsistency(np.unique(y).size, stacklevel=4)
        self.classes_ = np.unique(y)
        self.keep(spec, kernel, self.minimise(spec))
        if self.result_.status not in ("converged", "interrupted"):
            warnings.warn(
                f"{self.result_.message}; increase max_iter or tol, or scale the data",
                ConvergenceWarning,
                stacklevel=3,
            )
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
            Of θ = (β_1, …, β_{k−1}, intercepts), or of a kernel's coordinates.
        """
        return self.declaration(X, y)[0]

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
        scores = self._scores(X)
        rows = self._rows(len(self.classes_))(scores, np.asarray(y), False, self.classes_)
        loss = self._risk(rows, len(self.classes_), l2(0.0))  # scores are features of themselves
        return loss(np.eye(scores.shape[1]).ravel()) + self._penalty_value

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """The scores u_j = ⟨W_j, f(x)⟩.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        array of shape (n, k), or (n,) for two classes
            Of two classes the score of the second, which is minus that of the first.
        """
        scores = self._scores(X) @ self.simplex_.T
        return scores[:, 1] if len(self.classes_) == 2 else scores

    # ---- steps of a fit, for the paths too -------------------------------------------------------

    def declaration(
        self, X: npt.ArrayLike, y: npt.ArrayLike
    ) -> tuple[Risk, Kernel | None, npt.NDArray[Any]]:
        """What :meth:`spec` returns, the kernel it is made with, and the classes."""
        self._validate_params()
        X, y = check_X_y(X, y, **self._checks())
        check_classification_targets(y)
        classes = np.unique(y)
        return *self._declare(X, y, classes), classes

    def minimise(self, spec: Risk, start: Any = "convex") -> Result:
        """A run on a declaration from :meth:`spec`, with the estimator's options.

        Parameters
        ----------
        spec : Risk
        start : str, array or Result, default "convex"
            As in :func:`dcprog.solve`.

        Returns
        -------
        Result
            Under an ℓ1 penalty with exact zeros.

        Raises
        ------
        ValueError
            The numbers are so large that no point was found.
        """

        def run(start: Any, max_iter: int, n_starts: int = 1) -> Result:
            return solve(
                spec,
                start=start,
                solver=self.solver,
                tol=self.tol,
                max_iter=max_iter,
                n_starts=n_starts,
                random_state=self.random_state,
                acceleration=self.acceleration,
                verbose=bool(self.verbose),
            )

        def tidy(theta: Array) -> Array:
            return cleared(spec, theta, CLEARED * self.tol)

        result = run(start, self.max_iter, self.n_starts)
        if result.x is None:
            raise unusable(spec, result.message)
        return refined(result, spec, tidy, run, tol=self.tol, max_iter=self.max_iter)

    def keep(self, spec: Risk, kernel: Kernel | None, result: Result) -> None:
        """Set the fitted attributes that a run decides."""
        theta: Any = result.x
        self.simplex_ = simplex_vertices(len(self.classes_))
        self.truncation_ = self._truncation(len(self.classes_))
        self.spec_, self.result_ = spec, result
        self.objective_ = result.value
        self.n_iter_ = max(1, result.n_iter)
        self._penalty_value = spec.penalty_value(theta)
        for name in ("coef_", "dual_coef_", "kernel_"):
            self.__dict__.pop(name, None)
        coef, self.intercept_ = spec.rows.unpack(theta)
        if kernel is None:
            self.coef_ = coef
            return
        self.kernel_, self.dual_coef_ = kernel, spec.rows.dual_coef(theta)
        if self.kernel == "linear":
            self.coef_ = (kernel.samples.T @ self.dual_coef_.T).T

    def declared_penalty(self) -> Penalty:
        """λ1‖β‖₁ + (λ2/2)‖β‖² of the parameters."""
        both = (self.lam1, self.lam2)
        if self.penalty != "elasticnet":
            if both != (None, None):
                raise ValueError(
                    f"lam1={self.lam1}, lam2={self.lam2} with penalty={self.penalty!r}: they are "
                    "of 'elasticnet'; give lam"
                )
            return l2(self.lam) if self.penalty == "l2" else l1(self.lam)
        lam1, lam2 = (self.lam if lam is None else lam for lam in both)
        if lam1 == lam2 == 0:
            raise ValueError("lam1=0 and lam2=0: nothing is penalised; one must be positive")
        return elastic_net(lam1, lam2)

    def warn_of_inconsistency(self, k: int, stacklevel: int = 2) -> None:
        """Warn if the loss is not Fisher consistent for k classes."""
        s = self._truncation(k)
        if is_fisher_consistent(self.form, k, s, self.gamma):
            return
        reason = f"form=2 is Fisher consistent for -1/(k-1) <= truncation <= 0 only, and it is {s}"
        if self.form == 1:
            bound = fisher_gamma(k, s)
            reason = f"form=1 is Fisher consistent for gamma <= {bound:.4g}, and it is {self.gamma}"
        warnings.warn(
            f"with k={k} classes and truncation={s}, {reason}",
            FisherConsistencyWarning,
            stacklevel=stacklevel,
        )

    # ---- the declaration -------------------------------------------------------------------------

    def _declare(self, X: Any, y: Any, classes: Any) -> tuple[Risk, Kernel | None]:
        """The risk for checked data, and the kernel it is made with."""
        penalty = self.declared_penalty()
        if len(classes) < 2:
            raise ValueError(f"y holds {len(classes)} class; at least two classes are needed")
        build = self._rows(len(classes))
        kernel = self._kernel_at(X)
        rows: Any
        if kernel is None:
            rows = build(X, y, self.fit_intercept, classes)
        else:
            rows = on_kernel(kernel(X), lambda L: build(L, y, self.fit_intercept, classes))
        return self._risk(rows, len(classes), penalty), kernel

    def _risk(self, rows: Any, k: int, penalty: Penalty) -> Risk:
        """Both losses are hinges at 1 of their rows, capped or truncated at s."""
        s = self._truncation(k)
        truncated: dict[str, Any] = {}
        if s is not None and self.majorant == "cap":
            truncated["transform"] = cap_at(1 - s)
        elif s is not None:
            truncated["subtracted"] = hinge(s)
        weights = None
        if self.form == 1:
            weights = np.where(rows.own, self.gamma * (k - 1), 1 - self.gamma)
        return Risk(
            rows,
            hinge(),
            aggregate="max" if self.form == 2 else None,
            penalty=penalty,
            penalized=np.ones(rows.shape[1]),
            sample_weight=weights,
            **truncated,
        )

    def _rows(self, k: int) -> Callable[..., Coded]:
        return angle_margins if self.form == 1 else angle_differences

    def _truncation(self, k: int) -> float | None:
        if isinstance(self.truncation, str):
            return -1 / (k - 1)
        return None if self.truncation is None else float(self.truncation)

    def _kernel_at(self, X: Any) -> Kernel | None:
        if self.kernel is None:
            return None
        if self.penalty != "l2":
            raise ValueError(
                f"kernel={self.kernel!r} with penalty={self.penalty!r}: a kernel machine's penalty "
                "is its squared norm; take penalty='l2', or kernel=None"
            )
        gamma = width(self.kernel_gamma, X, None) if self.kernel in ("rbf", "poly") else 1.0
        return Kernel(self.kernel, X, gamma, self.degree, self.coef0)

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """f(x), of shape (n, k − 1)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._checks())
        if self.kernel is None:
            return X @ self.coef_.T + self.intercept_
        return self.kernel_(X) @ self.dual_coef_.T + self.intercept_

    def _checks(self) -> dict[str, Any]:
        sparse = False if self.kernel == "precomputed" else "csr"
        return {"accept_sparse": sparse, "dtype": np.float64}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
