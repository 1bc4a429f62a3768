"""Ranges of margins and losses on boxes, and a box that holds every point below a value."""

from __future__ import annotations

import numpy as np

from dcprog.bounds.boxed_risk import BoxedRisk
from dcprog.bounds.rounding import OF_LINE, of_terms
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable
from dcprog.foundation.tolerances import KNOWN_DIGITS
from dcprog.losses import ConvexLoss, Pieces
from dcprog.penalties import group_lasso


def row_range(risk: BoxedRisk, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Bounds of every row's margin on every box (one box per line), rounded outward."""
    middle = (0.5 * (lo + hi)) @ risk.matrix.T
    middle += risk.offset
    reach = (0.5 * (hi - lo)) @ np.abs(risk.matrix).T
    reach += _margin_rounding(risk, lo, hi)
    return middle - reach, middle + reach


def _margin_rounding(risk: BoxedRisk, lo: Array, hi: Array) -> Array:
    """Bounds of the rounding error of each row's margin, wherever θ is in the boxes."""
    largest = np.maximum(np.abs(lo), np.abs(hi)).max(axis=0, initial=0.0)
    return of_terms(risk.size) * (risk.sizes @ largest + np.abs(risk.offset))


def row_rounding(risk: BoxedRisk, lo: Array, hi: Array) -> Array:
    """Bounds of the rounding error that a row of slope 1 adds to a plane, anywhere in the boxes.

    It is the error of the row's margin plus, times the boxes' sides, the error of the plane's
    slopes, which are sums over all rows.
    """
    sides = (hi - lo).max(axis=0, initial=0.0)
    sums = of_terms(risk.groups.size) * (np.abs(risk.matrix) @ sides)
    return sums + _margin_rounding(risk, lo, hi)


def loss_rounding(
    risk: BoxedRisk, base: ConvexLoss, lo: Array, hi: Array, low: Array, high: Array
) -> Array:
    """Bounds of the rounding error of each row's loss and of lines below it.

    The margins lie in [low, high].
    """
    rounding, pieces = row_rounding(risk, lo, hi), base.pieces
    if pieces is None or any(pieces.quadratic):
        return rounding * steepest(base, low.min(axis=0), high.max(axis=0))
    knots = np.abs(pieces.knots).max(initial=0.0)
    return (rounding + OF_LINE * knots) * np.abs(pieces.linear).max()


def base_range(base: ConvexLoss, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of a convex loss on [low, high]: exact above, and below where it is monotone there.

    If it falls and rises again, the lower bound is its infimum, or the value at which the tangents
    at the ends meet.
    """
    with np.errstate(all="ignore"):
        left, right = base(low), base(high)
        falls, rises = base.slope(low), base.slope(high)
        bottom = np.where(falls >= 0, left, np.where(rises <= 0, right, base.lower))
        turns = (falls < 0) & (rises > 0)
        if base.pieces is None and np.any(turns):  # the infimum may be a bound of it only
            fall = falls * rises * (high - low)
            size = np.abs(left) * rises - np.abs(right) * falls - fall
            meet = left * rises - right * falls + fall - OF_LINE * size
            meet = meet / (rises - falls)
            bottom = np.where(turns & (meet > base.lower), meet, bottom)
        top = np.maximum(left, right)
    top = np.where(np.isnan(top), np.inf, top)
    return np.where(np.isnan(bottom), base.lower, bottom), top


def steepest(base: ConvexLoss, low: Array, high: Array) -> Array:
    """The largest absolute slope of a convex loss on [low, high]."""
    with np.errstate(all="ignore"):
        return np.maximum(np.abs(base.slope(low)), np.abs(base.slope(high)))


def group_range(risk: BoxedRisk, low: Array, high: Array) -> tuple[Array, Array]:
    """Bounds of the combined losses of every group, from bounds of the margins."""
    bottom, top = base_range(risk.base, low, high)
    with np.errstate(invalid="ignore"):
        bottom, top = risk.weights * bottom, risk.weights * top
    free = risk.weights == 0
    if np.any(free):
        bottom[:, free], top[:, free] = 0.0, 0.0
    return risk.combined(bottom), risk.combined(top)


def piecewise_least(pieces: Pieces, low: Array, high: Array) -> Array:
    """The infimum of a piecewise quadratic on [low, high], whose ends may be infinite."""
    edges = np.array([-np.inf, *pieces.knots, np.inf])
    least = np.full(low.shape, np.inf)
    for k, (a, b, c) in enumerate(zip(*pieces._parts, strict=True)):
        left, right = np.maximum(low, edges[k]), np.minimum(high, edges[k + 1])
        vertex = -b / (2 * a) if a > 0 else left
        for point in (left, right, np.clip(vertex, left, right)):
            value = _quadratic(a, b, c, point)
            least = np.where(left <= right, np.minimum(least, value), least)
    return least


def _quadratic(a: float, b: float, c: float, u: Array) -> Array:
    """au² + bu + c, and its limit where u is infinite."""
    with np.errstate(invalid="ignore"):
        growth = np.where(a != 0, a * np.inf, b * np.sign(u) * np.inf) if a or b else c
        return np.where(np.isinf(u), growth, (a * u + b) * u + c)


# ----------------------------------------------------------------------------------------------
# the first box


# How often the distance to the incumbent is doubled in the search for an edge.
DOUBLINGS = 200


def root_box(risk: BoxedRisk, theta: Array, target: float, name: str) -> tuple[Array, Array]:
    """A box outside of which the risk is at least `target`.

    The penalty bounds coefficients: below the target it is at most the target minus a lower bound
    of the losses. A coefficient that the penalty does not bound is moved away from θ, in doubled
    steps, until a lower bound of the risk over all values of the other coefficients reaches the
    target: beyond, one class is all at its cap.

    Parameters
    ----------
    risk : BoxedRisk
    theta : array of shape (p,)
        A point inside the box.
    target : float
    name : str
        Name of the risk, for the error.

    Returns
    -------
    lo, hi : arrays of shape (p,)

    Raises
    ------
    NotBoundable
        Neither the penalty nor the losses bound a coefficient.
    """
    floor = ground(risk)
    room = target - floor + KNOWN_DIGITS * (abs(target) + abs(floor))
    penalty = risk.penalty
    with np.errstate(divide="ignore", invalid="ignore"):
        ridge = np.sqrt(2 * max(room, 0.0) / penalty.q)
        norm = max(room, 0.0) / penalty.l
    reach = np.fmin(np.where(penalty.q > 0, ridge, np.inf), np.where(penalty.l > 0, norm, np.inf))
    reach = np.fmin(reach, _group_reach(risk, room))
    reach = np.maximum(reach, np.abs(theta) * (reach < np.inf)) * (1 + KNOWN_DIGITS)
    for j in np.flatnonzero(np.isinf(reach)):
        if penalty.held[j] and penalty.concave:
            reach[j] = _concave_reach(risk, abs(theta[j]), room)
    lo, hi = -reach, reach
    # one coefficient after the other: each edge found helps to bound the next
    for j in np.flatnonzero(np.isinf(reach)):
        lo[j], hi[j] = (_edge(risk, lo, hi, theta, j, side, target) for side in (-1.0, 1.0))
    loose = np.flatnonzero(np.isinf(lo) | np.isinf(hi))
    if loose.size:
        raise NotBoundable(
            name,
            f"neither the penalty nor the losses hold coefficient {loose[0]}: below the value that "
            "is known it may be as large as it likes",
            "a penalty on it, such as l2(1e-3), or box=(lower, upper)",
        )
    return lo, hi


def ground(risk: BoxedRisk) -> float:
    """A lower bound of the risk over all θ, −∞ if none is known."""
    least = np.full(risk.weights.shape, risk.base.lower)
    least = np.where(risk.weights > 0, risk.weights * least, 0.0)
    with np.errstate(all="ignore"):
        each = risk.transform(risk.combined(least[None]))[0]
    total = risk.total(each)
    if risk.subtracted is not None:
        total -= risk.subtracted_total(np.full(risk.weights.shape, risk.subtracted.bound))
    if risk.loss is not None:
        total = np.fmax(total, float(np.sum(risk.sample_weight)) * risk.loss.lower)
    total += _penalty_ground(risk)
    return total if not np.isnan(total) else -np.inf


def _penalty_ground(risk: BoxedRisk) -> float:
    """A lower bound of the penalty: a convex part with slope 0 at 0 has its minimum there."""
    penalty, zero = risk.penalty, np.zeros(int(risk.penalty.held.sum()))
    if any(np.any(part.slope(zero) != 0) for part in penalty.rest):
        return -np.inf
    least = sum(float(part(zero)) for part in penalty.rest)
    return least + sum(float(psi(zero).sum()) for psi in penalty.concave)


def _concave_reach(risk: BoxedRisk, size: float, room: float) -> float:
    """A size of w_j at which Σ ψ has risen by `room`; ∞ if it does not rise so far."""
    for t in (size or 1.0) * 2.0 ** np.arange(DOUBLINGS):
        ends = np.array([0.0, t])
        if sum(float(np.diff(psi(ends))[0]) for psi in risk.penalty.concave) >= room:
            return float(t)
    return np.inf


def _group_reach(risk: BoxedRisk, room: float) -> Array:
    """A bound of each coefficient's size from a group lasso; ∞ without one."""
    reach = np.full(risk.size, np.inf)
    places = np.flatnonzero(risk.penalty.held)
    for part in risk.penalty.rest:
        if isinstance(part, group_lasso) and part.lam > 0:
            reach[places[np.concatenate(part.members(places.size))]] = max(room, 0.0) / part.lam
    return reach


def _edge(
    risk: BoxedRisk, lo: Array, hi: Array, theta: Array, j: np.intp, side: float, target: float
) -> float:
    """An edge of θ_j on that side: points beyond it need not be searched; ±∞ if none is found."""
    unit = _unit(risk, lo, hi, theta, j)
    if not unit > 0:
        return _idle(risk, theta, j, side)
    for distance in unit * 2.0 ** np.arange(-10, DOUBLINGS):
        edge = float(theta[j] + side * distance)
        if _rises(risk, lo, hi, j, edge, side) or _beyond(risk, lo, hi, j, edge, side) >= target:
            return edge
    return side * np.inf


def _idle(risk: BoxedRisk, theta: Array, j: np.intp, side: float) -> float:
    """The edge of a θ_j that no row depends on: its value in θ if free, 0 by a group lasso."""
    if not risk.penalty.held[j]:
        return float(theta[j])
    if all(isinstance(part, group_lasso) for part in risk.penalty.rest):
        return 0.0  # the rest of the penalty rises with |θ_j|
    return side * np.inf


def _unit(risk: BoxedRisk, lo: Array, hi: Array, theta: Array, j: np.intp) -> float:
    """A typical distance for θ_j: it changes margins by about their size, 0 if no row has θ_j."""
    own = np.abs(risk.matrix[:, j])
    if not np.any(own > 0):
        return 0.0
    sizes = np.abs(risk.matrix) @ np.where(np.isfinite(hi - lo), np.maximum(-lo, hi), np.abs(theta))
    sizes = sizes + np.abs(risk.offset)
    found = float(np.max(sizes) / np.max(own))
    return found if found > 0 else float(1.0 / np.max(own))


def _rises(risk: BoxedRisk, lo: Array, hi: Array, j: np.intp, edge: float, side: float) -> bool:
    """True if no loss falls as θ_j moves outward from the edge, wherever the other entries are."""
    if risk.subtracted is not None or (risk.penalty.held[j] and risk.penalty.rest):
        return False
    if not edge * side >= 0:  # a penalty falls towards 0
        return False
    least, most = _outside(risk, lo, hi, j, edge, side)
    outward = risk.matrix[:, j] * side
    with np.errstate(all="ignore"):
        return bool(
            np.all(risk.base.slope(least[outward > 0]) >= 0)
            and np.all(risk.base.slope(most[outward < 0]) <= 0)
        )


def _beyond(risk: BoxedRisk, lo: Array, hi: Array, j: np.intp, edge: float, side: float) -> float:
    """A lower bound of the risk where θ_j is at `edge` or further out."""
    least, most = _outside(risk, lo, hi, j, edge, side)
    bottom, _ = base_range(risk.base, least[None], most[None])
    with np.errstate(all="ignore"):
        losses = np.where(risk.weights > 0, risk.weights * bottom, 0.0)
        each = risk.transform(risk.combined(losses))[0]
        total = risk.total(each)
        if risk.subtracted is not None:
            most_off = np.maximum(risk.subtracted(least), risk.subtracted(most))
            total -= risk.subtracted_total(most_off)
        pieces = None if risk.loss is None else risk.loss.pieces
        if pieces is not None:
            total = np.fmax(total, risk.total(piecewise_least(pieces, least, most)))
    total += _penalty_ground(risk)
    return total if not np.isnan(total) else -np.inf


def _outside(
    risk: BoxedRisk, lo: Array, hi: Array, j: np.intp, edge: float, side: float
) -> tuple[Array, Array]:
    """Bounds of the margins where θ_j is at the edge or further out."""
    low, high = np.array(lo), np.array(hi)
    low[j], high[j] = (edge, np.inf) if side > 0 else (-np.inf, edge)
    return _ranges(risk, low, high)


def _ranges(risk: BoxedRisk, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Bounds of the margins on a box with infinite sides, rounded outward; 0·∞ counts as 0."""
    least, most = (_reached(risk, *sides) for sides in ((lo, hi), (hi, lo)))
    return least[0] - least[1], most[0] + most[1]


def _reached(risk: BoxedRisk, positive: Array, negative: Array) -> tuple[Array, Array]:
    """Margins with one side for positive entries, the other for negative ones; their rounding."""
    sides = np.where(risk.matrix > 0, positive, negative)
    with np.errstate(invalid="ignore"):
        terms = np.where(risk.matrix == 0, 0.0, risk.matrix * sides)
        sizes = np.where(risk.sizes == 0, 0.0, risk.sizes * np.abs(sides))
    finite = np.where(np.isfinite(sizes), sizes, 0.0).sum(axis=1) + np.abs(risk.offset)
    return terms.sum(axis=1) + risk.offset, of_terms(risk.size) * finite
