"""Where the runs of a risk start: what every risk has, and what the race drafts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcprog.engine.history import Attempt
from dcprog.engine.racing import Draft
from dcprog.engine.unconstrained import Unconstrained
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.surrogates.drafts import drafts
from dcprog.surrogates.graduated_start import graduated_start
from dcprog.surrogates.risk_subproblems import Subproblems
from dcprog.surrogates.usual_sizes import convex_problem, usual_coefficients

__all__ = ["RiskStarts"]


class RiskStarts(Unconstrained):
    """The part of a risk's surrogate that makes starts.

    Attributes
    ----------
    declared : Risk
    solvers : tuple of str
    subproblems : Subproblems
    """

    declared: Risk
    solvers: tuple[str, ...]
    subproblems: Subproblems
    _attempts: list[Attempt]

    kinds = ("graduated",)

    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Points to run from, where the coefficients are few; see :func:`drafts`."""
        return drafts(self.declared, near, effort, rng, time_limit)

    @np.errstate(all="ignore")
    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem behind the risk, the same on a random half of the groups, or random θ.

        The convex problem has the base losses with the transform's slope at 0, nothing subtracted,
        and a concave penalty's slope at 0; where those are infinite, at a usual size. Where no
        solver can, θ = 0. ``"graduated"`` goes on from the convex start.
        """
        risk = self.declared
        if kind == "graduated":
            return self._graduated(self.start("convex", rng, time_limit), Deadline(time_limit))
        p = risk.rows.shape[1]
        if kind == "random":
            return usual_coefficients(risk) * rng.standard_normal(p)
        problem, zero = convex_problem(risk), np.zeros(p)
        if kind == "half":
            weights = problem.weights.copy()
            weights[rng.permutation(weights.size)[: weights.size // 2]] = 0.0
            problem = replace(problem, weights=weights)
        try:
            return self.subproblems.first_solved(
                self.solvers, self._attempts, problem, zero, time_limit
            )
        except SubproblemError:
            if not np.isfinite(risk(zero)):
                raise
            return zero  # better than no point, as long as it is one

    def _graduated(self, x: Array, deadline: Deadline) -> Array:
        def solve(problem: WeightedRisk, centre: Array, tolerance: float) -> Array:
            aim, left = (tolerance, problem.value(centre)), deadline.left
            return self.subproblems.solve(problem, centre, aim, self.solvers[0], left)

        return graduated_start(self.declared, x, solve)
