"""A box that holds every point of a problem that is feasible and as good as the best one known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dcprog.factorable.terms import ROUNDING, Row
from dcprog.foundation.arrays import Array

__all__ = ["first_box", "propagate"]

# Distances at which an edge is tried: in units of the point or, where an edge is known, in shares
# of the distance to it.
DISTANCES = 2.0 ** np.arange(-20, 100)
SHARES = np.concatenate([DISTANCES[:20], 1 - DISTANCES[18::-1]])
FINER = 33
REFINED = 7  # times: the edge is found to 32⁻⁶, a billionth of the distance
SWEEPS = 8  # over the variables
MARGIN = 1e-9
# Another sweep is worth while where an edge moves by that share of itself.
ENOUGH = 0.01

Excluded = Callable[[Array, Array], npt.NDArray[np.bool_]]


def first_box(
    lo: Array, hi: Array, x: Array, places: npt.NDArray[np.intp], excluded: Excluded
) -> tuple[Array, Array]:
    """Edges moved in, one coordinate after the other, as far as what lies beyond is excluded.

    Parameters
    ----------
    lo, hi : arrays of shape (p,)
        What the variables were declared to be; infinite where nothing is known.
    x : array of shape (p,)
        A point inside.
    places : array of int
        The coordinates whose edges are moved.
    excluded : callable
        Whether boxes (boxes, p) hold no point of interest, by ranges alone.

    Returns
    -------
    lo, hi : arrays of shape (p,)
        Infinite where nothing was found.
    """
    lo, hi = lo.copy(), hi.copy()
    for _ in range(SWEEPS):
        before = np.concatenate([lo, hi])
        for j in places:
            hi[j] = _edge(lo, hi, x, j, 1.0, excluded)
            lo[j] = _edge(lo, hi, x, j, -1.0, excluded)
        after = np.concatenate([lo, hi])
        if not np.any(_moved(before, after)):
            break
    return lo, hi


def propagate(lo: Array, hi: Array, rows: Sequence[Row]) -> None:
    """Narrow bounds, in place, by what rows of variables alone, each at most 0, imply.

    Parameters
    ----------
    lo, hi : arrays of shape (p,)
    rows : sequence of Row
        Those with other columns than variables say nothing here.
    """
    linear = [row for row in rows if row.terms and row.terms[-1][0] < lo.size]
    for _ in range(SWEEPS):
        before = np.concatenate([lo, hi])
        for row in linear:
            _narrow(lo, hi, row)
        if not np.any(_moved(before, np.concatenate([lo, hi]))):
            break


def _narrow(lo: Array, hi: Array, row: Row) -> None:
    """One row: c·x_j ≤ −(least of the rest)."""
    least = [c * (lo[j] if c > 0 else hi[j]) for j, c in row.terms]
    infinite = [k for k, part in enumerate(least) if np.isinf(part)]
    if len(infinite) > 1:
        return
    for k, (j, c) in enumerate(row.terms):
        if infinite and k != infinite[0]:
            continue
        others = [row.constant, *(part for i, part in enumerate(least) if i != k)]
        slack = ROUNDING * sum(map(abs, others))
        edge = (slack - sum(others)) / c
        if c > 0:
            hi[j] = min(hi[j], edge)
        else:
            lo[j] = max(lo[j], edge)


def _moved(before: Array, after: Array) -> npt.NDArray[np.bool_]:
    """True for edges that are new, or far from where they were."""
    known = np.isfinite(before) & np.isfinite(after)
    far = np.abs(np.subtract(after, before, where=known, out=np.zeros(before.shape)))
    return (known & (far > ENOUGH * np.abs(before))) | (np.isinf(before) & np.isfinite(after))


def _edge(lo: Array, hi: Array, x: Array, j: int, side: float, excluded: Excluded) -> float:
    """The innermost edge found on one side of x_j."""
    edge = float(hi[j] if side > 0 else lo[j])
    room = abs(edge - x[j])
    unit = abs(x[j]) if x[j] else 1.0
    tries = x[j] + side * (room * SHARES if np.isfinite(room) else unit * DISTANCES)
    for _ in range(REFINED):
        tries = tries[np.isfinite(tries)]
        low, high = np.tile(lo, (tries.size, 1)), np.tile(hi, (tries.size, 1))
        (low if side > 0 else high)[:, j] = tries
        gone = np.flatnonzero(excluded(low, high))
        if not gone.size:
            return edge
        first = int(gone[0])
        edge = float(tries[first])
        inner = x[j] if first == 0 else tries[first - 1]
        tries = np.linspace(inner, edge, FINER)[1:]
    return edge + side * MARGIN * abs(edge - x[j])
