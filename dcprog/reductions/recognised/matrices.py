"""Affine expressions as Aθ + c, A dense where the data are."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array, dense, vec
from dcprog.majorants.affine import atom_jacobian
from dcprog.majorants.tree import Values, evaluate, nodes
from dcprog.majorants.user_problem import Points

__all__ = ["Matrices", "scaled_rows"]

Blocks = dict[int, Any]  # variable id to the columns of its entries, column-major


class Matrices:
    """A and c of affine expressions, each found once.

    Forwards through the tree: X @ w is X itself, where Jacobians would make it sparse.

    Parameters
    ----------
    points : Points
        θ.

    Examples
    --------
    >>> x = cp.Variable(2)
    >>> A, c = Matrices(Points([x])).of(np.array([[1.0, 2.0], [3.0, 4.0]]) @ x - 1)
    >>> A.tolist(), c.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [-1.0, -1.0])
    """

    def __init__(self, points: Points) -> None:
        self._size = points.size
        ends = np.cumsum([v.size for v in points.variables])
        self._places = {
            v.id: slice(end - v.size, end) for v, end in zip(points.variables, ends, strict=True)
        }
        self._values = Values()
        self._origin = _Origin()
        self._known: dict[int, tuple[Any, Array]] = {}

    def of(self, affine: cp.Expression) -> tuple[Any, Array]:
        """A, an array or a sparse one, and c."""
        if id(affine) not in self._known:
            self._known[id(affine)] = self._matrix(affine), vec(self._origin.array(affine))
        return self._known[id(affine)]

    def _matrix(self, affine: cp.Expression) -> Any:
        """Of the blocks of the variables that are there, which may be few of many."""
        found = self._blocks(affine)
        if all(isinstance(block, sp.sparray) for block in found.values()):
            return self._sparse(found, affine.size)
        matrix = np.zeros((affine.size, self._size))
        for key, block in found.items():
            matrix[:, self._places[key]] = dense(block)
        return matrix

    def _sparse(self, found: Blocks, n: int) -> Any:
        blocks = [(self._places[key].start, sp.coo_array(block)) for key, block in found.items()]
        columns = [start + block.col for start, block in blocks]
        rows, data = [b.row for _, b in blocks], [b.data for _, b in blocks]
        places = np.concatenate(rows), np.concatenate(columns)
        return sp.csr_array((np.concatenate(data), places), shape=(n, self._size))

    def _blocks(self, affine: cp.Expression) -> Blocks:
        """Of all nodes, arguments before what is made of them."""
        known: dict[int, Blocks] = {}
        for node in nodes(affine):
            total: Blocks = {}
            if isinstance(node, cp.Variable):
                total = {node.id: sp.csr_array(sp.eye_array(node.size))}
            elif not node.is_constant():
                for i, arg in enumerate(node.args):
                    for key, block in known[id(arg)].items():
                        moved = self._through(node, i, block)
                        total[key] = total[key] + moved if key in total else moved
            known[id(node)] = total
        return known[id(affine)]

    def _through(self, node: Any, index: int, block: Any) -> Any:
        """Columns of an argument as those of the atom."""
        arg = node.args[index]
        if isinstance(node, NegExpression):
            return -block
        if isinstance(node, AddExpression) and arg.size == node.size:
            return block
        if isinstance(node, Promote | AddExpression):
            return np.ones((node.size, 1)) @ block
        if isinstance(node, multiply | DivExpression) and arg.size == node.size:
            other = vec(np.broadcast_to(self._values.array(node.args[1 - index]), node.shape))
            return scaled_rows(1 / other if isinstance(node, DivExpression) else other, block)
        if type(node) is MulExpression and index == 1 and arg.ndim == node.args[0].ndim - 1 == 1:
            return _product(self._values(node.args[0]), block)
        return atom_jacobian(node, self._values)[index].T @ block


def scaled_rows(factors: Array, block: Any) -> Any:
    """The rows of an array or a sparse one, each times its factor."""
    sparse = isinstance(block, sp.sparray)
    return sp.diags_array(factors) @ block if sparse else factors[:, None] * block


def _product(matrix: Any, block: Any) -> Any:
    """The product; with the columns of a whole variable the matrix itself."""
    matrix = sp.csr_array(matrix) if hasattr(matrix, "tocsr") else dense(matrix)
    if isinstance(block, sp.csr_array) and _is_identity(block):
        return matrix
    return matrix @ block


def _is_identity(block: sp.csr_array) -> bool:
    n, columns = block.shape[0], block.indices
    square = block.shape == (n, n) and block.nnz == n
    return square and bool(np.all(block.data == 1) and np.array_equal(columns, np.arange(n)))


class _Origin(Values):
    """Values where all variables are 0."""

    def _evaluate(self, node: cp.Expression) -> Any:
        if isinstance(node, cp.Variable):
            return np.zeros(node.shape)
        if not node.args:
            return super()._evaluate(node)
        return evaluate(node, [self(arg) for arg in node.args])
