"""Numerical checks of convexity, slopes and equality of functions of one variable, on a grid.

Each check raises an AssertionError that names the point.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.losses import ConvexLoss
from dcprog.transforms import Transform
from dcprog.transforms.limits import FAR, seen_limit

__all__ = [
    "SHARE",
    "SLOPE",
    "STEP",
    "check_convex",
    "check_equal",
    "check_slope",
    "check_total",
    "check_transform",
    "vectors",
]

SHARE = 1e-9  # tolerance for rounding, relative to the numbers' size
STEP = 1e-5  # of finite differences
STEPS = (STEP, 1e-2 * STEP, 1e-4 * STEP, 1e-6 * STEP)  # a narrow bend needs a short step
SLOPE = 1e-4  # accuracy of finite differences
NEAR = FAR[FAR <= 1e6]  # where a formula with cancellation still has correct digits
STATE = "state the supremum of φ, ∞ where there is none"
MISSED = 1e-6  # tolerance of a limit, relative, for values far out


def check_convex(loss: ConvexLoss, u: Array) -> None:
    """Check that a loss is convex, and that its slopes are subgradients and derivatives.

    Of a joint loss only the subgradients are checked, on sums over vectors.
    """
    value, slope = np.asarray(loss(u)), np.asarray(loss.slope(u))
    if slope.shape != u.shape:
        raise AssertionError(f"{loss!r}: slopes of shape {slope.shape} for {u.shape}")
    if loss.is_joint:
        for point, other in vectors(u):
            tangent = loss(point) + loss.slope(point) * (other - point)
            check_total(loss, other, loss(other), tangent, "below its tangent at", point)
        return
    tangent = value[:, None] + slope[:, None] * (u - u[:, None])
    short = tangent - value - SHARE * _sizes(tangent, value)
    i, j = np.unravel_index(int(np.argmax(short)), short.shape)
    if not (short[i, j] <= 0):
        raise AssertionError(
            f"{loss!r}: slope({u[i]:.6g}) = {slope[i]:.9g} is no subgradient: the tangent there is "
            f"{tangent[i, j]:.9g} at u={u[j]:.6g}, above the value {value[j]:.9g}. Either the "
            "slope is wrong, or the function is not convex"
        )
    check_slope(loss, loss, loss.slope, u, "slope")
    if loss.pieces is not None:
        check_equal(loss, u, loss.pieces(u), value, "the value", "pieces(u)")
    if loss.is_smooth:
        try:
            check_slope(loss, loss.slope, loss.curvature, u, "curvature")
        except NotImplementedError:
            raise AssertionError(f"{loss!r}: is_smooth is True, but it has no curvature") from None


def check_slope(piece: Any, function: Any, slope: Any, u: Array, name: str) -> None:
    """Check slopes against differences of several steps, where those from both sides agree."""
    got, here = np.asarray(slope(u), dtype=float), np.asarray(function(u))
    wrong = np.ones(u.shape, dtype=bool)
    for share in STEPS:
        step = share * (1 + np.abs(u))
        left, right = (here - function(u - step)) / step, (function(u + step) - here) / step
        middle = (left + right) / 2
        size = 1 + np.abs(middle) + np.abs(here)
        wrong &= np.abs(right - left) <= SLOPE * size
        wrong &= ~(np.abs(got - middle) <= SLOPE * size)
    if np.any(wrong):
        raise AssertionError(
            f"{piece!r}: {name}({u[wrong][0]:.6g}) = {got[wrong][0]:.9g}, but differences give "
            f"{middle[wrong][0]:.9g}"
        )


def check_transform(transform: Transform, losses: Array) -> None:
    """Check that a transform is concave and nondecreasing and has the limit that it states."""
    t = np.unique(np.concatenate([[0.0], losses]))
    _check_concave(transform.extended(), t)
    _check_limit(transform, t)


def _check_concave(transform: Transform, t: Array) -> None:
    """Check that tangents are nowhere below the values; for a joint transform, in sums."""
    if transform.is_joint:
        for point, other in vectors(t):
            tangent = transform(point) + transform.slope(point) * (other - point)
            check_total(transform, point, tangent, transform(other), "below the value at", other)
        return
    value, slope = transform(t), transform.slope(t)
    low = int(np.argmin(slope))
    if not (slope[low] >= 0):
        raise AssertionError(f"{transform!r}: slope({t[low]:.6g}) = {slope[low]:.9g} is negative")
    tangent = value[:, None] + slope[:, None] * (t - t[:, None])
    over = value - tangent - SHARE * _sizes(tangent, value)
    i, j = np.unravel_index(int(np.argmax(over)), over.shape)
    if not (over[i, j] <= 0):
        raise AssertionError(
            f"{transform!r}: its tangent at t={t[i]:.6g} is {tangent[i, j]:.9g} at t={t[j]:.6g}, "
            f"below the value {value[j]:.9g}. Either the slope is wrong, or it is not concave"
        )


def _check_limit(transform: Transform, t: Array) -> None:
    """Check that the stated limit is a number or ∞, is not exceeded, and is approached."""
    stated: Any = transform.limit
    limit = float(stated) if isinstance(stated, Real) else np.nan
    if np.isnan(limit):
        raise AssertionError(f"{transform!r}: its limit is {stated}; {STATE}")
    if transform.is_joint:
        return
    t = np.concatenate([t, NEAR])
    value = np.asarray(transform(t))
    beyond = value > limit + SHARE * (1 + np.abs(value))
    if np.any(beyond):
        raise AssertionError(
            f"{transform!r}: {value[beyond][0]:.9g} at t={t[beyond][0]:.6g} is beyond its limit, "
            f"{limit:.9g}"
        )
    seen = seen_limit(transform)
    room = MISSED * max(abs(limit), abs(float(value[0]))) if np.isfinite(limit) else 0.0
    if not (seen == limit or abs(seen - limit) <= room):
        found = f"it settles at {seen:.9g}" if np.isfinite(seen) else "it settles nowhere"
        raise AssertionError(
            f"{transform!r}: its limit is {limit:.9g}, but {found} as far as numbers tell; {STATE}"
        )


def _sizes(tangent: Array, value: Array) -> Array:
    """The scale of rounding errors of tangents: sizes of their values and of the function's."""
    return 1 + np.abs(tangent) + np.abs(value) + np.abs(value)[:, None]


def check_equal(
    piece: Any, u: Array, got: Array, value: Array, name: str, what: str = "loss(u)"
) -> None:
    """Check that values agree to 1e-8, relative or absolute."""
    if np.shape(got) != np.shape(value):
        raise AssertionError(
            f"{piece!r}: {what} has shape {np.shape(got)} for u of shape {u.shape}"
        )
    wrong = ~(np.abs(got - value) <= 1e-8 * (1 + np.abs(value)))
    if np.any(wrong):
        raise AssertionError(
            f"{piece!r}: {what} is {np.asarray(got)[wrong][0]:.12g} at u={u[wrong][0]:.6g}, "
            f"{name} is {np.asarray(value)[wrong][0]:.12g}"
        )


def vectors(values: Array, draws: int = 100, size: int = 20) -> Iterator[tuple[Array, Array]]:
    """Pairs of random vectors of the given values."""
    rng = np.random.default_rng(0)
    for _ in range(draws):
        first, second = rng.choice(values, (2, size))
        yield first, np.where(rng.random(size) < rng.random(), first, second)


def check_total(piece: Any, at: Array, high: Array, low: Array, name: str, point: Array) -> None:
    """Check that the sum of `high` is not below that of `low`, for joint functions."""
    if not (np.sum(high) >= np.sum(low) - SHARE * np.sum(1 + np.abs(high) + np.abs(low))):
        raise AssertionError(
            f"{piece!r}: the sum at {at} is {np.sum(high):.9g}, {name} {point}, {np.sum(low):.9g}"
        )
