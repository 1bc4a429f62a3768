"""Global minima by enumeration, part of verify_points.py, not run by itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

import dcprog as dc

Array = np.ndarray
Judged = tuple[dc.Risk, float]


def capped_squares(rng: np.random.Generator) -> Judged:
    """min_w Σ min((y − Xw)², c) + λ/2‖w‖²: every set of kept samples is a ridge problem."""
    n, p = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    X, y = rng.normal(size=(n, p)), 3 * rng.normal(size=n)
    lam, cap = float(10 ** rng.uniform(-2, 1)), float(10 ** rng.uniform(-1, 1))
    least = np.inf
    for kept in product((False, True), repeat=n):
        A, t = X[list(kept)], y[list(kept)]
        w = np.linalg.solve(2 * A.T @ A + lam * np.eye(p), 2 * A.T @ t)
        F = np.sum(np.minimum((y - X @ w) ** 2, cap)) + lam / 2 * w @ w
        least = min(least, float(F))
    rows = dc.residual_rows(X, y, False)
    return dc.Risk.from_loss(rows, dc.cap(dc.square(), cap), dc.l2(lam)), least


def ramp_on_a_line(rng: np.random.Generator) -> Judged:
    """min_w Σ min((1 − a_i w)₊, c) + λ/2·w²: quadratic between its breaks."""
    n = int(rng.integers(2, 13))
    a, lam = rng.normal(size=n), float(10 ** rng.uniform(-2, 1))
    cap = float(10 ** rng.uniform(-0.5, 0.5))

    def F(w: float) -> float:
        return float(np.minimum(np.maximum(1 - a * w, 0), cap).sum() + lam / 2 * w**2)

    breaks = np.concatenate([1 / a, (1 - cap) / a])
    risk = dc.Risk.from_loss(a[:, None], dc.cap(dc.hinge(), cap), dc.l2(lam))
    return risk, _on_pieces(F, breaks, lam)


def difference_on_a_line(rng: np.random.Generator) -> Judged:
    """min_w Σ |r_i| − 0.7(|r_i| − s)₊ + λ/2·w², r = aw + t."""
    n = int(rng.integers(2, 13))
    a, t = rng.normal(size=n), 2 * rng.normal(size=n)
    lam, s = float(10 ** rng.uniform(-1, 1)), float(rng.uniform(0.3, 2.0))

    def F(w: float) -> float:
        u = np.abs(a * w + t)
        return float((u - 0.7 * np.maximum(u - s, 0)).sum() + lam / 2 * w**2)

    loss = dc.absolute() - 0.7 * dc.epsilon_insensitive(s)
    risk = dc.Risk.from_loss(a[:, None], loss, dc.l2(lam), offset=t)
    return risk, _on_pieces(F, np.concatenate([-t / a, (s - t) / a, (-s - t) / a]), lam)


def _on_pieces(F: Callable[[float], float], breaks: Array, ridge: float) -> float:
    """The least value at breaks and at the vertices of the parabolas between them."""
    ends = np.unique(breaks)
    ends = np.concatenate([[ends[0] - 1], ends, [ends[-1] + 1]])
    middles = (ends[1:] + ends[:-1]) / 2
    h = 1e-3 * np.maximum(np.diff(ends), 1e-9)
    slopes = np.array([(F(m + d) - F(m - d)) / (2 * d) for m, d in zip(middles, h, strict=True)])
    return min(F(float(w)) for w in [*ends, *(middles - slopes / ridge)])


KINDS = (capped_squares, ramp_on_a_line, difference_on_a_line)
