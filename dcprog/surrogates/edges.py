"""Infinite slopes at the edge of a domain: where their tangents are taken, and what that costs."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import EDGE, Array
from dcprog.majorants.tree import Values, nodes
from dcprog.surrogates.majorised_problem import MajorisedProblem

__all__ = ["falls_off", "first_edge", "mismatch", "next_edge"]

# Where a slope is infinite (√u at 0), the tangent is taken that far inside the domain, first a
# fraction of the arguments' size and then less each step: with 1e-10 from the start, what is 0 in
# the convex start could never leave.
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6
EDGE_AT_ZERO = {"Power", "PowerApprox", "GeoMean", "GeoMeanApprox", "Pnorm", "PnormApprox", "entr"}

# Where concave atoms fall to −∞; so many times the edge of their domain is there.
NEAR_BOTTOMLESS = 100.0
BOTTOMLESS_AT = {"log": 0.0, "log_det": 0.0, "log1p": -1.0}


def first_edge(problem: MajorisedProblem, x: Array) -> float:
    """A tenth of the arguments' size, where some start at an infinite slope; before that step."""
    problem.points.load(x)
    values, widest = problem.context.values(), EDGE
    for node in problem.context.edges.values():
        size = np.abs(values.array(node.args[0]))
        largest = float(np.max(size, initial=0.0))
        if type(node).__name__ in EDGE_AT_ZERO and np.min(size) <= NEAR_EDGE * largest:
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
    """Is x at an edge of the domain towards which the objective falls to −∞?"""
    problem.points.load(x)
    values = problem.context.values()
    inside = nodes(problem.frame.node)
    return any(_at_bottomless_edge(n, values) for n in inside if id(n) in problem.context.edges)


def _at_bottomless_edge(node: cp.Expression, values: Values) -> bool:
    """Is a logarithm's argument where its tangent has taken over?"""
    name = type(node).__name__
    if name not in BOTTOMLESS_AT:
        return False
    argument = values.array(node.args[0])
    if name == "log_det":
        argument = np.asarray(np.linalg.eigvalsh((argument + argument.T) / 2), dtype=float)
    least = np.min(argument, initial=np.inf)
    return bool(least - BOTTOMLESS_AT[name] <= NEAR_BOTTOMLESS * EDGE * values.size(node))
