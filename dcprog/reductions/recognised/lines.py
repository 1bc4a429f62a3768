"""Affine arguments as lines in one number u an entry: κ·u + τ with u = Aθ + offset."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression

from dcprog.foundation.arrays import Array, vec
from dcprog.majorants.tree import Values
from dcprog.reductions.recognised.curve import Curve, Unrecognised
from dcprog.reductions.recognised.matrices import Matrices

__all__ = ["Affine", "Lines", "arguments", "uniform"]

ROUNDING = 1e-12


def uniform(numbers: Any) -> float | None:
    """The number that all of them are, up to rounding; None where they differ."""
    numbers = np.asarray(numbers, dtype=float)
    first = float(numbers.flat[0])
    apart = np.max(np.abs(numbers - first))
    return first if apart <= ROUNDING * np.max(np.abs(numbers)) else None


def arguments(root: cp.Expression) -> list[cp.Expression]:
    """The largest affine expressions of a tree that are not constant, each once."""
    found: dict[int, cp.Expression] = {}
    seen, waiting = {id(root)}, [root]
    while waiting:
        node = waiting.pop()
        if node.is_constant():
            continue
        if node.is_affine():
            found[id(node)] = node
            continue
        waiting += [arg for arg in node.args if id(arg) not in seen]
        seen.update(id(arg) for arg in node.args)
    return list(found.values())


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
                factor *= float(constants[0].flat[0])
            elif isinstance(node, DivExpression) and uniform(constants[0]):
                factor /= float(constants[0].flat[0])
            else:
                break
            node = live[0]
        return cls(factor, node, shift)


class Lines:
    """The affine arguments of some nodes, all of them lines in the same u.

    Parameters
    ----------
    found : sequence of expressions
        Affine.
    matrices : Matrices

    Attributes
    ----------
    matrix : array or sparse array of shape (n, p)
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
        self.matrix: Any
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
        """The lines with −u in place of u."""
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


def _share(matrix: Any, of: Any) -> float:
    """The number by which one matrix is another."""
    if matrix.shape == of.shape:
        share = float((matrix * of).sum() / (of * of).sum())
        if share != 0 and abs(matrix - share * of).max() <= ROUNDING * abs(matrix).max():
            return share
    raise Unrecognised("losses of different rows")


def _even(shift: Array, size: float) -> float:
    """The number that all entries are, up to the rounding of numbers of a size."""
    first = float(shift[0])
    rounding = ROUNDING * max(size, float(np.max(np.abs(shift))))
    if np.max(np.abs(shift - first)) > rounding:
        raise Unrecognised("thresholds that differ between entries")
    return 0.0 if abs(first) <= ROUNDING * size else first
