"""The surrogate of a cvxpy problem: its expression tree, majorised by the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import ref

import cvxpy as cp
import numpy as np

from dcprog.engine.protocol import FAR, Domain, Nearby, Record
from dcprog.engine.stationarity import STEEP, Stationarity, downhill_slope
from dcprog.foundation.arrays import EDGE, NEAR_EDGE, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.foundation.tolerances import DIFFERENCE, FEASIBLE, JUMP, STILL, TIGHT, TOL
from dcprog.majorants.feasibility import Miss
from dcprog.majorants.tree import Values, above_edge, limit_at, short, starts_at_edge
from dcprog.problem.majorised_problem import MajorisedProblem
from dcprog.problem.sizes import DECADE, KNOWN, Sizes
from dcprog.problem.starts import Starts

# A tolerance that is tightened for terms that cancel keeps at least this share of its size.
LEAST_SHARE = 1e-4

UNSET = np.zeros(0)


# Points beside the start at which the objective and the violation are compared.
SAMPLES = 10

# The price of violations begins at a fraction of the rate at which the objective and the violation
# vary against each other around the start, and grows by GROWTH while a constraint is missed, faster
# where x does not move by more than STILL units.
GROWTH = 1.5
# Factors of the first price: the usual one, one for short runs, which would only begin to meet the
# constraints, one for runs that have to meet them, and the largest, above any multiplier of a sane
# problem.
FIRMNESS = (1.0, 30.0, 1e3, 1e6)
# The price stays where a violation falls below NEARLY of the last one, and where it is at most MANY
# times the squared length of the last step, by which a step along a curved constraint misses it. A
# violation of half of the sum of its terms is no such curvature: the run may be leaving for good.
# NEARLY is also the share of a predicted fall that counts as all of it; a price above MANY rates is
# lowered.
NEARLY = 0.9
MANY = 30.0
# Solvers resolve violations to RESOLVED of the constraints' own size, times tol. A price above
# USUAL rates resolves no more than one of USUAL rates.
RESOLVED = 1e-2
USUAL = 3.0


class Price:
    """The penalty parameter τ in f + τ·Σ max(e, 0)/size, moved from point to point.

    Parameters
    ----------
    rate : float, default 0
        The change of the objective while the violations change by 1: the unit of τ.
    firmness : float, default 1
        The first τ over the usual one; with more than 1, τ is never lowered.
    fixed : bool, default False
        τ = 1 for ever: violations alone are minimised.

    Attributes
    ----------
    tau : float
    """

    def __init__(self, rate: float = 0.0, firmness: float = 1.0, *, fixed: bool = False) -> None:
        self.tau = 1.0 if fixed else firmness * rate / DECADE / GROWTH
        self._rate = 1.0 if fixed else rate
        self._largest = self.tau if fixed else FIRMNESS[-1] * rate
        self._fixed = fixed
        self._loosened = False
        self._tested = firmness > 1  # by a miss at a lowered price
        self._pushed = False
        self._before: float | None = None

    @property
    def resolution(self) -> float:
        """The size of F below which violations are a solver's rounding, over tol."""
        return RESOLVED * min(self.tau, USUAL * self._rate)

    def push(self) -> bool:
        """Ask for a rise at the next point: at this price the majorant has no minimum."""
        self._pushed = self.tau < self._largest
        return self._pushed

    def reconsider(self, rate: float) -> bool:
        """Follow a rate that has fallen far; True if τ has fallen with it.

        A rate measured at a wild start is not used.
        """
        if self._fixed or not DECADE * rate < self._rate:
            return False
        self.tau *= rate / self._rate
        self._rate, self._largest = rate, FIRMNESS[-1] * rate
        return True

    def follow(self, violation: float, tolerance: float, step: float) -> bool:
        """Move to a point; False if τ will move again or has just been lowered.

        A price far above the rate may be far above what the constraints need: then steps are short,
        and every point that meets them looks critical. It is lowered until one is missed again.

        Parameters
        ----------
        violation : float
            Relative to the constraints' sizes.
        tolerance : float
            The price at which it is 0.
        step : float
            Length of the last step in units of the coordinates; 0 at the same point.
        """
        before = violation if self._before is None else self._before
        missed = self._pushed or violation > tolerance
        curved = min(MANY * step**2, 0.5)
        lasting = before > tolerance and violation > max(NEARLY * before, curved)
        first, self._before = self._before is None, violation
        if missed and (lasting or self._pushed) and self.tau < self._largest:
            stuck = self._pushed or (step <= STILL and not first)
            self.tau *= DECADE if stuck else GROWTH
            self._tested |= self._loosened
        elif not (missed or self._tested) and self.tau > MANY * self._rate:
            self.tau /= DECADE
            self._loosened = True
            return False
        self._pushed = False
        return not missed or self.tau >= self._largest


class ProblemSurrogate:
    """Majorant of a cvxpy problem, compiled once for each solver.

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
    hasty : bool
        True if first-order solvers are not tried, because they take seconds.

    References
    ----------
    Lipp and Boyd (2016), Variations and extension of the convex-concave procedure, Optimization
    and Engineering 17, algorithm 3.1 (penalty CCP).
    """

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        feasibility: float = FEASIBLE,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._declared = ref(problem)  # compiled problems must not keep the user's problem alive
        self._options = solver, feasibility, options
        self.majorised = MajorisedProblem(problem, *self._options)
        self.points = self.majorised.points
        self._forget()

    def like(self, problem: cp.Problem) -> ProblemSurrogate:
        """A surrogate of another problem, with this one's solver, tolerance and options."""
        return ProblemSurrogate(problem, *self._options)

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
        """Forget the state of earlier runs; compiled problems stay."""
        self.majorised.restart()
        self._forget()

    def _forget(self) -> None:
        """Forget runs before this one."""
        self.sizes = Sizes(self.majorised)
        self.starts = Starts(self.majorised, self.sizes)
        self.restoring = False
        self._price = Price()
        self._weights: list[Array] = []
        self.firmness = 1.0
        self.paying = False
        self.hasty = False
        self.settled = True
        self._slopes: dict[int, Array] = {}
        self.unchanged = False
        self._solved_in: str | None = None

    @property
    def solvers(self) -> tuple[str, ...]:
        """Solvers for the majorised problem, best first."""
        return self.majorised.solvers()[: ASKED if self.hasty else None]

    @property
    def facts(self) -> ProblemFacts:
        """Facts about F and its solvers."""
        return ProblemFacts(self)

    @property
    def domain(self) -> Domain:
        """The constraints and the domain of F."""
        return _ProblemDomain(self)

    @property
    def nearby(self) -> _ProblemNearby:
        """Points near x that may be lower."""
        return _ProblemNearby(self)

    @property
    def record(self) -> Record:
        """The cost of the solver calls so far."""
        problem = self.majorised
        return Record(problem.modes.solve_time, unchanged=self.unchanged, attempts=problem.attempts)

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return self.majorised.modes.compile_time

    def compile(self) -> None:
        """Compile the problems that runs solve."""
        self.majorised.compile()

    # ------------------------------------------------------------------------------------------
    # a run

    def begin(self, x: Array) -> None:
        """Begin a run: with feasible iterates if x allows them, else by penalty CCP."""
        problem = self.majorised
        problem.modes.reset()
        self._slopes, self._solved_in = {}, None
        self.sizes.begin(x)
        problem.edge = self._first_edge(x)
        problem.forget_values()
        self.sizes.learn(x)
        problem.mode, self._price = "feasible", Price()
        priced = self.restoring or self.paying or problem.has_equalities
        if problem.constraints and (priced or not problem.is_feasible(x)):
            self._weights = [1 / size for size in problem.feasibility.sizes]
            rate = 0.0 if self.restoring else self._exchange_rate(x)
            self._price = Price(rate, self.firmness, fixed=self.restoring)
            problem.mode = "restore" if self.restoring else "penalty"

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x; raise τ where x misses a constraint."""
        problem = self.majorised
        closer = problem.edge / DECADE
        problem.edge = closer if closer > 2 * EDGE else EDGE
        self.settled = problem.edge == EDGE
        if problem.penalised:
            violation = problem.feasibility.nonconvex(problem.at(x)).relative
            step = self.sizes.step(x)
            self.settled &= self._price.follow(violation, problem.tolerance, step)
        if self.sizes.follow(x) and problem.mode == "penalty":
            self.settled &= not self._price.reconsider(self._exchange_rate(x))
        return self.centre_at(x)

    def _first_edge(self, x: Array) -> float:
        """ε before the first step: large if an argument is where its atom's slope is infinite."""
        problem = self.majorised
        problem.points.load(x)
        values, extended = problem.context.values(), problem.context.edges.values()
        steep = any(starts_at_edge(node, values, NEAR_EDGE) for node in extended)
        return 1.0 if steep else DECADE * EDGE

    def centre_at(self, x: Array) -> bool:
        """Centre the majorant at x for the present τ and ε; True if a slope has changed.

        Raises
        ------
        ValueError
            F has no slope at x.
        """
        problem = self.majorised
        problem.update(problem.at(x))
        if problem.penalised:
            problem.modes.set_prices([self._price.tau * w for w in self._weights])
        parameters = problem.modes.problem(problem.mode).parameters()
        same = len(parameters) == len(self._slopes) and all(
            np.array_equal(p.value, self._slopes.get(p.id, UNSET)) for p in parameters
        )
        self._slopes = {p.id: np.array(p.value) for p in parameters}
        if not same:
            self.forget_solution()
        self.unchanged = same
        return not same

    @property
    def slopes(self) -> list[Array]:
        """The values of the majorant's Parameters."""
        return list(self._slopes.values())

    def forget_solution(self) -> None:
        """Let no dual bound rest on the last solution."""
        self._solved_in = None

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

    # ------------------------------------------------------------------------------------------
    # values

    def value(self, x: Array) -> float:
        """f(x), plus the price of violations in penalty mode; infinite outside convex constraints.

        In feasible mode outside all constraints.
        """
        values = self.majorised.at(x)
        strict = _ProblemDomain(self).strict_miss(values)
        value = 0.0 if self.restoring else self.majorised.objective(values)
        if np.isnan(value) or not strict.relative <= self.majorised.tolerance:
            return np.inf
        return value + self._paid(values)

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
            float(np.sum(w * np.maximum(values.array(e), 0)))
            for w, e in zip(self._weights, expressions, strict=True)
        )

    def _exchange_rate(self, x: Array) -> float:
        """How fast the objective varies against the violation around x: the scale of τ.

        Variables in no constraint stay: the price has nothing to hold against them.
        """
        problem, points, rng = self.majorised, self.points, np.random.default_rng(0)
        asked = {v.id for c in problem.problem.constraints for v in c.variables()}
        held = points.spread(np.array([v.id not in asked for v in points.variables])) > 0

        def at(point: Array) -> tuple[float, float]:
            values = problem.at(point)
            return problem.objective(values), self._missed(values)

        with np.errstate(all="ignore"):
            here = at(x)
            beside = (np.where(held, x, self.sizes.beside(x, rng)) for _ in range(SAMPLES))
            there = [at(point) for point in beside]
            changes = np.abs(np.array(there) - here)
        seen = np.all(np.isfinite(changes), axis=1) & (changes[:, 1] > problem.tolerance)
        objective, missed = np.sum(changes[seen], axis=0)
        rate = float(objective / missed) if missed > 0 else 0.0
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

    def units(self, x: Array) -> Array:
        """The size each coordinate has had; if that is 0, the size or the unit of its variable."""
        return self.sizes.units(x)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign.

        It is the exact objective also where F is extended beyond an infinite slope (√u at u = 0).
        Outside the domain the extension is far lower: there it is the value at the edge, if finite.
        """
        problem = self.majorised
        value = problem.exact(x) if problem.context.edges else np.nan
        if np.isnan(value):  # rounding may have left the domain
            inside = problem.inside(x)
            value = inside if np.isfinite(inside) else problem.objective(problem.at(x))
        return problem.sign * value

    def bound(self) -> float:
        """The dual bound of the last subproblem, if the majorant has not changed since."""
        known = self.facts.lower_bound
        if self._solved_in is None:
            return known
        return max(known, self.majorised.modes.portfolio(self._solved_in).bound())

    @property
    def attainable(self) -> float:
        """The variation of F around the last point: of the objective and priced violations."""
        return self.sizes.variation + self._price.resolution

    def __repr__(self) -> str:
        return f"ProblemSurrogate({short(self.majorised.frame.node)})"


# ----------------------------------------------------------------------------------------------

# Concave atoms fall to −∞ at the edge of their domain: a point is there within this many EDGE.
NEAR_BOTTOMLESS = 100.0


class _ProblemDomain(Domain):
    """The points at which a cvxpy problem's constraints are met and its functions are finite.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    """

    def __init__(self, surrogate: ProblemSurrogate) -> None:
        super().__init__(surrogate)
        self._made = surrogate
        self._problem = problem = surrogate.majorised
        if problem.constraints:
            self.mode = "penalty" if problem.penalised else "feasible"

    def is_feasible(self, x: Array) -> bool:
        """True if every constraint is met, up to the tolerance relative to the sum of its terms."""
        return self._problem.is_feasible(x)

    def violation(self, x: Array) -> float:
        """Largest violation of any constraint or declared attribute."""
        return self._problem.miss(x).absolute

    def relative_violation(self, x: Array) -> float:
        """Largest violation, relative to the sum of the constraint's terms."""
        return self._problem.miss(x).relative

    def outside(self, x: Array) -> float:
        """Violation of the constraints that no penalty stands for, relative to their terms."""
        return self.strict_miss(self._problem.at(x)).relative

    def strict_miss(self, values: Values) -> Miss:
        """Violation of the convex constraints and, unless they are penalised, of the others."""
        strict = self._problem.convex_miss(values)
        if not self._problem.penalised:
            strict |= self._problem.feasibility.nonconvex(values)
        return strict

    def is_finite(self, x: Array) -> bool:
        """True if every node of the user's problem is inside its domain, as cvxpy evaluates it."""
        return self._problem.is_finite(x)

    def mismatch(self, x: Array) -> float:
        """Distance of F, which is extended beyond infinite slopes, from the user's objective."""
        problem = self._problem
        if not problem.context.edges:
            return 0.0
        return abs(problem.objective(problem.at(x)) - problem.exact(x))

    def falls_off(self, x: Array) -> bool:
        """True if x is at an edge of the domain towards which the objective falls to −∞.

        An entry is at an edge if its distance from it is small beside the size of the arguments and
        beside its change by a step of x by KNOWN units. The size alone is no measure: that of eˣ
        over a box of a thousand is far larger than 1, its value in the middle of ℝ.
        """
        problem = self._problem
        step = self._made.sizes.beside(x, np.random.default_rng(0), KNOWN) - x
        here, *beside = (self._depths(point) for point in (x, x + step, x - step))
        values, limits = problem.at(x), problem.context.values()
        for key, depth in here.items():
            node = problem.context.edges[key]
            change = np.fmax(*(np.abs(other[key] - depth) for other in beside))
            at_edge = (depth <= NEAR_BOTTOMLESS * EDGE * values.size(node)) & (depth < change)
            if np.any(at_edge):
                limits.assume(node, limit_at(node, values, at_edge))
        return problem.objective(limits) == -np.inf

    def _depths(self, x: Array) -> dict[int, Array]:
        """Distances at x of arguments from edges where an atom falls to −∞, by the atom's id."""
        values = self._problem.at(x)
        found = {key: above_edge(node, values) for key, node in self._problem.context.edges.items()}
        return {key: depth for key, depth in found.items() if depth is not None}

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return self._made.sizes.cleared(x)

    def inside(self, x: Array) -> Array:
        """The point x, or a point near it inside the convex constraints and the domain of F."""
        return self._made.starts.inside(x, strictly=True)


# ----------------------------------------------------------------------------------------------

# Distances from x, in units, at which the majorant is centred to look for a lower point: a tie has
# two sides.
ASIDE = (1e-2, -1e-2, 1.0)

# Random directions, each taken both ways, in which the slopes beside a point are compared.
SIDES = 3
# The most solvers that are tried for a proximal step, or while `hasty`: the third is a first-order
# method, which takes seconds and does not reach this accuracy.
ASKED = 2


class _ProblemNearby(Nearby):
    """Points near x that may be lower, from majorants centred at other points.

    Every method leaves the majorant centred at x, and F as it is.

    Parameters
    ----------
    surrogate : ProblemSurrogate

    References
    ----------
    Davis, Drusvyatskiy (2019), Stochastic model-based minimization of weakly convex functions,
    SIAM J. Optim. 29, for the residual.
    """

    def __init__(self, surrogate: ProblemSurrogate) -> None:
        super().__init__(surrogate)
        self._made = surrogate
        self._problem = surrogate.majorised

    @contextmanager
    def _back_at(self, x: Array) -> Iterator[None]:
        """Allow other centres of the majorant inside the context; centre it at x afterwards."""
        self._made.forget_solution()
        try:
            yield
        finally:
            self._made.forget_solution()
            self._made.centre_at(x)

    def ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """Minimiser of the majorant centred at another point, with the present τ and ε."""
        problem = self._problem
        with self._back_at(x):
            self._made.centre_at(centre)
            return problem.minimise(problem.mode, tolerance, solver, time_limit)

    def otherwise(
        self,
        x: Array,
        assumed: Mapping[cp.Expression, Array],
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """Minimiser of the majorant whose tangents are taken where nodes have other values.

        The objective's majorant is then known up to a constant only: no bound rests on it.
        """
        problem = self._problem
        with self._back_at(x):
            problem.points.load(x)
            values = problem.context.values(problem.edge)
            for node, value in assumed.items():
                values.assume(node, value)
            problem.update(values)
            return problem.minimise(problem.mode, tolerance, solver, time_limit)

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """Minimisers of the majorant centred beside x: they heed all constraints."""
        made, deadline = self._made, Deadline(time_limit)
        aside, solver = made.sizes.beside(x, rng, 1.0) - x, made.solvers[0]
        for size in ASIDE:
            beside, left = x + size * aside, deadline.left
            if left == 0:
                return
            try:
                yield self.ahead(beside, x, TOL, solver, left)
            except (SubproblemError, ValueError, ArithmeticError) as error:
                self._problem.note(solver, TOL, f"beside x: {error}")

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Minimisers of the majorant in growing boxes around x."""
        problem, split = self._problem, self._made.points.split
        units, deadline = self._made.units(x), Deadline(time_limit)
        for size in FAR:
            corners = split(x - size * units), split(x + size * units)
            mode = problem.modes.box(problem.mode, *corners)
            for solver in problem.solvers(mode):
                if deadline.left == 0:
                    return
                try:
                    self._made.forget_solution()
                    yield problem.minimise(mode, TOL, solver, deadline.left)
                    break
                except SubproblemError as error:
                    problem.note(solver, TOL, f"in a box: {error}")

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """The residual of the majorant at x, and the descent of other majorants beside a tie.

        Unknown under nonconvex equations, and where x misses a constraint: the directions that are
        allowed there depend on the penalty parameter.
        """
        deadline = Deadline(time_limit)
        step = self._proximal_step(x, x, deadline) if self._is_plain(x) else None
        if step is None:
            return Stationarity()
        residual = float(np.linalg.norm(step / self._made.units(x)))
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
        made = self._made
        return made.domain.mode != "penalty" and 0 < made.scale(x) < np.inf

    def _sides(self, x: Array) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        for _ in range(SIDES):
            aside = DIFFERENCE * self._made.units(x) * rng.standard_normal(x.size)
            yield from (x + aside, x - aside)

    def _is_tied(self, x: Array) -> bool:
        """True if a slope of the majorant changes by a jump beside x."""
        with self._back_at(x):
            here = self._slopes_at(x)
            return any(self._jumps(here, beside) for beside in self._sides(x))

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
        self._made.centre_at(centre)
        return self._made.slopes

    def _steps_aside(self, x: Array, deadline: Deadline) -> Iterator[Array]:
        for beside in self._sides(x):
            step = self._proximal_step(beside, x, deadline)
            if step is not None:
                yield step

    def _proximal_step(self, centre: Array, x: Array, deadline: Deadline) -> Array | None:
        """argmin_z M(z; centre) + (scale/2)‖(z − x)/units‖² − x; None if no solver finds it."""
        problem, made = self._problem, self._made
        split, stiffness = made.points.split, np.sqrt(made.scale(x)) / made.units(x)
        with self._back_at(x):
            try:
                made.centre_at(centre)
            except (ValueError, ArithmeticError):  # outside the domain
                return None
            problem.modes.hold(split(x), split(stiffness))
            for solver in problem.solvers("pulled")[:ASKED]:
                if deadline.left == 0:
                    return None
                try:
                    step = problem.minimise("pulled", TIGHT, solver, deadline.left) - x
                    if self._falls(x, step):
                        return step
                except (SubproblemError, UnfitSolver) as error:
                    problem.note(solver, TIGHT, f"near a point: {error}")
                except (ValueError, ArithmeticError):  # outside the domain
                    return None
        return None

    def _falls(self, x: Array, step: Array) -> bool:
        """True if M has fallen by nearly ‖step‖², in units, as after an exact proximal step.

        There M falls by ½‖step‖² for its own strong convexity and by the proximal term; a smaller
        fall, but for TIGHT of F's scale, says that the solver missed the minimum.
        """
        fall = self._problem.majorant(x) - self._problem.majorant(x + step)
        square = float(np.sum((step / self._made.units(x)) ** 2))
        return fall >= self._made.scale(x) * (NEARLY * square - TIGHT)

    def _walk(self, x: Array, step: Array) -> tuple[Array, float]:
        length = float(np.linalg.norm(step / self._made.units(x)))
        if length <= STEEP:
            return x, 0.0
        return downhill_slope(self._made.value, x, step / length, self._made.scale(x))


# ----------------------------------------------------------------------------------------------


class ProblemFacts:
    """Facts about the objective of a cvxpy problem and its solvers.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    """

    constant = 0.0
    loosest = 0.0  # compiled programs start afresh at every tolerance

    def __init__(self, surrogate: ProblemSurrogate) -> None:
        self._surrogate = surrogate
        self._problem = surrogate.majorised

    @property
    def sign(self) -> float:
        """1 for a minimisation, −1 for a maximisation."""
        return self._problem.sign

    @property
    def is_convex(self) -> bool:
        """True if no rule had to change anything: the problem is its own majorant."""
        return self._problem.is_convex

    @property
    def verifiers(self) -> tuple[str, ...]:
        """The solver that the user names, then the others."""
        return self._surrogate.solvers

    @property
    def looks_ahead(self) -> bool:
        """True under nonconvex constraints: their majorants allow short steps only."""
        return bool(self._problem.constraints)

    @property
    def lower_bound(self) -> float:
        """0 if no term is negative, the value of a constant; penalties only add to it."""
        node = self._problem.frame.node
        if node.is_constant() and not self._surrogate.restoring:
            return float(np.sum(Values().array(node)))
        return 0.0 if self._surrogate.restoring or node.is_nonneg() else -np.inf

    @property
    def attainable(self) -> float:
        """The scale below which solvers lose digits."""
        return self._surrogate.attainable
