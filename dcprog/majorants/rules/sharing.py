"""Nodes that occur in many places of a tree, represented by one variable.

An expression tree is a graph: e·max(e) has e twice, a product is polarised into squares of sums of
its factors, and the parts of a sum may be indexed one by one. Majorised anew in every place, nested
sharing has a cost exponential in its depth. So the pieces for one node and sign are limited; beyond
the limit the node is majorised once more, for a variable t ≥ up(e), which replaces it from then on.
A problem with little sharing does not reach the limit.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from dcprog.majorants.rules.context import Use
from dcprog.majorants.rules.frame import Frame, Piece, Weight
from dcprog.majorants.rules.leaves import fixed_leaf, weighted_leaf

__all__ = ["is_spent", "shared"]

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
