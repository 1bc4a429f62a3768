"""Swap: a concave choice, of the largest or the least terms, is made otherwise where that pays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import TOL
from dcprog.problem.choices import choices, other_choices
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, OfProblem

SOLVES = 20  # majorants that are minimised, for each of the effort's flips


class Swap(OfProblem):
    r"""A point that is lower than x, by the majorant of another choice.

    The concave −Σ of the k largest aᵢ(x) is at most −Σ_{i∈S} aᵢ(x) for **every** set S of k
    entries, and min(a, b) at most a and at most b. So the majorant of each choice is one, wherever
    it is taken; at x it is above F by what the choice costs, and its minimum may be far below.
    Choices that differ from the one at x in a pair are tried in the order of their costs; from the
    first lower point the search goes on.

    References
    ----------
    Hawkins (1994), The feasible solution algorithm for least trimmed squares regression, Comput.
    Stat. Data Anal. 17.
    """

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """Refuse problems without concave choices."""
        return (
            None if choices(surrogate.majorised) else "it has no largest or least terms to choose"
        )

    def points(self, surrogate: Surrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The lowest point found, if F is lower there."""
        assert isinstance(surrogate, ProblemSurrogate)
        left, lowest = SOLVES * budget.effort.flips, None
        with np.errstate(all="ignore"):
            while left > 0:
                tried, lower = _lower(surrogate, x if lowest is None else lowest, left, budget)
                if lower is None:
                    break
                left, lowest = left - tried, lower
        return [] if lowest is None else [lowest]


def _lower(
    surrogate: ProblemSurrogate, x: Array, most: int, budget: Budget
) -> tuple[int, Array | None]:
    """The number of choices that were tried, and the first point that is lower than x."""
    centre(surrogate, x)
    scale = surrogate.scale(x)
    aim, solver = surrogate.value(x) - TOL * scale, surrogate.solvers[0]
    others = list(other_choices(surrogate.majorised, x))
    shuffled = [others[k] for k in budget.rng.permutation(len(others))]
    for tried, other in enumerate(sorted(shuffled, key=lambda other: other.cost)[:most]):
        if budget.deadline.left == 0:
            break
        try:
            point = surrogate.nearby.otherwise(x, other.values, TOL, solver, budget.deadline.left)
        except (SubproblemError, ValueError, ArithmeticError):
            continue
        if surrogate.value(point) < aim:
            return tried + 1, point
    return most, None
