"""Terms that are functions of one and the same vector u = Aθ + offset, as one weighted loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcprog.foundation.arrays import Array, vec
from dcprog.losses import Loss
from dcprog.surrogates.recognised.curve import Curve
from dcprog.surrogates.recognised.lines import ROUNDING, Lines, arguments
from dcprog.surrogates.recognised.matrices import Matrices
from dcprog.surrogates.recognised.reading import Reading
from dcprog.surrogates.recognised.unrecognised import Unrecognised
from dcprog.surrogates.recognised.weighted_terms import Term

__all__ = ["Losses", "joined"]


@dataclass(frozen=True)
class Losses:
    """Σ_i weights_i · min(loss(u_i), caps_i), up to a constant.

    Attributes
    ----------
    lines : Lines
        Where u comes from.
    weights : array of shape (n,)
        At least 0.
    loss : Loss
    caps : array of shape (n,) or None
    """

    lines: Lines
    weights: Array
    loss: Loss
    caps: Array | None = None


def joined(terms: list[Term], matrices: Matrices) -> Losses:
    """Terms as one loss of rows.

    Raises
    ------
    Unrecognised
        They are of different rows, or no losses.
    """
    lines = Lines([arg for node, _ in terms for arg in arguments(node)], matrices)
    try:
        return _of_lines(terms, lines)
    except Unrecognised:  # margins fall where scores rise
        return _of_lines(terms, lines.mirrored())


def _of_lines(terms: list[Term], lines: Lines) -> Losses:
    reading, weights = Reading(lines), np.abs(terms[0][1])
    curve, caps = Curve(), None
    for node, own in terms:
        inside, levels = reading.caps(node) if len(terms) == 1 else (node, None)
        curve = curve + reading.curve(inside).times(_multiple(own, weights))
        caps = None if levels is None else vec(np.broadcast_to(levels, node.shape))
    factor, loss = curve.as_loss()
    caps = None if caps is None else (caps - curve.constant) / factor
    return Losses(lines, factor * weights, loss, caps)


def _multiple(weights: Array, of: Array) -> float:
    """The number by which one vector is another, which is nowhere negative."""
    place = int(np.argmax(of))
    share = float(weights[place] / of[place]) if weights.shape == of.shape else 0.0
    if not np.allclose(weights, share * of, rtol=ROUNDING, atol=0) or share == 0:
        raise Unrecognised("losses of other weights")
    return share
