"""The reference solver: the weighted subproblem of any risk through cvxpy, compiled once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import FORMED, Array, factor_products
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import OutOfTime, SubproblemError
from dcprog.foundation.tolerances import ACCEPT, LAST_PLACES
from dcprog.risk.risk import Risk, aggregate_expression, margin_expression, penalised_part
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.conic.portfolio import Portfolio
from dcprog.solvers.protocol import ExactSolver, Solution, Takes, refuse

# If the dual bound lies below the solver's value by more than this share, the next solver is tried
# too. It is far above the tolerances and far below the effect of badly scaled programs.
DOUBT = 1e-4
SLOW = "SCS"  # slow and inaccurate: skipped if another solver has a point
# A conic solver does not check the time while it orders and factors. It is not started if these are
# likely to take longer than the time that is left: a second for RATE entries of the rows, or for
# WORK products of a factorisation, if fill-in makes the smaller side dense. Measured were 2e7 to
# 9e7 products a second for whole solves of dense rows, and more than ten minutes, past any time
# limit, for 4000 × 4000 rows with 1% of entries.
RATE, WORK = 2e5, 1e8


class ReferenceSolver(ExactSolver):
    """The weighted risk as a DPP problem whose weights are Parameters.

    As the weights in a run span many orders of magnitude, the objective is divided by its value at
    the centre. The solvers are tried in turn until the lowest value is no worse than the centre's,
    and either two solvers have a point or one has an accurate point that its own dual bound
    confirms. The lowest value, recomputed in NumPy, wins; the point of a solver that is named is
    taken if it is within the tolerance of that.

    Parameters
    ----------
    risk : Risk
        A risk whose rows have a matrix and whose base and penalty have cvxpy expressions.
    solver : str, optional
        An installed cvxpy solver (or our own, ``"ARROW"``) to try first; by default the class of
        the problem decides.

    Raises
    ------
    ValueError
        The rows have no matrix.
    """

    takes = Takes("expression", groups="any", penalty="written")

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.risk = risk
        self.theta = cp.Variable(risk.rows.shape[1], name="theta")
        self.weights = cp.Parameter(risk.n_groups, nonneg=True)
        self.tilt = cp.Parameter(self.theta.size)
        self.scale = cp.Parameter(nonneg=True)
        self.shrinkage = cp.Parameter(int(risk.penalized.sum()), nonneg=True)
        losses = aggregate_expression(risk, margin_expression(risk, self.theta), risk.base)
        objective = cp.sum(cp.multiply(self.weights, losses)) + self.tilt @ self.theta
        w = penalised_part(risk, self.theta)
        part = risk.penalty.convex_part
        if part is not None:
            objective = objective + self.scale * part.expression(w)
        if not risk.penalty.is_convex:
            objective = objective + cp.sum(cp.multiply(self.shrinkage, cp.abs(w)))
        self.portfolio = Portfolio(cp.Problem(cp.Minimize(objective)), solver)
        self.slow_failed = False
        self._named = solver

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the weighted squares take too much memory, None if they do not."""
        pieces = risk.base.pieces
        if pieces is not None and any(pieces.quadratic) and risk.n_groups**2 > FORMED:
            # cvxpy keeps n² pointers for the quadratic form of n squares with weights
            return f"cvxpy's memory for {risk.n_groups} weighted squares is more than 1 GB"
        return None

    @staticmethod
    def seconds(risk: Risk) -> float:
        """A guess of the seconds of a solve, near only where they are many."""
        entries, products = _work(risk)
        return max(entries / RATE, products / WORK)

    def _check_work(self, left: float | None) -> None:
        """Raise SubproblemError if a solver that is started would run past the time limit."""
        needed = self.seconds(self.risk)
        if left is not None and needed > max(left, 1.0):
            message = f"cvxpy: about {needed:.3g} s are too many for {left:.3g} s"
            raise OutOfTime(message)

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The lowest of the solvers' points, with the best lower bound."""
        if self.risk.penalty.is_convex:
            refuse("cvxpy under a convex penalty", shrinkage=problem.shrinkage)
        self._check_work(deadline.left)
        tilted, centre = bool(np.any(problem.row_tilts)), problem.value(start)
        if not tilted and centre <= tolerance:  # losses and penalties are never negative
            return Solution(start.copy(), None, centre)
        size = problem.untilted.value(start) or 1.0
        self._load(problem, start, size)
        found: list[Solution] = []
        failures: list[SubproblemError] = []
        order = list(self.portfolio.order)
        for solver in order:
            if solver == SLOW and (found or (failures and self.slow_failed)):
                break
            try:
                if failures or found:
                    deadline.check("cvxpy's solvers")
                left = deadline.left if solver == order[-1] else deadline.share
                self.portfolio.minimise(solver, tolerance, left)
                theta = np.asarray(self.theta.value, dtype=float)
                if not np.all(np.isfinite(theta)):
                    raise SubproblemError("failed", f"the solution of {solver} is not finite")
            except SubproblemError as error:
                self.slow_failed |= solver == SLOW
                failures.append(error)
                continue
            except Exception as error:
                reason = f"{solver} raised {type(error).__name__}: {error}"
                failures.append(SubproblemError("failed", reason))
                continue
            bound = size * self.portfolio.bound()
            by = solver if self._named is not None else ""
            found.append(Solution(theta, None, problem.value(theta), bound=bound, by=by))
            lowest = min(solution.value for solution in found)
            sure = len(found) > 1 or not self._is_doubtful(found[0], size)
            if sure and lowest <= centre + ACCEPT * tolerance * (1 + abs(centre)):
                break
        if not found:
            raise failures[0]
        bound = max(solution.bound for solution in found)
        best, first = min(found, key=lambda solution: solution.value), found[0]
        kept = first.by == self._named and first.value <= best.value + tolerance * (1 + abs(centre))
        return replace(first if kept else best, bound=bound)

    def _load(self, problem: WeightedRisk, start: Array, size: float) -> None:
        """Set the Parameters to the weighted risk, divided by its size at the start.

        Negligible weights are set to 0: weights such as 1e-200 make solvers fail.
        """
        weights = problem.weights
        small = weights <= LAST_PLACES * np.max(weights)
        small &= weights * self.risk.aggregates(start) <= LAST_PLACES * size
        self.weights.value = np.where(small, 0.0, weights) / size
        self.tilt.value = problem.linear / size
        self.scale.value = 1 / size
        shrinkage = problem.shrinkage
        self.shrinkage.value = (
            np.zeros(self.shrinkage.shape) if shrinkage is None else shrinkage / size
        )

    def _is_doubtful(self, solution: Solution, size: float) -> bool:
        """True if the solver reports inaccuracy, or its dual bound is far below the value."""
        value, bound = solution.value, solution.bound
        missed = value - bound if np.isfinite(bound) else 0.0
        return self.portfolio.inaccurate or missed > DOUBT * (size + abs(value))


def _work(risk: Risk) -> tuple[float, float]:
    """The entries of the rows, and the products of a factorisation."""
    rows, columns = risk.rows.shape
    X: Any = risk.scores.X
    stored = X.nnz if hasattr(X, "nnz") else X.shape[0] * X.shape[1]
    entries = stored * rows / X.shape[0] + rows
    long, short = max(rows, columns), min(rows, columns)
    return entries, entries**2 / long + factor_products(short)
