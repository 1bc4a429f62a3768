"""The steps of docs/fisher_consistency.md on random points, part of verify_fisher_consistency.py.

Scores u that are wrong (class 1 is the most probable one, and not alone on top) are not minimisers
of the expected loss 1 if γ ≤ γ*(s): the proof names a move that lowers it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from examples.angle_svm.minimisers import Loss

Array = np.ndarray


def kinks(loss: Loss) -> Array:
    """Where the loss of one score bends."""
    k, s = loss.k, loss.s
    return np.array([k - 1, (k - 1) * s, -1, -s])


def lower(loss: Loss, u: Array) -> Array:
    """The proof's move from wrong scores u, whose class 1 is the most probable one."""
    top = max(loss.k - 1, -loss.s)
    j = 1 + int(np.argmax(u[1:]))
    v = u.copy()
    if u[0] >= top:  # both are where nothing changes any more: class j gives up
        v[0], v[j] = u[0] + u[j] + 1, -1.0
    elif u[0] < u[j]:
        v[0], v[j] = u[j], u[0]
    elif u[0] == loss.k - 1:  # < −s
        i = int(np.argmin(u))
        moved = min(u[j] + 1, -1 - u[i])
        v[j], v[i] = u[j] - moved, u[i] + moved
    else:
        apart = np.abs(kinks(loss) - u[0])
        moved = np.min(apart[apart > 0]) / 2
        v[0], v[j] = u[0] + moved, u[j] - moved
    return v


def wrong_scores(loss: Loss, rng: np.random.Generator) -> Array:
    """Random scores with class 1 not alone on top; most of them tie, many at a kink."""
    u = rng.normal(0, loss.k, loss.k)
    u -= u.mean()
    j = 1 + int(rng.integers(loss.k - 1))
    u[[0, j]] = u[[j, 0]] if u[0] > u[j] else u[[0, j]]
    if rng.random() < 0.8:
        height = rng.choice([*kinks(loss)[[0, 3]], rng.exponential(loss.k)])
        u[[0, j]] = height
        rest = np.setdiff1d(np.arange(loss.k), [0, j])
        below = rng.dirichlet(np.full(len(rest), 0.5)) * (len(rest) + 2) * height
        u[rest] = height - below
    return u


def probabilities(k: int, rng: np.random.Generator) -> Array:
    """Random P, the largest first and by 1e-3 at least; some with zeros, some nearly tied."""
    while True:
        P = -np.sort(-rng.dirichlet(np.full(k, rng.choice([0.1, 0.5, 2.0]))))
        if rng.random() < 0.5:
            P[:2] = P[:2].mean() + np.array([1e-3, -1e-3])
        if P[0] - P[1] >= 1e-3 and P.min() >= 0:
            return P


def failures(n: int, largest: Callable[[int, float], float], rng: np.random.Generator) -> int:
    """For how many of n random (k, s, γ ≤ largest(k, s), P, u) the move does not lower the loss."""
    failed = 0
    for _ in range(n):
        k = int(rng.integers(3, 9))
        edge = rng.choice([0.0, -1 / (k - 1), -(k - 1.0)])
        s = float(edge if rng.random() < 0.5 else -k * rng.random())
        gamma = largest(k, s) * (1.0 if rng.random() < 0.5 else rng.random())
        loss, P, u = Loss(1, k, s, gamma), probabilities(k, rng), wrong_scores(Loss(1, k, s), rng)
        before, after = loss(np.array([u, lower(loss, u)])) @ P
        failed += bool(after >= before - 1e-13)
    return failed
