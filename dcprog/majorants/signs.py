"""Signs of expressions, from cvxpy's own analysis and from bounds on the variables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.prod import Prod

from dcprog.foundation.arrays import Array, dense, vec
from dcprog.majorants.jacobians import jacobian
from dcprog.majorants.tree import Values, variables

__all__ = ["Box", "declared_bounds", "offset_of"]


class Box:
    """Bounds of the variables, from their attributes and from affine constraints on one entry.

    cvxpy's own signs ignore x ≥ 0 if that is a constraint or follows from ``bounds=``. The signs
    found here hold wherever the constraints do.

    Parameters
    ----------
    constraints : sequence of cvxpy constraints
        Constraints that every point meets: the affine inequalities on one entry are used.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2)
    >>> Box().is_nonneg(x[0] * x[1]), Box([x >= 1]).is_nonneg(x[0] * x[1] / x[1])
    (False, True)
    """

    def __init__(self, constraints: Sequence[cp.Constraint] = ()) -> None:
        self._constraints = list(constraints)
        self._known: dict[int, tuple[cp.Expression, bool]] = {}  # live nodes: ids stay unique

    def is_nonneg(self, node: cp.Expression) -> bool:
        """True if all entries are known to be ≥ 0."""
        if id(node) not in self._known:
            self._known[id(node)] = node, self._is_nonneg(node)
        return self._known[id(node)][1]

    def is_positive(self, node: cp.Expression) -> bool:
        """True if the expression is affine and its entries have known lower bounds above 0."""
        known = node.is_affine() and not node.parameters()
        return known and bool(np.all(self.least(node) > 0))

    def is_nonpos(self, node: cp.Expression) -> bool:
        """True if all entries are known to be ≤ 0."""
        return bool(node.is_nonpos()) or (not node.is_nonneg() and self.is_nonneg(-node))

    def _is_nonneg(self, node: cp.Expression) -> bool:
        if node.is_nonneg():
            return True
        if node.is_affine() and not node.parameters():
            return bool(np.all(self.least(node) >= 0))
        grows = isinstance(node, AffAtom) and all(map(node.is_incr, range(len(node.args))))
        if grows or isinstance(node, MulExpression | DivExpression | Prod):
            return all(self.is_nonneg(arg) for arg in node.args)
        return False

    def least(self, affine: cp.Expression) -> Array:
        """Lower bounds of the entries of an affine expression, column by column."""
        total = offset_of(affine)
        if not np.all(np.isfinite(total)):
            return np.full(affine.size, -np.inf)
        matrices = jacobian(affine)
        with np.errstate(invalid="ignore"):
            for variable in variables(affine):
                low, high = self._bounds_of(variable)
                rows = sp.csr_array(matrices[variable.id].T)
                total = total + _product(rows.maximum(0), low) + _product(rows.minimum(0), high)
        return np.where(np.isnan(total), -np.inf, total)

    def _bounds_of(self, variable: cp.Variable) -> tuple[Array, Array]:
        if variable.id in self._bounds:
            return self._bounds[variable.id]
        return _flat_bounds(variable)

    @cached_property
    def _bounds(self) -> dict[int, tuple[Array, Array]]:
        """The bounds of the variables in affine inequalities, by variable id."""
        found: dict[int, tuple[Array, Array]] = {}
        for constraint in self._constraints:
            if isinstance(constraint, cp.constraints.Inequality) and constraint.expr.is_affine():
                for expression in _without_parameters(constraint):
                    _tighten(found, expression)
        return found


class _AtZero(Values):
    """Values where every variable is 0."""

    def _evaluate(self, node: cp.Expression) -> Array:
        if isinstance(node, cp.Variable):
            return np.zeros(node.shape)
        return super()._evaluate(node)


def offset_of(affine: cp.Expression) -> Array:
    """The constant part of an affine expression, column by column."""
    return vec(_AtZero().array(affine))


def _without_parameters(constraint: cp.constraints.Inequality) -> list[cp.Expression]:
    """Expressions e without Parameters with e ≤ 0: from p ≤ x with p ≥ 0 follows −x ≤ 0."""
    if not constraint.parameters():
        return [constraint.expr]
    low, high = constraint.args
    found = []
    if low.is_constant() and low.is_nonneg():
        found.append(-high)
    if high.is_constant() and high.is_nonpos():
        found.append(low)
    return [expression for expression in found if not expression.parameters()]


def declared_bounds(variable: cp.Variable, moving: bool = False) -> tuple[Array, Array]:
    """The bounds of a variable's entries by its attributes, arrays of its shape.

    Bounds that hold Parameters count, at their present values, only if `moving`.
    """
    given = variable.attributes["bounds"] or (None, None)
    sides = []
    for known, bound, tighter in zip(variable.get_bounds(), given, (np.fmax, np.fmin), strict=True):
        side = dense(np.broadcast_to(dense(known), variable.shape)).copy()
        if isinstance(bound, cp.Expression) and (moving or not bound.parameters()):
            side = tighter(side, dense(bound.value))  # get_bounds leaves expressions out
        sides.append(side)
    return sides[0], sides[1]


def _flat_bounds(variable: cp.Variable) -> tuple[Array, Array]:
    low, high = map(vec, declared_bounds(variable))
    return low, high


def _tighten(found: dict[int, tuple[Array, Array]], expression: cp.Expression) -> None:
    """Tighten the bounds by the rows of e ≤ 0 that hold a single entry of a single variable."""
    offset = offset_of(expression)
    matrices = {key: sp.csr_array(m.T) for key, m in jacobian(expression).items()}
    alone = sum(np.diff(m.indptr) for m in matrices.values()) == 1
    for variable in variables(expression):
        matrix = matrices[variable.id]
        rows = np.flatnonzero(alone & (np.diff(matrix.indptr) == 1))
        low, high = found.setdefault(variable.id, _flat_bounds(variable))
        places, slopes = matrix.indices[matrix.indptr[rows]], matrix.data[matrix.indptr[rows]]
        least, most = slopes < 0, slopes > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -offset[rows] / slopes
        np.maximum.at(low, places[least], ends[least])
        np.minimum.at(high, places[most], ends[most])


def _product(matrix: sp.csr_array, bounds: Array) -> Array:
    """A sparse matrix times bounds that may be infinite; 0 times infinity counts as 0."""
    matrix = sp.csr_array(matrix)
    matrix.eliminate_zeros()
    terms = matrix.data * bounds[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(np.bincount(rows, weights=terms, minlength=matrix.shape[0]), dtype=float)
