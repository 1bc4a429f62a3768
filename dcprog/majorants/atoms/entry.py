"""One kind of atom, as the rules know it: its slope, its value, its edge, its symmetry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array, dense, unvec, vec

__all__ = [
    "SLACK",
    "Edge",
    "Entry",
    "Evaluation",
    "FaultyAtom",
    "PullBack",
    "SpectralEdge",
    "cvxpy_slope",
    "plain",
    "within",
]

PullBack = Callable[[Any, Sequence[Array], Array, Array], list[Array]]
Evaluation = Callable[[Any, list[Any], float], Any]

# Up to that share of the arguments' size outside its domain, an atom counts as at the edge.
SLACK = 1e-6


class FaultyAtom(TypeError):
    """A function given to ``register_atom`` does not do what it is there for."""


@dataclass(frozen=True)
class Edge:
    """The least value of an argument's entries, where the atom's slope is infinite.

    Parameters
    ----------
    at : float, default 0.0
    bottomless : bool, default False
        Does the atom, or the convex one under a minus, fall to −∞ there?
    carried : bool, default True
        Are values carried on beyond the edge, along the tangent (see ``edges.extended``)?
    """

    at: float = 0.0
    bottomless: bool = False
    carried: bool = True

    def depth(self, argument: Array) -> Array:
        """How far inside the entries are."""
        return argument - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The argument, its entries at least so far inside."""
        return np.maximum(argument, self.at + depth)


class SpectralEdge(Edge):
    """An edge of the domain in terms of the eigenvalues of a symmetric matrix."""

    def depth(self, argument: Array) -> Array:
        """How far inside the eigenvalues are."""
        return np.asarray(np.linalg.eigvalsh((argument + argument.T) / 2), float) - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The matrix, shifted until its eigenvalues are at least so far inside."""
        lacking = max(0.0, depth - self.depth(argument)[0])
        return argument + lacking * np.eye(argument.shape[0])


def plain(atom: Any, args: Sequence[Any], slack: float = 0.0) -> Any:
    """The value that cvxpy gives, in the atom's shape."""
    value = atom.numeric(list(args))
    if np.shape(value) == atom.shape or sp.issparse(value):
        return value
    return np.asarray(value).reshape(atom.shape, order="F")  # upper_tri is (n, 1) but says (n,)


def within(array: Any, slack: float, at: float = 0.0) -> Array:
    """The entries from `at` on; those up to `slack` below are at it, the others NaN."""
    array = dense(array)
    return np.where(array >= at, array, np.where(array >= at - slack, at, np.nan))


def cvxpy_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """The (sub)gradients of cvxpy itself."""
    slopes = []
    for matrix, arg in zip(atom._grad(list(args)), args, strict=False):
        if matrix is None:
            slopes.append(np.full(arg.shape, np.nan))
        elif np.ndim(matrix) == 0:
            slopes.append(unvec(matrix * vec(adjoint), arg.shape))
        else:
            slopes.append(unvec(matrix @ vec(adjoint), arg.shape))
    constants = args[len(slopes) :]  # some atoms leave out the arguments that must be constant
    return [*slopes, *(np.zeros(a.shape) for a in constants)]


@dataclass(frozen=True)
class Entry:
    """Properties of one kind of atom that rules use; by default those that cvxpy tells.

    Parameters
    ----------
    slope : function (atom, args, value, adjoint) -> list of arrays, or None
        (∂φ/∂a_i)ᵀ adjoint for each argument; None where no slope is known.
    evaluate : function (atom, args, slack) -> value
        NaN outside the domain, whose edge is `slack` wide.
    edge : Edge, function (atom) -> Edge or None, or None
        Where the slope is infinite.
    even : bool, or function (atom, index) -> bool
        Is the atom convex, and an increasing function of the argument's absolute value?
    from_zero : slice, optional
        The arguments that have an edge at 0 in the atom's domain, which other units only stretch.
    rule : function (node, weight, frame) -> Piece or None, optional
        Asked before the rules of the library.
    """

    slope: PullBack | None = cvxpy_slope
    evaluate: Evaluation = plain
    edge: Edge | Callable[[Any], Edge | None] | None = None
    even: bool | Callable[[Any, int], bool] = False
    from_zero: slice | None = None
    rule: Callable[[Any, Any, Any], Any] | None = None
