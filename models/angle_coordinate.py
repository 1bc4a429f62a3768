"""Block coordinate ascent on the dual of piecewise linear losses with a ridge."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.piecewise.active_set import Candidate, Guess, crossover
from dcprog.solvers.piecewise.polyhedral import polyhedral_refusal
from dcprog.solvers.piecewise.polyhedral_solver import PolyhedralSolver
from dcprog.solvers.piecewise.subproblem import Subproblem
from dcprog.solvers.protocol import Solution, refuse

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["CoordinateSolver"]

LOOPS = "dcprog.models.angle_coordinate_loops"
FIRST_ROUNDS = 10
MOST_ROUNDS = 400  # most passes in one order
MOST_WORK = 3e8  # most numbers of X to visit before the solver gives up
GROWTH = 1.6
NEAR = 0.3  # relative gap below which the crossover is tried
CROSSOVER_ROUNDS = 8


class CoordinateSolver(PolyhedralSolver):
    r"""Minimise Σ_g cost_g max_p (code_gp·f_{i(g)} + const_gp) + linear·θ + (λ/2)‖θ‖² by its dual.

    The dual is

        max_μ  Σ μ_gp const_gp − ‖linear + Σ μ_gp code_gp ⊗ x̃_i‖²/(2λ),   μ ≥ 0,  Σ_p μ_gp = cost_g.

    The optimal θ is −(linear + Σ μ code ⊗ x̃)/λ. For one hinge per row, μ has the box constraints
    0 ≤ μ ≤ d of the reinforced hinge (eq. 7 of Zhang et al.); for the maximum over a sample's rows,
    Σ_j μ_ij ≤ d_i (eq. 12). A pass visits the samples in random order; pairs of lines of a sample
    exchange weight until the best line has all of it or they are equal, at O(c·d̃) per sample. The
    multipliers of the last subproblem are the start. The duality gap is certified; once it is
    small, the active set method is tried, and its exact minimiser ends the search.

    Parameters
    ----------
    risk : Risk
        A piecewise linear base, alone or with the maximum over a sample's rows, on dense samples,
        and an ``l2`` penalty of all coefficients.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM, ICML. Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector
    machines using difference convex algorithm, Math. Program. 169.
    """

    on_request: ClassVar[str | None] = "it is slow where the penalty is light"

    name = "coordinate"

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        design = self.design
        self._X = np.ascontiguousarray(design.X)
        self._squares = np.sum(self._X**2, axis=1)
        self._shape = design.n, len(design.sample) // design.n, design.const.shape[1]

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        reason = polyhedral_refusal(risk)
        if reason is not None:
            return reason
        form = risk.penalty.as_l1_l2(int(risk.penalized.sum()))
        if form is None or np.any(form[0]) or not form[1] > 0:
            return f"its penalty is {risk.penalty!r}, not l2 with a positive lam"
        if not np.all(risk.penalized):
            return "some of its coefficients are not penalised"
        if not isinstance(risk.scores.X, np.ndarray):
            return "its samples are sparse"
        return None

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        refuse(self.name, shrinkage=problem.shrinkage)
        return super().minimise(problem, start, tolerance, time_limit)

    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, time_limit: float | None
    ) -> tuple[Array, Array]:
        """The coefficients of the multipliers, or the active set method's exact minimiser."""
        duals = self.memory.take()
        if duals is None:
            duals = _multipliers_at(problem, start)
        feasible, deadline = problem.feasible(duals), Deadline(time_limit)
        found = self._ascended(problem, feasible, tolerance, deadline)
        self.memory.put(found.duals)
        return found.x, found.duals

    def _ascended(
        self, problem: Subproblem, duals: Array, tolerance: float, deadline: Deadline
    ) -> Candidate:
        passes: Any = import_module(LOOPS).passes  # imports numba
        design, lam = self.design, float(problem.l2[0])
        arrays: Any = (
            design.code.reshape(*self._shape, design.c),
            design.const.reshape(self._shape),
            problem.cost.reshape(self._shape[:2]),
        )
        work = self._X.size * design.c
        rng, rounds, done, near = np.random.default_rng(0), FIRST_ROUNDS, 0, NEAR
        while True:
            x = -problem.slope(duals) / lam
            value, gap = problem.value(x), problem.gap(x, duals)
            if gap <= tolerance * (1 + abs(value)):
                return Candidate(x, duals, value, max(gap, 0.0))
            if gap <= near * (1 + abs(value)):
                guess = _guess(problem, x, duals)
                exact, _ = crossover(problem, guess, tolerance, CROSSOVER_ROUNDS, deadline)
                if exact is not None:
                    return exact
                near = gap / (1 + abs(value)) / 2
            deadline.check("coordinate ascent")
            if done * work >= MOST_WORK:
                raise SubproblemError("failed", f"coordinate: the duality gap stayed at {gap:.3g}")
            B = np.ascontiguousarray(x.reshape(design.c, -1))
            order = rng.permutation(design.n)
            blocks = duals.reshape(self._shape)
            passes(self._X, self._squares, *arrays, blocks, B, 1 / lam, order, rounds)
            done += rounds
            rounds = min(int(GROWTH * rounds), MOST_ROUNDS)


def _guess(problem: Subproblem, x: Array, duals: Array) -> Guess:
    """The guess that the lines with a positive multiplier are active."""
    active = duals > 0
    idle = np.flatnonzero(~active.any(axis=1))
    active[idle, np.argmax(problem.design.lines(x)[idle], axis=1)] = True
    return Guess(active, np.ones(x.size, dtype=np.int8), duals)


def _multipliers_at(problem: Subproblem, x: Array) -> Array:
    """Multipliers with the whole cost on the largest line, which is right away from kinks."""
    lines = problem.design.lines(x)
    duals = np.zeros(lines.shape)
    duals[np.arange(len(lines)), np.argmax(lines, axis=1)] = problem.cost
    return duals
