"""Gradients of expressions of any curvature, where they have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.elementwise.hyperbolic import asinh, atanh, sinh, tanh

from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.majorants.atoms.axes import unbroadcast
from dcprog.majorants.jacobians import atom_jacobian
from dcprog.majorants.slopes import pull_back
from dcprog.majorants.tree import Values, nodes

__all__ = ["gradient"]

# Derivatives of the atoms for which cvxpy has none.
DERIVATIVES: dict[type, Callable[[Array], Array]] = {
    tanh: lambda a: 1 - np.tanh(a) ** 2,
    sinh: np.cosh,
    asinh: lambda a: 1 / np.sqrt(1 + a**2),
    atanh: lambda a: 1 / (1 - a**2),
}


def gradient(root: cp.Expression, weight: Array, values: Values) -> dict[int, Array]:
    """The gradient of ⟨weight, root⟩ at the point that `values` holds, backwards through the tree.

    Parameters
    ----------
    root : cvxpy expression
    weight : array of its shape
    values : Values

    Returns
    -------
    dict of variable id to array, column by column
        The gradient; at a kink that of one piece.

    Raises
    ------
    ValueError
        There is no finite gradient: outside a domain, or where a slope is infinite.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, value=[1.0, 2.0])
    >>> print(gradient(x[0] / x[1] + cp.nlp.sinh(0 * x[0]), np.array(1.0), Values())[x.id])
    [ 0.5  -0.25]
    """
    adjoints: dict[int, Any] = {id(root): np.asarray(weight, dtype=float).reshape(root.shape)}
    total: dict[int, Array] = {}
    for node in reversed(nodes(root)):
        adjoint = adjoints.pop(id(node), None)
        if adjoint is None or node.is_constant():
            continue
        if isinstance(node, cp.Variable):
            total[node.id] = total.get(node.id, 0.0) + vec(adjoint)
            continue
        args = [values.array(arg) for arg in node.args]
        for arg, slope in zip(node.args, _slopes(node, args, adjoint, values), strict=True):
            adjoints[id(arg)] = adjoints.get(id(arg), 0.0) + np.reshape(slope, arg.shape)
    if not all(np.all(np.isfinite(slope)) for slope in total.values()):
        raise ValueError("no finite gradient at the current point")
    return total


def _slopes(node: Any, args: Sequence[Array], adjoint: Array, values: Values) -> list[Array]:
    """(∂node/∂arg)ᵀ adjoint of each argument."""
    with np.errstate(all="ignore"):
        if isinstance(node, DivExpression):
            a, b = args
            slopes = adjoint / b, -adjoint * a / b**2
            return [unbroadcast(s, arg.shape) for s, arg in zip(slopes, args, strict=True)]
        if isinstance(node, multiply):
            slopes = adjoint * args[1], adjoint * args[0]
            return [unbroadcast(s, arg.shape) for s, arg in zip(slopes, args, strict=True)]
        if type(node) in DERIVATIVES:
            return [adjoint * DERIVATIVES[type(node)](args[0])]
    if node.is_atom_convex() and node.is_atom_concave():
        matrices = atom_jacobian(node, values)
        pairs = zip(matrices, node.args, strict=True)
        return [
            np.zeros(arg.shape) if arg.is_constant() else unvec(matrix @ vec(adjoint), arg.shape)
            for matrix, arg in pairs
        ]
    return pull_back(node, args, values.array(node), adjoint)
