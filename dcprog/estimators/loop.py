"""Estimators that run the outer loop: its options, refined ends, and scikit-learn's callbacks."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning

from dcprog.engine.result import Result
from dcprog.engine.track import History, Progress
from dcprog.estimators.base import Declaration, Doubt, RiskEstimator, unusable, weights_of_samples
from dcprog.estimators.parameters import COUNT, JOBS, POSITIVE, one_of, parameter
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.deadline import LEAST_TIME, Deadline
from dcprog.foundation.errors import DataLost, TrivialSolutionWarning
from dcprog.foundation.sums import all_finite
from dcprog.foundation.tolerances import INNER, KNOWN_DIGITS, LOOSE, MAX_ITER, ROUNDING, TOL
from dcprog.penalties import l2
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve
from dcprog.solving.trivial import triviality
from dcprog.starts.effort import NAMES

# Thresholds as shares of the largest coefficient; 1 clears all of them.
SHARES = (1.0, *np.geomspace(LOOSE, ROUNDING, 9))


def cleared(risk: Risk, theta: Array, tolerance: float) -> Array:
    """Set small coefficients of θ to 0 where the penalty has a kink at 0.

    Such penalties are ℓ1, concave ones and, for whole groups, the group lasso; an interior point
    solver leaves tiny coefficients where the solution has zeros. The largest set of coefficients is
    cleared for which the objective does not rise by more than the tolerance: all of them, or those
    up to a share of 1e-4, 1e-5, …, 1e-12 of the largest.

    Parameters
    ----------
    risk : Risk
    theta : array of shape (p,)
    tolerance : float
        The accuracy of θ, relative to the sum of the sizes of the risk's terms.

    Returns
    -------
    array of shape (p,)
        θ itself if no coefficient can be cleared, or the penalty has no kink at 0.
    """
    sizes = np.full(theta.shape, np.inf)
    sizes[risk.penalized] = risk.penalty.sparse_sizes(theta[risk.penalized])
    largest = np.max(sizes[np.isfinite(sizes)], initial=0.0)
    if largest == 0:
        return theta
    value, slack = risk(theta), tolerance * risk.magnitude(theta)
    for share in SHARES:
        sparse = np.where(sizes <= share * largest, 0.0, theta)
        if risk(sparse) <= value + slack:
            return sparse
    return theta


# ----------------------------------------------------------------------------------------------

ROUNDS = 10  # most continuations of a run
CLOCKS = ("time", "solve_time")  # cumulative columns of a history


@np.errstate(all="ignore")
def refined(
    result: Result,
    risk: Risk,
    tidy: Callable[[Array], Array],
    resume: Callable[[Array, int], Result],
    *,
    level: Callable[[Array], Array] = np.asarray,
    tol: float,
    max_iter: int,
) -> Result:
    """The result of a run at its tidied end point, continued until both agree.

    Setting small coefficients to 0 may lower F by more than the tolerance, and from another point
    that is as low F may fall. The run's certificate then does not hold at the tidy point, and the
    descent is resumed from there.

    Parameters
    ----------
    result : Result
        The result of a run that found a point.
    risk : Risk
        The function that it minimised.
    tidy : callable
        Maps θ to a point without specks, no worse than θ up to a small part of the tolerance.
    resume : callable
        Maps θ and a number of steps to the result of a run from θ with at most that many steps.
    level : callable
        Maps θ to another point with the same F, which is then tidied; θ itself by default.
    tol : float
        The tolerance relative to the scale of F.
    max_iter : int
        The most steps of all runs together.

    Returns
    -------
    Result
        Its status and history are those of the joined runs; its value is the risk at its point.
    """
    assert result.x is not None
    x, reached = result.x, result
    try:
        for _ in range(ROUNDS):
            begun = level(x)
            theta = tidy(begun)
            value = risk(theta)
            moved = replace(result, x=theta, value=value)
            slack = tol * max(result.scale, risk.magnitude(theta))
            is_lower, left = risk(x) - value > slack, max_iter - len(result.history)
            is_end = result.status in ("interrupted", "time_limit")
            if is_end or (not is_lower and (begun is x or left < 1)):
                return moved
            reached = moved
            if left < 1:
                message = f"no criticality after {max_iter} steps"
                return replace(moved, status="max_iter", message=message, gap=np.inf)
            more = resume(theta, left)
            if not is_lower and (more.x is None or not risk(more.x) < value - slack):
                return moved
            if more.x is None or not risk(more.x) <= value + slack:
                # it ends higher: the certificate holds at x and, for mere specks, at θ too
                largest = float(np.max(np.abs(x), initial=0.0))
                specks = np.max(np.abs(theta - x), initial=0.0) <= KNOWN_DIGITS * largest
                return moved if specks else replace(result, value=risk(x))
            result = _joined(result, more, float(np.linalg.norm(theta - x)))
            x, reached = more.x, result
        return replace(result, value=risk(x))
    except DataLost as lost:  # whether the point is an end is not known
        return replace(reached, status="interrupted", message=str(lost), gap=np.inf)


def _joined(first: Result, then: Result, step: float) -> Result:
    """The results of a run and of its continuation, joined into one."""
    history = _one_after_the_other(first.history, then.history, step)
    return replace(
        then,
        n_iter=len(history) - 1,
        history=history,
        starts=first.starts,
        solve_time=first.solve_time + then.solve_time,
        total_time=first.total_time + then.total_time,
        solver_steps=first.solver_steps + then.solver_steps,
    )


def _one_after_the_other(first: History, then: History, step: float) -> History:
    begun = len(first)
    columns = {}
    for name in (f.name for f in fields(History) if f.name != "attempts"):
        before, after = getattr(first, name), getattr(then, name).copy()
        if name == "step":
            after[0] = step
        elif name == "rise":
            after[0] = then.value[0] - first.value[-1]
        elif name in CLOCKS:
            after += before[-1]
        columns[name] = np.concatenate([before, after])
    later = tuple(replace(a, iteration=a.iteration + begun) for a in then.attempts)
    return History(**columns, attempts=(*first.attempts, *later))


# ----------------------------------------------------------------------------------------------

Callback = Callable[[Progress], object] | None


@dataclass(frozen=True)
class Solution:
    """The outcome of a fit.

    Attributes
    ----------
    spec : Risk
        The risk of the final run.
    result : Result
        The result of the final run.
    judged : Result or None
        The run whose convergence is reported; None for `result`.
    """

    spec: Risk
    result: Result
    judged: Result | None = None


@contextmanager
def untold() -> Iterator[None]:
    """Silence the runs' TrivialSolutionWarning; the fit itself warns once at the user's line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)
        yield


class LoopEstimator(CallbackSupportMixin, RiskEstimator):
    """An estimator whose declared risk the outer loop minimises.

    A subclass defines the declaration of data (:meth:`_declared`) and the risk of other data
    (:meth:`_fitted_risk`). It may override the minimisation (:meth:`_solution`), and the attributes
    of the data (:meth:`_begin`) and of the solution (:meth:`_learn`).

    Parameters
    ----------
    solver : str, default "auto"
        The solver of the convex subproblems: ``"auto"`` for the fastest that accepts them, one of
        :mod:`dcprog.solvers.registry`, or a cvxpy solver by name. ``result_.solver`` names it.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times the sum of the sizes of
        the objective's terms.
    max_iter : int, default 100
        The most majorant updates from each start.
    time_limit : float, optional
        Seconds for the fit, all of its starts and passes over the data among them.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many cheap starts in the time of three to seven plain runs; 1 is the plain
        run from the convex problem with the base loss; more add other starts to the plain run.
    effort : {"low", "default", "high"}, default "default"
        The effort of the race; ``"low"`` is one graduated run.
    random_state : int, RandomState or None, default None
        The seed of the starts; None is a fixed seed.
    n_jobs : int, optional
        Number of joblib processes for the starts.
    acceleration : {"linesearch", "squarem"}, optional
        As in :func:`dcprog.solve`.
    verbose : bool, default False
        Log one line per step.

    Attributes
    ----------
    n_iter_ : int
        Steps taken, at least 1.
    n_features_in_ : int
    objective_ : float
        The objective at the solution.
    outlier_weight_ : array of shape (n,)
        Weight of each training sample's base loss in the majorant at the solution: 1 for a sample
        that counts as in the convex problem, 0 for one that the loss gave up. NaN where data that
        are read by blocks could no longer be read.
    result_ : Result
        The result of the run, with history and certificate; ``result_.x`` is θ of `spec_`.
    spec_ : Risk
        The minimised function.

    Warns
    -----
    ConvergenceWarning
        `max_iter` was not enough, or no subproblem solver made further progress.
    TrivialSolutionWarning
        All coefficients are 0, a single class is predicted, or the loss has given up more than a
        quarter of the samples.
    """

    _penalty_value = 0.0  # the penalty at the solution
    _deadline = Deadline()  # of the fit that runs

    _: KW_ONLY
    solver: str = parameter(str, default="auto")
    tol: float = parameter(POSITIVE, default=TOL)
    max_iter: int = parameter(COUNT, default=MAX_ITER)
    time_limit: float | None = parameter(None, POSITIVE, default=None)
    n_starts: int | str = parameter(COUNT, one_of("auto"), default="auto")
    effort: str = parameter(one_of(*NAMES), default="default")
    random_state: int | np.random.RandomState | None = parameter("random_state", default=None)
    n_jobs: int | None = parameter(*JOBS, default=None)
    acceleration: str | None = parameter(None, one_of("linesearch", "squarem"), default=None)
    verbose: bool = parameter("verbose", default=False)

    # ---- methods of a subclass -------------------------------------------------------------------

    @abstractmethod
    def _declared(self, X: Any, y: Any, sample_weight: Any = None) -> Declaration:
        """The declaration of the objective for checked data."""

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Set the attributes of the data, before the run."""

    def _solution(self, declared: Declaration, callback: Callback) -> Solution:
        """Minimise the declared risk; the callback is called at every step."""
        return Solution(declared.risk, self._run_refined(declared.risk, callback=callback))

    def _point(self, declared: Declaration, theta: Array) -> dict[str, Any]:
        """The fitted attributes of the function at θ."""
        return declared.point(theta)

    def _learn(self, declared: Declaration) -> None:
        """Set further attributes, after those of the solution."""
        theta: Any = self.result_.x
        try:
            weights = self._weights(declared.risk, theta)
        except DataLost:
            weights = np.full(declared.risk.rows.X.shape[0], np.nan)
        self.outlier_weight_ = declared.samples.spread(weights)

    def _weights(self, risk: Risk, theta: Array) -> Array:
        """The outlier weights of the samples of a risk at θ."""
        return weights_of_samples(risk, theta)

    # ---- fit -------------------------------------------------------------------------------------

    def _risk(self, X: Any, y: Any, sample_weight: Any = None) -> Risk:
        return self._declared(X, y, sample_weight).risk

    def _fitted(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self._deadline = Deadline(self.time_limit)
        return super()._fitted(X, y, sample_weight)

    @np.errstate(all="ignore")
    def _fit(self, X: Any, y: Any, sample_weight: Any = None) -> list[Doubt]:
        declared = self._declared(X, y, sample_weight)
        self._begin(X, y, sample_weight)
        data: dict[str, Any] = {"estimator": self, "X": X, "y": y}
        if sample_weight is not None:
            data["metadata"] = {"sample_weight": sample_weight}
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(**data)

        def step(progress: Progress) -> bool:
            """Report a step to scikit-learn's callbacks; True if one of them asks to stop."""
            inner = context.subcontext(task_name="step").call_on_fit_task_begin(**data)
            point = partial(self._point, declared, progress.x)
            return inner.call_on_fit_task_end(**data, reconstruction_attributes=point)

        solution = self._solution(declared, step if hasattr(self, "_skl_callbacks") else None)
        self._keep(replace(declared, risk=solution.spec), solution)
        context.call_on_fit_task_end(**data, reconstruction_attributes={})
        return list(self._doubts(solution))

    def _keep(self, declared: Declaration, solution: Solution) -> None:
        """Set the fitted attributes."""
        theta: Any = solution.result.x
        self.spec_, self.result_ = solution.spec, solution.result
        self.objective_ = self.result_.value
        self.n_iter_ = max(1, self.result_.n_iter)
        self._penalty_value = self.spec_.penalty_value(theta)
        for name in ("coef_", "dual_coef_", "kernel_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(self._point(declared, theta))
        self._learn(declared)

    def _doubts(self, solution: Solution) -> Iterator[Doubt]:
        """Warnings of a run that has not converged, and of a trivial solution."""
        judged = solution.judged or solution.result
        if judged.status not in ("converged", "interrupted"):
            timed_out = judged.status == "time_limit"
            what = "time_limit" if timed_out else "max_iter or tol, or scale the data"
            yield f"{judged.message}; increase {what}", ConvergenceWarning
        with suppress(DataLost):
            trivial = self._trivial(solution)
            if trivial is not None:
                yield trivial, TrivialSolutionWarning

    def _trivial(self, solution: Solution) -> str | None:
        """The warning for a trivial solution, None if there is none."""
        theta: Any = solution.result.x
        return triviality(solution.spec, theta)

    # ---- runs ------------------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        options = {f.name: getattr(self, f.name) for f in fields(LoopEstimator)}
        left = self._deadline.left
        options["time_limit"] = None if left is None else max(left, LEAST_TIME)
        return options | {"verbose": bool(self.verbose)}

    def _run(self, spec: Risk, start: Any = "auto", **others: Any) -> Result:
        """Run the solver with the estimator's options, of which `others` override some.

        Raises
        ------
        ValueError
            No point was found, because the numbers are too large.
        """
        with untold():
            result = solve(spec, start=start, **(self._options() | others))
        if result.x is None:
            raise unusable(spec, result.message)
        return result

    def _run_refined(
        self,
        spec: Risk,
        start: Any = "auto",
        *,
        level: Callable[[Array], Array] = np.asarray,
        tidy: Callable[[Array], Array] = np.asarray,
        callback: Callback = None,
    ) -> Result:
        """Run the solver and refine its point to exact zeros at kinks of the penalty.

        `level` maps a point to another that is as low, and `tidy` to a more accurate minimiser,
        before small coefficients are set to 0.
        """

        def resume(start: Array, max_iter: int) -> Result:
            options = self._options() | {"max_iter": max_iter, "n_starts": 1}
            with untold():
                return solve(spec, start=start, **options, callback=callback)

        def tidied(theta: Array) -> Array:
            return cleared(spec, tidy(theta), INNER * self.tol)

        result = self._run(spec, start, callback=callback)
        tol, most = self.tol, self.max_iter
        return refined(result, spec, tidied, resume, level=level, tol=tol, max_iter=most)

    # ---- the fitted function ---------------------------------------------------------------------

    def _scores(self, X: Any) -> Array:
        """The scores f(x) of validated samples, of shape (n, c)."""
        if hasattr(self, "kernel_"):
            return self.kernel_(X) @ np.atleast_2d(self.dual_coef_).T + self.intercept_
        scores = X @ np.atleast_2d(self.coef_).T
        if not isinstance(X, BlockedMatrix):
            return np.asarray(scores + self.intercept_)
        scores += self.intercept_
        if not all_finite(scores):
            raise ValueError("X holds NaN or infinity; remove or impute those entries")
        return scores

    @abstractmethod
    def _fitted_risk(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Risk, Array]:
        """The risk of other data with the values learnt in the fit, and the fitted θ.

        Its features may be the scores, with the identity as θ.
        """

    def _parts(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[float, float]:
        risk, theta = self._fitted_risk(X, y, sample_weight)
        return risk.with_penalty(l2(0.0))(theta), self._penalty_value

    def outlier_weights(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Array:
        """The outlier weights of the given samples, as ``outlier_weight_`` of training samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Targets, or labels among ``classes_``.

        Returns
        -------
        array of shape (n,)
        """
        return self._weights(*self._fitted_risk(X, y))
