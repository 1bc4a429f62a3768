"""Constraints of a cvxpy problem: the convex ones, the ones to majorise, and how far a point is."""

from __future__ import annotations

from collections.abc import Sequence

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality, Zero

from dcprog.errors import NotMajorizable
from dcprog.tree import Values, dense, short

__all__ = ["distance_to_attributes", "split", "violation"]


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


def violation(constraint: cp.Constraint, values: Values) -> float:
    """Largest entry by which a constraint is missed."""
    if isinstance(constraint, cp.constraints.Inequality):
        residual = np.maximum(values.array(constraint.expr), 0.0)
    elif isinstance(constraint, Equality | Zero):
        residual = np.abs(values.array(constraint.expr))
    else:
        residual = np.asarray(constraint.violation(), dtype=float)
    worst = float(np.max(residual, initial=0.0))
    return np.inf if np.isnan(worst) else worst


def distance_to_attributes(variable: cp.Variable) -> float:
    """How far a variable's value is from what it was declared to be (nonneg, PSD, bounds …)."""
    if not any(variable.attributes.values()):
        return 0.0
    value = dense(variable.value)
    return float(np.max(np.abs(dense(variable.project(value)) - value), initial=0.0))
