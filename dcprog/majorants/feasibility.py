"""Violations of the constraints of a cvxpy problem at points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.arrays import dense
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


@dataclass
class _Demand:
    """A constraint, the attributes of a variable or an e ≤ 0, and the size of its terms.

    Attributes
    ----------
    violation : function of Values
        The largest violation of an entry.
    sides : sequence of cvxpy expressions
        The largest absolute value of their entries is a size.
    expression : cvxpy expression, optional
        The size of its terms counts too, and its constants are a size at every point.
    least : float or None
        The size around the start of a run; None before it is learnt.
    """

    violation: Callable[[Values], float]
    sides: Sequence[Any]
    expression: cp.Expression | None = None
    least: float | None = None
    _constant: float | None = None

    @staticmethod
    def of(constraint: Any) -> _Demand:
        """The demand of a convex constraint."""
        violation = partial(_residual, constraint)
        if isinstance(constraint, cp.constraints.Inequality | Equality | Zero):
            return _Demand(violation, [constraint.expr], constraint.expr)
        return _Demand(violation, constraint.args)

    def size(self, values: Values) -> float:
        """The size of the terms at a point."""
        sizes = [np.abs(values.array(side)) for side in self.sides]
        if self.expression is not None:
            sizes.append(values.magnitude(self.expression))
        return max((_largest(np.where(np.isfinite(s), s, 0.0)) for s in sizes), default=0.0)

    @property
    def constant(self) -> float:
        """The size of the constants; 0 if there are none."""
        if self._constant is None:
            self._constant = 0.0
            if self.expression is not None:
                self._constant = _largest(Values().magnitude(self.expression, of_constants=True))
        return self._constant

    def forget(self) -> None:
        """Forget the size of the constants: Parameters change between runs."""
        self._constant = None

    def missed(self, values: Values) -> Miss:
        """The violation at a point."""
        worst = self.violation(values)
        if worst == 0:
            return Miss()
        if not np.isfinite(worst):  # outside a domain
            return Miss(np.inf, np.inf)
        size = max(self.size(values), self.constant or LEAST_SIZE * (self.least or 0.0))
        return Miss(worst, worst / (size or 1.0))


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
    sizes : list of float
        Sizes of the nonconvex constraints, as last learnt.
    """

    def __init__(
        self,
        convex: Sequence[cp.Constraint],
        nonconvex: Sequence[cp.Expression],
        variables: Sequence[cp.Variable],
    ) -> None:
        bounded = [v for v in variables if any(v.attributes.values())]
        self._convex = [_Demand.of(c) for c in convex]
        self._convex += [_Demand(partial(_outside, v), [v]) for v in bounded]
        self._nonconvex = [_Demand(partial(_excess, e), [e], e) for e in nonconvex]

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
        for demand in (*self._convex, *self._nonconvex):
            demand.forget()
        for k, values in enumerate(points):
            for demand in learning:
                if k == 0:
                    demand.least = demand.size(values)
                elif demand.constant == 0:  # else one point is enough: its constant sets its size
                    demand.least = max(demand.least or 0.0, demand.size(values))
        for demand, size in zip(learning, before, strict=True):
            if narrower and size is not None:
                known = max(demand.least or 0.0, LEAST_SIZE * size)
                demand.least = min(size, known) or size

    def extend(self, values: Values) -> None:
        """Learn from a point of the run the sizes of constraints that were 0 around its start."""
        for demand in (*self._convex, *self._nonconvex):
            if demand.least == 0:
                demand.least = demand.size(values)

    @property
    def sizes(self) -> list[float]:
        """The sizes of the nonconvex constraints' terms around the start; 1 if they are 0."""
        return [demand.least or 1.0 for demand in self._nonconvex]

    def convex(self, values: Values) -> Miss:
        """The largest violation of convex constraints and declared attributes."""
        return reduce(or_, (demand.missed(values) for demand in self._convex), Miss())

    def nonconvex(self, values: Values) -> Miss:
        """The largest violation of the nonconvex constraints."""
        return reduce(or_, (demand.missed(values) for demand in self._nonconvex), Miss())

    def all(self, values: Values) -> Miss:
        """The largest violation of all constraints and attributes."""
        return self.convex(values) | self.nonconvex(values)


# Entries of a vector whose sizes differ by more than this factor are constraints of their own.
APART = 1e3
TRIED = 4  # points: at one of them an entry's terms are of their usual size


def of_one_size(expression: cp.Expression) -> list[npt.NDArray[np.intp] | None]:
    """Groups of entries whose terms are of about one size; None stands for all entries.

    A violation counts relative to a constraint's largest entry, which hides those of entries that
    are far smaller, as in ``[1e6, 1e-6] * x <= [1e6, 1e-6]``.

    Parameters
    ----------
    expression : cvxpy expression
        Compared with 0 in a constraint. Sizes are measured at a few points of size 1.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> x = cp.Variable(3)
    >>> of_one_size(x - 1), of_one_size(cp.multiply([1e6, 1e-6, 1], x))
    ([None], [array([0]), array([2]), array([1])])
    """
    if expression.size < 2:
        return [None]
    sizes = np.max([_usual(v, expression) for v in _points_tried(expression)], axis=0)
    most = np.max(sizes)
    if not np.any((sizes > 0) & (sizes < most / APART)):
        return [None]
    steps = np.floor(np.log(most / np.where(sizes > 0, sizes, most)) / np.log(APART))
    return [np.flatnonzero(steps == step) for step in np.unique(steps)]


def _points_tried(expression: cp.Expression) -> Iterator[Values]:
    """Values at random points whose entries have sizes between 1/2 and 1; half are positive."""
    rng, variables = np.random.default_rng(0), expression.variables()
    with values_kept(variables):
        for k in range(TRIED):
            for variable in variables:
                x = rng.uniform(0.5, 1.0, variable.shape)
                variable.save_value(x if k % 2 else x * rng.choice([-1.0, 1.0], variable.shape))
            yield Values()


def _usual(values: Values, expression: cp.Expression) -> npt.NDArray[Any]:
    """The sizes of the entries' terms; 0 where the point is outside a domain."""
    try:
        with np.errstate(all="ignore"):
            return np.ravel(values.magnitude(expression), order="F")
    except (ValueError, ArithmeticError):
        return np.zeros(expression.size)


def entries(expression: cp.Expression, places: npt.NDArray[np.intp] | None) -> cp.Expression:
    """The entries of a group, as a vector; the expression itself if they are all of them."""
    return expression if places is None else cp.vec(expression, order="F")[places]


def parts_of_one_size(
    constraint: cp.Constraint,
) -> list[tuple[cp.Constraint, npt.NDArray[np.intp] | None]]:
    """A constraint as constraints on groups of entries of about one size, with their places."""
    compared = cp.constraints.Inequality, Equality, Zero, cp.NonNeg
    groups = of_one_size(constraint.expr) if isinstance(constraint, compared) else [None]
    if len(groups) == 1:
        return [(constraint, None)]
    parts = [entries(constraint.expr, places) for places in groups]
    if isinstance(constraint, cp.NonNeg):
        made = [cp.NonNeg(part) for part in parts]
    elif isinstance(constraint, cp.constraints.Inequality):
        made = [part <= 0 for part in parts]
    else:
        made = [part == 0 for part in parts]
    return list(zip(made, groups, strict=True))


def _excess(expression: cp.Expression, values: Values) -> float:
    """The largest entry of an expression that should be at most 0."""
    return _largest(np.maximum(values.array(expression), 0.0))


def _residual(constraint: cp.Constraint, values: Values) -> float:
    """The largest entry of a convex constraint's violation."""
    if isinstance(constraint, cp.constraints.Inequality | cp.NonPos):
        return _excess(constraint.expr, values)
    if isinstance(constraint, Equality | Zero):
        return _largest(np.abs(values.array(constraint.expr)))
    args = [values.array(arg) for arg in constraint.args]
    if any(np.any(np.isnan(arg)) for arg in args):
        return np.inf
    if isinstance(constraint, cp.NonNeg):
        return _largest(np.maximum(-args[0], 0.0))
    if isinstance(constraint, cp.constraints.SOC):
        return _largest(np.maximum(np.linalg.norm(args[1], axis=constraint.axis) - args[0], 0.0))
    try:
        return _largest(np.asarray(constraint.violation(), dtype=float))
    except Exception:  # shapes that a cone's projection does not expect
        return np.inf


def _outside(variable: cp.Variable, values: Values) -> float:
    return distance_to_attributes(variable)


def distance_to_attributes(variable: cp.Variable) -> float:
    """The largest violation of a variable's declared attributes (nonneg, PSD, bounds …).

    cvxpy's own ``project`` leaves a value as it is if a variable has two attributes, or bounds
    that hold Parameters.
    """
    attributes = variable.attributes
    value = dense(variable.value)
    away = [0.0]
    if attributes["nonneg"] or attributes["pos"]:
        away.append(_largest(-value))
    if attributes["nonpos"] or attributes["neg"]:
        away.append(_largest(value))
    if attributes["bounds"] is not None:
        lower, upper = (b.value if isinstance(b, cp.Expression) else b for b in variable.bounds)
        away += [_largest(lower - value), _largest(value - upper)]
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
