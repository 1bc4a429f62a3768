"""Quotients whose denominator has a known sign, and logarithms of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Power
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array
from dcprog.majorants.rules.frame import Frame, Piece, Weight, majorise, plus, rewrite
from dcprog.majorants.signs import Box
from dcprog.majorants.tree import Values, nodes, short, spread_to

__all__ = [
    "fraction",
    "log_of_quotient",
    "product_with_quotient",
    "quotient",
    "signed_quotients",
]


def quotient(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """a/b with b of known sign.

    From above it is a product with 1/b, which is convex where b is concave, or u²/b where a = u²,
    convex in both. From below, with a = s² ≥ 0, it is 2(s₀/b₀)s − (s₀/b₀)²b, the tangent of s²/b.

    References
    ----------
    Shen and Yu (2018), Fractional programming for communication systems, IEEE Trans. Signal
    Process. 66 (the quadratic transform).
    """
    if not _divides(node):
        return None
    a, b = node.args
    signs = frame.context.signs
    if not signs.is_nonneg(b):
        if not signs.is_nonpos(b):
            return None
        return rewrite(node, (-a) / (-b), weight, frame, "quotient: signs changed")
    if signs.is_nonpos(a) and not (a.is_constant() or signs.is_nonneg(a)):
        return rewrite(node, -((-a) / b), weight, frame, "quotient: sign taken out")
    if weight.sign < 0 and isinstance(a, Power) and not a.p.parameters() and a.p.value == 2:
        return _tangent_of_square_over(node, weight, frame)
    shiftable = a.is_concave() and not (a.is_constant() or a.parameters())
    if weight.sign < 0 and shiftable and signs.is_nonneg(a):
        return _tangent_under_root(node, weight, frame)
    squared = square_root(a) if node.size == 1 else None
    if weight.sign > 0 and squared is not None:
        other = spread_to(cp.quad_over_lin(squared, spread_to(b, ())), node.shape)
        return rewrite(node, other, weight, frame, "quotient: squares over the denominator")
    inverse = _inverse(b, signs)
    constant = a.is_constant() and a.size == 1
    factors = (spread_to(arg, node.shape) for arg in (a, inverse))
    other = a * inverse if constant else cp.multiply(*factors)
    return rewrite(node, other, weight, frame, "quotient: times the inverse")


def product_with_quotient(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """(a/b)·c = (a·c)/b, entry by entry."""
    if not isinstance(node, multiply):
        return None
    for one, other in (node.args, node.args[::-1]):
        parts = None if other.is_constant() else _bare_fraction(one)
        if parts is not None and frame.context.signs.is_nonneg(parts[1]):
            top = spread_to(parts[0], node.shape)
            top = cp.multiply(top, spread_to(other, node.shape))
            whole = top / spread_to(parts[1], node.shape)
            return rewrite(node, whole, weight, frame, "product with a quotient: one quotient")
    return None


def _bare_fraction(node: cp.Expression) -> tuple[cp.Expression, cp.Expression] | None:
    """Numerator and denominator of a quotient without added constants; None otherwise."""
    return None if isinstance(node, AddExpression) else fraction(node)


def signed_quotients(
    roots: Iterable[cp.Expression], signs: Box
) -> dict[int, tuple[cp.Expression, int]]:
    """Quotients in trees whose denominator has a known sign, and that sign, by node id."""
    found = {}
    for node in filter(_divides, chain.from_iterable(map(nodes, roots))):
        sign = int(signs.is_nonneg(node.args[1])) or -int(signs.is_nonpos(node.args[1]))
        if sign:
            found[id(node)] = node, sign
    return found


def _divides(node: cp.Expression) -> bool:
    return isinstance(node, DivExpression) and not node.args[1].is_constant()


def _inverse(b: cp.Expression, signs: Box) -> cp.Expression:
    """1/b for b ≥ 0; for a power b the negative power, which is convex."""
    if isinstance(b, MulExpression) and not b.is_affine() and not b.parameters():
        constant, other = b.args if b.args[0].is_constant() else b.args[::-1]
        alike = constant.is_constant() and constant.size == 1 and other.shape == b.shape
        if alike and float(np.sum(constant.value)) > 0:
            return _inverse(other, signs) / float(np.sum(constant.value))
    power = isinstance(b, Power) and not b.p.parameters() and b.p.value > 0
    if power and signs.is_nonneg(b.args[0]):
        return cp.power(b.args[0], -float(b.p.value))
    return cp.inv_pos(b)


def square_root(node: cp.Expression) -> cp.Expression | None:
    """The u of a node written as u², or as a nonnegative multiple, sum or product of squares."""
    if isinstance(node, Power) and not node.p.parameters() and node.p.value == 2:
        return node.args[0]
    if isinstance(node, cp.quad_over_lin) and node.size == 1 and _is_one(node.args[1]):
        return node.args[0]
    if isinstance(node, cp.Sum) and node.size == 1:
        return square_root(node.args[0])
    if isinstance(node, MulExpression) and all(_is_like(arg, node) for arg in node.args):
        one, other = (
            _constant_root(arg) if arg.is_constant() else square_root(arg) for arg in node.args
        )
        if one is not None and other is not None:
            return one * other if one.size == 1 else cp.multiply(one, other)
    return None


def _is_like(arg: cp.Expression, node: cp.Expression) -> bool:
    return arg.shape == node.shape or (arg.is_constant() and arg.size == 1)


def _is_one(node: cp.Expression) -> bool:
    return node.is_constant() and not node.parameters() and bool(np.all(node.value == 1))


def _constant_root(node: cp.Expression) -> cp.Expression | None:
    known = node.is_nonneg() and not node.parameters()
    return cp.Constant(np.sqrt(Values().array(node))) if known else None


def _tangent_of_square_over(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """−u²/b ≤ −2(u₀/b₀)u + (u₀/b₀)²b, for a = u²."""
    a, b = (spread_to(arg, node.shape) for arg in node.args)
    root = a.args[0]
    signs = frame.context.signs
    sign = -1 if signs.is_nonneg(root) else int(signs.is_nonpos(root))
    top, below = majorise(root, Weight(sign), frame), majorise(b, Weight(1), frame)

    def update(w: Array, values: Values) -> Any:
        share = _share(node, values.array(root), values.array(b), values)
        return top.update(2 * w * share, values) + below.update(-w * share**2, values)

    rule = "quotient under a minus: tangent of a square over the denominator"
    return Piece(node, rule, plus(top, below), update, [top, below])


# A numerator below this share of its size is shifted up to that share: at 0 its root has an
# infinite slope, the quotient has not.
LEAST_NUMERATOR = 0.01


def _tangent_under_root(node: cp.Expression, weight: Weight, frame: Frame) -> Piece:
    """−a/b ≤ −2r√(a + δ) + r²b + δ/b with r = √(a₀ + δ)/b₀, for concave a ≥ 0 and any δ ≥ 0.

    The weight goes under the root, so that no Parameter multiplies another one.
    """
    a, b = (spread_to(arg, node.shape) for arg in node.args)
    frame.context.products[id(node)] = node  # for the sizes of its arguments
    slope, shift = cp.Parameter(node.shape, nonneg=True), cp.Parameter(node.shape, nonneg=True)
    top = -2 * frame.total(cp.sqrt(cp.multiply(slope, a) + shift))
    kept = Piece(a, "concave numerator: kept, under a root", top, lambda w, values: 0.0)
    below = majorise(b, Weight(1), frame)
    inverse = majorise(_inverse(b, frame.context.signs), Weight(1), frame)

    def update(w: Array, values: Values) -> Any:
        numerator = np.maximum(values.array(a), 0.0)
        least = LEAST_NUMERATOR * (frame.context.remember(node, values)[0] or 1.0)
        moved = np.maximum(numerator, least)
        share = _share(node, np.sqrt(moved), values.array(b), values)
        slope.value = (w * share) ** 2
        shift.value = slope.value * (moved - numerator)
        left = below.update(-w * share**2, values)
        return left + inverse.update(-w * (moved - numerator), values)

    rule = "quotient under a minus: tangent of the root's square over the denominator"
    pieces = [kept, below, inverse]
    return Piece(node, rule, plus(*pieces), update, pieces)


def _share(node: cp.Expression, top: Array, below: Array, values: Values) -> Array:
    """The quotient of two arrays; 0 at levels above 1, such as the convex start's."""
    if values.level > 1:
        return np.zeros(node.shape)
    with np.errstate(all="ignore"):
        share = np.asarray(top / below)
    if not np.all(np.isfinite(share)):
        raise ValueError(f"{short(node)} has no slope at the current point: it divides by 0")
    return share


def log_of_quotient(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """log(c + a/b) = log(cb + a) − log(b), and log1p likewise."""
    if not isinstance(node, cp.log):
        return None
    inner = 1 + node.args[0] if isinstance(node, cp.log1p) else node.args[0]  # log1p is a log
    parts = fraction(inner)
    if parts is None or not frame.context.signs.is_nonneg(parts[1]):
        return None
    other = cp.log(spread_to(parts[0], node.shape)) - cp.log(spread_to(parts[1], node.shape))
    return rewrite(node, other, weight, frame, "logarithm of a quotient: a difference")


def fraction(node: cp.Expression) -> tuple[cp.Expression, cp.Expression] | None:
    """Numerator and denominator of a quotient with constant terms and factors, else None."""
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
