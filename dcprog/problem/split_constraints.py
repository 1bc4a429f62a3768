"""Constraints of a cvxpy problem: the convex ones, and the ones to majorise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms import Pnorm, PnormApprox
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.constraints.zero import Equality, Zero

from dcprog.foundation.arrays import vec
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.affine import Box, jacobian, offset_of
from dcprog.majorants.rules.products import exact_form
from dcprog.majorants.tree import Values, short

ENTRYWISE = Elementwise, AddExpression, NegExpression, multiply, DivExpression

# Atoms that reduce a vector to a number, as reductions of each row of a matrix.
ALONG_ROWS: dict[type, Callable[[Any, Any], cp.Expression]] = {
    cp.Sum: lambda node, rows: cp.sum(rows, axis=1),
    cp.max: lambda node, rows: cp.max(rows, axis=1),
    cp.min: lambda node, rows: cp.min(rows, axis=1),
    cp.norm1: lambda node, rows: cp.norm1(rows, axis=1),
    cp.norm_inf: lambda node, rows: cp.norm_inf(rows, axis=1),
    cp.log_sum_exp: lambda node, rows: cp.log_sum_exp(rows, axis=1),
    Pnorm: lambda node, rows: cp.pnorm(rows, 2, axis=1),
    PnormApprox: lambda node, rows: cp.pnorm(rows, 2, axis=1),
    cp.quad_over_lin: lambda node, rows: cp.sum(cp.square(rows), axis=1),
}


def form_of(node: cp.Expression) -> object | None:
    """A key that is equal for expressions that can be stacked; None for all others."""
    if node.ndim > 1 or node.parameters():
        return None
    if node.is_constant() or node.is_affine():
        return ("constant" if node.is_constant() else "affine", node.shape)
    if not isinstance(node, Atom):
        return None
    kind = type(node)
    if not (_is_entrywise(node) or _is_reduction(node)):
        return None
    forms = [form_of(arg) for arg in node.args]
    return None if None in forms else (kind, node.shape, str(node.get_data()), *forms)


def _is_entrywise(node: Any) -> bool:
    return isinstance(node, ENTRYWISE) and all(a.shape in ((), node.shape) for a in node.args)


def _is_reduction(node: Any) -> bool:
    if type(node) not in ALONG_ROWS or node.shape != () or node.args[0].ndim != 1:
        return False
    if isinstance(node, cp.quad_over_lin):
        return bool(node.args[1].is_constant() and np.all(node.args[1].value == 1))
    if isinstance(node, Pnorm):
        return bool(node.p == 2)  # cvxpy has no other p-norm along an axis
    return len(node.args) == 1


def stacked(numbers: Sequence[cp.Expression]) -> cp.Expression:
    """A vector or matrix whose rows are the given expressions, all of one form.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> x = cp.Variable((3, 2), value=np.arange(6.0).reshape(3, 2))
    >>> apart = [4 - cp.sum_squares(x[i] - x[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    >>> len({form_of(one) for one in apart})
    1
    >>> stacked(apart).value
    array([ -4., -28.,  -4.])
    """
    node = numbers[0]
    if node.is_constant():
        return cp.Constant(np.stack([np.asarray(n.value, dtype=float) for n in numbers]))
    if node.is_affine():
        return _affine(numbers)
    args = [stacked([n.args[k] for n in numbers]) for k in range(len(node.args))]
    if type(node) in ALONG_ROWS and node.ndim == 0 and node.args[0].ndim == 1:
        return ALONG_ROWS[type(node)](node, args[0])
    if node.ndim == 1:  # scalar arguments beside vectors
        count = len(numbers)
        args = [a if a.ndim == 2 else cp.reshape(a, (count, 1), order="F") for a in args]
        args = [cp.broadcast_to(a, (count, node.size)) for a in args]
    return node.copy(args)


def _affine(parts: Sequence[cp.Expression]) -> cp.Expression:
    """The affine expression whose row i is part i."""
    count, size = len(parts), parts[0].size
    variables = {v.id: v for part in parts for v in part.variables()}
    found: dict[int, list[tuple[Any, Any, Any]]] = {key: [] for key in variables}
    offset = np.zeros((count, size))
    for i, part in enumerate(parts):
        offset[i] = offset_of(part)
        for key, matrix in jacobian(part).items():
            block = sp.coo_array(matrix.T)
            found[key].append((block.data, i + count * block.coords[0], block.coords[1]))
    terms = []
    for key, blocks in found.items():
        if blocks:
            data, rows, columns = (np.concatenate(side) for side in zip(*blocks, strict=True))
            shape = count * size, variables[key].size
            matrix = sp.csr_array(sp.coo_array((data, (rows, columns)), shape=shape))
            terms.append(matrix @ cp.vec(variables[key], order="F"))
    flat = sum(terms[1:], terms[0]) + vec(offset)
    return flat if parts[0].ndim == 0 else cp.reshape(flat, (count, size), order="F")


# ----------------------------------------------------------------------------------------------

# Fewer constraints are left alone: a vector has no advantage.
FEWEST_STACKED = 4


@dataclass
class Split:
    """The convex and the nonconvex constraints of a problem.

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
        """Add the constraint e ≤ 0, a side of one of the user's."""
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
            size = (
                float(Values().magnitude(expression, of_constants=True))
                if form is not None
                else 0.0
            )
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
    """The user's constraint that a part comes from.

    The user's multiplier is the part's times the sign and the factor.
    """

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
