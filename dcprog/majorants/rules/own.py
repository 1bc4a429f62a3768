"""Rules of atoms that were registered by ``dc.register_atom``."""

from __future__ import annotations

import cvxpy as cp

from dcprog.majorants.atoms import FaultyAtom, entry
from dcprog.majorants.rules.frame import Frame, Piece, Weight

__all__ = ["own"]


def own(node: cp.Expression, weight: Weight, frame: Frame) -> Piece | None:
    """The piece of the rule registered for the node's atom, if any (``dc.register_atom``)."""
    rule = entry(node).rule
    piece = None if rule is None else rule(node, weight, frame)
    if piece is not None and not isinstance(piece, Piece):
        said = type(piece).__name__
        raise FaultyAtom(f"the rule of {type(node).__name__} returned a {said}: no Piece, nor None")
    return piece
