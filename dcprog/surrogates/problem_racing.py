"""Where runs on a cvxpy problem may start, and what a race of them needs."""

from __future__ import annotations

import numpy as np

from dcprog.engine.racing import Draft
from dcprog.foundation.arrays import Array
from dcprog.surrogates.problem_drafts import drafts
from dcprog.surrogates.problem_starts import Starts
from dcprog.surrogates.problem_values import ProblemValues

__all__ = ["ProblemRacing"]

# Drafts are short: at a usual first price of violations they would all go to the minimum of F and
# only begin to meet the constraints.
FIRM = 30.0


class ProblemRacing(ProblemValues):
    """Starts and drafts of a cvxpy problem.

    Parameters
    ----------
    problem : MajorisedProblem
    """

    firmness: float
    kinds = ("convex", "graduated", "soft", "half", "random")

    def _forget(self) -> None:
        """Runs before this one."""
        super()._forget()
        self.starts = Starts(self.majorised, self.sizes)

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """A start of one of the kinds."""
        return self.starts(kind, rng, time_limit)

    def inside(self, x: Array) -> Array:
        """The point x, or a point near it inside the convex constraints and the domain of F."""
        return self.starts.inside(x, strictly=True)

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return self.sizes.cleared(x)

    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Ends of short, loose runs from several starts, best first; none near known points."""
        self.firmness = FIRM
        try:
            return drafts(self, self.starts, near, effort, rng, time_limit)  # type: ignore[arg-type]
        finally:
            self.firmness = 1.0
