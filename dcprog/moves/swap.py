"""Swap: a concave choice, of the largest or least terms or of samples, is made otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import TOL
from dcprog.problem.choices import NONE, Choice, choices, other_choices, relocations
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.convex import is_crowded
from dcprog.starts.many_points import ManyPoints
from dcprog.starts.protocol import Budget

# Majorants that are minimised, for each of the effort's flips; of a cvxpy problem, IDLE of them
# without a lower point end the search: of 36 lower points the last was the 17th tried.
SOLVES, IDLE = 20, 10
MOST_SAMPLES = 40  # samples of a risk, at most: from 60 on swaps cost as much as the race before

Other = tuple[float, Callable[[], Array]]  # its cost at x, and the minimiser of its majorant


class Swap:
    r"""A point that is lower than x, by the majorant of another choice.

    The concave −Σ of the k largest aᵢ(x) is at most −Σ_{i∈S} aᵢ(x) for **every** set S of k
    entries, and min(a, b) at most a and at most b. So the majorant of each choice is one, wherever
    it is taken; at x it is above F by what the choice costs, and its minimum may be far below.
    Choices that differ from the one at x in a pair are tried in the order of their costs, and those
    in which one term alone takes its piece of one position, as a centre of clusters moves to a
    point; from the first lower point the search goes on.

    Of a risk the choices are its samples: a bounded concave φ(t) is at most φ(0) + φ'(0)t, which
    gives the sample its full weight, and at most sup φ, which gives it none. With few samples for
    its coefficients a point fits many of them exactly, far from the kinks at which slopes tie.

    References
    ----------
    Hawkins (1994), The feasible solution algorithm for least trimmed squares regression, Comput.
    Stat. Data Anal. 17; Fränti (2018), Efficiency of random swap clustering, J. Big Data 5.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """Problems with concave choices, and bounded losses of few samples a coefficient."""
        if isinstance(surrogate, ProblemSurrogate):
            return None if choices(surrogate.majorised) else NONE
        if isinstance(surrogate, RiskSurrogate):
            return _refusal(surrogate.declared)
        return "it is neither a cvxpy problem nor a risk"

    def points(self, surrogate: Surrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The lowest point found, if F is lower there."""
        assert isinstance(surrogate, ProblemSurrogate | RiskSurrogate)
        left, lowest = SOLVES * budget.effort.flips, None
        most = left if isinstance(surrogate, RiskSurrogate) else IDLE * budget.effort.flips
        with np.errstate(all="ignore"):
            while left > 0:
                begun = x if lowest is None else lowest
                tried, lower = _lower(surrogate, begun, min(left, most), budget)
                if lower is None:
                    break
                left, lowest = left - tried, lower
        return [] if lowest is None else [lowest]


def _refusal(risk: Risk) -> str | None:
    """Refuse samples without two weights, and risks whose majorants cost more than they gain."""
    phi = risk.transform
    if phi.is_joint or not np.isfinite([phi.limit, phi.steepest]).all():
        return "its samples have no weights 0 and full"
    if not ManyPoints.takes(risk):
        return "it is no risk of few coefficients"
    few = risk.n_groups <= MOST_SAMPLES and is_crowded(risk)
    return None if few else "it has many samples"


def _lower(
    surrogate: ProblemSurrogate | RiskSurrogate, x: Array, most: int, budget: Budget
) -> tuple[int, Array | None]:
    """The number of choices that were tried, and the first point that is lower than x."""
    centre(surrogate, x)
    aim = surrogate.value(x) - TOL * surrogate.scale(x)
    others = list(_others(surrogate, x, budget))
    shuffled = [others[k] for k in budget.rng.permutation(len(others))]
    for tried, (_, minimiser) in enumerate(sorted(shuffled, key=lambda other: other[0])[:most]):
        if budget.deadline.left == 0:
            break
        try:
            point = minimiser()
        except (SubproblemError, ValueError, ArithmeticError):
            continue
        if surrogate.value(point) < aim:
            return tried + 1, point
    return most, None


def _others(
    surrogate: ProblemSurrogate | RiskSurrogate, x: Array, budget: Budget
) -> Iterator[Other]:
    if isinstance(surrogate, RiskSurrogate):
        return _samples(surrogate, x, budget)
    return _terms(surrogate, x, budget)


def _terms(surrogate: ProblemSurrogate, x: Array, budget: Budget) -> Iterator[Other]:
    """Choices that differ from the one at x in a pair, and relocations with a step after them."""

    def minimiser(other: Choice) -> Array:
        solver, left = surrogate.solvers[0], budget.deadline.left
        return surrogate.nearby.otherwise(x, other.values, TOL, solver, left)

    def ahead(other: Choice) -> Array:
        x, solver = minimiser(other), surrogate.solvers[0]
        return surrogate.nearby.ahead(x, x, TOL, solver, budget.deadline.left)

    for other in other_choices(surrogate.majorised, x):
        yield other.cost, partial(minimiser, other)
    for other in relocations(surrogate.majorised, x):
        yield other.cost, partial(ahead, other)


def _samples(surrogate: RiskSurrogate, x: Array, budget: Budget) -> Iterator[Other]:
    """For each sample the other choice: given up if it counts, at its full weight if not."""
    risk, problem, solve = surrogate.risk, surrogate.problem, surrogate.solver(budget.deadline)
    phi, t, tolerance = risk.transform, risk.aggregates(x), TOL * surrogate.scale(x)
    zero = np.zeros_like(t)
    full = risk.sampled(phi.slope(zero))
    has_most = problem.weights > full / 2
    others = np.where(has_most, 0.0, full)
    lines = risk.sampled(np.where(has_most, phi.limit, phi(zero))) + others * t
    costs = lines - risk.sampled(phi(t))
    last = x  # from its last solution a solver needs few steps

    def minimiser(sample: int) -> Array:
        nonlocal last
        weights = problem.weights.copy()
        weights[sample] = others[sample]
        last = solve(replace(problem, weights=weights), last, tolerance)
        return last

    return ((float(cost), partial(minimiser, sample)) for sample, cost in enumerate(costs))
