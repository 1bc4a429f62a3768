"""Rules that the table of atoms states: registered rules, equal expressions, smooth functions."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.majorants.atoms import Bend, FaultyAtom, entry
from dcprog.majorants.rules.frame import (
    Frame,
    Piece,
    Weight,
    keep_domain,
    majorise,
    plus,
    rewrite,
)
from dcprog.majorants.slopes import pull_back
from dcprog.majorants.tree import Values

__all__ = ["equal", "own", "smooth"]


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
