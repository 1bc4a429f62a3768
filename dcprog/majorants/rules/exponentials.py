"""Quotients of exponentials: softmax, logit shares, ratios of partition functions."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote

from dcprog.majorants.rules.frame import Frame, Piece, Weight, rewrite
from dcprog.majorants.tree import Values, spread_to

__all__ = ["logarithm", "quotient_of_exponentials"]


def quotient_of_exponentials(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """a/b = exp(log a − log b) where a and b are sums of exponentials: log-sum-exp, convex.

    A step on this majorant changes a and b by a share of their values, one on that of a·(1/b)
    changes the exponents by a share of theirs.
    """
    if not isinstance(node, DivExpression) or node.args[1].is_constant():
        return None
    a, b = node.args
    below = logarithm(b)
    if below is None:
        return None
    if a.is_constant():
        other = cp.multiply(a, cp.exp(-spread_to(below, node.shape)))
    else:
        above = logarithm(a)
        if above is None:
            return None
        other = cp.exp(spread_to(above, node.shape) - spread_to(below, node.shape))
    return rewrite(node, other, weight, frame, "quotient of exponentials: exp of a difference")


def logarithm(node: cp.Expression) -> cp.Expression | None:
    """The logarithm of a sum of exponentials, their multiples and positive constants.

    Parameters
    ----------
    node : cvxpy expression

    Returns
    -------
    cvxpy expression or None
        Of the node's shape; None if the node is no such sum.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, name="x")
    >>> print(logarithm(3 * cp.exp(x)), "|", logarithm(cp.sum(cp.exp(x))), "|", logarithm(x))
    [1.09861229 1.09861229] + x | log_sum_exp(x, None, False) | None
    """
    if node.is_constant():
        known = not node.parameters() and bool(np.all(Values().array(node) > 0))
        return cp.Constant(np.log(Values().array(node))) if known else None
    if isinstance(node, cp.exp):
        return node.args[0]
    if isinstance(node, Promote):
        inner = logarithm(node.args[0])
        return None if inner is None else cp.promote(inner, node.shape)
    if isinstance(node, cp.Sum):
        inner = logarithm(node.args[0])
        return None if inner is None else cp.log_sum_exp(inner, node.axis, node.keepdims)
    if not isinstance(node, AddExpression | MulExpression):
        return None
    parts = [logarithm(arg) for arg in node.args]
    if any(part is None for part in parts):
        return None
    spread = [spread_to(part, node.shape) for part in parts if part is not None]
    if isinstance(node, AddExpression):
        rows = cp.vstack([cp.vec(part, order="F") for part in spread])
        return cp.reshape(cp.log_sum_exp(rows, axis=0), node.shape, order="F")
    alike = isinstance(node, multiply) or any(arg.is_scalar() for arg in node.args)
    return spread[0] + spread[1] if alike else None
