"""Gradients of expressions, backwards through their trees, and Jacobians, forwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import Array, dense, unvec, vec
from dcprog.majorants.affine import atom_jacobian, jacobian_rows
from dcprog.majorants.atoms import spread
from dcprog.majorants.tree import Values, interior, nodes, pull_back
from dcprog.majorants.user_problem import Points

FEW = 100_000  # entries of a matrix that is kept dense: sparse products cost 50 µs


def _is_linear(node: Any) -> bool:
    return node.is_atom_convex() and node.is_atom_concave()


def _through(node: Any, matrices: list[sp.csr_array], adjoint: Array) -> list[Array]:
    """The adjoints of a linear atom's arguments; 0 for constants."""
    flat = vec(adjoint)
    return [
        np.zeros(arg.shape) if arg.is_constant() else unvec(matrix @ flat, arg.shape)
        for matrix, arg in zip(matrices, node.args, strict=True)
    ]


def _outputs(node: Any) -> list[Array] | None:
    """For each argument, the output that its entries go into; None if they go into several."""
    if node.size == 1:
        return [np.zeros(arg.size, dtype=np.int32) for arg in node.args]
    own = np.arange(node.size, dtype=np.int32)
    if isinstance(node, AxisAtom) and len(node.args) == 1:
        (arg,) = node.args
        if arg.shape == node.shape:
            return None  # such as a cumulative sum
        return [vec(spread(node, unvec(own, node.shape), arg.ndim, arg.shape))]
    if isinstance(node, Elementwise) and all(
        arg.shape == node.shape or arg.is_constant() for arg in node.args
    ):
        return [own for _ in node.args]
    return None


def _by_columns(entries: Array, rows: Array, height: int) -> sp.csc_array:
    """The matrix with one entry a column, in the given rows."""
    columns: Any = entries, rows, np.arange(rows.size + 1)
    return sp.csc_array(columns, (height, rows.size))


class Tape:
    """Expressions whose values and gradients are computed at many points.

    Their largest affine parts are one matrix, computed once.

    Parameters
    ----------
    roots : sequence of cvxpy expressions
    points : Points
        Of their variables.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2, name="x")
    >>> tape = Tape([cp.sum(cp.square(x[0] - x))], Points([x]))
    >>> values = tape.values(np.array([1.0, 3.0]))
    >>> print(values.array(tape.roots[0]), tape.gradient([np.array(1.0)], values))
    4.0 [-4.  4.]
    """

    def __init__(self, roots: Sequence[cp.Expression], points: Points) -> None:
        self.roots = list(roots)
        self._points = points
        affine: dict[int, cp.Expression] = {}
        atoms: dict[int, cp.Expression] = {}
        stack = list(roots)
        while stack:
            node = stack.pop()
            if node.is_constant() or id(node) in affine or id(node) in atoms:
                continue
            if node.is_affine():
                affine[id(node)] = node
            else:
                atoms[id(node)] = node
                stack += node.args
        ordered = {id(node): node for root in roots for node in nodes(root) if id(node) in atoms}
        self._atoms = list(reversed(ordered.values()))
        self._linear = {id(n): atom_jacobian(n, Values()) for n in self._atoms if _is_linear(n)}
        self._outputs = {id(n): _outputs(n) for n in self._atoms}
        self._affine = list(affine.values())
        self._ends = np.cumsum([node.size for node in self._affine])[:-1].astype(int)
        points.load(np.zeros(points.size))
        values = Values()
        offsets = [vec(values.array(node)) for node in self._affine]
        self._offset = np.concatenate([np.zeros(0), *offsets])
        lines = [jacobian_rows(node, points.variables) for node in self._affine]
        matrix = sp.csr_array(sp.vstack(lines) if lines else (0, points.size))
        self._map: Any = matrix.toarray() if matrix.shape[0] * points.size <= FEW else matrix
        self._back: Any = np.ascontiguousarray(self._map.T) if self._map is not matrix else matrix.T

    @property
    def work(self) -> float:
        """Atoms that an evaluation passes; a thousand entries count as one."""
        entries = sum(node.size for node in self._atoms) + self._offset.size
        return 1 + len(self._atoms) + entries / 1000

    def values(self, x: Array) -> Values:
        """Values of the nodes at a flat point."""
        parts = np.split(self._map @ x + self._offset, self._ends)
        return _Given(
            {id(n): unvec(part, n.shape) for n, part in zip(self._affine, parts, strict=False)}
        )

    def alone(self, place: int, weight: Array) -> list[Array]:
        """Weights of all roots: the given one, and 0 for the others."""
        weights = [np.zeros(root.shape) for root in self.roots]
        weights[place] = weight
        return weights

    def gradient(
        self, weights: Sequence[Array], values: Values, edge: float | None = None
    ) -> Array:
        """The gradient of Σ ⟨weight, root⟩ as a flat vector.

        Parameters
        ----------
        weights : sequence of arrays of the roots' shapes
        values : Values
        edge : float, optional
            Where a slope is infinite, the one so far inside the domain is taken.

        Raises
        ------
        ValueError
            There is no finite gradient.
        """
        adjoints: dict[int, Any] = {}
        for root, weight in zip(self.roots, weights, strict=True):
            adjoints[id(root)] = adjoints.get(id(root), 0.0) + weight
        for node in self._atoms:
            adjoint = adjoints.pop(id(node), None)
            if adjoint is None or not np.any(adjoint):
                continue
            slopes = self._slopes(node, np.asarray(adjoint), values, edge)
            for arg, slope in zip(node.args, slopes, strict=True):
                adjoints[id(arg)] = adjoints.get(id(arg), 0.0) + np.reshape(slope, arg.shape)
        flat = [
            vec(np.broadcast_to(adjoints.get(id(node), 0.0), node.shape)) for node in self._affine
        ]
        total = np.asarray(self._back @ np.concatenate([np.zeros(0), *flat]))
        if not np.all(np.isfinite(total)):
            raise ValueError("no finite gradient at the current point")
        return total

    def jacobians(self, values: Values, edge: float | None = None) -> list[Array]:
        """The Jacobian of every root, with a row an entry; not finite where there is no slope.

        Parameters
        ----------
        values : Values
        edge : float, optional
            As for :meth:`gradient`.
        """
        lines = dense(self._map)
        known = dict(zip(map(id, self._affine), np.split(lines, self._ends), strict=False))
        for node in reversed(self._atoms):
            total = np.zeros((node.size, self._points.size))
            try:
                for arg, own in self._own(node, values, edge):
                    total += own @ known[id(arg)]
            except (ValueError, ArithmeticError):
                total[:] = np.nan
            known[id(node)] = total
        return [known.get(id(r), np.zeros((r.size, self._points.size))) for r in self.roots]

    def _own(
        self, node: cp.Expression, values: Values, edge: float | None
    ) -> list[tuple[cp.Expression, Any]]:
        """The arguments of an atom that are not constant, with its Jacobians in them."""
        moving = [(k, arg) for k, arg in enumerate(node.args) if not arg.is_constant()]
        if id(node) in self._linear:
            return [(arg, self._linear[id(node)][k].T) for k, arg in moving]
        outputs = self._outputs[id(node)]
        if outputs is None:
            ones = (unvec(one, node.shape) for one in np.eye(node.size))
            lines = [self._slopes(node, one, values, edge) for one in ones]
            return [(arg, np.array([vec(line[k]) for line in lines])) for k, arg in moving]
        slopes = self._slopes(node, np.ones(node.shape), values, edge)
        return [(arg, _by_columns(vec(slopes[k]), outputs[k], node.size)) for k, arg in moving]

    def _slopes(
        self, node: cp.Expression, adjoint: Array, values: Values, edge: float | None
    ) -> list[Array]:
        if id(node) in self._linear:
            return _through(node, self._linear[id(node)], adjoint)
        args = [values.array(arg) for arg in node.args]
        if edge is not None:
            args = interior(node, args, edge)
        return pull_back(node, args, values.array(node), adjoint)


class _Given(Values):
    """Values some of which are given."""

    def __init__(self, given: dict[int, Any]) -> None:
        super().__init__()
        self._memo |= given
