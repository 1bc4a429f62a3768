"""Constants, affine terms and atoms, terms of the right curvature, and weights of both signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.affine import Adjoint, atom_jacobian, constant_part, jacobian, reached
from dcprog.majorants.rules.frame import (
    CONVEX,
    Frame,
    Piece,
    Use,
    Weight,
    assign,
    is_affine_atom,
    majorise,
    plus,
    slope_sign,
)
from dcprog.majorants.tree import Values, is_moving, short


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
    if not is_dpp(node):  # such as x / parameter
        return None if frame.entrywise else _gradient_leaf(node, frame)
    if weight.fixed is not None:
        return fixed_leaf(node, weight.fixed, frame, "affine: kept")
    if frame.entrywise:
        target = node
        if node.parameters():  # weight × user parameter is not DPP
            target = frame.context.stand_in(node, exact=True)
        return weighted_leaf(node, target, 0, frame, "affine: one Parameter an entry")
    small = node.size <= sum(v.size for v in node.variables())
    if small and not frame.gather and not node.parameters():
        return weighted_leaf(node, node, 0, frame, "affine: one Parameter an entry")
    return _gradient_leaf(node, frame)


def is_dpp(node: cp.Expression) -> bool:
    """True if no Parameter multiplies another one (DPP)."""
    return not node.parameters() or bool(node.is_dpp())


def _gradient_leaf(node: cp.Expression, frame: Frame) -> Piece:
    gradients = [frame.gradient(v) for v in node.variables()]
    entries = reached(node)
    for gradient in gradients:
        gradient.reach(entries[gradient.variable.id])
    slope = Adjoint(node) if node.parameters() else _fixed_adjoint(node)

    def update(w: Array, values: Values) -> float:
        slopes = slope(w, values)
        offset = float(np.sum(w * values.array(node)))
        for gradient in gradients:
            term = slopes[gradient.variable.id]
            gradient.add(term)
            offset -= float(term @ vec(values.array(gradient.variable)))
        return offset

    return Piece(node, "affine: into the gradient", None, update)


def _fixed_adjoint(node: cp.Expression) -> Callable[[Array, Values], dict[int, Array]]:
    """The adjoint of an affine expression without Parameters: its Jacobian is formed once."""
    matrices = jacobian(node)
    return lambda w, values: {key: matrix @ vec(w) for key, matrix in matrices.items()}


def curved(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A term whose curvature suits its weight is kept, times one nonnegative Parameter."""
    suits = (weight.sign > 0 and node.is_convex()) or (weight.sign < 0 and node.is_concave())
    if not suits or not is_dpp(node):
        return None
    rule = CONVEX if weight.sign > 0 else "concave under a minus: kept"
    if weight.fixed is not None:
        return fixed_leaf(node, weight.fixed, frame, rule)
    if node.parameters() and is_affine_atom(node):
        return None  # a user's Parameter may join the weight further down
    target = node
    if node.parameters():  # weight × user parameter is not DPP: the weight multiplies a stand-in
        t = frame.context.stand_in(node if weight.sign > 0 else -node)
        target = t if weight.sign > 0 else -t
    return weighted_leaf(node, target, weight.sign, frame, f"{rule}, times a slope")


def fixed_leaf(node: cp.Expression, fixed: Array, frame: Frame, rule: str) -> Piece:
    """The node times a weight that never moves."""
    if np.all(fixed == fixed.flat[0]):
        c = float(fixed.flat[0])
        base = frame.total(node)
        expression = base if c == 1 else c * base
    else:
        expression = frame.total(cp.multiply(fixed, node))
    return Piece(node, rule, expression, lambda w, values: frame.constant(np.zeros(node.shape)))


def weighted_leaf(
    node: cp.Expression, target: cp.Expression, sign: int, frame: Frame, rule: str
) -> Piece:
    """⟨W, target⟩ with a Parameter W of known sign (0: any, for affine targets only)."""
    parameter = cp.Parameter(node.shape, nonneg=sign != 0)
    product = cp.multiply(parameter, target)
    expression = frame.total(product if sign >= 0 else -product)

    def update(w: Array, values: Values) -> Any:
        assign(parameter, w if sign == 0 else np.maximum(sign * w, 0.0))
        return frame.constant(np.zeros(node.shape))

    return Piece(node, rule, expression, update)


# ----------------------------------------------------------------------------------------------
# nodes that occur in many places


# An expression tree is a graph: e·max(e) has e twice, a product is polarised into squares of sums
# of its factors. Majorised anew in every place, nested sharing has a cost exponential in its depth.
# So the pieces for one node and sign are limited; beyond the limit the node is majorised once more,
# for a variable t ≥ up(e), which replaces it from then on. Little sharing does not reach the limit.
LIMIT = 16


def is_spent(node: cp.Expression, weight: Weight, frame: Frame) -> bool:
    """True if the majorants of the node under this sign have reached the limit of pieces.

    False while the majorant of its stand-in is made.
    """
    use = frame.context.use(node, weight.sign)
    return use.pieces >= LIMIT and not use.under_way


def shared(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """The weight times the variable that stands for a majorant (a minorant) of the node."""
    if weight.sign == 0 or not is_spent(node, weight, frame):
        return None
    use = frame.context.use(node, weight.sign)
    t = use.stand_in if use.stand_in is not None else _stand_in(use, weight.sign, frame)
    target = t if weight.sign > 0 else -t
    rule = "stands in many places: an epigraph variable"
    if weight.fixed is not None:
        leaf = fixed_leaf(target, weight.fixed, frame, rule)
    else:
        leaf = weighted_leaf(target, target, weight.sign, frame, rule)
    return Piece(node, rule, leaf.expression, leaf.update)


def _stand_in(use: Use, sign: int, frame: Frame) -> cp.Variable:
    context = frame.context
    use.under_way = True
    weight = Weight.constant(np.full(use.node.shape, float(sign)))
    inner = Frame(use.node, context, entrywise=True, weight=weight)
    use.under_way = False
    context.frames.append(inner)
    use.stand_in = context.stand_in(inner.expression)
    return use.stand_in


# ----------------------------------------------------------------------------------------------
# affine atoms


def both_signs(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A weight of either sign is split into its positive and its negative part."""
    curved_somewhere = node.is_convex() or node.is_concave()
    passes_on = is_affine_atom(node) and not frame.entrywise and not curved_somewhere
    if weight.sign != 0 or (passes_on and not is_spent(node, weight, frame)):
        return None  # an affine atom passes any weight on; splitting it too would double the tree
    if weight.fixed is None:
        parts = [Weight(1), Weight(-1)]
    else:
        parts = [Weight(1, np.maximum(weight.fixed, 0)), Weight(-1, np.minimum(weight.fixed, 0))]
    up, down = (majorise(node, part, frame) for part in parts)

    def update(w: Array, values: Values) -> Any:
        return up.update(np.maximum(w, 0), values) + down.update(np.minimum(w, 0), values)

    return Piece(node, "both signs: split", plus(up, down), update, [up, down])


def affine_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """Sums, scalings, indexing …: argument by argument, weights through the adjoint map."""
    if not is_affine_atom(node):
        return None
    if not frame.entrywise:
        return _adjoint_atom(node, weight, frame)
    alike = all(arg.shape == node.shape for arg in node.args)
    if alike and isinstance(node, AddExpression | NegExpression | multiply | DivExpression):
        return _entry_by_entry(node, weight, frame)
    return _entrywise_affine_atom(node, weight, frame)


def _adjoint_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    live = [i for i, arg in enumerate(node.args) if not arg.is_constant()]
    fixed = (
        None if is_moving(node) else (atom_jacobian(node, Values()), constant_part(node, Values()))
    )
    children = []
    for i in live:
        arg = node.args[i]
        if fixed is None:
            child = weight.times(slope_sign(node, i))
        elif weight.fixed is not None:
            child = Weight.constant(unvec(fixed[0][i] @ vec(weight.fixed), arg.shape))
        else:
            child = weight.times(_matrix_sign(fixed[0][i]))
        children.append(majorise(arg, child, frame))

    adjoint = Adjoint(node)

    def update(w: Array, values: Values) -> float:
        constants = constant_part(node, values) if fixed is None else fixed[1]
        offset = float(np.sum(w * constants))
        for i, child in zip(live, children, strict=True):
            passed = (
                adjoint.through(node, i, vec(w), values) if fixed is None else fixed[0][i] @ vec(w)
            )
            offset += child.update(unvec(passed, node.args[i].shape), values)
        return 0.0 if values.level > 1 else offset

    return Piece(node, "affine atom: argument by argument", plus(*children), update, children)


def _matrix_sign(matrix: sp.csr_array) -> int:
    if np.all(matrix.data >= 0):
        return 1
    return -1 if np.all(matrix.data <= 0) else 0


def _entry_by_entry(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """Sums, −a, c∘a and a/c, entry by entry: the coefficients join the weight."""
    live = [i for i, arg in enumerate(node.args) if _is_summed(node) or not arg.is_constant()]
    children = []
    for i in live:
        child = weight.times(slope_sign(node, i))
        if weight.fixed is not None and (_is_summed(node) or not is_moving(node)):
            child = Weight.constant(_scaled(node, i, weight.fixed, Values()))
        children.append(majorise(node.args[i], child, frame))

    def update(w: Array, values: Values) -> Any:
        pairs = zip(live, children, strict=True)
        return sum(child.update(_scaled(node, i, w, values), values) for i, child in pairs)

    return Piece(node, "affine atom: argument by argument", plus(*children), update, children)


def _is_summed(node: cp.Expression) -> bool:
    return isinstance(node, AddExpression | NegExpression)


def _scaled(node: cp.Expression, index: int, w: Array, values: Values) -> Array:
    """The weight w times the coefficient of an argument."""
    if isinstance(node, AddExpression):
        return w
    if isinstance(node, NegExpression):
        return -w
    c = values.array(node.args[1 - index])
    return w / c if isinstance(node, DivExpression) else w * c


def _entrywise_affine_atom(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """Any other affine map A: A⁺ on majorants of the arguments, A⁻ on minorants.

    A weight that moves cannot be pushed through A row by row; it multiplies a stand-in.
    """
    if weight.fixed is None:
        return _weighted_stand_in(node, weight, frame)
    if is_moving(node):
        raise NotMajorizable(
            short(node),
            "a Parameter multiplies a nonconvex expression inside a vector or a convex atom",
            "give the Parameter a fixed value (a constant), or pull it out of the convex atom",
        )
    matrices, constants = atom_jacobian(node, Values()), constant_part(node, Values())
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
    expression = None  # if no entry of an argument reaches the result, the offset remains
    if terms:
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
    leaf = weighted_leaf(node, t if weight.sign > 0 else -t, weight.sign, frame, "")

    def update(w: Array, values: Values) -> Any:
        inner.update(values)
        return leaf.update(w, values)

    rule = f"{inner.piece.rule}, through an epigraph variable"
    return Piece(node, rule, leaf.expression, update, [inner.piece])
