"""The best point of a short global search: branch and bound, for problems in few variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from cvxpy.atoms.affine.affine_atom import AffAtom

from dcprog.factorable.problem import FactorableProblem
from dcprog.factorable.search import GlobalSearch
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.foundation.tolerances import FEASIBLE, RADIUS
from dcprog.majorants.tree import nodes
from dcprog.majorants.user_problem import Points
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.starts.protocol import Budget, Candidate, OfProblem

# The most entries of variables and columns of the search: more take more work than a start has.
MOST_ENTRIES, MOST_COLUMNS = 40, 100
# Variables without bounds are searched within this many units of the plain run's end.
REACH, EVERYWHERE = RADIUS, np.inf
SHARE = 0.5  # share of the time left that the search may take; the rest is for other starts
INSIDE = 1 - FEASIBLE  # a best point outside this share of a box proves nothing of points beyond
# The gap, relative to the scale of F, at which the best point counts as the optimum.
GAP = 1e-5


class BranchAndBound(OfProblem):
    """A spatial branch and bound search of limited work.

    It takes cvxpy problems whose atoms and constraints have a translation for SCIP, and whose
    variables are bounded, by declaration or by the constraints and the plain run's value. If the
    search ends, no feasible point is lower than its point by more than 1e-5 of the scale of F, and
    no other start is needed.
    """

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """Refuse many variables, and atoms whose entries alone are too many columns."""
        if surrogate.points.size > MOST_ENTRIES:
            return f"it has more than {MOST_ENTRIES} entries of variables"
        problem: Any = surrogate.declared
        roots = [problem.objective.args[0], *(arg for c in problem.constraints for arg in c.args)]
        curved = (n for root in roots for n in nodes(root) if not isinstance(n, AffAtom))
        if any(n.size > MOST_COLUMNS for n in curved if n.args and not n.is_affine()):
            return f"an atom has more than {MOST_COLUMNS} entries"
        return None

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array | Candidate]:
        """The best point, if the search finds a lower one than the plain run's."""
        try:
            search = _searched(surrogate, budget, EVERYWHERE)
        except NotBoundable:
            try:
                search = _searched(surrogate, budget, REACH)
            except NotBoundable:  # an atom has no translation
                return
        if search.best is not None:
            yield Candidate("global", _there(search, surrogate), search.best.value)


def _searched(surrogate: ProblemSurrogate, budget: Budget, reach: float) -> GlobalSearch:
    """A search, of the whole box or around the plain run's end."""
    points, end = surrogate.points, budget.ended[0]
    problem = FactorableProblem(surrogate.declared, most_terms=MOST_COLUMNS)
    here = _here(problem, points, end)
    # where a run has been near 0 all along, its units would make the box a point
    units = np.maximum(surrogate.units(end), surrogate.sizes.natural.unit)
    away = reach * _here(problem, points, units)
    if reach < EVERYWHERE:
        problem = FactorableProblem(surrogate.declared, (here - away, here + away))
    patience, left = budget.effort.work / len(problem.terms), budget.deadline.left
    search = GlobalSearch(problem, GAP, lambda x, seconds: None, patience=patience)
    with problem.untouched():
        for x in budget.ended:
            search.note(_here(problem, points, x))
        status, lower = "proved", search.least
        if lower is None:
            status = search.run(np.inf if left is None else SHARE * left)
            lower = search.least
    margin = "but for rounding"
    if search.best is None or (lower is None and status != "proved"):
        return search
    if lower is None:
        # in a wide box the search may take a gap for closed that is small beside F at its corners
        lower, margin = search.lower, f"by more than {GAP:g} of the scale"
        if search.best.value - lower > GAP * max(search.best.scale, problem.at(here).scale):
            return search
    if np.all(np.abs(search.best.x - here) < INSIDE * away):
        where = "no point" if reach == EVERYWHERE else f"no point within {reach:g} units"
        budget.proof = f"{where} is lower {margin}"
        budget.bound = lower if reach == EVERYWHERE else -np.inf
    return search


def _here(problem: FactorableProblem, points: Points, x: Array) -> Array:
    """A flat point of the surrogate in the order of the search."""
    return problem.points.pack({v.id: array for v, array in points.unpack(x)})


def _there(search: GlobalSearch, surrogate: ProblemSurrogate) -> Array:
    """The best point in the order of the surrogate."""
    assert search.best is not None
    pairs = search.problem.points.unpack(search.best.x)
    return surrogate.points.pack({v.id: array for v, array in pairs})
