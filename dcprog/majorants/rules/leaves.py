"""Leaves: constants, affine terms, terms of the right curvature, and stand-ins of shared nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array, vec
from dcprog.majorants.jacobians import Adjoint, jacobian, reached
from dcprog.majorants.rules.context import Use
from dcprog.majorants.rules.frame import CONVEX, Frame, Piece, Weight, is_affine_atom
from dcprog.majorants.tree import Values

__all__ = [
    "affine",
    "constant",
    "curved",
    "fixed_leaf",
    "is_dpp",
    "is_spent",
    "scalar",
    "shared",
    "weighted_leaf",
]


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
        parameter.value = w if sign == 0 else np.maximum(sign * w, 0.0)
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
