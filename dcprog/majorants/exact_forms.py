"""Equivalent, easier forms of nonconvex inequalities: multiplied out, or under a root."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.prod import Prod

from dcprog.majorants.rules.positive_products import factors_of
from dcprog.majorants.rules.quotients import fraction
from dcprog.majorants.signs import Box

__all__ = ["ExactForm", "exact_form"]


@dataclass(frozen=True)
class ExactForm:
    """An inequality e' ≤ 0 equivalent to e ≤ 0, and the multiplier of e over that of e'."""

    expression: cp.Expression
    factor: cp.Expression | float


def exact_form(expression: cp.Expression, signs: Box) -> ExactForm | None:
    """An inequality equivalent to e ≤ 0 and easier to majorise; None if none is known.

    a/b ≤ c with b > 0 is a ≤ cb. A product of concave fᵢ ≥ 0 is at least c > 0 where their
    geometric mean is at least c^{1/k}; entry by entry, fg ≥ c where f ≥ c/g. Both are convex.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(4, nonneg=True)
    >>> asked = x[0] * x[1] * x[2] * x[3] >= 25
    >>> form = exact_form(asked.expr, Box())
    >>> asked.is_dcp(), form.expression.is_convex()
    (False, True)
    """
    return _multiplied_out(expression, signs) or _under_root(expression, signs)


def _multiplied_out(expression: cp.Expression, signs: Box) -> ExactForm | None:
    parts = fraction(expression)
    if parts is None or not signs.is_nonneg(parts[1]) or parts[0].shape != expression.shape:
        return None
    return ExactForm(*parts)


def _under_root(expression: cp.Expression, signs: Box) -> ExactForm | None:
    if expression.parameters():
        return None
    live = [(sign, t) for sign, t in _terms(expression) if not t.is_constant()]
    if len(live) != 1 or live[0][0] > 0:
        return None
    term = live[0][1]
    constants, factors = _factors(term)
    scales = [np.asarray(c.value, dtype=float) for c in constants]
    least = np.asarray(_constant(expression), dtype=float)
    if len(factors) < 2 or not all(f.is_concave() and signs.is_nonneg(f) for f in factors):
        return None
    scale = np.prod(scales, axis=0) if scales else np.array(1.0)
    if not (np.all(scale > 0) and np.all(least > 0)):
        return None
    if expression.size == 1:
        k, level = len(factors), float(np.sum(least / scale))
        mean = cp.geo_mean(cp.hstack([cp.reshape(f, (1,), order="F") for f in factors]))
        root = cp.reshape(level ** (1 / k) - mean, expression.shape, order="F")
        return ExactForm(root, level ** (1 / k - 1) / (k * float(np.sum(scale))))
    if len(factors) == 2 and all(f.shape == expression.shape for f in factors):
        f, g = factors
        inverse = cp.inv_pos(g)
        return ExactForm(cp.multiply(least / scale, inverse) - f, inverse / scale)
    return None


def _terms(node: cp.Expression, sign: int = 1) -> list[tuple[int, cp.Expression]]:
    """The terms of a sum with their signs; a sum that broadcasts a variable counts as one term."""
    if isinstance(node, NegExpression):
        return _terms(node.args[0], -sign)
    if isinstance(node, AddExpression) and all(
        arg.shape == node.shape or arg.is_constant() for arg in node.args
    ):
        return [term for arg in node.args for term in _terms(arg, sign)]
    return [(sign, node)]


def _constant(expression: cp.Expression) -> np.ndarray:
    total = np.zeros(expression.shape)
    for sign, term in _terms(expression):
        if term.is_constant():
            total = total + sign * np.asarray(term.value, dtype=float)
    return total


def _factors(term: cp.Expression) -> tuple[list[cp.Expression], list[cp.Expression]]:
    if isinstance(term, Prod) and term.size == 1:
        flat = cp.vec(term.args[0], order="F")
        return [], [flat[i] for i in range(flat.size)]
    return factors_of(term)
