"""The race: one plain run, a pool of candidates, runs from the best of them, and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dcprog.engine.descent import descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import Optimum
from dcprog.engine.track import NOISE, Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import DataLost, UnfitStart, warn
from dcprog.foundation.parameters import check_choice, meant
from dcprog.foundation.progress_log import logger
from dcprog.foundation.tolerances import BESIDE, LOOSE, ONE_PLACE, TOL
from dcprog.moves.registry import MOVES, Move
from dcprog.problem.surrogate import FIRMNESS, ProblemSurrogate
from dcprog.risk.risk import Risk
from dcprog.risk_mm.averaged import is_tall
from dcprog.risk_mm.starts import stepped
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.solving.task import Task, is_list, kind_of
from dcprog.starts.branch_and_bound import GAP as PROVED
from dcprog.starts.effort import EFFORTS, NAMES
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS

SIMPLE = ("convex", "current", "graduated", "random")  # starts that are one point, made at once

# Candidates above the lowest value so far by more than HOPELESS of F's scale are dropped. With p
# coefficients, p above SMALL, the share is p/SMALL times as large: they are less finely improved.
HOPELESS, SMALL = 2e-2, 10
# Two optima are one if their points and their values differ by at most this share of their sizes.
SAME = 1e-3
# Dropped candidates that the result lists.
TOLD = 4


@dataclass(frozen=True)
class Plan:
    """The starts of a solve.

    Attributes
    ----------
    first : list
        Starts from which a run goes all the way, the plain one first.
    effort : {"default", "high"} or None
        Of the race that follows; None if there is none.
    finished : int, optional
        Candidates to run from; by default as the effort has it.
    """

    first: list[Any]
    effort: str | None = None
    finished: int | None = None


def planned(start: Any, n_starts: Any, effort: str) -> Plan:
    """The plan that the options of a solve ask for.

    A start that is named alone is all there is; of several, those after it are random halves and
    random points in turn. ``"auto"`` and a list of starts are raced.

    Raises
    ------
    ValueError
        An unknown start or effort.
    """
    check_choice("effort", effort, NAMES)
    names = tuple(dict.fromkeys(("auto", *SIMPLE, *STARTS)))
    first = list(start) if is_list(start) else [start]
    for one in first:
        if isinstance(one, str) and one not in names:
            raise ValueError(
                f"start={one!r}: {meant(one, names)} ('auto' keeps the best of many starts; a "
                "mapping, an array, a Result or a list of those will do, too)"
            )
    is_raced = is_list(start) or (isinstance(start, str) and start == "auto")
    first = ["convex" if isinstance(one, str) and one == "auto" else one for one in first]
    if not is_raced:
        more = 0 if n_starts == "auto" else int(n_starts) - 1
        is_random = isinstance(start, str) and start == "random"
        return Plan([*first, *(["random"] * more if is_random else in_turn(more))])
    if n_starts == "auto":
        is_plain = isinstance(first[0], str) and first[0] == "convex"
        if effort == "low":
            return Plan(["graduated"] if is_plain else first)
        return Plan(first, effort)
    more = int(n_starts) - len(first)
    return Plan(first, "default" if effort == "low" else effort, more) if more > 0 else Plan(first)


def in_turn(count: int) -> list[str]:
    """Starts where nothing better is known: random halves and random points."""
    return ["half" if i % 2 == 0 else "random" for i in range(count)]


# ----------------------------------------------------------------------------------------------


def race(
    task: Task[Any], plan: Plan, seed: np.random.SeedSequence, n_jobs: int | None
) -> list[Run]:
    """The runs from all starts and moves, those that were dropped among them.

    The plain run comes first and is never dropped, so that no result is above it. A cap that it has
    set by the losses stays: the others minimise the same objective. Of very many samples the plain
    run is the one from its draft, and is dropped where that is far above the best.
    """
    if _takes_drafts(task, plan):
        drafts, stopped = _drafts(task, plan, seed)
        if stopped is not None:
            return [_interrupted(_dropped(draft, 1.0), stopped) for draft in drafts]
        return _from_drafts(task, plan, drafts, seed, n_jobs)
    runs = run_all(task, seeded(plan.first, seed), n_jobs)
    if plan.effort is None or _is_over(task, runs[0]):
        return runs
    task = task.afresh(runs[0].spec)
    best = min(runs, key=lambda run: run.rank)
    budget = Budget(
        EFFORTS[plan.effort],
        np.random.default_rng(seed),
        Deadline(task.left()),
        [run.x for run in runs if run.x is not None],
    )
    try:
        candidates = _candidates(task, budget)
    except KeyboardInterrupt as stop:
        return [_interrupted(runs[0], stop), *runs[1:]]
    chosen = _chosen(candidates, best, plan)
    runs += run_all(task, seeded(chosen, seed), n_jobs, spare=True)
    if budget.proof:
        return [_proved(run, candidates, budget) for run in runs]
    if plan.finished is not None:
        return runs
    try:
        runs += _moved(task, runs, budget, seed)
    except KeyboardInterrupt as stop:
        runs[0] = _interrupted(runs[0], stop)
    others = [one for one in candidates if one not in chosen]
    return runs + [_dropped(candidate, best.sign) for candidate in others[:TOLD]]


def _proved(run: Run, candidates: list[Candidate], budget: Budget) -> Run:
    """A run that has stopped at a point below which none is proved to be has converged.

    A majorant lies above F, so that the gap of criticality is at most the distance to a bound of F.
    """
    least = min((one.value for one in candidates), default=-np.inf)
    ended = run.feasible and run.sign * run.value - least <= PROVED * run.scale
    stopped = run.status in ("solver_failed", "max_iter")
    if not (stopped and ended):
        return run
    gap = min(run.gap, max(run.sign * run.value - budget.bound, 0.0))
    return replace(run, status="converged", message=budget.proof, gap=gap)


def _candidates(task: Task[Any], budget: Budget) -> list[Candidate]:
    """The pool of the starts, and points of cheap moves from the ends of runs, lowest first."""
    surrogate = task.surrogate()
    try:
        found = pool(surrogate, budget)
        for name, move in () if budget.proof else _moves(surrogate):
            if getattr(move, "is_cheap", False) and not surrogate.facts.is_convex:
                for x in budget.ended:
                    found += _moved_to(name, move, surrogate, x, budget)
        told = [replace(one, value=_told(surrogate, one)) for one in found]
        for one in told if task.settings.verbose else ():
            value = surrogate.facts.sign * one.value
            logger.info("%-11.11s %22.9g  a point to begin at", one.kind, value)
    except Exception:  # the plain run stands, whatever a user's loss does with odd points
        logger.debug("no candidates", exc_info=True)
        return []
    return sorted(told, key=lambda one: one.value)


def _told(surrogate: Surrogate, one: Candidate) -> float:
    """The candidate's objective without its sign, and rounding that it may hide."""
    return one.value + surrogate.facts.constant + NOISE * surrogate.scale(one.x)


def _moved(
    task: Task[Any], runs: list[Run], budget: Budget, seed: np.random.SeedSequence
) -> list[Run]:
    """Runs from the points that moves find below the best run's end, one after the other."""
    best, found = min(runs, key=lambda run: run.rank), list[Run]()
    surrogate = None
    for _ in range(budget.effort.rounds):
        if best.x is None or best.status != "converged":
            return found
        surrogate = task.surrogate() if surrogate is None else surrogate
        for candidate in _lower_points(task, surrogate, best.x, budget):
            run = task(candidate, seed, spare=True, surrogate=surrogate)
            if run is None:
                return found
            found.append(run)
            if run.rank < best.rank:
                best = run
                break
        else:
            return found
    return found


def _lower_points(task: Task[Any], surrogate: Any, x: Array, budget: Budget) -> Iterator[Candidate]:
    """For each move the first of its points at which F is lower than at x.

    A run from the point takes the same surrogate, whose solvers remember multipliers near by.
    """
    for name, move in _moves(surrogate):
        if task.left() == 0:
            return
        surrogate.restart()
        begun = surrogate.value(x)
        points = _moved_to(name, move, surrogate, x, budget)
        lower = next((one for one in points if one.value < begun), None)
        if lower is not None:
            surrogate.restart()
            yield lower


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


def _is_over(task: Task[Any], plain: Run) -> bool:
    """True if no other start is to be tried after the plain run."""
    ended = plain.status in ("interrupted", "time_limit", "infeasible", "unbounded")
    return ended or plain.x is None or task.left() == 0


def _chosen(candidates: list[Candidate], best: Run, plan: Plan) -> list[Any]:
    """The candidates to run from, with halves and random points where too few."""
    if plan.finished is not None:
        return [*candidates, *in_turn(plan.finished - len(candidates))][: plan.finished]
    assert plan.effort is not None
    hopeful = [one for one in candidates if _is_hopeful(one, best)]
    return hopeful[: EFFORTS[plan.effort].finished]


def _is_hopeful(candidate: Candidate, best: Run, near: float = ONE_PLACE) -> bool:
    """True if the candidate is not far above the best run, and does not lead to its end."""
    assert best.x is not None
    leeway = HOPELESS * max(1.0, best.x.size / SMALL) * best.scale
    limit = best.sign * best.value + leeway if best.feasible else np.inf
    return candidate.value <= limit and not _is_near(candidate, best, near)


def _is_near(candidate: Candidate, best: Run, near: float) -> bool:
    """True if the candidate leads to where the best run has ended."""
    assert best.x is not None
    size = max(np.linalg.norm(best.x), np.linalg.norm(candidate.x))
    lower = candidate.value < best.sign * best.value - SAME * best.scale
    return bool(not lower and _distance(candidate.x, best.x) <= near * size)


def _dropped(candidate: Candidate, sign: float) -> Run:
    value = sign * candidate.value
    run = Run.without_steps(candidate.x, value, "dropped", "given up")
    return replace(run, kind=candidate.kind, sign=sign, violation=0.0)


def _interrupted(run: Run, stop: KeyboardInterrupt) -> Run:
    message = str(stop) or "stopped by Ctrl-C after the first run"
    return replace(run, status="interrupted", message=message)


# ----------------------------------------------------------------------------------------------
# drafts: ends of a race on a sample of very many samples

DRAWN, OF_EACH = 20_000, 100  # samples of a draft, and for each coefficient
SHARE = 0.25  # of the time left that drafts may take


def _takes_drafts(task: Task[Any], plan: Plan) -> bool:
    """True for the default race on a risk of very many samples that keeps its losses."""
    risk = task.problem
    if plan.effort != "default" or plan.finished is not None or not isinstance(risk, Risk):
        return False
    is_convex = risk.has_convex_losses and risk.penalty.is_convex
    return is_tall(risk) and not is_convex and risk.transform.rounds == 0


def _drafts(
    task: Task[Any], plan: Plan, seed: np.random.SeedSequence
) -> tuple[list[Candidate], KeyboardInterrupt | None]:
    """The ends of the plain run and of the best on a sample, lowest on all first; what stopped it.

    If the data are lost on the way, the value of an end is NaN.
    """
    risk = task.problem
    rng = np.random.default_rng(seed)
    n, p = risk.scores.X.shape[0], risk.rows.shape[1]
    drawn = np.sort(rng.choice(n, min(n, max(DRAWN, OF_EACH * p)), replace=False))
    left = task.left()
    rough = replace(
        task.settings,
        tol=max(task.settings.tol, LOOSE),
        time_limit=None if left is None else SHARE * left,
        callback=None,
        verbose=False,
    )
    few = Task[Any](risk.of_samples(drawn), task.solver, rough)
    runs = [run for run in race(few, plan, seed.spawn(1)[0], None) if run.status != "dropped"]
    ends = {run.kind: run.x for run in (winner(runs, rough.tol), runs[0]) if run.x is not None}
    found = []
    for kind, x in ends.items():
        value = np.nan
        with suppress(DataLost):
            value = risk(x)
        found.append(Candidate(kind, x, value))
    stops = (KeyboardInterrupt(run.message) for run in runs if run.status == "interrupted")
    return sorted(found, key=lambda one: one.value), next(stops, None)


def _settled(task: Task[Any], draft: Candidate) -> Candidate:
    """The draft moved on to where it is lowest, on all samples, without a step of the loop."""
    surrogate = task.surrogate()
    surrogate.begin(draft.x)
    left = task.left()
    x = surrogate.nearby.further(draft.x, None if left is None else SHARE * left)
    return replace(draft, x=x, value=surrogate.value(x))


def _from_drafts(
    task: Task[Any],
    plan: Plan,
    drafts: list[Candidate],
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> list[Run]:
    """Runs from the given starts, and from the drafts that are not far above them, lowest first.

    A draft is a point of its own: where time or data are gone before its run, it is the answer.
    """
    given = [one for one in plan.first if not isinstance(one, str)]
    runs, dropped = list[Run](), list[Run]()
    with suppress(DataLost):
        runs = run_all(task, seeded(given, seed), n_jobs) if given else []
    for draft in drafts:
        best = min(runs, key=lambda run: run.rank, default=None)
        try:
            if best is None or _is_worth_a_run(draft, best):
                draft = _settled(task, draft)
            if best is None or _is_worth_a_run(draft, best):
                run = task(draft, seed, spare=bool(runs))
                runs += [] if run is None else [run]
                continue
        except KeyboardInterrupt as stop:
            runs.append(_interrupted(_dropped(draft, 1.0), stop))
            continue
        dropped.append(_dropped(draft, 1.0))
    return runs + dropped


def _is_worth_a_run(draft: Candidate, best: Run) -> bool:
    """True if a run from the draft may end lower than the best one."""
    return best.status not in ("interrupted", "time_limit") and _is_hopeful(draft, best, BESIDE)


# ----------------------------------------------------------------------------------------------
# runs from several starts, in one process or in several

Job = tuple[Any, np.random.SeedSequence]


def seeded(starts: list[Any], seed: np.random.SeedSequence) -> list[Job]:
    """Each start with a seed of its own, which no order of running changes."""
    return list(zip(starts, seed.spawn(len(starts)), strict=True))


def run_all(
    task: Task[Any], jobs: list[Job], n_jobs: int | None, *, spare: bool = False
) -> list[Run]:
    """Runs from the starts; Ctrl-C, the deadline and a lost process keep those that are there.

    All but the first are spare, or all: an error of theirs is a failed run.
    """
    calls = [(*job, spare or bool(i)) for i, job in enumerate(jobs)]
    runs: list[Run] = []
    alone = n_jobs in (None, 1) or len(jobs) == 1
    stream = (_try(task, *call) for call in calls) if alone else _parallel(task, calls, n_jobs)
    try:
        for run in stream:
            if run is None:
                continue
            runs.append(run)
            if run.status == "interrupted" and alone:
                break
    except KeyboardInterrupt:
        if not (runs or spare):
            raise
    return runs


def _try(task: Task[Any], kind: Any, seed: np.random.SeedSequence, spare: bool) -> Run | None:
    """The run from one start, failed if a spare one raises."""
    try:
        return task(kind, seed, spare)
    except Exception as error:
        if not spare:
            raise
        return _lost(kind, f"{type(error).__name__}: {error}")


def _lost(kind: Any, reason: str) -> Run:
    run = Run.without_steps(None, np.nan, "solver_failed", reason)
    return replace(run, kind=kind_of(kind))


def _parallel(
    task: Task[Any], calls: list[tuple[Any, np.random.SeedSequence, bool]], n_jobs: int | None
) -> Iterator[Run | None]:
    """The runs of several processes.

    With a process its pool is lost: the runs that are left begin again, each in a pool of its own.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    task.forget()  # processes make surrogates of their own
    done = 0
    try:
        pool = Parallel(n_jobs=n_jobs, return_as="generator")
        for run in pool(delayed(_try)(task, *call) for call in calls):
            done += 1
            yield run
        return
    except TerminatedWorkerError:
        pass
    for call in calls[done:]:
        try:
            yield Parallel(n_jobs=2)([delayed(_try)(task, *call)])[0]
        except TerminatedWorkerError:
            yield _lost(call[0], "its process was killed, most likely for want of memory")


# ----------------------------------------------------------------------------------------------


def winner(runs: list[Run], tol: float) -> Run:
    """The best run; of runs that are as good within tol, the first."""
    best = min(runs, key=lambda run: run.rank)

    def is_as_good(other: Run) -> bool:
        *ends, value = other.rank
        least = best.rank[-1]
        # a constant counts in the value alone, the price of violations in a run's scale alone
        size = min(abs(least), best.scale, other.scale)
        even = value == least or value - least <= tol * size
        return ends == list(best.rank[:-1]) and even and other.status == best.status

    return next(run for run in runs if is_as_good(run))


def optima(runs: list[Run]) -> tuple[Optimum, ...]:
    """The distinct points at which runs have converged, best first."""
    ended = [run for run in runs if run.status == "converged" and run.x is not None]
    found: list[list[Run]] = []
    for run in sorted(ended, key=lambda run: run.rank):
        group = next((group for group in found if _is_same(group[0], run)), None)
        if group is None:
            found.append([run])
        else:
            group.append(run)
    return tuple(_optimum(group, found[0][0]) for group in found)


def _is_same(one: Run, other: Run) -> bool:
    assert one.x is not None
    assert other.x is not None
    size = max(np.linalg.norm(one.x), np.linalg.norm(other.x))
    near = _distance(one.x, other.x) <= SAME * size
    return bool(near and abs(one.value - other.value) <= SAME * max(one.scale, other.scale))


def _distance(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other))


def _optimum(group: list[Run], best: Run) -> Optimum:
    first = group[0]
    assert first.x is not None
    assert best.x is not None
    return Optimum(
        value=first.value,
        count=len(group),
        starts=tuple(run.kind for run in group),
        x=first.x,
        distance=_distance(first.x, best.x),
    )


# ----------------------------------------------------------------------------------------------


STEPS = 4  # loose steps of the loop from a start of a risk before it is valued


def pool(surrogate: Surrogate, budget: Budget) -> list[Candidate]:
    """The candidates of all starts; none of a convex problem.

    Those of a cvxpy problem meet its constraints.
    """
    if not isinstance(surrogate, RiskSurrogate | ProblemSurrogate) or not budget.ended:
        return []
    if surrogate.facts.is_convex or _is_at_the_bound(surrogate, budget.ended[0]):
        return []
    runners = list(_runners(surrogate, budget))
    if budget.proof:
        return budget.found
    if isinstance(surrogate, RiskSurrogate):
        found = [_stepped(surrogate, runner, budget) for runner in runners]
    else:
        found = _heats(surrogate, runners, budget)
    return budget.found + found


@dataclass
class _Runner:
    kind: str
    x: Array
    rank: tuple[float, float] = (np.inf, np.inf)  # the violation, and F


def _runners(surrogate: Surrogate, budget: Budget) -> Iterator[_Runner]:
    """The points to improve; candidates with a value are added to `budget.found` instead."""
    for name, start in STARTS.items():
        is_over = budget.agreed and budget.effort.name == "default"
        if budget.deadline.left == 0 or budget.proof or is_over:
            return
        one = start()
        if one.takes(surrogate) is not None:
            continue
        points = partial(one.points, surrogate, budget)
        for point in usable(name, points, budget.ended[0].size):
            if isinstance(point, Candidate):
                budget.found.append(point)
            else:
                yield _Runner(name, point)


def usable(
    name: str,
    points: Callable[[], Iterable[Array | Candidate]],
    size: int,
    value: Callable[[Array], float] | None = None,
) -> Iterator[Array | Candidate]:
    """The finite points of a start or move, until it fails; the runs before it stand.

    With a `value`, an array becomes a candidate. Warns of a point that is not a vector of the
    problem's size.
    """
    try:
        for point in points():
            x = np.asarray(point.x if isinstance(point, Candidate) else point, dtype=float)
            if x.shape != (size,):
                shapes = f"has given a point of shape {x.shape} where {(size,)} is needed"
                warn(f"{name!r} {shapes}", UserWarning)
            elif np.all(np.isfinite(x)):
                if isinstance(point, Candidate):
                    yield point
                else:
                    yield x if value is None else Candidate(name, x, value(x))
    except Exception:  # whatever a user's loss does with odd points
        logger.debug("%r has failed", name, exc_info=True)


def _stepped(surrogate: RiskSurrogate, runner: _Runner, budget: Budget) -> Candidate:
    """A risk's point after a few loose steps."""
    risk, x = surrogate.declared, runner.x
    with np.errstate(all="ignore"):
        if budget.deadline.left != 0:
            x = stepped(risk, x, surrogate.solver(budget.deadline), STEPS)
        return Candidate(runner.kind, x, risk(x))


def _heats(surrogate: ProblemSurrogate, runners: list[_Runner], budget: Budget) -> list[Candidate]:
    """The points that the last heat has reached, best first, none near a run's end."""
    surrogate.firmness, surrogate.hasty = FIRMNESS[1], True
    try:
        for count, steps in budget.effort.heats:
            runners = _distinct(surrogate, runners)[:count]
            for runner in runners:
                _run_on(surrogate, runner, steps, budget)
            runners.sort(key=lambda runner: runner.rank)
    finally:
        surrogate.firmness, surrogate.hasty = 1.0, False
    new = [r for r in _distinct(surrogate, runners) if not _is_known(surrogate, r.x, budget.ended)]
    return [Candidate(r.kind, r.x, r.rank[1]) for r in new if r.rank[0] == 0]


def _run_on(surrogate: Surrogate, runner: _Runner, steps: int, budget: Budget) -> None:
    """Move a runner on by some steps of the loop."""
    quiet = Settings(tol=LOOSE, max_iter=steps, time_limit=budget.deadline.left, escape=False)
    try:
        run = descend(surrogate, runner.x, quiet)
    except UnfitStart:
        return
    if run.x is not None:
        runner.x, runner.rank = run.x, _rank(surrogate, run)


def _rank(surrogate: Surrogate, run: Run) -> tuple[float, float]:
    assert run.x is not None
    missed = (
        0.0 if surrogate.domain.is_feasible(run.x) else surrogate.domain.relative_violation(run.x)
    )
    value = surrogate.facts.sign * run.value
    return missed, value if np.isfinite(value) else np.inf


def _is_at_the_bound(surrogate: Surrogate, x: Array) -> bool:
    """True if F is at a known lower bound, up to LOOSE of its size or what solvers resolve."""
    facts = surrogate.facts
    if not np.isfinite(facts.lower_bound):
        return False
    surrogate.begin(x)
    slack = max(LOOSE * surrogate.scale(x), TOL * facts.attainable)
    above = surrogate.value(x) - facts.lower_bound
    return surrogate.domain.is_feasible(x) and above <= slack


def _distinct(surrogate: Surrogate, runners: list[_Runner]) -> list[_Runner]:
    chosen: list[_Runner] = []
    for runner in runners:
        if not _is_known(surrogate, runner.x, [other.x for other in chosen]):
            chosen.append(runner)
    return chosen


def _is_known(surrogate: Surrogate, x: Array, points: list[Array]) -> bool:
    units = surrogate.units(x)
    return any(float(np.max(np.abs(x - p) / units, initial=0.0)) <= ONE_PLACE for p in points)
