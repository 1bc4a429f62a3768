"""The surrogate of a cvxpy problem: its expression tree, majorised by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.protocol import FAR
from dcprog.engine.result import Attempt
from dcprog.foundation.arrays import EDGE, Array, unvec, vec
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitSolver
from dcprog.majorants.edges import falls_at, starts_at_edge
from dcprog.majorants.frozen_problem import Frozen, check_data
from dcprog.majorants.rewrites import rewritten
from dcprog.majorants.rules import Frame, fresh_context
from dcprog.majorants.tree import Values, finite_in_domain, nodes, short
from dcprog.solvers.conic.compiled import check_solver
from dcprog.solvers.faults import failures
from dcprog.surrogates.constraints import Feasibility, Miss, split
from dcprog.surrogates.price import Price
from dcprog.surrogates.problem_modes import Modes, domain_of
from dcprog.surrogates.problem_starts import Starts

__all__ = ["ProblemSurrogate"]

# Where F is 0, solvers resolve that share of what it is elsewhere, times tol.
RESOLVED = 1e-2
# Solvers are never asked for more than that share of a tolerance.
LEAST_SHARE = 1e-4
# Where a slope is infinite (√u at 0), the tangent is taken that far inside the domain, first a
# fraction of the arguments' size and then less each step: with 1e-10 from the start, what is 0 in
# the convex start could never leave.
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6

# Where concave atoms fall to −∞; so many times the edge of their domain is there.
NEAR_BOTTOMLESS = 100.0

# A start so many times as large as what comes after it says nothing of sizes: they are measured
# anew, and what variables reached is forgotten by the other factor a step.
WILD = 1e3
DECAY = 10.0
# Points below SMALL may be 0 but for rounding, if they are NEGLIGIBLE beside the problem's unit,
# which is dear to find.
SMALL = 1e-3
NEGLIGIBLE = 1e-6
ENTRY = 1e-8  # an entry so much smaller than the largest of its variable counts as 0

UNSET = np.zeros(0)

# Where beside x the majorant is centred, to look for a lower point: a tie has two sides.
ASIDE = (1e-2, -1e-2, 1.0)
PROPOSAL_TOLERANCE = 1e-6


class ProblemSurrogate:
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
    solver : str, optional
        Installed cvxpy solver to try first; by default the class of the subproblem decides.
    feasibility : float, default 1e-6
        Violation up to which a point counts as feasible, relative to what the constraint's terms
        add up to.

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
        self._named = check_solver(solver)
        self.tolerance = feasibility
        try:
            self._declare(Frozen(problem))
        except NotMajorizable:  # with its Parameters it is not, with numbers it may be
            self._declare(Frozen(problem, moving=False))
        self._forget()
        self.start_solver = ""
        self.solver_steps = 0
        self.start_attempts: list[Attempt] = []

    def _declare(self, frozen: Frozen) -> None:
        """What does not change from run to run."""
        # a problem of our own: who keeps this surrogate does not keep the user's alive
        frozen.problem = cp.Problem(frozen.problem.objective, frozen.problem.constraints)
        self._frozen = frozen
        self.problem = rewritten(frozen.problem)
        self.variables: list[cp.Variable] = self.problem.variables()
        self.sign = -1.0 if isinstance(self.problem.objective, cp.Maximize) else 1.0
        self.context = fresh_context()
        objective = self.problem.objective.args[0]
        self.frame = Frame(objective if self.sign > 0 else -objective, self.context, gather=True)
        convex, nonconvex, self._equalities = split(self.problem.constraints)
        self.constraints = [Frame(e, self.context, entrywise=True) for e in nonconvex]
        self.modes = Modes(
            self.frame, convex, self.constraints, self.variables, self.context, self._named
        )
        if frozen.moves and not self.modes.problem("feasible").is_dpp():
            raise NotMajorizable(short(objective), "its Parameters multiply one another", "numbers")
        self.feasibility = Feasibility(convex, nonconvex, self.variables)
        roots = [self.frame.node, *nonconvex]
        self.domain = Feasibility(domain_of(roots), [], [])
        self._roots = roots
        self.starts = Starts(self)

    def renew(self) -> bool:
        """Take the user's Parameters at their present values; False if that takes a new object."""
        if not self._frozen.refresh():
            return False
        self.restart()
        return True

    def restart(self) -> None:
        """Forget all that earlier runs have left, but not what is compiled."""
        self.modes.reset()
        self.context.begin()
        self._forget()
        self.starts = Starts(self)
        self.start_attempts = []

    def _forget(self) -> None:
        """Runs before this one."""
        self.mode_now = "feasible"
        self.restoring = False
        self.firmness = 1.0
        self.paying = False
        self._price = Price()
        self._weights: list[float] = []
        self._edge = EDGE
        self._point: Array | None = None
        self._values = Values()
        self._slopes: dict[int, Array] = {}
        self._solved_in: str | None = None
        self._tightened: Array | None = None
        self._n_tightened = 0
        self._reach: Array | None = None
        self.settled = True

    # ------------------------------------------------------------------------------------------
    # what is known before any point is

    @property
    def is_convex(self) -> bool:
        """No rule had to change anything: the problem is its own majorant."""
        return bool(self.problem.is_dcp())

    @property
    def solvers(self) -> tuple[str, ...]:
        """Solvers for the majorised problem, best first."""
        return self.modes.portfolio(self.mode_now).order

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The same: where the user names a solver, the others stand behind it."""
        return self.solvers

    @property
    def mode(self) -> str:
        """How nonconvex constraints are met: ``"none"``, ``"feasible"`` or ``"penalty"``."""
        if not self.constraints:
            return "none"
        return "feasible" if self.mode_now == "feasible" else "penalty"

    @property
    def may_look_ahead(self) -> bool:
        """Under nonconvex constraints: their majorants allow short steps only."""
        return bool(self.constraints)

    @property
    def penalised(self) -> bool:
        """Do nonconvex constraints have slacks at present?"""
        return self.mode_now != "feasible"

    @property
    def solve_time(self) -> float:
        """Seconds inside the solvers' own calls."""
        return self.modes.solve_time

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return self.modes.compile_time

    # ------------------------------------------------------------------------------------------
    # points

    def pack(self, arrays: Mapping[int, Any]) -> Array:
        """The flat point of a mapping from variable id to array."""
        return np.concatenate([vec(arrays[v.id]) for v in self.variables] or [np.zeros(0)])

    def split(self, x: Array) -> list[Array]:
        """The arrays of the variables at a flat point."""
        pieces = np.split(x, np.cumsum([v.size for v in self.variables]))[:-1]
        return [unvec(p, v.shape) for v, p in zip(self.variables, pieces, strict=True)]

    def unpack(self, x: Array) -> list[tuple[cp.Variable, Array]]:
        """Variables and their arrays at a flat point."""
        return list(zip(self.variables, self.split(x), strict=True))

    def load(self, x: Array) -> None:
        """Put a flat point into the user's variables."""
        for variable, array in self.unpack(x):
            variable.save_value(array)

    def at(self, x: Array) -> Values:
        """Values of the problem's nodes at x, kept while x stays the same."""
        self.load(x)
        if self._point is None or not np.array_equal(self._point, x):
            self._values = self.context.values(self._edge)
            self._point = x.copy()
        return self._values

    # ------------------------------------------------------------------------------------------
    # the protocol

    def begin(self, x: Array) -> None:
        """Feasible iterates if x allows them, penalty CCP otherwise."""
        self.modes.reset()
        self._slopes, self._solved_in, self._tightened = {}, None, None
        self._n_tightened = 0
        self._reach = None
        self._measure(x)
        self._edge = self._first_edge(x) / EDGE_DECAY
        self._point = None
        self._learn(x)
        self.mode_now, self._price = "feasible", Price()
        priced = self.restoring or self.paying or self._equalities
        if self.constraints and (priced or not self.is_feasible(x)):
            self._weights = [1 / size for size in self.feasibility.sizes]
            rate = 0.0 if self.restoring else self.starts.exchange_rate(x)
            self._price = Price(rate, self.firmness, fixed=self.restoring)
            self.mode_now = "restore" if self.restoring else "penalty"

    def _measure(self, x: Array) -> None:
        """How large the arguments of atoms with an edge are, at x and a step away."""
        self.context.begin()
        for point in (x, x + self.units(x)):
            self.load(point)
            self.context.measure(self._roots, self.context.values())

    def _learn(self, x: Array, *, narrower: bool = False, convex: bool = True) -> None:
        """What terms add up to around x, for where they vanish; a wild start is no measure."""
        for sizes in (self.feasibility, self.domain) if convex else (self.feasibility,):
            around = self.starts.around(x, widely=narrower)
            sizes.learn(around, narrower=narrower, convex=convex)

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x; raise τ where x misses a constraint."""
        self._move_edge()
        values = self.at(x)
        self.settled = self._edge == EDGE
        if self.penalised:
            violation = self.feasibility.nonconvex(values).relative
            self.settled &= self._price.follow(violation, self.tolerance, self._last_step(x))
        self._n_tightened += 1
        if self._n_tightened > 1 and self._narrow(x):
            values = self.at(x)
        self._tightened = x.copy()
        self._reach = self._reached(x)
        return self.update(values)

    def _narrow(self, x: Array) -> bool:
        """Forget the sizes of a wild start: steps end somewhere better."""
        if self._is_smaller(x, WILD):
            self._reach, reach = None, self._reach
            self._measure(x)
            self._reach, self._point = reach, None
        if self._n_tightened > 2 and not self._is_smaller(x, DECAY):
            return False
        assert self._reach is not None
        unit = self._spread(self._sizes(self.starts.unit))
        self._reach = np.maximum(self._reach / DECAY, np.minimum(self._reach, unit))
        self._learn(x, narrower=True, convex=self._n_tightened == 2)
        if self.mode_now == "penalty":
            self.settled &= not self._price.reconsider(self.starts.exchange_rate(x))
        return True

    def _is_smaller(self, x: Array, factor: float) -> bool:
        """Is a variable that many times smaller than it has been?"""
        before = self._sizes(self._reached(x))
        return bool(np.any(factor * self._sizes(np.abs(x)) < before))

    def _reached(self, x: Array) -> Array:
        """The largest that each coordinate has been."""
        return np.abs(x) if self._reach is None else np.maximum(np.abs(x), self._reach)

    def _sizes(self, sizes: Array) -> Array:
        """The largest of each variable."""
        return np.array([np.max(part, initial=0.0) for part in self.split(sizes)])

    def _spread(self, of_variables: Array) -> Array:
        """A number of each variable at all its coordinates."""
        return np.repeat(of_variables, [v.size for v in self.variables])

    def _last_step(self, x: Array) -> float:
        """Length of the last step in units of the coordinates; 0 before the first."""
        if self._tightened is None:
            return 0.0
        return float(np.max(np.abs(x - self._tightened) / self.units(x), initial=0.0))

    def _first_edge(self, x: Array) -> float:
        """A tenth of the arguments' size, where some start at an infinite slope."""
        self.load(x)
        values, widest = self.context.values(), EDGE
        for node in self.context.edges.values():
            if starts_at_edge(node, values, NEAR_EDGE):
                widest = FIRST_EDGE
        return widest

    def _move_edge(self) -> None:
        edge = self._edge * EDGE_DECAY
        edge = edge if edge > 2 * EDGE else EDGE
        if edge != self._edge:
            self._edge, self._point = edge, None

    def update(self, values: Values) -> bool:
        """Set the Parameters; did any of the problem that is being solved move?"""
        for frame in (self.frame, *self.constraints, *self.context.frames):
            frame.update(values)
        if self.penalised:
            self.modes.set_prices([self._price.tau * w for w in self._weights])
        parameters = self.modes.problem(self.mode_now).parameters()
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
        scale, terms = self.scale(start), self._terms(self.at(start))
        cancelled = min(1.0, max(scale / terms, LEAST_SHARE)) if terms else 1.0
        try:
            x = self.minimise_in(self.mode_now, cancelled * tolerance, solver, time_limit)
        except SubproblemError as error:
            if error.status == "unbounded" and self.mode_now == "penalty":
                self.settled &= not self._price.push()  # a larger price may bound it
            raise
        self._solved_in = self.mode_now
        return x

    def minimise_in(
        self, mode: str, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the problem of a mode, a finite point."""
        self._point = self._solved_in = None
        with failures(solver, let=(UnfitSolver,) if solver == self._named else ()):
            self.modes.portfolio(mode).minimise(solver, tolerance, time_limit)
        for variable in self.variables:
            if variable.value is None:  # in no term and no constraint left
                variable.save_value(np.zeros(variable.shape))
        x = self.pack({v.id: v.value for v in self.variables})
        if not np.all(np.isfinite(x)):
            raise SubproblemError("failed", f"{solver}: the solution is not finite")
        return x

    def bound(self) -> float:
        """The dual bound of the last subproblem, where the majorant still is the same."""
        if self._is_constant:
            return self._constant
        least = 0.0 if self.restoring or self.frame.node.is_nonneg() else -np.inf  # M ≥ F ≥ 0
        if self._solved_in is None:
            return least
        return max(least, self.modes.portfolio(self._solved_in).bound())

    def bound_of_start(self) -> float:
        """A dual bound of the problem itself, where it is convex and the start has solved it."""
        if self._is_constant:
            return self._constant
        return self.modes.portfolio("feasible").bound()

    @property
    def _is_constant(self) -> bool:
        """Is every point as good as another?"""
        return self.mode_now == "feasible" and bool(self.frame.node.is_constant())

    @property
    def _constant(self) -> float:
        return float(np.sum(Values().array(self.frame.node)))

    def value(self, x: Array) -> float:
        """f(x), plus the price of violations in penalty mode; infinite outside convex constraints.

        In feasible mode outside all constraints.
        """
        values = self.at(x)
        value = 0.0 if self.restoring else float(np.sum(values.array(self.frame.node)))
        if np.isnan(value) or not self._strict_miss(values) <= self.tolerance:
            return np.inf
        return value + self._paid(values)

    def outside(self, x: Array) -> float:
        """How far constraints without a price are missed, against what their terms add up to."""
        return self._strict_miss(self.at(x))

    def _strict_miss(self, values: Values) -> float:
        strict = self.convex_miss(values)
        if not self.penalised:
            strict |= self.feasibility.nonconvex(values)
        return strict.relative

    def convex_miss(self, values: Values) -> Miss:
        """By how much convex constraints are missed, and the domain of F."""
        return self.feasibility.convex(values) | self.domain.convex(values)

    def _paid(self, values: Values, *, majorised: bool = False) -> float:
        """τ·Σ max(e, 0)/size."""
        return self._price.tau * self.missed(values, majorised=majorised) if self.penalised else 0.0

    def missed(self, values: Values, *, majorised: bool = False) -> float:
        """Σ max(e, 0)/size over the nonconvex constraints e ≤ 0, or over their majorants."""
        expressions = (f.expression if majorised else f.node for f in self.constraints)
        return sum(
            w * float(np.sum(np.maximum(values.array(e), 0)))
            for w, e in zip(self._weights, expressions, strict=True)
        )

    def majorant_value(self, x: Array) -> float:
        """The majorant, its slacks at their best, in NumPy."""
        value = 0.0 if self.restoring else self.objective_majorant(x)
        self.load(x)
        values = Values(self.context.definitions)
        return value + self._paid(values, majorised=True)

    def objective_majorant(self, x: Array) -> float:
        """The majorant of the objective alone."""
        self.load(x)
        return float(np.sum(Values(self.context.definitions).array(self.frame.expression)))

    def scale(self, x: Array) -> float:
        """The size of the objective and of the priced violations.

        The objective counts with its absolute value or, where a constant makes that large, with
        what its terms add up to.
        """
        values = self.at(x)
        price = self._paid(values) + self._price.resolution
        if self.restoring:
            return price
        return price + min(self._terms(values), abs(float(np.sum(values.array(self.frame.node)))))

    def _terms(self, values: Values) -> float:
        """What the terms of the objective add up to."""
        return float(np.sum(values.magnitude(self.frame.node)))

    @property
    def resolution(self) -> float:
        """A hundredth of what the objective varies by over the problem's own unit."""
        return RESOLVED * self.starts.variation + self._price.resolution

    def units(self, x: Array) -> Array:
        """What each coordinate has been; where that is 0, what its variable has, or its unit."""
        entries = self._reached(x)
        of_variable = self._spread(self._sizes(entries))
        if self.penalised or np.any(of_variable < SMALL):  # else it is a size and no rounding
            unit = self._spread(self._sizes(self.starts.unit))
            tiny = of_variable < NEGLIGIBLE * unit
            entries, of_variable = np.where(tiny, 0.0, entries), np.where(tiny, unit, of_variable)
        return np.where(entries > ENTRY * of_variable, entries, of_variable)

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """Minimisers of the majorant centred beside x: they heed all constraints."""
        aside, deadline = self.units(x) * rng.standard_normal(x.size), Deadline(time_limit)
        for size in ASIDE:
            beside, left = x + size * aside, deadline.left
            if left == 0:
                return
            try:
                yield self.minimise_ahead(beside, x, PROPOSAL_TOLERANCE, self.solvers[0], left)
            except (SubproblemError, ValueError, ArithmeticError) as error:
                self._note(self.solvers[0], PROPOSAL_TOLERANCE, f"beside x: {error}")

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Minimisers of the majorant in growing boxes around x."""
        units, deadline = self.units(x), Deadline(time_limit)
        for size in FAR:
            corners = self.split(x - size * units), self.split(x + size * units)
            mode = self.modes.box(self.mode_now, *corners)
            for solver in self.modes.portfolio(mode).order:
                if deadline.left == 0:
                    return
                try:
                    yield self.minimise_in(mode, PROPOSAL_TOLERANCE, solver, deadline.left)
                    break
                except SubproblemError as error:
                    self._note(solver, PROPOSAL_TOLERANCE, f"in a box: {error}")

    def _note(self, solver: str, tolerance: float, outcome: str) -> None:
        self.start_attempts.append(Attempt(0, solver, tolerance, outcome))

    def minimise_ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """Minimiser of the majorant centred elsewhere, for the same τ and ε."""
        try:
            self.update(self.at(centre))
            return self.minimise_in(self.mode_now, tolerance, solver, time_limit)
        finally:
            self.update(self.at(x))

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign.

        Where F is its extension beyond an infinite slope (√u at u = 0), this is not.
        """
        values = self.at(x)
        if self.context.edges:
            exact = float(np.sum(Values().array(self.frame.node)))
            if not np.isnan(exact):  # rounding may have left the domain
                return self.sign * exact
        return self.sign * float(np.sum(values.array(self.frame.node)))

    def is_finite(self, x: Array) -> bool:
        """Is every node of the user's problem inside its domain, by cvxpy's own evaluation?"""
        self.load(x)
        args = [arg for c in self.problem.constraints for arg in c.args]
        return finite_in_domain(self.frame.node) and not any(map(_is_nan, args))

    def mismatch(self, x: Array) -> float:
        """How far F, carried on at infinite slopes, is from the user's objective."""
        if not self.context.edges:
            return 0.0
        extended = float(np.sum(self.at(x).array(self.frame.node)))
        return abs(extended - float(np.sum(Values().array(self.frame.node))))

    def inside(self, x: Array) -> Array:
        """The same point, or near it one inside the convex constraints and the domain of F."""
        return self.starts.inside(x, strictly=True)

    def cleared(self, x: Array) -> Array:
        """The same point with 0 for what is 0 but for rounding."""
        return np.where(np.abs(x) <= ENTRY * self.units(x), 0.0, x)

    def falls_off(self, x: Array) -> bool:
        """Is x at an edge of the domain towards which the objective falls to −∞?"""
        self.load(x)
        values = self.context.values()
        inside = nodes(self.frame.node)
        depth = NEAR_BOTTOMLESS * EDGE
        return any(falls_at(n, values, depth) for n in inside if id(n) in self.context.edges)

    def dual(self, x: Array) -> None:
        """Of a Risk only."""

    def violation(self, x: Array) -> float:
        """Largest violation of any constraint or declared attribute."""
        return self.feasibility.all(self.at(x)).absolute

    def is_feasible(self, x: Array) -> bool:
        """Is every constraint met, up to the tolerance relative to what its terms add up to?"""
        return self.feasibility.all(self.at(x)).relative <= self.tolerance

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem's solution, the same on half of the terms, or a random point."""
        return self.starts(kind, rng, time_limit)

    def relative_violation(self, x: Array) -> float:
        """Largest violation against what the constraint's terms add up to."""
        return self.feasibility.all(self.at(x)).relative

    def __repr__(self) -> str:
        return f"ProblemSurrogate({short(self.frame.node, 60)})"


def _is_nan(expression: cp.Expression) -> bool:
    """Has it no value by cvxpy's own evaluation?"""
    try:
        with np.errstate(all="ignore"):
            return bool(np.any(np.isnan(np.asarray(expression.value, dtype=float))))
    except Exception:
        return True
