"""``kl_div`` of arguments that are not affine."""

from __future__ import annotations

import cvxpy as cp

from dcprog.majorants.rules.frame import Frame, Piece, Weight, rewrite

__all__ = ["divergence"]


def divergence(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """``kl_div`` is rewritten as x log(x/y) − x + y, whose first term is nonincreasing in y."""
    if not isinstance(node, cp.kl_div) or weight.sign <= 0 or node.args[1].is_affine():
        return None
    x, y = node.args
    return rewrite(node, cp.rel_entr(x, y) - x + y, weight, frame, "kl_div: term by term")
