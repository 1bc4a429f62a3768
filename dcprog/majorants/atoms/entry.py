"""An entry of the table of atoms: slope, value, edge and symmetry of one atom class."""

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

# Arguments outside the domain by at most this share of their size count as at its edge.
SLACK = 1e-6


class FaultyAtom(TypeError):
    """A function given to ``register_atom`` failed, or returned a value of the wrong kind."""


@dataclass(frozen=True)
class Edge:
    """The least value of an argument's entries, where the atom's slope is infinite.

    Parameters
    ----------
    at : float, default 0.0
    bottomless : bool, default False
        Whether the atom, or the negative of a convex one, falls to −∞ there.
    carried : bool, default True
        Whether values are extended beyond the edge along the tangent (see ``edges.extended``).
    """

    at: float = 0.0
    bottomless: bool = False
    carried: bool = True

    def depth(self, argument: Array) -> Array:
        """The distance of each entry from the edge, positive inside the domain."""
        return argument - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The argument with its entries moved to at least `depth` inside the edge."""
        return np.maximum(argument, self.at + depth)


class SpectralEdge(Edge):
    """The least value of the eigenvalues of a symmetric matrix, where the slope is infinite."""

    def depth(self, argument: Array) -> Array:
        """The distance of each eigenvalue from the edge, positive inside the domain."""
        return np.asarray(np.linalg.eigvalsh((argument + argument.T) / 2), float) - self.at

    def inside(self, argument: Array, depth: float) -> Array:
        """The matrix, shifted until its eigenvalues are at least `depth` inside the edge."""
        lacking = max(0.0, depth - self.depth(argument)[0])
        return argument + lacking * np.eye(argument.shape[0])


def plain(atom: Any, args: Sequence[Any], slack: float = 0.0) -> Any:
    """The value that cvxpy gives, in the atom's shape."""
    value = atom.numeric(list(args))
    if np.shape(value) == atom.shape or sp.issparse(value):
        return value
    return np.asarray(value).reshape(atom.shape, order="F")  # upper_tri is (n, 1) but says (n,)


def within(array: Any, slack: float, at: float = 0.0) -> Array:
    """The array with entries up to `slack` below `at` moved to `at`, and lower ones NaN."""
    array = dense(array)
    return np.where(array >= at, array, np.where(array >= at - slack, at, np.nan))


def cvxpy_slope(atom: Any, args: Sequence[Array], value: Array, adjoint: Array) -> list[Array]:
    """Slopes from cvxpy's own ``_grad``; NaN where it gives None."""
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
    """The rules' data of one atom class; by default cvxpy's own slope and value.

    Parameters
    ----------
    slope : function (atom, args, value, adjoint) -> list of arrays, or None
        (∂φ/∂a_i)ᵀ adjoint for each argument; None where no slope is known.
    evaluate : function (atom, args, slack) -> value
        NaN outside the domain, whose edge is `slack` wide.
    edge : Edge, function (atom) -> Edge or None, or None
        The edge of the domain at which the slope is infinite.
    even : bool, or function (atom, index) -> bool
        Whether the atom is convex and an increasing function of the argument's absolute value.
    from_zero : slice, optional
        The arguments whose domain has its edge at 0, so that a change of units only scales it.
    rule : function (node, weight, frame) -> Piece or None, optional
        A rule that is tried before those of the library.
    """

    slope: PullBack | None = cvxpy_slope
    evaluate: Evaluation = plain
    edge: Edge | Callable[[Any], Edge | None] | None = None
    even: bool | Callable[[Any, int], bool] = False
    from_zero: slice | None = None
    rule: Callable[[Any, Any, Any], Any] | None = None
