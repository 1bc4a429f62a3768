"""The outer loop's options as estimator parameters, and runs with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, fields, replace
from typing import Any

import numpy as np

from dcprog.engine.result import Result
from dcprog.engine.track import History, Progress
from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.parameter_constraints import COUNT, POSITIVE, one_of
from dcprog.estimators.refusal import unusable
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve
from dcprog.solving.trivial import triviality
from dcprog.starts.effort import NAMES

__all__ = ["Callback", "LoopOptions", "cleared", "refined"]

# Thresholds as shares of the largest coefficient; 1 clears all of them.
SHARES = (1.0, *(10.0 ** -np.arange(4, 13)))


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

ROUNDS = 10
SPECK = 1e-9  # of the largest coefficient
CLOCKS = ("time", "solve_time")  # cumulative columns of a history


@np.errstate(all="ignore")
def refined(
    result: Result,
    risk: Risk,
    tidy: Callable[[Array], Array],
    resume: Callable[[Array, int], Result],
    *,
    tol: float,
    max_iter: int,
) -> Result:
    """The result of a run at its tidied end point, continued until both agree.

    Setting small coefficients to 0 may lower F by more than the tolerance. The run's certificate
    then does not hold at the tidy point, and the descent is resumed from there.

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
    x = result.x
    for _ in range(ROUNDS):
        theta = tidy(x)
        value = risk(theta)
        moved = replace(result, x=theta, value=value)
        slack = tol * max(result.scale, risk.magnitude(theta))
        if not risk(x) - value > slack or result.status in ("interrupted", "time_limit"):
            return moved
        left = max_iter - len(result.history)
        if left < 1:
            message = f"no criticality after {max_iter} steps"
            return replace(moved, status="max_iter", message=message, gap=np.inf)
        more = resume(theta, left)
        if more.x is None or not risk(more.x) <= value + slack:
            # the resumed run ends higher: the certificate holds at x and, for mere specks, at θ too
            largest = float(np.max(np.abs(x), initial=0.0))
            specks = np.max(np.abs(theta - x), initial=0.0) <= SPECK * largest
            return moved if specks else replace(result, value=risk(x))
        result = _joined(result, more, float(np.linalg.norm(theta - x)))
        x = more.x
    return replace(result, value=risk(x))


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

# Exact zeros may raise the objective by this share of the tolerance, the subproblems' accuracy.
CLEARED = 1e-2

Callback = Callable[[Progress], object] | None


@contextmanager
def untold() -> Iterator[None]:
    """Silence the runs' TrivialSolutionWarning; the fit itself warns once at the user's line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)
        yield


class LoopOptions(DeclaredEstimator):
    """An estimator whose objective the outer loop minimises.

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
        Seconds for a run with all of its starts.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many cheap starts in the time of three to five plain runs; 1 is the plain
        run from the convex problem with the base loss; more add other starts to the plain run.
    effort : {"low", "default", "high"}, default "default"
        The effort of the race; ``"low"`` is one graduated run.
    random_state : int, RandomState or None, default None
        The seed of the starts; None is a fixed seed.
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

    _: KW_ONLY
    solver: str = parameter(str, default="auto")
    tol: float = parameter(POSITIVE, default=1e-6)
    max_iter: int = parameter(COUNT, default=100)
    time_limit: float | None = parameter(None, POSITIVE, default=None)
    n_starts: int | str = parameter(COUNT, one_of("auto"), default="auto")
    effort: str = parameter(one_of(*NAMES), default="default")
    random_state: int | np.random.RandomState | None = parameter("random_state", default=None)
    acceleration: str | None = parameter(None, one_of("linesearch", "squarem"), default=None)
    verbose: bool = parameter("verbose", default=False)

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

    def _options(self) -> dict[str, Any]:
        return {
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "time_limit": self.time_limit,
            "n_starts": self.n_starts,
            "effort": self.effort,
            "random_state": self.random_state,
            "acceleration": self.acceleration,
            "verbose": bool(self.verbose),
        }

    def _run_refined(
        self,
        spec: Risk,
        start: Any = "auto",
        *,
        tidy: Callable[[Array], Array] | None = None,
        callback: Callback = None,
    ) -> Result:
        """Run the solver and refine its point to exact zeros at kinks of the penalty.

        `tidy` maps a point to an equally good one before small coefficients are set to 0.
        """

        def resume(start: Array, max_iter: int) -> Result:
            options = self._options() | {"max_iter": max_iter, "n_starts": 1}
            with untold():
                return solve(spec, start=start, **options, callback=callback)

        def tidied(theta: Array) -> Array:
            near = theta if tidy is None else tidy(theta)
            return cleared(spec, near, CLEARED * self.tol)

        result = self._run(spec, start, callback=callback)
        return refined(result, spec, tidied, resume, tol=self.tol, max_iter=self.max_iter)

    def _trivial(self, spec: Risk, result: Result) -> str | None:
        """The warning for a trivial solution, otherwise None."""
        return None if result.x is None else triviality(spec, result.x)

    def _doubt(self, result: Result) -> str | None:
        """The warning for a run that has not converged, otherwise None."""
        if result.status in ("converged", "interrupted"):
            return None
        return f"{result.message}; increase max_iter or tol, or scale the data"
