"""Infinite slopes at the edge of a domain: where their tangents are taken, and what that costs."""

from __future__ import annotations

from dcprog.foundation.arrays import EDGE, Array
from dcprog.majorants.slopes import falls_at, starts_at_edge
from dcprog.majorants.tree import nodes
from dcprog.problem.majorised_problem import MajorisedProblem

__all__ = ["falls_off", "first_edge", "mismatch", "next_edge"]

# Where a slope is infinite (√u at 0), the tangent is taken that far inside the domain, first a
# fraction of the arguments' size and then less each step: with 1e-10 from the start, what is 0 in
# the convex start could never leave.
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6

# Where concave atoms fall to −∞; so many times the edge of their domain is there.
NEAR_BOTTOMLESS = 100.0


def first_edge(problem: MajorisedProblem, x: Array) -> float:
    """A tenth of the arguments' size, where some start at an infinite slope; before that step."""
    problem.points.load(x)
    values, widest = problem.context.values(), EDGE
    for node in problem.context.edges.values():
        if starts_at_edge(node, values, NEAR_EDGE):
            widest = FIRST_EDGE
    return widest / EDGE_DECAY


def next_edge(edge: float) -> float:
    """Closer to the domain's own edge."""
    closer = edge * EDGE_DECAY
    return closer if closer > 2 * EDGE else EDGE


def mismatch(problem: MajorisedProblem, x: Array) -> float:
    """How far F, carried on at infinite slopes, is from the user's objective."""
    if not problem.context.edges:
        return 0.0
    return abs(problem.objective(problem.at(x)) - problem.exact(x))


def falls_off(problem: MajorisedProblem, x: Array) -> bool:
    """True if x is at an edge of the domain towards which the objective falls to −∞."""
    problem.points.load(x)
    values = problem.context.values()
    inside = nodes(problem.frame.node)
    depth = NEAR_BOTTOMLESS * EDGE
    return any(falls_at(n, values, depth) for n in inside if id(n) in problem.context.edges)
