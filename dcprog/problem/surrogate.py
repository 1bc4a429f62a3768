"""The surrogate of a cvxpy problem: its expression tree, majorised by the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import ref

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.engine.history import Attempt
from dcprog.engine.protocol import FAR
from dcprog.engine.stationarity import Stationarity, downhill_slope
from dcprog.foundation.arrays import EDGE, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.majorants.feasibility import Miss
from dcprog.majorants.tree import Values, short
from dcprog.problem import edges
from dcprog.problem.majorised_problem import MajorisedProblem
from dcprog.problem.penalty_parameter import Price, exchange_rate
from dcprog.problem.sizes import Sizes
from dcprog.problem.starts import Starts

__all__ = ["ProblemSurrogate"]

# Solvers are never asked for more than that share of a tolerance.
LEAST_SHARE = 1e-4

UNSET = np.zeros(0)

# Where beside x the majorant is centred, to look for a lower point: a tie has two sides.
ASIDE = (1e-2, -1e-2, 1.0)
PROPOSAL_TOLERANCE = 1e-6

# Where F is 0, solvers resolve that share of what it is elsewhere, times tol.
RESOLVED = 1e-2
# Slopes that differ by more than JUMP of the largest between points BESIDE units apart are tied.
JUMP, BESIDE = 1e-2, 1e-5
# So many directions in which to stand beside the point, either way.
SIDES = 3
ACCURACY = 1e-11
# A strongly convex function falls by ½‖step‖² and the proximal term again; less than SURE of their
# sum says that the solver missed its minimum. F is rounded by ROUNDING of its scale.
SURE, ROUNDING = 0.9, 1e-10
# So many solvers are asked for a proximal step: a third, of the first order, takes seconds to miss
# that accuracy.
ASKED = 2
# A proximal step shorter than that, in units, leads nowhere.
STEEP = 1e-4


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

    Attributes
    ----------
    firmness : float
        Factor of the first price of violations.

    References
    ----------
    Lipp and Boyd (2016), Variations and extension of the convex-concave procedure, Optimization
    and Engineering 17, algorithm 3.1 (penalty CCP). Davis, Drusvyatskiy (2019), Stochastic
    model-based minimization of weakly convex functions, SIAM J. Optim. 29, for the residual.
    """

    solver_steps = 0
    kinds = ("convex", "graduated", "soft", "half", "random")
    constant = 0.0

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        feasibility: float = 1e-6,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._declared = ref(problem)  # what is compiled must not keep the problem alive
        self.majorised = MajorisedProblem(problem, solver, feasibility, options)
        self.points = self.majorised.points
        self.sign = self.majorised.sign
        self._forget()

    @property
    def declared(self) -> cp.Problem | None:
        """The problem as the user passed it; None once nobody else holds it."""
        return self._declared()

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
        self.sizes = Sizes(self.majorised)
        self.starts = Starts(self.majorised, self.sizes)
        self.restoring = False
        self._price = Price()
        self._weights: list[float] = []
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
    # values

    def value(self, x: Array) -> float:
        """f(x), plus the price of violations in penalty mode; infinite outside convex constraints.

        In feasible mode outside all constraints.
        """
        values = self.majorised.at(x)
        value = 0.0 if self.restoring else self.majorised.objective(values)
        if np.isnan(value) or not self._strict_miss(values).relative <= self.majorised.tolerance:
            return np.inf
        return value + self._paid(values)

    def along(self, x: Array, way: Array) -> Callable[[float], float]:
        """F(x + t·way) as a function of t."""
        return lambda t: self.value(x + t * way)

    def outside(self, x: Array) -> float:
        """How far constraints without a price are missed, against what their terms add up to."""
        return self._strict_miss(self.majorised.at(x)).relative

    def _strict_miss(self, values: Values) -> Miss:
        strict = self.majorised.convex_miss(values)
        if not self.majorised.penalised:
            strict |= self.majorised.feasibility.nonconvex(values)
        return strict

    def _paid(self, values: Values, *, majorised: bool = False) -> float:
        """τ·Σ max(e, 0)/size."""
        if not self.majorised.penalised:
            return 0.0
        return self._price.tau * self._missed(values, majorised=majorised)

    def _missed(self, values: Values, *, majorised: bool = False) -> float:
        """Σ max(e, 0)/size over the nonconvex constraints e ≤ 0, or over their majorants."""
        frames = self.majorised.constraints
        expressions = (f.expression if majorised else f.node for f in frames)
        return sum(
            w * float(np.sum(np.maximum(values.array(e), 0)))
            for w, e in zip(self._weights, expressions, strict=True)
        )

    def _exchange_rate(self, x: Array) -> float:
        """How fast the objective varies against the violation around x: the scale of τ."""
        problem = self.majorised

        def at(point: Array) -> tuple[float, float]:
            values = problem.at(point)
            return problem.objective(values), self._missed(values)

        rate = exchange_rate(at, x, self.sizes.beside, problem.tolerance)
        return rate or problem.terms(problem.at(x)) or 1.0

    def majorant_value(self, x: Array) -> float:
        """The majorant, its slacks at their best, in NumPy."""
        value = 0.0 if self.restoring else self.majorised.majorant(x)
        self.points.load(x)
        return value + self._paid(Values(self.majorised.context.definitions), majorised=True)

    def scale(self, x: Array) -> float:
        """The size of the objective and of the priced violations.

        The objective counts with its absolute value or, where a constant makes that large, with
        what its terms add up to.
        """
        problem, values = self.majorised, self.majorised.at(x)
        price = self._paid(values) + self._price.resolution
        if self.restoring:
            return price
        return price + min(problem.terms(values), abs(problem.objective(values)))

    @property
    def resolution(self) -> float:
        """A hundredth of what the objective varies by over the problem's own unit."""
        return RESOLVED * self.sizes.variation + self._price.resolution

    def units(self, x: Array) -> Array:
        """The size each coordinate has had; where that is 0, its variable's, or its unit."""
        return self.sizes.units(x)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign.

        Where F is its extension beyond an infinite slope (√u at u = 0), this is not.
        """
        values = self.majorised.at(x)
        if self.majorised.context.edges:
            exact = self.majorised.exact(x)
            if not np.isnan(exact):  # rounding may have left the domain
                return self.sign * exact
        return self.sign * self.majorised.objective(values)

    def violation(self, x: Array) -> float:
        """Largest violation of any constraint or declared attribute."""
        return self.majorised.miss(x).absolute

    def relative_violation(self, x: Array) -> float:
        """Largest violation against what the constraint's terms add up to."""
        return self.majorised.miss(x).relative

    def is_feasible(self, x: Array) -> bool:
        """True if every constraint is met, up to the tolerance relative to the sum of its terms."""
        return self.majorised.is_feasible(x)

    def is_finite(self, x: Array) -> bool:
        """True if every node of the user's problem is inside its domain, as cvxpy evaluates it."""
        return self.majorised.is_finite(x)

    def mismatch(self, x: Array) -> float:
        """How far F, carried on at infinite slopes, is from the user's objective."""
        return edges.mismatch(self.majorised, x)

    def falls_off(self, x: Array) -> bool:
        """True if x is at an edge of the domain towards which the objective falls to −∞."""
        return edges.falls_off(self.majorised, x)

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
    # starts

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """A start of one of the kinds."""
        return self.starts(kind, rng, time_limit)

    def inside(self, x: Array) -> Array:
        """The point x, or a point near it inside the convex constraints and the domain of F."""
        return self.starts.inside(x, strictly=True)

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return self.sizes.cleared(x)

    # ------------------------------------------------------------------------------------------
    # stationarity

    def further(self, x: Array) -> Array:
        """Nothing is known but the majorant."""
        return x

    def kinks(self, x: Array) -> npt.NDArray[np.bool_]:
        """Not looked for."""
        return np.zeros(x.size, dtype=bool)

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """The residual of the majorant at x, and the descent that others find beside a tie.

        Not known under nonconvex equations, and where x misses a constraint: there only a price
        tells which directions are allowed.
        """
        deadline = Deadline(time_limit)
        step = self._proximal_step(x, x, deadline) if self._is_plain(x) else None
        if step is None:
            return Stationarity()
        residual = float(np.linalg.norm(step / self.units(x)))
        tied = self._is_tied(x)
        others = self._steps_aside(x, deadline) if tied else iter(())
        slopes = [self._walk(x, way)[1] for way in (step, *others)]
        return Stationarity(residual, min(slopes), not tied)

    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """The lowest points on the way to the minimisers of majorants centred beside a tie."""
        if not (self._is_plain(x) and self._is_tied(x)):
            return
        for step in self._steps_aside(x, Deadline(time_limit)):
            point, slope = self._walk(x, step)
            if slope < 0:
                yield point

    def _is_plain(self, x: Array) -> bool:
        """True if no penalty is paid for constraints, and F has a scale."""
        return self.mode != "penalty" and 0 < self.scale(x) < np.inf

    def _sides(self, x: Array) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        for _ in range(SIDES):
            aside = BESIDE * self.units(x) * rng.standard_normal(x.size)
            yield from (x + aside, x - aside)

    def _is_tied(self, x: Array) -> bool:
        """True if a slope of the majorant changes by a jump beside x."""
        here = self._slopes_at(x)
        try:
            return any(self._jumps(here, beside) for beside in self._sides(x))
        finally:
            self._update(self.majorised.at(x))

    def _jumps(self, here: list[Array], beside: Array) -> bool:
        """True if the slopes at the point beside x differ by a jump."""
        try:
            there = self._slopes_at(beside)
        except ValueError:  # outside the domain
            return False
        for one, other in zip(here, there, strict=True):
            top = np.max(np.abs([one, other]), initial=0.0)
            if np.any(np.abs(one - other) > JUMP * top):
                return True
        return False

    def _slopes_at(self, centre: Array) -> list[Array]:
        """The majorant's Parameters, centred there."""
        self._update(self.majorised.at(centre))
        return list(self._slopes.values())

    def _steps_aside(self, x: Array, deadline: Deadline) -> Iterator[Array]:
        for beside in self._sides(x):
            step = self._proximal_step(beside, x, deadline)
            if step is not None:
                yield step

    def _proximal_step(self, centre: Array, x: Array, deadline: Deadline) -> Array | None:
        """argmin_z M(z; centre) + (scale/2)‖(z − x)/units‖² − x, None where no solver finds it."""
        problem, split = self.majorised, self.points.split
        stiffness = np.sqrt(self.scale(x)) / self.units(x)
        try:
            self._update(problem.at(centre))
            mode = problem.modes.pull(split(x), split(stiffness))
            for solver in problem.solvers(mode)[:ASKED]:
                if deadline.left == 0:
                    return None
                try:
                    step = problem.minimise(mode, ACCURACY, solver, deadline.left) - x
                    if self._falls(x, step):
                        return step
                except (SubproblemError, UnfitSolver) as error:
                    problem.note(solver, ACCURACY, f"near a point: {error}")
        except (ValueError, ArithmeticError):  # outside the domain
            return None
        finally:
            self._solved_in = None
            self._update(problem.at(x))
        return None

    def _falls(self, x: Array, step: Array) -> bool:
        """True if M has fallen as a proximal step makes it fall, by the step's length squared."""
        fall = self.majorised.majorant(x) - self.majorised.majorant(x + step)
        square = float(np.sum((step / self.units(x)) ** 2))
        return fall >= self.scale(x) * (SURE * square - ROUNDING)

    def _walk(self, x: Array, step: Array) -> tuple[Array, float]:
        length = float(np.linalg.norm(step / self.units(x)))
        if length <= STEEP:
            return x, 0.0
        return downhill_slope(self.value, x, step / length, self.scale(x))

    # ------------------------------------------------------------------------------------------
    # what the driver asks

    def dual(self, x: Array) -> None:
        """Of a Risk only."""

    def __repr__(self) -> str:
        return f"ProblemSurrogate({short(self.majorised.frame.node, 60)})"
