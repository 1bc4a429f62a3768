"""Epochs of dual coordinate descent, compiled by numba at their first call.

Rows are dense, with None for ``columns`` and ``starts``, or those of a CSR matrix, whose data are
the only row of ``values``: numba prunes the unused branch only if both branches have types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.solvers.jit import compiled

__all__ = ["epochs"]

# A sample is skipped if it is farther from the knots than FARTHEST, or than SAFE times the largest
# change of a margin by its own step in the last epoch.
FARTHEST = 0.5
SAFE = 2.0


def _dot(values: Any, columns: Any, starts: Any, i: int, w: Any) -> Any:
    total = 0.0
    if columns is None:
        for j in range(w.size):
            total += values[i, j] * w[j]
    else:
        for j in range(starts[i], starts[i + 1]):
            total += values[0, j] * w[columns[j]]
    return total


def _add(values: Any, columns: Any, starts: Any, i: int, factor: float, w: Any) -> None:
    if columns is None:
        for j in range(w.size):
            w[j] += factor * values[i, j]
    else:
        for j in range(starts[i], starts[i + 1]):
            w[columns[j]] += factor * values[0, j]


def _multiplier(knots: Any, a: Any, b: Any, weight: float, q: float, v: float) -> Any:
    """The α with α = weight·pieces'(v − qα), and the piece, or −1 at a knot."""
    alpha, piece = (2 * a[0] * v + b[0]) * weight / (1 + 2 * a[0] * weight * q), 0
    for k in range(knots.size):
        at_knot = (v - knots[k]) / q
        if at_knot <= (2 * a[k] * knots[k] + b[k]) * weight:
            break
        if at_knot < (2 * a[k + 1] * knots[k] + b[k + 1]) * weight:
            return at_knot, -1
        c = a[k + 1]
        alpha, piece = (2 * c * v + b[k + 1]) * weight / (1 + 2 * c * weight * q), k + 1
    return alpha, piece


def _value(knots: Any, a: Any, b: Any, c: Any, u: float) -> Any:
    k = 0
    while k < knots.size and u > knots[k]:
        k += 1
    return (a[k] * u + b[k]) * u + c[k]


def _place(knots: Any, a: Any, b: Any, slope: float) -> Any:
    """The point at which the pieces have the given slope."""
    for k in range(knots.size):
        if slope <= 2 * a[k + 1] * knots[k] + b[k + 1]:
            return knots[k] if a[k] == 0.0 else min(knots[k], (slope - b[k]) / (2 * a[k]))
    k = knots.size
    return knots[k - 1] if a[k] == 0.0 else (slope - b[k]) / (2 * a[k])


def _distance(knots: Any, u: float) -> Any:
    nearest = np.inf
    for knot in knots:
        nearest = min(nearest, abs(u - knot))
    return nearest


def _shuffle(places: Any, n: int) -> None:
    for k in range(n - 1, 0, -1):
        other = np.random.randint(0, k + 1)  # noqa: NPY002, numba supports no other
        places[k], places[other] = places[other], places[k]


def _epochs(
    values: Any,
    columns: Any,
    starts: Any,
    sign: Any,
    offset: Any,
    weight: Any,
    q: Any,
    across: Any,
    middle: float,
    knots: Any,
    a: Any,
    b: Any,
    c: Any,
    lam: float,
    ease: float,
    alpha: Any,
    v: Any,
    base: float,
    places: Any,
    seed: int,
    target: float,
    most: int,
) -> Any:
    np.random.seed(seed)  # noqa: NPY002, numba's own, not NumPy's
    n, taken, gap, change, far, shift = places.size, 0, np.inf, 0.0, FARTHEST, 0.0
    while n > 0 and gap > target and taken < most:
        shuffle(places, n)
        gap, change, k = 0.0, 0.0, 0
        while k < n:
            i = places[k]
            taken += 1
            score = dot(values, columns, starts, i, v) + shift * across[i] + base
            u, old = sign[i] * score + offset[i], alpha[i]
            new, piece = multiplier(knots, a, b, weight[i], q[i], u + q[i] * old)
            step = new - old
            if step == 0.0 and piece >= 0 and a[piece] == 0.0 and distance(knots, u) > far:
                n -= 1
                places[k], places[n] = places[n], i
                continue
            if step != 0.0:
                z = place(knots, a, b, old / weight[i])
                missed = value(knots, a, b, c, u) - value(knots, a, b, c, z)
                gap += weight[i] * missed - old * (u - z)
                alpha[i] = new
                factor = -sign[i] * step / lam
                add(values, columns, starts, i, factor, v)
                base += factor * (ease - across[i] - middle)
                shift -= factor
                change = max(change, abs(step) * q[i])
            k += 1
        far = min(FARTHEST, SAFE * change)
    return base, shift, change, taken


REASSOCIATED = {"reassoc", "contract"}  # sums in any order, several terms at a time
dot = compiled(_dot, REASSOCIATED)
add = compiled(_add, REASSOCIATED)
multiplier = compiled(_multiplier)
value = compiled(_value)
place = compiled(_place)
distance = compiled(_distance)
shuffle = compiled(_shuffle)
epochs = compiled(_epochs)
