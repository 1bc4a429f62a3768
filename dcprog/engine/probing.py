"""Looking around a point that seems critical: is F lower somewhere near?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array

__all__ = ["downhill", "guarded"]

# Steps in units of the coordinates. A point that is critical for one choice of slopes at a tie, or
# a saddle, shows near; one that a run has never left may lie in a hollow.
NEAR = (1e-2, 1e-3, 1e-4)
WIDE = (1.0, 1e-2, 10.0, 1e-4, 100.0)
DIRECTIONS = 6
# A point may be no further outside a constraint than x itself, or than that.
TOUCHING = 1e-9
# So few coordinates are tried one by one as well.
FEW = 4


def guarded(function: Callable[[Array], float], x: Array) -> float:
    """The function's value, infinite where it has none or raises."""
    try:
        with np.errstate(all="ignore"):
            value = float(function(x))
    except Exception:  # an atom outside its domain may raise anything
        return np.inf
    return np.inf if np.isnan(value) else value


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
    what the surrogate itself proposes (the minimiser of its majorant centred beside x).

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
    leeway = max(guarded(surrogate.outside, x), TOUCHING)
    units = surrogate.units(x)
    inside, tried = 0, 0
    for size in WIDE if wide else NEAR:
        directions = _directions(x, rng)
        with np.errstate(over="ignore", invalid="ignore"):
            points = [x + s * size * units * d for d in directions for s in (1, -1)]
        values = [_allowed_value(surrogate, point, leeway) for point in points]
        tried, inside = tried + len(values), inside + int(np.sum(np.isfinite(values)))
        if values and min(values) < below:
            lowest = int(np.argmin(values))
            return points[lowest], values[lowest]
    if wide or inside < tried:
        proposals = surrogate.proposals(x, rng, time_limit)
        for point in proposals if wide else islice(proposals, 2):
            value = _allowed_value(surrogate, point, leeway)
            if value < below:
                return point, value
    return None


def _allowed_value(surrogate: Surrogate, x: Array, leeway: float) -> float:
    """F(x), infinite where a constraint is missed by more than the leeway."""
    value = guarded(surrogate.value, x)
    return value if np.isfinite(value) and guarded(surrogate.outside, x) <= leeway else np.inf


def _directions(x: Array, rng: np.random.Generator) -> list[Array]:
    """Also those that leave alone what is 0: at the kinks there every other step may rise."""
    if x.size == 0:
        return []
    single = list(np.eye(x.size)) if x.size <= FEW else []
    mixed = rng.standard_normal((DIRECTIONS, x.size))
    return [*single, *mixed, *(mixed * (x != 0) if 0 < np.count_nonzero(x) < x.size else [])]
