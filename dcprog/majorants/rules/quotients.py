"""Quotients whose denominator has a known sign, and logarithms of them."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Power
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array
from dcprog.majorants.rules.frame import Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.tree import Values

__all__ = ["fraction", "log_of_quotient", "quotient"]


def quotient(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """a/b with b of known sign.

    From above it is a product with 1/b, which is convex where b is concave, or u²/b where a = u²,
    convex in both. From below, for a = s² ≥ 0, it is 2(s₀/b₀)s − (s₀/b₀)²b, the tangent of s²/b.
    """
    if not _divides(node):
        return None
    a, b = node.args
    signs = frame.context.signs
    if not signs.is_nonneg(b):
        if not signs.is_nonpos(b):
            return None
        return rewrite(node, (-a) / (-b), weight, frame, "quotient: signs changed")
    if signs.is_nonpos(a) and not a.is_constant():
        return rewrite(node, -((-a) / b), weight, frame, "quotient: sign taken out")
    if weight.sign < 0 and signs.is_nonneg(a):
        return _tangent_of_square_over(node, weight, frame)
    squared = _square_root(a)
    if weight.sign > 0 and squared is not None and node.size == 1 and b.is_concave():
        other = cp.quad_over_lin(squared, cp.reshape(b, (), order="F"))
        other = other if node.shape == () else cp.reshape(other, node.shape, order="F")
        return rewrite(node, other, weight, frame, "quotient: of a square")
    other = a * cp.inv_pos(b) if a.is_constant() and a.size == 1 else _times(node, a, b)
    return rewrite(node, other, weight, frame, "quotient: times the inverse")


def _divides(node: cp.Expression) -> bool:
    return isinstance(node, DivExpression) and not node.args[1].is_constant()


def _times(node: cp.Expression, a: cp.Expression, b: cp.Expression) -> cp.Expression:
    inverse = cp.inv_pos(b)
    return cp.multiply(_spread(a, node.shape), _spread(inverse, node.shape))


def _spread(arg: cp.Expression, shape: tuple[int, ...]) -> cp.Expression:
    return arg if arg.shape == shape else cp.broadcast_to(arg, shape)


def _square_root(a: cp.Expression) -> cp.Expression | None:
    """u where the numerator is written as u² or as Σu²/c."""
    if isinstance(a, Power) and not a.p.parameters() and a.p.value == 2:
        return a.args[0]
    if isinstance(a, cp.quad_over_lin) and a.size == 1 and a.args[1].is_constant():
        divisor = a.args[1]
        if not divisor.parameters() and np.all(divisor.value == 1):
            return a.args[0]
    return None


def _tangent_of_square_over(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    a, b = (_spread(arg, node.shape) for arg in node.args)
    whole = isinstance(a, Power) and not a.p.parameters() and a.p.value == 2
    root = a.args[0] if whole else cp.sqrt(a)
    sign = -1 if frame.context.signs.is_nonneg(root) else 1 if frame.context.signs.is_nonpos(root) else 0
    top, below = majorise(root, Weight(sign), frame), majorise(b, Weight(1), frame)

    def update(w: Array, values: Values) -> Any:
        s, d = values.array(root), values.array(b)
        share = s / d
        if not np.all(np.isfinite(share)):
            raise ValueError(f"{node} has no slope at the current point: its denominator is 0")
        return top.update(2 * w * share, values) + below.update(-w * share**2, values)

    rule = "quotient under a minus: tangent of a square over the denominator"
    return Piece(node, rule, plus(top, below), update, [top, below])


def log_of_quotient(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """log(c + a/b) = log(cb + a) − log(b), and log1p likewise."""
    if not isinstance(node, cp.log):
        return None
    inner = 1 + node.args[0] if isinstance(node, cp.log1p) else node.args[0]  # log1p is a log
    parts = fraction(inner)
    if parts is None or not frame.context.signs.is_nonneg(parts[1]):
        return None
    other = cp.log(_spread(parts[0], node.shape)) - cp.log(_spread(parts[1], node.shape))
    return rewrite(node, other, weight, frame, "logarithm of a quotient: a difference")


def fraction(node: cp.Expression) -> tuple[cp.Expression, cp.Expression] | None:
    """Numerator and denominator of a quotient, or of one and constants that are added to it."""
    if _divides(node):
        return node.args[0], node.args[1]
    if isinstance(node, Promote):
        return fraction(node.args[0])
    if isinstance(node, NegExpression):
        parts = fraction(node.args[0])
        return None if parts is None else (-parts[0], parts[1])
    if isinstance(node, AddExpression):
        live = [arg for arg in node.args if not arg.is_constant()]
        parts = fraction(live[0]) if len(live) == 1 else None
        if parts is None:
            return None
        constant = sum((arg for arg in node.args if arg.is_constant()), cp.Constant(0))
        return cp.multiply(constant, parts[1]) + parts[0], parts[1]
    if isinstance(node, MulExpression) and any(arg.is_constant() for arg in node.args):
        constant, other = node.args if node.args[0].is_constant() else node.args[::-1]
        parts = fraction(other) if constant.size == 1 else None
        return None if parts is None else (constant * parts[0], parts[1])
    return None
