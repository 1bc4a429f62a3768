"""The options of the outer loop, and a run with them."""

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
from dcprog.surrogates.driver import solve
from dcprog.surrogates.race import EFFORTS
from dcprog.surrogates.trivial import triviality

__all__ = ["Callback", "LoopOptions"]

# Of the tolerance: what exact zeros may cost. It is the subproblems' accuracy.
CLEARED = 1e-2

Callback = Callable[[Progress], object] | None


@contextmanager
def untold() -> Iterator[None]:
    """Trivial ends are told once, of the fit, at the user's line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrivialSolutionWarning)
        yield


class LoopOptions(DeclaredEstimator):
    """An estimator whose objective the outer loop minimises.

    Parameters
    ----------
    solver : str, default "auto"
        For the convex subproblems: the fastest that takes them, one of
        :mod:`dcprog.solvers.registry`, or a cvxpy solver by name. ``result_.solver`` says which.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times what the
        terms of the objective add up to.
    max_iter : int, default 100
        Tightenings of the majorant from each start.
    time_limit : float, optional
        Seconds for a run, all of its starts together.
    n_starts : int or "auto", default "auto"
        ``"auto"`` races many cheap starts for three to five plain runs' time; 1 is the plain run
        from the convex problem with the base loss, more are that one and the best of the others.
    effort : {"low", "default", "high"}, default "default"
        Of the race; ``"low"`` is one graduated run.
    random_state : int, RandomState or None, default None
        Seed of the starts; None is a fixed seed.
    acceleration : {"linesearch", "squarem"}, optional
        As in :func:`dcprog.solve`.
    verbose : bool, default False
        Log a line a step.

    Attributes
    ----------
    n_iter_ : int
        Steps taken, at least 1.
    n_features_in_ : int
    objective_ : float
        The objective at the solution.
    result_ : Result
        The run, with history and certificate; ``result_.x`` is θ of `spec_`.
    spec_ : Risk
        The minimised function.

    Warns
    -----
    ConvergenceWarning
        `max_iter` was not enough, or no subproblem solver got further.
    TrivialSolutionWarning
        All coefficients are 0, one class is predicted, or more than a quarter of the samples is
        given up.
    """

    _: KW_ONLY
    solver: str = parameter(str, default="auto")
    tol: float = parameter(POSITIVE, default=1e-6)
    max_iter: int = parameter(COUNT, default=100)
    time_limit: float | None = parameter(None, POSITIVE, default=None)
    n_starts: int | str = parameter(COUNT, one_of("auto"), default="auto")
    effort: str = parameter(one_of(*EFFORTS), default="default")
    random_state: int | np.random.RandomState | None = parameter("random_state", default=None)
    acceleration: str | None = parameter(None, one_of("linesearch", "squarem"), default=None)
    verbose: bool = parameter("verbose", default=False)

    def _run(self, spec: Risk, start: Any = "auto", **others: Any) -> Result:
        """A run from a start with the estimator's options, or others in their place.

        Raises
        ------
        ValueError
            The numbers are so large that no point was found.
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
        """A run whose point has exact zeros where the penalty has them, and is a run's end too.

        `tidy` makes a point another one that is as good, before its zeros are looked for.
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
        """A warning if the solution is trivial."""
        return None if result.x is None else triviality(spec, result.x)

    def _doubt(self, result: Result) -> str | None:
        """A warning if the run has not converged."""
        if result.status in ("converged", "interrupted"):
            return None
        return f"{result.message}; increase max_iter or tol, or scale the data"
