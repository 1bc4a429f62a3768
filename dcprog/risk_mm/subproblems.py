"""The subproblems of a risk, which are passed to solvers in natural units."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dcprog.engine.track import Attempt
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.duality import above_least, duality_gap
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.starts import convex_problem
from dcprog.risk_mm.units import Units
from dcprog.solvers.protocol import ACCEPT, ExactSolver, Solution, SubproblemSolver

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk


logger = logging.getLogger("dcprog")

START = (1e-8, 1e-6, 1e-4)  # tolerances of the convex problem that gives the start, tried in turn
FINEST, COARSEST = 1e-14, 0.5  # range of the tolerances that are passed to solvers
OUT_OF_SIZE = 30.0  # largest change of the objective's size, as a factor, with the same units
# A loose start that a solver has left unfinished will do if no more than this share of the value at
# θ = 0 is left: as losses and penalties are not negative, it has half of the fall that is possible.
ROUGH = 0.5
PERFECT = 1e-4  # a fit with a smaller value, in natural units, is almost perfect

Aim = tuple[float, float]  # the allowed error of a minimum, and the value at the centre


class Subproblems:
    """The solvers of the weighted risks of a run, constructed when first used.

    Parameters
    ----------
    risk : Risk
        The risk in the user's units.
    make : callable
        Constructs the solver of a name for a risk in natural units.

    Attributes
    ----------
    time : float
        Seconds spent in solvers.
    steps : int
        The steps of solvers that count them, in all.
    last : Solution or None
        The last solution, in the risk's own units.
    """

    def __init__(self, risk: Risk, make: Callable[[str, Risk], SubproblemSolver]) -> None:
        self.risk = risk
        self.time = 0.0
        self.steps = 0
        self.last: Solution | None = None
        self._problem: WeightedRisk | None = None  # that the last solution is for
        self._make = make
        self._made: dict[str, SubproblemSolver] = {}
        self._units: Units | None = None

    @property
    def units(self) -> Units:
        """The natural units; before :meth:`fit` those for the convex problem's value at θ = 0."""
        if self._units is None:
            zero = np.zeros(self.risk.rows.shape[1])
            self.fit(abs(convex_problem(self.risk).value(zero)))
        assert self._units is not None
        return self._units

    def fit(self, size: float) -> None:
        """Choose units for an objective of the given size, unless the present units suit it."""
        if not 0 < size < np.inf:
            size = 1.0
        units = self._units
        if units is None or not 1 / OUT_OF_SIZE <= size / units.size <= OUT_OF_SIZE:
            self._units = Units.of(self.risk, size)
            self._made = {}

    def solve(
        self,
        problem: WeightedRisk,
        centre: Array,
        aim: Aim,
        solver: str,
        limit: float | None,
    ) -> Array:
        """The minimiser by one solver.

        Raises
        ------
        SubproblemError
            The solver's own; ``failed`` for other exceptions and for solutions of a wrong shape or
            with NaN or infinity.
        """
        begun = time.perf_counter()
        if self._problem is not None and not problem.repeats(self._problem):
            self._problem = None  # its vectors are as long as the data
        try:
            solution = self._answer(problem, centre, aim, solver, limit)
        except SubproblemError as error:
            if error.point is not None:
                natural = Solution(error.point, None, 0.0)
                error.point = self.units.solution(natural).coefficients
            raise
        except Exception as error:
            self._made.pop(solver, None)  # its caches may be half written
            logger.debug("%s", solver, exc_info=True)
            reason = f"{solver} raised {type(error).__name__}: {error}"
            raise SubproblemError("failed", reason) from error
        finally:
            self.time += time.perf_counter() - begun
        if solution.coefficients.shape != centre.shape:
            raise SubproblemError("failed", f"{solver} returned {solution.coefficients.shape}")
        if not np.all(np.isfinite(solution.coefficients)):
            raise SubproblemError("failed", f"the solution of {solver} is not finite")
        self.steps += solution.n_iter or 0
        self.last, self._problem = solution, problem
        return solution.coefficients

    def _answer(
        self,
        problem: WeightedRisk,
        centre: Array,
        aim: Aim,
        solver: str,
        limit: float | None,
    ) -> Solution:
        """The solution of a solver, transformed from natural units to the risk's own."""
        made = self._solver(solver)
        units = self.units
        slack, value = aim
        tolerance = min(max(slack / (units.size + abs(value)), FINEST), COARSEST)
        found = made.minimise(units.problem(problem), units.theta(centre), tolerance, limit)
        return units.solution(found)

    def _solver(self, name: str) -> SubproblemSolver:
        if name not in self._made:
            self._made[name] = self._make(name, self.units.natural)
        return self._made[name]

    def first_solved(
        self,
        solvers: tuple[str, ...],
        attempts: list[Attempt],
        problem: WeightedRisk,
        centre: Array,
        time_limit: float | None,
        tolerances: tuple[float, ...] = START,
    ) -> Array:
        """The minimiser by the first solver that succeeds, to the first tolerance that is reached.

        If all fail, or one has come far where a loose start is wanted, the lowest point that a
        solver has reached below the centre is returned. A solver gets a share of the time left,
        the last one all of it. Failures are added to the attempts.

        Raises
        ------
        SubproblemError
            All solvers fail, and no point below the centre was reached.
        """
        deadline = Deadline(time_limit)
        failures: list[SubproblemError] = []
        value = problem.value(centre)
        lowest, reached = value, centre
        for tolerance, solver in product(tolerances, solvers):
            decided = tolerance > tolerances[0] and any(e.status != "failed" for e in failures)
            if failures and (deadline.left == 0 or decided):
                break
            at_most = deadline.left if solver == solvers[-1] else deadline.share
            aim = tolerance * (self.units.size + abs(value)), value
            try:
                found = self.solve(problem, centre, aim, solver, at_most)
                rise = problem.value(found) - value
                if rise <= ACCEPT * aim[0]:
                    return found
                raise SubproblemError("failed", f"{solver} rose from θ = 0 by {rise:.3g}")
            except SubproblemError as error:
                failures.append(error)
                attempts.append(Attempt(0, solver, tolerance, str(error)))
                above = np.inf if error.point is None else problem.value(error.point)
                if above < lowest:
                    lowest, reached = above, error.point
                if tolerances[0] > START[-1] and lowest <= ROUGH * value:
                    break
        if reached is not centre:
            return reached
        raise failures[0]

    def further(self, problem: WeightedRisk, x: Array, solver: str) -> Array:
        """The point to which a solver goes on from x; see :meth:`ExactSolver.further`."""
        begun, made, units = time.perf_counter(), self._solver(solver), self.units
        if not isinstance(made, ExactSolver):
            return x
        start = units.theta(x)
        theta = made.further(units.problem(problem), start)
        self.time += time.perf_counter() - begun
        return x if theta is start else units.solution(Solution(theta, None, 0.0)).coefficients

    def value(self, name: str, problem: WeightedRisk, x: Array, centre: Array) -> float:
        """The value at x of the function that a solver minimises; see :class:`SubproblemSolver`."""
        made = self._solver(name)
        if isinstance(made, ExactSolver):
            return problem.value(x)
        units = self.units
        value = made.value(units.problem(problem), units.theta(x), units.theta(centre))
        return value * units.size

    def bound(self, problem: WeightedRisk) -> float:
        """The solver's lower bound of the weighted risk; −∞ without a solution of it."""
        known = self._problem is not None and problem.repeats(self._problem)
        return self.last.bound if known and self.last is not None else -np.inf

    def gap(self, problem: WeightedRisk, centre: Array) -> float:
        """An upper bound of the last solution's error in value; see :func:`duality_gap`."""
        if self.last is None:
            return np.inf
        units = self.units
        natural = units.problem(problem)
        if natural.risk._known is None:
            natural = replace(natural, risk=natural.risk.remembering())
        where = natural, units.theta(self.last.coefficients)
        gap = duality_gap(*where, units.dual(self.last.dual), units.theta(centre))
        above = above_least(*where)  # bounds the error too, closely if the fit is almost perfect
        return units.size * (min(gap, above) if above <= PERFECT else gap)
