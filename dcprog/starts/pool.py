"""The pool of a race: the points of all starts, improved in heats, the best ones first."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from dcprog.engine.descent import descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.track import Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import UnfitStart
from dcprog.foundation.tolerances import ONE_PLACE
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk_mm.starts import stepped
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.protocol import Budget, Candidate
from dcprog.starts.registry import STARTS

logger = logging.getLogger("dcprog")

STEPS = 2  # loose steps of the loop from a start of a risk before it is valued
LOOSE = 1e-4  # tolerance of a cvxpy problem's heats
# Factor of the first price of violations in heats: their runs are short, and at the usual price
# they would all go to the minimum of F and only begin to meet the constraints.
FIRM = 30.0


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
                warnings.warn(f"{name!r} {shapes}", UserWarning, stacklevel=2)
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
    surrogate.firmness, surrogate.hasty = FIRM, True
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
    """So many steps of the loop from where the runner is."""
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
    """True if F is at a known lower bound."""
    facts = surrogate.facts
    if not np.isfinite(facts.lower_bound):
        return False
    surrogate.begin(x)
    slack = LOOSE * max(surrogate.scale(x), facts.attainable)
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
