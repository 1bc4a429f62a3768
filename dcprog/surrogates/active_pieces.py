"""The smooth pieces of expressions with kinks that are active at a point."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.majorants.tree import Values, rebuilt, spread_to

__all__ = ["ActivePieces"]


class ActivePieces:
    """Expressions with the pieces that attain maxima, minima and absolute values in their place.

    At the variables' present values. Of pieces that tie the first is taken, and the others are to
    equal it: a maximum of two that is minimised has its minimum where they meet.

    Parameters
    ----------
    reach : float
        Pieces that differ by less, relative to their size, tie.

    Attributes
    ----------
    ties : list of expressions
        Vectors that are 0 on the piece.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(3, value=[1.0, 1.0, -2.0], name="x")
    >>> pieces = ActivePieces(1e-6)
    >>> smooth = pieces.of(cp.max(x) + cp.norm1(x))
    >>> float(smooth.value), [tie.shape for tie in pieces.ties], smooth.is_affine()
    (5.0, [(1,)], True)
    """

    def __init__(self, reach: float) -> None:
        self._reach = reach
        self._seen: dict[int, cp.Expression] = {}
        self._keep: list[cp.Expression] = []  # ids stay theirs
        self.ties: list[cp.Expression] = []

    def of(self, node: cp.Expression) -> cp.Expression:
        """The expression on its active pieces."""
        if id(node) not in self._seen:
            self._keep.append(node)
            self._seen[id(node)] = self._piece(node)
        return self._seen[id(node)]

    def _piece(self, node: cp.Expression) -> cp.Expression:
        if node.is_constant() or not node.args:
            return node
        args = [self.of(arg) for arg in node.args]
        first = args[0]
        if isinstance(node, cp.abs):
            return self._magnitude(first)
        if isinstance(node, cp.norm1):
            return cp.sum(self._magnitude(first), axis=node.axis, keepdims=node.keepdims)
        if isinstance(node, cp.norm_inf):
            return self._largest(self._magnitude(first), node.axis, node.keepdims)
        if isinstance(node, cp.max):
            return self._largest(first, node.axis, node.keepdims)
        if isinstance(node, cp.min):
            return -self._largest(-first, node.axis, node.keepdims)
        if isinstance(node, cp.maximum | cp.minimum):
            return self._extreme(args, node.shape, 1 if isinstance(node, cp.maximum) else -1)
        if all(new is old for new, old in zip(args, node.args, strict=True)):
            return node
        return rebuilt(node, args)

    def _magnitude(self, arg: cp.Expression) -> cp.Expression:
        at = Values().array(arg)
        small = np.abs(at) <= self._reach * self._size(at)
        self._tie(arg, small)
        return cp.multiply(np.where(small, 0.0, np.sign(at)), arg)

    def _largest(
        self, arg: cp.Expression, axis: int | tuple[int, ...] | None, keepdims: bool
    ) -> cp.Expression:
        at = Values().array(arg)
        top = np.max(at, axis=axis, keepdims=True)
        near = at >= top - self._reach * self._size(at)
        order = np.where(near, np.arange(at.size).reshape(at.shape), at.size)
        first = order == np.min(order, axis=axis, keepdims=True)
        chosen = cp.sum(cp.multiply(first.astype(float), arg), axis=axis, keepdims=True)
        self._tie(arg - spread_to(chosen, arg.shape), near & ~first)
        return cp.sum(cp.multiply(first.astype(float), arg), axis=axis, keepdims=keepdims)

    def _extreme(
        self, args: list[cp.Expression], shape: tuple[int, ...], sign: int
    ) -> cp.Expression:
        spread = [spread_to(arg, shape) for arg in args]
        at = np.array([sign * Values().array(arg) for arg in spread])
        near = at >= np.max(at, axis=0) - self._reach * self._size(at)
        first = near & (np.cumsum(near, axis=0) == 1)
        terms = [cp.multiply(m.astype(float), e) for m, e in zip(first, spread, strict=True)]
        chosen = sum(terms[1:], terms[0])
        for expression, tied in zip(spread, near & ~first, strict=True):
            self._tie(expression - chosen, tied)
        return chosen

    def _size(self, at: Array) -> float:
        return float(np.max(np.abs(at), initial=0.0)) or 1.0

    def _tie(self, expression: cp.Expression, where: npt.NDArray[np.bool_]) -> None:
        places = np.flatnonzero(where.ravel(order="F"))
        if places.size:
            self.ties.append(cp.vec(expression, order="F")[places])
