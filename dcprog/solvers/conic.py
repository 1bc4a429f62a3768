"""Any risk's weighted subproblem through cvxpy, compiled once: the reference path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cvxpy as cp
import numpy as np

from dcprog.errors import SubproblemError
from dcprog.solvers.compiled import CompiledProblem, problem_class, solver_order
from dcprog.solvers.protocol import Solution
from dcprog.tree import Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["ConicSolver"]


# The objective is rescaled up to ROUNDS times, until it is above MATCH at its minimum.
ROUNDS = 5
MATCH = 0.1


class ConicSolver:
    """The weighted risk as a DPP problem whose weights are Parameters.

    Weights of a run span many decades, and a cone solver's tolerance is absolute around 1. So the
    objective is divided by its value at the centre, and again by its value at the solution until
    the two agree to a factor of ten. The solvers are tried in turn until one is no worse than the
    centre; the lowest value, recomputed in NumPy, decides.

    Parameters
    ----------
    risk : Risk
        Any whose rows have a matrix and whose base has a cvxpy expression.
    solver : str, optional
        Installed cvxpy solver to try first; by default the class of the problem decides.

    Raises
    ------
    ValueError
        The rows have no matrix.
    """

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.risk = risk
        self.theta = cp.Variable(risk.rows.shape[1], name="theta")
        self.weights = cp.Parameter(risk.n_groups, nonneg=True)
        self.tilt = cp.Parameter(self.theta.size)
        self.scale = cp.Parameter(nonneg=True)
        aggregates = risk.expression(self.theta)
        penalty = risk.penalty.expression(self.theta[np.flatnonzero(risk.penalized)])
        self.problem = cp.Problem(
            cp.Minimize(
                cp.sum(cp.multiply(self.weights, aggregates))
                + self.tilt @ self.theta
                + self.scale * penalty
            )
        )
        self.order = solver_order(problem_class(self.problem), solver)
        self._compiled: dict[str, CompiledProblem] = {}

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """Why cvxpy cannot take a risk, None if it can."""
        try:
            risk.matrix()
        except ValueError as error:
            return str(error)
        return None

    def minimise(
        self,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The lowest point the solvers found."""
        centre = self.value(start, weights, tilts, start)
        found: list[Solution] = []
        failures: list[SubproblemError] = []
        for solver in self.order:
            try:
                theta, sure = self._scaled(solver, weights, tilts, start, tolerance, time_limit)
            except SubproblemError as error:
                failures.append(error)
                continue
            found.append(Solution(theta, None, self.value(theta, weights, tilts, start)))
            if sure and found[-1].value <= centre + tolerance * (1 + abs(centre)):
                break
        if not found:
            raise failures[0]
        return min(found, key=lambda solution: solution.value)

    def _scaled(
        self,
        solver: str,
        weights: Array,
        tilts: Array | None,
        start: Array,
        tolerance: float,
        time_limit: float | None,
    ) -> tuple[Array, bool]:
        """One solver's point, and whether the objective was divided by about its own size there."""
        if solver not in self._compiled:
            self._compiled[solver] = CompiledProblem(self.problem, solver)
        tilt = np.zeros(self.theta.size) if tilts is None else self.risk.rows.T @ tilts
        theta: Array | None = None
        size = self.risk.weighted(start, weights) or 1.0
        for _ in range(ROUNDS):
            self.weights.value = weights / size
            self.tilt.value = tilt / size
            self.scale.value = 1 / size
            try:
                self._compiled[solver].minimise(tolerance, time_limit)
            except SubproblemError:
                if theta is None:
                    raise
                return theta, False
            theta = np.asarray(self.theta.value, dtype=float)
            reached = self.risk.weighted(theta, weights)
            if not 0 < reached < MATCH * size:
                break
            size = reached
        assert theta is not None
        return theta, True

    def value(self, theta: Array, weights: Array, tilts: Array | None, centre: Array) -> float:
        """The weighted risk itself."""
        return self.risk.weighted(theta, weights, tilts)
