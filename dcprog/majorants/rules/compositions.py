"""Convex atoms of majorised arguments."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
from cvxpy.atoms.atom import Atom

from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotMajorizable
from dcprog.majorants.atoms import is_even_in
from dcprog.majorants.rules.context import Context
from dcprog.majorants.rules.frame import Frame, Piece, Weight, slope_sign
from dcprog.majorants.rules.leaves import fixed_leaf, is_dpp, weighted_leaf
from dcprog.majorants.tree import Values, rebuilt, short

__all__ = ["composition"]


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
