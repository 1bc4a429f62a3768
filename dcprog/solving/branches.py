"""Complementarity constraints: the branches that meet at a point, each solved by itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.expressions.leaf import Leaf

from dcprog.engine.descent import descend
from dcprog.engine.track import Run, Settings
from dcprog.foundation.arrays import Array, vec
from dcprog.foundation.errors import NotMajorizable, SubproblemError, UnfitStart
from dcprog.foundation.parameters import same
from dcprog.foundation.tolerances import FEASIBLE
from dcprog.majorants.affine import Box
from dcprog.majorants.tree import Values
from dcprog.problem.surrogate import ProblemSurrogate

# Factors below NEAR of their size may be 0; more than MOST pairs of them have too many branches.
NEAR, MOST = 1e-2, 4
PROVED = "no branch of the complementarity constraints that meets here is lower"


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Pair:
    """Two nonnegative factors whose product is to be 0."""

    place: int  # of the constraint in the problem
    first: cp.Expression
    second: cp.Expression


def solved_by_branches(
    surrogate: ProblemSurrogate, run: Run, settings: Settings, left: Callable[[], float | None]
) -> Run:
    """The run, or one of a branch of the problem's complementarity constraints ab ≤ 0.

    Where a ≥ 0, b ≥ 0 and ab ≤ 0 no constraint qualification holds, and runs creep or fail. On a
    branch, a = 0 or b = 0 for every pair, constraints are the user's others. Branches of the pairs
    in which both factors are small are solved one after the other, from the run's point, with
    all pairs' smaller factors at 0.

    Parameters
    ----------
    surrogate : ProblemSurrogate
    run : Run
        One that has ended without a verdict.
    settings : Settings
    left : callable
        Seconds left, None without a limit.

    Returns
    -------
    Run
        A converged one if every branch has a converged run and the lowest is no worse.

    References
    ----------
    Scheel, Scholtes (2000), Mathematical programs with complementarity constraints: stationarity,
    optimality, and sensitivity, Math. Oper. Res. 25.
    """
    problem = surrogate.declared
    if problem is None or run.x is None:
        return run
    pairs = _pairs(problem)
    x = run.x
    opened = _open_entries(surrogate, pairs, x)
    best, all_solved = None, len(opened) <= MOST
    for chosen in _choices(surrogate, pairs, x, opened[:MOST]) if pairs else ():
        if left() == 0:
            all_solved = False
            break
        try:
            found = _solved(surrogate, problem, pairs, chosen, x, settings, left())
        except SubproblemError as error:
            all_solved = all_solved and error.status == "infeasible" and error.proved
            continue
        except (UnfitStart, NotMajorizable):
            all_solved = False
            continue
        if found.status == "interrupted":
            run, all_solved = replace(run, status="interrupted", message=found.message), False
            break
        ended = found.status == "converged"
        all_solved = all_solved and ended
        lower = best is None or surrogate.facts.sign * (found.value - best.value) < 0
        usable = found.x is not None and surrogate.domain.is_feasible(found.x)
        all_solved = all_solved and usable
        if ended and lower and usable:
            best = found
    if best is None or best.x is None:
        return run
    proved = all_solved and set(_open_entries(surrogate, pairs, best.x)) <= set(opened)
    slack = settings.tol * max(run.scale, best.scale)
    above = surrogate.facts.sign * (best.value - run.value) > slack
    # near 0 the factors are the roots of what their product may miss, and F gains by them
    near = np.max(np.abs(best.x - x) / surrogate.units(x)) <= np.sqrt(FEASIBLE)
    if above and surrogate.domain.is_feasible(x) and not (near and proved):
        return run
    history = run.history.ending(best.value, best.violation)
    run = replace(run, x=best.x, value=best.value, violation=best.violation, history=history)
    return replace(run, gap=best.gap, status="converged", message=PROVED) if proved else run


def _pairs(problem: cp.Problem) -> list[_Pair]:
    found, signs = [], Box(problem.constraints)
    for place, constraint in enumerate(problem.constraints):
        product = _product(constraint)
        if product is not None:
            first, second = product.args
            known = all(_is_nonneg(factor, problem, signs) for factor in (first, second))
            if known and first.shape == second.shape:
                found.append(_Pair(place, first, second))
    return found


def _product(constraint: cp.Constraint) -> cp.Expression | None:
    """The product of a constraint product ≤ 0 or product = 0, entry by entry."""
    if not isinstance(constraint, cp.constraints.Inequality | cp.constraints.Equality):
        return None
    node = constraint.args[0] - constraint.args[1]
    while isinstance(node, AddExpression):
        live = [arg for arg in node.args if not arg.is_constant()]
        rest = [arg for arg in node.args if arg.is_constant()]
        if len(live) != 1 or any(np.any(arg.value) for arg in rest):
            return None
        node = live[0]
    entrywise = isinstance(node, multiply) or (isinstance(node, MulExpression) and _is_scalar(node))
    return node if entrywise and not any(arg.is_constant() for arg in node.args) else None


def _is_scalar(node: cp.Expression) -> bool:
    return all(arg.size == 1 for arg in node.args)


def _is_nonneg(factor: cp.Expression, problem: cp.Problem, signs: Box) -> bool:
    """True if bounds or a constraint factor ≥ 0 say so."""
    if signs.is_nonneg(factor):
        return True
    inequalities = (c for c in problem.constraints if isinstance(c, cp.constraints.Inequality))
    sides = (c.args for c in inequalities)
    return any(
        low.is_constant() and low.is_nonneg() and _is_same(high, factor) for low, high in sides
    )


def _is_same(one: cp.Expression, other: cp.Expression) -> bool:
    """True if two trees have the same atoms, variables, Parameters and constants."""
    if isinstance(one, cp.Constant) and isinstance(other, cp.Constant):
        both_dense = not (sp.issparse(one.value) or sp.issparse(other.value))
        return one is other or (both_dense and same(one.value, other.value))
    if isinstance(one, Leaf) or type(one) is not type(other):
        return one is other
    return (
        len(one.args) == len(other.args)
        and same(one.get_data(), other.get_data())
        and all(map(_is_same, one.args, other.args))
    )


def _factors(surrogate: ProblemSurrogate, pair: _Pair, x: Array) -> tuple[Array, Array]:
    surrogate.points.load(x)
    values = Values()
    return vec(values.array(pair.first)), vec(values.array(pair.second))


def _open_entries(
    surrogate: ProblemSurrogate, pairs: list[_Pair], x: Array
) -> list[tuple[int, int]]:
    """Entries of pairs, by the pair's number, in which both factors are small."""
    found = []
    for k, pair in enumerate(pairs):
        one, other = _factors(surrogate, pair, x)
        size = max(1.0, float(np.max(np.abs(np.concatenate([one, other])))))
        both = np.flatnonzero(np.maximum(one, other) <= NEAR * size)
        found += [(k, int(entry)) for entry in both]
    return found


def _choices(
    surrogate: ProblemSurrogate, pairs: list[_Pair], x: Array, opened: list[tuple[int, int]]
) -> Iterator[list[Mask]]:
    """For each branch, and each pair, a mask of the entries at which the first factor is 0.

    At the other entries the second factor is 0.
    """
    firsts = [one <= other for one, other in (_factors(surrogate, pair, x) for pair in pairs)]
    for sides in itertools.product((True, False), repeat=len(opened)):
        chosen = [first.copy() for first in firsts]
        for (k, entry), side in zip(opened, sides, strict=True):
            chosen[k][entry] = side
        yield chosen


def _solved(
    surrogate: ProblemSurrogate,
    problem: cp.Problem,
    pairs: list[_Pair],
    chosen: list[Mask],
    x: Array,
    settings: Settings,
    time_limit: float | None,
) -> Run:
    """The run of a branch, at a point of the user's problem."""
    gone = {pair.place for pair in pairs}
    constraints = [c for place, c in enumerate(problem.constraints) if place not in gone]
    for pair, first in zip(pairs, chosen, strict=True):
        for factor, entries in ((pair.first, first), (pair.second, ~first)):
            places = np.flatnonzero(entries)
            if places.size:
                constraints.append(cp.vec(factor, order="F")[places] == 0)
    branch = cp.Problem(problem.objective, constraints)
    quiet = replace(settings, time_limit=time_limit, callback=None, verbose=False)
    inner = surrogate.like(branch)
    arrays = {v.id: array for v, array in surrogate.points.unpack(x)}
    start = inner.starts.inside(inner.points.pack(arrays))
    run = descend(inner, start, quiet)
    usable = run.x is not None and inner.domain.is_finite(run.x)
    if run.x is None or not usable or not inner.domain.is_feasible(run.x):
        return replace(run, status="solver_failed") if run.status == "converged" else run
    there = {v.id: array for v, array in inner.points.unpack(run.x)}
    return replace(run, x=surrogate.points.pack({**arrays, **there}))
