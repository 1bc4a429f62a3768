"""A lower bound of a weighted risk's minimum that rests on no solver's word."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import RADIUS, SUMMED, TOL
from dcprog.losses import Pieces
from dcprog.penalties import kernel_norm
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.scores import coefficient_units


def duality_gap(
    problem: WeightedRisk,
    theta: Array,
    dual: Array | None = None,
    centre: Array | None = None,
) -> float:
    r"""An upper bound of the distance of the weighted risk P(θ) from its minimum.

    Every convex loss lies above its lines: with slopes s_r of the weighted losses and
    e_r = f_r(u_r) + f_r*(s_r) − s_r u_r ≥ 0 (Fenchel's inequality)

    .. math::
        P(z) \ge P(\theta) - \sum_r e_r - [\mathrm{pen}(\theta) + g·\theta] +
        [\mathrm{pen}(z) + g·z],  \qquad g = A^\top (s + t),

    whose minimum over z falls apart. The slopes are the multipliers that a solver left, moved to
    where f_r* is finite, or those of smooth losses at θ, whichever bounds better: wrong ones make
    the gap large, never too small. Coefficients that no penalty holds are taken to lie within ten
    times the largest of them and of their units. Those under an ℓ1 norm or a group lasso alone are
    held by their penalty, which is no more than P(θ) at points below θ, where nothing is tilted; if
    that allows them a million times as much, no penalty holds them.

    Parameters
    ----------
    problem : WeightedRisk
    theta : array of shape (p,)
    dual : array of shape (n_rows,), optional
        Minus the slope of each weighted loss.
    centre : array of shape (p,), optional
        Another point, whose sizes count too for what nothing holds.

    Returns
    -------
    float
        At least 0; ∞ where losses with kinks have no multipliers, or the penalty has no known form.

    References
    ----------
    Rockafellar (1970), Convex Analysis, §31.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.losses import square
    >>> from dcprog.risk.risk import Risk
    >>> from dcprog.risk.weighted import WeightedRisk
    >>> from dcprog.risk.duality import duality_gap
    >>> risk = Risk(np.array([[1.0]]), square(at=1.0))  # (1 − θ)² + θ²/2
    >>> duality_gap(WeightedRisk(risk, np.ones(1)), np.array([2 / 3]))
    0.0
    """
    gap = np.inf
    for slopes, missed in _supports(problem, theta, dual):
        pull = slopes if problem.tilts is None else slopes + problem.tilts
        found = missed + _penalty_gap(problem, theta, pull, centre)
        gap = min(gap, max(found, 0.0)) if np.isfinite(found) else gap
    return gap


def above_least(problem: WeightedRisk, theta: Array) -> float:
    """The distance of P(θ) from the least values of its losses and the least penalty, 0.

    That bounds the gap too where θ fits perfectly, whatever multipliers there are.

    Parameters
    ----------
    problem, theta
        As for :func:`duality_gap`.

    Returns
    -------
    float
        At least 0; ∞ where a tilt, or a penalty of unknown form, could make P lower than that.
    """
    risk = problem.risk
    if problem.tilts is not None or risk.penalty.parts().others:
        return np.inf
    above = problem.value(theta) - _ground(risk, problem.weights)
    return max(above, 0.0) if np.isfinite(above) else np.inf


# ---- lines below the losses ----------------------------------------------------------------------


def _supports(problem: WeightedRisk, theta: Array, dual: Array | None) -> list[tuple[Array, float]]:
    """Slopes of the weighted losses in the margins, and Σ e for each choice of them."""
    risk = problem.risk
    u = risk.margins(theta)
    known = dual is not None and dual.shape == u.shape and bool(np.all(np.isfinite(dual)))
    pieces = risk.base.pieces
    found = []
    if risk.aggregate == "max":
        lines = _outer_lines(pieces)
        if known and dual is not None and lines is not None:
            found.append(_shared(risk, problem.weights, u, -dual, lines))
        return found
    weight = problem.row_weights
    if risk.base.is_smooth:
        slopes = np.empty(u.shape)
        for rows, part in risk.parts(theta):
            w, steep = weight[rows], risk.base.slope(part.margins(theta))
            slopes[rows] = np.where(w > 0, w * steep, 0.0)
        found.append((slopes, 0.0))
        if known and dual is not None and _is_small(slopes + dual, slopes):
            return found  # the multipliers are these slopes, but for rounding
    if known and dual is not None and pieces is not None:
        found.append(_conjugate(pieces, weight, u, -dual))
    return found


def _is_small(change: Array, values: Array) -> bool:
    """True if a change of some values is at rounding level."""
    return bool(np.max(np.abs(change)) <= SUMMED * np.max(np.abs(values)))


def _conjugate(pieces: Pieces, weight: Array, u: Array, slopes: Array) -> tuple[Array, float]:
    """The slopes moved into the losses' range, and Σ e by the conjugate of the pieces."""
    live = weight > 0
    w = weight[live]
    s = np.clip(slopes[live] / w, *pieces.slopes())
    moved = np.zeros(u.shape)
    moved[live] = w * s
    return moved, float(w @ pieces.missed(u[live], s))


def _outer_lines(pieces: Pieces | None) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Slope and constant of the first and the last piece, where all are lines."""
    if pieces is None or any(pieces.quadratic):
        return None
    ends = [(pieces.linear[k], pieces.constant[k]) for k in (0, -1)]
    return ends[0], ends[1]


def _shared(
    risk: Risk,
    weights: Array,
    u: Array,
    slopes: Array,
    lines: tuple[tuple[float, float], tuple[float, float]],
) -> tuple[Array, float]:
    """Slopes of maxima: a group's weight is shared out among the outer lines of its rows.

    What the slopes leave of it goes to the least value that a loss can have.
    """
    unit = risk.factors
    share, height = np.zeros(u.shape), np.zeros(u.shape)
    for (slope, constant), side in zip(lines, (slopes < 0, slopes > 0), strict=True):
        fits = side & (unit * slope * slopes > 0)
        share[fits] = slopes[fits] / (unit[fits] * slope)
        height[fits] = unit[fits] * (slope * u[fits] + constant)
    total = np.bincount(risk.groups, share, risk.n_groups)
    much = total > weights
    factor = np.where(much, weights / np.where(much, total, 1.0), 1.0)
    share = share * factor[risk.groups]
    rest = np.where(much, 0.0, weights - total)
    value = float(weights @ risk._combined(risk._scaled(risk.base(u))))
    missed = value - float(share @ height) - _ground(risk, rest)
    return np.where(share > 0, slopes * factor[risk.groups], 0.0), missed


# ---- the penalty ---------------------------------------------------------------------------------


def penalty_gap(
    risk: Risk,
    theta: Array,
    slope: Array,
    l1: Array,
    l2: Array,
    above: float,
    centre: Array | None = None,
) -> float:
    r"""An upper bound of the distance of Σ_j l_j|θ_j| + ½q_jθ_j² + g_jθ_j from its minimum.

    The function of z_j falls by (|g_j| − l_j)₊²/(2q_j) below 0. If q_j = 0 < l_j, a point that is
    no higher than θ has Σ l_j|z_j| ≤ `above`; the minimum over that ball is taken. Other entries
    with q_j = 0 (free intercepts, and those whose l_j allows a million times as much) are taken to
    lie within ten times their largest value and their units.

    Parameters
    ----------
    risk : Risk
        The risk whose margins give the units of θ.
    theta, slope, l1, l2 : arrays of shape (p,)
        θ, g, l and q.
    above : float
        How far the whole function at θ is above the least values of its losses; ∞ if unknown.
    centre : array of shape (p,), optional
        Another point, whose sizes count too.
    """
    terms = l1 * np.abs(theta) + 0.5 * (l2 * theta) * theta + slope * theta
    over = np.maximum(np.abs(slope) - l1, 0.0)
    size = _size(theta, centre)
    return float(np.sum(terms)) + _fall(over, l1, l2, size, largest_units(risk), above)


def largest_units(risk: Risk) -> Array:
    """For each entry of θ the change that moves margins by about their largest constant, or 1."""
    constants = 1.0 if risk.offset is None else float(np.max(np.abs(risk.offset))) or 1.0
    return coefficient_units(risk.rows, constants)


def _size(theta: Array, centre: Array | None) -> Array:
    return np.abs(theta) if centre is None else np.maximum(np.abs(theta), np.abs(centre))


def _fall(over: Array, l1: Array, l2: Array, size: Array, units: Array, above: float) -> float:
    """How far below 0 Σ_j l_j|z_j| + ½q_jz_j² + g_jz_j is at most; `over` is (|g_j| − l_j)₊."""
    held = l2 > 0
    fall = float(np.sum(over[held] ** 2 / (2 * l2[held])))
    free = ~held
    ball = free & (l1 > 0) & (l1 * _box(size, units, free) > TOL * above)
    if np.any(over[ball]):
        fall += above * float(np.max(over[ball] / l1[ball]))
    free &= ~ball
    steep = free & (over > 0)
    return fall + float(over[steep] @ _box(size, units, free)[steep])


def _box(size: Array, units: Array, free: npt.NDArray[np.bool_]) -> Array:
    """How far coefficients that nothing holds are taken to lie from 0, at most."""
    return RADIUS * np.maximum(units, np.max(size[free], initial=0.0))


def _penalty_gap(problem: WeightedRisk, theta: Array, pull: Array, centre: Array | None) -> float:
    """pen(θ) + g·θ − min_z [pen(z) + g·z]."""
    risk, parts = problem.risk, problem.risk.penalty.parts()
    slope = risk.pull(pull)
    if parts.is_elastic:
        above = np.inf if parts.ridge > 0 else above_least(problem, theta)
        return penalty_gap(risk, theta, slope, *problem.penalty_weights, above, centre)
    held = risk.penalized
    free, none = ~held, np.zeros(np.count_nonzero(~held))
    size, units = _size(theta, centre)[free], largest_units(risk)[free]
    gap = float(slope[free] @ theta[free])
    gap += _fall(np.abs(slope[free]), none, none, size, units, np.inf)
    w, g = theta[held], slope[held]
    part = risk.penalty.convex_part
    if isinstance(part, kernel_norm) and risk.no_matrix is None and risk.scores.gram is not None:
        return gap + _kernel_gap(part, w, risk.scores.unmix(pull[:, None])[:, 0])
    l1 = parts.l1 if problem.shrinkage is None else parts.l1 + problem.shrinkage
    if parts.others or len(parts.groups) > 1 or np.any(l1):
        return np.inf
    members = parts.groups[0].members(w.size)
    norms, steep = (np.array([np.linalg.norm(v[m]) for m in members]) for v in (w, g))
    lam, ridge = (np.full(len(members), float(v)) for v in (parts.groups[0].lam, parts.ridge))
    gap += float(lam @ norms) + 0.5 * parts.ridge * float(w @ w) + float(g @ w)
    far = np.full(len(members), np.inf)
    over = np.maximum(steep - lam, 0.0)
    return gap + _fall(over, lam, ridge, norms, far, above_least(problem, theta))


def _kernel_gap(penalty: kernel_norm, a: Array, pull: Array) -> float:
    """(λ/2)aᵀKa + aᵀKh + hᵀKh/(2λ), where the slope is Kh."""
    if not penalty.lam > 0:
        return np.inf
    total = penalty.lam * a + pull
    return 0.5 * float(total @ penalty.gram.times(total)) / penalty.lam


def _ground(risk: Risk, weights: Array) -> float:
    """Below which the weighted losses never are."""
    lower = np.broadcast_to(risk.base.lower, risk.rows.shape[:1])
    return float(weights @ risk._combined(risk._scaled(lower)))
