"""A cvxpy problem as rows of terms, with bounds of its variables and its values at points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from dcprog.factorable.terms import Power, Product, Ranges, Row
from dcprog.factorable.translation import Translation
from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import NotBoundable
from dcprog.foundation.kept_values import values_kept
from dcprog.foundation.tolerances import (
    DIFFERENCE,
    FEASIBLE,
    HALVINGS,
    KNOWN_DIGITS,
    LAST_PLACES,
    ROUNDING,
)
from dcprog.majorants.affine import declared_bounds
from dcprog.majorants.feasibility import LEAST_SIZE, Feasibility
from dcprog.majorants.tree import Values, short
from dcprog.majorants.user_problem import Points, check_data, declared_kinds, freeze

# Distances from the point at which an edge is tried, in units of the point's size; if an edge is
# known, shares of the distance to it, dense at both ends.
DISTANCES = 2.0 ** np.arange(-HALVINGS, 100)
SHARES = np.concatenate([DISTANCES[:HALVINGS], 1 - DISTANCES[HALVINGS - 2 :: -1]])
# Points, with both ends, between which an interval with an edge is divided.
FINER = 33
# The interval in which an edge lies is divided by 32, six times: to a billionth.
REFINED = 7
# Sweeps over the variables or rows, and Gauss–Newton steps, at most.
SWEEPS = 8
# Another sweep follows if an edge has moved by more than this share of its size.
ENOUGH = 0.01

Excluded = Callable[[Array, Array], npt.NDArray[np.bool_]]


def first_box(
    lo: Array, hi: Array, x: Array, places: npt.NDArray[np.intp], excluded: Excluded
) -> tuple[Array, Array]:
    """Shrink a box, one coordinate after the other, as long as the parts cut off are excluded.

    Parameters
    ----------
    lo, hi : arrays of shape (p,)
        The known bounds, possibly infinite.
    x : array of shape (p,)
        A point inside.
    places : array of int
        The coordinates whose edges are moved.
    excluded : callable
        ``excluded(lo, hi)`` is a mask of the boxes, one per line, that hold no point of interest.

    Returns
    -------
    lo, hi : arrays of shape (p,)
        Infinite where no edge was found.
    """
    lo, hi = lo.copy(), hi.copy()
    for _ in range(SWEEPS):
        before = np.concatenate([lo, hi])
        for j in places:
            hi[j] = _edge(lo, hi, x, j, 1.0, excluded)
            lo[j] = _edge(lo, hi, x, j, -1.0, excluded)
        after = np.concatenate([lo, hi])
        if not np.any(_moved(before, after)):
            break
    return lo, hi


def propagate(lo: Array, hi: Array, rows: Sequence[Row]) -> None:
    """Tighten bounds, in place, by linear rows that are at most 0.

    Parameters
    ----------
    lo, hi : arrays of shape (p,)
    rows : sequence of Row
        Rows with nonlinear columns are skipped.
    """
    linear = [row for row in rows if row.terms and row.terms[-1][0] < lo.size]
    for _ in range(SWEEPS):
        before = np.concatenate([lo, hi])
        for row in linear:
            _narrow(lo, hi, row)
        if not np.any(_moved(before, np.concatenate([lo, hi]))):
            break


def _narrow(lo: Array, hi: Array, row: Row) -> None:
    """Tighten bounds by one row: c·x_j is at most minus the least value of the other terms."""
    least = [c * (lo[j] if c > 0 else hi[j]) for j, c in row.terms]
    infinite = [k for k, part in enumerate(least) if np.isinf(part)]
    if len(infinite) > 1:
        return
    for k, (j, c) in enumerate(row.terms):
        if infinite and k != infinite[0]:
            continue
        others = [row.constant, *(part for i, part in enumerate(least) if i != k)]
        slack = ROUNDING * sum(map(abs, others))
        edge = (slack - sum(others)) / c
        if c > 0:
            hi[j] = min(hi[j], edge)
        else:
            lo[j] = max(lo[j], edge)


def _moved(before: Array, after: Array) -> npt.NDArray[np.bool_]:
    """True for edges that are new, or have moved by more than ENOUGH."""
    known = np.isfinite(before) & np.isfinite(after)
    far = np.abs(np.subtract(after, before, where=known, out=np.zeros(before.shape)))
    return (known & (far > ENOUGH * np.abs(before))) | (np.isinf(before) & np.isfinite(after))


def _edge(lo: Array, hi: Array, x: Array, j: int, side: float, excluded: Excluded) -> float:
    """The innermost edge found on one side of x_j."""
    edge = float(hi[j] if side > 0 else lo[j])
    room = abs(edge - x[j])
    unit = abs(x[j]) if x[j] else 1.0
    tries = x[j] + side * (room * SHARES if np.isfinite(room) else unit * DISTANCES)
    for _ in range(REFINED):
        tries = tries[np.isfinite(tries)]
        low, high = np.tile(lo, (tries.size, 1)), np.tile(hi, (tries.size, 1))
        (low if side > 0 else high)[:, j] = tries
        gone = np.flatnonzero(excluded(low, high))
        if not gone.size:
            return edge
        first = int(gone[0])
        edge = float(tries[first])
        inner = x[j] if first == 0 else tries[first - 1]
        tries = np.linspace(inner, edge, FINER)[1:]
    return edge + side * KNOWN_DIGITS * abs(edge - x[j])


# ----------------------------------------------------------------------------------------------
# the problem


# Points of the box at which terms are evaluated for their usual sizes.
SAMPLES = 32
# Points among them at which constraints are evaluated.
FEW_SAMPLES = 8
# Bounds are narrowed if a term may be this many times as large as at the samples.
WILD = 1e8
# The roots of a quadratic equation are two values if its discriminant is at least this share of its
# terms: the tolerance of constraints blurs roots that are closer.
APART = 1e-2
# An equation of more terms is not searched for two roots: it is seldom in one entry alone.
FEW_TERMS = 4
# Products of entries that have two values are linear constraints for SCIP: so many times more terms
# take as little work.
BINARY = 3
# Attributes of variables that mean bounds, and those that mean whole numbers.
BOUNDS = ("nonneg", "nonpos", "pos", "neg", "bounds")
WHOLE = ("integer", "boolean")


@dataclass(frozen=True)
class Point:
    """The problem at a point.

    Attributes
    ----------
    x : array of shape (p,)
    value : float
        F(x), negated for a maximisation; ∞ if it is not defined.
    scale : float
        The sum of the absolute values of the objective's terms.
    missed : float
        The largest violation of a constraint, over the sum of the absolute values of its terms.
    """

    x: Array
    value: float
    scale: float
    missed: float

    @property
    def is_feasible(self) -> bool:
        """True if the constraints hold within their tolerance and F is defined."""
        return self.missed <= FEASIBLE and bool(np.isfinite(self.value))

    @property
    def is_exact(self) -> bool:
        """True if the constraints hold but for rounding and F is defined."""
        return self.missed <= ROUNDING and bool(np.isfinite(self.value))


class FactorableProblem:
    """Minimise F(x) under g(x) ≤ 0 and h(x) = 0, x all entries of all variables.

    Parameters
    ----------
    problem : cvxpy.Problem
        A problem in real variables, which may be integer or boolean.
    box : pair of arrays, optional
        Only points inside are considered.
    most_terms : float, optional
        Problems with more columns are refused; three times as many are allowed if every entry has
        only two values.

    Attributes
    ----------
    sign : float
        −1 for a maximisation.
    points : Points
        The order of the entries.
    objective : Row
    below, zero : lists of Row
        Rows that must be at most 0, or 0.
    domain : list of Row
        Rows at most 0 where the arguments of roots and logarithms are nonnegative.
    lo, hi : arrays of shape (p,)
        Bounds of the variables.
    uses : mapping of column to int
        The number of uses of each variable and of each term that is used.
    contradicted : bool
        True if a constraint without variables does not hold.
    whole : bool array of shape (p,)
        The entries that must be whole numbers.
    roots : mapping of entry to pair of float
        The two values of entries that an equation such as x² = 1 or y(1 − y) = 0 leaves.

    Raises
    ------
    NotBoundable
        An atom, a constraint or an attribute has no translation; the error names it.
    ValueError
        The data are not finite, or a Parameter has no value.
    """

    def __init__(
        self,
        problem: cp.Problem,
        box: tuple[Array, Array] | None = None,
        most_terms: float = np.inf,
    ) -> None:
        check_data(problem, whole=True)
        self.problem, self.box = problem, box
        self.sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
        frozen = freeze(problem)
        self._parameters = _parameter_values(problem)
        self.points = Points(sorted(problem.variables(), key=lambda v: v.id))
        self._objective = self.sign * frozen.objective.args[0]
        self._demands = [c for c in frozen.constraints if c.variables()]
        self._feasibility = Feasibility(self._demands, [], self.points.variables)
        flags = {v.id: whole_entries(v) for v in self.points.variables}
        self.whole = self.points.pack(flags).astype(bool)
        self.lo, self.hi = self._edges()
        self._declared = self.lo.copy(), self.hi.copy()
        numbers = (c for c in frozen.constraints if not c.variables())
        self.contradicted = any(map(_is_wrong, numbers))
        translation = Translation(self.points.variables, by_pairs=True)
        self._translate(translation, most_terms)
        if translation.has_finite_sums(self.lo, self.hi):
            self._translate(Translation(self.points.variables), most_terms)
        self._learn()

    def _translate(self, translation: Translation, most_terms: float) -> None:
        """Set the rows of objective and constraints, and tighten the bounds by them."""
        self.terms = translation.terms
        (self.objective,) = translation(self._objective)
        self.below: list[Row] = []
        self.zero: list[Row] = []
        for constraint in self._demands:
            self._refuse_more(BINARY * most_terms)
            self._demand(translation, constraint)
        for variable in self.points.variables:
            self._declare(translation, variable)
        self.below += [-row for row in translation.domain]
        self.domain = [-args[0] for op, args in self.terms.operations if op.is_one_sided]
        self.roots = self._roots()
        is_binary = len(self.roots) == self.terms.size
        self._refuse_more(BINARY * most_terms if is_binary else most_terms)
        self.uses = self._uses()
        self._narrow()

    def _refuse_more(self, most: float) -> None:
        if len(self.terms) > most:
            reason = f"it has more than {most:g} terms"
            raise NotBoundable(short(self.problem.objective), reason, "a problem of fewer terms")

    # ------------------------------------------------------------------------------------------
    # the declaration

    def _demand(self, translation: Translation, constraint: cp.Constraint) -> None:
        if isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero):
            self.zero += translation(constraint.expr)
        elif isinstance(constraint, cp.constraints.Inequality | cp.constraints.NonPos):
            self.below += translation(constraint.expr)
        elif isinstance(constraint, cp.constraints.NonNeg):
            self.below += translation(-constraint.args[0])
        elif isinstance(constraint, cp.constraints.SOC):
            t, X = constraint.args
            norms = cp.norm(X, 2, axis=constraint.axis if X.ndim > 1 else None)
            self.below += translation(cp.reshape(norms, t.shape, order="F") - t)
        else:
            raise NotBoundable(
                short(constraint),
                f"a {type(constraint).__name__} constraint has no translation",
                "an inequality, such as cp.norm(x) <= t",
            )

    def _declare(self, translation: Translation, variable: cp.Variable) -> None:
        for kind in sorted(declared_kinds(variable)):
            if kind in ("symmetric", "diag"):
                other = variable.T if kind == "symmetric" else cp.diag(cp.diag(variable))
                rows = translation(variable - other)
                self.zero += [row for row in rows if not row.is_constant]
            elif kind not in BOUNDS + WHOLE:
                raise NotBoundable(
                    variable.name(), f"the attribute {kind} has no rule", "constraints in its place"
                )

    def _edges(self) -> tuple[Array, Array]:
        """Bounds of the entries, rounded inside where these are whole numbers."""
        bounds = {v.id: _bounds(v) for v in self.points.variables}
        lo, hi = (self.points.pack({key: b[side] for key, b in bounds.items()}) for side in (0, 1))
        if self.box is not None:
            lo, hi = np.maximum(lo, self.box[0]), np.minimum(hi, self.box[1])
        self._round_whole(lo, hi)
        return lo, hi

    def _round_whole(self, lo: Array, hi: Array) -> None:
        """Move bounds of whole numbers, in place, to the nearest whole number inside."""
        lo[self.whole] = np.ceil(lo[self.whole] - KNOWN_DIGITS)
        hi[self.whole] = np.floor(hi[self.whole] + KNOWN_DIGITS)

    def _roots(self) -> dict[int, tuple[float, float]]:
        """The two roots, in order, of quadratic equations in one entry."""
        found: dict[int, tuple[float, float]] = {}
        for row in self.zero:
            if len(row.terms) > FEW_TERMS:
                continue
            products = [(c, self._factors(column)) for column, c in row.terms]
            entries = {j for _, factors in products for f in factors for j, _ in f.terms}
            if len(entries) != 1 or max(entries) >= self.terms.size:
                continue
            polynomial, sizes = np.array([0.0, 0.0, row.constant]), np.zeros(3)
            for coefficient, factors in products:
                product = np.array([coefficient])
                for factor in factors:
                    product = np.polymul(product, [factor.terms[0][1], factor.constant])
                polynomial = np.polyadd(polynomial, product)
                sizes = np.polyadd(sizes, np.abs(product))
            a, b, c = polynomial
            discriminant = b * b - 4 * a * c
            is_quadratic = abs(a) > ROUNDING * sizes[0]
            if is_quadratic and discriminant > APART * (b * b + abs(4 * a * c)):
                far = -0.5 * (b + np.copysign(np.sqrt(discriminant), b))  # no terms cancel
                low, high = sorted((float(far / a), float(c / far)))
                found[entries.pop()] = low, high
        return found

    def _factors(self, column: int) -> tuple[Row, ...]:
        """The rows whose product the column is: itself unless it is a square or a product."""
        if column < self.terms.size:
            return (self.terms.variable(column),)
        operation, args = self.terms.operations[column - self.terms.size]
        if isinstance(operation, Product):
            return args
        return args * 2 if operation == Power(2) else (self.terms.variable(column),)

    def _narrow(self) -> None:
        """Tighten the bounds of the variables by the constraints."""
        for j, (low, high) in self.roots.items():
            away = FEASIBLE * (high - low)
            self.lo[j], self.hi[j] = max(self.lo[j], low - away), min(self.hi[j], high + away)
        propagate(self.lo, self.hi, self._rows())
        self._round_whole(self.lo, self.hi)
        self._mend()
        if np.any(self.lo > self.hi) or not self._has_wild_columns():
            return
        inner = np.clip(np.zeros(self.lo.size), self.lo, self.hi)
        places = np.arange(self.lo.size)
        self.lo, self.hi = first_box(self.lo, self.hi, inner, places, self.is_empty)
        self._round_whole(self.lo, self.hi)

    def _rows(self) -> list[Row]:
        """The constraints as rows that are at most 0."""
        return self.below + self.zero + [-row for row in self.zero]

    def better(self, lo: Array, hi: Array, value: float) -> tuple[Array, Array]:
        """Bounds of all columns, tightened by the rows where F is below a value."""
        tight = lo.copy(), hi.copy()
        propagate(*tight, [*self._rows(), self.objective - value])
        return (lo, hi) if np.any(tight[0] > tight[1]) else tight

    def _mend(self) -> None:
        """Replace bounds that cross by less than FEASIBLE by their mean."""
        for j in np.flatnonzero(self.lo > self.hi):
            lo, hi = self.lo[j], self.hi[j]
            if lo - hi <= FEASIBLE * max(abs(lo), abs(hi)):
                self.lo[j] = self.hi[j] = 0.5 * (lo + hi)

    def _has_wild_columns(self) -> bool:
        """True if a term has an infinite range on the box, or one far beyond its usual sizes."""
        used = list(self.uses)
        ranges = self.terms.ranges(self.lo[None], self.hi[None])
        largest = np.maximum(np.abs(ranges.lo[0]), np.abs(ranges.hi[0]))[used]
        seen = np.abs(self.columns(self.samples()).lo[:, used])
        seen[:, np.all(seen == 0, axis=0)] = np.inf
        with np.errstate(invalid="ignore"):
            usual = np.nanquantile(np.where(seen > 0, seen, np.nan), 0.25, axis=0)
            return bool(np.any(np.isinf(largest) | (largest > WILD * usual)))

    def is_empty(self, lo: Array, hi: Array) -> npt.NDArray[np.bool_]:
        """True for boxes of shape (boxes, p) or (boxes, columns) without feasible points.

        Only ranges are used: False does not mean that there is a feasible point.
        """
        return self._is_empty(self.terms.ranges(lo, hi))

    def is_worse(self, lo: Array, hi: Array, value: float) -> npt.NDArray[np.bool_]:
        """True for boxes without a feasible point at which F is below a value."""
        ranges = self.terms.ranges(lo, hi)
        return self._is_empty(ranges) | (ranges.of(self.objective)[0] >= value)

    def _is_empty(self, ranges: Ranges) -> npt.NDArray[np.bool_]:
        gone = ranges.empty.copy()
        for row in self._rows():
            if row.is_constant:
                continue  # its terms cancel, and the constant may be rounding error
            low, terms = row.least(ranges.lo, ranges.hi)
            with np.errstate(invalid="ignore"):
                gone |= low > FEASIBLE * terms
        return gone

    def _uses(self) -> dict[int, int]:
        uses = dict.fromkeys(range(self.terms.size), 0)

        def note(rows: Iterable[Row]) -> None:
            for row in rows:
                for j, _ in row.terms:
                    uses[j] = uses.get(j, 0) + 1

        note([self.objective, *self.below, *self.zero])
        for j, operation, args in reversed(list(self.terms.terms())):
            if j in uses:
                note(args * operation.uses)
        return uses

    def is_of(self, problem: cp.Problem, box: tuple[Array, Array] | None) -> bool:
        """True if it was made from this problem and box, and no Parameter has changed since."""
        one, other = (() if b is None else b for b in (box, self.box))
        if self.problem is not problem or not np.array_equal(one, other):
            return False
        now = _parameter_values(problem)
        moved = not all(np.array_equal(now[key], known) for key, known in self._parameters.items())
        return not moved and np.array_equal(self._edges(), self._declared)

    # ------------------------------------------------------------------------------------------
    # points

    def samples(
        self, count: int = SAMPLES, lo: Array | None = None, hi: Array | None = None
    ) -> Array:
        """Random points of the box, uniform between finite bounds, else normal."""
        rng = np.random.default_rng(0)
        lo, hi = self.lo if lo is None else lo, self.hi if hi is None else hi
        with np.errstate(invalid="ignore"):
            drawn = lo + rng.random((count, lo.size)) * (hi - lo)
        size = np.abs(rng.normal(size=drawn.shape))
        drawn = np.where(np.isinf(hi) & np.isfinite(lo), lo + size, drawn)
        drawn = np.where(np.isinf(lo) & np.isfinite(hi), hi - size, drawn)
        drawn = np.where(np.isinf(lo) & np.isinf(hi), rng.normal(size=drawn.shape), drawn)
        return np.where(self.whole, np.clip(np.round(drawn), lo, hi), drawn)

    def values(self, x: Array) -> tuple[Array, Array]:
        """The objective and the largest violation at points, computed from the rows.

        Violations are relative to the median size of a row's terms over these points: relative to
        its size at the point itself, a row of one term would miss by 1 wherever it is not 0.

        Parameters
        ----------
        x : array of shape (points, p)

        Returns
        -------
        value, missed : arrays of shape (points,)
            Infinite outside the domain.
        """
        columns = self.columns(x)
        value, missed = columns.of(self.objective)[0], np.zeros(x.shape[0])
        for rows, equal in ((self.below, False), (self.zero, True)):
            for row in rows:
                found, _ = columns.of(row)
                terms = np.median(columns.size(row)) + np.finfo(float).tiny
                excess = np.abs(found) if equal else np.maximum(found, 0.0)
                with np.errstate(over="ignore"):
                    missed = np.fmax(missed, excess / terms)
        missed[columns.empty | ~np.isfinite(value)] = np.inf
        return np.where(np.isnan(value), np.inf, value), missed

    def _learn(self) -> None:
        """Learn the usual sizes of the constraints' terms, for points at which they vanish."""
        with self.untouched():
            for k, x in enumerate(self.samples()[:FEW_SAMPLES]):
                self.points.load(x)
                self._feasibility.learn([Values()], narrower=k > 0)

    @contextmanager
    def untouched(self) -> Iterator[None]:
        """A context that restores the user's variables and the problem's fields."""
        fields = self.problem._value, self.problem._status
        try:
            with values_kept(self.points.variables):
                yield
        finally:
            self.problem._value, self.problem._status = fields

    def at(self, x: Array) -> Point:
        """The value and the violation at a point, of the user's own expressions."""
        x = np.where(self.whole, np.round(x), x)
        with self.untouched():
            self.points.load(x)
            values = Values()
            value = float(values.array(self._objective).ravel()[0])
            missed = self._feasibility.all(values).relative
            scale = float(np.max(values.magnitude(self._objective)))
        if self.box is not None and not np.all((x >= self.box[0]) & (x <= self.box[1])):
            missed = np.inf
        return Point(x, value if not np.isnan(value) else np.inf, scale, missed)

    def is_defined(self, x: Array) -> bool:
        """True if cvxpy's values of the objective and the constraints' sides at x are finite.

        :meth:`at` counts arguments of roots and logarithms that are negative by rounding as 0.
        """
        sides = [arg for c in self._demands for arg in c.args]
        with self.untouched(), np.errstate(all="ignore"):
            self.points.load(x)
            values = [arg.value for arg in (self._objective, *sides)]
        return all(np.all(np.isfinite(dense(value))) for value in values)

    def violation(self, x: Array) -> float:
        """The largest violation of a constraint at a point."""
        with self.untouched():
            self.points.load(x)
            return self._feasibility.all(Values()).absolute

    def columns(self, x: Array) -> Ranges:
        """The values of all columns at points, of shape (points, p)."""
        return self.terms.ranges(x, x)

    def coordinate_sizes(self, x: Array) -> Array:
        """The sizes of a point's entries, at least a share of the distance of their bounds."""
        widest = np.where(np.isfinite(self.hi - self.lo), self.hi - self.lo, 1.0)
        return np.maximum(np.maximum(np.abs(x), LEAST_SIZE * widest), np.finfo(float).tiny)

    @cached_property
    def asked(self) -> tuple[list[Row], npt.NDArray[np.bool_], Array]:
        """The rows with variables, a mask of the equations, and the least sizes of their terms."""
        zero = [row for row in self.zero if not row.is_constant]
        rows = [*zero, *(row for row in self.below if not row.is_constant)]
        usual = np.median(_values(self, rows, self.samples())[1], axis=0)
        return rows, np.arange(len(rows)) < len(zero), LEAST_SIZE * usual

    def name(self, place: int) -> str:
        """The name of the variable and the entry at a place, for messages."""
        start = 0
        for variable in self.points.variables:
            if place < start + variable.size:
                entry = "" if variable.size == 1 else f" (entry {place - start})"
                return f"{variable.name()}{entry}"
            start += variable.size
        return "a variable"


def _is_wrong(constraint: cp.Constraint) -> bool:
    """True if a constraint without variables is violated by a share FEASIBLE of its size."""
    missed = np.max(np.asarray(constraint.violation(), dtype=float), initial=0.0)
    size = max(np.max(np.abs(dense(arg.value)), initial=0.0) for arg in constraint.args)
    return not missed <= FEASIBLE * size


def _entries(variable: cp.Variable, kind: str) -> npt.NDArray[np.bool_]:
    """The entries of a variable that are integer, or boolean."""
    flag = np.zeros(variable.size, dtype=bool)
    if variable.size and variable.attributes[kind]:
        shape = max(variable.shape, (1,))
        flag[np.ravel_multi_index(getattr(variable, f"{kind}_idx"), shape, order="F")] = True
    return flag.reshape(variable.shape, order="F")


def whole_entries(variable: cp.Variable) -> npt.NDArray[np.bool_]:
    """The entries of a variable that must be whole numbers."""
    return _entries(variable, "integer") | _entries(variable, "boolean")


def _bounds(variable: cp.Variable) -> tuple[Array, Array]:
    """The lower and upper bounds of a variable's entries, 0 and 1 for boolean ones."""
    low, high = declared_bounds(variable, moving=True)
    flag = _entries(variable, "boolean")
    return np.where(flag, np.fmax(low, 0.0), low), np.where(flag, np.fmin(high, 1.0), high)


def _parameter_values(problem: cp.Problem) -> dict[int, Array]:
    return {p.id: dense(p.value).copy() for p in problem.parameters()}


# ----------------------------------------------------------------------------------------------
# points moved to the constraints


def restored(problem: FactorableProblem, x: Array) -> Array:
    """The point that Gauss–Newton steps reach from x, towards the constraints x violates.

    Parameters
    ----------
    problem : FactorableProblem
    x : array of shape (p,)
        Entries that must be whole numbers stay as they are.

    Returns
    -------
    array of shape (p,)
        The point reached; x itself if no step reduces the violation.
    """
    with np.errstate(all="ignore"):
        return _restored(problem, x)


def _restored(problem: FactorableProblem, x: Array) -> Array:
    rows, equal, usual = problem.asked
    active = equal.copy()
    size = problem.coordinate_sizes(x)
    best, least, unit = x, np.inf, None
    for _ in range(SWEEPS):  # steps converge quadratically, or not at all
        value, terms = (found[0] for found in _values(problem, rows, x[None]))
        terms = np.maximum(terms, usual)
        if unit is None:  # of the first point: the terms may vanish where they meet a constraint
            unit = np.where(terms > 0, terms, 1.0)
        missed = np.where(equal, np.abs(value), np.maximum(value, 0.0))
        worst = float(np.max(missed / unit, initial=0.0))
        near = value > -LEAST_SIZE * terms  # no step may lead far beyond those that hold
        if worst < least:
            best, least = x, worst
        elif not np.any(near & ~active):
            break
        active |= near
        if np.all(missed <= ROUNDING * terms):
            break
        # violated inequalities are aimed slightly inside
        aim = value[active] + np.where(equal[active], 0.0, ROUNDING * terms[active])
        held = [r for r, a in zip(rows, active, strict=True) if a]
        x = _step(problem, held, equal[active], x, size, aim)
    return best


# Distances from 0, as shares of their terms, to which arguments of roots and logarithms are moved.
# A root is steep there, so the smallest distance that suffices is taken.
DEPTHS = (0.0, LAST_PLACES, ROUNDING)


def inside(problem: FactorableProblem, x: Array) -> list[Array]:
    """Points near x at which the arguments of roots and logarithms are at least 0.

    They are so to first order: rounding decides.

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
        equal = np.zeros(len(rows), dtype=bool)
        return [_step(problem, rows, equal, x, size, aim) for aim in aims] if rows else []


def _step(
    problem: FactorableProblem,
    rows: list[Row],
    equal: npt.NDArray[np.bool_],
    x: Array,
    size: Array,
    aim: Array,
) -> Array:
    """The point after the shortest step that lowers the rows by `aim` or more, to first order.

    Equations are lowered by `aim` itself.
    """
    free = ~problem.whole & (problem.lo < problem.hi)
    slopes = _slopes(problem, rows, x, size)
    for _ in range(x.size + 1):
        move = np.zeros(x.size)
        moves = slopes[:, free] * size[free]
        if not (np.all(np.isfinite(moves)) and np.all(np.isfinite(aim)) and np.any(free)):
            return x
        move[free] = size[free] * _shortest(moves, equal, aim)
        outward = free & ((x + move < problem.lo) | (x + move > problem.hi))
        stuck = outward & (np.clip(x + move, problem.lo, problem.hi) == x)
        if not np.any(stuck):
            break
        free &= ~stuck
    return np.clip(x + move, problem.lo, problem.hi)


def _shortest(slopes: Array, equal: npt.NDArray[np.bool_], aim: Array) -> Array:
    """The shortest z with slopes·z = −aim in equations and at most that elsewhere.

    Least squares of all as equations where there is none, but for rounding.

    References
    ----------
    Lawson and Hanson (1974), Solving least squares problems, chapter 23 (least distance).
    """
    plain = np.asarray(np.linalg.lstsq(slopes, -aim, rcond=KNOWN_DIGITS)[0], dtype=float)
    largest, norms = np.max(np.abs(aim)), np.linalg.norm(slopes, axis=1)
    if np.all(equal) or largest == 0:
        return plain
    rows = np.column_stack([-slopes, aim / largest])[norms > 0] / norms[norms > 0, None]
    rows = np.vstack([rows, -rows[equal[norms > 0]]])
    if not np.all(np.isfinite(rows)):
        return plain
    top = np.append(np.zeros(plain.size), 1.0)
    # scipy 1.17's nnls frees memory twice where slopes are near the smallest numbers
    weights = lsq_linear(rows.T, top, (0, np.inf), method="bvls", tol=ROUNDING).x
    short: Array = rows.T @ weights
    height = 1 - short[-1]
    return largest * short[:-1] / height if height > KNOWN_DIGITS else plain


def _values(problem: FactorableProblem, rows: list[Row], x: Array) -> tuple[Array, Array]:
    """The rows at points, and the sums of the absolute values of their terms."""
    columns, none = problem.columns(x), np.empty((0, x.shape[0]))
    value = np.array([columns.of(row)[0] for row in rows] or none)
    return value.T, np.array([columns.size(row) for row in rows] or none).T


def _slopes(problem: FactorableProblem, rows: list[Row], x: Array, size: Array) -> Array:
    """The Jacobian of the rows by central differences, one line per row."""
    steps = np.diag(DIFFERENCE * size)
    above, _ = _values(problem, rows, x + steps)
    below, _ = _values(problem, rows, x - steps)
    return np.asarray(((above - below) / (2 * DIFFERENCE * size)[:, None]).T)
