"""Violations of the constraints of a cvxpy problem at points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.arrays import Array, dense, unvec, vec
from dcprog.foundation.kept_values import values_kept
from dcprog.majorants.tree import Values


@dataclass(frozen=True)
class Miss:
    """The largest violation of constraints: absolute, and relative to the size of their terms."""

    absolute: float = 0.0
    relative: float = 0.0

    def __or__(self, other: Miss) -> Miss:
        """The larger of two violations, absolute and relative each."""
        return Miss(max(self.absolute, other.absolute), max(self.relative, other.relative))


# Terms that vanish at a point count with this share of their usual size, around the start of a run
# or over a box.
LEAST_SIZE = 1e-3
# Entries whose usual sizes differ by more than this factor are not compared.
APART = 1e3
TRIED = 4  # points of size 1 at which usual sizes are measured


class _Demand:
    """Entries that have to meet a constraint: their violations, and the sizes of their terms.

    The violation of an entry counts relative to the largest size in its group, the entries of about
    one usual size: beside ``1e6 * x[0] <= 1e6``, any x[1] would meet ``1e-6 * x[1] <= 2e-6``.
    Arrays are flat, column by column.

    Attributes
    ----------
    least : array
        Sizes around the start of a run; 0 before they are learnt.
    """

    def __init__(self, variables: Sequence[cp.Variable], n: int) -> None:
        self._variables = variables
        self._n = n
        self.least = np.zeros(n)
        self.forget()

    def violation(self, values: Values) -> Array:
        """The violations of the entries."""
        raise NotImplementedError

    def terms(self, values: Values) -> Array:
        """The sizes of the entries' terms."""
        raise NotImplementedError

    def constants(self) -> Array:
        """The sizes of the entries' constants."""
        return np.zeros(self._n)

    def forget(self) -> None:
        """Forget the groups and the constants: Parameters have changed."""
        self._groups: list[Any] | None = None
        self._constant: Array | None = None

    def size(self, values: Values) -> Array:
        """For each entry, the largest size in its group."""
        return self._in_groups(self.terms(values))

    @property
    def constant(self) -> Array:
        """For each entry, the largest constant in its group; 0 if there are none."""
        if self._constant is None:
            self._constant = self._in_groups(self.constants())
        return self._constant

    def missed(self, values: Values) -> Miss:
        """The violation at a point."""
        worst = self.violation(values)
        if not np.any(worst):
            return Miss()
        if not np.all(np.isfinite(worst)):  # outside a domain
            return Miss(np.inf, np.inf)
        least = np.where(self.constant > 0, self.constant, LEAST_SIZE * self.least)
        size = np.maximum(self.size(values), least)
        return Miss(_largest(worst), _largest(worst / np.where(size > 0, size, 1.0)))

    def _in_groups(self, sizes: Array) -> Array:
        """For each entry, the largest of these sizes in its group."""
        if self._groups is None:
            self._groups = _of_one_size(self._usual()) if self._n > 1 else [slice(None)]
        largest = np.empty(self._n)
        for group in self._groups:
            largest[group] = _largest(sizes[group])
        return largest

    def _usual(self) -> Array:
        """The sizes of the entries at points of size 1; where these are outside a domain, here."""
        here = self._tried(Values())
        usual = np.max([self._tried(v) for v in _points_tried(self._variables)], axis=0)
        return np.where(usual > 0, usual, here) + self.constants()

    def _tried(self, values: Values) -> Array:
        """The sizes of the entries' terms; 0 outside a domain."""
        try:
            with np.errstate(all="ignore"):
                return self.terms(values)
        except (ValueError, ArithmeticError):
            return np.zeros(self._n)


class _Entries(_Demand):
    """An expression's entries are to be ≤ 0, ≥ 0 or 0.

    Parameters
    ----------
    expression : cvxpy expression
    excess : function
        The violations, of the entries' values.
    """

    def __init__(self, expression: cp.Expression, excess: Callable[[Array], Array]) -> None:
        super().__init__(expression.variables(), expression.size)
        self.expression = expression
        self._excess = excess

    def violation(self, values: Values) -> Array:
        """The violations of the entries."""
        return self._excess(vec(values.array(self.expression)))

    def terms(self, values: Values) -> Array:
        """The sums of the absolute values of the entries' terms."""
        terms = vec(values.magnitude(self.expression))
        return np.maximum(_size(vec(values.array(self.expression))), terms)

    def constants(self) -> Array:
        """The sums of the absolute values of the entries' constants."""
        return vec(Values().magnitude(self.expression, of_constants=True))


class _SecondOrderCones(_Demand):
    """Norms of columns or rows of X are to be ≤ the entries of t."""

    def __init__(self, cones: Any) -> None:
        super().__init__(cones.variables(), cones.args[0].size)
        self._cones = cones

    def violation(self, values: Values) -> Array:
        """The violation of each cone."""
        t, X = (values.array(arg) for arg in self._cones.args)
        return _above(vec(np.linalg.norm(X, axis=self._cones.axis)) - vec(t))

    def terms(self, values: Values) -> Array:
        """The largest absolute value in each cone."""
        t, X = (_size(values.array(arg)) for arg in self._cones.args)
        return np.maximum(vec(t), vec(np.max(X, axis=self._cones.axis, initial=0.0)))


class _Cone(_Demand):
    """Arguments are to be in a cone."""

    def __init__(self, cone: Any) -> None:
        super().__init__(cone.variables(), 1)
        self._cone = cone

    def violation(self, values: Values) -> Array:
        """The largest violation."""
        if any(np.any(np.isnan(values.array(arg))) for arg in self._cone.args):
            return np.array([np.inf])
        try:
            return np.array([_largest(np.asarray(self._cone.violation(), dtype=float))])
        except Exception:  # shapes that a cone's projection does not expect
            return np.array([np.inf])

    def terms(self, values: Values) -> Array:
        """The largest absolute value of an argument."""
        return np.array([max(_largest(_size(values.array(arg))) for arg in self._cone.args)])


class _Attributes(_Demand):
    """A variable is to have its declared attributes, apart from bounds."""

    def __init__(self, variable: cp.Variable) -> None:
        super().__init__([variable], 1)
        self._variable = variable

    def violation(self, values: Values) -> Array:
        """The largest violation."""
        return np.array([_distance_to_attributes(self._variable)])

    def terms(self, values: Values) -> Array:
        """The largest absolute value of the variable."""
        return np.array([_largest(_size(values.array(self._variable)))])


def _demand(constraint: Any) -> _Demand:
    """The demand of a convex constraint."""
    excess = next((f for kinds, f in _EXCESS.items() if isinstance(constraint, kinds)), None)
    if excess is not None:
        return _Entries(constraint.expr, excess)
    return (_SecondOrderCones if isinstance(constraint, cp.SOC) else _Cone)(constraint)


def _demands(variable: cp.Variable) -> list[_Demand]:
    """The demands of a variable's attributes and bounds."""
    lower, upper = variable.attributes["bounds"] or (None, None)
    sides = [] if lower is None else [variable >= lower, variable <= upper]
    return [_Attributes(variable), *map(_demand, sides)]


def _above(values: Array) -> Array:
    return np.maximum(values, 0.0)


def _below(values: Array) -> Array:
    return np.maximum(-values, 0.0)


_EXCESS: dict[tuple[type, ...], Callable[[Array], Array]] = {
    (cp.constraints.Inequality, cp.constraints.NonPos): _above,
    (cp.constraints.NonNeg,): _below,
    (Equality, Zero): np.abs,
}


def _of_one_size(sizes: Array) -> list[Any]:
    """Groups of entries by their sizes, in steps of ``APART`` down from the largest.

    Entries of size 0 are in the first group. If no entry is more than a step below the largest,
    there is one group, a slice.

    Examples
    --------
    >>> import numpy as np
    >>> _of_one_size(np.array([1e6, 1e-6, 1.0, 0.0]))
    [array([0, 3]), array([2]), array([1])]
    """
    decades = np.log10(np.where(sizes > 0, sizes, np.max(sizes) or 1.0))
    below = np.max(decades) - decades
    if np.all(below <= np.log10(APART)):
        return [slice(None)]
    steps = np.floor(below / np.log10(APART))
    return [np.flatnonzero(steps == step) for step in np.unique(steps)]


def _points_tried(variables: Sequence[cp.Variable]) -> Iterator[Values]:
    """Values at random points, entries of sizes from 1/2 to 1; every second point is positive."""
    rng = np.random.default_rng(0)
    with values_kept(variables):
        for k in range(TRIED):
            for variable in variables:
                x = rng.uniform(0.5, 1.0, variable.shape)
                variable.save_value(x if k % 2 else x * rng.choice([-1.0, 1.0], variable.shape))
            yield Values()


def _size(array: Array) -> Array:
    """Absolute values; 0 for those that are not finite."""
    return np.where(np.isfinite(array), np.abs(array), 0.0)


class Feasibility:
    """Violations of constraints, relative to the sum of the absolute values of their terms.

    The terms of ``x >= 0`` vanish at x = 0: then a thousandth of their size around the start of
    the run is used. So relative violations have no unit.

    Parameters
    ----------
    convex : sequence of cvxpy constraints
    nonconvex : sequence of cvxpy expressions
        The e of constraints e ≤ 0.
    variables : sequence of cvxpy variables
        Variables whose attributes (nonneg, bounds …) are constraints, too.

    Attributes
    ----------
    sizes : list of array
        Sizes of the nonconvex constraints' entries, as last learnt.
    """

    def __init__(
        self,
        convex: Sequence[cp.Constraint],
        nonconvex: Sequence[cp.Expression],
        variables: Sequence[cp.Variable],
    ) -> None:
        self._convex = [_demand(c) for c in convex]
        self._convex += [d for v in variables if any(v.attributes.values()) for d in _demands(v)]
        self._nonconvex = [_Entries(e, _above) for e in nonconvex]

    def forget(self) -> None:
        """Forget the sizes of constants and coefficients: Parameters have changed."""
        for demand in (*self._convex, *self._nonconvex):
            demand.forget()

    def learn(
        self, points: Iterable[Values], *, narrower: bool = False, convex: bool = True
    ) -> None:
        """Remember the sizes of the terms at these points.

        Parameters
        ----------
        points : iterable of Values
            Each is used before the next one is asked for: they share the variables.
        narrower : bool, default False
            Keep a size learnt before if it is smaller; no size falls below a thousandth of it.
        convex : bool, default True
            False: the sizes of convex constraints stay as they are.
        """
        learning = [*self._convex, *self._nonconvex] if convex else self._nonconvex
        before = [demand.least for demand in learning]
        for k, values in enumerate(points):
            for demand in learning:
                if k == 0:
                    demand.least = demand.size(values)
                elif not np.all(demand.constant):  # a constant sets its group's size at any point
                    least = np.maximum(demand.least, demand.size(values))
                    demand.least = np.where(demand.constant > 0, demand.least, least)
        for demand, size in zip(learning, before, strict=True):
            if narrower:
                demand.least = np.minimum(size, np.maximum(demand.least, LEAST_SIZE * size))

    def extend(self, values: Values) -> None:
        """Learn from a point of the run the sizes of constraints that were 0 around its start."""
        for demand in (*self._convex, *self._nonconvex):
            if not np.all(demand.least):
                demand.least = np.where(demand.least > 0, demand.least, demand.size(values))

    @property
    def sizes(self) -> list[Array]:
        """The sizes of the nonconvex constraints' entries around the start; 1 if they are 0."""
        return [
            unvec(np.where(demand.least > 0, demand.least, 1.0), demand.expression.shape)
            for demand in self._nonconvex
        ]

    def convex(self, values: Values) -> Miss:
        """The largest violation of convex constraints and declared attributes."""
        return reduce(or_, (demand.missed(values) for demand in self._convex), Miss())

    def nonconvex(self, values: Values) -> Miss:
        """The largest violation of the nonconvex constraints."""
        return reduce(or_, (demand.missed(values) for demand in self._nonconvex), Miss())

    def all(self, values: Values) -> Miss:
        """The largest violation of all constraints and attributes."""
        return self.convex(values) | self.nonconvex(values)


def _distance_to_attributes(variable: cp.Variable) -> float:
    """The largest violation of a variable's declared attributes (nonneg, PSD …), bounds apart.

    cvxpy's own ``project`` leaves a value as it is if a variable has two attributes.
    """
    attributes = variable.attributes
    value = dense(variable.value)
    away = [0.0]
    if attributes["nonneg"] or attributes["pos"]:
        away.append(_largest(-value))
    if attributes["nonpos"] or attributes["neg"]:
        away.append(_largest(value))
    if attributes["diag"]:
        away.append(_largest(np.abs(value - np.diag(np.diag(value)))))
    if attributes["symmetric"] or attributes["PSD"] or attributes["NSD"]:
        away.append(_largest(np.abs(value - value.T)))
    if (attributes["PSD"] or attributes["NSD"]) and np.all(np.isfinite(value)):
        eigenvalues = np.linalg.eigvalsh((value + value.T) / 2)
        away.append(_largest(-eigenvalues if attributes["PSD"] else eigenvalues))
    return np.inf if np.any(np.isnan(value)) else max(away)


def _largest(array: npt.NDArray[Any]) -> float:
    """The largest entry, at least 0; infinite where one is NaN."""
    largest = float(np.max(array, initial=0.0))
    return np.inf if np.isnan(largest) else largest
