"""One problem and its options: from a start to a judged run, in any process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import Any, Generic, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from cvxpy.lin_ops import lin_utils

from dcprog.engine.descent import descend
from dcprog.engine.protocol import Record, Surrogate
from dcprog.engine.result import Result
from dcprog.engine.track import History, Run, Settings
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, NotMajorizable, SubproblemError, UnfitStart
from dcprog.foundation.tolerances import ACCEPT, BESIDE, CONVEX_START, DECADES, HASTY, TOL
from dcprog.majorants.atoms import add, added
from dcprog.majorants.user_problem import check_data
from dcprog.moves.registry import MOVES, registered_moves
from dcprog.problem.surrogate import FIRMNESS, ProblemSurrogate
from dcprog.reductions.chain import AUTOMATIC, recognised_risk
from dcprog.reductions.recentred import recentred
from dcprog.reductions.recognised.recognise import Recognised
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.risk_mm.units import without_caches
from dcprog.solvers.registry import SOLVERS, registered
from dcprog.solving.branches import solved_by_branches
from dcprog.solving.cvxpy_fields import multipliers, negative_bases
from dcprog.solving.polish import MOST_EXAMINED, examined, polished, verified
from dcprog.starts.local import SmoothProblem, unfit
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS, registered_starts

Pairs = list[tuple[cp.Variable, Array]]
Options = Mapping[str, Any] | None


class Spec(Protocol):
    """A declaration that makes its own surrogate, such as :class:`dcprog.Risk`."""

    rows: Any

    def surrogate(self, solver: str | None = None) -> Surrogate:
        """A fresh surrogate."""


S = TypeVar("S", bound=Surrogate)


class Task(Generic[S]):
    """A risk, or another declaration that makes its own surrogate, and the options of its runs.

    Every process that runs it builds its own surrogate.

    Parameters
    ----------
    problem : Spec or cvxpy.Problem
        In real variables.
    solver : str, optional
    settings : Settings, optional
    """

    def __init__(
        self, problem: Any, solver: str | None = None, settings: Settings | None = None
    ) -> None:
        self.problem, self.solver = problem, solver
        self.settings = settings or Settings()
        limit = self.settings.time_limit
        self._end = None if limit is None else time.time() + limit
        self._unused: S | None = None
        self._reached: Run | None = None  # the best run from the present start

    def __getstate__(self) -> dict[str, Any]:
        process = {"next_id": lin_utils.get_id(), "atoms": added(), "solvers": registered()}
        process |= {"starts": registered_starts(), "moves": registered_moves()}
        return self.__dict__ | {"_unused": None, "_reached": None} | process

    def __setstate__(self, state: dict[str, Any]) -> None:
        # cvxpy numbers variables by a counter a process: those that the majorant adds here must
        # not take the numbers of the user's, which were made elsewhere
        counter = lin_utils.ID_COUNTER
        counter.count = max(counter.count, state.pop("next_id"))
        add(state.pop("atoms"))
        SOLVERS.update(state.pop("solvers"))
        STARTS.update(state.pop("starts"))
        MOVES.update(state.pop("moves"))
        self.__dict__.update(state)

    def check(self) -> None:
        """Refuse a bad problem; the first run takes the surrogate that this has made."""
        self._unused = self.surrogate()

    def forget(self) -> None:
        """Drop the surrogate of the check: the next run begins with a restarted one."""
        self._unused = None

    def left(self) -> float | None:
        """Seconds until the time limit; None without one."""
        return None if self._end is None else max(0.0, self._end - time.time())

    def __call__(
        self,
        kind: Any,
        seed: np.random.SeedSequence,
        spare: bool = False,
        surrogate: S | None = None,
    ) -> Run | None:
        """The run from one start; None for a spare one that there is no time for.

        A candidate is lower than ends of runs, perhaps: its point counts without a step. By default
        the surrogate is a fresh one.
        """
        if spare and self.left() == 0 and not isinstance(kind, Candidate):
            return None  # the time went on the starts before
        if surrogate is None:
            surrogate, self._unused = self._unused or self.surrogate(), None
        self._reached, self.settings = None, replace(self.settings, label=kind_of(kind))
        before = surrogate.record  # a surrogate may serve several starts
        rng = np.random.default_rng(seed)
        try:
            start = self._start(surrogate, kind, rng)
        except SubproblemError as error:
            run = _no_point(error, surrogate.facts.sign)
            if run.status == "solver_failed" and self.left() == 0:
                run = replace(run, status="time_limit")
        except DataLost as lost:
            if lost.point is None:
                raise
            run = _without_value(lost.point, lost)
        else:
            moved = self._recentred(surrogate, start, kind, seed)
            if moved is not None:
                spent = moved.solve_time + surrogate.record.solve_time - before.solve_time
                return replace(moved, solve_time=spent)
            run = self._run(surrogate, start, kind, rng)
        return self._judged(surrogate, run, kind, before)

    def _judged(self, surrogate: S, run: Run, kind: Any, before: Record) -> Run:
        """The run, and how its point stands in the user's problem."""
        domain, record, x = surrogate.domain, surrogate.record, run.x
        attempts = (*record.take_attempts(), *run.history.attempts)
        return replace(
            run,
            history=replace(run.history, attempts=attempts),
            kind=kind_of(kind),
            sign=surrogate.facts.sign,
            solver=run.solver or surrogate.solvers[0],
            values=[] if x is None else self.values(x),
            feasible=x is None or domain.is_feasible(x),
            relative_violation=np.inf if x is None else domain.relative_violation(x),
            solve_time=record.solve_time - before.solve_time,
            solver_steps=record.solver_steps - before.solver_steps,
            dual=None if x is None else record.dual(x),
            spec=getattr(surrogate, "adapted", None),
        )

    # ------------------------------------------------------------------------------------------
    # the start

    def _start(self, surrogate: S, kind: Any, rng: np.random.Generator) -> Array:
        if isinstance(kind, Candidate):
            return kind.x
        if isinstance(kind, Result):
            kind = kind.variables or kind.x
            if kind is None:
                raise ValueError("the result to resume from has no point")
        if not isinstance(kind, str) or kind == "current":
            return self.point(surrogate, kind)
        known = surrogate.starts.kinds
        if kind == "graduated" and kind not in known:
            kind = "convex"
        if kind in STARTS and kind not in known:
            return self._first_point(surrogate, kind, rng)
        return surrogate.starts(kind, rng, self.left())

    def _first_point(self, surrogate: S, kind: str, rng: np.random.Generator) -> Array:
        """The first point of a registered start, which may look at the convex start.

        Raises
        ------
        ValueError
            The start does not take the problem, or has no point for it.
        """
        start = STARTS[kind]()
        refused = start.takes(surrogate)
        if refused is not None:
            raise ValueError(f"start={kind!r} does not take this problem: {refused}")
        convex = surrogate.starts("convex", rng, self.left())
        budget = Budget(rng=rng, deadline=Deadline(self.left()), ended=[convex])
        for point in start.points(surrogate, budget):
            return point.x if isinstance(point, Candidate) else np.asarray(point, dtype=float)
        raise ValueError(f"start={kind!r} has no point for this problem")

    def point(self, surrogate: S, start: Any) -> Array:
        """A start that the user gives, as a point of the surrogate.

        Raises
        ------
        ValueError
            Its shape is wrong, or it is not made of numbers.
        """
        if isinstance(start, str | Mapping):
            raise ValueError("a Risk has no variables: start it from an array, θ, or from a Result")
        return numbers(start, self.problem.rows.shape[1:], "the start")

    # ------------------------------------------------------------------------------------------
    # the run

    def _run(self, surrogate: S, start: Array, kind: Any, rng: np.random.Generator) -> Run:
        """The run from a start, under a status that is true of the user's function."""
        try:
            return self._run_to_the_end(surrogate, start, kind, rng)
        except KeyboardInterrupt as stop:  # between runs of the loop, which keep their points
            if self._reached is not None:
                message = str(stop) or "stopped by Ctrl-C"
                return replace(self._reached, status="interrupted", message=message)
            if isinstance(stop, DataLost):
                return _without_value(start, stop)
            raise

    def _run_to_the_end(
        self, surrogate: S, start: Array, kind: Any, rng: np.random.Generator
    ) -> Run:
        is_given = not isinstance(kind, str | Candidate) or kind == "current"
        try:
            run = self._first_run(surrogate, start, rng)
        except UnfitStart as error:
            if is_given:
                raise
            failure = SubproblemError("failed", f"the start is of no use: {error}")
            return _no_point(failure, surrogate.facts.sign)
        return self._improved(surrogate, run, rng, is_given)

    def _first_run(self, surrogate: S, start: Array, rng: np.random.Generator) -> Run:
        """The run of the loop from a start."""
        return self.descend(surrogate, start)

    def descend(self, surrogate: S, start: Array, **changes: Any) -> Run:
        """A run of the loop for the time that is left, judged; `changes` are other settings."""
        settings = replace(self.settings, time_limit=self.left(), **changes)
        run = descend(surrogate, start, settings)
        with suppress(DataLost):  # then the run has ended there, and its point is all there is
            run = checked(surrogate, run)
        if self._reached is None or _order(surrogate, run) < _order(surrogate, self._reached):
            self._reached = run
        return run

    def _improved(self, surrogate: S, run: Run, rng: np.random.Generator, is_given: bool) -> Run:
        """The run, or one from θ = 0 if a risk is lower there and the user gave no point.

        A cap that adapts would be another one from there.
        """
        adapts = getattr(surrogate, "adapted", None) is not None
        if run.x is None or is_given or adapts or "zero" not in surrogate.starts.kinds:
            return run
        ended = run.status in ("interrupted", "time_limit") or self.left() == 0
        if ended or not self.settings.escape:
            return run
        zero = surrogate.starts("zero", rng)
        if not surrogate.value(zero) < surrogate.value(run.x) - self.settings.tol * run.scale:
            return run
        other = self.descend(surrogate, zero)
        return other if surrogate.facts.sign * (other.value - run.value) < 0 else run

    def _recentred(
        self, surrogate: S, start: Array, kind: Any, seed: np.random.SeedSequence
    ) -> Run | None:
        """The run of the problem recentred at a start far from 0; None if there is no need."""
        return None

    # ------------------------------------------------------------------------------------------
    # the form in which the problem is solved

    def surrogate(self) -> S:
        """A surrogate that remembers nothing of other starts, so that their order is no matter.

        Raises
        ------
        ValueError
            The problem cannot be majorised.
        """
        made: S = self.problem.surrogate(self.solver)
        return made

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        return []

    def afresh(self, spec: Risk | None) -> Task[S]:
        """The task with the cap that a run has set, and empty warm-start caches."""
        problem = self.problem if spec is None else spec
        if not isinstance(problem, Risk):
            return self
        return self._changed(problem=_on_new_rows(problem))

    def _changed(self, **attributes: Any) -> Self:
        """A copy with other attributes and no surrogate."""
        task = object.__new__(type(self))
        task.__dict__.update(self.__dict__ | {"_unused": None} | attributes)
        return task

    def polished(self, run: Run) -> Run:
        """The run after Newton's method on the active pieces."""
        return run

    def warning(self, x: Array | None) -> str | None:
        """A message about a point that the user may not have meant."""
        return None

    def multipliers(self, x: Array) -> dict[int, Any]:
        """Multipliers of the constraints at a point that meets them, by the constraints' ids."""
        return {}

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return 0.0

    def compile(self) -> None:
        """Compile what can be compiled before the first step."""

    def keep(self) -> None:
        """Keep what is compiled for the next solve."""


def _on_new_rows(risk: Risk) -> Risk:
    risk = copy(risk)
    risk.rows = without_caches(risk.rows)
    return risk


def _no_point(error: SubproblemError, sign: float) -> Run:
    """The run from a start that could not be made."""
    status = "solver_failed" if error.status == "failed" else error.status
    nothing = {"infeasible": np.inf, "no_feasible_point": np.inf, "unbounded": -np.inf}
    return Run.without_steps(None, sign * nothing.get(status, np.nan), status, str(error))


def _without_value(x: Array, lost: DataLost) -> Run:
    """The run to a point whose value the data would tell that are lost."""
    run = Run.without_steps(x, np.nan, "interrupted", str(lost))
    return replace(run, violation=0.0)


# ----------------------------------------------------------------------------------------------
# the status of a run, in the user's own function

ENDED = ("converged", "solver_failed", "max_iter")
# The largest difference between the values at the edge of a domain and inside it, relative to the
# scale of F.
NEAR_ENOUGH = ACCEPT * TOL
MISMATCH = 1e-2  # the largest difference of F from its extension with finite slopes, likewise


def checked(surrogate: Surrogate, run: Run) -> Run:
    """The run under a status, and at a point, that is true of the user's own function."""
    if run.x is None or not surrogate.domain.is_feasible(run.x):
        return run
    falls = surrogate.facts.sign * run.value == -np.inf
    if falls or (run.status in ENDED and surrogate.domain.falls_off(run.x)):
        return replace(
            run,
            value=-surrogate.facts.sign * np.inf,
            status="unbounded",
            message="the objective falls for ever towards the edge of its domain",
        )
    if not surrogate.domain.is_finite(run.x):
        return _moved_inside(surrogate, run, run.x)
    if run.status == "converged" and surrogate.domain.mismatch(run.x) > MISMATCH * run.scale:
        return _failed(run, "at the edge of the objective's domain its slope is infinite")
    return run


def _moved_inside(surrogate: Surrogate, run: Run, x: Array) -> Run:
    """The run at a point a little further inside the domain."""
    domain = surrogate.domain
    for way in (domain.cleared, domain.inside):
        near = way(x)
        if domain.is_finite(near) and domain.is_feasible(near):
            break
    else:
        return _failed(run, "the point is outside the domain of the objective")
    value, violation = surrogate.objective(near), domain.violation(near)
    history = run.history.ending(value, violation)
    moved = replace(run, x=near, value=value, violation=violation, history=history)
    if run.status != "converged" or abs(value - run.value) <= NEAR_ENOUGH * run.scale:
        return moved
    return _failed(moved, "at the edge of the objective's domain the value is another one")


def _failed(run: Run, reason: str) -> Run:
    return replace(run, status="solver_failed", message=f"{reason} ({run.message})")


# ----------------------------------------------------------------------------------------------


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk that is, up to a constant and the sign, a problem's objective.

    F is the risk; the objective that the user is told adds the constant and the sign.

    Parameters
    ----------
    found : Recognised

    Attributes
    ----------
    points : Points
        Of the problem's variables.
    """

    def __init__(self, found: Recognised) -> None:
        super().__init__(found.risk)
        self.points = found.points
        self.facts = replace(self.facts, sign=found.sign, constant=found.constant)

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.facts.sign * (super().objective(x) + self.facts.constant)


class RecognisedTask(Task[RecognisedSurrogate]):
    """The risk that a cvxpy problem is.

    Parameters
    ----------
    problem : cvxpy.Problem
    found : Recognised
    settings : Settings, optional
    """

    def __init__(
        self, problem: cp.Problem, found: Recognised, settings: Settings | None = None
    ) -> None:
        super().__init__(problem, None, settings)
        self._found = found

    def surrogate(self) -> RecognisedSurrogate:
        """A surrogate of the risk."""
        return RecognisedSurrogate(self._found)

    def point(self, surrogate: RecognisedSurrogate, start: Any) -> Array:
        """The given values of variables; the others are those of the convex start."""
        points = self._found.points
        known = known_values(points.variables, start)
        if known is None:
            return numbers(start, (points.size,), "the start")
        if len(known) < len(points.variables):
            convex = surrogate.starts("convex", np.random.default_rng(0), self.left())
            known = dict((v.id, array) for v, array in points.unpack(convex)) | known
        return points.pack(known)

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        return [(variable, array.copy()) for variable, array in self._found.points.unpack(x)]

    def afresh(self, spec: Risk | None) -> RecognisedTask:
        """The task with empty warm-start caches."""
        return self._changed(_found=replace(self._found, risk=_on_new_rows(self._found.risk)))


# ----------------------------------------------------------------------------------------------

_KEPT: WeakKeyDictionary[cp.Problem, dict[tuple[str | None, str], ProblemSurrogate]]
_KEPT = WeakKeyDictionary()


class ProblemTask(Task[ProblemSurrogate]):
    """A cvxpy problem as it is written, in real variables.

    One surrogate, compiled once, serves all starts. Between solves it is kept with the problem, by
    the solver and its options; it is taken out while it is used, so that two threads never share
    one.

    Parameters
    ----------
    problem : cvxpy.Problem
    solver : str, optional
        A solver of cvxpy's.
    settings : Settings, optional
    options : mapping, optional
        Of that solver.
    """

    def __init__(
        self,
        problem: cp.Problem,
        solver: str | None = None,
        settings: Settings | None = None,
        options: Options = None,
    ) -> None:
        super().__init__(problem, solver, settings)
        self._options = options
        self._is_recentred = False
        self._made: ProblemSurrogate | None = None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_made": None}

    def surrogate(self) -> ProblemSurrogate:
        """The compiled surrogate, restarted."""
        made = self._made or self._kept()
        if made is None:
            made = ProblemSurrogate(self.problem, self.solver, options=self._options)
        made.restart()
        self._made = made
        return made

    @property
    def _key(self) -> tuple[str | None, str]:
        return self.solver, repr(self._options)

    def _kept(self) -> ProblemSurrogate | None:
        """The surrogate of the last solve, with the Parameters' present values."""
        named = self.solver is None or isinstance(self.solver, str)
        before = _KEPT.get(self.problem, {}).pop(self._key, None) if named else None
        if before is None:
            return None
        check_data(self.problem)
        return before if before.renew() else None

    def keep(self) -> None:
        """Keep the surrogate for the next solve."""
        if self._made is not None:
            _KEPT.setdefault(self.problem, {})[self._key] = self._made
            self._made = None

    @property
    def compile_time(self) -> float:
        """Seconds spent compiling."""
        return 0.0 if self._made is None else self._made.compile_time

    def compile(self) -> None:
        """Compile the problems that runs solve."""
        self.surrogate().compile()

    def values(self, x: Array) -> Pairs:
        """The values of the user's variables at a point."""
        pairs = (self._made or self.surrogate()).points.unpack(x)
        return [(variable, array.copy()) for variable, array in pairs]

    def afresh(self, spec: Risk | None) -> ProblemTask:
        """The task itself: its surrogate is restarted for every run."""
        return self

    def polished(self, run: Run) -> Run:
        """The run after Newton's method on the active pieces."""
        return polished(self.surrogate(), run)

    def warning(self, x: Array | None) -> str | None:
        """A message about powers whose base is negative at the point."""
        return negative_bases(self.problem, self.surrogate(), x)

    def multipliers(self, x: Array) -> dict[int, Any]:
        """Multipliers of the majorised problem at the point."""
        surrogate, left = self.surrogate(), self.left()
        if not surrogate.majorised.problem.constraints or left == 0:
            return {}
        with np.errstate(all="ignore"):
            return multipliers(surrogate, x, left)

    # ------------------------------------------------------------------------------------------
    # the start

    def point(self, surrogate: ProblemSurrogate, start: Any) -> Array:
        """The given values of variables and the best that go with them, where F has slopes.

        An epigraph variable follows from the expression that it bounds: variables that are not
        given come from the convex start, and then from the majorant centred there, minimised with
        the given ones fixed.

        Raises
        ------
        SubproblemError
            The convex constraints contradict one another.
        """
        points = surrogate.points
        known = known_values(points.variables, start)
        if known is None:
            x = numbers(start, (points.size,), "the start")
        elif len(known) == len(points.variables):
            x = points.pack(known)
        else:
            convex = surrogate.starts("convex", np.random.default_rng(0), self.left())
            whole = {v.id: known.get(v.id, array) for v, array in points.unpack(convex)}
            x = _fitted(surrogate, points.pack(whole), known)
        return surrogate.starts.inside_domain(x)

    def _recentred(
        self, surrogate: ProblemSurrogate, start: Array, kind: Any, seed: np.random.SeedSequence
    ) -> Run | None:
        """The run of the problem recentred at the convex start, or at a start that is given."""
        if surrogate.facts.is_convex or self._is_recentred:
            return None
        own = isinstance(kind, str) and kind != "current"
        middle = surrogate.starts.middle if own else start
        around = None if middle is None else recentred(self.problem, surrogate, middle, refine=own)
        if around is None:
            return None
        settings = replace(self.settings, callback=around.callback(self.settings.callback))
        task = ProblemTask(around.problem, self.solver, settings, self._options)
        task._is_recentred, task._end = True, self._end
        try:
            run = task(kind if own else around.there(start), seed)
        except (NotMajorizable, UnfitStart):
            return None
        if run is None or run.x is None:
            return None
        x = around.back(run.values)
        return replace(run, kind=kind_of(kind), x=x, values=self.values(x))

    # ------------------------------------------------------------------------------------------
    # the run

    def _run(
        self, surrogate: ProblemSurrogate, start: Array, kind: Any, rng: np.random.Generator
    ) -> Run:
        """The run from a start; a convex problem's start may be its solution."""
        if isinstance(kind, str) and kind == "convex" and surrogate.facts.is_convex:
            once = _solved_once(surrogate, start, self.settings.tol)
            if once is not None:
                return once
        return super()._run(surrogate, start, kind, rng)

    def _improved(
        self, surrogate: ProblemSurrogate, run: Run, rng: np.random.Generator, is_given: bool
    ) -> Run:
        """The run, or one from a restored point, judged by second-order conditions.

        A run that has ended at a saddle, as under nonconvex equations, then leaves it.
        """
        for saddles_left in (2, 1, 0):
            run, downhill = self._judged_here(surrogate, self.restored(surrogate, run, rng))
            if downhill is None or not saddles_left or not self.settings.escape:
                return run
            lower = self._beyond(surrogate, run, BESIDE * downhill)
            if lower is None:
                return run
            run = lower
        return run

    def _judged_here(self, surrogate: ProblemSurrogate, run: Run) -> tuple[Run, Array | None]:
        """The run, converged if its point is shown to be a local minimum; a direction downhill.

        The second-order conditions are tried first, then the branches of complementarity
        constraints that meet at the point, which may lead to another one.
        """
        for _ in range(BRANCHINGS):
            stuck = run.status in ("solver_failed", "max_iter")
            curved = run.status == "converged" and surrogate.majorised.has_equalities
            x = run.x
            if x is None or not (stuck or curved) or not _meets(surrogate, run) or self.left() == 0:
                return run, None
            verdict = examined(surrogate, x, MOST_EXAMINED[stuck])
            if not stuck or verdict.downhill is not None:
                return run, verdict.downhill
            if verdict.x is not None:
                return verified(surrogate, run, verdict.x), None
            if not self.settings.escape:
                break
            run = solved_by_branches(surrogate, run, self.settings, self.left)
            if run.x is x:
                break
        return run, None

    def _first_run(
        self, surrogate: ProblemSurrogate, start: Array, rng: np.random.Generator
    ) -> Run:
        """The run of the loop, which may end at a local minimum that a smooth method has found.

        Of smooth problems the loop is given few steps first: along curved constraints they are
        short, and their subproblems are hard to solve.
        """
        settings, facts = self.settings, surrogate.facts
        asked = settings.escape and settings.acceleration is None and not facts.is_convex
        if not asked or settings.max_iter <= HASTY or unfit(surrogate) is not None:
            return super()._first_run(surrogate, start, rng)
        surrogate.hasty = True
        try:
            run = self.descend(surrogate, start, max_iter=HASTY)
            if run.status != "converged":
                run, _ = self._judged_here(surrogate, run)
            if _is_settled(surrogate, run) or self.left() == 0:
                return run
            found = self._followed(surrogate, run, start, rng)
            if found is not None and found is not run:
                attempts = (*run.history.attempts, *found.history.attempts)
                run = replace(found, history=replace(found.history, attempts=attempts))
            if _is_settled(surrogate, run) or run.x is None or self.left() == 0:
                return run
            with suppress(UnfitStart):
                run = self.descend(surrogate, run.x)
        finally:
            surrogate.hasty = False
        if run.status == "solver_failed" and run.x is not None and not _meets(surrogate, run):
            with suppress(UnfitStart):
                return self.descend(surrogate, run.x)
        return run

    def _followed(
        self, surrogate: ProblemSurrogate, run: Run, start: Array, rng: np.random.Generator
    ) -> Run | None:
        """A run from a lower local minimum, looked for from where another one ended or began.

        If that misses a constraint, also from random points, until a run converges.
        """
        failed: list[Run] = []
        with np.errstate(all="ignore"):
            smooth = SmoothProblem(surrogate)
        rise = np.inf
        for way, origin in self._ways(surrogate, smooth, run, start, rng):
            if self.left() == 0:
                return None
            with np.errstate(all="ignore"):
                end = way(origin, Deadline(self.left()))
                value = surrogate.facts.sign * surrogate.majorised.exact(end)
            if not (np.isfinite(value) and surrogate.domain.is_feasible(end)):
                continue
            rise = surrogate.facts.sign * (value - run.value)
            if _meets(surrogate, run) and rise >= -self.settings.tol * run.scale:
                continue
            try:
                found = self._from_feasible(surrogate, end, max_iter=HASTY)
            except UnfitStart:
                continue
            if found is not None:
                found, _ = self._judged_here(surrogate, found)
                if found.status != "solver_failed":
                    return found
                failed.append(found)
        if failed:
            return min(failed, key=lambda one: surrogate.facts.sign * one.value)
        # at such an end the point is a local minimum as far as both methods can tell
        return run if _meets(surrogate, run) and rise <= self.settings.tol * run.scale else None

    def _ways(
        self,
        surrogate: ProblemSurrogate,
        smooth: SmoothProblem,
        run: Run,
        start: Array,
        rng: np.random.Generator,
    ) -> Iterator[tuple[Callable[..., Array], Array]]:
        """Smooth methods, and the points where they begin."""
        yield smooth.minimised, start if run.x is None else run.x
        if run.x is not None and _meets(surrogate, run):
            if smooth.is_few:  # quadratic programs stall in flat valleys
                yield smooth.by_multipliers, run.x
            return
        yield smooth.minimised, start
        surrogate.starts.limit(self.left())
        for _ in range(RANDOM_PLACES):
            with suppress(SubproblemError):
                yield smooth.minimised, surrogate.starts.random(rng)

    def _beyond(self, surrogate: ProblemSurrogate, run: Run, step: Array) -> Run | None:
        """A run from beside a saddle, on the side where it ends lower; None if neither does."""
        assert run.x is not None
        best = None
        for start in (run.x + step, run.x - step):
            try:
                other = self.descend(surrogate, start)
            except UnfitStart:
                continue
            lower = surrogate.facts.sign * (other.value - run.value)
            if lower < -self.settings.tol * run.scale and _meets(surrogate, other):
                best = run = other
        return best

    # ------------------------------------------------------------------------------------------
    # feasibility restoration

    def restored(self, surrogate: ProblemSurrogate, run: Run, rng: np.random.Generator) -> Run:
        """The run, or if it misses a constraint, one from a feasible point that is looked for.

        Points from which the violation alone is minimised: where the run ended, beside it, and
        random ones of several sizes.
        """
        if run.status in ("interrupted", "time_limit", "max_iter"):
            return run
        if _meets(surrogate, run):
            return run
        surrogate.starts.limit(self.left())
        if surrogate.domain.mode == "none":
            return _without_convex_point(surrogate, run)
        attempts = run.history.attempts
        for origin in _origins(surrogate, run, rng):
            if self.left() == 0:
                return replace(run, status="time_limit", message="the time limit is reached")
            try:
                found = self._feasible_point(surrogate, origin)
                again = None if found is None else self._from_feasible(surrogate, found)
            except UnfitStart:
                continue
            if again is not None:
                history = replace(again.history, attempts=(*attempts, *again.history.attempts))
                return replace(again, history=history)
        message = (
            f"no point that meets all constraints was found; this one misses a constraint by "
            f"{run.violation:.3g}: try n_starts > 1 or another start"
        )
        return replace(run, status="no_feasible_point", message=message)

    def _feasible_point(self, surrogate: ProblemSurrogate, origin: Array) -> Array | None:
        """A feasible point, found by minimising the violation alone; None if it stays above 0."""
        surrogate.restoring = True
        quiet = replace(self.settings, time_limit=self.left(), callback=None, verbose=False)
        try:
            run = descend(surrogate, origin, replace(quiet, acceleration=None))
        finally:
            surrogate.restoring = False
        return run.x if _meets(surrogate, run) else None

    def _from_feasible(
        self, surrogate: ProblemSurrogate, start: Array, **changes: Any
    ) -> Run | None:
        """A run from a feasible point that ends at one."""
        for firmness in FIRMNESS[1:3]:
            surrogate.firmness = firmness
            try:
                run = self.descend(surrogate, start, **changes)
            finally:
                surrogate.firmness = 1.0
            if _meets(surrogate, run) or run.status == "unbounded":
                return run
            if surrogate.domain.mode == "feasible":
                return None
        return None


BRANCHINGS = 3  # most times that branches at the end of a run lead to another point
# Random points from which it begins as well if a run misses a constraint; each may take a second.
RANDOM_PLACES = 3


def _is_settled(surrogate: ProblemSurrogate, run: Run) -> bool:
    """True if nothing is left to do after a run."""
    if run.status in ("interrupted", "time_limit", "infeasible", "unbounded"):
        return True
    return run.status == "converged" and _meets(surrogate, run)


def _order(surrogate: Surrogate, run: Run) -> tuple[bool, float]:
    """The lower, the better the run: feasible ones first, then by F."""
    return not _meets(surrogate, run), surrogate.facts.sign * run.value


def _meets(surrogate: Surrogate, run: Run) -> bool:
    return run.x is not None and surrogate.domain.is_feasible(run.x)


def _without_convex_point(surrogate: ProblemSurrogate, run: Run) -> Run:
    """The run under a status that tells whether its convex constraints can be met at all."""
    if run.status != "infeasible":
        return run
    if not surrogate.starts.is_proved_infeasible():
        return replace(run, status="no_feasible_point")
    return replace(run, value=surrogate.facts.sign * np.inf)


def _origins(surrogate: ProblemSurrogate, run: Run, rng: np.random.Generator) -> Iterator[Array]:
    if run.x is not None:
        yield run.x
        yield surrogate.starts.shaken(run.x, rng, size=1.0)
    for size in DECADES:
        yield surrogate.starts.random(rng, size)


def _solved_once(surrogate: ProblemSurrogate, x: Array, tol: float) -> Run | None:
    """A convex problem's only step, where a dual bound says that its start is its solution."""
    bound = surrogate.starts.bound()
    if bound == -np.inf:
        return None
    surrogate.begin(x)
    scale = surrogate.scale(x)
    if not surrogate.value(x) - bound <= ACCEPT * tol * scale:
        return None
    value, violation = surrogate.objective(x), surrogate.domain.violation(x)
    run = Run(
        x=x,
        value=value,
        gap=0.0,
        violation=violation,
        status="converged",
        message="the problem is convex: solved once",
        history=History.single(value, violation),
        solver=surrogate.starts.solver,
        scale=scale,
    )
    run = checked(surrogate, run)
    return run if run.status in ("converged", "unbounded") else None


def _fitted(surrogate: ProblemSurrogate, x: Array, known: Mapping[int, Array]) -> Array:
    """The variables that are not given, moved to where the majorant at x is least."""
    problem = surrogate.majorised
    surrogate.paying, surrogate.firmness = True, FIRMNESS[2]
    try:
        surrogate.begin(x)
        surrogate.tighten(x)
        mode = problem.modes.fix(problem.mode, known)
        for solver in problem.solvers(mode):
            try:
                found = problem.minimise(mode, CONVEX_START, solver)
            except SubproblemError as error:
                problem.note(solver, CONVEX_START, f"completing a start: {error}")
                continue
            exact = {v.id: known.get(v.id, array) for v, array in surrogate.points.unpack(found)}
            return surrogate.points.pack(exact)
    except (ValueError, ArithmeticError):  # outside the domain
        pass
    finally:
        attempts = surrogate.record.take_attempts()
        surrogate.restart()
        problem.attempts.extend(attempts)
    return x


# ----------------------------------------------------------------------------------------------
# starts that the user gives


def given(
    variables: list[cp.Variable], start: Mapping[cp.Variable, Any], *, whole: bool = False
) -> dict[int, Array]:
    """The arrays of a mapping, checked: of all variables or, unless it must be whole, of some."""
    for key in start:
        if not isinstance(key, cp.Variable):
            raise ValueError(
                f"the start's key {key!r} is not a cvxpy Variable: write start={{x: value}}"
            )
    values = {v.id: a for v, a in start.items()}
    known = [v for v in variables if v.id in values]
    missing = [v for v in variables if v.id not in values]
    if missing and (whole or not known):
        raise ValueError(f"the start has no value for variable {missing[0].name()!r}")
    return {
        v.id: numbers(values[v.id], v.shape, f"the start of variable {v.name()!r}") for v in known
    }


def numbers(value: Any, shape: tuple[int, ...], name: str) -> Array:
    """A finite array of the shape."""
    try:
        array = dense(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not made of real numbers: {value!r}") from None
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, not {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinity")
    return array


def known_values(variables: list[cp.Variable], start: Any) -> dict[int, Array] | None:
    """The values of variables that a mapping gives or the variables hold; None of an array."""
    if isinstance(start, Mapping):
        return given(variables, start)
    if not isinstance(start, str):
        return None
    known = {v: v.value for v in variables if v.value is not None}
    if variables and not known:
        raise ValueError(f"start='current', but variable {variables[0].name()!r} has no value")
    return given(variables, known)


def is_list(start: Any) -> bool:
    """True for a list of starts, False for one point written as a list of numbers."""
    several = isinstance(start, list | tuple) and len(start) > 0
    return several and not any(isinstance(one, Real | np.bool_) for one in start)


def kind_of(start: Any) -> str:
    """The name of a start's kind."""
    if isinstance(start, Candidate):
        return start.kind
    return start if isinstance(start, str) else "given"


# ----------------------------------------------------------------------------------------------

GENERIC = "cvxpy"  # the name of the path through cvxpy, whichever of its solvers


def task_of(
    problem: Any,
    solver: str | None = None,
    settings: Settings | None = None,
    options: Options = None,
) -> Task[Any]:
    """The task of a problem in real variables: a risk, one that it is, or as it is written.

    Parameters
    ----------
    problem : cvxpy.Problem or Spec
    solver : str, optional
        ``None`` or ``"auto"`` recognises risks.
    settings : Settings, optional
    options : mapping, optional
        Of a solver of cvxpy's that is named.

    Raises
    ------
    TypeError
        `problem` is not a problem.
    ValueError
        The options are none, or no solver of cvxpy's is named for them.
    """
    is_written = isinstance(problem, cp.Problem)
    named = None if solver in (*AUTOMATIC, GENERIC) else solver
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"solver_options={options!r}: a mapping from names to values is needed")
    if options and not (is_written and isinstance(named, str) and named.upper() != "ARROW"):
        raise ValueError(
            "solver_options are one solver's: name one of cvxpy's, such as solver='CLARABEL'"
        )
    if is_written:
        found = recognised_risk(problem, solver)
        if found is not None:
            return RecognisedTask(problem, found, settings)
        return ProblemTask(problem, named, settings, options)
    if not (hasattr(problem, "surrogate") and hasattr(problem, "rows")):
        raise TypeError(
            f"a {type(problem).__name__} is not a problem: pass a cvxpy Problem, such as "
            "cp.Problem(cp.Minimize(expression), constraints), or a dcprog Risk"
        )
    return Task(problem, solver, settings)
