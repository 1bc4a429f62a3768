"""How far points miss the constraints of a cvxpy problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.arrays import Array, dense
from dcprog.majorants.tree import Values, constants

__all__ = ["Feasibility", "Miss"]


@dataclass(frozen=True)
class Miss:
    """By how much constraints are missed: the worst entry, and the worst against its terms."""

    absolute: float = 0.0
    relative: float = 0.0

    def __or__(self, other: Miss) -> Miss:
        """The worse of two."""
        return Miss(max(self.absolute, other.absolute), max(self.relative, other.relative))


# Where the terms of a constraint vanish at a point, they count with that share of what they were.
LEAST_SIZE = 1e-3


class Feasibility:
    """How far points miss constraints, each measured against what its terms add up to.

    ``x >= 0`` has no term left at x = 0: then what its terms were around the start of the run
    counts, a thousandth of it. So the verdict has no unit.

    Parameters
    ----------
    convex : sequence of cvxpy constraints
    nonconvex : sequence of cvxpy expressions
        e, of which e ≤ 0 is asked.
    variables : sequence of cvxpy variables
        With the attributes they were declared with.

    Attributes
    ----------
    sizes : list of float
        Of the nonconvex constraints, as last learnt.
    """

    def __init__(
        self,
        convex: Sequence[cp.Constraint],
        nonconvex: Sequence[cp.Expression],
        variables: Sequence[cp.Variable],
    ) -> None:
        self._convex = convex
        self._nonconvex = nonconvex
        self._bounded = [v for v in variables if any(v.attributes.values())]
        self._least: dict[int, float] = {}
        self._constants: dict[int, float] = {}  # they may be Parameters, which move between runs

    def learn(
        self, points: Iterable[Values], *, narrower: bool = False, convex: bool = True
    ) -> None:
        """Remember the sizes of the terms at these points.

        Parameters
        ----------
        points : iterable of Values
            Each is used before the next one is asked for: they share the variables.
        narrower : bool, default False
            Keep what was learnt before where that is smaller.
        convex : bool, default True
            False: the sizes of convex constraints stay as they are.
        """
        before, self._least, self._constants = self._least, {}, {}
        fixed: set[int] = set()
        for values in points:
            for item in (*self._convex, *self._bounded, *self._nonconvex):
                if not convex and not isinstance(item, cp.Expression):
                    continue
                known = self._least.get(id(item), 0.0)
                if id(item) not in fixed:
                    self._least[id(item)] = max(known, _size(item, values))
                if self._constant(item) > 0:  # that is its size, wherever a point is moved to
                    fixed.add(id(item))
        if not convex:
            self._least = {**before, **self._least}
        if narrower:
            for key, size in before.items():
                self._least[key] = min(size, max(self._least[key], LEAST_SIZE * size)) or size

    def extend(self, values: Values) -> None:
        """Take sizes from a point of the run for what vanished all around its start."""
        for item in (*self._convex, *self._bounded, *self._nonconvex):
            if self._least.get(id(item)) == 0:
                self._least[id(item)] = _size(item, values)

    @property
    def sizes(self) -> list[float]:
        """Sums of the absolute terms of the nonconvex constraints around the start."""
        return [self._least.get(id(e), 0.0) or 1.0 for e in self._nonconvex]

    def convex(self, values: Values) -> Miss:
        """How far convex constraints and declared attributes are missed."""
        misses = [self._judged(c, _residual(c, values), values) for c in self._convex]
        misses += [self._judged(v, distance_to_attributes(v), values) for v in self._bounded]
        return reduce(or_, misses, Miss())

    def nonconvex(self, values: Values) -> Miss:
        """How far the other ones are missed."""
        return reduce(
            or_,
            (
                self._judged(e, _largest(np.maximum(values.array(e), 0.0)), values)
                for e in self._nonconvex
            ),
            Miss(),
        )

    def all(self, values: Values) -> Miss:
        """Both."""
        return self.convex(values) | self.nonconvex(values)

    def _constant(self, item: Any) -> float:
        """The sum of the absolute constants of a constraint's expression; 0 if it has none."""
        if id(item) not in self._constants:
            expression = item if isinstance(item, cp.Expression) else _expression(item)
            known = isinstance(expression, cp.Expression) and not isinstance(item, cp.Variable)
            self._constants[id(item)] = _largest(constants(expression)) if known else 0.0
        return self._constants[id(item)]

    def _judged(self, item: Any, worst: float, values: Values) -> Miss:
        if worst == 0:
            return Miss()
        if not np.isfinite(worst):  # outside a domain
            return Miss(np.inf, np.inf)
        learnt = LEAST_SIZE * self._least.get(id(item), 0.0)
        size = max(_size(item, values), self._constant(item) or learnt)
        return Miss(worst, worst / (size or 1.0))


def _residual(constraint: cp.Constraint, values: Values) -> float:
    """The worst entry by which a convex constraint is missed."""
    if isinstance(constraint, cp.constraints.Inequality):
        return _largest(np.maximum(values.array(constraint.expr), 0.0))
    if isinstance(constraint, Equality | Zero):
        return _largest(np.abs(values.array(constraint.expr)))
    args = [values.array(arg) for arg in constraint.args]
    if any(np.any(np.isnan(arg)) for arg in args):
        return np.inf
    if isinstance(constraint, cp.constraints.NonNeg | cp.constraints.NonPos):
        sign = -1 if isinstance(constraint, cp.constraints.NonNeg) else 1
        return _largest(np.maximum(sign * args[0], 0.0))
    if isinstance(constraint, cp.constraints.SOC):
        return _largest(np.maximum(np.linalg.norm(args[1], axis=constraint.axis) - args[0], 0.0))
    try:
        return _largest(np.asarray(constraint.violation(), dtype=float))
    except Exception:  # shapes that a cone's projection does not expect
        return np.inf


def _size(item: Any, values: Values) -> float:
    """The sum of the absolute terms of a constraint, an expression or a variable's entries."""
    if isinstance(item, cp.Variable):
        terms: list[Any] = [np.abs(values.array(item))]
    elif isinstance(item, cp.Expression):
        terms = [values.magnitude(item), np.abs(values.array(item))]
    elif isinstance(item, cp.constraints.Inequality | Equality | Zero):
        terms = [values.magnitude(item.expr), np.abs(values.array(item.expr))]
    else:
        terms = [np.abs(values.array(arg)) for arg in item.args]
    sizes = [_largest(np.where(np.isfinite(t), t, 0.0)) for t in terms]
    return max(sizes, default=0.0)


def _expression(constraint: Any) -> Any:
    """Of an inequality or an equation; None for a cone."""
    kinds = cp.constraints.Inequality | Equality | Zero
    return constraint.expr if isinstance(constraint, kinds) else None


def distance_to_attributes(variable: cp.Variable) -> float:
    """How far a variable's value is from what it was declared to be (nonneg, PSD, bounds …).

    cvxpy's own ``project`` leaves a value as it is where a variable has two attributes, or bounds
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
        away += _wrong_eigenvalues(value, attributes)
    return np.inf if np.any(np.isnan(value)) else max(away)


def _wrong_eigenvalues(value: Array, attributes: Mapping[str, Any]) -> list[float]:
    if not (attributes["PSD"] or attributes["NSD"]) or not np.all(np.isfinite(value)):
        return []
    eigenvalues = np.linalg.eigvalsh((value + value.T) / 2)
    return [_largest(-eigenvalues if attributes["PSD"] else eigenvalues)]


def _largest(array: npt.NDArray[Any]) -> float:
    """The largest entry, at least 0; infinite where one is NaN."""
    largest = float(np.max(array, initial=0.0))
    return np.inf if np.isnan(largest) else largest
