"""The end of a run on a cvxpy problem without the caps in its objective."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import cvxpy as cp
import numpy as np

from dcprog.engine.descent import descend
from dcprog.engine.track import Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitStart
from dcprog.foundation.tolerances import LOOSE, MAX_ITER
from dcprog.majorants.rules.frame import slope_sign
from dcprog.majorants.tree import rebuilt, spread_to
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, OfProblem


class Uncapped(OfProblem):
    """The end of a run on Σ eᵢ, where the problem's objective is Σ min(eᵢ, c).

    Far from a solution most terms are above their cap and have no slope there; without the caps
    all of them pull. The problem without caps need not be convex. A :class:`dcprog.Risk` needs no
    such start: its convex problem has no caps.
    """

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """Refuse problems without a cap."""
        problem = surrogate.majorised.problem
        return "its objective has no cap" if without_caps(problem) is problem else None

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array]:
        """The end of a run from the convex start of the problem without caps."""
        problem, points = without_caps(surrogate.majorised.problem), surrogate.points
        with suppress(NotMajorizable, SubproblemError, UnfitStart):
            other = surrogate.like(problem)
            begin = other.starts("convex", budget.rng, budget.deadline.left)
            quiet = Settings(LOOSE, MAX_ITER, budget.deadline.left, escape=False)
            with np.errstate(all="ignore"):
                end = descend(other, begin, quiet).x
            if end is not None:
                yield points.pack({v.id: array for v, array in other.points.unpack(end)})


def without_caps(problem: cp.Problem) -> cp.Problem:
    """The problem with e in place of each min(e, c) with a constant c that its objective adds.

    In a maximisation, max(e, c). It is the given object if there is none.

    Examples
    --------
    >>> x = cp.Variable(value=5.0)
    >>> capped = cp.Problem(cp.Minimize(x + cp.minimum(cp.square(x), 1)))
    >>> [float(problem.objective.value) for problem in (capped, without_caps(capped))]
    [6.0, 30.0]
    """
    objective = problem.objective
    sign = -1 if isinstance(objective, cp.Maximize) else 1
    root = _uncapped(objective.args[0], sign, {})
    if root is objective.args[0]:
        return problem
    return cp.Problem(type(objective)(root), problem.constraints)


def _uncapped(
    node: cp.Expression, sign: int, memo: dict[tuple[int, int], cp.Expression]
) -> cp.Expression:
    """A node without the caps in it that hold down sign·node."""
    if sign == 0 or not node.args or node.is_constant():
        return node
    key = id(node), sign
    if key not in memo:
        signs = [sign * slope_sign(node, place) for place in range(len(node.args))]
        args = [_uncapped(arg, s, memo) for arg, s in zip(node.args, signs, strict=True)]
        moving = [arg for arg in args if not arg.is_constant()]
        is_cap = isinstance(node, cp.minimum if sign > 0 else cp.maximum)
        if is_cap and len(moving) < len(args):
            left = moving[0] if len(moving) == 1 else type(node)(*moving)
            memo[key] = spread_to(left, node.shape)
        elif [*map(id, args)] == [*map(id, node.args)]:
            memo[key] = node
        else:
            memo[key] = rebuilt(node, args)
    return memo[key]
