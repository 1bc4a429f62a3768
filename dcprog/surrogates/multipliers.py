"""Multipliers of a problem's constraints: those of the majorised problem at a critical point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.majorants.tree import Values
from dcprog.surrogates.examination import settle
from dcprog.surrogates.split_constraints import Origin

if TYPE_CHECKING:
    from dcprog.surrogates.problem import ProblemSurrogate

__all__ = ["multipliers"]

TOLERANCE = 1e-9
# Prices of violations, over the usual: a multiplier that is that share of its price asks for more.
FIRMNESS = 1.0, 30.0, 1e3, 1e5
SPENT = 0.99


def multipliers(
    surrogate: ProblemSurrogate, x: Array, time_limit: float | None = None
) -> dict[int, Any]:
    """Multipliers of the majorised problem that is centred at x, by the constraints' ids.

    Majorants touch with the slope of what they majorise, so where x solves the majorised problem
    these are KKT multipliers of the problem itself. Signs and shapes are cvxpy's. An equality that
    was split in two has the difference of its sides' multipliers.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    x : array
        A point that meets the constraints. The variables are left elsewhere.
    time_limit : float, optional

    Returns
    -------
    dict of int to array
        Empty where no solver finds them.
    """
    deadline = Deadline(time_limit)
    if surrogate.is_convex:  # its own majorant, wherever it is centred
        try:
            return _found(surrogate, deadline) or {}
        except (SubproblemError, UnfitSolver):
            return {}
    for paying in (False, True):
        surrogate.restart()
        surrogate.paying = paying
        for firmness in FIRMNESS:
            surrogate.firmness = firmness
            try:
                settle(surrogate, x)
                found = _found(surrogate, deadline)
            except (SubproblemError, UnfitSolver, ValueError, ArithmeticError):
                break
            if found is not None:
                return found
    return {}


def _found(surrogate: ProblemSurrogate, deadline: Deadline) -> dict[int, Any] | None:
    """Of the user's constraints; None where a price is too low to tell."""
    problem = surrogate.majorised
    duals = problem.modes.portfolio(problem.mode).duals(TOLERANCE, deadline.left)
    majorised = [duals[c.id] for c in problem.modes.majorised[problem.mode]]
    if problem.penalised and any(
        np.max(dual) > SPENT * price
        for dual, price in zip(majorised, problem.modes.prices, strict=True)
    ):
        return None
    total: dict[int, Any] = {}

    def count(dual: Any, origin: Origin) -> None:
        factor = origin.factor
        scale = factor if isinstance(factor, float) else Values().array(factor)
        key = origin.constraint
        total[key] = total.get(key, 0.0) + origin.sign * scale * np.reshape(
            dual, np.shape(scale) or np.shape(dual), order="F"
        )

    for dual, origins in zip(majorised, problem.parts.origins, strict=True):
        entries = [dual] if len(origins) == 1 else np.ravel(dual)
        for entry, origin in zip(entries, origins, strict=True):
            count(entry, origin)
    for constraint in problem.parts.convex:
        if constraint.id in problem.parts.sides:
            count(duals[constraint.id], problem.parts.sides[constraint.id])
        elif constraint.id in duals:
            total[constraint.id] = duals[constraint.id]
    return total
