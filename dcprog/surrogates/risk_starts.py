"""Where the runs of a risk start: what every risk has, and what the race drafts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
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
from dcprog.surrogates.coordinate_search import is_sparse, searched, takes
from dcprog.surrogates.drafts import FEW, drafts, is_dear
from dcprog.surrogates.loose_starts import (
    LIGHTER,
    Solve,
    graduated_start,
    light_start,
    soft_start,
    stepped,
)
from dcprog.surrogates.many_points import ManyPoints
from dcprog.surrogates.risk_subproblems import START, Subproblems
from dcprog.surrogates.usual_sizes import convex_problem, starts_finite, usual_coefficients
from dcprog.surrogates.waking import woken

__all__ = ["RiskStarts"]

CROWDED = 3  # samples for a coefficient, and less
LOOSE_START = 1e-2  # where steps are looser still
STEPS = 2  # of the loop, loose ones, before a draft is valued


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

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        """True if nothing has to be majorised."""
        return self.declared.has_convex_losses and self.declared.penalty.is_convex

    @property
    def _tolerances(self) -> tuple[float, ...]:
        """Of the convex start: loose where steps are, and there are some to come."""
        loose = not self.is_convex and self.loosest > START[-1]
        return (min(self.loosest, LOOSE_START),) if loose else START

    @np.errstate(all="ignore")
    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Points to run from: by many cheap steps where coefficients are few, else by the solvers.

        By both where the cheap ones, which see some of many samples, lead nowhere, and where
        samples are few for the coefficients. Sums of squares with sparse fits are searched
        coordinate by coordinate. A convex risk needs none.
        """
        if self.is_convex:
            return []
        risk, deadline = self.declared, Deadline(time_limit)
        found: list[Draft] = []
        many = ManyPoints.takes(risk)
        if many:
            found = drafts(risk, near, effort, rng, deadline.left)
        elif takes(risk):
            x = searched(risk, near[0], effort, rng, deadline.left)
            found = [Draft("searched", x, risk(x))]
            if is_sparse(near[0]):
                return found
        p = risk.rows.shape[1]
        crowded = not many or CROWDED * p >= risk.n_groups
        if crowded or (not found and p > FEW and not is_dear(risk, effort)):
            loose = self._loose(near[0], effort, deadline, soft=crowded and self._softens())
            found += [Draft(kind, x, risk(x)) for kind, x in loose]
        awake = (woken(risk, x) for x in near)
        found += [Draft("woken", x, risk(x)) for x in awake if x is not None]
        return sorted(found, key=lambda draft: draft.value)

    def _softens(self) -> bool:
        """True if another first slope is another start; no kernel's, where a start is dear."""
        risk = self.declared
        if risk.no_matrix is not None or risk.scores.kernel is not None:
            return False
        return not risk.transform.is_linear or not starts_finite(risk)

    def _loose(
        self, ended: Array, effort: str, deadline: Deadline, *, soft: bool
    ) -> Iterator[tuple[str, Array]]:
        """Drafts by the subproblems' solver, solved loosely."""
        risk, solve = self.declared, self._solver(deadline)
        if not risk.has_convex_losses and deadline.left != 0:
            yield "graduated", stepped(risk, graduated_start(risk, ended, solve), solve, STEPS)
        if soft and deadline.left != 0:
            with suppress(SubproblemError):
                yield "soft", stepped(risk, soft_start(risk, solve), solve, STEPS)
        known = risk.penalty.is_convex or (effort == "default" and not starts_finite(risk))
        for share in () if known else LIGHTER[effort]:
            if deadline.left == 0:
                return
            try:
                x = light_start(risk, share, solve)
            except SubproblemError:
                continue
            yield "light", stepped(risk, x, solve, STEPS)

    def _solver(self, deadline: Deadline) -> Solve:
        def solve(problem: WeightedRisk, centre: Array, tolerance: float) -> Array:
            aim, left = (tolerance, problem.value(centre)), deadline.left
            return self.subproblems.solve(problem, centre, aim, self.solvers[0], left)

        return solve

    @np.errstate(all="ignore")
    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem behind the risk, the same on a random half of the groups, or random θ.

        The convex problem has the base losses with the transform's slope at 0, nothing subtracted,
        and a concave penalty's slope at 0; where those are infinite, at a usual size. Where no
        solver can, θ = 0. ``"graduated"`` goes on from the convex start.
        """
        risk = self.declared
        if kind == "graduated":
            deadline = Deadline(time_limit)
            convex = self.start("convex", rng, time_limit)
            return graduated_start(risk, convex, self._solver(deadline))
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
                self.solvers, self._attempts, problem, zero, time_limit, self._tolerances
            )
        except SubproblemError:
            if not np.isfinite(risk(zero)):
                raise
            return zero  # better than no point, as long as it is one
