"""Probing for lower values of F around a point that seems critical."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeVar

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
# With more coordinates at kinks than that a step off all of them leads nowhere.
CROWDED = 100

T = TypeVar("T")


def guarded(function: Callable[[T], float], x: T) -> float:
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
    leeway = max(guarded(surrogate.domain.outside, x), TOUCHING)
    units, inside, tried = surrogate.units(x), 0, 0
    crowded = int(np.count_nonzero(surrogate.nearby.kinks(x))) > CROWDED
    for size in WIDE if wide else NEAR:
        with np.errstate(over="ignore", invalid="ignore"):
            ways = [units * d for d in _directions(x, rng, crowded)]
            values = [_along(surrogate, x, way, size, leeway) for way in ways]
        tried, inside = tried + 2 * len(ways), inside + int(np.sum(np.isfinite(values)))
        if values and np.min(values) < below:
            i, side = divmod(int(np.argmin(values)), 2)
            return x + (-size if side else size) * ways[i], values[i][side]
    if wide or inside < tried:
        proposals = surrogate.nearby.proposals(x, rng, time_limit)
        for point in proposals if wide else islice(proposals, 2):
            value = _allowed(surrogate, guarded(surrogate.value, point), point, leeway)
            if value < below:
                return point, value
    return None


def _along(
    surrogate: Surrogate, x: Array, way: Array, size: float, leeway: float
) -> tuple[float, float]:
    """F at x ± size·way, infinite where a constraint is missed by more than the leeway."""
    line = surrogate.nearby.along(x, way)
    ahead, behind = (
        _allowed(surrogate, guarded(line, t), x + t * way, leeway) for t in (size, -size)
    )
    return ahead, behind


def _allowed(surrogate: Surrogate, value: float, x: Array, leeway: float) -> float:
    """F(x), infinite where a constraint is missed by more than the leeway."""
    near = np.isfinite(value) and guarded(surrogate.domain.outside, x) <= leeway
    return value if near else np.inf


def _directions(x: Array, rng: np.random.Generator, crowded: bool) -> list[Array]:
    """Also those that leave alone what is 0: at the kinks there every other step may rise.

    Where kinks crowd, only those.
    """
    if x.size == 0:
        return []
    single = list(np.eye(x.size)) if x.size <= FEW else []
    mixed = rng.standard_normal((DIRECTIONS, x.size))
    partial = mixed * (x != 0) if 0 < np.count_nonzero(x) < x.size else mixed[:0]
    return [*single, *(mixed if not crowded or len(partial) == 0 else ()), *partial]
