"""Edges of domains at which a slope is infinite: tangents inside, values carried on outside.

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
    """Arguments moved to `edge` inside the atom's domain where its slope would be infinite."""
    args = [np.asarray(a, dtype=float) for a in args]
    known = edge_of(atom)
    return args if known is None else [known.inside(a, edge) for a in args]


def has_edge(atom: cp.Expression) -> bool:
    """True if the slope is infinite at the domain's edge and an ``extended`` form is known."""
    known = edge_of(atom)
    summable = isinstance(atom, Elementwise | AxisAtom) or atom.size == 1
    return known is not None and known.carried and summable


def extended(atom: cp.Expression, args: Sequence[Array], edge: float = EDGE) -> Array:
    """φ, carried on along its tangent at `edge` where its slope would be infinite.

    A concave function above φ, equal to it from `edge` on, that every tangent touches. An outer
    loop that compares its values descends exactly.
    """
    point = interior(atom, args, edge)
    here = np.asarray(atom.numeric(point), dtype=float).reshape(atom.shape)
    if all(np.array_equal(p, a) for p, a in zip(point, args, strict=True)):
        return here
    slopes = pull_back(atom, point, here, np.ones(atom.shape))
    beyond = sum(s * (a - p) for s, a, p in zip(slopes, args, point, strict=True))
    return here + _behind_outputs(atom, beyond)


def _behind_outputs(atom: Any, terms: Any) -> Any:
    """The sum of the terms of the entries that each output is made of."""
    if atom.size == 1:
        return np.sum(terms)
    if isinstance(atom, Elementwise):
        return terms
    return np.sum(terms, axis=atom.axis, keepdims=atom.keepdims)


def starts_at_edge(atom: cp.Expression, values: Values, share: float) -> bool:
    """True if an argument is within a share of its depth of an edge where the atom is finite."""
    known = edge_of(atom)
    if known is None or known.bottomless:
        return False
    depths = [np.abs(known.depth(values.array(arg))) for arg in atom.args]
    return any(
        np.min(depth, initial=np.inf) <= share * float(np.max(depth, initial=0.0))
        for depth in depths
    )


def falls_at(atom: cp.Expression, values: Values, depth: float) -> bool:
    """True if an argument is within `depth`, over its size, of an edge where the atom is −∞."""
    known = edge_of(atom)
    if known is None or not known.bottomless:
        return False
    least = (np.min(known.depth(values.array(arg)), initial=np.inf) for arg in atom.args)
    return bool(min(least) <= depth * values.size(atom))
