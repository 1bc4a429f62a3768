"""Starts by a convex problem: graduated, soft, light, halves, and points beside and far away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import ClassVar

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import SOFT
from dcprog.problem.choices import NONE, choices, random_choices
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.starts import LOOSE, Solve, convex_problem, graduated_start, starts_finite
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.batch import FEW, is_dear
from dcprog.starts.coordinate_search import is_searched
from dcprog.starts.local import unfit
from dcprog.starts.many_points import ManyPoints
from dcprog.starts.protocol import Budget, Candidate, OfProblem, OfRisk

CROWDED = 3  # samples for each coefficient: up to so many a batch fits the samples badly
FARTHEST, NEAREST = 1.0, 0.1  # distances of points beside another one, in units


class _Loose:
    """A start of a risk by its subproblems' solver, at a loose tolerance.

    It has points where samples are few for the coefficients, or a batch has led nowhere.

    Attributes
    ----------
    kind : str
        Of the start that the surrogate of a cvxpy problem makes itself; empty if it makes none.
    """

    kind: ClassVar[str] = ""

    def takes(self, surrogate: Surrogate) -> str | None:
        """Risks, and cvxpy problems where their surrogate makes such a start."""
        made = self.kind and isinstance(surrogate, ProblemSurrogate)
        return None if made or isinstance(surrogate, RiskSurrogate) else "it is no risk"

    def points(
        self, surrogate: RiskSurrogate | ProblemSurrogate, budget: Budget
    ) -> Iterable[Array]:
        """The ends of the solver's runs."""
        if isinstance(surrogate, ProblemSurrogate):
            yield from _made(surrogate, self.kind, 1, budget)
            return
        if _is_worth_it(surrogate, budget) and budget.deadline.left != 0:
            with np.errstate(all="ignore"), suppress(SubproblemError):
                yield from self._solved(surrogate, budget, surrogate.solver(budget.deadline))

    def _solved(self, surrogate: RiskSurrogate, budget: Budget, solve: Solve) -> Iterable[Array]:
        raise NotImplementedError


class Graduated(_Loose):
    """The end of a path of graduated problems, from nearly convex to the problem itself."""

    kind = "graduated"

    def _solved(self, surrogate: RiskSurrogate, budget: Budget, solve: Solve) -> Iterable[Array]:
        risk = surrogate.declared
        if not risk.has_convex_losses:
            yield graduated_start(risk, budget.ended[0], solve)


class Soft(_Loose):
    """The convex start with all concave functions at a small share of their first slope.

    Capped losses pull less against the penalty, so that θ begins small; a penalty that is
    infinitely steep at 0 holds less there.
    """

    kind = "soft"

    def _solved(self, surrogate: RiskSurrogate, budget: Budget, solve: Solve) -> Iterable[Array]:
        risk = surrogate.declared
        if _lacks_batch(risk) and _softens(risk):
            yield _eased(risk, 1.0 if risk.transform.is_linear else SOFT, SOFT, solve)


class Light(_Loose):
    """Convex starts under multiples of the slope that a concave penalty has at 0, heaviest first.

    With the slope itself every coefficient that is 0 stays there, and often all are. Under a
    heavier one fewer are left, among them some that stand for several others.
    """

    def _solved(self, surrogate: RiskSurrogate, budget: Budget, solve: Solve) -> Iterable[Array]:
        risk = surrogate.declared
        for share in () if risk.penalty.is_convex else budget.effort.shares:
            if budget.deadline.left == 0:
                return
            with suppress(SubproblemError):
                yield _eased(risk, 1.0, share, solve)


# Starts of cvxpy problems: those of risks above are better. No points beside and far away are given
# where a smooth method has ended as low as the plain run: the loop would find it in more time.


class Half(OfProblem):
    """Convex starts of random halves of the terms."""

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array]:
        """As many halves as the effort says."""
        return _made(surrogate, "half", budget.effort.halves, budget)


class Beside(OfProblem):
    """Points beside the plain run's end that meet the convex constraints."""

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array]:
        """As many points as the effort says; none of a smooth problem that is solved already."""
        for _ in range(0 if _is_smooth(surrogate, budget) else budget.effort.beside):
            if budget.deadline.left == 0:
                return
            size = float(budget.rng.uniform(NEAREST, FARTHEST))
            with suppress(SubproblemError):
                yield surrogate.starts.shaken(budget.ended[0], budget.rng, size)


class Random(OfProblem):
    """Random points that meet the convex constraints."""

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array]:
        """As many points as the effort says; none of a smooth problem that is solved already."""
        count = 0 if _is_smooth(surrogate, budget) else budget.effort.random
        return _made(surrogate, "random", count, budget)


class Chosen(OfProblem):
    """Minimisers of the majorants of random choices of the largest or least terms.

    For a sum of least distances to centres these are the means of random clusters.
    """

    def refusal(self, surrogate: ProblemSurrogate) -> str | None:
        """Refuse problems without concave choices."""
        return None if choices(surrogate.majorised) else NONE

    def points(self, surrogate: ProblemSurrogate, budget: Budget) -> Iterable[Array]:
        """As many minimisers as the effort has random points."""
        x, solver = budget.ended[0], surrogate.solvers[0]
        drawn = random_choices(surrogate.majorised, x, budget.rng)
        for values in islice(drawn, budget.effort.random):
            if budget.deadline.left == 0:
                return
            with suppress(SubproblemError, ValueError, ArithmeticError):
                yield surrogate.nearby.otherwise(x, values, LOOSE, solver, budget.deadline.left)


def _is_smooth(surrogate: ProblemSurrogate, budget: Budget) -> bool:
    """True if a smooth method has found a point of a smooth problem as low as the plain run's."""
    values = [one.value for one in budget.found if one.kind == "local"]
    if not values or unfit(surrogate) is not None:
        return False
    end = budget.ended[0]
    if not surrogate.domain.is_feasible(end):
        return True
    value = surrogate.majorised.exact(end)
    return min(values) <= value + LOOSE * surrogate.scale(end)


def _made(surrogate: Surrogate, kind: str, count: int, budget: Budget) -> Iterator[Array]:
    """Starts of a kind, as the surrogate makes them."""
    for _ in range(count):
        if budget.deadline.left == 0:
            return
        with suppress(SubproblemError):
            yield surrogate.starts(kind, budget.rng, budget.deadline.left)


def _is_worth_it(surrogate: RiskSurrogate, budget: Budget) -> bool:
    risk = surrogate.declared
    if is_searched(surrogate, budget.ended[0]):
        return False
    few = risk.rows.shape[1] <= FEW
    return _lacks_batch(risk) or not (budget.found or few or is_dear(risk, budget.effort))


def is_crowded(risk: Risk) -> bool:
    """True if a risk has few samples to tell its coefficients by."""
    return CROWDED * risk.rows.shape[1] >= risk.n_groups


def _lacks_batch(risk: Risk) -> bool:
    """True if a batch takes no such risk, or fits it badly."""
    return not ManyPoints.takes(risk) or is_crowded(risk)


def _softens(risk: Risk) -> bool:
    """True if another first slope is another start; no kernel's, where a start is dear."""
    if risk.no_matrix is not None or risk.scores.kernel is not None:
        return False
    return not risk.transform.is_linear or not starts_finite(risk)


def _eased(risk: Risk, of_losses: float, of_penalty: float, solve: Solve) -> Array:
    """The convex start under shares of the first slopes."""
    problem, zero = convex_problem(risk), np.zeros(risk.rows.shape[1])
    shrinkage = None if problem.shrinkage is None else of_penalty * problem.shrinkage
    eased = WeightedRisk(risk, of_losses * problem.weights, None, shrinkage)
    return solve(eased, zero, LOOSE * risk.magnitude(zero))


# ----------------------------------------------------------------------------------------------


class Zero(OfRisk):
    """θ = 0: below a plain run's end where a penalty outweighs the losses.

    Plain runs on absolute losses with almost as many coefficients as samples have ended above it.
    A cvxpy problem may have no slope at 0.
    """

    def points(self, surrogate: RiskSurrogate, budget: Budget) -> Iterable[Candidate]:
        """The point 0, if F is lower there than at all ends of runs."""
        risk = surrogate.declared
        x = np.zeros(risk.rows.shape[1])
        value = risk(x)
        if all(value < risk(end) for end in budget.ended):
            yield Candidate("zero", x, value)
