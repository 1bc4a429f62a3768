"""Outcomes of runs whose point is outside the user's domain or misses constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dcprog.engine.descent import EVIDENCE, descend
from dcprog.engine.protocol import Surrogate
from dcprog.engine.track import History, Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import UnfitStart

if TYPE_CHECKING:
    from dcprog.problem.surrogate import ProblemSurrogate

__all__ = ["checked", "restored", "solved_once"]

ENDED = ("converged", "solver_failed", "max_iter")
# Where the library itself looks for a feasible point: random points that many units from 0.
RANDOM_SIZES = (1.0, 0.1, 10.0)
# Relative to the scale of F, what a point at the edge of a domain may differ by from one inside.
NEAR_ENOUGH = 1e-5
MISMATCH = 1e-2  # the same for the function with finite slopes that stands for F
# A run from a restored point under equations begins with a price that many times the usual one.
FIRMNESS = (10.0, 1000.0)


def solved_once(surrogate: Surrogate, x: Array, settings: Settings) -> Run | None:
    """A convex problem's only step, where a dual bound says that its start is its solution."""
    bound = surrogate.starts.bound()
    if bound == -np.inf:
        return None
    surrogate.begin(x)
    scale = surrogate.scale(x)
    gap = surrogate.value(x) - bound
    if not gap <= EVIDENCE * settings.tol * scale:
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


def checked(surrogate: Surrogate, run: Run) -> Run:
    """The run under a status, and at a point, that is true of the user's own function."""
    if run.x is None or not surrogate.domain.is_feasible(run.x):
        return run
    finite = surrogate.domain.is_finite(run.x)
    falls = surrogate.facts.sign * run.value == -np.inf
    if falls or (run.status in ENDED and surrogate.domain.falls_off(run.x)):
        return replace(
            run,
            value=-surrogate.facts.sign * np.inf,
            status="unbounded",
            message="the objective falls for ever towards the edge of its domain",
        )
    if not finite:
        return _moved_inside(surrogate, run)
    if run.status == "converged" and surrogate.domain.mismatch(run.x) > MISMATCH * run.scale:
        message = f"at the edge of the objective's domain its slope is infinite ({run.message})"
        return replace(run, status="solver_failed", message=message)
    return run


def _moved_inside(surrogate: Surrogate, run: Run) -> Run:
    """The run at a point a little further inside the domain."""
    assert run.x is not None
    near = surrogate.domain.cleared(run.x)
    if not (surrogate.domain.is_finite(near) and surrogate.domain.is_feasible(near)):
        near = surrogate.domain.inside(run.x)
    if not (surrogate.domain.is_finite(near) and surrogate.domain.is_feasible(near)):
        message = f"the point is outside the domain of the objective ({run.message})"
        return replace(run, status="solver_failed", message=message)
    value = surrogate.objective(near)
    violation = surrogate.domain.violation(near)
    history = run.history.ending(value, violation)
    moved = replace(run, x=near, value=value, violation=violation, history=history)
    if run.status != "converged" or abs(value - run.value) <= NEAR_ENOUGH * run.scale:
        return moved
    message = f"at the edge of the objective's domain the value is another one ({run.message})"
    return replace(moved, status="solver_failed", message=message)


def restored(
    surrogate: ProblemSurrogate,
    run: Run,
    rng: np.random.Generator,
    settings: Settings,
    left: Callable[[], float | None],
) -> Run:
    """The run, or if it misses a constraint, one from a feasible point that is looked for.

    Points from which the violation alone is minimised: where the run ended, beside it, and random
    ones of several sizes.
    """
    if run.status in ("interrupted", "time_limit", "max_iter"):
        return run
    if run.status == "solver_failed" and run.mode == "feasible":
        run = _paying(surrogate, run, settings, left)
    if _meets(surrogate, run):
        return run
    surrogate.starts.limit(left())
    if surrogate.domain.mode == "none":
        return _without_convex_point(surrogate, run)
    attempts = run.history.attempts
    for origin in _origins(surrogate, run, rng):
        if left() == 0:
            return replace(run, status="time_limit", message="the time limit is reached")
        try:
            found = _feasible_point(surrogate, origin, settings, left())
            again = None if found is None else _from_feasible(surrogate, found, settings, left)
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


def _paying(
    surrogate: ProblemSurrogate, run: Run, settings: Settings, left: Callable[[], float | None]
) -> Run:
    """A run that pays for violations, where majorised constraints leave no room for a step."""
    assert run.x is not None
    surrogate.paying = True
    try:
        other = descend(surrogate, run.x, replace(settings, time_limit=left()))
    finally:
        surrogate.paying = False
    other = checked(surrogate, other)
    worse = surrogate.facts.sign * (other.value - run.value) > 0 and other.status != "converged"
    return run if worse or not _meets(surrogate, other) else other


def _without_convex_point(surrogate: ProblemSurrogate, run: Run) -> Run:
    """The run under a status that tells whether its convex constraints can be met at all."""
    if run.status != "infeasible":
        return run
    if not surrogate.starts.is_proved_infeasible():
        return replace(run, status="no_feasible_point")
    return replace(run, value=surrogate.facts.sign * np.inf)


def _meets(surrogate: ProblemSurrogate, run: Run) -> bool:
    return run.x is not None and surrogate.domain.is_feasible(run.x)


def _origins(surrogate: ProblemSurrogate, run: Run, rng: np.random.Generator) -> Iterator[Array]:
    if run.x is not None:
        yield run.x
        yield surrogate.starts.shaken(run.x, rng, size=1.0)
    for size in RANDOM_SIZES:
        yield surrogate.starts.random(rng, size)


def _feasible_point(
    surrogate: ProblemSurrogate, origin: Array, settings: Settings, limit: float | None
) -> Array | None:
    """Where the violation alone ends at 0, from here."""
    surrogate.restoring = True
    try:
        quiet = replace(settings, time_limit=limit, callback=None, acceleration=None, verbose=False)
        run = descend(surrogate, origin, quiet)
    finally:
        surrogate.restoring = False
    return run.x if _meets(surrogate, run) else None


def _from_feasible(
    surrogate: ProblemSurrogate,
    start: Array,
    settings: Settings,
    left: Callable[[], float | None],
) -> Run | None:
    """A run from a feasible point that ends at one."""
    for firmness in FIRMNESS:
        surrogate.firmness = firmness
        try:
            run = descend(surrogate, start, replace(settings, time_limit=left()))
        finally:
            surrogate.firmness = 1.0
        run = checked(surrogate, run)
        if _meets(surrogate, run) or run.status == "unbounded":
            return run
        if surrogate.domain.mode == "feasible":
            return None
    return None
