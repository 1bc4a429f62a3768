"""Looking around a point that seems critical: is F lower somewhere near?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dcprog.surrogate import Surrogate
from dcprog.tree import Array

__all__ = ["downhill", "guarded"]

# Steps in units of the coordinates. A point that is critical for one choice of slopes at a tie, or
# a saddle, shows at any of the first; one that a run has never left may lie in a hollow.
NEAR = (1e-2, 1e-4)
WIDE = tuple(10.0**k for k in range(3, -7, -1))
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
    surrogate: Surrogate, x: Array, below: float, rng: np.random.Generator, wide: bool = False
) -> tuple[Array, float] | None:
    """A point near x at which F is less than `below`, with its value; None if none is found.

    Random directions and, of few variables, the coordinates, both ways; then what the surrogate
    itself proposes (the minimiser of its majorant centred beside x, which heeds constraints).

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    below : float
    rng : numpy Generator
    wide : bool, default False
        Look as far as a thousand units away, too.

    Returns
    -------
    (array, float) or None
        Of the points tried the lowest.
    """
    best, lowest, inside, tried = None, below, 0, 0
    leeway = max(guarded(surrogate.outside, x), TOUCHING)
    for point in _around(x, surrogate.units(x), rng, WIDE if wide else NEAR):
        value = guarded(surrogate.value, point)
        met = np.isfinite(value) and guarded(surrogate.outside, point) <= leeway
        tried, inside = tried + 1, inside + bool(met)
        if met and value < lowest:
            best, lowest = point, value
    if best is None and tried and (wide or inside <= tried // 2):
        for point in surrogate.proposals(x, rng):
            value = guarded(surrogate.value, point)
            if value < lowest and guarded(surrogate.outside, point) <= leeway:
                best, lowest = point, value
    return None if best is None else (best, lowest)


def _around(
    x: Array, units: Array, rng: np.random.Generator, sizes: tuple[float, ...]
) -> Iterator[Array]:
    if x.size <= FEW:
        directions = [*np.eye(x.size), *rng.standard_normal((DIRECTIONS - x.size, x.size))]
    else:
        directions = list(rng.standard_normal((DIRECTIONS, x.size)))
    for size in sizes:
        for direction in directions:
            yield x + size * units * direction
            yield x - size * units * direction
