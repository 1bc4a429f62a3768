"""Slopes of cvxpy's atoms as vector-Jacobian products, and edges at which slopes are infinite.

For an atom φ with arguments a₁…a_k and an adjoint w (an array of the atom's shape),
``pull_back`` returns the arrays g_i = (∂φ/∂a_i)ᵀ w, one of each argument's shape. cvxpy's own
``grad`` forms sparse matrices, follows the order of the arguments at ties and gives None at the
edge of a domain; the table of atoms settles all three.

√u, u^p (0 < p < 1), log u, entr u and their like have an infinite slope at the edge of their
domain. Their tangent is taken at ``EDGE`` inside it: still a majorant everywhere, but at the edge
it touches only up to φ(EDGE) − EDGE·φ'(EDGE), 5e-6 for the square root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import EDGE, Array
from dcprog.majorants.atoms import FaultyAtom, entry
from dcprog.majorants.atoms import edge as edge_of
from dcprog.majorants.tree import Values, short

__all__ = [
    "EDGE",
    "extended",
    "falls_at",
    "has_edge",
    "has_slope",
    "interior",
    "pull_back",
    "starts_at_edge",
]


def has_slope(atom: cp.Expression) -> bool:
    """True if a slope of the atom is known."""
    return entry(atom).slope is not None


def pull_back(
    atom: cp.Expression, args: Sequence[Array], value: Array, adjoint: Array
) -> list[Array]:
    """Slopes of `atom` times `adjoint`.

    Parameters
    ----------
    atom : cvxpy expression
    args : sequence of arrays
        Values of the arguments (see ``slopes.interior``).
    value : array
        The atom's value there.
    adjoint : array of the atom's shape

    Returns
    -------
    list of arrays, one of each argument's shape

    Raises
    ------
    ValueError
        The atom has no finite slope there (outside its domain).
    FaultyAtom
        A function given to ``register_atom`` has a fault.
    """
    rule = entry(atom).slope
    if rule is None:
        raise _no_slope(atom)
    try:
        with np.errstate(all="ignore"):
            slopes = rule(atom, args, np.asarray(value), np.asarray(adjoint))
    except FaultyAtom:
        raise
    except NotImplementedError as error:
        kind = type(atom).__name__
        advice = f"{kind} has no _grad, give it a slope by dc.register_atom({kind}, slope=...)"
        raise _no_slope(atom, advice) from error
    except Exception as error:  # whatever the libraries below raise
        raise _no_slope(atom) from error
    if not all(np.all(np.isfinite(slope)) for slope in slopes):
        raise _no_slope(atom)
    return slopes


def _no_slope(atom: cp.Expression, advice: str = "start inside its domain") -> ValueError:
    return ValueError(f"{short(atom)} has no finite slope at the current point: {advice}")


# ----------------------------------------------------------------------------------------------
# edges


def interior(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> list[Array]:
    """The arguments, moved to at least `edge` inside the domain if the edge's slope is infinite."""
    args = [np.asarray(a, dtype=float) for a in args]
    known = edge_of(atom)
    return args if known is None else [known.inside(a, edge) for a in args]


def has_edge(atom: cp.Expression) -> bool:
    """True if the atom's slope is infinite at the edge of its domain and ``extended`` applies."""
    known = edge_of(atom)
    summable = isinstance(atom, Elementwise | AxisAtom) or atom.size == 1
    return known is not None and known.carried and summable


def extended(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> Array:
    """The atom φ, extended outward from `edge` inside its domain along its tangent there.

    The extension is concave, lies above φ, equals φ from `edge` on, and every tangent touches it.
    An outer loop that compares values of the extension descends exactly.
    """
    point = interior(atom, args, edge)
    here = np.asarray(atom.numeric(point), dtype=float).reshape(atom.shape)
    if all(np.array_equal(p, a) for p, a in zip(point, args, strict=True)):
        return here
    slopes = pull_back(atom, point, here, np.ones(atom.shape))
    beyond = sum(s * (a - p) for s, a, p in zip(slopes, args, point, strict=True))
    return here + _behind_outputs(atom, beyond)


def _behind_outputs(atom: Any, terms: Any) -> Any:
    """For each output of the atom, the sum of the terms of the entries it is computed from."""
    if atom.size == 1:
        return np.sum(terms)
    if isinstance(atom, Elementwise):
        return terms
    return np.sum(terms, axis=atom.axis, keepdims=atom.keepdims)


def starts_at_edge(atom: cp.Expression, values: Values, share: float) -> bool:
    """True if an entry is within `share` of the largest depth from an edge with a finite value."""
    known = edge_of(atom)
    if known is None or known.bottomless:
        return False
    depths = [np.abs(known.depth(values.array(arg))) for arg in atom.args]
    return any(
        np.min(depth, initial=np.inf) <= share * float(np.max(depth, initial=0.0))
        for depth in depths
    )


def falls_at(atom: cp.Expression, values: Values, depth: float) -> bool:
    """True if an entry is within `depth` times the arguments' size of an edge with value −∞."""
    known = edge_of(atom)
    if known is None or not known.bottomless:
        return False
    least = (np.min(known.depth(values.array(arg)), initial=np.inf) for arg in atom.args)
    return bool(min(least) <= depth * values.size(atom))
