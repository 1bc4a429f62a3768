"""Steps out of narrow wells, with slopes taken at larger losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.risk_mm.loose_starts import Solve, stepped

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["over_rims"]

# Shares of the usual loss below which slopes are those there, the finest first.
EDGES = (1e-6, 1e-4, 1e-2)


def over_rims(risk: Risk, x: Array, solve: Solve) -> Iterator[Array]:
    """Points beyond the rims of the narrow wells in which a run may have been caught.

    φ(t) = t^p rises infinitely steeply at 0, and its tangent at a tiny loss holds the loss there,
    though F may fall from a point a little further out. There the slope at a larger loss says so.

    Parameters
    ----------
    risk : Risk
    x : array
    solve : callable
        Minimiser of a weighted risk, from a centre, to a tolerance.

    Yields
    ------
    array
        None where all slopes are finite or no loss is small.
    """
    if np.isfinite(risk.transform.steepest):
        return
    losses = risk.aggregates(x)
    usual = float(np.max(losses, where=np.isfinite(losses), initial=0.0))
    for edge in EDGES:
        if np.any(losses < edge * usual):
            yield stepped(risk, x, solve, 1, edge)
