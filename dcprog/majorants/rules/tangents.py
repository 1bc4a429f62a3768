"""Tangents of concave atoms, and of convex ones under a minus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.axis_atom import AxisAtom
from cvxpy.atoms.elementwise.elementwise import Elementwise

from dcprog.foundation.arrays import Array, unvec, vec
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.atoms import edge, spread
from dcprog.majorants.rules.frame import (
    Frame,
    Piece,
    Weight,
    keep_domain,
    majorise,
    plus,
    slope_sign,
)
from dcprog.majorants.slopes import has_edge, has_slope, interior, pull_back
from dcprog.majorants.tree import Values, evaluate, short

__all__ = ["tangent"]


def tangent(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A concave atom (a convex one under a minus) is replaced by its tangent in its arguments.

    φ(a) ≤ φ(a₀) + φ'(a₀)·(a − a₀); then the rules for each a with weight w·φ'(a₀), whose sign is
    known where φ is monotone.
    """
    if not isinstance(node, Atom):
        return None
    against = (weight.sign > 0 and node.is_atom_concave()) or (
        weight.sign < 0 and node.is_atom_convex()
    )
    if not against:
        return None
    if not has_slope(node):
        raise NotMajorizable(
            short(node),
            f"no slope of {type(node).__name__} is known",
            "the same function from atoms such as cp.max, cp.quad_over_lin or cp.rel_entr",
        )
    keep_domain(node, frame.context)
    if has_edge(node):
        frame.context.edges[id(node)] = node
    args = _aligned(node) if frame.entrywise else node.args
    live = [i for i, arg in enumerate(args) if not arg.is_constant()]
    sums = _axis_sums(node) if frame.entrywise else None
    children = [majorise(args[i], weight.times(slope_sign(node, i)), frame) for i in live]
    expression = plus(*children)
    if sums is not None and expression is not None:
        expression = cp.reshape(sums @ cp.vec(expression, order="F"), node.shape, order="F")

    def update(w: Array, values: Values) -> Any:
        raw = [values.array(arg) for arg in args]
        depth = values.edge * values.size(node)
        if values.level == np.inf:
            point, slopes = raw, _convex_start(node, args, raw, w, values.keep)
        elif values.level > 1:
            point, slopes = raw, _graduated(node, args, raw, w, values.level, depth)
        else:
            point = interior(node, raw, depth)
        here = np.asarray(evaluate(node, point), dtype=float)
        if values.level == 1:
            slopes = pull_back(node, point, here, w)
        offset = frame.constant(w * here)
        for i, child in zip(live, children, strict=True):
            part = child.update(slopes[i], values) - frame.constant(slopes[i] * point[i])
            offset = offset + (part if sums is None else unvec(sums @ vec(part), node.shape))
        return np.zeros(np.shape(offset)) if values.level > 1 else offset

    rule = "concave atom: tangent" if weight.sign > 0 else "convex atom under a minus: tangent"
    return Piece(node, rule, expression, update, children)


def _aligned(node: cp.Expression) -> list[cp.Expression]:
    """The atom's arguments; those of an elementwise atom are broadcast to its shape."""
    if not isinstance(node, Elementwise):
        return list(node.args)
    return [
        arg if arg.shape == node.shape else cp.broadcast_to(arg, node.shape) for arg in node.args
    ]


def _axis_sums(node: Any) -> sp.csr_array | None:
    """For an atom along an axis, the 0/1 matrix that adds the entries behind each output."""
    if isinstance(node, Elementwise):
        return None
    along = isinstance(node, AxisAtom) and node.shape == AxisAtom.shape_from_args(node)
    if not along or not all(arg.is_constant() for arg in node.args[1:]):
        raise NotMajorizable(
            short(node),
            f"the vector-valued atom {type(node).__name__} has no entrywise tangent",
            "write its entries as separate constraints, or sum them in the objective",
        )
    outputs = np.arange(node.size).reshape(node.shape, order="F")
    rows = vec(spread(node, outputs, node.args[0].ndim, node.args[0].shape)).astype(int)
    return sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))))


def _convex_start(
    node: cp.Expression,
    args: Sequence[cp.Expression],
    values: Sequence[Array],
    w: Array,
    keep: Callable[[Array], Array] | None,
) -> list[Array]:
    """Slopes of the convex start: none for affine arguments, the slope at 0 for convex ones.

    With them a capped or rescaled loss is its convex base, with the weight φ'(0), or φ' at
    distance 1 inside the edge if φ'(0) is infinite, and a difference f − g is f.
    """
    base = [
        v if arg.is_constant() else np.zeros(arg.shape) for v, arg in zip(values, args, strict=True)
    ]
    moved = interior(node, base)
    known = edge(node)
    if known and any(np.any(m != b) for m, b in zip(moved, base, strict=True)):
        moved = [
            b if a.is_constant() else np.full(a.shape, known.at + 1.0)
            for b, a in zip(base, args, strict=True)
        ]
    with np.errstate(all="ignore"):
        here = np.asarray(evaluate(node, moved), dtype=float)
    try:
        slopes = pull_back(node, moved, here, w)
    except ValueError:  # no slope at 0 (LinAlgError is a ValueError)
        slopes = [np.zeros(a.shape) for a in args]
    return [
        np.zeros(arg.shape) if arg.is_affine() else slope if keep is None else keep(slope)
        for slope, arg in zip(slopes, args, strict=True)
    ]


def _graduated(
    node: cp.Expression,
    args: Sequence[cp.Expression],
    values: Sequence[Array],
    w: Array,
    level: float,
    depth: float,
) -> list[Array]:
    """Slopes of s·φ(a/s) for convex arguments, of φ/s for affine ones, where s is the level."""
    shrunk = [v if arg.is_affine() else v / level for v, arg in zip(values, args, strict=True)]
    point = interior(node, shrunk, depth)
    slopes = pull_back(node, point, np.asarray(evaluate(node, point), dtype=float), w)
    return [s / level if arg.is_affine() else s for s, arg in zip(slopes, args, strict=True)]
