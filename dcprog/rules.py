"""The majorisation rules, one a function: from an expression's node to its convex majorant.

A rule answers one question: *given a weight w, what convex function lies above ⟨w, e⟩ (or above
w∘e, entry by entry) and touches it at the current point?* A nonnegative weight asks for a convex
majorant of e, a nonpositive one for the negative of a concave minorant, so one recursion covers
both columns of the table ``up`` / ``down`` and slopes are pushed down to the leaves as weights:
each leaf carries a single Parameter whose value is the product of the slopes above it, which
keeps nested compositions DPP.

There are two frames. In a *total* frame the sum ⟨w, e⟩ is wanted: every linear term flows back to
the variables, as in reverse-mode differentiation, and is gathered in one gradient Parameter a
variable. In an *entrywise* frame (the argument of a convex atom, a vector of constraints) the
shape must stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise
from cvxpy.atoms.quad_form import QuadForm

from dcprog.errors import NotMajorizable
from dcprog.slopes import WITHOUT_SLOPE, extended, has_edge, interior, pull_back, spread
from dcprog.tree import (
    Array,
    Values,
    atom_jacobian,
    constant_part,
    evaluate,
    jacobian,
    short,
    unvec,
    vec,
)

__all__ = ["Context", "Frame", "Piece", "Weight"]

Update = Callable[[Array, Values], Any]


@dataclass(frozen=True)
class Weight:
    """What is known of a weight before any point is: its sign, and its value if it never moves."""

    sign: int
    fixed: Array | None = None

    @staticmethod
    def constant(value: Array) -> Weight:
        """A weight that never moves; its sign is 0 when the entries differ in sign."""
        sign = 1 if np.all(value >= 0) else -1 if np.all(value <= 0) else 0
        return Weight(sign, np.asarray(value, dtype=float))

    def times(self, direction: int) -> Weight:
        """The moving weight behind a slope of the given sign (0: unknown)."""
        return Weight(self.sign * direction)


@dataclass
class Piece:
    """The majorant of one node: an expression, and how to set its Parameters at a new point.

    ``update(w, values)`` sets the Parameters below the node for the weight w and returns the
    constant that belongs to the expression (a number, or an array in an entrywise frame).
    """

    node: cp.Expression
    rule: str
    expression: cp.Expression | None
    update: Update
    children: list[Piece] = field(default_factory=list)


@dataclass
class Context:
    """What a whole majorant shares: auxiliary variables and the constraints it brings along."""

    definitions: dict[int, cp.Expression] = field(default_factory=dict)
    auxiliaries: list[cp.Variable] = field(default_factory=list)
    constraints: list[cp.Constraint] = field(default_factory=list)
    domain: list[cp.Constraint] = field(default_factory=list)
    domain_frames: list[Frame] = field(default_factory=list)
    extensions: dict[int, Callable[[list[Array]], Array]] = field(default_factory=dict)

    def stand_in(self, expression: cp.Expression, exact: bool = False) -> cp.Variable:
        """A variable t ≥ expression (or equal to it) that a weight can multiply under DPP."""
        t = cp.Variable(expression.shape, name=f"dcprog_epigraph_{len(self.auxiliaries)}")
        self.auxiliaries.append(t)
        self.definitions[t.id] = expression
        self.constraints.append(t == expression if exact else t >= expression)
        return t


class Frame:
    """The majorant of one root expression, with its offset and gradient Parameters.

    Parameters
    ----------
    node : cvxpy expression
    context : Context
    entrywise : bool
        Keep the shape; otherwise majorise the sum of the entries.
    gather : bool
        Let every linear term flow back to the variables (total frames only); otherwise only those
        with more entries than the variables have.
    weight : Weight, optional
        The weight of the root; 1 by default.
    """

    def __init__(
        self,
        node: cp.Expression,
        context: Context,
        *,
        entrywise: bool = False,
        gather: bool = False,
        weight: Weight | None = None,
    ) -> None:
        self.node = node
        self.context = context
        self.entrywise = entrywise
        self.gather = gather and not entrywise
        self._gradients: dict[int, tuple[cp.Variable, cp.Parameter]] = {}
        self._sums: dict[int, Array] = {}
        self._one = np.ones(node.shape)
        self.piece = majorise(node, weight or Weight.constant(self._one), self)
        self.expression: cp.Expression = self._assemble()

    def _assemble(self) -> cp.Expression:
        terms: list[cp.Expression] = []
        if self.piece.expression is not None:
            terms.append(self.piece.expression)
        for variable, parameter in self._gradients.values():
            terms.append(cp.sum(cp.multiply(parameter, variable)))
        self._offset: cp.Parameter | None = None
        if self.piece.rule != CONVEX:
            self._offset = cp.Parameter(self.node.shape if self.entrywise else ())
            terms.append(self._offset)
        return terms[0] if len(terms) == 1 else sum(terms[1:], terms[0])

    def gradient(self, variable: cp.Variable) -> int:
        """Register a gradient Parameter for `variable`; returns its key."""
        if variable.id not in self._gradients:
            self._gradients[variable.id] = (variable, cp.Parameter(variable.shape))
        return int(variable.id)

    def add_to_gradient(self, key: int, term: Array) -> None:
        """Add a column-major vector to a variable's gradient."""
        self._sums[key] += term

    def update(self, values: Values, weight: Array | None = None) -> None:
        """Set every Parameter of the frame at the point that `values` holds."""
        self._sums = {key: np.zeros(v.size) for key, (v, _) in self._gradients.items()}
        offset = self.piece.update(self._one if weight is None else weight, values)
        if not np.all(np.isfinite(offset)):
            raise ValueError(
                f"{short(self.node)} is not finite at the current point: start inside its domain"
            )
        for key, (variable, parameter) in self._gradients.items():
            parameter.value = unvec(self._sums[key], variable.shape)
        if self._offset is not None:
            self._offset.value = np.asarray(offset, dtype=float).reshape(self._offset.shape)

    def total(self, expression: cp.Expression) -> cp.Expression:
        """The expression itself in an entrywise frame, its sum in a total one."""
        if self.entrywise or expression.shape == ():
            return expression
        return cp.sum(expression)

    def constant(self, array: Any) -> Any:
        """A node's constant: an array in an entrywise frame, its sum in a total one."""
        return array if self.entrywise else float(np.sum(array))


def majorise(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """The first rule of ``RULES`` that applies."""
    for rule in RULES:
        piece = rule(node, weight, frame)
        if piece is not None:
            return piece
    raise refusal(node)


# ----------------------------------------------------------------------------------------------
# leaves

CONVEX = "convex: kept"


def constant(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A constant goes into the offset."""
    if not node.is_constant():
        return None
    return Piece(node, "constant", None, lambda w, values: frame.constant(w * values.array(node)))


def scalar(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A single number inside an entrywise frame is a total of its own."""
    if not frame.entrywise or node.size != 1:
        return None
    inner = Frame(node, frame.context, weight=weight)
    expression = inner.expression
    if expression.shape != node.shape:
        expression = cp.reshape(expression, node.shape, order="F")

    def update(w: Array, values: Values) -> Array:
        inner.update(values, w)
        return np.zeros(node.shape)

    return Piece(node, inner.piece.rule, expression, update, inner.piece.children)


def affine(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """An affine term is its own tangent: a constant weight, a gradient or one Parameter."""
    if not node.is_affine():
        return None
    if not _is_dpp(node):  # such as x / parameter
        return None if frame.entrywise else _gradient_leaf(node, frame)
    if weight.fixed is not None:
        return _fixed_leaf(node, weight.fixed, frame, "affine: kept")
    if frame.entrywise:
        target = node
        if node.parameters():  # weight × user parameter is not DPP
            target = frame.context.stand_in(node, exact=True)
        return _weighted_leaf(node, target, 0, frame, "affine: one Parameter an entry")
    small = node.size <= sum(v.size for v in node.variables())
    if small and not frame.gather and not node.parameters():
        return _weighted_leaf(node, node, 0, frame, "affine: one Parameter an entry")
    return _gradient_leaf(node, frame)


def _is_dpp(node: cp.Expression) -> bool:
    return not node.parameters() or bool(node.is_dpp())


def _gradient_leaf(node: cp.Expression, frame: Frame) -> Piece:
    keys = {v.id: frame.gradient(v) for v in node.variables()}
    variables = node.variables()
    moves = bool(node.parameters())
    cache: dict[int, sp.csr_array] = {} if moves else jacobian(node)

    def update(w: Array, values: Values) -> float:
        slopes = jacobian(node) if moves else cache
        offset = float(np.sum(w * values.array(node)))
        for variable in variables:
            term = slopes[variable.id] @ vec(w)
            frame.add_to_gradient(keys[variable.id], term)
            offset -= float(term @ vec(values.array(variable)))
        return offset

    return Piece(node, "affine: into the gradient", None, update)


def curved(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A term whose curvature suits its weight is kept, times one nonnegative Parameter."""
    suits = (weight.sign > 0 and node.is_convex()) or (weight.sign < 0 and node.is_concave())
    if not suits or not _is_dpp(node):
        return None
    rule = CONVEX if weight.sign > 0 else "concave under a minus: kept"
    if weight.fixed is not None:
        return _fixed_leaf(node, weight.fixed, frame, rule)
    if node.parameters() and _is_affine_atom(node):
        return None  # a user's Parameter may join the weight further down
    target = node
    if node.parameters():  # weight × user parameter is not DPP: the weight multiplies a stand-in
        t = frame.context.stand_in(node if weight.sign > 0 else -node)
        target = t if weight.sign > 0 else -t
    return _weighted_leaf(node, target, weight.sign, frame, f"{rule}, times a slope")


def _fixed_leaf(node: cp.Expression, fixed: Array, frame: Frame, rule: str) -> Piece:
    if np.all(fixed == fixed.flat[0]):
        c = float(fixed.flat[0])
        base = frame.total(node)
        expression = base if c == 1 else c * base
    else:
        expression = frame.total(cp.multiply(fixed, node))
    return Piece(node, rule, expression, lambda w, values: frame.constant(np.zeros(node.shape)))


def _weighted_leaf(
    node: cp.Expression, target: cp.Expression, sign: int, frame: Frame, rule: str
) -> Piece:
    """⟨W, target⟩ with a Parameter W of known sign (0: any, for affine targets only)."""
    parameter = cp.Parameter(node.shape, nonneg=sign != 0)
    product = cp.multiply(parameter, target)
    expression = frame.total(product if sign >= 0 else -product)

    def update(w: Array, values: Values) -> Any:
        parameter.value = w if sign == 0 else np.maximum(sign * w, 0.0)
        return frame.constant(np.zeros(node.shape))

    return Piece(node, rule, expression, update)


# ----------------------------------------------------------------------------------------------
# weights of both signs, affine atoms


def both_signs(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A weight of either sign is split into its positive and its negative part."""
    curved_somewhere = node.is_convex() or node.is_concave()
    if weight.sign != 0 or (
        _is_affine_atom(node) and not frame.entrywise and not curved_somewhere
    ):
        return None  # an affine atom passes any weight on; splitting it too would double the tree
    if weight.fixed is None:
        parts = [Weight(1), Weight(-1)]
    else:
        parts = [
            Weight(1, np.maximum(weight.fixed, 0)),
            Weight(-1, np.minimum(weight.fixed, 0)),
        ]
    up, down = (majorise(node, part, frame) for part in parts)

    def update(w: Array, values: Values) -> Any:
        return up.update(np.maximum(w, 0), values) + down.update(np.minimum(w, 0), values)

    return Piece(node, "both signs: split", _plus(up, down), update, [up, down])


def _plus(*pieces: Piece) -> cp.Expression | None:
    terms = [p.expression for p in pieces if p.expression is not None]
    return sum(terms[1:], terms[0]) if terms else None


def _is_affine_atom(node: cp.Expression) -> bool:
    return isinstance(node, Atom) and bool(node.is_atom_convex() and node.is_atom_concave())


def affine_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """Sums, scalings, indexing …: argument by argument, weights through the adjoint map."""
    if not _is_affine_atom(node):
        return None
    if not frame.entrywise:
        return _adjoint_atom(node, weight, frame)
    if isinstance(node, AddExpression | NegExpression) and all(
        arg.shape == node.shape for arg in node.args
    ):
        return _entrywise_sum(node, weight, frame)
    if isinstance(node, multiply | DivExpression) and all(
        arg.shape == node.shape for arg in node.args
    ):
        return _entrywise_scaling(node, weight, frame)
    return _entrywise_affine_atom(node, weight, frame)


def _moving(node: cp.Expression) -> bool:
    """Does the Jacobian of an affine atom depend on Parameters?"""
    return any(arg.is_constant() and arg.parameters() for arg in node.args)


def _slope_sign(node: Any, index: int) -> int:
    return 1 if node.is_incr(index) else -1 if node.is_decr(index) else 0


def _jacobians(node: cp.Expression, values: Values) -> list[sp.csr_array]:
    try:
        return atom_jacobian(node, values)
    except NotImplementedError:
        raise NotMajorizable(
            short(node),
            f"cvxpy gives no derivative of the affine atom {type(node).__name__}",
            "the same map by indexing, sums and matrix products",
        ) from None


def _adjoint_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    live = [i for i, arg in enumerate(node.args) if not arg.is_constant()]
    fixed = None if _moving(node) else (_jacobians(node, Values()), constant_part(node, Values()))
    children = []
    for i in live:
        arg = node.args[i]
        if fixed is None:
            child = weight.times(_slope_sign(node, i))
        elif weight.fixed is not None:
            child = Weight.constant(unvec(fixed[0][i] @ vec(weight.fixed), arg.shape))
        else:
            child = weight.times(_matrix_sign(fixed[0][i]))
        children.append(majorise(arg, child, frame))

    def update(w: Array, values: Values) -> float:
        jacobians, constants = fixed or (_jacobians(node, values), constant_part(node, values))
        offset = float(np.sum(w * constants))
        for i, child in zip(live, children, strict=True):
            offset += child.update(unvec(jacobians[i] @ vec(w), node.args[i].shape), values)
        return 0.0 if values.relaxed else offset

    return Piece(node, "affine atom: argument by argument", _plus(*children), update, children)


def _matrix_sign(matrix: sp.csr_array) -> int:
    if np.all(matrix.data >= 0):
        return 1
    return -1 if np.all(matrix.data <= 0) else 0


def _entrywise_sum(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """a + b and −a, entry by entry: the weight goes through."""
    factor = -1 if isinstance(node, NegExpression) else 1
    child_weight = (
        weight.times(factor)
        if weight.fixed is None
        else Weight.constant(factor * weight.fixed)
    )
    children = [majorise(arg, child_weight, frame) for arg in node.args]

    def update(w: Array, values: Values) -> Array:
        return np.sum([child.update(factor * w, values) for child in children], axis=0)

    return Piece(node, "affine atom: argument by argument", _plus(*children), update, children)


def _entrywise_scaling(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """c∘a and a/c, entry by entry: the coefficient joins the weight."""
    index = 1 if node.args[0].is_constant() else 0
    arg, coefficient = node.args[index], node.args[1 - index]

    def scaled(w: Array, values: Values) -> Array:
        c = values.array(coefficient)
        return w / c if isinstance(node, DivExpression) else w * c

    if coefficient.parameters() or weight.fixed is None:
        child_weight = weight.times(_slope_sign(node, index))
    else:
        child_weight = Weight.constant(scaled(weight.fixed, Values()))
    child = majorise(arg, child_weight, frame)

    def update(w: Array, values: Values) -> Any:
        return child.update(scaled(w, values), values)

    return Piece(node, "affine atom: argument by argument", child.expression, update, [child])


def _entrywise_affine_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """Any other affine map A: A⁺ on majorants of the arguments, A⁻ on minorants.

    A weight that moves cannot be pushed through A row by row; it multiplies a stand-in.
    """
    if weight.fixed is None:
        return _weighted_stand_in(node, weight, frame)
    if _moving(node):
        raise NotMajorizable(
            short(node),
            "a Parameter multiplies a nonconvex expression inside a vector or a convex atom",
            "give the Parameter a fixed value (a constant), or pull it out of the convex atom",
        )
    matrices, constants = _jacobians(node, Values()), constant_part(node, Values())
    children: list[Piece] = []
    frames: list[Frame] = []
    terms: list[cp.Expression] = []
    scale = vec(weight.fixed)
    for matrix, arg in zip(matrices, node.args, strict=True):
        if arg.is_constant():
            continue
        rows = sp.csr_array(matrix.multiply(scale[None, :])).T
        for part, signed in ((rows.maximum(0), arg), (-rows.minimum(0), -arg)):
            if sp.csr_array(part).nnz == 0:
                continue
            inner = Frame(signed, frame.context, entrywise=True)
            children.append(inner.piece)
            frames.append(inner)
            terms.append(sp.csr_array(part) @ cp.vec(inner.expression, order="F"))
    expression = cp.reshape(sum(terms[1:], terms[0]), node.shape, order="F")

    def update(w: Array, values: Values) -> Array:
        for inner in frames:
            inner.update(values)
        return w * constants

    return Piece(node, "affine atom: argument by argument", expression, update, children)


def _weighted_stand_in(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """W∘t with t ≥ up(node), or −W∘t with t ≥ up(−node)."""
    inner = Frame(node if weight.sign > 0 else -node, frame.context, entrywise=True)
    t = frame.context.stand_in(inner.expression)
    leaf = _weighted_leaf(node, t if weight.sign > 0 else -t, weight.sign, frame, "")

    def update(w: Array, values: Values) -> Any:
        inner.update(values)
        return leaf.update(w, values)

    rule = f"{inner.piece.rule}, through an epigraph variable"
    return Piece(node, rule, leaf.expression, update, [inner.piece])


# ----------------------------------------------------------------------------------------------
# atoms


def tangent(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A concave atom (a convex one under a minus) is replaced by its tangent in its arguments.

    φ(a) ≤ φ(a₀) + φ'(a₀)·(a − a₀); then the rules for each a with weight w·φ'(a₀), whose sign is
    known where φ is monotone.
    """
    if not isinstance(node, Atom):
        return None
    against = (weight.sign > 0 and node.is_atom_concave()) or (
        weight.sign < 0 and node.is_atom_convex()
    )
    if not against:
        return None
    if type(node).__name__ in WITHOUT_SLOPE:
        raise NotMajorizable(
            short(node),
            f"no slope of {type(node).__name__} is known",
            "the same function from atoms such as cp.max, cp.quad_over_lin or cp.rel_entr",
        )
    _keep_domain(node, frame.context)
    if has_edge(node):
        frame.context.extensions[id(node)] = partial(extended, node)
    args = _aligned(node) if frame.entrywise else node.args
    live = [i for i, arg in enumerate(args) if not arg.is_constant()]
    sums = _axis_sums(node) if frame.entrywise else None
    children = [majorise(args[i], weight.times(_slope_sign(node, i)), frame) for i in live]
    expression = _plus(*children)
    if sums is not None and expression is not None:
        expression = cp.reshape(sums @ cp.vec(expression, order="F"), node.shape, order="F")

    def update(w: Array, values: Values) -> Any:
        raw = [values.array(arg) for arg in args]
        if values.relaxed:
            point, slopes = raw, _convex_start(node, args, raw, w, values.thin)
        else:
            point = interior(node, raw)
        here = np.asarray(evaluate(node, point), dtype=float)
        if not values.relaxed:
            slopes = pull_back(node, point, here, w)
        offset = frame.constant(w * here)
        for i, child in zip(live, children, strict=True):
            part = child.update(slopes[i], values) - frame.constant(slopes[i] * point[i])
            offset = offset + (part if sums is None else unvec(sums @ vec(part), node.shape))
        return np.zeros(np.shape(offset)) if values.relaxed else offset

    rule = "concave atom: tangent" if weight.sign > 0 else "convex atom under a minus: tangent"
    return Piece(node, rule, expression, update, children)


def _aligned(node: cp.Expression) -> list[cp.Expression]:
    """Arguments broadcast to the atom's shape, where an entrywise frame needs them so."""
    if not isinstance(node, Elementwise):
        return list(node.args)
    return [
        arg if arg.shape == node.shape else cp.broadcast_to(arg, node.shape) for arg in node.args
    ]


def _axis_sums(node: Any) -> sp.csr_array | None:
    """For an atom along an axis, the 0/1 matrix that adds the entries behind each output."""
    if isinstance(node, Elementwise):
        return None
    along = isinstance(node, AxisAtom) and node.shape == AxisAtom.shape_from_args(node)
    if not along or not all(arg.is_constant() for arg in node.args[1:]):
        raise NotMajorizable(
            short(node),
            f"the vector-valued atom {type(node).__name__} has no entrywise tangent",
            "write its entries as separate constraints, or sum them in the objective",
        )
    outputs = np.arange(node.size).reshape(node.shape, order="F")
    rows = vec(spread(node, outputs, node.args[0].ndim, node.args[0].shape)).astype(int)
    return sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))))


def _convex_start(
    node: cp.Expression,
    args: Sequence[cp.Expression],
    values: Sequence[Array],
    w: Array,
    thin: np.random.Generator | None,
) -> list[Array]:
    """Slopes of the convex start: none for affine arguments, the slope at 0 for convex ones.

    With them a capped or rescaled loss is its convex base (weight φ'(0), 1 where that is
    infinite) and a difference f − g is f.
    """
    base = [
        v if arg.is_constant() else np.zeros(arg.shape)
        for v, arg in zip(values, args, strict=True)
    ]
    moved = interior(node, base)
    if any(np.any(m != b) for m, b in zip(moved, base, strict=True)):
        moved = [b if a.is_constant() else np.ones(a.shape) for b, a in zip(base, args, strict=True)]
    with np.errstate(all="ignore"):
        here = np.asarray(evaluate(node, moved), dtype=float)
    try:
        slopes = pull_back(node, moved, here, w)
    except ValueError:  # no slope at 0 (LinAlgError is a ValueError)
        slopes = [np.zeros(a.shape) for a in args]
    return [
        np.zeros(arg.shape) if arg.is_affine() else _thinned(slope, thin)
        for slope, arg in zip(slopes, args, strict=True)
    ]


def _thinned(slope: Array, thin: np.random.Generator | None) -> Array:
    """A random half of the entries, twice; a single number stays."""
    if thin is None or slope.size == 1:
        return slope
    return 2.0 * slope * (thin.random(slope.shape) < 0.5)


def _keep_domain(node: Any, context: Context) -> None:
    """A tangent is defined everywhere, its atom is not: keep log's argument positive, and so on."""
    for constraint in node._domain():
        if not isinstance(constraint, cp.constraints.Inequality):
            if not constraint.is_dcp():
                raise NotMajorizable(
                    short(node),
                    f"{type(node).__name__} asks for a symmetric or semidefinite argument, which "
                    "is not affine here",
                    "a matrix variable in its place and an equality constraint",
                )
            context.domain.append(constraint)
        elif not constraint.expr.is_nonpos():
            if constraint.is_dcp():
                context.domain.append(constraint)
            else:
                inner = Frame(constraint.expr, context, entrywise=True)
                context.domain.append(inner.expression <= 0)
                context.domain_frames.append(inner)


def composition(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A convex atom, monotone in its nonconvex arguments: the atom of their majorants.

    φ(up(a)) where φ is nondecreasing in a, φ(down(a)) where it is nonincreasing.
    """
    if not isinstance(node, Atom):
        return None
    suits = (weight.sign > 0 and node.is_atom_convex()) or (
        weight.sign < 0 and node.is_atom_concave()
    )
    if not suits:
        return None
    inner: list[Frame] = []
    sides = [_side(node, i, weight.sign) for i in range(len(node.args))]
    args = [
        _bound(arg, side, frame.context, inner)
        for arg, side in zip(node.args, sides, strict=True)
    ]
    replaced = node.copy(args)
    if not replaced.is_dcp(dpp=True):  # such as quad_over_lin with Parameters below the line
        args = [_stand_in(a, side, frame.context) for a, side in zip(args, sides, strict=True)]
        replaced = node.copy(args)
    if not (replaced.is_convex() if weight.sign > 0 else replaced.is_concave()):
        raise NotMajorizable(
            short(node),
            "cvxpy cannot see the curvature of the atom once its arguments are majorised",
            "an equivalent form whose outer atom is monotone",
        )
    if not replaced.is_dcp(dpp=True):
        raise NotMajorizable(
            short(node),
            "its Parameters multiply one another (not DPP)",
            "one Parameter that holds their product, or constants",
        )
    return _replaced_leaf(node, replaced, weight, frame, inner)


AFFINE, BELOW, ABOVE, MAGNITUDE = 0, -1, 1, 2


def _side(node: cp.Expression, index: int, sign: int) -> int:
    """What a kept atom needs of an argument: a majorant, a minorant, or one of its magnitude."""
    if node.args[index].is_affine():
        return AFFINE
    direction = sign * _slope_sign(node, index)
    if direction != 0:
        return direction
    if _is_even_in(node, index):
        return MAGNITUDE
    raise _not_monotone(node, index)


def _bound(
    arg: cp.Expression, side: int, context: Context, inner: list[Frame]
) -> cp.Expression:
    if side == AFFINE and _is_dpp(arg):
        return arg
    if side == MAGNITUDE:
        return _magnitude(arg, context, inner)
    return _one_sided(arg, side or ABOVE, context, inner)  # an affine one is its own majorant


def _stand_in(arg: cp.Expression, side: int, context: Context) -> cp.Expression:
    """A bound without Parameters: a variable on the same side of it."""
    if not arg.parameters():
        return arg
    if side == BELOW:
        return -context.stand_in(-arg)
    return context.stand_in(arg, exact=side == AFFINE)


def _replaced_leaf(
    node: cp.Expression,
    replaced: cp.Expression,
    weight: Weight,
    frame: Frame,
    inner: list[Frame],
) -> Piece:
    """The leaf of an atom whose arguments were majorised; its Parameters are the inner frames'."""
    if weight.fixed is not None:
        leaf = _fixed_leaf(node, weight.fixed, frame, "")
        expression = _fixed_leaf(replaced, weight.fixed, frame, "").expression
    else:
        t = frame.context.stand_in(replaced if weight.sign > 0 else -replaced)
        leaf = _weighted_leaf(node, t if weight.sign > 0 else -t, weight.sign, frame, "")
        expression = leaf.expression

    def update(w: Array, values: Values) -> Any:
        for f in inner:
            f.update(values)
        return leaf.update(w, values)

    rule = "convex atom: of majorised arguments"
    return Piece(node, rule, expression, update, [f.piece for f in inner])


def _one_sided(
    arg: cp.Expression, direction: int, context: Context, inner: list[Frame]
) -> cp.Expression:
    """up(arg) or down(arg), keeping the sign that the atom's monotonicity may rest on."""
    suits = arg.is_convex() if direction > 0 else arg.is_concave()
    if suits and _is_dpp(arg):
        return arg
    frame = Frame(arg if direction > 0 else -arg, context, entrywise=True)
    inner.append(frame)
    if direction > 0:
        return cp.pos(frame.expression) if arg.is_nonneg() else frame.expression
    return -cp.pos(frame.expression) if arg.is_nonpos() else -frame.expression


_EVEN = {"abs", "norm1", "norm_inf", "Pnorm", "PnormApprox", "huber"}


def _is_even_in(node: Any, index: int) -> bool:
    """Is the convex atom an increasing function of |argument|?"""
    name = type(node).__name__
    if name in {"Power", "PowerApprox"}:
        p = float(node.p.value)
        return p > 1 and p % 2 == 0
    return name in _EVEN or (name == "quad_over_lin" and index == 0)


def _magnitude(arg: cp.Expression, context: Context, inner: list[Frame]) -> cp.Expression:
    """max(up(a), up(−a), 0), a convex majorant of |a|."""
    sides = []
    for signed in (arg, -arg):
        frame = Frame(signed, context, entrywise=True)
        inner.append(frame)
        sides.append(frame.expression)
    return cp.maximum(*sides, 0)


def _not_monotone(node: cp.Expression, index: int) -> NotMajorizable:
    return NotMajorizable(
        short(node),
        f"{type(node).__name__} is convex but neither even nor monotone in its nonconvex "
        f"argument {index}, `{short(node.args[index], 50)}`",
        "a variable in its place and an equality constraint, or an outer atom that is monotone",
    )


def product(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A product of two expressions is polarised: xy = ¼(x + y)² − ¼(x − y)²."""
    if not isinstance(node, MulExpression):  # cp.multiply is a subclass
        return None
    if any(arg.is_constant() for arg in node.args):
        return None
    a, b = node.args
    elementwise = isinstance(node, multiply) or a.is_scalar() or b.is_scalar()
    if not elementwise and max(a.ndim, b.ndim) > 2:
        raise NotMajorizable(
            short(node),
            "it multiplies stacks of matrices",
            "one product a matrix, by indexing the first axis",
        )
    rule = "product: polarised"
    return _rewritten(node, _polarised(a, b, elementwise), weight, frame, rule)


def _polarised(a: cp.Expression, b: cp.Expression, elementwise: bool) -> cp.Expression:
    if elementwise:
        return 0.25 * cp.square(a + b) - 0.25 * cp.square(a - b)
    if a.ndim == 1 and b.ndim == 1:
        return cp.sum(_polarised(a, b, True))
    rows = a if a.ndim == 2 else cp.reshape(a, (1, a.size), order="F")
    columns = b if b.ndim == 2 else cp.reshape(b, (b.size, 1), order="F")
    m, n = rows.shape[0], columns.shape[1]
    terms = [
        _polarised(rows[:, [k]] @ np.ones((1, n)), np.ones((m, 1)) @ columns[[k], :], True)
        for k in range(rows.shape[1])
    ]
    total = sum(terms[1:], terms[0])
    shape = a.shape[:-1] + b.shape[1:]
    return cp.reshape(total, shape, order="F")


def quad_form(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """xᵀPx is split by the eigenvalues of P: ‖L₊ᵀx‖² − ‖L₋ᵀx‖²."""
    if not isinstance(node, QuadForm) or node.args[1].parameters():
        return None
    x, matrix = node.args
    if not matrix.is_constant():
        return None
    value = Values().array(matrix)
    eigenvalues, vectors = np.linalg.eigh((value + value.T) / 2)
    parts = []
    for sign in (1, -1):
        keep = sign * eigenvalues > 0
        root = vectors[:, keep] * np.sqrt(sign * eigenvalues[keep])
        if np.any(keep):
            parts.append(sign * cp.sum_squares(root.T @ x))
    split = sum(parts[1:], parts[0]) if parts else cp.Constant(0)
    return _rewritten(node, split, weight, frame, "quadratic form: split by eigenvalues")


def _rewritten(
    node: cp.Expression, other: cp.Expression, weight: Weight, frame: Frame, rule: str
) -> Piece:
    piece = majorise(other, weight, frame)
    return Piece(node, rule, piece.expression, piece.update, [piece])


def refusal(node: cp.Expression) -> NotMajorizable:
    """Why no rule applies to `node`, and what to write instead."""
    if isinstance(node, DivExpression):
        return NotMajorizable(
            short(node),
            "a quotient with a variable denominator is neither convex nor concave",
            "x * cp.inv_pos(y) for a positive y, cp.quad_over_lin, or multiply the constraint out",
        )
    if isinstance(node, Atom) and node.is_affine():
        return NotMajorizable(
            short(node),
            "a Parameter divides, or multiplies another one, inside a vector or a convex atom",
            "one Parameter that holds the coefficient's value, or constants",
        )
    if getattr(getattr(node, "p", None), "parameters", list)():
        return NotMajorizable(
            short(node), "its exponent is a Parameter", "a number for the exponent"
        )
    if isinstance(node, QuadForm):
        return NotMajorizable(
            short(node),
            "its matrix is a variable or an indefinite Parameter, whose eigenvalues may change sign",
            "a constant matrix, cp.Parameter(PSD=True), or cp.sum(cp.multiply(P, cp.outer(x, x)))",
        )
    return NotMajorizable(short(node), *_hint(type(node).__name__, node))


def _hint(name: str, node: cp.Expression) -> tuple[str, str]:
    reason = f"the atom {name} is neither convex, concave, affine nor a product"
    if name in {"Prod", "cumprod"}:
        return reason, "products of two at a time, which are polarised"
    if isinstance(node, Atom) and (node.is_atom_quasiconvex() or node.is_atom_quasiconcave()):
        return f"the atom {name} is only quasiconvex or quasiconcave", (
            "a level set of it as a convex constraint, or problem.solve(qcp=True)"
        )
    return reason, (
        "compose it from convex and concave atoms (cp.minimum, cp.exp, cp.log, differences of convex)"
    )


RULES: tuple[Callable[[cp.Expression, Weight, Frame], Piece | None], ...] = (
    constant,
    affine,
    curved,
    both_signs,
    scalar,
    affine_atom,
    tangent,
    quad_form,
    composition,
    product,
)
