"""Runs from what exchanges find below the best run of a race."""

from __future__ import annotations

import logging

import numpy as np

from dcprog.engine.racing import Draft
from dcprog.surrogates.drafts import is_dear
from dcprog.surrogates.examination import settle
from dcprog.surrogates.outcome import Outcome
from dcprog.surrogates.risk import RiskSurrogate
from dcprog.surrogates.task import Task

__all__ = ["exchanged"]

logger = logging.getLogger("dcprog")

# So many flips are solved after a run, and so many runs may follow one another.
FLIPS = {"default": 2, "high": 24}
ROUNDS = {"default": 2, "high": 30}


def exchanged(
    task: Task, outcomes: list[Outcome], effort: str, seed: np.random.SeedSequence
) -> list[Outcome]:
    """Runs that begin where an exchange near the end of the best one so far is lower; often none.

    Parameters
    ----------
    task : Task
        Of a risk; nothing is exchanged in cvxpy problems.
    outcomes : list of Outcome
    effort : {"default", "high"}
    seed : SeedSequence

    Returns
    -------
    list of Outcome
    """
    best, found = min(outcomes, key=lambda o: o.rank), list[Outcome]()
    for _ in range(ROUNDS[effort]):
        draft = _draft(task, best, effort)
        outcome = None if draft is None else task(draft, seed, spare=True)
        if outcome is None:
            break
        found.append(outcome)
        if not outcome.rank < best.rank:
            break
        best = outcome
    return found


def _draft(task: Task, best: Outcome, effort: str) -> Draft | None:
    x, left = best.run.x, task.left()
    if x is None or best.run.status != "converged" or left == 0:
        return None
    surrogate = task.surrogate()
    if not isinstance(surrogate, RiskSurrogate) or is_dear(surrogate.declared, effort):
        return None
    try:
        settle(surrogate, x)
        point = surrogate.exchanged(x, FLIPS[effort], left)
    except Exception:  # the best run stands, whatever a user's loss does with odd points
        logger.debug("no exchange", exc_info=True)
        return None
    return None if point is None else Draft("exchange", point, surrogate.value(point))
