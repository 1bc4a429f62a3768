"""Constraints of a cvxpy problem: the convex ones, the ones to majorise, and how far a point is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from cvxpy.constraints.zero import Equality, Zero

from dcprog.errors import NotMajorizable
from dcprog.tree import Array, Values, dense, short

__all__ = ["Miss", "distance_to_attributes", "excess", "miss", "split"]


def split(
    constraints: Sequence[cp.Constraint],
) -> tuple[list[cp.Constraint], list[cp.Expression], bool]:
    """Convex constraints, and the others as expressions e of which e ≤ 0 is asked.

    An equality of unknown curvature is two inequalities; a side that is convex stays a
    constraint.

    Returns
    -------
    convex : list of constraints
    nonconvex : list of expressions
    equalities : bool
        True if an equality was split: then no majorised feasible set has an interior.

    Raises
    ------
    NotMajorizable
        A cone constraint of a nonconvex expression.
    """
    convex: list[cp.Constraint] = []
    nonconvex: list[cp.Expression] = []
    equalities = False
    for constraint in constraints:
        if constraint.is_dcp():
            convex.append(constraint)
        elif isinstance(constraint, cp.constraints.Inequality):
            nonconvex.append(constraint.expr)
        elif isinstance(constraint, Equality | Zero):
            equalities = True
            for side in (constraint.expr, -constraint.expr):
                if side.is_convex():
                    convex.append(side <= 0)
                else:
                    nonconvex.append(side)
        elif isinstance(constraint, cp.constraints.NonNeg | cp.constraints.NonPos):
            sign = -1 if isinstance(constraint, cp.constraints.NonNeg) else 1
            nonconvex.append(sign * constraint.args[0])
        else:
            raise NotMajorizable(
                short(constraint),
                f"the {type(constraint).__name__} constraint is not convex, and only "
                "inequalities and equalities are majorised",
                "the same set as an inequality of a scalar, such as cp.lambda_max(X) <= t",
            )
    return convex, nonconvex, equalities


@dataclass(frozen=True)
class Miss:
    """By how much a constraint is missed: its worst entry, and that against the terms in it."""

    absolute: float = 0.0
    relative: float = 0.0

    def __or__(self, other: Miss) -> Miss:
        """The worse of two."""
        return Miss(max(self.absolute, other.absolute), max(self.relative, other.relative))


def miss(constraint: cp.Constraint, values: Values) -> Miss:
    """How far a convex constraint is missed."""
    if isinstance(constraint, cp.constraints.Inequality):
        return excess(constraint.expr, values)
    if isinstance(constraint, Equality | Zero):
        return _miss(np.abs(values.array(constraint.expr)), constraint.expr.args, values)
    residual = np.asarray(constraint.violation(), dtype=float)
    return _miss(residual, constraint.args, values)


def excess(expression: cp.Expression, values: Values) -> Miss:
    """How far e ≤ 0 is missed."""
    return _miss(np.maximum(values.array(expression), 0.0), expression.args, values)


def _miss(residual: Array, terms: Sequence[cp.Expression], values: Values) -> Miss:
    worst = _largest(residual)
    if not np.isfinite(worst):  # outside a domain
        return Miss(np.inf, np.inf)
    size = max((_largest(np.abs(values.array(term))) for term in terms), default=0.0)
    return Miss(worst, worst / max(1.0, size))


def distance_to_attributes(variable: cp.Variable) -> Miss:
    """How far a variable's value is from what it was declared to be (nonneg, PSD, bounds …).

    cvxpy's own ``project`` leaves a value as it is where a variable has two attributes, or bounds
    that hold Parameters.
    """
    attributes = variable.attributes
    if not any(attributes.values()):
        return Miss()
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
    worst = max(away)
    return Miss(worst, worst / max(1.0, _largest(np.abs(value))))


def _wrong_eigenvalues(value: Array, attributes: Mapping[str, Any]) -> list[float]:
    if not (attributes["PSD"] or attributes["NSD"]):
        return []
    eigenvalues = np.linalg.eigvalsh((value + value.T) / 2)
    return [_largest(-eigenvalues if attributes["PSD"] else eigenvalues)]


def _largest(array: npt.NDArray[Any]) -> float:
    return float(np.max(array, initial=0.0))
