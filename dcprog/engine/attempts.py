"""A step's subproblem: solver after solver, and what of their answers is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.engine.probing import guarded
from dcprog.engine.state import FINEST, State
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver

__all__ = ["TIGHTER", "AllFailed", "minimise", "solve"]

TIGHTER = 1e-2  # times the first tolerance; where every solver stalls before that, tol itself


class AllFailed(Exception):
    """No solver's solution was accepted.

    Attributes
    ----------
    failures : list of (str, SubproblemError)
    shortfalls : dict of str to float
        How far above x the solutions are that solvers offered.
    """

    def __init__(
        self, failures: list[tuple[str, SubproblemError]], shortfalls: dict[str, float]
    ) -> None:
        super().__init__("every solver failed")
        self.failures = failures
        self.shortfalls = shortfalls


def minimise(state: State) -> tuple[Array, float]:
    """An acceptable minimiser of the majorant and its value; measures the gap of x.

    Raises
    ------
    AllFailed
    Stop
        The first solver fails where F is within tolerance of what it is known to be nowhere below.
    """
    failures: list[tuple[str, SubproblemError]] = []
    shortfalls: dict[str, float] = {}
    reached: tuple[Array, float] | None = None
    first = state.solvers[0]
    for number, (solver, tolerance) in enumerate(_in_order(state)):
        if solver != first:
            # near its floor F is what solvers leave of 0, and none gets lower but by chance
            state.check_floor(
                state.coarse, "the value is as low as any can be, as far as solvers resolve"
            )
        try:
            new = solve(state, solver, tolerance)
            new_value = _checked(state, new, solver, shortfalls)
        except SubproblemError as error:
            failures.append((solver, error))
            state.note(solver, tolerance, str(error))
            reached = _lower(state, error.point, reached)
            if reached is None:
                state.check_time("the time limit ended a subproblem")
            elif state.deadline.left == 0:
                break
            continue
        loose = number == 0 and tolerance > state.accuracy
        if loose and state.track.last.gap <= state.slack:
            continue  # so little is not to be told from what a loose solve leaves
        state.prefer(solver)
        state.was_loose = loose
        return new, new_value
    if reached is not None:
        state.was_loose = True
        return reached
    raise AllFailed(failures, shortfalls)


def _lower(
    state: State, point: Any, before: tuple[Array, float] | None
) -> tuple[Array, float] | None:
    """A failed solver's point with its value, if it is a descent step lower than `before`."""
    if point is None or not np.all(np.isfinite(point)) or not np.isfinite(state.value):
        return before
    value = guarded(state.surrogate.value, point)
    below = state.value - guarded(state.surrogate.majorant_value, point)
    if not (state.value - value > state.slack and below > state.slack):
        return before
    if before is not None and before[1] <= value:
        return before
    state.track.last.gap = below
    return point, value


def solve(state: State, solver: str, tolerance: float) -> Array:
    """One solver's minimiser; whatever it raises is a failure."""
    first = not state.solvers or solver == state.solvers[0]
    left = state.deadline.left if first else state.deadline.share
    try:
        return state.surrogate.minimise(state.x, tolerance, solver, left)
    except (SubproblemError, UnfitSolver):
        raise
    except Exception as error:
        raise SubproblemError("failed", f"{type(error).__name__}: {error}") from error


def _in_order(state: State) -> list[tuple[str, float]]:
    tolerance = state.accuracy
    first, *others = state.solvers
    attempts = [
        (first, state.loose),
        (first, tolerance),
        (first, max(tolerance * TIGHTER, FINEST)),
        *((solver, tolerance) for solver in others),
        *((solver, max(state.settings.tol, tolerance)) for solver in state.solvers),
    ]
    return list(dict.fromkeys(attempts))


def _checked(state: State, new: Array, solver: str, shortfalls: dict[str, float]) -> float:
    """Value at a candidate, which must minimise the majorant and not raise F."""
    if not np.all(np.isfinite(new)):
        raise SubproblemError("failed", "the solution is not finite")
    new_value = guarded(state.surrogate.value, new)
    if not np.isfinite(state.value):
        if not np.isfinite(new_value):
            raise SubproblemError("failed", "the solution violates a constraint")
        return new_value
    below = state.value - guarded(state.surrogate.majorant_value, new)
    for what, rise in (("majorant", -below), ("objective", new_value - state.value)):
        if not rise <= state.allowed:
            shortfalls[solver] = min(shortfalls.get(solver, np.inf), rise)
            raise SubproblemError("failed", f"the {what} rose by {rise:.3g}")
    state.track.last.gap = max(below, 0.0)
    return new_value
