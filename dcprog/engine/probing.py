"""Probing for lower values of F around a point that seems critical."""

from __future__ import annotations

from itertools import islice

import numpy as np

from dcprog.engine.protocol import Surrogate, guarded, value_within
from dcprog.foundation.arrays import Array

__all__ = ["downhill"]

# Steps in units of the coordinates. A point that is critical for one choice of slopes at a tie, or
# a saddle, shows near; one that a run has never left may lie in a hollow.
NEAR = (1e-2, 1e-3, 1e-4)
WIDE = (1.0, 1e-2, 10.0, 1e-4, 100.0)
DIRECTIONS = 6
# A point may be no further outside a constraint than x itself, or than that.
TOUCHING = 1e-9
# So few coordinates are tried one by one as well.
FEW = 4
# With more coordinates at kinks than that a step off all of them leads nowhere.
CROWDED = 100


@np.errstate(all="ignore")
def downhill(
    surrogate: Surrogate,
    x: Array,
    below: float,
    rng: np.random.Generator,
    *,
    wide: bool = False,
    time_limit: float | None = None,
) -> tuple[Array, float] | None:
    """A point near x at which F is less than `below`, with its value; None if none is found.

    Random directions and, of few variables, the coordinates, both ways; where constraints are near,
    the surrogate's own proposals (minimisers of its majorant centred beside x).

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    below : float
    rng : numpy Generator
    wide : bool, default False
        Look as far as a hundred units away, too.
    time_limit : float, optional
        Seconds for each of the surrogate's own proposals.

    Returns
    -------
    (array, float) or None
        Of the points at the first distance at which there is one, the lowest.
    """
    leeway = max(guarded(surrogate.domain.outside, x), TOUCHING)
    units, inside, tried = surrogate.units(x), 0, 0
    crowded = int(np.count_nonzero(surrogate.nearby.kinks(x))) > CROWDED
    for size in WIDE if wide else NEAR:
        ways = size * units * _directions(x, rng, crowded)
        try:
            values = surrogate.nearby.either_side(x, ways, leeway)
        except Exception:  # a user's loss may raise anything far out
            values = np.full((len(ways), 2), np.inf)
        tried, inside = tried + values.size, inside + int(np.count_nonzero(np.isfinite(values)))
        if values.size and np.min(values) < below:
            i, side = divmod(int(np.argmin(values)), 2)
            return (x - ways[i] if side else x + ways[i]), float(values[i, side])
    if wide or inside < tried:
        proposals = surrogate.nearby.proposals(x, rng, time_limit)
        for point in proposals if wide else islice(proposals, 2):
            value = value_within(surrogate, point, leeway)
            if value < below:
                return point, value
    return None


def _directions(x: Array, rng: np.random.Generator, crowded: bool) -> Array:
    """Random directions, one a row; also some that leave alone the coordinates that are 0.

    At the kinks there every other step may rise. Where kinks crowd, only the latter.
    """
    single = np.eye(x.size) if x.size <= FEW else np.zeros((0, x.size))
    if x.size == 0:
        return single
    mixed = rng.standard_normal((DIRECTIONS, x.size))
    partial = mixed * (x != 0) if 0 < np.count_nonzero(x) < x.size else mixed[:0]
    return np.concatenate([single, mixed[:0] if crowded and len(partial) else mixed, partial])
