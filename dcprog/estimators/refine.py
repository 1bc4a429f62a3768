"""The point that a fit keeps: tidied up, and one that the loop ends at."""

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
CLOCKS = ("time", "solve_time")  # go on from where the first run ended


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
    """The result at a point that is tidy and a run's end at once.

    A speck set to 0 may lower F beyond tolerance: then what the run said of its point is not true
    of the tidy one, and the descent goes on from there.

    Parameters
    ----------
    result : Result
        With a point.
    risk : Risk
        What it minimises.
    tidy : callable
        θ without specks; no worse than θ up to a small part of the tolerance.
    resume : callable
        The result of a run from θ, of at most so many steps.
    tol : float
        Relative to the scale of F.
    max_iter : int
        Of all runs together.

    Returns
    -------
    Result
        Its point, value, status and history are of one and the same run; its value is the risk at
        its point.
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
            # lower than all that the loop can reach: what it said of x is true of x, and of specks
            largest = float(np.max(np.abs(x), initial=0.0))
            specks = np.max(np.abs(theta - x), initial=0.0) <= SPECK * largest
            return moved if specks else replace(result, value=risk(x))
        result = _joined(result, more, float(np.linalg.norm(theta - x)))
        x = more.x
    return replace(result, value=risk(x))


def _joined(first: Result, then: Result, step: float) -> Result:
    """A run and the one that went on from near its end, as one."""
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
