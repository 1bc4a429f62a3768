"""Products of three or more nonnegative factors, and ``prod``."""

from __future__ import annotations

import cvxpy as cp
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.prod import Prod

from dcprog.majorants.rules.frame import Frame, Piece, Weight, rewrite
from dcprog.majorants.signs import Box

__all__ = ["factors_of", "positive_product", "prod"]

FEWEST = 3  # two are polarised, which is tighter


def positive_product(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """∏fᵢ = exp(Σ log fᵢ) for three factors of known sign or more, entry by entry."""
    if not isinstance(node, MulExpression):
        return None
    constants, factors = factors_of(node)
    signs = frame.context.signs
    if len(factors) < FEWEST:
        return None
    below = [not signs.is_nonneg(f) and signs.is_nonpos(f) for f in factors]
    factors = [-f if is_below else f for f, is_below in zip(factors, below, strict=True)]
    if sum(below) % 2:
        constants.append(cp.Constant(-1))
    if not all(_suits(f, weight.sign * _sign(constants), signs) for f in factors):
        return None
    other = cp.exp(sum((cp.log(f) for f in factors[1:]), cp.log(factors[0])))
    for constant in constants:
        other = cp.multiply(constant, other)
    return rewrite(node, other, weight, frame, "product of nonnegative factors: exp of logarithms")


def _sign(constants: list[cp.Expression]) -> int:
    """The sign of the product of constants; 0 if it is unknown or differs between entries."""
    total = 1
    for constant in constants:
        total *= 1 if constant.is_nonneg() else -1 if constant.is_nonpos() else 0
    return total


def _suits(factor: cp.Expression, sign: int, signs: Box) -> bool:
    """True if the factor is ≥ 0 and, unless `sign` is negative, bounded away from 0.

    Near 0 the exponential of log's tangent rises so fast that steps have almost no length.
    """
    return signs.is_nonneg(factor) if sign < 0 else signs.is_positive(factor)


def factors_of(node: cp.Expression) -> tuple[list[cp.Expression], list[cp.Expression]]:
    """Constant and variable factors of the node's shape; the node itself if it is no product."""
    flat = isinstance(node, MulExpression) and all(arg.shape == node.shape for arg in node.args)
    if not flat or not (isinstance(node, multiply) or node.shape == ()):
        return ([node], []) if node.is_constant() else ([], [node])
    constants, factors = [], []
    for arg in node.args:
        some, others = factors_of(arg)
        constants += some
        factors += others
    return constants, factors


def prod(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """``prod`` is rewritten with the entries' logarithms, or as products of two at a time."""
    if not isinstance(node, Prod):
        return None
    arg = node.args[0]
    if _suits(arg, weight.sign, frame.context.signs):
        sums = cp.sum(cp.log(arg), axis=node.axis, keepdims=node.keepdims)
        return rewrite(
            node, cp.exp(sums), weight, frame, "product of nonnegative entries: logarithms"
        )
    parts = _entries(node)
    while len(parts) > 1:
        pairs = [cp.multiply(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    other = (
        parts[0] if parts[0].shape == node.shape else cp.reshape(parts[0], node.shape, order="F")
    )
    return rewrite(node, other, weight, frame, "product of entries: two at a time")


def _entries(node: Prod) -> list[cp.Expression]:
    """The factors of a ``prod``: entries, rows or columns; ``[node]`` if they are stacks."""
    arg, axis = node.args[0], node.axis
    if axis is None or arg.ndim == 1:
        flat = cp.vec(arg, order="F")
        return [flat[i] for i in range(arg.size)]
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    if arg.ndim != 2 or len(axes) != 1:
        flat = cp.vec(arg, order="F")
        return [flat[i] for i in range(arg.size)] if len(axes) == arg.ndim else [node]
    return [arg[i, :] if axes[0] % 2 == 0 else arg[:, i] for i in range(arg.shape[axes[0]])]
