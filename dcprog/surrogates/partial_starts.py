"""Starts that some of the variables have, completed by the convex problem."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.surrogates.problem import ProblemSurrogate
from dcprog.surrogates.recognised.surrogate import RecognisedSurrogate

__all__ = ["completed"]

TOLERANCE = 1e-8
# The price of violations, over the usual: a start should meet what its given part allows it to.
FIRM = 1e3


def completed(
    surrogate: ProblemSurrogate | RecognisedSurrogate,
    known: Mapping[int, Array],
    time_limit: float | None = None,
) -> Array:
    """A point with those values of some variables, and for the others the best that go with them.

    An epigraph variable follows from what it bounds. Where all are given there is nothing to do;
    otherwise the others come from the convex start, and then from the majorant centred there,
    minimised with the given variables fixed.

    Parameters
    ----------
    surrogate : ProblemSurrogate or RecognisedSurrogate
    known : mapping of variable id to array
    time_limit : float, optional

    Raises
    ------
    SubproblemError
        The convex constraints contradict one another.
    """
    points = surrogate.points
    if all(v.id in known for v in points.variables):
        return points.pack(known)
    convex = surrogate.start("convex", np.random.default_rng(0), time_limit)
    x = points.pack({v.id: known.get(v.id, array) for v, array in points.unpack(convex)})
    return x if isinstance(surrogate, RecognisedSurrogate) else _fitted(surrogate, x, known)


def _fitted(surrogate: ProblemSurrogate, x: Array, known: Mapping[int, Array]) -> Array:
    """The variables that are not given, moved to where the majorant at x is least."""
    problem = surrogate.majorised
    surrogate.paying, surrogate.firmness = True, FIRM
    try:
        surrogate.begin(x)
        surrogate.tighten(x)
        mode = problem.modes.fix(problem.mode, known)
        for solver in problem.solvers(mode):
            try:
                found = problem.minimise(mode, TOLERANCE, solver)
            except SubproblemError as error:
                problem.note(solver, TOLERANCE, f"completing a start: {error}")
                continue
            exact = {v.id: known.get(v.id, array) for v, array in surrogate.points.unpack(found)}
            return surrogate.points.pack(exact)
    except (ValueError, ArithmeticError):  # outside the domain
        pass
    finally:
        attempts = surrogate.take_attempts()
        surrogate.restart()
        problem.attempts.extend(attempts)
    return x
