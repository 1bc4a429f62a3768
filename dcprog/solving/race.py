"""The race: one plain run, a pool of candidates, runs from the best of them, and moves."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import Optimum
from dcprog.engine.track import History, Run
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.moves.protocol import Move
from dcprog.moves.registry import MOVES
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.solving.given_starts import SIMPLE, is_list, kind_of
from dcprog.solving.outcome import ROUNDING, Outcome
from dcprog.solving.task import Task, run_all, seeded
from dcprog.starts.branch_and_bound import GAP as PROVED
from dcprog.starts.effort import EFFORTS, NAMES
from dcprog.starts.pool import pool, usable
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS

__all__ = ["Race", "in_turn", "optima", "planned", "race", "winner"]


def planned(start: Any, n_starts: Any, effort: str) -> list[Any] | Race:
    """The starts of the runs, or the race.

    A start that is named alone is all there is; of several, those after it are random halves and
    random points in turn. ``"auto"`` and a list of starts are raced.

    Raises
    ------
    ValueError
        An unknown start or effort.
    """
    if not isinstance(effort, str) or effort not in NAMES:
        raise ValueError(f"effort={effort!r}: choose one of {NAMES}")
    for one in start if is_list(start) else [start]:
        if isinstance(one, str) and one not in ("auto", *SIMPLE, *STARTS):
            names = tuple(dict.fromkeys(("auto", *SIMPLE, *STARTS)))
            choices = f"one of {names}, a mapping, an array, a Result or a list of those"
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

# Candidates above the lowest value so far by more than that share of F's scale are dropped; of more
# than a few coefficients by as many times more, for their candidates are less finely improved.
HOPELESS, SMALL = 2e-2, 10
# Two optima are one if they are as near as that, relative to their sizes, and as high.
SAME = 1e-3
NEAR = 1e-2  # a candidate that is no lower and as near to a run's end leads there
# Dropped candidates that the result lists.
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
        Candidates to run from; by default as the effort has it.
    """

    first: list[Any]
    effort: str
    finished: int | None = None


def race(task: Task, plan: Race, seed: np.random.SeedSequence, n_jobs: int | None) -> list[Outcome]:
    """The outcomes of all starts and moves, those that were dropped among them.

    The plain run comes first and is never dropped, so that no result is above it. What it left of
    the objective (a cap set by its losses) is what the others minimise.
    """
    outcomes = run_all(task, seeded(plan.first, seed), n_jobs)
    if _is_over(task, outcomes):
        return outcomes
    task = _afresh(task, outcomes[0])
    best = min(outcomes, key=lambda o: o.rank)
    budget = Budget(
        EFFORTS[plan.effort],
        np.random.default_rng(seed),
        Deadline(task.left()),
        [o.run.x for o in outcomes if o.run.x is not None],
    )
    try:
        candidates = _candidates(task, budget)
    except KeyboardInterrupt:
        return [_interrupted(outcomes[0]), *outcomes[1:]]
    chosen, others = _chosen(candidates, best, plan)
    outcomes += run_all(task, seeded(chosen, seed), n_jobs, spare=True)
    if budget.proof:
        return [_proved(outcome, candidates, budget.proof) for outcome in outcomes]
    if plan.finished is not None:
        return outcomes
    try:
        outcomes += _moved(task, outcomes, budget, seed)
    except KeyboardInterrupt:
        outcomes[0] = _interrupted(outcomes[0])
    return outcomes + [_dropped(candidate, best) for candidate in others[:TOLD]]


def _proved(outcome: Outcome, candidates: list[Candidate], proof: str) -> Outcome:
    """A run that has stopped at a point that is proved to be optimal has converged."""
    run, least = outcome.run, min((one.value for one in candidates), default=-np.inf)
    ended = outcome.feasible and outcome.sign * run.value - least <= PROVED * run.scale
    if run.status not in ("solver_failed", "max_iter") or not ended:
        return outcome
    return replace(outcome, run=replace(run, status="converged", message=proof))


def in_turn(count: int) -> list[str]:
    """Starts where nothing better is known: random halves and random points."""
    return ["half" if i % 2 == 0 else "random" for i in range(count)]


def _candidates(task: Task, budget: Budget) -> list[Candidate]:
    """The pool of the starts, and points of cheap moves from the ends of runs, lowest first."""
    surrogate = task.form.surrogate()
    try:
        found = pool(surrogate, budget)
        for name, move in () if budget.proof else _moves(surrogate):
            if getattr(move, "is_cheap", False) and not surrogate.facts.is_convex:
                for x in budget.ended:
                    found += _moved_to(name, move, surrogate, x, budget)
        told = [replace(one, value=_told(surrogate, one)) for one in found]
    except Exception:  # the plain run stands, whatever a user's loss does with odd points
        logger.debug("no candidates", exc_info=True)
        return []
    return sorted(told, key=lambda one: one.value)


def _told(surrogate: Surrogate, one: Candidate) -> float:
    """The candidate's objective without its sign, and rounding that it may hide."""
    return one.value + surrogate.facts.constant + ROUNDING * surrogate.scale(one.x)


def _moved(
    task: Task, outcomes: list[Outcome], budget: Budget, seed: np.random.SeedSequence
) -> list[Outcome]:
    """Runs from the points that moves find below the best run's end, one after the other."""
    best, found = min(outcomes, key=lambda o: o.rank), list[Outcome]()
    for _ in range(budget.effort.rounds):
        for candidate in _lower_points(task, best, budget):
            outcome = task(candidate, seed, spare=True)
            if outcome is None:
                return found
            found.append(outcome)
            if outcome.rank < best.rank:
                best = outcome
                break
        else:
            return found
    return found


def _lower_points(task: Task, best: Outcome, budget: Budget) -> Iterator[Candidate]:
    """For each move the first of its points at which F is lower than at the best run's end."""
    x = best.run.x
    if x is None or best.run.status != "converged":
        return
    surrogate = task.form.surrogate()
    for name, move in _moves(surrogate):
        if task.left() == 0:
            return
        begun = surrogate.value(x)
        points = _moved_to(name, move, surrogate, x, budget)
        lower = next((one for one in points if one.value < begun), None)
        if lower is not None:
            yield lower
            surrogate = task.form.surrogate()  # the run may have moved the one before


def _moved_to(
    name: str, move: Move, surrogate: Surrogate, x: Array, budget: Budget
) -> Iterator[Candidate]:
    """The points of a move with their values."""
    points = partial(move.points, surrogate, x, budget)
    for point in usable(name, points, x.size, surrogate.value):
        if isinstance(point, Candidate):
            yield point


def _moves(surrogate: Surrogate) -> Iterator[tuple[str, Move]]:
    """The moves that take a problem, by name."""
    for name, move in MOVES.items():
        one = move()
        if isinstance(surrogate, RiskSurrogate | ProblemSurrogate) and one.takes(surrogate) is None:
            yield name, one


def _is_over(task: Task, outcomes: list[Outcome]) -> bool:
    """True if no other start is to be tried after the plain run."""
    plain = outcomes[0].run
    ended = plain.status in ("interrupted", "time_limit", "infeasible", "unbounded")
    return ended or plain.x is None or task.left() == 0


def _afresh(task: Task, plain: Outcome) -> Task:
    """A task with the plain run's caps and empty warm-start caches."""
    other = copy(task)
    other.form = task.form.afresh(plain.spec)
    return other


def _chosen(
    candidates: list[Candidate], best: Outcome, plan: Race
) -> tuple[list[Any], list[Candidate]]:
    """The candidates to run from, with halves and random points where too few; the others."""
    if plan.finished is not None:
        missing = max(plan.finished - len(candidates), 0)
        return [*candidates[: plan.finished], *in_turn(missing)], candidates[plan.finished :]
    assert best.run.x is not None
    leeway = HOPELESS * max(1.0, best.run.x.size / SMALL) * best.run.scale
    limit = best.sign * best.run.value + leeway if best.feasible else np.inf
    hopeful = [one for one in candidates if one.value <= limit and not _is_near(one, best)]
    chosen = hopeful[: EFFORTS[plan.effort].finished]
    return chosen, [one for one in candidates if one not in chosen]


def _is_near(candidate: Candidate, best: Outcome) -> bool:
    """True if the candidate leads to where the best run has ended."""
    run = best.run
    assert run.x is not None
    size = max(np.linalg.norm(run.x), np.linalg.norm(candidate.x))
    lower = candidate.value < best.sign * run.value - SAME * run.scale
    return bool(not lower and _distance(candidate.x, run.x) <= NEAR * size)


def _dropped(candidate: Candidate, like: Outcome) -> Outcome:
    value, nothing = like.sign * candidate.value, History.empty()
    run = Run(candidate.x, value, np.inf, 0.0, "dropped", "given up", nothing)
    return Outcome(kind_of(candidate), run, [], like.sign)


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
