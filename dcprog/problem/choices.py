"""The choices of the largest or least terms that a majorant makes at its centre, and others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import Array
from dcprog.majorants.rules.frame import Piece
from dcprog.majorants.tree import Values, nodes
from dcprog.problem.majorised_problem import MajorisedProblem

MOST = 1000  # entries of a choice; of more, too few of the pairs could be tried
OF_ONE = cp.sum_largest, cp.max, cp.min  # choices among the entries of one argument
OF_MANY = cp.maximum, cp.minimum  # choices among arguments, entry by entry
NONE = "it has no largest or least terms to choose"  # why a problem is refused


@dataclass(frozen=True)
class Choice:
    """Values of nodes with which a choice is made, and what that adds to the atom at x."""

    values: Mapping[cp.Expression, Array]
    cost: float


def choices(problem: MajorisedProblem) -> list[cp.Expression]:
    """The problem's atoms that choose, of which the majorant has the choice made at its centre.

    The parts max(x, 0) and min(x, 0) of which the rules make an odd power are none of them.
    """
    roots = [problem.problem.objective, *problem.problem.constraints]
    declared = {id(node) for root in roots for arg in root.args for node in nodes(arg)}
    found = dict[int, cp.Expression]()
    waiting = [f.piece for f in (problem.frame, *problem.constraints, *problem.context.frames)]
    while waiting:
        piece: Piece = waiting.pop()
        waiting += piece.children
        chooses = isinstance(piece.node, OF_ONE + OF_MANY) and id(piece.node) in declared
        if chooses and piece.rule.endswith("tangent"):
            found[id(piece.node)] = piece.node
    return list(found.values())


def other_choices(problem: MajorisedProblem, x: Array) -> Iterator[Choice]:
    """The choice at x, and those that differ from it in a pair."""
    yield Choice({}, 0.0)
    values = problem.at(x)
    for node in choices(problem):
        yield from (_of_one if isinstance(node, OF_ONE) else _of_many)(node, values)


def relocations(problem: MajorisedProblem, x: Array) -> Iterator[Choice]:
    """Choices in which a single term takes its piece of one position, all others do not.

    Of a sum of least distances to centres: a centre moves to a point, whose distance falls to 0.
    The cost is what the other terms lose at x, less the value of that term.
    """
    values = problem.at(x)
    terms = [node for node in choices(problem) if not isinstance(node, cp.sum_largest)]
    parts = [_pieces(node, values) for node in terms]
    if len({part.shape[1] for part in parts} - {1}) != 1 or not 1 < sum(map(len, parts)) <= MOST:
        return
    sizes, ends = np.concatenate(parts), np.cumsum([len(part) for part in parts])[:-1]
    least, aside = np.min(sizes, axis=1), 1.0 + 2.0 * np.ptp(sizes)
    many = [node for node in terms if isinstance(node, OF_MANY)]
    for position in range(sizes.shape[1]):
        if not all(_has_entries(node.args[position], node) for node in many):
            continue
        without = sizes.copy()
        without[:, position] += aside
        lost = np.min(without, axis=1) - least
        for term in range(len(sizes)):
            moved = without.copy()
            moved[term, position] = least[term] - aside
            assumed = dict[cp.Expression, Array]()
            for node, part in zip(terms, np.split(moved, ends), strict=True):
                assumed |= _of_pieces(node, part)
            yield Choice(assumed, float(np.sum(lost) - lost[term] - abs(least[term])))


def _pieces(node: Any, values: Values) -> Array:
    """The values of a node's pieces, a row for each of its entries, of which the least counts."""
    sign = 1.0 if isinstance(node, cp.min | cp.minimum) else -1.0
    if isinstance(node, OF_MANY):
        spread = (np.broadcast_to(values.array(arg), node.shape) for arg in node.args)
        return sign * np.stack([value.ravel(order="F") for value in spread], axis=1)
    array = values.array(node.args[0])
    if node.axis is None:
        return sign * array.reshape(1, -1, order="F")
    return sign * np.moveaxis(array, node.axis, -1).reshape(-1, array.shape[node.axis], order="F")


def _of_pieces(node: Any, pieces: Array) -> dict[cp.Expression, Array]:
    """Values of a node's arguments with these pieces; numbers stay."""
    sign = 1.0 if isinstance(node, cp.min | cp.minimum) else -1.0
    if isinstance(node, OF_MANY):
        columns = zip(node.args, sign * pieces.T, strict=True)
        return {a: c.reshape(a.shape, order="F") for a, c in columns if _has_entries(a, node)}
    (arg,) = node.args
    if node.axis is None:
        return {arg: sign * pieces.reshape(arg.shape, order="F")}
    axis = node.axis % arg.ndim
    rest = tuple(n for k, n in enumerate(arg.shape) if k != axis)
    return {arg: sign * np.moveaxis(pieces.reshape(*rest, -1, order="F"), -1, axis)}


def _has_entries(arg: cp.Expression, node: cp.Expression) -> bool:
    """True if each entry of the node has an entry of the argument to itself."""
    return arg.shape == node.shape and not arg.is_constant()


def random_choices(
    problem: MajorisedProblem, x: Array, rng: np.random.Generator
) -> Iterator[dict[cp.Expression, Array]]:
    """Random values of all nodes among which a choice is made, again and again.

    Where an argument is a number for all entries, the others are on either side of it.
    """
    values, levels = problem.at(x), dict[cp.Expression, float]()
    for node in choices(problem):
        level = sum(float(np.sum(values.array(arg))) for arg in node.args if arg.is_constant())
        levels |= {arg: level for arg in node.args if not arg.is_constant()}
    while True:
        yield {arg: level + rng.standard_normal(arg.shape) for arg, level in levels.items()}


def _of_one(node: cp.Expression, values: Values) -> Iterator[Choice]:
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
                yield Choice(swapped, float(sizes[i] - sizes[j]))


def _signed(one: float, other: float) -> Iterator[tuple[float, float]]:
    """The pair with sizes exchanged: a function of the size hides which sign is better."""
    yield from ((np.copysign(other, one), sign * abs(one)) for sign in (1.0, -1.0))


def _inner(arg: cp.Expression) -> cp.Expression:
    """The affine u of f(u), where f is a chain of functions of single entries."""
    node = arg
    while isinstance(node, Elementwise) and len(node.args) == 1:
        (node,) = node.args
    return node if node.is_affine() and node.shape == arg.shape else arg


def _of_many(node: cp.Expression, values: Values) -> Iterator[Choice]:
    """Choices in which, at one entry, the chosen argument and another one exchange their values.

    If one of them is a number for all entries, the other's value is reflected at it.
    """
    if node.size > MOST:
        return
    spread = (np.broadcast_to(values.array(arg), node.shape) for arg in node.args)
    stack = np.array([value.ravel(order="F") for value in spread])
    has_entries = [arg.shape == node.shape for arg in node.args]
    sign = -1.0 if isinstance(node, cp.minimum) else 1.0
    chosen = np.argmax(sign * stack, axis=0)
    for place, here in enumerate(chosen):
        for there in range(len(stack)):
            pair = [k for k in (here, there) if has_entries[k]]
            if there == here or not pair:
                continue
            both = stack[[here, there], place]
            moved = stack.copy()
            moved[[here, there], place] = both[::-1] if len(pair) == 2 else 2 * both[::-1] - both
            elsewhere = {node.args[k]: moved[k].reshape(node.shape, order="F") for k in pair}
            yield Choice(elsewhere, float(abs(both[1] - both[0])))
