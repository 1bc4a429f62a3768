"""Sums of weighted hinges and a ridge on boxes, many at once."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["hinge_sums"]

STEPS = 25
STEP_SHARE = 0.995
SOLVED = 1e-10
REGULAR = 1e-13
# Scaled weights are at least this.
LEAST = 1e-12


def hinge_sums(
    rows: Array, shift: Array, weights: Array, tilt: Array, ridge: Array, lo: Array, hi: Array
) -> tuple[Array, Array]:
    r"""Minimise Σ_i weight_i (row_i·θ + shift_i)₊ + tilt·θ + ½ Σ ridge_j θ_j² on each box.

    Mehrotra's interior point method, with one p × p system per step and box.

    Parameters
    ----------
    rows : array of shape (m, p)
    shift : array of shape (m,)
    weights : array of shape (boxes, m)
        At least 0.
    tilt, lo, hi : arrays of shape (boxes, p)
    ridge : array of shape (p,)

    Returns
    -------
    theta : array of shape (boxes, p)
    shares : array of shape (boxes, m)
        The multiplier of each hinge over its weight, between 0 and 1: (r)₊ ≥ share·r.

    References
    ----------
    Mehrotra (1992), On the implementation of a primal-dual interior point method, SIAM J. Optim. 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.bounds.hinge_sums import hinge_sums
    >>> one = np.ones((1, 1))
    >>> theta, shares = hinge_sums(-one, one[0], one, 0 * one, one[0], -3 * one, 3 * one)
    >>> theta.round(3), shares.round(3)  # (1 − θ)₊ + ½θ²
    (array([[1.]]), array([[1.]]))
    """
    middle, reach = 0.5 * (lo + hi), 0.5 * (hi - lo)
    A = rows * reach[:, None, :]
    d = middle @ rows.T + shift
    size = np.abs(A).sum(axis=2) + np.abs(d)
    size = np.where(size > 0, size, 1.0)
    A, d = A / size[:, :, None], d / size
    slope = (tilt + ridge * middle) * reach
    curve = ridge * reach**2
    heavy = weights * size
    unit = np.maximum(heavy.max(axis=1, initial=0.0), np.abs(slope).max(axis=1, initial=0.0))
    unit = np.maximum(unit, curve.max(axis=1, initial=0.0))[:, None]
    unit = np.where(unit > 0, unit, 1.0)
    w = np.maximum(heavy / unit, LEAST)
    ξ, shares = _solved(A, d, w, slope / unit, curve / unit)
    return np.clip(middle + reach * ξ, lo, hi), shares


def _solved(A: Array, d: Array, w: Array, slope: Array, curve: Array) -> tuple[Array, Array]:
    """The minimiser over |ξ| ≤ 1 and the shares, for data scaled to about 1."""
    boxes, _, p = A.shape
    ξ = np.zeros((boxes, p))
    e = np.maximum(d, 0.0) + 0.5
    state = [ξ, e, e - d, 0.5 * w, 0.5 * w, *(np.full((boxes, p), 0.5) for _ in range(2))]
    live = np.arange(boxes)
    for _ in range(STEPS):
        now = [part[live] for part in state]
        found, mu = _step(A[live], d[live], w[live], slope[live], curve[live], now)
        fine = np.all([np.all(np.isfinite(part), axis=1) for part in found], axis=0)
        live = live[fine]
        for part, new in zip(state, found, strict=True):
            part[live] = new[fine]
        live = live[mu[fine] > SOLVED]
        if not live.size:
            break
    return state[0], np.clip(state[3] / w, 0.0, 1.0)


def _step(
    A: Array, d: Array, w: Array, slope: Array, curve: Array, state: list[Array]
) -> tuple[list[Array], Array]:
    """Predictor and corrector: hinges e = s + Aξ + d with multipliers α of s and β of e."""
    ξ, e, s, α, β, low, high = state
    up, down = 1 + ξ, 1 - ξ
    missed = e - s - np.einsum("bmp,bp->bm", A, ξ) - d
    dual = curve * ξ + slope + np.einsum("bmp,bm->bp", A, α) - low + high
    D = 1 / (s / α + e / β)
    H = np.swapaxes(A * D[:, :, None], 1, 2) @ A
    diagonal = np.arange(ξ.shape[1])
    H[:, diagonal, diagonal] += curve + low / up + high / down
    H[:, diagonal, diagonal] *= 1 + REGULAR
    inverse = np.linalg.inv(H)
    pairs = [(α, s), (β, e), (low, up), (high, down)]

    def direction(products: list[Array]) -> list[Array]:
        pa, pb, pl, ph = products
        inner = D * (pa / α - pb / β - missed)
        right = -dual - np.einsum("bmp,bm->bp", A, inner) + pl / up - ph / down
        dξ = np.einsum("bpr,br->bp", inverse, right)
        dα = D * np.einsum("bmp,bp->bm", A, dξ) + inner
        de = (pb + e * dα) / β
        ds = de - np.einsum("bmp,bp->bm", A, dξ) + missed
        return [dξ, de, ds, dα, -dα, (pl - low * dξ) / up, (ph + high * dξ) / down]

    def lengths(step: list[Array]) -> tuple[Array, Array]:
        dξ, de, ds, dα, dβ, dl, dh = step
        primal = np.minimum.reduce([_room(e, de), _room(s, ds), _room(up, dξ), _room(down, -dξ)])
        duals = np.minimum.reduce([_room(α, dα), _room(β, dβ), _room(low, dl), _room(high, dh)])
        return primal, duals

    with np.errstate(all="ignore"):
        count = 2 * (d.shape[1] + ξ.shape[1])
        mu = sum((x * y).sum(axis=1, keepdims=True) for x, y in pairs) / count
        first = direction([-x * y for x, y in pairs])
        a, b = lengths(first)
        dξ, de, ds, dα, dβ, dl, dh = first
        moves = [(dα, ds), (dβ, de), (dl, dξ), (dh, -dξ)]
        after = sum(
            ((x + b * dx) * (y + a * dy)).sum(axis=1, keepdims=True)
            for (x, y), (dx, dy) in zip(pairs, moves, strict=True)
        )
        aim = (after / count / mu) ** 3 * mu
        second = direction(
            [aim - x * y - dx * dy for (x, y), (dx, dy) in zip(pairs, moves, strict=True)]
        )
        a, b = (STEP_SHARE * length for length in lengths(second))
        sides = [a, a, a, b, b, b, b]
        moved = [x + t * dx for x, t, dx in zip(state, sides, second, strict=True)]
        done = sum((x * y).sum(axis=1) for x, y in _pairs(moved)) / count
    return moved, done


def _pairs(state: list[Array]) -> list[tuple[Array, Array]]:
    ξ, e, s, α, β, low, high = state
    return [(α, s), (β, e), (low, 1 + ξ), (high, 1 - ξ)]


def _room(x: Array, dx: Array) -> Array:
    """The length of the step dx, at most 1, at which an entry of x becomes 0."""
    ratio = np.where(dx < 0, -x / dx, np.inf)
    return np.minimum(ratio.min(axis=1, keepdims=True, initial=1.0), 1.0)
