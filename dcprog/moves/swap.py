"""Swap: a concave choice, of the largest or the least terms, is made otherwise where that pays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.majorants.rules.frame import Piece
from dcprog.majorants.tree import Values
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, OfProblem

SOLVES = 20  # majorants that are minimised, for each of the effort's flips
MOST = 1000  # entries of a choice; of more, too few of the pairs could be tried
# Relative to F's scale: the least fall, and the tolerance of the solves.
TINY = 1e-6
OF_ONE = cp.sum_largest, cp.max, cp.min  # choices among the entries of one argument
OF_MANY = cp.maximum, cp.minimum  # choices among arguments, entry by entry


@dataclass(frozen=True)
class Other:
    """Values of nodes with which a choice is made, and what that adds to the atom at x."""

    values: Mapping[cp.Expression, Array]
    cost: float


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
        return None if _choices(surrogate) else "it has no largest or least terms to choose"

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
    aim, solver = surrogate.value(x) - TINY * scale, surrogate.solvers[0]
    others = list(_others(surrogate, x))
    shuffled = [others[k] for k in budget.rng.permutation(len(others))]
    for tried, other in enumerate(sorted(shuffled, key=lambda other: other.cost)[:most]):
        if budget.deadline.left == 0:
            break
        try:
            point = surrogate.nearby.otherwise(x, other.values, TINY, solver, budget.deadline.left)
        except (SubproblemError, ValueError, ArithmeticError):
            continue
        if surrogate.value(point) < aim:
            return tried + 1, point
    return most, None


def _choices(surrogate: ProblemSurrogate) -> list[cp.Expression]:
    """The atoms that choose, and that the majorant replaces by the choice made at its centre."""
    problem, found = surrogate.majorised, dict[int, cp.Expression]()
    waiting = [f.piece for f in (problem.frame, *problem.constraints, *problem.context.frames)]
    while waiting:
        piece: Piece = waiting.pop()
        waiting += piece.children
        if piece.rule.endswith("tangent") and isinstance(piece.node, OF_ONE + OF_MANY):
            found[id(piece.node)] = piece.node
    return list(found.values())


def _others(surrogate: ProblemSurrogate, x: Array) -> Iterator[Other]:
    """The choice at x, and those that differ from it in a pair."""
    yield Other({}, 0.0)
    values = surrogate.majorised.at(x)
    for node in _choices(surrogate):
        yield from (_of_one if isinstance(node, OF_ONE) else _of_many)(node, values)


def _of_one(node: cp.Expression, values: Values) -> Iterator[Other]:
    """A chosen entry and another one change their places."""
    (arg,) = node.args
    if not node.is_scalar() or not 1 < arg.size <= MOST:
        return
    sizes = values.array(arg).ravel(order="F")
    sizes = -sizes if isinstance(node, cp.min) else sizes
    count = int(np.ceil(node.k)) if isinstance(node, cp.sum_largest) else 1
    order = np.argsort(-sizes, kind="stable")
    inner = _inner(arg)
    u = values.array(inner).ravel(order="F")
    for i in order[:count]:
        for j in order[count:]:
            for pair in {(u[j], u[i])} if inner is arg else _signed(u[i], u[j]):
                moved = u.copy()
                moved[[i, j]] = pair
                swapped = {inner: moved.reshape(inner.shape, order="F")}
                yield Other(swapped, float(sizes[i] - sizes[j]))


def _signed(one: float, other: float) -> Iterator[tuple[float, float]]:
    """The pair with sizes exchanged: a function of the size hides which sign is better."""
    yield from ((np.copysign(other, one), sign * abs(one)) for sign in (1.0, -1.0))


def _inner(arg: cp.Expression) -> cp.Expression:
    """The affine u of f(u), where f is a chain of functions of single entries."""
    node = arg
    while isinstance(node, Elementwise) and len(node.args) == 1:
        (node,) = node.args
    return node if node.is_affine() and node.shape == arg.shape else arg


def _of_many(node: cp.Expression, values: Values) -> Iterator[Other]:
    """At one entry the chosen argument and another one exchange their values."""
    if node.size > MOST or any(arg.shape != node.shape for arg in node.args):
        return
    stack = np.array([values.array(arg).ravel(order="F") for arg in node.args])
    sign = -1.0 if isinstance(node, cp.minimum) else 1.0
    chosen = np.argmax(sign * stack, axis=0)
    for place, here in enumerate(chosen):
        for there in range(len(stack)):
            if there == here:
                continue
            moved = stack.copy()
            moved[[here, there], place] = stack[[there, here], place]
            exchanged = {
                node.args[k]: moved[k].reshape(node.shape, order="F") for k in (here, there)
            }
            yield Other(exchanged, float(abs(stack[here, place] - stack[there, place])))
