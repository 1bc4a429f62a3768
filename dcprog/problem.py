"""The surrogate of a cvxpy problem: its expression tree, majorised by the rules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.constraints import Miss, distance_to_attributes, excess, miss, split
from dcprog.errors import SubproblemError
from dcprog.freeze import check_data, freeze
from dcprog.result import Attempt
from dcprog.rules import Context, Frame
from dcprog.solvers.compiled import check_solver
from dcprog.solvers.portfolio import Portfolio
from dcprog.tree import EDGE, Array, Values, short, unvec, vec

__all__ = ["ProblemSurrogate"]

# Penalty CCP. The weight of the slacks starts at a fraction of the rate at which the objective
# and the violation vary against each other around the start, and grows while a constraint is
# missed.
FIRST_PENALTY = 0.1
PENALTY_GROWTH = 1.5
PENALTY_RANGE = 1e8

START_TOLERANCE = 1e-8

# Where a slope is infinite (√u at 0), the tangent is taken that far inside the domain, first a
# fraction of the arguments' size and then less each step: with 1e-10 from the start, what is 0 in
# the convex start could never leave.
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6
EDGE_AT_ZERO = {"Power", "PowerApprox", "GeoMean", "GeoMeanApprox", "Pnorm", "PnormApprox", "entr"}


class ProblemSurrogate:
    """Majorant of a cvxpy problem, compiled once a solver.

    The objective is majorised by the rules. A nonconvex constraint e ≤ 0 becomes up(e) ≤ 0 when
    the run begins at a feasible point, and every iterate is then feasible; otherwise it becomes
    up(e) ≤ s with s ≥ 0 and the objective gets τ·Σs (penalty CCP), where τ grows while a
    constraint is missed. In that mode F is the exact penalty function f + τ·Σ max(e, 0).

    Parameters
    ----------
    problem : cvxpy.Problem
        Parameters are taken at their current values.
    solver : str, optional
        Installed cvxpy solver to try first; by default the class of the subproblem decides.
    feasibility : float, default 1e-6
        Violation up to which a point counts as feasible, relative to the constraint's terms
        where these are larger than 1.

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

    def __init__(
        self, problem: cp.Problem, solver: str | None = None, feasibility: float = 1e-6
    ) -> None:
        check_data(problem)
        self._solver = check_solver(solver)
        self.problem = freeze(problem)
        self.feasibility = feasibility
        self.variables: list[cp.Variable] = self.problem.variables()
        self.sign = -1.0 if isinstance(self.problem.objective, cp.Maximize) else 1.0
        self._context = Context()
        objective = self.problem.objective.args[0]
        self._objective = Frame(
            objective if self.sign > 0 else -objective, self._context, gather=True
        )
        self._convex, nonconvex, self._equalities = split(self.problem.constraints)
        self._constraints = [Frame(e, self._context, entrywise=True) for e in nonconvex]
        self._penalised = False
        self._penalty = 0.0
        self._edge = EDGE
        self._largest_penalty = 0.0
        self._portfolios: dict[str, Portfolio] = {}
        self._problems: dict[str, cp.Problem] = {}
        self._point: Array | None = None
        self._values = Values()
        self._slopes: list[Array] = []
        self.settled = True
        self.start_solver = ""
        self.start_attempts: list[Attempt] = []

    # ------------------------------------------------------------------------------------------
    # what is known before any point is

    @property
    def is_convex(self) -> bool:
        """No rule had to change anything: the problem is its own majorant."""
        return bool(self.problem.is_dcp())

    @property
    def solvers(self) -> tuple[str, ...]:
        """Solvers for the majorised problem, best first."""
        return self._portfolio(self._mode).order

    @property
    def mode(self) -> str:
        """How nonconvex constraints are met: ``"none"``, ``"feasible"`` or ``"penalty"``."""
        return "none" if not self._constraints else self._mode

    @property
    def _mode(self) -> str:
        return "penalty" if self._penalised else "feasible"

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return sum(p.solve_time for p in self._portfolios.values())

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return sum(p.compile_time for p in self._portfolios.values())

    def _problem(self, mode: str) -> cp.Problem:
        """The convex problem of a mode: ``free`` drops the nonconvex constraints."""
        if mode not in self._problems:
            objective = self._objective.expression
            constraints = [*self._convex, *self._context.constraints, *self._context.domain]
            if mode == "feasible":
                constraints += [frame.expression <= 0 for frame in self._constraints]
            if mode == "penalty":
                slacks = [cp.Variable(f.expression.shape, nonneg=True) for f in self._constraints]
                self._tau = cp.Parameter(nonneg=True)
                constraints += [
                    f.expression <= s for f, s in zip(self._constraints, slacks, strict=True)
                ]
                objective = objective + self._tau * sum(cp.sum(s) for s in slacks)
            self._problems[mode] = cp.Problem(cp.Minimize(objective), constraints)
        return self._problems[mode]

    # ------------------------------------------------------------------------------------------
    # points

    def pack(self, arrays: Mapping[int, Any]) -> Array:
        """The flat point of a mapping from variable id to array."""
        return np.concatenate([vec(arrays[v.id]) for v in self.variables] or [np.zeros(0)])

    def unpack(self, x: Array) -> list[tuple[cp.Variable, Array]]:
        """Variables and their arrays at a flat point."""
        ends = np.cumsum([v.size for v in self.variables])
        pieces = np.split(x, ends)[:-1]
        return [(v, unvec(p, v.shape)) for v, p in zip(self.variables, pieces, strict=True)]

    def load(self, x: Array) -> None:
        """Put a flat point into the user's variables."""
        for variable, array in self.unpack(x):
            variable.save_value(array)

    def _at(self, x: Array) -> Values:
        """Values of the problem's nodes at x, kept while x stays the same."""
        self.load(x)
        if self._point is None or not np.array_equal(self._point, x):
            self._values = self._context.values(self._edge)
            self._point = x.copy()
        return self._values

    # ------------------------------------------------------------------------------------------
    # the protocol

    def begin(self, x: Array) -> None:
        """Feasible iterates if x allows them, penalty CCP otherwise."""
        feasible = self.is_feasible(x)
        self._penalised = bool(self._constraints) and (self._equalities or not feasible)
        self._slopes = []
        self._edge = self._first_edge(x) / EDGE_DECAY
        if self._penalised:
            scale = self._exchange_rate(x)
            self._penalty = FIRST_PENALTY * scale / PENALTY_GROWTH
            self._largest_penalty = PENALTY_RANGE * scale

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x; raise τ where x misses a constraint."""
        self._move_edge()
        values = self._at(x)
        self.settled = self._edge == EDGE
        if self._penalised:
            missed = self._missed(values).relative > self.feasibility
            if missed and self._penalty < self._largest_penalty:
                self._penalty *= PENALTY_GROWTH
            self.settled &= not missed or self._penalty >= self._largest_penalty
        return self._update(values)

    def _first_edge(self, x: Array) -> float:
        """A tenth of the size of the arguments that start at an infinite slope."""
        self.load(x)
        values, widest = self._context.values(), EDGE
        for node in self._context.edges.values():
            size = np.abs(values.array(node.args[0]))
            largest = float(np.max(size, initial=0.0))
            if type(node).__name__ in EDGE_AT_ZERO and np.min(size) <= NEAR_EDGE * largest:
                widest = max(widest, FIRST_EDGE * (largest or 1.0))
        return widest

    def _move_edge(self) -> None:
        edge = max(EDGE, self._edge * EDGE_DECAY)
        if edge != self._edge:
            self._edge, self._point = edge, None

    def _update(self, values: Values) -> bool:
        frames = [self._objective, *self._constraints, *self._context.domain_frames]
        for frame in frames:
            frame.update(values)
        slopes = [p.value for f in frames for p in f.expression.parameters()]
        slopes.append(np.asarray(self._penalty))
        same = len(slopes) == len(self._slopes) and all(
            np.array_equal(a, b) for a, b in zip(slopes, self._slopes, strict=True)
        )
        self._slopes = [np.array(slope) for slope in slopes]
        return not same

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the majorised problem."""
        if self._penalised:
            self._problem("penalty")
            self._tau.value = self._penalty
        return self._minimise(self._mode, tolerance, solver, time_limit)

    def _minimise(
        self, mode: str, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        self._portfolio(mode).minimise(solver, tolerance, time_limit)
        free = [v for v in self.variables if v.value is None]  # in no term and no constraint left
        for variable in free:
            variable.save_value(np.zeros(variable.shape))
        self._point = None
        return self.pack({v.id: v.value for v in self.variables})

    def _portfolio(self, mode: str) -> Portfolio:
        """The solvers of the problem of a mode."""
        if mode not in self._portfolios:
            self._portfolios[mode] = Portfolio(self._problem(mode), self._solver)
        return self._portfolios[mode]

    def value(self, x: Array) -> float:
        """f(x), plus τ·Σ max(e, 0) in penalty mode; infinite outside the convex constraints."""
        values = self._at(x)
        value = float(np.sum(values.array(self._objective.node)))
        strict = self._convex_miss(values)
        if not self._penalised:
            strict |= self._missed(values)
        if np.isnan(value) or strict.relative > self.feasibility:
            return np.inf
        if self._penalised:
            value += self._penalty * sum(
                float(np.sum(np.maximum(values.array(f.node), 0))) for f in self._constraints
            )
        return value

    def majorant_value(self, x: Array) -> float:
        """The majorant, its slacks at their best, in NumPy."""
        value = self._objective_majorant(x)
        if self._penalised:
            values = Values(self._context.definitions)
            value += self._penalty * sum(
                float(np.sum(np.maximum(values.array(f.expression), 0))) for f in self._constraints
            )
        return value

    def _objective_majorant(self, x: Array) -> float:
        self.load(x)
        return float(np.sum(Values(self._context.definitions).array(self._objective.expression)))

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign.

        Where F is its extension beyond an infinite slope (√u at u = 0), this is not.
        """
        values = self._at(x)
        if self._context.edges:
            exact = float(np.sum(Values().array(self._objective.node)))
            if not np.isnan(exact):  # rounding may have left the domain
                return self.sign * exact
        return self.sign * float(np.sum(values.array(self._objective.node)))

    def violation(self, x: Array) -> float:
        """Largest violation of any constraint or declared attribute."""
        values = self._at(x)
        return (self._convex_miss(values) | self._missed(values)).absolute

    def is_feasible(self, x: Array) -> bool:
        """Is every constraint met, up to `feasibility` relative to the terms in it?"""
        values = self._at(x)
        return (self._convex_miss(values) | self._missed(values)).relative <= self.feasibility

    def _missed(self, values: Values) -> Miss:
        """How far the nonconvex constraints are missed."""
        return reduce(or_, (excess(f.node, values) for f in self._constraints), Miss())

    def _convex_miss(self, values: Values) -> Miss:
        convex = reduce(or_, (miss(c, values) for c in self._convex), Miss())
        return reduce(or_, map(distance_to_attributes, self.variables), convex)

    def _exchange_rate(self, x: Array) -> float:
        """How fast the objective varies against the violation around x: the scale of τ."""
        rng = np.random.default_rng(0)
        step = 0.1 * (1 + float(np.max(np.abs(x), initial=0.0)))

        def at(point: Array) -> tuple[float, float]:
            values = self._at(point)
            missed = sum(
                float(np.sum(np.maximum(values.array(f.node), 0))) for f in self._constraints
            )
            return float(np.sum(values.array(self._objective.node))), missed

        here = at(x)
        there = [at(x + step * rng.standard_normal(x.size)) for _ in range(5)]
        objective = np.nanmedian([abs(t[0] - here[0]) for t in there])
        missed = np.nanmedian([abs(t[1] - here[1]) for t in there])
        usable = np.isfinite(objective) and np.isfinite(missed) and objective > 0 and missed > 0
        return float(objective / missed) if usable else 1.0

    # ------------------------------------------------------------------------------------------
    # starts

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem's solution, the same on half of the terms, or a random point."""
        if kind == "random":
            return self._random(rng)
        try:
            x = self._convex_start(rng if kind == "half" else None, time_limit)
        except SubproblemError as error:
            if error.status == "infeasible" or self.is_convex:
                raise
            return self._random(rng)  # the convex part alone is unbounded, F need not be
        if self.is_convex:
            return x
        # ‖x‖ at 0 has no slope to leave by: a point that misses a constraint may as well move, and
        # so may one that the convex problem says nothing about
        flat = self._is_flat(x, rng)
        missed = self._missed(self._at(x)).relative > self.feasibility
        return self._shaken(x, rng) if missed or flat else x

    def _convex_start(self, thin: np.random.Generator | None, time_limit: float | None) -> Array:
        for variable in self.variables:
            if variable.value is None:  # tangents in the convex start do not depend on the point
                variable.save_value(np.zeros(variable.shape))
        self._update(self._context.values(relaxed=True, thin=thin))
        mode = "free" if self._constraints else "feasible"
        failures: list[SubproblemError] = []
        for solver in self._portfolio(mode).order:
            try:
                x = self._minimise(mode, START_TOLERANCE, solver, time_limit)
            except SubproblemError as error:
                failures.append(error)
                self.start_attempts.append(Attempt(0, solver, START_TOLERANCE, str(error)))
                continue
            self.start_solver = solver
            return x
        decided = [e for e in failures if e.status != "failed"]
        raise (decided or failures)[0]

    def _is_flat(self, x: Array, rng: np.random.Generator) -> bool:
        """Is the convex start's objective a constant?"""
        there = self._objective_majorant(self._shaken(x, rng))
        return bool(np.isclose(there, self._objective_majorant(x), rtol=1e-12, atol=0))

    def _random(self, rng: np.random.Generator) -> Array:
        return self._projected(rng.standard_normal(sum(v.size for v in self.variables)))

    def _shaken(self, x: Array, rng: np.random.Generator) -> Array:
        size = 0.1 * (1 + float(np.max(np.abs(x), initial=0.0)))
        return self._projected(x + size * rng.standard_normal(x.size))

    def _projected(self, x: Array) -> Array:
        return self.pack({v.id: v.project(array) for v, array in self.unpack(x)})

    def __repr__(self) -> str:
        return f"ProblemSurrogate({short(self._objective.node, 60)})"
