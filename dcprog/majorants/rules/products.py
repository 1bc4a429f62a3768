"""Products and quotients, and exact forms of inequalities between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms import Power
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.prod import Prod
from cvxpy.atoms.quad_form import QuadForm

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.affine import Box
from dcprog.majorants.rules.frame import (
    Context,
    Frame,
    Piece,
    Weight,
    assign,
    majorise,
    plus,
    rewrite,
)
from dcprog.majorants.tree import Values, by_pairs, nodes, rebuilt, short, spread_to

# A remembered size of a factor shrinks to this share per step, at least.
FORGETTING = 0.9


def product(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A product of two expressions is polarised: xy = ¼(αx + y/α)² − ¼(αx − y/α)²."""
    if not isinstance(node, MulExpression):  # cp.multiply is a subclass
        return None
    if any(arg.is_constant() for arg in node.args):
        return None
    factor, bare = _without_constants(node)
    if factor != 1:
        return rewrite(node, factor * bare, weight, frame, "product: constants pulled out")
    a, b = node.args
    elementwise = isinstance(node, multiply) or () in {a.shape, b.shape}
    if not elementwise and max(a.ndim, b.ndim) > 2:
        raise NotMajorizable(
            short(node),
            "it multiplies stacks of matrices",
            "one product a matrix, by indexing the first axis",
        )
    balance = _Balance(node, frame.context)
    left, right = balance.factors
    piece = majorise(_polarised(left, right, elementwise), weight, frame)

    def update(w: Array, values: Values) -> Any:
        balance.update(values)
        return piece.update(w, values)

    return Piece(node, "product: polarised", piece.expression, update, [piece])


def _without_constants(node: cp.Expression) -> tuple[float, cp.Expression]:
    """The product of the constants inside curved factors, and the node without these constants."""
    factor, args = 1.0, []
    for arg in node.args:
        while isinstance(arg, MulExpression) and not arg.is_affine():
            constant = next((c for c in arg.args if c.is_constant() and c.is_scalar()), None)
            if constant is None or constant.parameters() or not np.any(dense(constant.value)):
                break
            inner = next(a for a in arg.args if a is not constant)
            if inner.shape != arg.shape:
                break
            factor, arg = factor * float(np.sum(dense(constant.value))), inner
        args.append(arg)
    return factor, node if factor == 1 else rebuilt(node, args)


class _Balance:
    """Two factors scaled to the same size at the centre, their product unchanged.

    The majorant is off by ¼(αΔx − Δy/α)²: with α = 1 and factors of different sizes, or in
    different units, it is loose and steps are short. A factor's size is its largest entry and
    shrinks by at most a tenth per step, so that one small step does not upset the balance.
    """

    def __init__(self, node: cp.Expression, context: Context) -> None:
        self._node = node
        self._context = context
        self.factors: list[cp.Expression] = list(node.args)
        self._scales: list[cp.Parameter] = []
        if _may_be_scaled(node):
            context.products[id(node)] = node
            self._scales = [cp.Parameter(pos=True, value=1.0) for _ in node.args]
            self.factors = [scale * arg for scale, arg in zip(self._scales, node.args, strict=True)]

    def update(self, values: Values) -> None:
        """Set the scales from the factors' sizes at the centre."""
        if not self._scales:
            return
        ratio = 1.0 if values.level == np.inf else self._ratio(values)
        assign(self._scales[0], ratio)
        assign(self._scales[1], 1 / ratio)

    def _ratio(self, values: Values) -> float:
        a, b = self._context.remember(self._node, values, FORGETTING)
        ratio = np.sqrt(b / a) if a > 0 else 0.0
        return float(ratio) if 0 < ratio < np.inf else 1.0


def _may_be_scaled(node: cp.Expression) -> bool:
    """True if the polarised product stays DPP when Parameters scale its factors."""
    if any(arg.parameters() for arg in node.args):
        return False
    if all(arg.is_affine() for arg in node.args):
        return True
    return all(arg.is_convex() and arg.is_nonneg() for arg in node.args)


def _polarised(a: cp.Expression, b: cp.Expression, elementwise: bool) -> cp.Expression:
    if elementwise:
        return cp.square((a + b) / 2) - cp.square((a - b) / 2)
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
    return rewrite(node, split, weight, frame, "quadratic form: split by eigenvalues")


# ----------------------------------------------------------------------------------------------
# nonnegative factors


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
    other = spread_to(by_pairs(cp.multiply, _entries(node)), node.shape)
    return rewrite(node, other, weight, frame, "product of entries: two at a time")


def _entries(node: Prod) -> list[cp.Expression]:
    """The factors of a ``prod``: entries, rows or columns; ``[node]`` if they are stacks."""
    arg = node.args[0]
    axes = range(arg.ndim) if node.axis is None else np.atleast_1d(node.axis)
    if len(axes) == arg.ndim:
        flat = cp.vec(arg, order="F")
        return [flat[i] for i in range(arg.size)]
    if arg.ndim != 2:
        return [node]
    return [arg[i, :] if axes[0] % 2 == 0 else arg[:, i] for i in range(arg.shape[axes[0]])]


# ----------------------------------------------------------------------------------------------
# quotients of exponentials


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


# ----------------------------------------------------------------------------------------------
# quotients


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
    sign = signs.sign_below(b)
    if sign == 0:
        return None
    if sign < 0:
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
        has_constants = other.is_constant() or isinstance(one, AddExpression)
        parts = None if has_constants else fraction(one)
        if parts is not None and frame.context.signs.sign_below(parts[1]) > 0:
            top = spread_to(parts[0], node.shape)
            top = cp.multiply(top, spread_to(other, node.shape))
            whole = top / spread_to(parts[1], node.shape)
            return rewrite(node, whole, weight, frame, "product with a quotient: one quotient")
    return None


def signed_quotients(
    roots: Iterable[cp.Expression], signs: Box
) -> dict[int, tuple[cp.Expression, int]]:
    """Quotients in trees whose denominator has a known sign, and that sign, by node id."""
    found = {}
    for node in filter(_divides, chain.from_iterable(map(nodes, roots))):
        sign = signs.sign_below(node.args[1])
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
        squared = (w * share) ** 2
        assign(slope, squared)
        assign(shift, squared * (moved - numerator))
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
    if parts is None or frame.context.signs.sign_below(parts[1]) <= 0:
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


# ----------------------------------------------------------------------------------------------
# exact forms of inequalities


@dataclass(frozen=True)
class ExactForm:
    """An inequality e' ≤ 0 equivalent to e ≤ 0, and the multiplier of e over that of e'."""

    expression: cp.Expression
    factor: cp.Expression | float


def exact_form(expression: cp.Expression, signs: Box) -> ExactForm | None:
    """An inequality equivalent to e ≤ 0 and easier to majorise; None if none is known.

    a/b ≤ c with b > 0 is a ≤ cb. A product of concave fᵢ ≥ 0 is at least c > 0 where their
    geometric mean is at least c^{1/k}; entry by entry, fg ≥ c where f ≥ c/g. ‖v‖² ≤ g² with affine
    v and g ≥ 0 is ‖v‖ ≤ g. All are convex.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(4, nonneg=True)
    >>> asked = x[0] * x[1] * x[2] * x[3] >= 25
    >>> form = exact_form(asked.expr, Box())
    >>> asked.is_dcp(), form.expression.is_convex()
    (False, True)
    """
    return (
        _multiplied_out(expression, signs)
        or _under_root(expression, signs)
        or _as_norm(expression, signs)
    )


def _multiplied_out(expression: cp.Expression, signs: Box) -> ExactForm | None:
    parts = fraction(expression)
    if parts is None or signs.sign_below(parts[1]) <= 0 or parts[0].shape != expression.shape:
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
    least = np.asarray(_constant_term(expression), dtype=float)
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


def _as_norm(expression: cp.Expression, signs: Box) -> ExactForm | None:
    """‖v‖ ≤ g for Σ v² ≤ g²: the tangent of g² would have no slope where g is 0."""
    terms = [_unwrapped(*term) for term in _terms(expression) if not _is_zero(term[1])]
    bounds = [_affine_root(t) for sign, t in terms if sign < 0]
    found = [_norm(t) for sign, t in terms if sign > 0]
    norms = [norm for norm in found if norm is not None]
    g = bounds[0] if len(bounds) == 1 else None
    if g is None or not norms or len(norms) < len(found):
        return None
    if not signs.is_nonneg(g) or (len(norms) > 1 and expression.size > 1):
        return None
    parts = [cp.vec(n, order="F") for n in norms]
    norm = norms[0] if len(norms) == 1 else cp.norm(cp.hstack(parts))
    return ExactForm(norm - g, cp.inv_pos(g) / 2)


def _unwrapped(sign: int, term: cp.Expression) -> tuple[int, cp.Expression]:
    """A term that is repeated over an array, without its repetition, and its sign."""
    while isinstance(term, Promote | NegExpression):
        sign = -sign if isinstance(term, NegExpression) else sign
        term = term.args[0]
    return sign, term


def _is_zero(term: cp.Expression) -> bool:
    return term.is_constant() and not term.parameters() and not np.any(term.value)


def _affine_root(term: cp.Expression) -> cp.Expression | None:
    """The affine a, of the term's shape, of a²."""
    root = square_root(term)
    return root if root is not None and root.is_affine() and root.shape == term.shape else None


def _norm(term: cp.Expression) -> cp.Expression | None:
    """‖v‖ of a sum of squares of affine entries."""
    along_axis = isinstance(term, Sum) and term.axis is not None
    root = square_root(term.args[0] if along_axis else term)
    if root is None or not root.is_affine() or root.ndim > 2 or getattr(term, "keepdims", False):
        return None
    if along_axis:
        return cp.norm(root, 2, axis=term.axis)
    return cp.abs(root) if root.shape == term.shape else cp.norm(cp.vec(root, order="F"))


def _terms(node: cp.Expression, sign: int = 1) -> list[tuple[int, cp.Expression]]:
    """The terms of a sum with their signs; a sum that broadcasts a variable counts as one term."""
    if isinstance(node, NegExpression):
        return _terms(node.args[0], -sign)
    if isinstance(node, AddExpression) and all(
        arg.shape == node.shape or arg.is_constant() for arg in node.args
    ):
        return [term for arg in node.args for term in _terms(arg, sign)]
    return [(sign, node)]


def _constant_term(expression: cp.Expression) -> np.ndarray:
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
