"""Affine expressions and atoms: their Jacobians as sparse matrices, and their signs on bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.prod import Prod
from cvxpy.constraints.zero import Equality
from scipy.optimize import linprog

from dcprog.foundation.arrays import Array, dense, unvec, vec
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.majorants.tree import Values, evaluate, is_moving, nodes, variables

ENTRYWISE = AddExpression, NegExpression, multiply, DivExpression
# A linear program takes a millisecond; of denominators with more entries no sign is looked for.
MOST_PROGRAMS = 100


def jacobian(affine: cp.Expression) -> dict[int, sp.csr_array]:
    """Jacobian of an affine expression: variable id to a (variable.size, size) matrix."""
    values = Values()

    def through(node: Any, adjoint: Any) -> list[Any]:
        return [matrix @ adjoint for matrix in atom_jacobian(node, values)]

    found = backward(affine, sp.csr_array(sp.eye_array(affine.size)), through)
    # constant atoms, such as the sum of an empty array, may hold variables that are not reached
    zero = {v.id: sp.csr_array((v.size, affine.size)) for v in variables(affine)}
    return zero | found


def backward(
    affine: cp.Expression,
    start: Any,
    through: Callable[[Any, Any], Sequence[Any]],
    order: Sequence[cp.Expression] | None = None,
) -> dict[int, Any]:
    """The adjoints of the variables of an affine expression, by variable id: reverse mode.

    Parameters
    ----------
    affine : cvxpy expression
    start : array or sparse matrix
        The adjoint of the root.
    through : function (atom, adjoint) -> sequence
        The adjoints of an atom's arguments from the atom's own; those of constants are not used.
    order : sequence of cvxpy expressions, optional
        The nodes that are not constant, atoms before their arguments.
    """
    adjoints = {id(affine): start}
    found: dict[int, Any] = {}
    for node in reversed(nodes(affine)) if order is None else order:
        adjoint = adjoints.pop(id(node), None)
        if isinstance(node, cp.Variable) and adjoint is not None:
            _add(found, node.id, adjoint)
        elif adjoint is not None:
            for arg, term in zip(node.args, through(node, adjoint), strict=True):
                if not arg.is_constant():
                    _add(adjoints, id(arg), term)
    return found


def _add(sums: dict[int, Any], key: int, term: Any) -> None:
    sums[key] = sums[key] + term if key in sums else term


def jacobian_rows(affine: cp.Expression, variables: Sequence[cp.Variable]) -> sp.csr_array:
    """The Jacobian in the entries of these variables, with a row an entry of the expression."""
    slopes = jacobian(affine)
    blocks = [slopes.get(v.id, sp.csr_array((v.size, affine.size))) for v in variables]
    return sp.csr_array(sp.vstack(blocks).T)


class Adjoint:
    """The adjoint map of an affine expression whose constants may hold Parameters.

    Parameters
    ----------
    affine : cvxpy expression

    Examples
    --------
    >>> x, p = cp.Variable(2, value=np.ones(2)), cp.Parameter(value=3.0)
    >>> adjoint = Adjoint(p * x - 1)
    >>> adjoint(np.array([1.0, 2.0]), Values())[x.id]
    array([3., 6.])
    """

    def __init__(self, affine: cp.Expression) -> None:
        self._root = affine
        self._order = [n for n in reversed(nodes(affine)) if not n.is_constant()]
        self._kept: dict[int, list[sp.csr_array]] = {}

    def __call__(self, weight: Array, values: Values) -> dict[int, Array]:
        """The gradient of ⟨weight, affine⟩: variable id to a column-major vector."""

        def through(node: Any, adjoint: Array) -> list[Array | None]:
            return [
                None if arg.is_constant() else self.through(node, i, adjoint, values)
                for i, arg in enumerate(node.args)
            ]

        return backward(self._root, vec(weight), through, self._order)

    def through(self, atom: Any, index: int, adjoint: Array, values: Values) -> Array:
        """The adjoint of one argument of an atom, from the atom's own."""
        scale = _scale(atom, index, values)
        if scale is not None:
            return scale * adjoint
        matrices = self._kept.get(id(atom))
        if matrices is None:
            matrices = atom_jacobian(atom, values)
            if not is_moving(atom):
                self._kept[id(atom)] = matrices
        return np.asarray(matrices[index] @ adjoint, dtype=float)


def reached(affine: cp.Expression) -> dict[int, npt.NDArray[np.bool_]]:
    """The entries of each variable that an affine expression may depend on.

    Returned as a mapping from variable id to a column-major mask, known before Parameters have
    values.

    Examples
    --------
    >>> x, p = cp.Variable(3), cp.Parameter()
    >>> reached(p * x[1] - 1)[x.id]
    array([False,  True, False])
    """
    return backward(affine, np.ones(affine.size, dtype=bool), _reached_args)


def _reached_args(atom: Any, mask: npt.NDArray[np.bool_]) -> list[Any]:
    """For each argument of an atom, the entries that the masked entries of the atom depend on."""
    if is_moving(atom):
        entrywise = isinstance(atom, ENTRYWISE) or min(arg.size for arg in atom.args) == 1
        alike = [entrywise and arg.shape == atom.shape for arg in atom.args]
        pairs = zip(atom.args, alike, strict=True)
        return [mask if is_alike else np.ones(arg.size, dtype=bool) for arg, is_alike in pairs]
    return [abs(matrix) @ mask > 0 for matrix in atom_jacobian(atom, Values())]


def _scale(atom: Any, index: int, values: Values) -> float | None:
    """The c for which the atom's Jacobian in the argument is c times the identity, if known."""
    if atom.args[index].shape != atom.shape:
        return None
    if isinstance(atom, AddExpression):
        return 1.0
    if isinstance(atom, NegExpression):
        return -1.0
    if not isinstance(atom, MulExpression | DivExpression):
        return None
    other = atom.args[1 - index]
    if other.size != 1:
        return None
    factor = float(dense(values(other)).reshape(()))
    return 1 / factor if isinstance(atom, DivExpression) else factor


def atom_jacobian(atom: Any, values: Values) -> list[sp.csr_array]:
    """Jacobians of an affine atom, one (arg.size, atom.size) matrix per argument."""
    if isinstance(atom, AddExpression):  # the commonest node of all, and its Jacobian is known
        return [
            sp.csr_array(sp.eye_array(atom.size))
            if arg.size == atom.size
            else sp.csr_array(np.ones((1, atom.size)))
            for arg in atom.args
        ]
    try:
        # the slope of an affine map is constant: it is taken at 1, which is inside every domain
        raw = atom._grad(_arguments(atom, values, lambda i: np.ones(atom.args[i].shape)))
        matrices = [_sparse(m, (a.size, atom.size)) for m, a in zip(raw, atom.args, strict=True)]
    except Exception:  # cvxpy has no derivative of some atoms, and of some shapes
        return _probed(atom, values)
    flat = max(arg.ndim for arg in (atom, *atom.args)) <= 2
    return matrices if flat or _agree(atom, values, matrices) else _probed(atom, values)


def constant_part(atom: Any, values: Values) -> Array:
    """The constant part of an affine atom: its value where every nonconstant argument is 0."""
    zeros = _arguments(atom, values, lambda i: np.zeros(atom.args[i].shape))
    return dense(evaluate(atom, zeros))


def _arguments(atom: Any, values: Values, live: Callable[[int], Array]) -> list[Any]:
    """The values of the atom's constant arguments, and ``live(i)`` for each other one."""
    return [values(a) if a.is_constant() else live(i) for i, a in enumerate(atom.args)]


def _sparse(matrix: Any, shape: tuple[int, int]) -> sp.csr_array:
    full: Any = matrix if sp.issparse(matrix) else np.broadcast_to(dense(matrix), shape)
    return sp.csr_array(full)


def _agree(atom: Any, values: Values, matrices: Sequence[sp.csr_array]) -> bool:
    """True if the matrices are the atom's Jacobians, tested with random arguments.

    cvxpy's may be wrong for arrays of three axes (hstack in cvxpy 1.9).
    """
    rng = np.random.default_rng(0)
    steps = _arguments(atom, values, lambda i: rng.random(atom.args[i].shape))
    change = vec(evaluate(atom, steps)) - vec(constant_part(atom, values))
    live = [i for i, arg in enumerate(atom.args) if not arg.is_constant()]
    return np.allclose(change, sum(matrices[i].T @ vec(steps[i]) for i in live))


def _probed(atom: Any, values: Values) -> list[sp.csr_array]:
    """The Jacobians of an affine atom from its values at the unit vectors."""
    zeros = _arguments(atom, values, lambda i: np.zeros(atom.args[i].shape))
    origin = vec(evaluate(atom, zeros))
    matrices = []
    for i, arg in enumerate(atom.args):
        rows = np.zeros((arg.size, atom.size))
        for k in [] if arg.is_constant() else range(arg.size):
            unit = unvec(np.eye(1, arg.size, k), arg.shape)
            rows[k] = vec(evaluate(atom, [*zeros[:i], unit, *zeros[i + 1 :]])) - origin
        matrices.append(sp.csr_array(rows))
    return matrices


# ----------------------------------------------------------------------------------------------
# signs


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
        # by the ids of live nodes, which stay unique
        self._known: dict[int, tuple[cp.Expression, bool]] = {}
        self._signs: dict[int, tuple[cp.Expression, int]] = {}  # of denominators
        self._floors: dict[int, tuple[cp.Expression, float]] = {}

    def is_nonneg(self, node: cp.Expression) -> bool:
        """True if all entries are known to be ≥ 0."""
        if id(node) not in self._known:
            self._known[id(node)] = node, self._is_nonneg(node)
        return self._known[id(node)][1]

    def is_positive(self, node: cp.Expression) -> bool:
        """True if the expression is affine and its entries have known lower bounds above 0."""
        known = node.is_affine() and not node.parameters()
        return known and bool(np.all(self.least(node) > 0))

    def floor(self, node: cp.Expression) -> float:
        """A number that no entry is below; −∞ if none is known."""
        if id(node) not in self._floors:
            self._floors[id(node)] = node, self._floor(node)
        return self._floors[id(node)][1]

    def _floor(self, node: cp.Expression) -> float:
        if node.is_affine() and not node.parameters():
            return float(np.min(self.least(node), initial=np.inf))
        if isinstance(node, AddExpression):
            return sum(map(self.floor, node.args))
        return 0.0 if self.is_nonneg(node) else -np.inf

    def is_nonpos(self, node: cp.Expression) -> bool:
        """True if all entries are known to be ≤ 0."""
        return bool(node.is_nonpos()) or (not node.is_nonneg() and self.is_nonneg(-node))

    def sign_below(self, denominator: cp.Expression) -> int:
        """The sign of a denominator: 1 for ≥ 0, −1 for ≤ 0, 0 if it is not known.

        Of an affine one it may follow from several constraints together.

        Examples
        --------
        >>> import cvxpy as cp
        >>> x = cp.Variable(2, nonneg=True)
        >>> Box([2 * x[0] - x[1] >= 1]).sign_below(2 * x[0] - x[1])
        1
        """
        if id(denominator) not in self._signs:
            self._signs[id(denominator)] = denominator, self._sign_below(denominator)
        return self._signs[id(denominator)][1]

    def _sign_below(self, denominator: cp.Expression) -> int:
        for sign, node in ((1, denominator), (-1, -denominator)):
            if self.is_nonneg(node) or self._is_nonneg_in_constraints(node):
                self._known[id(node)] = node, True
                return sign
        return 0

    def _is_nonneg_in_constraints(self, node: cp.Expression) -> bool:
        """True if the least value of each entry under the affine constraints is ≥ 0."""
        if not node.is_affine() or node.parameters() or node.size > MOST_PROGRAMS:
            return False
        if not self._polytope.knows(node):
            return False
        rows = jacobian_rows(node, self._polytope.variables).toarray()
        return all(
            self._polytope.least(row) + offset >= -KNOWN_DIGITS * (abs(offset) or 1.0)
            for row, offset in zip(rows, offset_of(node), strict=True)
        )

    @cached_property
    def _polytope(self) -> _Polytope:
        return _Polytope(self._constraints)

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


class _Polytope:
    """The points that meet all affine constraints without Parameters."""

    def __init__(self, constraints: Sequence[cp.Constraint]) -> None:
        affine = [c for c in constraints if all(arg.is_affine() for arg in c.args)]
        above = [c for c in affine if isinstance(c, cp.constraints.Inequality)]
        self._upper = [e for c in above for e in _without_parameters(c)]
        self._equal = [
            c.expr for c in affine if isinstance(c, Equality) and not c.expr.parameters()
        ]
        known = {v.id: v for e in (*self._upper, *self._equal) for v in variables(e)}
        self.variables = list(known.values())

    def knows(self, affine: cp.Expression) -> bool:
        """True if each of the expression's variables is in a constraint."""
        return {v.id for v in variables(affine)} <= {v.id for v in self.variables}

    def least(self, slope: Array) -> float:
        """The least value of a linear function; −∞ if none is found."""
        upper, most, equal, asked, bounds = self._program
        found = linprog(slope, upper, most, equal, asked, bounds, method="highs")
        return float(np.asarray(found.fun)) if found.status == 0 else -np.inf

    @cached_property
    def _program(self) -> list[Any]:
        """Inequalities, equations and bounds, in the order of scipy's arguments."""
        sides: list[Any] = []
        for expressions in (self._upper, self._equal):
            matrices = [jacobian_rows(e, self.variables) for e in expressions]
            ends = [-offset_of(e) for e in expressions]
            sides += [sp.vstack(matrices), np.concatenate(ends)] if matrices else [None, None]
        bounds = [np.column_stack(_flat_bounds(v)) for v in self.variables]
        return [*sides, np.concatenate(bounds)]


def offset_of(affine: cp.Expression) -> Array:
    """The constant part of an affine expression, column by column."""
    zero = {v.id: cp.Constant(np.zeros(v.shape)) for v in variables(affine)}
    return vec(Values(zero).array(affine))


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
