"""One problem and its options: from a start to a judged run, in any process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from cvxpy.lin_ops import lin_utils

from dcprog.engine.descent import descend
from dcprog.engine.history import History
from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import Result
from dcprog.engine.track import Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitStart
from dcprog.majorants.atoms import add, added
from dcprog.majorants.frozen_problem import check_data
from dcprog.moves.registry import MOVES, registered_moves
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.reductions.recentred import recentred
from dcprog.reductions.recognised.recognise import Recognised, recognised
from dcprog.reductions.recognised.surrogate import RecognisedSurrogate
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.solvers.registry import SOLVERS, registered
from dcprog.solving.given_starts import completed, current, given, kind_of, numbers
from dcprog.solving.outcome import Outcome
from dcprog.solving.rescue import checked, restored, solved_once
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS, registered_starts

__all__ = ["Spec", "Task", "keep"]

Options = Mapping[str, Any] | None

_KEPT: WeakKeyDictionary[cp.Problem, dict[tuple[str | None, str], ProblemSurrogate]]
_KEPT = WeakKeyDictionary()


def compiled(problem: cp.Problem, solver: str | None, options: Options = None) -> ProblemSurrogate:
    """The surrogate kept from the last solve with that solver and its options, or a new one.

    It is taken out while it is used: two threads never share one.
    """
    key = solver, repr(options)
    before = _KEPT.get(problem, {}).pop(key, None) if _is_name(solver) else None
    if before is not None:
        check_data(problem)
        if before.renew():
            return before
    return ProblemSurrogate(problem, solver, options=options)


def kept(
    problem: cp.Problem, solver: str | None, surrogate: ProblemSurrogate, options: Options = None
) -> None:
    """Keep a surrogate for the next solve."""
    _KEPT.setdefault(problem, {})[solver, repr(options)] = surrogate


def _is_name(solver: object) -> bool:
    return solver is None or isinstance(solver, str)


# ----------------------------------------------------------------------------------------------


class Spec(Protocol):
    """A declaration that makes its own surrogate, such as :class:`dcprog.Risk`."""

    rows: Any

    def surrogate(self, solver: str | None = None) -> Surrogate:
        """A fresh surrogate."""


# Names that let the class of the problem decide: whichever path, and cvxpy's.
AUTOMATIC = (None, "auto")
GENERIC = "cvxpy"

WITH_VARIABLES = ProblemSurrogate, RecognisedSurrogate


def keep(task: Task) -> None:
    """Keep what a task has compiled."""
    if isinstance(task.problem, cp.Problem) and task._compiled is not None:
        kept(task.problem, task._named, task._compiled, task.solver_options)
        task._compiled = None


class Task:
    """One problem and its options; every process that runs it builds its own surrogate."""

    def __init__(
        self,
        problem: cp.Problem | Spec,
        solver: str | None,
        settings: Settings,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.solver_options = solver_options
        self.settings = settings
        limit = settings.time_limit
        self.deadline = None if limit is None else time.time() + limit
        self._compiled: ProblemSurrogate | None = None
        self._recentred = False
        self._unused: Surrogate | None = None
        self.found = self._recognised()

    def __getstate__(self) -> dict[str, Any]:
        process = {"next_id": lin_utils.get_id(), "atoms": added(), "solvers": registered()}
        process |= {"starts": registered_starts(), "moves": registered_moves()}
        return self.__dict__ | {"_compiled": None, "_unused": None} | process

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
        """Refuse a bad problem; a risk's first run takes the surrogate that this has made."""
        made = self.surrogate()
        self._unused = made if isinstance(self.problem, Risk) else None

    def surrogate(self) -> Surrogate:
        """A surrogate that remembers nothing of other starts, so that their order is no matter.

        Raises
        ------
        TypeError, ValueError
            The problem is none, or cannot be majorised.
        """
        self._check_options()
        if self.found is not None:
            return RecognisedSurrogate(self.found)
        if isinstance(self.problem, cp.Problem):
            if self._compiled is None:
                self._compiled = compiled(self.problem, self._named, self.solver_options)
            self._compiled.restart()
            return self._compiled
        if isinstance(self.problem, Risk):
            return RiskSurrogate(self.problem, self.solver)
        if not (hasattr(self.problem, "surrogate") and hasattr(self.problem, "rows")):
            raise TypeError(
                f"a {type(self.problem).__name__} is not a problem: pass a cvxpy Problem, such as "
                "cp.Problem(cp.Minimize(expression), constraints), or a dcprog Risk"
            )
        return self.problem.surrogate(self.solver)

    def _check_options(self) -> None:
        options = self.solver_options
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(
                f"solver_options={options!r}: a mapping from names to values is needed"
            )
        if options and not (isinstance(self.problem, cp.Problem) and self._takes_options):
            raise ValueError(
                "solver_options are one solver's: name one of cvxpy's, such as solver='CLARABEL'"
            )

    @property
    def _takes_options(self) -> bool:
        return isinstance(self._named, str) and self._named.upper() != "ARROW"

    def _recognised(self) -> Recognised | None:
        """The risk that a cvxpy problem is, where no solver of cvxpy's is asked for."""
        if not isinstance(self.problem, cp.Problem) or self.solver not in AUTOMATIC:
            return None
        check_data(self.problem)
        return recognised(self.problem)

    @property
    def _named(self) -> str | None:
        """The solver of cvxpy's that is asked for."""
        return None if self.solver in (*AUTOMATIC, GENERIC) else self.solver

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def __call__(
        self, kind: Any, seed: np.random.SeedSequence, spare: bool = False
    ) -> Outcome | None:
        """The run from one start; None for a spare one that there is no time for."""
        if spare and self.left() == 0:
            return None  # the time went on the starts before
        surrogate, self._unused = self._unused or self.surrogate(), None
        before = surrogate.solve_time  # a surrogate may serve several starts
        rng = np.random.default_rng(seed)
        try:
            start = self._start(surrogate, kind, rng)
        except SubproblemError as error:
            if error.status == "infeasible" and not isinstance(surrogate, ProblemSurrogate):
                error = SubproblemError("failed", f"a risk has no constraints: {error}")
            run = _no_point(error, surrogate.sign)
            if run.status == "solver_failed" and self.left() == 0:
                run = replace(run, status="time_limit")
        else:
            outcome = self._from_afar(surrogate, start, kind, seed, before)
            if outcome is not None:
                return outcome
            run = self._run(surrogate, start, kind, rng)
        return self._outcome(surrogate, run, kind, before)

    def _from_afar(
        self,
        surrogate: Surrogate,
        start: Array,
        kind: Any,
        seed: np.random.SeedSequence,
        before: float,
    ) -> Outcome | None:
        """The run of the problem around a start far from 0, which is what its terms hide."""
        if not isinstance(surrogate, ProblemSurrogate) or surrogate.is_convex:
            return None
        own = isinstance(kind, str) and kind != "current"
        centre = surrogate.starts.middle if own else start
        if centre is None or self._recentred:
            return None
        around = recentred(self.problem, surrogate, centre, refine=own)
        if around is None:
            return None
        settings = replace(self.settings, callback=around.callback(self.settings.callback))
        task = Task(around.problem, self.solver, settings, self.solver_options)
        task.deadline, task._recentred = self.deadline, True
        try:
            outcome = task(kind if own else around.there(start), seed)
        except (NotMajorizable, UnfitStart):
            return None
        if outcome is None or outcome.run.x is None:
            return None
        x = around.back(outcome.values)
        return replace(
            outcome,
            kind=kind_of(kind),
            run=replace(outcome.run, x=x),
            values=surrogate.points.unpack(x),
            solve_time=outcome.solve_time + surrogate.solve_time - before,
        )

    def _outcome(self, surrogate: Surrogate, run: Run, kind: Any, before: float) -> Outcome:
        run = _with_attempts(run, surrogate)
        pairs = []
        if isinstance(surrogate, WITH_VARIABLES) and run.x is not None:
            pairs = surrogate.points.unpack(run.x)
        return Outcome(
            kind=kind_of(kind),
            run=run,
            values=[(variable, array.copy()) for variable, array in pairs],
            sign=surrogate.sign,
            mode=run.mode,
            feasible=run.x is None or surrogate.is_feasible(run.x),
            relative_violation=np.inf if run.x is None else surrogate.relative_violation(run.x),
            solver=run.solver or surrogate.solvers[0],
            solve_time=surrogate.solve_time - before,
            solver_steps=surrogate.solver_steps,
            dual=None if run.x is None else surrogate.dual(run.x),
            spec=surrogate.adapted if isinstance(surrogate, RiskSurrogate) else None,
        )

    def _run(self, surrogate: Surrogate, start: Array, kind: Any, rng: np.random.Generator) -> Run:
        """The run from a start, judged; where it misses a constraint, from restored points too."""
        if isinstance(kind, str) and kind == "convex" and surrogate.is_convex:
            once = solved_once(surrogate, start, self.settings)
            if once is not None:
                return once
        try:
            run = descend(surrogate, start, replace(self.settings, time_limit=self.left()))
        except UnfitStart as error:
            if not isinstance(kind, str | Candidate) or kind == "current":
                raise
            failure = SubproblemError("failed", f"the start is of no use: {error}")
            return _no_point(failure, surrogate.sign)
        run = checked(surrogate, run)
        if isinstance(surrogate, ProblemSurrogate):
            run = restored(surrogate, run, rng, self.settings, self.left)
        return run

    def _start(self, surrogate: Surrogate, kind: Any, rng: np.random.Generator) -> Array:
        if isinstance(kind, Candidate):
            return kind.x
        if isinstance(kind, Result):
            kind = kind.variables if kind.variables else kind.x
            if kind is None:
                raise ValueError("the result to resume from has no point")
        if isinstance(kind, str) and kind == "graduated" and kind not in surrogate.kinds:
            kind = "convex"
        if isinstance(kind, str) and kind in STARTS and kind not in surrogate.kinds:
            return self._first_point(surrogate, kind, rng)
        if isinstance(kind, str) and kind != "current":
            return surrogate.start(kind, rng, self.left())
        if isinstance(surrogate, WITH_VARIABLES):
            return self._given(surrogate, kind)
        if isinstance(kind, str | Mapping):
            raise ValueError("a Risk has no variables: start it from an array, θ, or from a Result")
        return numbers(kind, surrogate.start("random", rng).shape, "the start")

    def _first_point(self, surrogate: Surrogate, kind: str, rng: np.random.Generator) -> Array:
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
        convex = surrogate.start("convex", rng, self.left())
        budget = Budget(rng=rng, deadline=Deadline(self.left()), ended=[convex])
        for point in start.points(surrogate, budget):
            return point.x if isinstance(point, Candidate) else np.asarray(point, dtype=float)
        raise ValueError(f"start={kind!r} has no point for this problem")

    def _given(self, surrogate: ProblemSurrogate | RecognisedSurrogate, kind: Any) -> Array:
        """A start in terms of variables, where F has slopes."""
        points = surrogate.points
        if isinstance(kind, Mapping | str):
            mapping = kind if isinstance(kind, Mapping) else None
            known = (
                current(points.variables) if mapping is None else given(points.variables, mapping)
            )
            start = completed(surrogate, known, self.left())
        else:
            start = numbers(kind, (points.size,), "the start")
        if isinstance(surrogate, RecognisedSurrogate):
            return start
        return surrogate.starts.inside_domain(start)


def _no_point(error: SubproblemError, sign: float) -> Run:
    """The outcome of a start that could not be made."""
    status = "solver_failed" if error.status == "failed" else error.status
    nothing = {"infeasible": np.inf, "no_feasible_point": np.inf, "unbounded": -np.inf}
    value = sign * nothing.get(status, np.nan)
    return Run(None, value, np.inf, np.inf, status, str(error), History.empty())


def _with_attempts(run: Run, surrogate: Surrogate) -> Run:
    """The run, with the solver calls that failed on the way to its start."""
    attempts = (*surrogate.take_attempts(), *run.history.attempts)
    return replace(run, history=replace(run.history, attempts=attempts))
