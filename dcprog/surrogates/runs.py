"""The runs of one solve: from each start a descent, and what becomes of it; in processes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from cvxpy.lin_ops import lin_utils
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from dcprog.engine.descent import Run, Settings, descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import History, Result
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import SubproblemError
from dcprog.majorants.frozen_problem import check_data
from dcprog.risk.risk import Risk
from dcprog.solvers.registry import SOLVERS, registered
from dcprog.surrogates.problem import ProblemSurrogate
from dcprog.surrogates.rescue import checked, restored, solved_once
from dcprog.surrogates.risk import RiskSurrogate

__all__ = ["Outcome", "Spec", "Task", "keep", "run_all"]


class Spec(Protocol):
    """A declaration that makes its own surrogate, such as :class:`dcprog.Risk`."""

    rows: Any

    def surrogate(self, solver: str | None = None) -> Surrogate:
        """A fresh surrogate."""


# What was compiled for a problem serves its next solve.
_KEPT: WeakKeyDictionary[cp.Problem, dict[str | None, ProblemSurrogate]] = WeakKeyDictionary()


def compiled(problem: cp.Problem, solver: str | None) -> ProblemSurrogate:
    """The surrogate kept from the last solve with that solver, or a new one.

    It is taken out while it is used: two threads never share one.
    """
    kept = _KEPT.get(problem, {}).pop(solver, None) if _is_name(solver) else None
    if kept is not None:
        check_data(problem)
        if kept.renew():
            return kept
    return ProblemSurrogate(problem, solver)


def keep(task: Task) -> None:
    """Keep what a task has compiled."""
    if isinstance(task.problem, cp.Problem) and task._compiled is not None:
        _KEPT.setdefault(task.problem, {})[task.solver] = task._compiled
        task._compiled = None


def _is_name(solver: object) -> bool:
    return solver is None or isinstance(solver, str)


@dataclass(frozen=True)
class Outcome:
    """A run and what its surrogate says of it."""

    kind: str
    run: Run
    values: list[tuple[cp.Variable, Array]]
    sign: float
    mode: str = "none"
    feasible: bool = True
    relative_violation: float = 0.0
    solver: str = ""
    solve_time: float = 0.0
    solver_steps: int = 0
    dual: Array | None = None

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sorts a run that found something first, then a feasible one, then the lower value."""
        unbounded = self.run.status == "unbounded"
        value = -np.inf if unbounded else self.sign * self.run.value
        return (
            self.run.x is None and not unbounded,
            0.0 if self.feasible else self.run.violation,
            value if not np.isnan(value) else np.inf,
        )


class Task:
    """One problem and its options; every process that runs it builds its own surrogate."""

    def __init__(self, problem: cp.Problem | Spec, solver: str | None, settings: Settings) -> None:
        self.problem = problem
        self.solver = solver
        self.settings = settings
        limit = settings.time_limit
        self.deadline = None if limit is None else time.time() + limit
        self._compiled: ProblemSurrogate | None = None

    def __getstate__(self) -> dict[str, Any]:
        more = {"_compiled": None, "next_id": lin_utils.get_id(), "registered": registered()}
        return self.__dict__ | more

    def __setstate__(self, state: dict[str, Any]) -> None:
        # cvxpy numbers variables by a counter a process: those that the majorant adds here must
        # not take the numbers of the user's, which were made elsewhere
        counter = lin_utils.ID_COUNTER
        counter.count = max(counter.count, state.pop("next_id"))
        SOLVERS.update(state.pop("registered"))
        self.__dict__.update(state)

    def surrogate(self) -> Any:
        """A surrogate that remembers nothing of other starts, so that their order is no matter.

        Raises
        ------
        TypeError, ValueError
            The problem is none, or cannot be majorised.
        """
        if isinstance(self.problem, cp.Problem):
            if self._compiled is None:
                self._compiled = compiled(self.problem, self.solver)
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

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def __call__(
        self, kind: Any, seed: np.random.SeedSequence, spare: bool = False
    ) -> Outcome | None:
        """The run from one start; None for a spare one that there is no time for."""
        if spare and self.left() == 0:
            return None  # the time went on the starts before
        surrogate = self.surrogate()
        before = surrogate.solve_time  # a surrogate may serve several starts
        rng = np.random.default_rng(seed)
        try:
            start = self._start(surrogate, kind, rng)
        except SubproblemError as error:
            if error.status == "infeasible" and not isinstance(self.problem, cp.Problem):
                error = SubproblemError("failed", f"a risk has no constraints: {error}")
            run = _no_point(error, surrogate.sign)
            if run.status == "solver_failed" and self.left() == 0:
                run = replace(run, status="time_limit")
        else:
            run = self._run(surrogate, start, kind, rng)
        run = _with_attempts(run, surrogate)
        problem = isinstance(self.problem, cp.Problem)
        known = run.x is not None
        pairs = surrogate.unpack(run.x) if problem and known else []
        return Outcome(
            kind=kind if isinstance(kind, str) else "given",
            run=run,
            values=[(variable, array.copy()) for variable, array in pairs],
            sign=surrogate.sign,
            mode=run.mode,
            feasible=not known or surrogate.is_feasible(run.x),
            relative_violation=surrogate.relative_violation(run.x) if known else np.inf,
            solver=run.solver or surrogate.solvers[0],
            solve_time=surrogate.solve_time - before,
            solver_steps=surrogate.solver_steps,
            dual=surrogate.dual(run.x) if known else None,
        )

    def _run(self, surrogate: Any, start: Array, kind: Any, rng: np.random.Generator) -> Run:
        """The run from a start, judged; where it misses a constraint, from restored points too."""
        if isinstance(kind, str) and kind == "convex" and surrogate.is_convex:
            once = solved_once(surrogate, start, self.settings)
            if once is not None:
                return once
        try:
            run = descend(surrogate, start, replace(self.settings, time_limit=self.left()))
        except ValueError as error:
            if not isinstance(kind, str) or kind == "current":
                raise
            failure = SubproblemError("failed", f"the start is of no use: {error}")
            return _no_point(failure, surrogate.sign)
        run = checked(surrogate, run)
        if isinstance(self.problem, cp.Problem):
            run = restored(surrogate, run, rng, self.settings, self.left)
        return run

    def _start(self, surrogate: Any, kind: Any, rng: np.random.Generator) -> Array:
        has_variables = isinstance(self.problem, cp.Problem)
        if isinstance(kind, Result):
            kind = kind.variables if kind.variables else kind.x
            if kind is None:
                raise ValueError("the result to resume from has no point")
        named = isinstance(kind, Mapping) or (isinstance(kind, str) and kind == "current")
        if named and not has_variables:
            raise ValueError("a Risk has no variables: start it from an array, θ, or from a Result")
        if isinstance(kind, str) and kind != "current":
            return surrogate.start(kind, rng, self.left())
        if isinstance(kind, Mapping):
            given = surrogate.pack(_given(surrogate.variables, kind))
        elif isinstance(kind, str):
            given = surrogate.pack(_current(surrogate.variables))
        else:
            given = _numbers(kind, (surrogate.start("random", rng).size,), "the start")
        return surrogate.starts.inside_domain(given) if has_variables else given


def _given(variables: list[cp.Variable], start: Mapping[cp.Variable, Any]) -> dict[int, Array]:
    """The arrays of a mapping, checked."""
    for key in start:
        if not isinstance(key, cp.Variable):
            raise ValueError(f"the start's key {key!r} is not a cvxpy Variable")
    values = {v.id: a for v, a in start.items()}
    for variable in variables:
        if variable.id not in values:
            raise ValueError(f"the start has no value for variable {variable.name()!r}")
    return {
        v.id: _numbers(values[v.id], v.shape, f"the start of variable {v.name()!r}")
        for v in variables
    }


def _numbers(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """A finite array of the shape."""
    try:
        array = dense(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is not made of real numbers: {value!r}") from None
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}, not {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} contains NaN or infinity")
    return array


def _current(variables: list[cp.Variable]) -> dict[int, Array]:
    missing = [v.name() for v in variables if v.value is None]
    if missing:
        raise ValueError(f"start='current', but variable {missing[0]!r} has no value")
    return _given(variables, {v: v.value for v in variables})


def _no_point(error: SubproblemError, sign: float) -> Run:
    """The outcome of a start that could not be made."""
    status = "solver_failed" if error.status == "failed" else error.status
    nothing = {"infeasible": np.inf, "no_feasible_point": np.inf, "unbounded": -np.inf}
    value = sign * nothing.get(status, np.nan)
    return Run(None, value, np.inf, np.inf, status, str(error), History.empty())


def _with_attempts(run: Run, surrogate: Any) -> Run:
    """The run, with the solver calls that failed on the way to its start."""
    before = tuple(surrogate.start_attempts)
    if not before:
        return run
    surrogate.start_attempts = []
    attempts = (*before, *run.history.attempts)
    return replace(run, history=replace(run.history, attempts=attempts))


# ----------------------------------------------------------------------------------------------
# all starts

Job = tuple[Any, np.random.SeedSequence]


def run_all(task: Task, jobs: list[Job], n_jobs: int | None) -> list[Outcome]:
    """Outcomes of the starts; Ctrl-C, the deadline and a lost process keep those that are there."""
    calls = [(*job, bool(i)) for i, job in enumerate(jobs)]
    outcomes: list[Outcome] = []
    alone = n_jobs in (None, 1) or len(jobs) == 1
    stream = (_try(task, *call) for call in calls) if alone else _parallel(task, calls, n_jobs)
    try:
        for outcome in stream:
            if outcome is None:
                continue
            outcomes.append(outcome)
            if outcome.run.status == "interrupted" and alone:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
    return outcomes


def _try(task: Task, kind: Any, seed: np.random.SeedSequence, spare: bool) -> Outcome | None:
    """One start; what a later one raises is its own affair."""
    try:
        return task(kind, seed, spare)
    except Exception as error:
        if not spare:
            raise
        return _lost(kind, f"{type(error).__name__}: {error}")


def _lost(kind: Any, reason: str) -> Outcome:
    run = Run(None, np.nan, np.inf, np.inf, "solver_failed", reason, History.empty())
    return Outcome(kind if isinstance(kind, str) else "given", run, [], 1.0)


def _parallel(
    task: Task, calls: list[tuple[Any, np.random.SeedSequence, bool]], n_jobs: int | None
) -> Iterator[Outcome | None]:
    """By processes; those of a pool that one of them broke run again, each in a pool of its own."""
    done = 0
    try:
        pool = Parallel(n_jobs=n_jobs, return_as="generator")
        for outcome in pool(delayed(_try)(task, *call) for call in calls):
            done += 1
            yield outcome
        return
    except TerminatedWorkerError:
        pass
    for call in calls[done:]:
        try:
            yield Parallel(n_jobs=2)([delayed(_try)(task, *call)])[0]
        except TerminatedWorkerError:
            yield _lost(call[0], "its process was killed, most likely for want of memory")
