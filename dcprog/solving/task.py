"""One problem and its options: from a start to a judged run, in any process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from cvxpy.lin_ops import lin_utils
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from dcprog.engine.descent import descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import Result
from dcprog.engine.track import History, Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitStart
from dcprog.majorants.atoms import add, added
from dcprog.moves.registry import MOVES, registered_moves
from dcprog.reductions.recentred import Recentred
from dcprog.solvers.registry import SOLVERS, registered
from dcprog.solving.forms import Form, ProblemForm, form_of
from dcprog.solving.given_starts import kind_of
from dcprog.solving.outcome import Outcome
from dcprog.solving.rescue import checked, solved_once
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS, registered_starts

__all__ = ["Task", "run_all", "seeded"]


class Task:
    """One problem and its options; every process that runs it builds its own surrogate.

    Parameters
    ----------
    problem : cvxpy.Problem or Spec
        In real variables.
    solver : str or None
    settings : Settings
    solver_options : mapping, optional

    Attributes
    ----------
    form : Form
        The form in which the problem is solved.
    """

    def __init__(
        self,
        problem: Any,
        solver: str | None,
        settings: Settings,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.form: Form[Any] = form_of(problem, solver, solver_options)
        self.settings = settings
        limit = settings.time_limit
        self.deadline = None if limit is None else time.time() + limit
        self._unused: Surrogate | None = None

    def __getstate__(self) -> dict[str, Any]:
        process = {"next_id": lin_utils.get_id(), "atoms": added(), "solvers": registered()}
        process |= {"starts": registered_starts(), "moves": registered_moves()}
        return self.__dict__ | {"_unused": None} | process

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
        self._unused = self.form.surrogate()

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def __call__(
        self, kind: Any, seed: np.random.SeedSequence, spare: bool = False
    ) -> Outcome | None:
        """The run from one start; None for a spare one that there is no time for."""
        if spare and self.left() == 0:
            return None  # the time went on the starts before
        surrogate, self._unused = self._unused or self.form.surrogate(), None
        before = surrogate.record.solve_time  # a surrogate may serve several starts
        rng = np.random.default_rng(seed)
        try:
            start = self._start(surrogate, kind, rng)
        except SubproblemError as error:
            run = _no_point(error, surrogate.facts.sign)
            if run.status == "solver_failed" and self.left() == 0:
                run = replace(run, status="time_limit")
        else:
            around = self.form.around(surrogate, kind, start)
            outcome = around and self._from_afar(around, kind, start, seed)
            if outcome:
                spent = outcome.solve_time + surrogate.record.solve_time - before
                return replace(outcome, solve_time=spent)
            run = self._run(surrogate, start, kind, rng)
        return self._outcome(surrogate, run, kind, before)

    def _from_afar(
        self, around: Recentred, kind: Any, start: Array, seed: np.random.SeedSequence
    ) -> Outcome | None:
        """The run of the recentred problem, in the user's variables; None if it has no point."""
        settings = replace(self.settings, callback=around.callback(self.settings.callback))
        form, own = self.form, isinstance(kind, str) and kind != "current"
        assert isinstance(form, ProblemForm)
        task = copy(self)
        task.form, task.settings = form.recentred(around), settings
        try:
            outcome = task(kind if own else around.there(start), seed)
        except (NotMajorizable, UnfitStart):
            return None
        if outcome is None or outcome.run.x is None:
            return None
        x = around.back(outcome.values)
        run = replace(outcome.run, x=x)
        return replace(outcome, kind=kind_of(kind), run=run, values=form.values(x))

    def _outcome(self, surrogate: Surrogate, run: Run, kind: Any, before: float) -> Outcome:
        run, domain, record = _with_attempts(run, surrogate), surrogate.domain, surrogate.record
        outcome = Outcome(
            kind=kind_of(kind),
            run=run,
            values=[],
            sign=surrogate.facts.sign,
            mode=run.mode,
            solver=run.solver or surrogate.solvers[0],
            solve_time=record.solve_time - before,
            solver_steps=record.solver_steps,
            spec=self.form.adapted(surrogate),
        )
        if run.x is None:
            return replace(outcome, relative_violation=np.inf)
        return replace(
            outcome,
            values=self.form.values(run.x),
            feasible=domain.is_feasible(run.x),
            relative_violation=domain.relative_violation(run.x),
            dual=record.dual(run.x),
        )

    def _run(self, surrogate: Surrogate, start: Array, kind: Any, rng: np.random.Generator) -> Run:
        """The run from a start, judged; where it misses a constraint, from restored points too."""
        if isinstance(kind, str) and kind == "convex" and surrogate.facts.is_convex:
            once = solved_once(surrogate, start, self.settings)
            if once is not None:
                return once
        try:
            run = descend(surrogate, start, replace(self.settings, time_limit=self.left()))
        except UnfitStart as error:
            if not isinstance(kind, str | Candidate) or kind == "current":
                raise
            failure = SubproblemError("failed", f"the start is of no use: {error}")
            return _no_point(failure, surrogate.facts.sign)
        given, run = kind_of(kind) in ("given", "current"), checked(surrogate, run)
        return self.form.improved(surrogate, run, rng, self.settings, self.left, given)

    def _start(self, surrogate: Surrogate, kind: Any, rng: np.random.Generator) -> Array:
        if isinstance(kind, Candidate):
            return kind.x
        if isinstance(kind, Result):
            kind = kind.variables if kind.variables else kind.x
            if kind is None:
                raise ValueError("the result to resume from has no point")
        if isinstance(kind, str) and kind == "graduated" and kind not in surrogate.starts.kinds:
            kind = "convex"
        if isinstance(kind, str) and kind in STARTS and kind not in surrogate.starts.kinds:
            return self._first_point(surrogate, kind, rng)
        if isinstance(kind, str) and kind != "current":
            return surrogate.starts(kind, rng, self.left())
        return self.form.point(surrogate, kind, self.left())

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
        convex = surrogate.starts("convex", rng, self.left())
        budget = Budget(rng=rng, deadline=Deadline(self.left()), ended=[convex])
        for point in start.points(surrogate, budget):
            return point.x if isinstance(point, Candidate) else np.asarray(point, dtype=float)
        raise ValueError(f"start={kind!r} has no point for this problem")


def _no_point(error: SubproblemError, sign: float) -> Run:
    """The outcome of a start that could not be made."""
    status = "solver_failed" if error.status == "failed" else error.status
    nothing = {"infeasible": np.inf, "no_feasible_point": np.inf, "unbounded": -np.inf}
    value = sign * nothing.get(status, np.nan)
    return Run(None, value, np.inf, np.inf, status, str(error), History.empty())


def _with_attempts(run: Run, surrogate: Surrogate) -> Run:
    """The run, with the solver calls that failed on the way to its start."""
    attempts = (*surrogate.record.take_attempts(), *run.history.attempts)
    return replace(run, history=replace(run.history, attempts=attempts))


# ----------------------------------------------------------------------------------------------

Job = tuple[Any, np.random.SeedSequence]


def seeded(starts: list[Any], seed: np.random.SeedSequence) -> list[Job]:
    """Each start with a seed of its own, which no order of running changes."""
    return list(zip(starts, seed.spawn(len(starts)), strict=True))


def run_all(
    task: Task, jobs: list[Job], n_jobs: int | None, *, spare: bool = False
) -> list[Outcome]:
    """Outcomes of the starts; Ctrl-C, the deadline and a lost process keep those that are there.

    All but the first are spare, or all: what becomes of them is no error.
    """
    calls = [(*job, spare or bool(i)) for i, job in enumerate(jobs)]
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
        if not (outcomes or spare):
            raise
    return outcomes


def _try(task: Task, kind: Any, seed: np.random.SeedSequence, spare: bool) -> Outcome | None:
    """One start; what a later one raises is its own affair."""
    try:
        return task(kind, seed, spare)
    except Exception as error:
        if not spare:
            raise
        return lost(kind, f"{type(error).__name__}: {error}")


def lost(kind: Any, reason: str) -> Outcome:
    run = Run(None, np.nan, np.inf, np.inf, "solver_failed", reason, History.empty())
    return Outcome(kind_of(kind), run, [], 1.0)


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
            yield lost(call[0], "its process was killed, most likely for want of memory")
