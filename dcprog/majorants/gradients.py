"""Gradients of expressions, backwards through their trees, and Jacobians, forwards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.majorants.affine import atom_jacobian
from dcprog.majorants.atoms import spread
from dcprog.majorants.tree import Values, interior, nodes, pull_back
from dcprog.majorants.user_problem import Points

FEW = 100_000  # entries of a matrix that is kept dense: sparse products cost 50 µs


def _moves(node: cp.Expression) -> bool:
    return not node.is_constant()


def _is_linear(node: Any) -> bool:
    """True for variables, and for atoms that are linear in the arguments that are not constant."""
    return isinstance(node, cp.Variable) or (node.is_atom_convex() and node.is_atom_concave())


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


class _Layer:
    """Arguments that are linear in the entries before them, and the atoms that take them.

    Parameters
    ----------
    arguments : list of cvxpy expressions
        The roots in the last layer, which has no atoms.
    lines : sparse matrix
        Their slopes in the entries before, with a row an entry.
    offset : array
    atoms : list of (atom, slice)
        The atoms with the places of their values, which come after.
    """

    def __init__(
        self,
        arguments: list[cp.Expression],
        lines: sp.csr_array,
        offset: Array,
        atoms: list[tuple[cp.Expression, slice]],
    ) -> None:
        self.arguments, self.lines, self.offset, self.atoms = arguments, lines, offset, atoms
        ends = np.cumsum([0, *(node.size for node in arguments)]).tolist()
        self.spans = [slice(*at) for at in pairwise(ends)]
        self.span = dict(zip(map(id, arguments), self.spans, strict=True))
        self._dense: Any = lines.toarray() if lines.shape[0] * lines.shape[1] <= FEW else None
        self._back: Any = (lines if self._dense is None else self._dense).T

    def forward(self, entries: Array) -> list[Array]:
        """The arguments; an entry that is not finite stays out of those it is not part of."""
        is_dense = self._dense is not None and np.all(np.isfinite(entries))
        flat = np.asarray((self._dense if is_dense else self.lines) @ entries) + self.offset
        return [unvec(flat[at], n.shape) for n, at in zip(self.arguments, self.spans, strict=True)]

    def backward(self, slopes: Array) -> Array:
        """The adjoints of the entries before, from those of the arguments."""
        return np.asarray(self._back @ slopes)


class Tape:
    """Expressions whose values and gradients are computed at many points.

    What is linear between the variables and the other atoms, and between these, is one matrix a
    layer, computed once.

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
        points.load(np.zeros(points.size))
        self._start = Values()
        order = [n for n in {id(n): n for r in roots for n in nodes(r)}.values() if _moves(n)]
        depths: dict[int, int] = {}
        for node in order:
            below = max((depths.get(id(arg), 0) for arg in node.args), default=0)
            depths[id(node)] = below + (not _is_linear(node))
        self._atoms = sorted(
            (n for n in order if not _is_linear(n)), key=lambda node: depths[id(node)]
        )
        ends = np.cumsum([points.size, *(node.size for node in self._atoms)]).tolist()
        places = [slice(*at) for at in pairwise(ends)]
        self._width = ends[-1]
        self._outputs = {id(n): _outputs(n) for n in self._atoms}
        constants = (a for n in self._atoms for a in n.args if not _moves(a))
        self._constants = {id(a): self._start(a) for a in constants}
        placed = list(zip(self._atoms, places, strict=True))
        lines = self._lines(order, placed)
        for atom in self._atoms:
            self._start.assume(atom, np.zeros(atom.shape))
        self._layers = []
        for depth in sorted({depths[id(n)] for n in self._atoms}):
            atoms = [(n, at) for n, at in placed if depths[id(n)] == depth]
            arguments = {id(a): a for n, _ in atoms for a in n.args if _moves(a)}
            self._layers.append(self._layer(list(arguments.values()), lines, atoms))
        self._last = self._layer(self.roots, lines, [])

    def _lines(
        self, order: list[cp.Expression], placed: list[tuple[cp.Expression, slice]]
    ) -> dict[int, sp.csr_array]:
        """The slopes of the linear nodes in the entries of the variables and the atoms' values."""
        unit = sp.eye_array(self._width, format="csr")
        lines = {id(atom): unit[at] for atom, at in placed}
        ends = np.cumsum([0, *(v.size for v in self._points.variables)]).tolist()
        own = {
            v.id: unit[slice(*at)]
            for v, at in zip(self._points.variables, pairwise(ends), strict=True)
        }
        for node in order:
            if isinstance(node, cp.Variable):
                lines[id(node)] = own[node.id]
            elif id(node) not in lines:
                parts = zip(node.args, atom_jacobian(node, self._start), strict=True)
                moving = [matrix.T @ lines[id(arg)] for arg, matrix in parts if _moves(arg)]
                lines[id(node)] = sp.csr_array(sum(moving[1:], start=moving[0]))
        return lines

    def _layer(
        self,
        arguments: list[cp.Expression],
        lines: dict[int, sp.csr_array],
        atoms: list[tuple[cp.Expression, slice]],
    ) -> _Layer:
        """The layer of these arguments and atoms."""
        width = atoms[0][1].start if atoms else self._width
        blocks = [lines.get(id(n), sp.csr_array((n.size, self._width))) for n in arguments]
        matrix = sp.csr_array(sp.vstack(blocks) if blocks else (0, self._width))
        offset = np.concatenate([np.zeros(0), *(vec(self._start.array(n)) for n in arguments)])
        return _Layer(arguments, matrix[:, :width], offset, atoms)

    @property
    def work(self) -> float:
        """Atoms that an evaluation passes; a thousand entries count as one."""
        entries = self._width + sum(len(layer.offset) for layer in self._layers)
        return 1 + len(self._atoms) + entries / 1000

    def values(self, x: Array) -> Values:
        """Values of the nodes at a flat point."""
        entries = np.concatenate([x, np.zeros(self._width - self._points.size)])
        given = dict(self._constants)
        values = _Given(given)
        for layer in self._layers:
            found = layer.forward(entries[: layer.lines.shape[1]])
            given.update(zip(map(id, layer.arguments), found, strict=True))
            for atom, at in layer.atoms:
                entries[at] = vec(values.array(atom))
        given.update(zip(map(id, self.roots), self._last.forward(entries), strict=True))
        return values

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
        adjoints = self._last.backward(np.concatenate([np.zeros(0), *map(vec, weights)]))
        for layer in reversed(self._layers):
            slopes = np.zeros(len(layer.offset))
            for atom, at in layer.atoms:
                if np.any(adjoints[at]):
                    adjoint = unvec(adjoints[at], atom.shape)
                    own = self._slopes(atom, adjoint, values, edge)
                    for arg, slope in zip(atom.args, own, strict=True):
                        if id(arg) in layer.span:
                            slopes[layer.span[id(arg)]] += vec(np.reshape(slope, arg.shape))
            adjoints = adjoints[: layer.lines.shape[1]] + layer.backward(slopes)
        if not np.all(np.isfinite(adjoints)):
            raise ValueError("no finite gradient at the current point")
        return adjoints

    def jacobians(self, values: Values, edge: float | None = None) -> list[Array]:
        """The Jacobian of every root, with a row an entry; not finite where there is no slope.

        Parameters
        ----------
        values : Values
        edge : float, optional
            As for :meth:`gradient`.
        """
        known = np.zeros((self._width, self._points.size))
        np.fill_diagonal(known, 1.0)
        for layer in self._layers:
            lines = layer.lines @ known[: layer.lines.shape[1]]
            for atom, at in layer.atoms:
                try:
                    for arg, own in self._own(atom, values, edge):
                        known[at] += own @ lines[layer.span[id(arg)]]
                except (ValueError, ArithmeticError):
                    known[at] = np.nan
        total = self._last.lines @ known
        return [total[at] for at in self._last.spans]

    def _own(
        self, node: cp.Expression, values: Values, edge: float | None
    ) -> list[tuple[cp.Expression, Any]]:
        """The arguments of an atom that are not constant, with its Jacobians in them."""
        moving = [(k, arg) for k, arg in enumerate(node.args) if _moves(arg)]
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
        args = [values.array(arg) for arg in node.args]
        if edge is not None:
            args = interior(node, args, edge)
        return pull_back(node, args, values.array(node), adjoint)


class _Given(Values):
    """Values some of which are given."""

    def __init__(self, given: dict[int, Any]) -> None:
        super().__init__()
        self._memo = given
