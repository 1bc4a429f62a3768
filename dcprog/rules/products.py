"""Products and quadratic forms, rewritten as differences of squares."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import MulExpression, multiply
from cvxpy.atoms.quad_form import QuadForm

from dcprog.errors import NotMajorizable
from dcprog.rules.frame import Frame, Piece, Weight, majorise
from dcprog.tree import Values, short

__all__ = ["product", "quad_form"]


def product(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A product of two expressions is polarised: xy = ¼(x + y)² − ¼(x − y)²."""
    if not isinstance(node, MulExpression):  # cp.multiply is a subclass
        return None
    if any(arg.is_constant() for arg in node.args):
        return None
    a, b = node.args
    elementwise = isinstance(node, multiply) or () in {a.shape, b.shape}
    if not elementwise and max(a.ndim, b.ndim) > 2:
        raise NotMajorizable(
            short(node),
            "it multiplies stacks of matrices",
            "one product a matrix, by indexing the first axis",
        )
    rule = "product: polarised"
    return _rewritten(node, _polarised(a, b, elementwise), weight, frame, rule)


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
    return _rewritten(node, split, weight, frame, "quadratic form: split by eigenvalues")


def _rewritten(
    node: cp.Expression, other: cp.Expression, weight: Weight, frame: Frame, rule: str
) -> Piece:
    piece = majorise(other, weight, frame)
    return Piece(node, rule, piece.expression, piece.update, [piece])
