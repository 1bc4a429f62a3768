"""Minimisers of the expected angle losses, part of verify_fisher_consistency.py, not run by itself.

Vertices of the pieces on which S(u; P) is linear, and the linear programs over P that decide
whether every minimiser, or some, has the most probable class on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.optimize import linprog

Array = np.ndarray
TIE = 1e-9
POSITIVE = 1e-6  # an LP value below is rounding
MARGIN = 1e-2  # ε: how clearly class 1 is on top in the test of "some"
STEP = 1e-3  # accuracy of the bisection for γ


@dataclass(frozen=True)
class Loss:
    """One of the losses for k classes; s = −inf is no truncation, γ is heeded by loss 1."""

    form: int
    k: int
    s: float
    gamma: float = 0.5

    def __call__(self, U: Array) -> Array:
        """φ(u, y) of rows u for every y, of shape (len(U), k)."""
        k, s = self.k, self.s
        if self.form == 1:
            own = hinge(k - 1, U) - hinge((k - 1) * s, U)
            other = hinge(1, -U) - hinge(s, -U)
            rest = other.sum(axis=1, keepdims=True) - other
            return self.gamma * own + (1 - self.gamma) * rest
        differences = U[:, :, None] - U[:, None, :]
        differences[:, range(k), range(k)] = np.inf
        m = differences.min(axis=2)
        return hinge(1, m) - hinge(s, m)


def hinge(a: float, u: Array) -> Array:
    """[a − u]₊, 0 for a = −inf."""
    return np.maximum(a - u, 0)


# ---- vertices ------------------------------------------------------------------------------------


@cache
def vertices(form: int, k: int, s: float) -> Array:
    """Where kinks of φ and ties u_a = u_b meet in single points of Σu = 0, one a row."""
    points = _vertices_1(k, s) if form == 1 else _vertices_2(k, s)
    return np.unique(np.round(points, 10) + 0.0, axis=0)


def _vertices_1(k: int, s: float) -> Array:
    """Kinks are u_j ∈ {k−1, (k−1)s, −1, −s}: all u_j at one, but for some that tie, as Σu = 0."""
    kinks = [kink for kink in {k - 1.0, (k - 1) * s, -1.0, -s} if np.isfinite(kink)]
    rows = []
    for pattern in product([np.nan, *kinks], repeat=k):
        row = np.array(pattern)
        free = np.isnan(row)
        if free.any():
            row[free] = -np.nansum(row) / free.sum()
            rows.append(row)
    return np.array(rows)


def _vertices_2(k: int, s: float) -> Array:
    """Kinks are u_a − u_b ∈ {0, ±1, ±s}: at a vertex such pairs connect all classes."""
    gaps = [gap for gap in {0.0, 1.0, -1.0, s, -s} if np.isfinite(gap)]
    trees = {frozenset({(0, 0.0)})}
    for _ in range(k - 1):
        trees = {
            tree | {(new, round(value + gap, 10) + 0.0)}
            for tree in trees
            for new in set(range(k)) - {j for j, _ in tree}
            for value in {value for _, value in tree}
            for gap in gaps
        }
    points = np.array([[dict(tree)[j] for j in range(k)] for tree in trees])
    return points - points.mean(axis=1, keepdims=True)


@cache
def clear_vertices(k: int, s: float) -> Array:
    """Vertices of loss 1 on {u_1 ≥ u_j + ε for all j > 1}."""
    normals: list[Any] = []
    levels: list[float] = []
    for j, kink in product(range(k), sorted({k - 1.0, (k - 1) * s, -1.0, -s})):
        normals.append(np.eye(k)[j])
        levels.append(kink)
    for j in range(1, k):
        normals.append(np.eye(k)[0] - np.eye(k)[j])
        levels.append(MARGIN)
    found = []
    for chosen in combinations(range(len(levels)), k - 1):
        A = np.vstack([np.ones(k), *(normals[i] for i in chosen)])
        if abs(np.linalg.det(A)) > TIE:
            found.append(np.linalg.solve(A, [0.0, *(levels[i] for i in chosen)]))
    points = np.unique(np.round(found, 10) + 0.0, axis=0)
    return points[points[:, 0] >= points[:, 1:].max(axis=1) + MARGIN - TIE]


def lowest(losses: Array) -> Array:
    """Rows that no other row is below: the rest never attains min ⟨P, row⟩ alone."""
    losses = np.unique(np.round(losses, 10), axis=0)
    beaten = [
        np.any(np.all(losses <= row, axis=1) & np.any(losses < row, axis=1)) for row in losses
    ]
    return losses[~np.array(beaten)]


# ---- the two readings ----------------------------------------------------------------------------


def wrong_minimiser(loss: Loss) -> tuple[float, Array]:
    """The largest P_1 − P_2 at which a minimiser is wrong, and that P; 0 if every one is right."""
    V = vertices(loss.form, loss.k, loss.s)
    values = loss(V)
    wrong = V[:, 0] <= V[:, 1:].max(axis=1) + TIE
    return _largest(np.unique(np.round(values[wrong], 10), axis=0), lowest(values), ordered=True)


def no_right_minimiser(loss: Loss) -> tuple[float, Array]:
    """How far the best right u can be above the minimum, and at which P; 0 if some is right."""
    values = lowest(loss(vertices(loss.form, loss.k, loss.s)))
    right = lowest(loss(clear_vertices(loss.k, loss.s)))
    return _largest(values, right, ordered=False)


def widest_margin(loss: Loss, P: Array) -> float:
    """The largest u_1 − max_{j>1} u_j of all minimisers of loss 1 for these P; ∞ if unbounded.

    On each product of intervals between kinks the loss is linear: a linear program on those that
    the minimum may reach.
    """
    k = loss.k
    least = float(np.min(loss(vertices(1, k, loss.s)) @ P))
    ends = np.unique([-np.inf, (k - 1) * loss.s, -1, -loss.s, k - 1, np.inf])
    inner = np.r_[ends[1] - 1, (ends[1:-2] + ends[2:-1]) / 2, ends[-2] + 1]
    cells = [
        [
            _line(loss, p, low, high, at)
            for low, high, at in zip(ends, ends[1:], inner, strict=False)
        ]
        for p in P
    ]
    widest = -np.inf
    for cell in product(*cells):
        if sum(line.least for line in cell) <= least + TIE:
            widest = max(widest, _margin(cell, least))
    return widest


@dataclass(frozen=True)
class _Line:
    """What one class adds to the expected loss on an interval: value + slope·u."""

    low: float
    high: float
    value: float
    slope: float
    least: float


def _line(loss: Loss, p: float, low: float, high: float, at: float) -> _Line:
    k = loss.k

    def part(u: float) -> float:
        own = hinge(k - 1, np.array(u)) - hinge((k - 1) * loss.s, np.array(u))
        other = hinge(1, -np.array(u)) - hinge(loss.s, -np.array(u))
        return float(loss.gamma * p * own + (1 - loss.gamma) * (1 - p) * other)

    h = 1e-3 * min(1.0, high - low)
    slope = round((part(at + h) - part(at - h)) / (2 * h), 9)
    ends = [part(end) for end in (low, high) if np.isfinite(end)]
    return _Line(low, high, part(at) - slope * at, slope, min(ends))


def _margin(cell: Sequence[_Line], least: float) -> float:
    """max t such that u_1 − t ≥ u_j for all j > 1, and u is a minimiser in the cell."""
    k = len(cell)
    lead = np.hstack([-np.ones((k - 1, 1)), np.eye(k - 1), np.ones((k - 1, 1))])
    cost = np.r_[[line.slope for line in cell], 0.0]
    found: Any = linprog(
        np.r_[np.zeros(k), -1.0],
        A_ub=np.vstack([lead, cost]),
        b_ub=np.r_[np.zeros(k - 1), least - sum(line.value for line in cell) + TIE],
        A_eq=[[1.0] * k + [0.0]],
        b_eq=[0.0],
        bounds=[*((line.low, line.high) for line in cell), (None, None)],
        method="highs",
    )
    if found.status == 3:
        return float(np.inf)
    return -float(found.fun) if found.status == 0 else float(-np.inf)


def _largest(candidates: Array, others: Array, ordered: bool) -> tuple[float, Array]:
    """max over v of max t: ⟨P, v⟩ + [t] ≤ ⟨P, w⟩ for all w, P_1 − [t] ≥ P_2 ≥ …; one [t] counts."""
    k = candidates.shape[1]
    order = np.zeros((k - 1, k + 1))
    order[range(k - 1), range(k - 1)] = -1
    order[range(k - 1), range(1, k)] = 1
    order[0, k] = float(ordered)
    best, at = 0.0, np.full(k, 1 / k)
    for v in candidates:
        gain = np.full((len(others), 1), float(not ordered))
        bounds = np.vstack([np.hstack([v - others, gain]), order])
        found: Any = linprog(
            np.r_[np.zeros(k), -1.0],
            A_ub=bounds,
            b_ub=np.zeros(len(bounds)),
            A_eq=[[1.0] * k + [0.0]],
            b_eq=[1.0],
            bounds=[(0, 1)] * (k + 1),
            method="highs",
        )
        if found.status == 0 and -found.fun > best:
            best, at = -found.fun, found.x[:k]
    return (best, at) if best > POSITIVE else (0.0, at)


def threshold(k: int, s: float) -> float:
    """The largest γ with every minimiser right, by bisection down to STEP/2."""
    low, high = 0.0, 1.0
    while high - low > STEP / 2:
        middle = (low + high) / 2
        if wrong_minimiser(Loss(1, k, s, middle))[0] > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def sampled_errors(loss: Loss, n: int, rng: np.random.Generator) -> int:
    """For how many of n random P a minimiser is wrong; half the P nearly tie at the top."""
    P = -np.sort(-rng.dirichlet(np.full(loss.k, 0.5), n), axis=1)
    P[::2, :2] = P[::2, :2].mean(axis=1, keepdims=True) + np.array([1e-3, -1e-3])
    P = P[(P[:, 0] > P[:, 1] + 1e-4) & (P[:, -1] >= 0)]
    V = vertices(loss.form, loss.k, loss.s)
    S = P @ loss(V).T
    wrong = V[:, 0] <= V[:, 1:].max(axis=1) + TIE
    return int(np.sum(S[:, wrong].min(axis=1) <= S.min(axis=1) + 1e-12))
