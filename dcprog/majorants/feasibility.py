"""Violations of the constraints of a cvxpy problem at points."""

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

__all__ = ["LEAST_SIZE", "Feasibility", "Miss"]


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
        self._convex = convex
        self._nonconvex = nonconvex
        self._bounded = [v for v in variables if any(v.attributes.values())]
        self._least: dict[int, float] = {}
        self._constants: dict[int, float] = {}  # reset by learn: Parameters change between runs

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
        before, self._least, self._constants = self._least, {}, {}
        fixed: set[int] = set()
        for values in points:
            for item in (*self._convex, *self._bounded, *self._nonconvex):
                if not convex and not isinstance(item, cp.Expression):
                    continue
                known = self._least.get(id(item), 0.0)
                if id(item) not in fixed:
                    self._least[id(item)] = max(known, _size(item, values))
                if self._constant(item) > 0:  # its constant sets its size: one point is enough
                    fixed.add(id(item))
        if not convex:
            self._least = {**before, **self._least}
        if narrower:
            for key, size in before.items():
                self._least[key] = min(size, max(self._least[key], LEAST_SIZE * size)) or size

    def extend(self, values: Values) -> None:
        """Learn from a point of the run the sizes of constraints that were 0 around its start."""
        for item in (*self._convex, *self._bounded, *self._nonconvex):
            if self._least.get(id(item)) == 0:
                self._least[id(item)] = _size(item, values)

    @property
    def sizes(self) -> list[float]:
        """The sizes of the nonconvex constraints' terms around the start; 1 if they are 0."""
        return [self._least.get(id(e), 0.0) or 1.0 for e in self._nonconvex]

    def convex(self, values: Values) -> Miss:
        """The largest violation of convex constraints and declared attributes."""
        misses = [self._judged(c, _residual(c, values), values) for c in self._convex]
        misses += [self._judged(v, distance_to_attributes(v), values) for v in self._bounded]
        return reduce(or_, misses, Miss())

    def nonconvex(self, values: Values) -> Miss:
        """The largest violation of the nonconvex constraints."""
        return reduce(
            or_,
            (
                self._judged(e, _largest(np.maximum(values.array(e), 0.0)), values)
                for e in self._nonconvex
            ),
            Miss(),
        )

    def all(self, values: Values) -> Miss:
        """The largest violation of all constraints and attributes."""
        return self.convex(values) | self.nonconvex(values)

    def _constant(self, item: Any) -> float:
        """The size of the constants in a constraint's expression; 0 if it has none."""
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
    """The largest entry of a convex constraint's violation."""
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
    """The size of the terms of a constraint or an expression, or of a variable's entries."""
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
    """The expression of an inequality or an equality; None for a cone constraint."""
    kinds = cp.constraints.Inequality | Equality | Zero
    return constraint.expr if isinstance(constraint, kinds) else None


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
