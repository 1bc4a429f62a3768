"""Affine arguments as lines in one number u an entry: κ·u + τ with u = Aθ + offset."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array, vec
from dcprog.majorants.jacobians import jacobian
from dcprog.majorants.tree import Values, evaluate
from dcprog.surrogates.points import Points
from dcprog.surrogates.recognised.curve import Curve
from dcprog.surrogates.recognised.unrecognised import Unrecognised

__all__ = ["Affine", "Lines", "Matrices", "arguments", "uniform"]

ROUNDING = 1e-12


def uniform(numbers: Any) -> float | None:
    """The number that all of them are, up to rounding; None where they differ."""
    numbers = np.asarray(numbers, dtype=float)
    first = float(numbers.flat[0])
    apart = np.max(np.abs(numbers - first))
    return first if apart <= ROUNDING * np.max(np.abs(numbers)) else None


def arguments(node: cp.Expression) -> list[cp.Expression]:
    """The largest affine expressions of a tree that are not constant."""
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        if node.is_constant():
            continue
        if node.is_affine():
            found.append(node)
        else:
            waiting += node.args
    return found


@dataclass(frozen=True)
class Affine:
    """κ·core + τ, of which one core may stand in several arguments."""

    factor: float
    core: cp.Expression
    shift: Array | float

    @classmethod
    def of(cls, node: cp.Expression, values: Values) -> Affine:
        """An affine expression without the factors and constants around it."""
        factor, shift = 1.0, np.zeros(node.size)
        while True:
            live = [arg for arg in node.args if not arg.is_constant()]
            if len(live) != 1 or live[0].shape != node.shape:
                break
            constants = [values.array(arg) for arg in node.args if arg.is_constant()]
            if isinstance(node, AddExpression):
                here = sum(vec(np.broadcast_to(c, node.shape)) for c in constants)
                shift = shift + factor * here
            elif isinstance(node, NegExpression):
                factor = -factor
            elif isinstance(node, multiply) and uniform(constants[0]):
                factor *= constants[0].flat[0]
            elif isinstance(node, DivExpression) and uniform(constants[0]):
                factor /= constants[0].flat[0]
            else:
                break
            node = live[0]
        return cls(factor, node, shift)


class Matrices:
    """Cores as Aθ + c, each once."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._known: dict[int, tuple[sp.csr_array, Array]] = {}

    def of(self, core: cp.Expression) -> tuple[sp.csr_array, Array]:
        """A and c."""
        if id(core) not in self._known:
            self._known[id(core)] = self._matrix(core), self._constant(core)
        return self._known[id(core)]

    def _matrix(self, core: cp.Expression) -> sp.csr_array:
        parts = jacobian(core)
        blocks: list[Any] = [
            parts[v.id].T if v.id in parts else sp.csr_array((core.size, v.size))
            for v in self._points.variables
        ]
        return sp.csr_array(sp.hstack(blocks))

    def _constant(self, core: cp.Expression) -> Array:
        if isinstance(core, cp.Variable):
            return np.zeros(core.size)
        return vec(_Origin().array(core))


class _Origin(Values):
    """Values where all variables are 0."""

    def _evaluate(self, node: cp.Expression) -> Any:
        if isinstance(node, cp.Variable):
            return np.zeros(node.shape)
        if not node.args:
            return super()._evaluate(node)
        return evaluate(node, [self(arg) for arg in node.args])


class Lines:
    """The affine arguments of some nodes, all of them lines in the same u.

    Parameters
    ----------
    found : sequence of expressions
        Affine.
    matrices : Matrices

    Attributes
    ----------
    matrix : csr_array of shape (n, p)
        A.
    offset : array of shape (n,) or None

    Raises
    ------
    Unrecognised
        They are not lines in one u.
    """

    def __init__(self, found: Sequence[cp.Expression], matrices: Matrices) -> None:
        values = Values()
        affine = [Affine.of(node, values) for node in found]
        core = affine[0].core
        if any(one.core.size != core.size for one in affine):
            raise Unrecognised("arguments of other shapes")
        self.matrix, constant = matrices.of(core)
        factors, shifts = [], []
        for one in affine:
            share, rest = 1.0, constant
            if one.core is not core:
                matrix, rest = matrices.of(one.core)
                share = _share(matrix, self.matrix)
            factors.append(one.factor * share)
            shifts.append(one.shift + one.factor * rest)
        self.offset: Array | None = None
        if any(uniform(shift) is None for shift in shifts):
            self.offset = shifts[0] / factors[0]
            shifts = [s - f * self.offset for s, f in zip(shifts, factors, strict=True)]
        size = 0.0 if self.offset is None else float(np.max(np.abs(self.offset)))
        self._lines = {
            id(node): Curve(slope=factor, constant=_even(shift, abs(factor) * size))
            for node, factor, shift in zip(found, factors, shifts, strict=True)
        }

    def mirrored(self) -> Lines:
        """The same with −u in place of u."""
        other = copy(self)
        other.matrix = -self.matrix
        other.offset = None if self.offset is None else -self.offset
        other._lines = {
            key: Curve(slope=-line.slope, constant=line.constant)
            for key, line in self._lines.items()
        }
        return other

    def get(self, node: cp.Expression) -> Curve | None:
        """The line of a node; None if it is none of those that were found."""
        return self._lines.get(id(node))


def _share(matrix: sp.csr_array, of: sp.csr_array) -> float:
    """The number by which one matrix is another."""
    if matrix.nnz == of.nnz > 0:
        place = int(np.argmax(np.abs(of.data)))
        share = float(matrix.data[place] / of.data[place])
        apart = abs(matrix - share * of).max()
        if share != 0 and apart <= ROUNDING * np.max(np.abs(matrix.data)):
            return share
    raise Unrecognised("losses of different rows")


def _even(shift: Array, size: float) -> float:
    """The number that all entries are, up to the rounding of numbers of a size."""
    first = float(shift[0])
    rounding = ROUNDING * max(size, float(np.max(np.abs(shift))))
    if np.max(np.abs(shift - first)) > rounding:
        raise Unrecognised("thresholds that differ between entries")
    return 0.0 if abs(first) <= ROUNDING * size else first
