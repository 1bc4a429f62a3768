"""The surrogate of a cvxpy problem: its expression tree, majorised by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.history import Attempt
from dcprog.engine.protocol import FAR
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.majorants.tree import Values, short
from dcprog.surrogates import edges
from dcprog.surrogates.majorised_problem import MajorisedProblem
from dcprog.surrogates.price import Price
from dcprog.surrogates.problem_stationarity import ProblemStationarity

__all__ = ["ProblemSurrogate"]

# Solvers are never asked for more than that share of a tolerance.
LEAST_SHARE = 1e-4

UNSET = np.zeros(0)

# Where beside x the majorant is centred, to look for a lower point: a tie has two sides.
ASIDE = (1e-2, -1e-2, 1.0)
PROPOSAL_TOLERANCE = 1e-6


class ProblemSurrogate(ProblemStationarity):
    """Majorant of a cvxpy problem, compiled once a solver.

    The objective is majorised by the rules. A nonconvex constraint e ≤ 0 becomes up(e) ≤ 0 when
    the run begins at a feasible point, and every iterate is then feasible; otherwise it becomes
    up(e) ≤ s with s ≥ 0 and the objective gets τ·Σs/size (penalty CCP), where size is what the
    constraint's terms add up to and τ grows while a constraint is missed. In that mode F is the
    exact penalty function f + τ·Σ max(e, 0)/size.

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters are taken at their current values.
    solver, options : str and mapping, optional
        Installed cvxpy solver to try first, and what it is told; by default the class of the
        subproblem decides.
    feasibility : float, default 1e-6
        Violation of a feasible point, at most, against what the constraint's terms add up to.

    Raises
    ------
    NotMajorizable
        No rule applies somewhere.
    ValueError
        Integer, boolean or complex variables, NaN or infinity in the data, an unknown solver, a
        Parameter without a value.

    References
    ----------
    Lipp and Boyd (2016), Variations and extension of the convex-concave procedure, Optimization
    and Engineering 17, algorithm 3.1 (penalty CCP).
    """

    solver_steps = 0

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        feasibility: float = 1e-6,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(MajorisedProblem(problem, solver, feasibility, options))

    def renew(self) -> bool:
        """Take the user's Parameters at their present values; False if that takes a new object."""
        if not self.majorised.renew():
            return False
        self.restart()
        return True

    def restart(self) -> None:
        """Forget all that earlier runs have left, but not what is compiled."""
        self.majorised.restart()
        self._forget()

    def _forget(self) -> None:
        """Runs before this one."""
        super()._forget()
        self.firmness = 1.0
        self.paying = False
        self.settled = True
        self._slopes: dict[int, Array] = {}
        self._solved_in: str | None = None

    # ------------------------------------------------------------------------------------------
    # what is known before any point is

    @property
    def is_convex(self) -> bool:
        """No rule had to change anything: the problem is its own majorant."""
        return self.majorised.is_convex

    @property
    def solvers(self) -> tuple[str, ...]:
        """Solvers for the majorised problem, best first."""
        return self.majorised.solvers()

    @property
    def witnesses(self) -> tuple[str, ...]:
        """Solvers that may confirm a verdict: the one the user names, then the others."""
        return self.solvers

    @property
    def mode(self) -> str:
        """How nonconvex constraints are met: ``"none"``, ``"feasible"`` or ``"penalty"``."""
        if not self.majorised.constraints:
            return "none"
        return "penalty" if self.majorised.penalised else "feasible"

    @property
    def may_look_ahead(self) -> bool:
        """Under nonconvex constraints: their majorants allow short steps only."""
        return bool(self.majorised.constraints)

    @property
    def loosest(self) -> float:
        """None: compiled programs start afresh at every tolerance."""
        return 0.0

    @property
    def start_solver(self) -> str:
        """The solver of the convex start."""
        return self.majorised.start_solver

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return self.majorised.modes.solve_time

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return self.majorised.modes.compile_time

    def compile(self) -> None:
        """Compile what runs solve."""
        self.majorised.compile()

    def take_attempts(self) -> tuple[Attempt, ...]:
        """The failed calls beside those of the steps; they are handed over once."""
        attempts, self.majorised.attempts = self.majorised.attempts, []
        return tuple(attempts)

    # ------------------------------------------------------------------------------------------
    # a run

    def begin(self, x: Array) -> None:
        """Feasible iterates if x allows them, penalty CCP otherwise."""
        problem = self.majorised
        problem.modes.reset()
        self._slopes, self._solved_in = {}, None
        self.sizes.begin(x)
        problem.edge = edges.first_edge(problem, x)
        problem.forget_values()
        self.sizes.learn(x)
        problem.mode, self._price = "feasible", Price()
        priced = self.restoring or self.paying or problem.has_equalities
        if problem.constraints and (priced or not self.is_feasible(x)):
            self._weights = [1 / size for size in problem.feasibility.sizes]
            rate = 0.0 if self.restoring else self._exchange_rate(x)
            self._price = Price(rate, self.firmness, fixed=self.restoring)
            problem.mode = "restore" if self.restoring else "penalty"

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x; raise τ where x misses a constraint."""
        problem = self.majorised
        problem.edge = edges.next_edge(problem.edge)
        self.settled = problem.edge == EDGE
        if problem.penalised:
            violation = problem.feasibility.nonconvex(problem.at(x)).relative
            step = self.sizes.step(x)
            self.settled &= self._price.follow(violation, problem.tolerance, step)
        if self.sizes.follow(x) and problem.mode == "penalty":
            self.settled &= not self._price.reconsider(self._exchange_rate(x))
        return self._update(problem.at(x))

    def _update(self, values: Values) -> bool:
        """Set the Parameters, and return True if any of the problem that is being solved moved."""
        problem = self.majorised
        problem.update(values)
        if problem.penalised:
            problem.modes.set_prices([self._price.tau * w for w in self._weights])
        parameters = problem.modes.problem(problem.mode).parameters()
        same = len(parameters) == len(self._slopes) and all(
            np.array_equal(p.value, self._slopes.get(p.id, UNSET)) for p in parameters
        )
        self._slopes = {p.id: np.array(p.value) for p in parameters}
        if not same:
            self._solved_in = None
        return not same

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the majorised problem."""
        # solvers measure their tolerance by the terms, which cancel where F is a difference
        problem, self._solved_in = self.majorised, None
        scale, terms = self.scale(start), problem.terms(problem.at(start))
        cancelled = min(1.0, max(scale / terms, LEAST_SHARE)) if terms else 1.0
        try:
            x = problem.minimise(problem.mode, cancelled * tolerance, solver, time_limit)
        except SubproblemError as error:
            if error.status == "unbounded" and problem.mode == "penalty":
                self.settled &= not self._price.push()  # a larger price may bound it
            raise
        self._solved_in = problem.mode
        return x

    def minimise_ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """Minimiser of the majorant centred elsewhere, for the same τ and ε."""
        problem, self._solved_in = self.majorised, None
        try:
            self._update(problem.at(centre))
            return problem.minimise(problem.mode, tolerance, solver, time_limit)
        finally:
            self._update(problem.at(x))

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """Minimisers of the majorant centred beside x: they heed all constraints."""
        aside, deadline = self.sizes.beside(x, rng, 1.0) - x, Deadline(time_limit)
        for size in ASIDE:
            beside, left = x + size * aside, deadline.left
            if left == 0:
                return
            try:
                yield self.minimise_ahead(beside, x, PROPOSAL_TOLERANCE, self.solvers[0], left)
            except (SubproblemError, ValueError, ArithmeticError) as error:
                self.majorised.note(self.solvers[0], PROPOSAL_TOLERANCE, f"beside x: {error}")

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Minimisers of the majorant in growing boxes around x."""
        problem, split = self.majorised, self.points.split
        units, deadline = self.units(x), Deadline(time_limit)
        for size in FAR:
            corners = split(x - size * units), split(x + size * units)
            mode = problem.modes.box(problem.mode, *corners)
            for solver in problem.solvers(mode):
                if deadline.left == 0:
                    return
                try:
                    self._solved_in = None
                    yield problem.minimise(mode, PROPOSAL_TOLERANCE, solver, deadline.left)
                    break
                except SubproblemError as error:
                    problem.note(solver, PROPOSAL_TOLERANCE, f"in a box: {error}")

    # ------------------------------------------------------------------------------------------
    # bounds

    @property
    def floor(self) -> float:
        """0 where nothing is negative, the value of a constant; prices only add to it."""
        node = self.majorised.frame.node
        if node.is_constant() and not self.restoring:
            return float(np.sum(Values().array(node)))
        return 0.0 if self.restoring or node.is_nonneg() else -np.inf

    def bound(self) -> float:
        """The dual bound of the last subproblem, where the majorant still is the same."""
        if self._solved_in is None:
            return self.floor
        return max(self.floor, self.majorised.modes.portfolio(self._solved_in).bound())

    def bound_of_start(self) -> float:
        """A dual bound of the problem itself, where it is convex and the start has solved it."""
        if self.majorised.frame.node.is_constant():
            return self.floor
        return self.majorised.modes.portfolio("feasible").bound()

    # ------------------------------------------------------------------------------------------
    # what the driver asks

    def dual(self, x: Array) -> None:
        """Of a Risk only."""

    def __repr__(self) -> str:
        return f"ProblemSurrogate({short(self.majorised.frame.node, 60)})"
