"""The race of starts: one plain run, many drafts, and runs from the best of them."""

from __future__ import annotations

import logging
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcprog.engine.history import History
from dcprog.engine.racing import Draft, Racing
from dcprog.engine.result import Optimum
from dcprog.engine.track import Run
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk
from dcprog.surrogates.exchange_runs import exchanged
from dcprog.surrogates.given_starts import is_list, kind_of
from dcprog.surrogates.outcome import ROUNDING, Outcome
from dcprog.surrogates.runs import run_all, seeded
from dcprog.surrogates.task import Task

__all__ = ["EFFORTS", "Race", "in_turn", "optima", "planned", "race", "winner"]

STARTS = ("auto", "convex", "current", "graduated", "random")


def planned(start: Any, n_starts: Any, effort: str) -> list[Any] | Race:
    """The starts of the runs, or the race.

    A start that is named alone is all there is; of several, those after it are random halves and
    random points in turn. ``"auto"`` and a list of starts are raced.

    Raises
    ------
    ValueError
        An unknown start or effort.
    """
    if not isinstance(effort, str) or effort not in EFFORTS:
        raise ValueError(f"effort={effort!r}: choose one of {EFFORTS}")
    for one in start if is_list(start) else [start]:
        if isinstance(one, str) and one not in STARTS:
            choices = f"one of {STARTS}, a mapping, an array, a Result or a list of those"
            raise ValueError(f"start={one!r}: choose {choices}")
    automatic = isinstance(start, str) and start == "auto"
    if automatic or is_list(start):
        return _raced(["convex"] if automatic else list(start), n_starts, effort)
    count = 1 if n_starts == "auto" else int(n_starts)
    if isinstance(start, str) and start == "random":
        return ["random"] * count
    return [start, *in_turn(count - 1)]


def _raced(first: list[Any], n_starts: Any, effort: str) -> list[Any] | Race:
    first = ["convex" if isinstance(one, str) and one == "auto" else one for one in first]
    if n_starts == "auto":
        if effort == "low":
            return ["graduated"] if isinstance(first[0], str) and first[0] == "convex" else first
        return Race(first, effort)
    more = int(n_starts) - len(first)
    return Race(first, "default" if effort == "low" else effort, more) if more > 0 else first


# ----------------------------------------------------------------------------------------------

logger = logging.getLogger("dcprog")

EFFORTS = ("low", "default", "high")
# How many drafts are run from.
FINISHED = {"default": 1, "high": 6}
# Drafts above the lowest value so far by more than that share of F's scale are given up; of more
# coefficients than a few by as many times more, for they are drafted less finely.
HOPELESS, SMALL = 2e-2, 10
# Two optima are one if they are as near as that, relative to their sizes, and as high.
SAME = 1e-3
NEAR = 1e-2  # a draft that is no lower ends where the run has that it is as near to
# Dropped drafts that are told of.
TOLD = 4


@dataclass(frozen=True)
class Race:
    """Who runs.

    Attributes
    ----------
    first : list
        Starts from which a run goes all the way, the plain one first.
    effort : {"default", "high"}
    finished : int, optional
        Drafts to run from; by default as the effort has it.
    """

    first: list[Any]
    effort: str
    finished: int | None = None


def race(task: Task, plan: Race, seed: np.random.SeedSequence, n_jobs: int | None) -> list[Outcome]:
    """Outcomes of all starts, those that were dropped among them.

    The plain run comes first and is never dropped, so that no result is above it. What it left of
    the objective (a cap set by its losses) is what the others minimise.
    """
    outcomes = run_all(task, seeded(plan.first, seed), n_jobs)
    if _is_over(task, outcomes):
        return outcomes
    task = _settled(task, outcomes[0])
    best = min(outcomes, key=lambda o: o.rank)
    try:
        drafts = _drafts(task, outcomes, plan.effort, np.random.default_rng(seed))
    except KeyboardInterrupt:
        return [_interrupted(outcomes[0]), *outcomes[1:]]
    chosen, others = _chosen(drafts, best, plan)
    outcomes += run_all(task, seeded(chosen, seed), n_jobs, spare=True)
    if plan.finished is not None:
        return outcomes
    try:
        outcomes += exchanged(task, outcomes, plan.effort, seed)
    except KeyboardInterrupt:
        outcomes[0] = _interrupted(outcomes[0])
    dropped = others[:TOLD]
    return outcomes + [_dropped(draft, best) for draft in dropped]


def in_turn(count: int) -> list[str]:
    """Starts where nothing better is known: random halves and random points."""
    return ["half" if i % 2 == 0 else "random" for i in range(count)]


def _drafts(
    task: Task, outcomes: list[Outcome], effort: str, rng: np.random.Generator
) -> list[Draft]:
    surrogate = task.surrogate()
    if not isinstance(surrogate, Racing):
        return []
    near = [o.run.x for o in outcomes if o.run.x is not None]
    try:
        drafts = surrogate.drafts(near, effort, rng, task.left())
        drafts = [replace(d, value=d.value + ROUNDING * surrogate.scale(d.x)) for d in drafts]
        return sorted(drafts, key=lambda draft: draft.value)
    except Exception:  # the plain run stands, whatever a user's loss does with odd points
        logger.debug("no drafts", exc_info=True)
        return []


def _is_over(task: Task, outcomes: list[Outcome]) -> bool:
    """True if no other start is to be tried after the plain run."""
    plain = outcomes[0].run
    ended = plain.status in ("interrupted", "time_limit", "infeasible", "unbounded")
    return ended or plain.x is None or task.left() == 0


def _settled(task: Task, plain: Outcome) -> Task:
    """The task of what the plain run minimised at last, with rows that remember nothing of it."""
    problem = task.problem if plain.spec is None else plain.spec
    if task.found is not None:
        other = copy(task)
        other.found = replace(task.found, risk=_afresh(task.found.risk))
        return other
    if not isinstance(problem, Risk):
        return task
    other = Task(_afresh(problem), task.solver, task.settings)
    other.deadline = task.deadline
    return other


def _afresh(risk: Risk) -> Risk:
    """The risk on new rows, with empty caches."""
    risk = copy(risk)
    risk.rows = copy(risk.rows)
    return risk


def _chosen(drafts: list[Draft], best: Outcome, plan: Race) -> tuple[list[Any], list[Draft]]:
    """The drafts to run from, with halves and random points where they are too few; the others."""
    if plan.finished is not None:
        missing = max(plan.finished - len(drafts), 0)
        return [*drafts[: plan.finished], *in_turn(missing)], drafts[plan.finished :]
    assert best.run.x is not None
    leeway = HOPELESS * max(1.0, best.run.x.size / SMALL) * best.run.scale
    limit = best.sign * best.run.value + leeway if best.feasible else np.inf
    hopeful = [draft for draft in drafts if draft.value <= limit and not _is_near(draft, best)]
    chosen = hopeful[: FINISHED[plan.effort]]
    return chosen, [draft for draft in drafts if draft not in chosen]


def _is_near(draft: Draft, best: Outcome) -> bool:
    """True if the draft leads to where the best run has ended."""
    run = best.run
    assert run.x is not None
    size = max(np.linalg.norm(run.x), np.linalg.norm(draft.x))
    lower = draft.value < best.sign * run.value - SAME * run.scale
    return bool(not lower and _distance(draft.x, run.x) <= NEAR * size)


def _dropped(draft: Draft, like: Outcome) -> Outcome:
    run = Run(draft.x, like.sign * draft.value, np.inf, 0.0, "dropped", "given up", History.empty())
    return Outcome(kind_of(draft), run, [], like.sign)


def _interrupted(outcome: Outcome) -> Outcome:
    run = replace(
        outcome.run, status="interrupted", message="stopped by Ctrl-C after the first run"
    )
    return replace(outcome, run=run)


# ----------------------------------------------------------------------------------------------


def winner(outcomes: list[Outcome], tol: float) -> Outcome:
    """The best run; of those that are as good up to what tol can tell, the first."""
    best = min(outcomes, key=lambda o: o.rank)

    def is_as_good(other: Outcome) -> bool:
        *ends, value = other.rank
        least = best.rank[-1]
        even = value == least or value - least <= tol * abs(least)
        return ends == list(best.rank[:-1]) and even and other.run.status == best.run.status

    return next(outcome for outcome in outcomes if is_as_good(outcome))


def optima(outcomes: list[Outcome]) -> tuple[Optimum, ...]:
    """The distinct points at which runs have converged, best first."""
    ended = [o for o in outcomes if o.run.status == "converged" and o.run.x is not None]
    found: list[list[Outcome]] = []
    for outcome in sorted(ended, key=lambda o: o.rank):
        same = (group for group in found if _is_same(group[0].run, outcome.run))
        group = next(same, None)
        if group is None:
            found.append([outcome])
        else:
            group.append(outcome)
    return tuple(_optimum(group, found[0][0]) for group in found)


def _is_same(one: Run, other: Run) -> bool:
    assert one.x is not None
    assert other.x is not None
    size = max(np.linalg.norm(one.x), np.linalg.norm(other.x))
    near = _distance(one.x, other.x) <= SAME * size
    return bool(near and abs(one.value - other.value) <= SAME * max(one.scale, other.scale))


def _distance(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other))


def _optimum(group: list[Outcome], best: Outcome) -> Optimum:
    first = group[0].run
    assert first.x is not None
    assert best.run.x is not None
    return Optimum(
        value=first.value,
        count=len(group),
        starts=tuple(o.kind for o in group),
        x=first.x,
        distance=_distance(first.x, best.run.x),
    )
