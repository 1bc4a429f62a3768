"""A concave choice is made otherwise: of terms or samples (Swap), of coefficients (Support)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, zip_longest

import numpy as np
import numpy.typing as npt

from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import TOL
from dcprog.moves.exchange import WIDTH
from dcprog.problem.choices import NONE, Choice, choices, other_choices, relocations
from dcprog.problem.surrogate import ProblemSurrogate
from dcprog.risk.risk import Risk
from dcprog.risk_mm.stationarity import Near
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.rows.scores import Scores
from dcprog.starts.batch import is_dear
from dcprog.starts.convex import is_crowded
from dcprog.starts.coordinate_search import MOST_COEFFICIENTS, MOST_NUMBERS
from dcprog.starts.many_points import ManyPoints
from dcprog.starts.protocol import Budget, OfRisk

# Majorants that are minimised, for each of the effort's flips. Some without a lower point end the
# search: of a cvxpy problem IDLE for each flip (of 36 lower points the last was the 17th tried), of
# coefficients SOLVES for each finished candidate (with half as many ramps end 1 to 5% higher).
SOLVES, IDLE = 20, 10
MOST_SAMPLES = 40  # samples of a risk, at most: from 60 on swaps cost as much as the race before

Minimiser = Callable[[], Array]  # of another choice's majorant
Other = tuple[float, Minimiser]  # with the choice's cost at x


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
        solves = SOLVES * budget.effort.flips
        idle = solves if isinstance(surrogate, RiskSurrogate) else IDLE * budget.effort.flips
        return lowest(surrogate, x, partial(_cheapest, surrogate, budget), idle, budget)


def lowest(
    surrogate: Surrogate,
    x: Array,
    others: Callable[[Array], Iterable[Minimiser]],
    idle: int,
    budget: Budget,
) -> list[Array]:
    """The lowest point of a search among other majorants, if F is lower there than at x.

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    others : callable
        Minimisers of other majorants centred at a point, in the order in which they are tried.
    idle : int
        So many without a lower point end the search.
    budget : Budget
    """
    left, found = SOLVES * budget.effort.flips, None
    with np.errstate(all="ignore"):
        while left > 0:
            begun = x if found is None else found
            tried, lower = _lower(surrogate, begun, others, min(left, idle), budget.deadline)
            if lower is None:
                break
            left, found = left - tried, lower
    return [] if found is None else [found]


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
    surrogate: Surrogate,
    x: Array,
    others: Callable[[Array], Iterable[Minimiser]],
    most: int,
    deadline: Deadline,
) -> tuple[int, Array | None]:
    """The number of majorants that were minimised, and the first point that is lower than x."""
    centre(surrogate, x)
    aim = surrogate.value(x) - TOL * surrogate.scale(x)
    for tried, minimiser in enumerate(islice(others(x), most), 1):
        if deadline.left == 0:
            break
        try:
            point = minimiser()
        except (SubproblemError, ValueError, ArithmeticError):
            continue
        if surrogate.value(point) < aim:
            return tried, point
    return most, None


def _cheapest(
    surrogate: ProblemSurrogate | RiskSurrogate, budget: Budget, x: Array
) -> Iterator[Minimiser]:
    """Minimisers of the majorants of other choices, in the order of their costs at x."""
    others = list(_others(surrogate, x, budget))
    shuffled = [others[k] for k in budget.rng.permutation(len(others))]
    return (minimiser for _, minimiser in sorted(shuffled, key=lambda other: other[0]))


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


# ---- coefficients under a concave penalty -------------------------------------------------------

NO_ONE = -1  # in place of a coefficient


@dataclass(frozen=True)
class Change:
    """A change of the coefficients that are not 0; places are those among the penalised ones."""

    freed: int
    size: float  # of the freed coefficient, by the model
    out: int  # left out
    rise: float  # of F, by the model


class Support(OfRisk):
    r"""A point that is lower than x, with one coefficient freed, left out, or replaced by another.

    A concave ψ(\|w\|) is at most ψ(t) + ψ'(t)(\|w\| − t) for **every** t, so that the majorant in
    which a coefficient has the slope of a large t, in place of that of its own size, is one, too;
    at x it is above F, and its minimum may be far below. A coefficient is left out by a slope from
    which it does not leave 0. Changes of one coefficient and of two are tried by turns, each in the
    order of F's minima in a quadratic model.

    References
    ----------
    Hazimeh, Mazumder (2020), Fast best subset selection: coordinate descent and local combinatorial
    optimization algorithms, Oper. Res. 68.
    """

    def refusal(self, surrogate: RiskSurrogate) -> str | None:
        """Refuse convex penalties, maxima of losses, and large matrices."""
        risk = surrogate.declared
        rows = risk.rows
        parts = risk.penalty.parts()
        if not parts.concave or not parts.is_elastic or not np.any(risk.penalized):
            return "its penalty is no concave function of each coefficient"
        is_sum = risk.aggregate != "max" and isinstance(rows, Scores) and risk.no_matrix is None
        if not is_sum or rows.kernel is not None:
            return "it is no sum of losses of a matrix"
        n, p = rows.shape
        few = p <= MOST_COEFFICIENTS and n * p <= MOST_NUMBERS
        return None if few else "it has many coefficients"

    def points(self, surrogate: RiskSurrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The lowest point, if F is lower there; none of many samples, where solves are dear."""
        if is_dear(surrogate.declared, budget.effort):
            return []
        idle = SOLVES * budget.effort.finished
        return lowest(surrogate, x, partial(_supports, surrogate, budget), idle, budget)


def _supports(surrogate: RiskSurrogate, budget: Budget, x: Array) -> Iterator[Minimiser]:
    """Minimisers of other majorants, those of changes of one coefficient and of two by turns."""
    model, solve = _Quadratic(surrogate, x), surrogate.solver(budget.deadline)
    penalty, problem = surrogate.risk.penalty, surrogate.problem
    tolerance, largest = TOL * surrogate.scale(x), np.max(model.size)

    def minimiser(change: Change) -> Array:
        shrinkage, begin = np.array(problem.shrinkage), x.copy()
        if change.freed != NO_ONE:
            shrinkage[change.freed] = penalty.weights([max(change.size, largest)])[0]
        if change.out != NO_ONE:
            begin[model.held[change.out]] = 0.0
            shrinkage[change.out] += abs(model.gradient(begin)[change.out])
        return solve(replace(problem, shrinkage=shrinkage), begin, tolerance)

    turns = chain.from_iterable(zip_longest(model.singles(), model.pairs()))
    return (partial(minimiser, change) for change in turns if change is not None)


class _Quadratic:
    """A quadratic model of F around x, in which the coefficients that are not 0 follow the others.

    Attributes
    ----------
    held : array of int
        The penalised coefficients.
    size : array
        Their sizes.
    """

    def __init__(self, surrogate: RiskSurrogate, x: Array) -> None:
        risk, problem = surrogate.risk, surrogate.problem
        self._near = Near(problem, x, surrogate.units(x), surrogate.scale(x), WIDTH)
        self._parts = risk.penalty.parts()
        self.held = np.flatnonzero(risk.penalized)
        self._w, self._is_free = x[self.held], problem.shrinkage == 0
        self.size = np.abs(self._w)
        self._some, self._zero = np.flatnonzero(self.size), np.flatnonzero(self.size == 0)
        self._force = -self.gradient(x)
        self._bend(np.flatnonzero((x != 0) | ~risk.penalized))

    def _bend(self, live: npt.NDArray[np.intp]) -> None:
        """Curvatures of F in one coefficient, while those that are not 0 follow."""
        near, held = self._near, self.held
        matrix = np.asarray(dense(near.risk.scores.matrix()), dtype=float)
        A = np.sqrt(near.bent())[:, None] * matrix
        own = np.sum(A[:, held] ** 2, axis=0)
        inverse = np.linalg.pinv(A[:, live].T @ A[:, live], hermitian=True)
        cross = A[:, live].T @ A[:, held]
        follow = inverse @ cross
        mine = np.searchsorted(live, held[self._some])
        self._follow, self._give = follow[mine], np.diag(inverse)[mine]
        self._curvature = np.maximum(own - np.sum(cross * follow, axis=0), TOL * np.max(own))
        self._curvature[self._some] = 1 / self._give

    def gradient(self, x: Array) -> Array:
        """The gradient of the majorant at a point, without the penalty, smoothed over kinks."""
        near, problem = self._near, self._near.problem
        there = Near(problem, x, near.units, near.scale, near.reach)
        slopes = problem.row_weights * np.mean(there.slopes(), axis=0)
        return np.asarray((near.risk.pull(slopes) + problem.linear)[self.held], dtype=float)

    def _psi(self, t: Array) -> Array:
        """The penalty of coefficients of size t; ℓ1 weights that differ count as their mean."""
        concave = sum(part.of_size(t) for part in self._parts.concave)
        l1, ridge = np.mean(self._parts.l1), self._parts.ridge
        return np.asarray(concave + l1 * t + ridge * t**2 / 2, dtype=float)

    def singles(self) -> Iterator[Change]:
        """Coefficients to free, one at a time, the lowest F first."""
        size, force = self.size, np.abs(self._force)
        step = force / self._curvature
        rise = self._psi(size + step) - self._psi(size) - step * force / 2
        rise[self._is_free] = np.inf
        return (Change(j, size[j] + step[j], NO_ONE, rise[j]) for j in _increasing(rise))

    def pairs(self) -> Iterator[Change]:
        """Coefficients to leave out, with none or one that is 0 freed in their place."""
        w, some, zero = self._w[self._some], self._some, self._zero
        give, follow = self._give[:, None], self._follow[:, zero]
        out = w**2 / (2 * self._give) + self._force[some] * w - self._psi(self.size[some])
        force = np.abs(self._force[zero] + w[:, None] / give * follow)
        step = force / (self._curvature[zero] + follow**2 / give)
        rise = np.column_stack([out, out[:, None] + self._psi(step) - step * force / 2])
        for place in _increasing(rise):
            i, j = np.unravel_index(place, rise.shape)
            freed, size = (zero[j - 1], step[i, j - 1]) if j else (NO_ONE, 0.0)
            yield Change(int(freed), float(size), int(some[i]), float(rise[i, j]))


def _increasing(rise: Array) -> npt.NDArray[np.intp]:
    """The places of finite entries, the least first."""
    order = np.argsort(rise, axis=None, kind="stable")
    return order[np.isfinite(rise.ravel()[order])]
