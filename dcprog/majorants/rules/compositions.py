"""Concave atoms by tangents, convex atoms of majorised arguments, and rules of the table."""

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
from dcprog.majorants.atoms import Bend, FaultyAtom, edge, entry, is_even_in, spread
from dcprog.majorants.rules.frame import (
    Context,
    Frame,
    Piece,
    Weight,
    keep_domain,
    majorise,
    plus,
    rewrite,
    slope_sign,
)
from dcprog.majorants.rules.linear import fixed_leaf, is_dpp, weighted_leaf
from dcprog.majorants.tree import Values, evaluate, has_edge, interior, pull_back, rebuilt, short

# ----------------------------------------------------------------------------------------------
# tangents of concave atoms


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
    if entry(node).slope is None:
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


# ----------------------------------------------------------------------------------------------
# convex atoms of majorised arguments


def composition(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """A convex atom, monotone in its nonconvex arguments: the atom of their majorants.

    φ(up(a)) where φ is nondecreasing in a, φ(down(a)) where it is nonincreasing.
    """
    if not isinstance(node, Atom):
        return None
    suits = (weight.sign > 0 and node.is_atom_convex()) or (
        weight.sign < 0 and node.is_atom_concave()
    )
    if not suits:
        return None
    inner: list[Frame] = []
    sides = [_side(node, i, weight.sign) for i in range(len(node.args))]
    args = [
        _bound(arg, side, frame.context, inner) for arg, side in zip(node.args, sides, strict=True)
    ]
    replaced = rebuilt(node, args)
    if not replaced.is_dcp(dpp=True):  # such as quad_over_lin with Parameters in the denominator
        args = [_stand_in(a, side, frame.context) for a, side in zip(args, sides, strict=True)]
        replaced = rebuilt(node, args)
    if not (replaced.is_convex() if weight.sign > 0 else replaced.is_concave()):
        raise NotMajorizable(
            short(node),
            "cvxpy cannot see the curvature of the atom once its arguments are majorised",
            "an equivalent form whose outer atom is monotone",
        )
    if not replaced.is_dcp(dpp=True):
        raise NotMajorizable(
            short(node),
            "its Parameters multiply one another (not DPP)",
            "one Parameter that holds their product, or constants",
        )
    return _replaced_leaf(node, replaced, weight, frame, inner)


AFFINE, BELOW, ABOVE, MAGNITUDE = 0, -1, 1, 2


def _side(node: cp.Expression, index: int, sign: int) -> int:
    """The bound that a kept atom needs of an argument: AFFINE, BELOW, ABOVE or MAGNITUDE."""
    if node.args[index].is_affine():
        return AFFINE
    direction = sign * slope_sign(node, index)
    if direction != 0:
        return direction
    if is_even_in(node, index):
        return MAGNITUDE
    raise _not_monotone(node, index)


def _bound(arg: cp.Expression, side: int, context: Context, inner: list[Frame]) -> cp.Expression:
    if side == AFFINE and is_dpp(arg):
        return arg
    if side == MAGNITUDE:
        return _magnitude(arg, context, inner)
    return _one_sided(arg, side or ABOVE, context, inner)  # an affine one is its own majorant


def _stand_in(arg: cp.Expression, side: int, context: Context) -> cp.Expression:
    """The argument, or a variable that bounds it on that side if it holds Parameters."""
    if not arg.parameters():
        return arg
    if side == BELOW:
        return -context.stand_in(-arg)
    return context.stand_in(arg, exact=side == AFFINE)


def _replaced_leaf(
    node: cp.Expression, replaced: cp.Expression, weight: Weight, frame: Frame, inner: list[Frame]
) -> Piece:
    """The leaf of an atom of majorised arguments; its update updates their frames, too."""
    if weight.fixed is not None:
        leaf = fixed_leaf(node, weight.fixed, frame, "")
        expression = fixed_leaf(replaced, weight.fixed, frame, "").expression
    else:
        t = frame.context.stand_in(replaced if weight.sign > 0 else -replaced)
        leaf = weighted_leaf(node, t if weight.sign > 0 else -t, weight.sign, frame, "")
        expression = leaf.expression

    def update(w: Array, values: Values) -> Any:
        for f in inner:
            f.update(values)
        return leaf.update(w, values)

    rule = "convex atom: of majorised arguments"
    return Piece(node, rule, expression, update, [f.piece for f in inner])


def _one_sided(
    arg: cp.Expression, direction: int, context: Context, inner: list[Frame]
) -> cp.Expression:
    """up(arg) or down(arg), keeping the sign that the atom's monotonicity may rest on."""
    suits = arg.is_convex() if direction > 0 else arg.is_concave()
    if suits and is_dpp(arg):
        return arg
    frame = Frame(arg if direction > 0 else -arg, context, entrywise=True)
    inner.append(frame)
    if direction > 0:
        return cp.pos(frame.expression) if arg.is_nonneg() else frame.expression
    return -cp.pos(frame.expression) if arg.is_nonpos() else -frame.expression


def _magnitude(arg: cp.Expression, context: Context, inner: list[Frame]) -> cp.Expression:
    """max(up(a), up(−a), 0), a convex majorant of |a|."""
    sides = []
    for signed in (arg, -arg):
        frame = Frame(signed, context, entrywise=True)
        inner.append(frame)
        sides.append(frame.expression)
    return cp.maximum(*sides, 0)


def _not_monotone(node: cp.Expression, index: int) -> NotMajorizable:
    return NotMajorizable(
        short(node),
        f"{type(node).__name__} is convex but neither even nor monotone in its nonconvex "
        f"argument {index}, `{short(node.args[index])}`",
        "a variable in its place and an equality constraint, or an outer atom that is monotone",
    )


# ----------------------------------------------------------------------------------------------
# rules that the table of atoms states


def own(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """The piece of the rule registered for the node's atom, if any (``dc.register_atom``)."""
    rule = entry(node).rule
    piece = None if rule is None else rule(node, weight, frame)
    if piece is not None and not isinstance(piece, Piece):
        said = type(piece).__name__
        raise FaultyAtom(f"the rule of {type(node).__name__} returned a {said}: no Piece, nor None")
    return piece


def equal(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """An atom with an equal expression of other atoms, such as sinh, is rewritten."""
    known = entry(node).equal
    if known is None:
        return None
    return rewrite(
        node,
        known(node),
        weight,
        frame,
        f"{type(node).__name__}: an equal expression of other atoms",
    )


def smooth(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """w·φ ≤ |w|·Σ cₖhₖ + the tangent at x₀ of w·φ − |w|·Σ cₖhₖ, which is concave.

    The convex hₖ are the bends of the atom: a parabola of the largest curvature for sin, cos, tanh,
    asinh and normcdf, exponentials for xexp, a pole for tan.
    """
    known = entry(node).bends
    if known is None or weight.sign == 0:
        return None
    keep_domain(node, frame.context)
    x, bends = node.args[0], known[0] if weight.sign > 0 else known[1]
    curves = [bend.function(x) for bend in bends]
    pairs = zip(curves, bends, strict=True)
    bent = [majorise(curve, _weight(bend, weight), frame) for curve, bend in pairs]
    line = majorise(x, Weight(0), frame)

    def update(w: Array, values: Values) -> Any:
        x0, here = values.array(x), values.array(node)
        (slope,) = pull_back(node, [x0], here, w)
        here, total = w * here, 0.0
        for piece, curve, bend in zip(bent, curves, bends, strict=True):
            factor = bend.scale(w, x0)
            slope = slope - factor * bend.derivative(x0)
            here = here - factor * values.array(curve)
            total = total + piece.update(factor, values)
        return total + line.update(slope, values) + frame.constant(here - slope * x0)

    rule = "smooth: convex functions of its curvature, and a line"
    return Piece(node, rule, plus(*bent, line), update, [*bent, line])


def _weight(bend: Bend, weight: Weight) -> Weight:
    """The weight c·|w| of a bend, as far as it is known in advance."""
    if weight.fixed is None or callable(bend.factor):
        return Weight(1)
    return Weight.constant(bend.factor * np.abs(weight.fixed))
