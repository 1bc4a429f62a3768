"""Constraints of a cvxpy problem: the convex ones, and the ones to majorise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.exact_forms import exact_form
from dcprog.majorants.signs import Box
from dcprog.majorants.stacking import form_of, stacked
from dcprog.majorants.tree import constants, short

__all__ = ["Origin", "Split", "split"]

# Below that they are left alone: a vector has no advantage.
FEWEST_STACKED = 4


@dataclass
class Split:
    """The constraints of a problem, by what becomes of them.

    Attributes
    ----------
    convex : list of constraints
    nonconvex : list of expressions
        e, of which e ≤ 0 is asked.
    has_equalities : bool
        Was an equality split? Then no majorised feasible set has an interior.
    origins : list of list of Origin
        Of each nonconvex expression: one of it all, or one an entry.
    sides : dict of int to Origin
        Of convex inequalities that the user did not write like that, by their id.
    """

    convex: list[cp.Constraint] = field(default_factory=list)
    nonconvex: list[cp.Expression] = field(default_factory=list)
    has_equalities: bool = False
    origins: list[list[Origin]] = field(default_factory=list)
    sides: dict[int, Origin] = field(default_factory=dict)
    signs: Box = field(default_factory=Box)

    def ask(self, expression: cp.Expression, constraint: cp.Constraint, sign: int = 1) -> None:
        """Of the expression e, a side of that constraint, e ≤ 0 is asked."""
        factor: cp.Expression | float = 1.0
        form = None if expression.is_convex() else exact_form(expression, self.signs)
        if form is not None:
            expression, factor = form.expression, form.factor
        origin = Origin(constraint.id, sign, factor)
        if expression.is_convex():
            self.convex.append(expression <= 0)
            self.sides[self.convex[-1].id] = origin
        else:
            self.nonconvex.append(expression)
            self.origins.append([origin])

    def stacked(self) -> Split:
        """Constraints with numbers of one form and about one size put into vectors.

        A violation counts against what a constraint's terms add up to, so that constants that are
        much smaller than others keep a constraint of their own.
        """
        groups: dict[object, list[int]] = {}
        for i, expression in enumerate(self.nonconvex):
            form = form_of(expression) if expression.shape == () else None
            size = float(constants(expression)) if form is not None else 0.0
            key = (form, int(np.floor(np.log2(size)))) if 0 < size < np.inf else i
            groups.setdefault(key, []).append(i)
        old, origins = self.nonconvex, self.origins
        self.nonconvex, self.origins = [], []
        for places in groups.values():
            few = len(places) < FEWEST_STACKED
            for group in [[i] for i in places] if few else [places]:
                first = old[group[0]]
                self.nonconvex.append(first if few else stacked([old[i] for i in group]))
                self.origins.append([origin for i in group for origin in origins[i]])
        return self


@dataclass(frozen=True)
class Origin:
    """The id of a user's constraint, and by what a multiplier counts in that one's."""

    constraint: int
    sign: int
    factor: cp.Expression | float = 1.0


def split(constraints: Sequence[cp.Constraint], signs: Box | None = None) -> Split:
    """Convex constraints, and the others as expressions e of which e ≤ 0 is asked.

    An equality of unknown curvature is two inequalities; a side that is convex stays a
    constraint. Quotients are multiplied out, products under a root where that is convex.

    Parameters
    ----------
    constraints : sequence of cvxpy constraints
    signs : Box, optional
        What is known of signs.

    Raises
    ------
    NotMajorizable
        A cone constraint of a nonconvex expression.
    """
    parts = Split(signs=signs or Box())
    for constraint in constraints:
        if constraint.is_dcp():
            parts.convex.append(constraint)
        elif isinstance(constraint, cp.constraints.Inequality):
            parts.ask(constraint.expr, constraint)
        elif isinstance(constraint, Equality | Zero):
            parts.has_equalities = True
            parts.ask(constraint.expr, constraint)
            parts.ask(-constraint.expr, constraint, -1)
        elif isinstance(constraint, cp.constraints.NonNeg):
            parts.ask(-constraint.args[0], constraint)
        elif isinstance(constraint, cp.constraints.NonPos):
            parts.ask(constraint.args[0], constraint)
        else:
            raise NotMajorizable(
                short(constraint),
                f"the {type(constraint).__name__} constraint is not convex, and only "
                "inequalities and equalities are majorised",
                "the same set as an inequality of a scalar, such as cp.lambda_max(X) <= t",
            )
    return parts.stacked()
