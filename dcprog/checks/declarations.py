"""Checks of losses and penalties, run on the library's own by its tests and open to users."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_count, check_number
from dcprog.foundation.tolerances import DIFFERENCE, DIFFERENCES, KNOWN_DIGITS
from dcprog.losses import Composed, ConvexLoss, Loss
from dcprog.penalties import Penalty
from dcprog.transforms import Transform
from dcprog.transforms.from_functions import FAR, seen_limit

EQUAL = 1e-8  # two ways of the same computation, in the expression or the pieces
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
    short = tangent - value - KNOWN_DIGITS * _sizes(tangent, value)
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
        check_slope(loss, loss.slope, loss.curvature, u, "curvature")


def check_slope(piece: Any, function: Any, slope: Any, u: Array, name: str) -> None:
    """Check slopes against differences of several steps, where those from both sides agree."""
    got, here = np.asarray(slope(u), dtype=float), np.asarray(function(u))
    wrong = np.ones(u.shape, dtype=bool)
    for share in DIFFERENCES:
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
    over = value - tangent - KNOWN_DIGITS * _sizes(tangent, value)
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
    beyond = value > limit + KNOWN_DIGITS * (1 + np.abs(value))
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
    wrong = ~(np.abs(got - value) <= EQUAL * (1 + np.abs(value)))
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
    if not (np.sum(high) >= np.sum(low) - KNOWN_DIGITS * np.sum(1 + np.abs(high) + np.abs(low))):
        raise AssertionError(
            f"{piece!r}: the sum at {at} is {np.sum(high):.9g}, {name} {point}, {np.sum(low):.9g}"
        )


# ----------------------------------------------------------------------------------------------


def check_loss(loss: Loss, low: float = -6.0, high: float = 6.0, points: int = 241) -> None:
    """Check a loss's parts, and that its value is transform(base) − subtracted.

    The base and the subtracted part are convex, and their slopes are subgradients and derivatives;
    the transform is concave and nondecreasing over the values of the base, and approaches its
    limit; the parts add up to the value; the surrogate lies above the loss and touches it; the
    cvxpy expression has the same value; the loss stays between `lower` and `bound`; a clone gives
    the same values.

    Parameters
    ----------
    loss : Loss
    low, high : float
        Ends of the grid of margins or residuals to check at; known kinks are added to it.
    points : int
        Number of points of the grid, evenly spaced.

    Raises
    ------
    TypeError
        `loss` is not a Loss, or `points` is no whole number.
    ValueError
        The grid is empty or not finite.
    AssertionError
        A check fails; the message names the point.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np
    >>> from dcprog.checks.declarations import check_loss
    >>> from dcprog.losses import ConvexLoss, cap
    >>> class quartic(ConvexLoss):
    ...     def __call__(self, u):
    ...         return np.asarray(u) ** 4
    ...     def slope(self, u):
    ...         return 3 * np.asarray(u) ** 3
    ...     def expression(self, u):
    ...         return cp.power(u, 4)
    >>> check_loss(cap(quartic(), 2.0))
    Traceback (most recent call last):
    ...
    AssertionError: quartic(): slope(-6) = -648 is no subgradient: ...
    """
    if not isinstance(loss, Loss):
        raise TypeError(f"loss={loss!r}: an instance of a subclass of Loss is needed")
    check_number("low", low)
    check_number("high", high, low)
    check_count("points", points, 3)
    grid = np.linspace(low, high, points)
    kinks = [] if loss.base.pieces is None else loss.base.pieces.knots
    u = np.unique(np.concatenate([grid, kinks]))
    check_convex(loss.base, u)
    if loss.subtracted is not None:
        check_convex(loss.subtracted, u)
    check_transform(loss.transform, loss.base(u))
    _check_outer(loss, u)
    _check_value(loss, u)
    _check_surrogate(loss, u)
    _check_slope(loss, u)
    _check_expression(loss, u)
    _check_clone(loss, u)


def _check_outer(loss: Loss, u: Array) -> None:
    """Check the outer transform of each composition; `loss.transform` may not contain it."""
    while isinstance(loss, Composed):
        check_transform(loss.outer, loss.loss(u))
        loss = loss.loss


def _check_value(loss: Loss, u: Array) -> None:
    kept = u.copy()
    value = np.asarray(loss(u), dtype=float)
    if not np.array_equal(u, kept):
        raise AssertionError(f"{loss!r}: it changes its argument")
    if value.shape != u.shape:
        raise AssertionError(f"{loss!r}: values of shape {value.shape} for {u.shape}")
    if not np.all(np.isfinite(value)):
        raise AssertionError(f"{loss!r}: not finite at u={_first(u, value):.6g}")
    parts = loss.transform(loss.base(u))
    parts = parts if loss.subtracted is None else parts - loss.subtracted(u)
    check_equal(loss, u, value, parts, "transform(base(u)) - subtracted(u)")
    if not loss.is_joint:
        for shape in ((), (1,), (2, 3)):
            points, alone = np.resize(u, shape), np.resize(value, shape)
            check_equal(loss, points, loss(points), alone, "the value among others")
    room = KNOWN_DIGITS * (1 + np.abs(value))
    for name, limit, beyond in (
        ("bound", loss.bound, value > loss.bound + room),
        ("lower", loss.lower, value < loss.lower - room),
    ):
        if np.isnan(limit):
            raise AssertionError(f"{loss!r}: {name} is NaN, a number or ±∞ is needed")
        if np.any(beyond):
            raise AssertionError(
                f"{loss!r}: {value[beyond][0]:.9g} at u={u[beyond][0]:.6g} is beyond {name}, "
                f"{limit:.9g}"
            )


def _check_slope(loss: Loss, u: Array) -> None:
    if loss.is_joint:
        return
    # where kinks of the parts cancel, the majorant's slope need not be the derivative
    around = [
        np.asarray(loss.slope(u + side * DIFFERENCE * (1 + np.abs(u)))) for side in (-1, 0, 1)
    ]
    even = np.ptp(around, axis=0) <= 0.1
    check_slope(loss, loss, loss.slope, u[even], "slope")


def _check_surrogate(loss: Loss, u: Array) -> None:
    weight, tilt = (np.asarray(part, dtype=float) for part in loss.surrogate(u))
    for name, part in (("weight", weight), ("tilt", tilt)):
        if part.shape != u.shape:
            raise AssertionError(f"{loss!r}: {name} has shape {part.shape}, u {u.shape}")
        if not np.all(np.isfinite(part)):
            raise AssertionError(f"{loss!r}: {name} not finite at u={_first(u, part):.6g}")
    if not np.all(weight >= 0):
        raise AssertionError(f"{loss!r}: negative weight at u={u[np.argmin(weight)]:.6g}")
    if loss.is_joint:
        for point, other in vectors(u):
            w, s = loss.surrogate(point)
            majorant = loss(point) + w * (loss.base(other) - loss.base(point)) + s * (other - point)
            check_total(loss, point, majorant, loss(other), "below the value at", other)
        return
    t = loss.base(u)
    carried = loss.transform.extended()(t) - loss.transform(t)  # 0 unless a slope is infinite
    rise = weight[:, None] * (t - t[:, None]) + tilt[:, None] * (u - u[:, None])
    majorant = (loss(u) + carried)[:, None] + rise
    value = loss(u)
    size = np.abs(majorant) + np.abs(weight[:, None] * t) + np.abs(value)[:, None]
    short = value - majorant - KNOWN_DIGITS * (1 + size)
    i, j = np.unravel_index(int(np.argmax(short)), short.shape)
    if not (short[i, j] <= 0):
        raise AssertionError(
            f"{loss!r}: the majorant that touches at u={u[i]:.6g} (weight {weight[i]:.6g}, tilt "
            f"{tilt[i]:.6g}) is {majorant[i, j]:.9g} at u={u[j]:.6g}, below the value "
            f"{value[j]:.9g}"
        )


def _check_expression(loss: Loss, u: Array) -> None:
    variable = cp.Variable(u.size)
    variable.value = u
    if not loss.has_expression:
        try:
            loss.expression(variable)
        except ValueError:
            return
        raise AssertionError(f"{loss!r}: has_expression is False, but expression(u) gives one")
    got, value = np.asarray(loss.expression(variable).value, dtype=float), loss(u)
    if loss.is_joint:
        got, value, u = np.array([np.sum(got)]), np.array([np.sum(value)]), u[:1]
    check_equal(loss, u, got, value, "the value", "expression")
    base = loss.base.expression(variable)
    if not base.is_convex():
        raise AssertionError(f"{loss.base!r}: cvxpy does not see that its expression is convex")


def _check_clone(piece: Any, u: Array) -> None:
    from sklearn.base import clone

    try:
        same = np.array_equal(clone(piece)(u), piece(u))
    except (AttributeError, TypeError, RuntimeError) as error:
        raise AssertionError(
            f"{type(piece).__name__}: it cannot be cloned; let __init__ store each parameter under "
            f"its name ({error})"
        ) from error
    if not same:
        raise AssertionError(
            f"{piece!r}: a clone gives other values; let __init__ store its parameters only"
        )


def check_penalty(penalty: Penalty, size: int = 5, draws: int = 50) -> None:
    """Check a penalty: value, slope, majorant and expression, if any, at random coefficients.

    Parameters
    ----------
    penalty : Penalty
    size : int, default 5
        Number of coefficients; the penalty's own groups or weights must fit it.
    draws : int
        Number of random points.

    Raises
    ------
    TypeError
        `penalty` is not a Penalty, or a number is not whole.
    ValueError
        `size` or `draws` below 1.
    AssertionError
        A check fails; the message names the point.

    Examples
    --------
    >>> from dcprog.checks.declarations import check_penalty
    >>> from dcprog.penalties import l2, mcp
    >>> check_penalty(mcp(1.0, 3.0) + l2(0.5))
    """
    if not isinstance(penalty, Penalty):
        raise TypeError(f"penalty={penalty!r}: an instance of a subclass of Penalty is needed")
    check_count("size", size, 1)
    check_count("draws", draws, 1)
    rng = np.random.default_rng(0)
    written = _Written(penalty, size) if penalty.has_expression else None
    smooth = penalty.extended()
    for _ in range(draws):
        v, w = rng.standard_normal((2, size)) * 10 ** rng.uniform(-2, 1, (2, size))
        v[rng.random(size) < 0.5] = 0.0
        value = penalty(w)
        if np.ndim(value) != 0:
            raise AssertionError(f"{penalty!r}: value {value!r} at {w}, not one number")
        if not np.isfinite(value):
            raise AssertionError(f"{penalty!r}: value {value!r} at {w}")
        _check_gradient(penalty, w)
        if not np.all(penalty.weights(v) >= 0):
            raise AssertionError(f"{penalty!r}: negative weights at {v}")
        majorant = penalty.surrogate(v)
        if not majorant.is_convex:
            raise AssertionError(f"{penalty!r}: its surrogate {majorant!r} is not convex")
        if written is not None:
            written.check(v, w)
        tangent = majorant(v) + float(majorant.slope(v) @ (w - v))
        _not_below(majorant, w, majorant(w), tangent, f"its tangent at {v}")
        above = smooth(v) + majorant(w) - majorant(v)
        _not_below(penalty, w, above, value, f"(its majorant at {v}) the value")
        parts = majorant.parts()
        if parts.is_elastic:
            elastic = float(np.sum(parts.l1 * np.abs(w))) + parts.ridge / 2 * float(w @ w)
            _agree(majorant, w, elastic, majorant(w), "parts")
    _check_clone(penalty, w)


class _Written:
    """The cvxpy expressions of a penalty and of its majorants."""

    def __init__(self, penalty: Penalty, size: int) -> None:
        self.penalty = penalty
        self.variable, self.weights = cp.Variable(size), cp.Parameter(size, nonneg=True)
        self.value = penalty.expression(self.variable)
        self.majorant = penalty.expression_with(self.variable, self.weights)
        if not self.majorant.is_convex():
            raise AssertionError(
                f"{penalty!r}: cvxpy does not see that expression_with(w, weights) is convex; a "
                "penalty that is not convex derives from ConcavePenalty"
            )
        if not self.majorant.is_dcp(dpp=True):
            raise AssertionError(f"{penalty!r}: expression_with(w, Parameter) is not DPP")

    def check(self, v: Array, w: Array) -> None:
        """Check the values at w of the penalty and of its majorant at v."""
        penalty, majorant = self.penalty, self.penalty.surrogate(v)
        self.variable.value, self.weights.value = w, penalty.weights(v)
        _agree(penalty, w, float(self.value.value), penalty(w), "expression")
        _agree(penalty, w, float(self.majorant.value), majorant(w), "expression_with")


def _check_gradient(penalty: Penalty, w: Array) -> None:
    for j in range(w.size):
        step = np.zeros(w.size)
        step[j] = DIFFERENCE * abs(w[j])
        here, left, right = penalty(w), penalty(w - step), penalty(w + step)
        if abs(right - 2 * here + left) <= SLOPE * (abs(right - left) + step[j]):
            got, slope = float(penalty.slope(w)[j]), (right - left) / (2 * step[j])
            if not (abs(got - slope) <= SLOPE * (1 + abs(slope) + abs(here))):
                raise AssertionError(
                    f"{penalty!r}: slope[{j}] = {got:.9g} at {w}, but differences give {slope:.9g}"
                )


def _agree(piece: Any, at: Array, got: float, value: float, name: str) -> None:
    if not (abs(got - value) <= EQUAL * (1 + abs(value))):
        raise AssertionError(f"{piece!r}: {name} is {got:.12g} at {at}, the value {value:.12g}")


def _not_below(piece: Any, at: Array, high: float, low: float, name: str) -> None:
    if not (high >= low - KNOWN_DIGITS * (1 + abs(high) + abs(low))):
        raise AssertionError(f"{piece!r}: {high:.12g} at {at}, below {name}, {low:.12g}")


def _first(u: Array, numbers: Array) -> float:
    """The u of the first number that is not finite."""
    return float(u[~np.isfinite(numbers)][0])
