"""What a cvxpy problem and its variables demand, as inequalities and equations."""

from __future__ import annotations

from typing import Any

import cvxpy as cp

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.majorants.tree import short
from dcprog.majorants.points import Points

__all__ = ["as_inequality", "declared", "declared_box"]


def as_inequality(constraint: Any) -> tuple[cp.Expression, bool]:
    """A constraint as e ≤ 0, or e = 0.

    Raises
    ------
    NotBoundable
        It is neither.
    """
    if isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero):
        return constraint.expr, True
    if isinstance(constraint, cp.constraints.Inequality | cp.constraints.NonPos):
        return constraint.expr, False
    if isinstance(constraint, cp.constraints.NonNeg):
        return -constraint.args[0], False
    raise NotBoundable(
        short(constraint),
        f"a {type(constraint).__name__} constraint is no equation and no inequality",
        "an inequality, such as cp.norm(x) <= t",
    )


def declared(points: Points) -> list[tuple[cp.Expression, bool]]:
    """What the variables' attributes say, beside bounds."""
    found: list[tuple[cp.Expression, bool]] = []
    for variable in points.variables:
        kinds = [k for k, v in variable.attributes.items() if v is not None and v is not False]
        for kind in kinds:
            if kind in ("symmetric", "diag"):
                other = variable.T if kind == "symmetric" else cp.diag(cp.diag(variable))
                found.append((variable - other, True))
            elif kind not in ("nonneg", "nonpos", "pos", "neg", "bounds"):
                raise NotBoundable(
                    variable.name(), f"the attribute {kind} has no rule", "constraints in its place"
                )
    return found


def declared_box(points: Points) -> tuple[Array, Array]:
    """The bounds of the variables."""
    sides = {v.id: v.get_bounds() for v in points.variables}
    lo, hi = (points.pack({key: pair[k] for key, pair in sides.items()}) for k in (0, 1))
    return lo, hi
