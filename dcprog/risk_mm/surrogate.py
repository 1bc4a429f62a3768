"""The majorant of a risk: one weight a group, a tilt a row, one weight a penalised coefficient."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from dcprog.engine.protocol import Domain, FixedFacts, Nearby, Record
from dcprog.engine.stationarity import Stationarity
from dcprog.engine.track import Attempt
from dcprog.foundation.arrays import EDGE, EDGE_DECAY, NEAR_EDGE, Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, SubproblemError
from dcprog.foundation.progress_log import logger
from dcprog.foundation.sums import median
from dcprog.foundation.tolerances import ACCEPT, CONVEX_START, INNER, LOOSE, SUMMED, TOL
from dcprog.risk.duality import above_least, duality_gap
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.averaged import averages, settled
from dcprog.risk_mm.starts import Solve, convex_problem, graduated_start, over_rims, starts_finite
from dcprog.risk_mm.stationarity import descents, stationarity
from dcprog.risk_mm.units import Units, usual_coefficient, usual_coefficients
from dcprog.solvers.protocol import LOOSEST, ExactSolver, Solution, SubproblemSolver
from dcprog.solvers.registry import choose, is_exact, loosest, make, witnesses

# Tolerances of the convex problem that gives the start, tried in turn.
START = (CONVEX_START, TOL, LOOSE)
COARSEST = 0.5  # the largest of the tolerances that are passed to solvers
OUT_OF_SIZE = 30.0  # largest change of the objective's size, as a factor, with the same units
# A loose start will do if its duality gap is at most this share of its own value. A share of the
# value at θ = 0 says nothing where the minimum is near 0: capped losses give up what is left.
ROUGH = 0.1
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
        self, problem: WeightedRisk, centre: Array, aim: Aim, solver: str, limit: float | None
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
                own = self.units.solution(Solution(error.point, error.dual, 0.0))
                error.point, error.dual = own.coefficients, own.dual
            raise
        except DataLost as lost:
            if lost.point is not None:
                self.last = self.units.solution(Solution(lost.point, None, np.nan))
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
        self, problem: WeightedRisk, centre: Array, aim: Aim, solver: str, limit: float | None
    ) -> Solution:
        """The solution of a solver, transformed from natural units to the risk's own."""
        made = self._solver(solver)
        units = self.units
        slack, value = aim
        tolerance = min(max(slack / (units.size + abs(value)), SUMMED), COARSEST)
        found = made.minimise(units.problem(problem), units.theta(centre), tolerance, limit)
        solution = units.solution(found)
        self._share(found.coefficients, solution.coefficients)
        return solution

    def _share(self, theta: Array, own: Array) -> None:
        """Let the risk know its margins at a point, if the risk in natural units knows its own.

        Those are the same times a power of two where no sample is scaled or moved.
        """
        natural, risk = self.units.natural, self.risk
        if natural.rows is not risk.rows or natural._known is risk._known:
            return
        place = natural.known(theta)
        if place is not None and risk._known is not None:
            risk.remember(own, self.units.margin * place.margins)

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

        Where a loose start is wanted, points are refined until their duality gap is a small share
        of their own value, and the point of a solver that fails will do if its gap is. If all fail,
        the lowest point that a solver has reached below the centre is returned. A solver gets a
        share of the time left, the last one all of it. Failures are added to the attempts.

        Raises
        ------
        SubproblemError
            All solvers fail, and no point below the centre was reached.
        """
        deadline = Deadline(time_limit)
        failures: list[SubproblemError] = []
        value = problem.value(centre)
        lowest, reached = value, centre
        rough = tolerances[0] > START[-1]
        for tolerance, solver in product(tolerances, solvers):
            decided = tolerance > tolerances[0] and any(e.status != "failed" for e in failures)
            if failures and (deadline.left == 0 or decided):
                break
            at_most = deadline.left if solver == solvers[-1] else deadline.share
            finest = START[0] if rough else tolerance
            try:
                return self._solved(problem, centre, (tolerance, finest), solver, at_most)
            except SubproblemError as error:
                failures.append(error)
                attempts.append(Attempt(0, solver, tolerance, str(error)))
                if error.point is None:
                    continue
                above = problem.value(error.point)
                if above < lowest:
                    lowest, reached = above, error.point
                if rough and self._is_near(problem, error.point, error.dual, centre):
                    return error.point
        if reached is not centre:
            return reached
        raise failures[0]

    def _solved(
        self,
        problem: WeightedRisk,
        centre: Array,
        tolerances: tuple[float, float],
        solver: str,
        limit: float | None,
    ) -> Array:
        """The minimiser to the first tolerance, and to finer ones until its gap is small."""
        deadline, value = Deadline(limit), problem.value(centre)
        tolerance, finest = tolerances
        found = centre
        while True:
            aim = tolerance * (self.units.size + abs(value)), value
            try:
                found = self.solve(problem, found, aim, solver, deadline.left)
            except SubproblemError as error:
                if found is not centre and not _is_lower(problem, error.point, found):
                    assert self.last is not None
                    error.point, error.dual = found, self.last.dual
                raise
            rise = problem.value(found) - value
            if not rise <= ACCEPT * aim[0]:
                raise SubproblemError("failed", f"{solver} rose from θ = 0 by {rise:.3g}")
            assert self.last is not None
            if tolerance <= finest or self._is_near(problem, found, self.last.dual, centre):
                return found
            tolerance = max(INNER * tolerance, finest)

    def _is_near(self, problem: WeightedRisk, x: Array, dual: Array | None, centre: Array) -> bool:
        """True if the duality gap at x is a small share of the value there."""
        gap = self._gap(problem, Solution(x, dual, 0.0), centre)
        return gap <= ROUGH * abs(problem.value(x))

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
        return np.inf if self.last is None else self._gap(problem, self.last, centre)

    def _gap(self, problem: WeightedRisk, solution: Solution, centre: Array) -> float:
        units = self.units
        natural = units.problem(problem)
        if natural.risk._known is None:
            natural = replace(natural, risk=natural.risk.remembering())
        where = natural, units.theta(solution.coefficients)
        gap = duality_gap(*where, units.dual(solution.dual), units.theta(centre))
        above = above_least(*where)  # bounds the error too, closely if the fit is almost perfect
        return units.size * (min(gap, above) if above <= PERFECT else gap)


# ----------------------------------------------------------------------------------------------


# Tolerances are relative to the sum of F's terms. Near a perfect fit that is rounding: it counts as
# at least the first share of the sum at the run's start (or at θ = 0, if less), and the second
# share of that at θ = 0.
LEAST = 1e-3, 1e-7
ROUNDING = 1e-13  # share of the sum at θ = 0: no solver is asked for a smaller error


class RiskSurrogate:
    """Majorant of a risk: concave functions at their tangents.

    M(θ; θ₀) = Σ_g d_g agg_g(θ) + Σ_r t_r u_r(θ) + convex penalty + Σ_j ν_j |θ_j| + const, with
    the weights d_g = s_g φ'(agg_g), the tilts t_r = −s_g v_r sub'(u_r) and the slopes ν_j of a
    concave penalty, all at θ₀.

    Where a slope at 0 is infinite, the function is carried on along its tangent at a small ε: a
    tenth of the median argument at first, then ten times less each tightening down to 1e-10 of it.
    With that ε from the start, an argument that is 0 there could never change.

    Parameters
    ----------
    risk : Risk
    solver : str, optional
        A name of :mod:`dcprog.solvers.registry` or of a cvxpy solver. By default (or ``"auto"``)
        the fastest solver that takes the risk, with cvxpy behind it.

    Attributes
    ----------
    risk : Risk
        The risk F is read from. Where its transform adapts or its ε falls, the tightenings
        replace it.
    problem : WeightedRisk
        The last tightening, with its weights d, tilts t and shrinkage ν.

    Raises
    ------
    ValueError
        The solver is unknown or cannot take the risk.

    Notes
    -----
    What overflows in here is seen in the values, and warned of nowhere.
    """

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.declared = self.risk = risk = risk.remembering()
        self.solvers = choose(risk, solver)
        self.facts = FixedFacts(
            verifiers=witnesses(risk, self.solvers),
            is_convex=risk.has_convex_losses and risk.penalty.is_convex,
            loosest=loosest(self.solvers[0], risk),
        )
        self.attempts: list[Attempt] = []
        self.subproblems = Subproblems(risk, lambda name, natural: make(name, natural))
        self._least = self._rounding = 0.0
        self.problem = WeightedRisk(risk, np.broadcast_to(1.0, risk.n_groups))
        self._offset = 0.0
        self._weighted = 0.0
        self._centre: Array | None = None
        self._edges: Array | None = None
        self._last_edges = np.full(2, EDGE)
        self.accepted: Solution | None = None
        self._reset()

    def restart(self) -> None:
        """Forget the state of earlier runs; solvers keep their last multipliers."""
        self._reset()
        self.accepted = self.subproblems.last = None

    def _reset(self) -> None:
        self.risk = self._fixed = self.declared
        self._tightenings = 0
        self._centre = None
        self._unchanged = False
        self._edges = None
        self.settled = self.declared.transform.rounds == 0 and not any(self._steep())

    def _steep(self) -> tuple[bool, bool]:
        """True if the transform or the penalty has an infinite slope."""
        risk = self.declared
        extended = risk.extended()
        return extended.transform is not risk.transform, not starts_finite(risk)

    @np.errstate(all="ignore")
    def begin(self, x: Array) -> None:
        """Let the transform adapt anew, and infinite slopes come in again."""
        self._reset()
        sizes = [self.declared.magnitude(y) for y in (x, np.zeros(x.size))]
        usable = [size for size in sizes if np.isfinite(size)] or [0.0]
        at_zero = sizes[1] if np.isfinite(sizes[1]) else 0.0
        self._least = max(LEAST[0] * min(usable), LEAST[1] * at_zero)
        self._rounding = ROUNDING * at_zero
        self.subproblems.fit(self.scale(x))

    @np.errstate(all="ignore")
    def scale(self, x: Array) -> float:
        """The sum of the absolute values of F's terms at x."""
        size = self._fixed.magnitude(x)
        return max(size, self._least) if np.isfinite(size) else size

    @np.errstate(all="ignore")
    def units(self, x: Array) -> Array:
        """Steps that move the margins by about their unit, or x_j where that is more."""
        return np.maximum(np.abs(x), self._usual)

    @cached_property
    def _usual(self) -> Array:
        return usual_coefficients(self.declared)

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x."""
        self._move(x)
        self.subproblems.fit(self.scale(x))
        if _is_at(self.subproblems.last, x):
            self.accepted = self.subproblems.last
        risk = self.risk
        before, weights = self.problem, risk.slopes(x)
        self.problem = WeightedRisk(risk, weights, risk.tilts(x), _shrinkage(risk, x))
        same = self._centre is not None and self.problem.repeats(before)
        self._unchanged, self._centre = same, x.copy()
        self._weighted = self.problem.value(x)
        self._offset = risk(x) - self._weighted
        return not same or not is_exact(self.solvers[0])

    def _move(self, x: Array) -> None:
        """Move what F itself still has to move: an adapting cap, and ε."""
        if self.settled and self._edges is None:
            return
        rounds = self.declared.transform.rounds
        if self._tightenings < rounds or self._tightenings == 0:
            self._fixed = self.declared.fixed(x)
        if self._edges is None:
            self._edges = self._first_edges(x)
        else:
            self._edges = np.maximum(self._last_edges, EDGE_DECAY * self._edges)
        self.risk = self._fixed.extended(*self._edges.tolist())
        self._tightenings += 1
        self.settled = self._tightenings >= rounds and bool(np.all(self._edges == self._last_edges))

    def _first_edges(self, x: Array) -> Array:
        """ε of the transform and the penalty for the first step; sets those to end with."""
        risk = self.declared
        sizes = risk.aggregates(x), np.abs(x[risk.penalized])
        units = self.subproblems.units.loss, usual_coefficient(risk)
        # a start may fit almost perfectly: the losses at θ = 0 tell their usual size
        usual = risk.aggregates(np.zeros(x.size)), sizes[1]
        scales = [_usual(size, unit) for size, unit in zip(usual, units, strict=True)]
        self._last_edges = EDGE * np.array(scales)
        starts = [
            steep and np.min(size, initial=np.inf) <= NEAR_EDGE * scale
            for steep, size, scale in zip(self._steep(), sizes, scales, strict=True)
        ]
        return np.where(starts, EDGE_DECAY * np.array(scales), self._last_edges)

    @np.errstate(all="ignore")
    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the weighted risk, to a tolerance relative to :meth:`scale`."""
        centre = start if self._centre is None else self._centre
        aim = max(tolerance * self.scale(centre), self._rounding), self._weighted
        return self.subproblems.solve(self.problem, centre, aim, solver, time_limit)

    @np.errstate(all="ignore")
    def value(self, x: Array) -> float:
        """F(x), under the transform and the ε as they stand."""
        return self.risk(x)

    @np.errstate(all="ignore")
    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""
        if self._centre is None:
            raise RuntimeError("the majorant has no centre yet; call tighten first")
        solver, centre = self.solvers[0], self._centre
        return self._offset + self.subproblems.value(solver, self.problem, x, centre)

    @np.errstate(all="ignore")
    def bound(self) -> float:
        """A lower bound of min M(·; centre), by duality from the last solution's multipliers.

        See :func:`duality_gap` for what it certifies; cvxpy's solvers leave
        multipliers of their own.
        """
        last = self.subproblems.last
        if self._centre is None or last is None:
            return -np.inf
        value = self._offset + self.problem.value(last.coefficients)
        bounds = (
            value - self.subproblems.gap(self.problem, self._centre),
            self._offset + self.subproblems.bound(self.problem),
        )
        return max((bound for bound in bounds if np.isfinite(bound)), default=-np.inf)

    @np.errstate(all="ignore")
    def objective(self, x: Array) -> float:
        """The declared risk, without ε; under the cap the run has set."""
        return self._fixed(x)

    @property
    def adapted(self) -> Risk | None:
        """The risk under the cap that the run has set; None where nothing adapts."""
        return None if self.declared.transform.rounds == 0 or self._edges is None else self._fixed

    def solver(self, deadline: Deadline) -> Solve:
        """A minimiser of weighted risks by the first solver, until a deadline."""

        def solve(problem: WeightedRisk, centre: Array, tolerance: float) -> Array:
            deadline.check("the steps of a start", centre)
            aim = tolerance, problem.value(centre)
            return self.subproblems.solve(problem, centre, aim, self.solvers[0], deadline.left)

        return solve

    @property
    def domain(self) -> Domain:
        """Losses have finite values everywhere, and a risk has no constraints."""
        return Domain(self)

    @property
    def nearby(self) -> Nearby:
        """Points near a solution that may be lower."""
        return _RiskNearby(self)

    @property
    def starts(self) -> RiskStarts:
        """Points to start from."""
        return RiskStarts(self)

    @property
    def record(self) -> Record:
        """The cost of the solver calls so far, and the last multipliers."""
        last, accepted = self.subproblems.last, self.accepted
        return Record(
            self.subproblems.time,
            self.subproblems.steps,
            "" if last is None else last.by,
            self._unchanged,
            self.attempts,
            None if accepted is None else (accepted.coefficients, accepted.dual),
        )

    def __repr__(self) -> str:
        return f"RiskSurrogate({self.declared!r}, solvers={self.solvers})"


class RiskStarts:
    """Points to start a risk from.

    Parameters
    ----------
    surrogate : RiskSurrogate
    """

    kinds = ("convex", "graduated", "half", "random", "zero")

    def __init__(self, surrogate: RiskSurrogate) -> None:
        self._surrogate = surrogate

    @np.errstate(all="ignore")
    def __call__(
        self, kind: str, rng: np.random.Generator, time_limit: float | None = None
    ) -> Array:
        """The convex problem's solution, that of a random half of the groups, or random θ.

        The convex problem has the base losses with the transform's slope at 0, nothing subtracted,
        and a concave penalty's slope at 0; infinite slopes are taken at a usual size. If no solver
        finds its solution, θ = 0. ``"graduated"`` goes on from the convex start.

        Raises
        ------
        SubproblemError
            ``failed``: no solver finds the convex start, and F(0) is infinite.
        DataLost
            With the last point of a solver, if it has coefficients beside intercepts.
        """
        try:
            return self._point(kind, rng, time_limit)
        except DataLost as lost:
            last, rows = self._surrogate.subproblems.last, self._surrogate.declared.rows
            if last is not None and np.any(last.coefficients[rows.penalized]):
                lost.point = last.coefficients
            raise

    def _point(self, kind: str, rng: np.random.Generator, time_limit: float | None) -> Array:
        risk, solver = self._surrogate.declared, self._surrogate.solver
        p = risk.rows.shape[1]
        if kind == "zero":
            return np.zeros(p)
        if kind == "random":
            return usual_coefficients(risk) * rng.standard_normal(p)
        if kind == "graduated":
            deadline = Deadline(time_limit)
            return graduated_start(risk, self("convex", rng, time_limit), solver(deadline))
        problem = convex_problem(risk)
        if kind == "half":
            weights = problem.weights.copy()
            weights[rng.permutation(weights.size)[: weights.size // 2]] = 0.0
            problem = replace(problem, weights=weights)
        return self._solved(problem, time_limit)

    def _solved(self, problem: WeightedRisk, time_limit: float | None) -> Array:
        made, zero = self._surrogate, np.zeros(problem.risk.rows.shape[1])
        try:
            return made.subproblems.first_solved(
                made.solvers, made.attempts, problem, zero, time_limit, self._tolerances
            )
        except SubproblemError as error:
            if np.isfinite(made.declared(zero)):
                return zero  # better than no point
            if error.status == "infeasible":
                raise SubproblemError(
                    "failed", f"a risk has no constraints: {error}", point=error.point
                ) from error
            raise

    @property
    def _tolerances(self) -> tuple[float, ...]:
        """Tolerances of the convex start: loose if the first steps are, and there are steps."""
        facts = self._surrogate.facts
        loose = not facts.is_convex and facts.loosest > START[-1]
        return (min(facts.loosest, LOOSEST),) if loose else START


class _RiskNearby(Nearby):
    """Points near a solution of a risk that may be lower."""

    def __init__(self, surrogate: RiskSurrogate) -> None:
        super().__init__(surrogate)
        self._made = surrogate

    @np.errstate(all="ignore")
    def either_side(self, x: Array, ways: Array, leeway: float) -> Array:
        """F(x + way) and F(x − way) for every row of `ways`, from margins that are linear in it."""
        values = self._made.risk.either_side(x, ways)
        return np.where(np.isfinite(values), values, np.inf)

    @np.errstate(all="ignore")
    def further(self, x: Array, time_limit: float | None = None) -> Array:
        """A point that is lower by F itself: Newton's, or a solver's for a majorised penalty."""
        made = self._made
        risk = made.declared
        if made.settled and averages(made.risk):
            return settled(made.risk, made.subproblems.units, x, Deadline(time_limit))
        if risk.penalty.is_convex or not (risk.has_convex_losses and made.settled):
            return x
        return made.subproblems.further(made.problem, x, made.solvers[0])

    @np.errstate(all="ignore")
    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Points along the slopes of other choices at ties, and beyond the rims of narrow wells."""
        made, deadline = self._made, Deadline(time_limit)
        yield from descents(made.problem, x, made.units(x), made.scale(x), time_limit)
        yield from over_rims(made.declared, x, made.solver(deadline))

    @np.errstate(all="ignore")
    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """Distance of x, the majorant's centre, from stationarity."""
        made = self._made
        return stationarity(made.problem, x, made.units(x), made.scale(x), time_limit)


def _is_lower(problem: WeightedRisk, point: Array | None, found: Array) -> bool:
    return point is not None and problem.value(point) < problem.value(found)


def _is_at(solution: Solution | None, x: Array) -> bool:
    return solution is not None and np.array_equal(solution.coefficients, x)


def _usual(size: Array, unit: float) -> float:
    """The median finite size but 0, or the unit where there is none."""
    some = size[np.isfinite(size) & (size > 0)]
    return median(some) if some.size else float(unit)


def _shrinkage(risk: Risk, x: Array) -> Array | None:
    return None if risk.penalty.is_convex else risk.penalty.weights(x[risk.penalized])


Risk._surrogate = staticmethod(RiskSurrogate)
