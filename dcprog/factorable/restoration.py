"""A point that nearly meets the constraints, moved to where they hold but for rounding."""

from __future__ import annotations

import numpy as np

from dcprog.factorable.problem import FactorableProblem
from dcprog.factorable.terms import ROUNDING, Row
from dcprog.foundation.arrays import Array

__all__ = ["inside", "restored"]

STEPS = 8
# Terms that vanish at the point count with that share of their median over the box.
LEAST = 1e-3
# Differences are taken over that share of a coordinate's size: the cube root of the precision.
DIFFERENCE = 6e-6


def restored(problem: FactorableProblem, x: Array) -> Array:
    """Gauss–Newton steps to the constraints that x misses: the shortest ones, in units of x.

    Parameters
    ----------
    problem : FactorableProblem
    x : array of shape (p,)
        Its whole numbers stay as they are.

    Returns
    -------
    array of shape (p,)
        The point reached; x itself where that is no nearer.
    """
    with np.errstate(all="ignore"):
        return _restored(problem, x)


def _restored(problem: FactorableProblem, x: Array) -> Array:
    rows = [*problem.zero, *problem.below]
    equal = np.arange(len(rows)) < len(problem.zero)
    active = equal.copy()
    size = problem.coordinate_sizes(x)
    usual = LEAST * np.median(_values(problem, rows, problem.samples())[1], axis=0)
    best, least = x, np.inf
    for _ in range(STEPS):
        value, terms = (found[0] for found in _values(problem, rows, x[None]))
        terms = np.maximum(terms, usual)
        missed = np.where(equal, np.abs(value), np.maximum(value, 0.0))
        worst = float(np.max(missed / np.where(terms > 0, terms, 1.0), initial=0.0))
        if not worst < least:
            break
        best, least = x, worst
        active |= missed > 0
        if worst <= ROUNDING or not np.any(active):
            break
        # inequalities that were missed are aimed a hair inside
        aim = value[active] + np.where(equal[active], 0.0, ROUNDING * terms[active])
        x = _step(problem, [r for r, a in zip(rows, active, strict=True) if a], x, size, aim)
    return best


# Arguments of roots and logarithms are brought that far inside, as shares of their terms: a root is
# steep there, so the smallest one that will do is taken.
DEPTHS = (0.0, 4 * np.finfo(float).eps, 1e-12)


def inside(problem: FactorableProblem, x: Array) -> list[Array]:
    """Points next to x where the arguments of roots and logarithms are positive or 0.

    To first order, that is: rounding decides whether they are.

    Parameters
    ----------
    problem : FactorableProblem
    x : array of shape (p,)

    Returns
    -------
    list of arrays of shape (p,)
        The nearest first; empty where all arguments are positive.
    """
    with np.errstate(all="ignore"):
        value, terms = (found[0] for found in _values(problem, problem.domain, x[None]))
        least = np.flatnonzero((value >= 0) & np.isfinite(value))
        rows = [problem.domain[k] for k in least]
        size = problem.coordinate_sizes(x)
        aims = [value[least] + depth * terms[least] for depth in DEPTHS]
        return [_step(problem, rows, x, size, aim) for aim in aims] if rows else []


def _step(problem: FactorableProblem, rows: list[Row], x: Array, size: Array, aim: Array) -> Array:
    """The shortest step to where the rows are lower by `aim`, to first order, inside the bounds."""
    free = ~problem.whole & (problem.lo < problem.hi)
    slopes = _slopes(problem, rows, x, size)
    for _ in range(x.size + 1):
        move = np.zeros(x.size)
        moves = slopes[:, free] * size[free]
        if not (np.all(np.isfinite(moves)) and np.any(free)):
            return x
        move[free] = size[free] * np.linalg.lstsq(moves, -aim, rcond=1e-9)[0]
        outward = free & ((x + move < problem.lo) | (x + move > problem.hi))
        stuck = outward & (np.clip(x + move, problem.lo, problem.hi) == x)
        if not np.any(stuck):
            break
        free &= ~stuck
    return np.clip(x + move, problem.lo, problem.hi)


def _values(problem: FactorableProblem, rows: list[Row], x: Array) -> tuple[Array, Array]:
    """The rows at points, and the sums of the absolute values of their terms."""
    columns = problem.columns(x).lo
    value, terms = np.empty((x.shape[0], len(rows))), np.empty((x.shape[0], len(rows)))
    for k, row in enumerate(rows):
        parts = [c * columns[:, j] for j, c in row.terms]
        value[:, k] = np.sum(parts, axis=0) + row.constant if parts else row.constant
        terms[:, k] = np.sum(np.abs(parts), axis=0) + abs(row.constant) if parts else 0.0
    return value, terms


def _slopes(problem: FactorableProblem, rows: list[Row], x: Array, size: Array) -> Array:
    """Central differences of the rows, a line each."""
    steps = np.diag(DIFFERENCE * size)
    above, _ = _values(problem, rows, x + steps)
    below, _ = _values(problem, rows, x - steps)
    return np.asarray(((above - below) / (2 * DIFFERENCE * size)[:, None]).T)
