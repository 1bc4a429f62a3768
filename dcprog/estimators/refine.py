"""Refine the end point of a run: tidy it, and continue the run if the tidy point is lower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np

from dcprog.engine.history import History
from dcprog.engine.result import Result
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["refined"]

ROUNDS = 10
SPECK = 1e-9  # of the largest coefficient
CLOCKS = ("time", "solve_time")  # cumulative columns of a history


@np.errstate(all="ignore")
def refined(
    result: Result,
    risk: Risk,
    tidy: Callable[[Array], Array],
    resume: Callable[[Array, int], Result],
    *,
    tol: float,
    max_iter: int,
) -> Result:
    """The result of a run at its tidied end point, continued until both agree.

    Setting small coefficients to 0 may lower F by more than the tolerance. The run's certificate
    then does not hold at the tidy point, and the descent is resumed from there.

    Parameters
    ----------
    result : Result
        The result of a run that found a point.
    risk : Risk
        The function that it minimised.
    tidy : callable
        Maps θ to a point without specks, no worse than θ up to a small part of the tolerance.
    resume : callable
        Maps θ and a number of steps to the result of a run from θ with at most that many steps.
    tol : float
        The tolerance relative to the scale of F.
    max_iter : int
        The most steps of all runs together.

    Returns
    -------
    Result
        Its status and history are those of the joined runs; its value is the risk at its point.
    """
    assert result.x is not None
    x = result.x
    for _ in range(ROUNDS):
        theta = tidy(x)
        value = risk(theta)
        moved = replace(result, x=theta, value=value)
        slack = tol * max(result.scale, risk.magnitude(theta))
        if not risk(x) - value > slack or result.status in ("interrupted", "time_limit"):
            return moved
        left = max_iter - len(result.history)
        if left < 1:
            message = f"no criticality after {max_iter} steps"
            return replace(moved, status="max_iter", message=message, gap=np.inf)
        more = resume(theta, left)
        if more.x is None or not risk(more.x) <= value + slack:
            # the resumed run ends higher: the certificate holds at x and, for mere specks, at θ too
            largest = float(np.max(np.abs(x), initial=0.0))
            specks = np.max(np.abs(theta - x), initial=0.0) <= SPECK * largest
            return moved if specks else replace(result, value=risk(x))
        result = _joined(result, more, float(np.linalg.norm(theta - x)))
        x = more.x
    return replace(result, value=risk(x))


def _joined(first: Result, then: Result, step: float) -> Result:
    """The results of a run and of its continuation, joined into one."""
    history = _one_after_the_other(first.history, then.history, step)
    return replace(
        then,
        n_iter=len(history) - 1,
        history=history,
        starts=first.starts,
        solve_time=first.solve_time + then.solve_time,
        total_time=first.total_time + then.total_time,
        solver_steps=first.solver_steps + then.solver_steps,
    )


def _one_after_the_other(first: History, then: History, step: float) -> History:
    begun = len(first)
    columns = {}
    for name in (f.name for f in fields(History) if f.name != "attempts"):
        before, after = getattr(first, name), getattr(then, name).copy()
        if name == "step":
            after[0] = step
        elif name == "rise":
            after[0] = then.value[0] - first.value[-1]
        elif name in CLOCKS:
            after += before[-1]
        columns[name] = np.concatenate([before, after])
    later = tuple(replace(a, iteration=a.iteration + begun) for a in then.attempts)
    return History(**columns, attempts=(*first.attempts, *later))
