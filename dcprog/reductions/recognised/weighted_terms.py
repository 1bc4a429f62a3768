"""An objective as a weighted sum of entries of nodes that are not affine."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.norm1 import norm1
from cvxpy.atoms.pnorm import Pnorm
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.atoms.quad_over_lin import quad_over_lin

from dcprog.foundation.arrays import Array, dense
from dcprog.majorants.jacobians import Adjoint
from dcprog.majorants.rules.frame import is_affine_atom
from dcprog.majorants.tree import Values, nodes
from dcprog.reductions.recognised.curve import Unrecognised

__all__ = ["weighted_terms"]

Term = tuple[cp.Expression, Array]


def weighted_terms(root: cp.Expression, sign: float = 1.0) -> list[Term]:
    """Nodes and weights, column-major: sign·root = Σ ⟨weights, node⟩ + const.

    However the sum is written: by ``sum``, products with constant vectors, norms and squares of
    norms, or ``+``.

    Raises
    ------
    Unrecognised
        A part of it is linear.

    Examples
    --------
    >>> x = cp.Variable(2)
    >>> terms = weighted_terms(cp.sum_squares(x) / 4 + np.array([1.0, 2.0]) @ cp.exp(x) - 3)
    >>> [(str(node).split("(")[0], weights.tolist()) for node, weights in terms]
    [('PowerApprox', [0.25, 0.25]), ('exp', [1.0, 2.0])]
    """
    values, through = Values(), Adjoint(root).through
    weights = {id(root): np.full(root.size, sign)}
    terms: list[Term] = []
    for node in reversed(nodes(root)):
        weight = weights.pop(id(node), None)
        if weight is None or node.is_constant() or not np.any(weight):
            continue
        if isinstance(node, cp.Variable):
            raise Unrecognised("a linear term")
        if not is_affine_atom(node):
            terms.append(_entrywise(node, weight))
            continue
        for i, arg in enumerate(node.args):
            if arg.is_constant():
                continue
            total = isinstance(node, cp.Sum) and node.size == 1
            moved = np.full(arg.size, weight) if total else through(node, i, weight, values)
            weights[id(arg)] = weights.get(id(arg), 0.0) + moved
    return terms


def _entrywise(node: cp.Expression, weight: Array) -> Term:
    """The node, or of a sum of absolute values or squares the entries that it adds up."""
    inside = node.args[0]
    if isinstance(node, norm1) and node.axis is None:
        return cp.abs(inside), np.full(inside.size, weight.item())
    if isinstance(node, quad_over_lin) and node.axis is None and node.args[1].is_constant():
        return cp.square(inside), np.full(inside.size, weight.item() / _number(node.args[1]))
    if isinstance(node, Power) and isinstance(inside, Pnorm):
        if inside.axis is None and inside.p == 2 and _number(node.p) == 2:
            return cp.square(inside.args[0]), np.full(inside.args[0].size, weight.item())
    if isinstance(node, QuadForm) and node.args[1].is_constant():
        matrix = dense(Values()(node.args[1]))
        factor = matrix[0, 0]
        if np.array_equal(matrix, factor * np.eye(len(matrix))):
            return cp.square(inside), np.full(inside.size, weight.item() * factor)
    return node, weight


def _number(constant: cp.Expression) -> float:
    return float(dense(Values()(constant)).reshape(()))
