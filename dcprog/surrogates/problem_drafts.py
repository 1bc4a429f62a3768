"""Drafts of a cvxpy problem: short, loose runs from starts of several kinds, the best run on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcprog.engine.descent import descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.racing import Draft
from dcprog.engine.track import Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitStart
from dcprog.surrogates.problem_starts import Starts

__all__ = ["drafts"]


@dataclass(frozen=True)
class Effort:
    """Kinds of starts, and heats: how many take part in one and by how many steps.

    ``beside`` is a point beside the one that the first run has ended at.
    """

    kinds: tuple[str, ...]
    heats: tuple[tuple[int, int], ...]


EFFORTS = {
    "default": Effort(("graduated", "soft", "beside", *("random",) * 6), ((9, 2), (4, 2), (2, 4))),
    "high": Effort(
        ("graduated", "soft", *("half", "beside", "random") * 6), ((20, 3), (8, 5), (6, 10))
    ),
}
LOOSE = 1e-4
FARTHEST, NEAREST = 1.0, 0.1  # units, of points beside another one
# Two points closer than that, in units, are one.
SAME = 1e-2


@dataclass
class _Runner:
    kind: str
    x: Array
    rank: tuple[float, float] = (np.inf, np.inf)


def drafts(
    surrogate: Surrogate,
    starts: Starts,
    near: list[Array],
    effort: str,
    rng: np.random.Generator,
    time_limit: float | None = None,
) -> list[Draft]:
    """The points that the last heat has reached, best first.

    Those that meet the constraints come before all others, which are drafted only where there is
    no other one.

    Parameters
    ----------
    surrogate : Surrogate
    starts : Starts
        Its own.
    near : list of array
        Where runs have ended.
    effort : {"default", "high"}
    rng : numpy Generator
    time_limit : float, optional
        Seconds.

    Returns
    -------
    list of Draft
    """
    if surrogate.is_convex or not near or _is_at_the_floor(surrogate, near[0]):
        return []
    deadline, plan = Deadline(time_limit), EFFORTS[effort]
    runners = _starts(starts, plan.kinds, near[0], rng, deadline)
    for count, steps in plan.heats:
        runners = _distinct(surrogate, runners)[:count]
        for runner in runners:
            _run_on(surrogate, runner, steps, deadline)
        runners.sort(key=lambda runner: runner.rank)
    found = [r for r in _distinct(surrogate, runners) if not _is_known(surrogate, r.x, near)]
    return [Draft(r.kind, r.x, r.rank[1]) for r in found if r.rank[0] == 0]


def _starts(
    starts: Starts,
    kinds: tuple[str, ...],
    best: Array,
    rng: np.random.Generator,
    deadline: Deadline,
) -> list[_Runner]:
    runners = []
    for kind in kinds:
        if deadline.left == 0:
            break
        try:
            if kind == "beside":
                size = float(rng.uniform(NEAREST, FARTHEST))
                x = starts.shaken(best, rng, size)
            else:
                x = starts(kind, rng, deadline.left)
        except SubproblemError:
            continue
        runners.append(_Runner(kind, x))
    return runners


def _run_on(surrogate: Surrogate, runner: _Runner, steps: int, deadline: Deadline) -> None:
    """So many steps from where the runner is."""
    quiet = Settings(tol=LOOSE, max_iter=steps, time_limit=deadline.left, escape=False)
    try:
        run = descend(surrogate, runner.x, quiet)
    except UnfitStart:
        return
    if run.x is not None:
        runner.x, runner.rank = run.x, _rank(surrogate, run)


def _rank(surrogate: Surrogate, run: Run) -> tuple[float, float]:
    assert run.x is not None
    missed = 0.0 if surrogate.is_feasible(run.x) else surrogate.relative_violation(run.x)
    value = surrogate.sign * run.value
    return missed, value if np.isfinite(value) else np.inf


def _is_at_the_floor(surrogate: Surrogate, x: Array) -> bool:
    """True if F is at a known lower bound."""
    surrogate.begin(x)
    slack = LOOSE * max(surrogate.scale(x), surrogate.resolution)
    return surrogate.is_feasible(x) and surrogate.value(x) - surrogate.floor <= slack


def _distinct(surrogate: Surrogate, runners: list[_Runner]) -> list[_Runner]:
    chosen: list[_Runner] = []
    for runner in runners:
        if not _is_known(surrogate, runner.x, [other.x for other in chosen]):
            chosen.append(runner)
    return chosen


def _is_known(surrogate: Surrogate, x: Array, points: list[Array]) -> bool:
    units = surrogate.units(x)
    return any(float(np.max(np.abs(x - p) / units, initial=0.0)) <= SAME for p in points)
