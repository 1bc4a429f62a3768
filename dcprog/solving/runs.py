"""The runs of one solve, one after the other or in processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from dcprog.engine.history import History
from dcprog.engine.track import Run
from dcprog.solving.given_starts import kind_of
from dcprog.solving.outcome import Outcome
from dcprog.solving.task import Task

__all__ = ["run_all", "seeded"]

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
