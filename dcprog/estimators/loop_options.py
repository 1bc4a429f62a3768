"""The outer loop's options as estimator parameters, and runs with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from dcprog.engine.result import Result
from dcprog.engine.track import Progress
from dcprog.estimators.declared_estimator import DeclaredEstimator, parameter
from dcprog.estimators.parameter_constraints import COUNT, POSITIVE, one_of
from dcprog.estimators.refine import refined
from dcprog.estimators.refusal import unusable
from dcprog.estimators.sparsity import cleared
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import TrivialSolutionWarning
from dcprog.risk.risk import Risk
from dcprog.solving.driver import solve
from dcprog.solving.trivial import triviality
from dcprog.starts.effort import NAMES

__all__ = ["Callback", "LoopOptions"]

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
