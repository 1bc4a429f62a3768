"""Local search for the global one: plain runs of the loop, whole numbers held where they are."""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import numpy as np

from dcprog.factorable.problem import FactorableProblem
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError
from dcprog.surrogates.driver import solve

__all__ = ["local_search"]

# Outer steps that a point is worth.
STEPS = 30


def local_search(problem: FactorableProblem) -> Callable[[Array | None, float], Array | None]:
    """A function that improves points of a factorable problem.

    Parameters
    ----------
    problem : FactorableProblem

    Returns
    -------
    callable
        ``improve(x, seconds)``: where the loop gets to from x, a feasible point; from the convex
        problem for None. None where there is none, or no rule majorises the problem.
    """

    def improve(x: Array | None, seconds: float) -> Array | None:
        if np.any(problem.whole):
            return None  # TODO
        start = "convex" if x is None else dict(problem.points.unpack(x))
        options = {} if x is None else {"max_iter": STEPS}
        with problem.untouched():
            try:
                result = solve(
                    problem.problem, start=start, n_starts=1, time_limit=max(seconds, 1e-3), **options
                )
            except (SubproblemError, NotMajorizable):
                return None
        if result.status == "interrupted":
            raise KeyboardInterrupt
        if result.status not in ("converged", "max_iter", "time_limit"):
            return None
        known = result.variables
        if len(known) != len(problem.points.variables):
            return None
        return problem.points.pack({v.id: known[v] for v in problem.points.variables})

    return improve
