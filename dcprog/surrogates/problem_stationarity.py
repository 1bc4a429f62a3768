"""Is a point of a cvxpy problem stationary: for the majorant there, and for those beside it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcprog.engine.stationarity import Stationarity, downhill_slope
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver

if TYPE_CHECKING:
    from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["descents", "stationarity"]

# Slopes that differ by more than JUMP of the largest between points BESIDE units apart are tied.
JUMP, BESIDE = 1e-2, 1e-5
# So many directions in which to stand beside the point, either way.
SIDES = 3
ACCURACY = 1e-11
# A proximal step shorter than that, in units, leads nowhere.
STEEP = 1e-4


def stationarity(
    surrogate: ProblemSurrogate, x: Array, time_limit: float | None = None
) -> Stationarity:
    """The residual at x of the majorant there, and what majorants centred beside x find lower.

    The residual is the length of the proximal step, argmin_z M(z; x) + (scale/2)‖z − x‖² in units:
    the gradient of M's Moreau envelope.

    Parameters
    ----------
    surrogate : ProblemSurrogate
        Centred at x.
    x : array
    time_limit : float, optional
        Seconds.

    Returns
    -------
    Stationarity
        Not known under nonconvex equations, and where x misses a constraint: there only a price
        tells which directions are allowed.

    References
    ----------
    Davis, Drusvyatskiy (2019), Stochastic model-based minimization of weakly convex functions,
    SIAM J. Optim. 29.
    """
    if surrogate.mode == "penalty":
        return Stationarity()
    deadline = Deadline(time_limit)
    step = _proximal_step(surrogate, x, x, deadline)
    if step is None:
        return Stationarity()
    residual = float(np.linalg.norm(step / surrogate.units(x)))
    tied = _is_tied(surrogate, x)
    others = _steps_aside(surrogate, x, deadline) if tied else iter(())
    slopes = [_walk(surrogate, x, way)[1] for way in (step, *others)]
    return Stationarity(residual, min(slopes), not tied)


def descents(
    surrogate: ProblemSurrogate, x: Array, time_limit: float | None = None
) -> Iterator[Array]:
    """The lowest points on the way to the minimisers of majorants centred beside a tie at x."""
    if surrogate.mode == "penalty" or not _is_tied(surrogate, x):
        return
    for step in _steps_aside(surrogate, x, Deadline(time_limit)):
        point, slope = _walk(surrogate, x, step)
        if slope < 0:
            yield point


def _sides(surrogate: ProblemSurrogate, x: Array) -> Iterator[Array]:
    rng = np.random.default_rng(0)
    for _ in range(SIDES):
        aside = BESIDE * surrogate.units(x) * rng.standard_normal(x.size)
        yield from (x + aside, x - aside)


def _is_tied(surrogate: ProblemSurrogate, x: Array) -> bool:
    """Does a slope of the majorant change by a jump beside x?"""
    here = _slopes(surrogate, x, x)
    for beside in _sides(surrogate, x):
        try:
            there = _slopes(surrogate, beside, x)
        except ValueError:  # outside the domain
            continue
        for one, other in zip(here, there, strict=True):
            top = max(float(np.max(np.abs(one))), float(np.max(np.abs(other))))
            if np.any(np.abs(one - other) > JUMP * top):
                return True
    return False


def _steps_aside(surrogate: ProblemSurrogate, x: Array, deadline: Deadline) -> Iterator[Array]:
    for beside in _sides(surrogate, x):
        step = _proximal_step(surrogate, beside, x, deadline)
        if step is not None:
            yield step


def _slopes(surrogate: ProblemSurrogate, centre: Array, x: Array) -> list[Array]:
    """The majorant's Parameters, centred elsewhere; it is at x again after it."""
    at = surrogate.majorised.at
    try:
        surrogate.centre(at(centre))
        return surrogate.slopes
    finally:
        surrogate.centre(at(x))


def _proximal_step(
    surrogate: ProblemSurrogate, centre: Array, x: Array, deadline: Deadline
) -> Array | None:
    """argmin_z M(z; centre) + (scale/2)‖(z − x)/units‖² − x, None where no solver finds it."""
    problem, split = surrogate.majorised, surrogate.points.split
    stiffness = np.sqrt(surrogate.scale(x)) / surrogate.units(x)
    try:
        surrogate.centre(problem.at(centre))
        mode = problem.modes.pull(split(x), split(stiffness))
        for solver in problem.solvers(mode):
            if deadline.left == 0:
                return None
            try:
                return problem.minimise(mode, ACCURACY, solver, deadline.left) - x
            except (SubproblemError, UnfitSolver) as error:
                problem.note(solver, ACCURACY, f"near a point: {error}")
    except (ValueError, ArithmeticError):  # outside the domain
        return None
    finally:
        surrogate.centre(problem.at(x))
    return None


def _walk(surrogate: ProblemSurrogate, x: Array, step: Array) -> tuple[Array, float]:
    length = float(np.linalg.norm(step / surrogate.units(x)))
    if length <= STEEP:
        return x, 0.0
    return downhill_slope(surrogate.value, x, step / length, surrogate.scale(x))
