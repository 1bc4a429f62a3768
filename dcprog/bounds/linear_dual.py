"""Small linear programs, many at once, and bounds of their minima that hold whatever was solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array

__all__ = ["Cuts", "linear_bound", "tightened"]

STEPS = 12
STEP_SHARE = 0.995
REGULAR = 1e-11
# A sum of rows that is positive on the whole box by that share of its terms proves it empty.
EMPTY = 1e-9
ROUNDING = 1e-12
# Complementarity at which a program counts as solved.
SOLVED = 1e-9
# Multipliers of that size say that no point meets the rows.
DIVERGED = 1e9


@dataclass
class Cuts:
    """Planes level + slope·x, a line a box, some rows each.

    Attributes
    ----------
    level : array of shape (boxes, rows)
    slope : array of shape (boxes, rows, p)
    """

    level: Array
    slope: Array

    def and_(self, other: Cuts) -> Cuts:
        """Those of both."""
        return Cuts(
            np.concatenate([self.level, other.level], axis=1),
            np.concatenate([self.slope, other.slope], axis=1),
        )

    def take(self, boxes: npt.NDArray[np.intp]) -> Cuts:
        """Those of some boxes."""
        return Cuts(self.level[boxes], self.slope[boxes])

    def least(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """The least of each on its box, and the part of each coordinate in it."""
        parts = np.minimum(self.slope * lo[:, None, :], self.slope * hi[:, None, :])
        return self.level + parts.sum(axis=2), parts


def tightened(cuts: Cuts, lo: Array, hi: Array) -> tuple[Array, Array]:
    """The boxes without what a single row level + slope·x ≤ 0 excludes.

    An empty box comes back with lo > hi somewhere.
    """
    least, parts = cuts.least(lo, hi)
    with np.errstate(all="ignore"):
        edge = (parts - least[:, :, None]) / cuts.slope
    known = np.isfinite(edge)
    upper = np.where(known & (cuts.slope > 0), edge, np.inf).min(axis=1, initial=np.inf)
    lower = np.where(known & (cuts.slope < 0), edge, -np.inf).max(axis=1, initial=-np.inf)
    slack = ROUNDING * (np.abs(lo) + np.abs(hi))
    return np.maximum(lo, lower - slack), np.minimum(hi, upper + slack)


def linear_bound(
    objective: Cuts, constraints: Cuts, lo: Array, hi: Array
) -> tuple[Array, Array, Array]:
    r"""A lower bound of min_x max_k objective_k(x) over box and constraints_i(x) ≤ 0.

    For any weights α ≥ 0 with Σα = 1 and λ ≥ 0

    .. math::
        \min_{lo \le x \le hi} \sum_k α_k objective_k(x) + \sum_i λ_i constraints_i(x)

    is one, and where λ alone makes the sum positive on the box, no point meets the constraints.
    A few steps of Mehrotra's interior point method find good weights.

    Parameters
    ----------
    objective, constraints : Cuts
    lo, hi : arrays of shape (boxes, p)

    Returns
    -------
    lower : array of shape (boxes,)
        ∞ for a box that is proved to be empty.
    x : array of shape (boxes, p)
        Near the minimiser.
    weights : array of shape (boxes, rows)
        α and λ.
    """
    middle, reach = 0.5 * (lo + hi), 0.5 * (hi - lo)
    n = objective.level.shape[1]
    rows = objective.and_(constraints)
    level = rows.level + np.einsum("bkp,bp->bk", rows.slope, middle)
    slope = rows.slope * reach[:, None, :]
    top = level[:, :n].max(axis=1, keepdims=True)
    unit = np.abs(slope).sum(axis=2)
    spread = np.maximum(unit[:, :n].max(axis=1), np.ptp(level[:, :n], axis=1))[:, None]
    spread = np.where(spread > 0, spread, 1.0)
    sizes = np.abs(level[:, n:]) + unit[:, n:]
    sizes = np.concatenate([np.broadcast_to(spread, (lo.shape[0], n)), sizes], axis=1)
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = np.concatenate([level[:, :n] - top, level[:, n:]], axis=1) / sizes
    ξ, weights = _interior_point(scaled, slope / sizes[:, :, None], n)
    weights = weights / sizes
    x = np.clip(middle + reach * ξ, lo, hi)
    ray = weights * (np.arange(weights.shape[1]) >= n)
    share = weights[:, :n].sum(axis=1, keepdims=True)
    weights = np.where(share > 0, weights / np.where(share > 0, share, 1.0), 1.0 / n)
    weights = np.where((share > 0) | (np.arange(weights.shape[1]) < n), weights, 0.0)
    lower = _weighted(level, slope, weights)
    proof = _weighted(level, slope, ray)
    terms = (ray * (np.abs(level) + unit)).sum(axis=1)
    return np.where(proof > EMPTY * terms, np.inf, lower), x, weights


def _weighted(level: Array, slope: Array, weights: Array) -> Array:
    """The least of a weighted sum of planes for |ξ| ≤ 1."""
    plane = np.einsum("bk,bkp->bp", weights, slope)
    return (weights * level).sum(axis=1) - np.abs(plane).sum(axis=1)


def _interior_point(level: Array, slope: Array, n: int) -> tuple[Array, Array]:
    """Min v, level_k + slope_k·ξ ≤ v for k < n and ≤ 0 beyond, |ξ| ≤ 1: ξ and the multipliers."""
    boxes, k, p = slope.shape
    epigraph = np.where(np.arange(k) < n, -1.0, 0.0)
    cuts = np.concatenate([slope, np.broadcast_to(epigraph[:, None], (boxes, k, 1))], axis=2)
    edges = np.zeros((2 * p, p + 1))
    edges[np.arange(p), np.arange(p)], edges[p + np.arange(p), np.arange(p)] = 1.0, -1.0
    G = np.concatenate([cuts, np.broadcast_to(edges, (boxes, 2 * p, p + 1))], axis=1)
    h = np.concatenate([-level, np.ones((boxes, 2 * p))], axis=1)
    y = np.zeros((boxes, p + 1))
    y[:, p] = 0.5 + level[:, :n].max(axis=1)
    s = np.maximum(h - np.einsum("bkq,bq->bk", G, y), 0.1)
    lam = np.full(s.shape, 1.0 / n)
    live = np.arange(boxes)
    for _ in range(STEPS):
        found = _improved(G[live], h[live], y[live], s[live], lam[live])
        fine = np.all([np.all(np.isfinite(part), axis=1) for part in found], axis=0)
        live, parts = live[fine], [part[fine] for part in found]
        y[live], s[live], lam[live] = parts
        unsolved = (s[live] * lam[live]).mean(axis=1) > SOLVED
        live = live[unsolved & (lam[live].max(axis=1) < DIVERGED)]
        if not live.size:
            break
    return np.clip(y[:, :p], -1.0, 1.0), lam[:, :k]


def _improved(G: Array, h: Array, y: Array, s: Array, lam: Array) -> tuple[Array, Array, Array]:
    """One step of Mehrotra's method for min y_last, Gy + s = h, s ≥ 0, with multipliers λ."""
    missed = np.einsum("bkq,bq->bk", G, y) + s - h
    dual = np.einsum("bkq,bk->bq", G, lam)
    dual[:, -1] += 1.0
    mu = (s * lam).mean(axis=1, keepdims=True)
    H = np.swapaxes(G * (lam / s)[:, :, None], 1, 2) @ G
    trace = np.einsum("bqq->b", H)[:, None, None]
    inverse = np.linalg.inv(H / trace + REGULAR * np.eye(G.shape[2])) / trace

    def direction(complementarity: Array) -> tuple[Array, Array, Array]:
        inner = (lam * missed - complementarity) / s
        right = -dual - np.einsum("bkq,bk->bq", G, inner)
        dy = np.einsum("bqr,br->bq", inverse, right)
        ds = -missed - np.einsum("bkq,bq->bk", G, dy)
        return dy, ds, (-complementarity - lam * ds) / s

    with np.errstate(all="ignore"):
        _, ds, dl = direction(s * lam)
        a, b = _step(s, ds), _step(lam, dl)
        after = ((s + a * ds) * (lam + b * dl)).mean(axis=1, keepdims=True)
        dy, ds, dl = direction(s * lam + ds * dl - (after / mu) ** 3 * mu)
        a, b = STEP_SHARE * _step(s, ds), STEP_SHARE * _step(lam, dl)
        return y + a * dy, s + a * ds, lam + b * dl


def _step(x: Array, dx: Array) -> Array:
    """How far x may go before an entry is 0, at most 1."""
    with np.errstate(all="ignore"):
        ratio = np.where(dx < 0, -x / dx, np.inf)
    return np.minimum(ratio.min(axis=1, keepdims=True), 1.0)
