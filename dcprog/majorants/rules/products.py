"""Products and quadratic forms, rewritten as differences of squares."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.quad_form import QuadForm

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.rules.context import Context
from dcprog.majorants.rules.frame import Frame, Piece, Weight, majorise, rewrite
from dcprog.majorants.tree import Values, rebuilt, short

__all__ = ["product", "quad_form"]

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
        self._scales[0].value, self._scales[1].value = ratio, 1 / ratio

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
        return 0.25 * cp.square(a + b) - 0.25 * cp.square(a - b)
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
