"""Edges of domains with an infinite slope: tangents are taken inside, values extended outside.

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
from dcprog.majorants.atoms.table import edge as edge_of
from dcprog.majorants.slopes import pull_back
from dcprog.majorants.tree import Values

__all__ = ["EDGE", "extended", "falls_at", "has_edge", "interior", "starts_at_edge"]


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
