"""Paths of the robust angle-based classifiers against a loop that writes the problem anew.

The simulation of Zhang, Pham, Fu, Liu (2018) with p features: three classes, n = 100, a tenth of
the samples outliers; losses RSVM1 (γ = 1/2) and RSVM2 with truncation s = −1/2; 30 values of λ for
L2 and L1, 30 × 30 for both together. Ours: ``dcprog.solve`` for every λ from small to large, from
the last θ. Theirs: the paper's DCA with the linear term of the subtracted losses, each subproblem
written in cvxpy and solved by Clarabel, from the last β; timed on every sixth λ of the grid and
scaled. Both end at critical points, which need not be the same one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor
from dcprog.rows.angle import angle_differences, angle_margins, simplex_vertices

LAMBDAS = np.logspace(-1.5, 3, 30)
EVERY = 6  # their path visits every sixth λ
S, GAMMA, K = -0.5, 0.5, 3
W = simplex_vertices(K)


def simulation(n: int, p: int, seed: int, outliers: float = 0.1) -> tuple[Any, Any]:
    """Class means on the unit circle, variance 0.16; outliers around (3, 0), of any class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    X = rng.uniform(-1, 1, (n, p))
    X[:, :2] = np.column_stack([np.cos(2 * np.pi * y / K), np.sin(2 * np.pi * y / K)])
    far = rng.permutation(n)[: round(outliers * n)]
    X[far, :2] = [3.0, 0.0]
    X[:, :2] += 0.4 * rng.standard_normal((n, 2))
    return X, y


def penalty(l1: float, l2: float) -> Any:
    """The penalty with these weights."""
    return dc.elastic_net(l1, l2) if l1 and l2 else dc.l1(l1) if l1 else dc.l2(l2)


class Ours:
    """The declared risk, one a λ on the same rows; weights of 0 and 1, or the paper's tilts."""

    def __init__(self, X: Any, y: Any, form: int, tilted: bool, solver: str | None) -> None:
        self.rows = (angle_margins if form == 1 else angle_differences)(X, y)
        self.form, self.tilted, self.solver = form, tilted, solver

    def risk(self, l1: float, l2: float) -> dc.Risk:
        """Σ φ(loss) + penalty, the constant feature penalised too."""
        own: Any = self.rows.own
        weights = np.where(own, GAMMA * (K - 1), 1 - GAMMA) if self.form == 1 else None
        cap = (1 - S) * (1.0 if weights is None else weights)
        return dc.Risk(
            self.rows,
            dc.hinge(),
            weights=weights,
            aggregate="max" if self.form == 2 else None,
            transform=None if self.tilted else dc.cap_at(cap),
            subtracted=dc.hinge(S) if self.tilted else None,
            penalty=penalty(l1, l2),
            penalized=np.ones(self.rows.shape[1]),
        )

    def path(self, grid: list[tuple[float, float]]) -> tuple[float, int, list[float]]:
        """Seconds, subproblems and objectives."""
        begin, x, n, values = time.perf_counter(), "convex", 0, []
        for l1, l2 in grid:
            result = dc.solve(self.risk(l1, l2), start=x, solver=self.solver)
            assert result.status == "converged", result
            x, n = result.x, n + result.n_iter
            values.append(result.value)
        return time.perf_counter() - begin, n, values


class Rebuilt:
    """DCA as one writes it by hand."""

    def __init__(self, X: Any, y: Any, form: int) -> None:
        self.X = np.column_stack([X, np.ones(len(X))])
        self.y, self.form = y, form
        self.own = np.eye(K, dtype=bool)[y]
        if form == 2:
            self.others = np.array([[j for j in range(K) if j != c] for c in y])

    def parts(self, B: Any, at: float) -> Any:
        """The losses that start at `at`, (n, rows)."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            margins = np.where(self.own, u / (K - 1), -u)
            weights = np.where(self.own, GAMMA * (K - 1), 1 - GAMMA)
            return weights * np.maximum(at - margins, 0)
        m = u[self.own] - np.take_along_axis(u, self.others, axis=1).max(axis=1)
        return np.maximum(at - m, 0)

    def objective(self, B: Any, l1: float, l2: float) -> float:
        """The sum of truncated losses and the penalty."""
        losses = float(np.sum(self.parts(B, 1.0) - self.parts(B, S)))
        return losses + l1 * float(np.abs(B).sum()) + l2 / 2 * float(np.sum(B**2))

    def slope(self, B: Any) -> Any:
        """A subgradient of the losses that start at S."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            low = np.where(self.own, u < (K - 1) * S, u > -S)
            return (np.where(self.own, -GAMMA, 1 - GAMMA) * low @ W).T @ self.X
        rivals = np.take_along_axis(u, self.others, axis=1)
        j = self.others[np.arange(len(u)), rivals.argmax(axis=1)]
        low = u[self.own] - rivals.max(axis=1) < S
        return (-(low[:, None] * (W[self.y] - W[j]))).T @ self.X

    def losses(self, B: Any) -> Any:
        """The convex losses as a cvxpy expression."""
        u = self.X @ B.T @ W.T
        if self.form == 1:
            own = cp.sum(cp.pos(K - 1 - u[self.own]))
            return GAMMA * own + (1 - GAMMA) * cp.sum(cp.pos(1 + u[~self.own]))
        every = np.arange(len(self.y))
        rival = cp.maximum(*(u[every, self.others[:, r]] for r in range(K - 1)))
        return cp.sum(cp.pos(1 - u[self.own] + rival))

    def descend(self, B: Any, l1: float, l2: float) -> tuple[Any, int]:
        """DCA from B until it decreases by less than 1e-6 relative."""
        value, steps = self.objective(B, l1, l2), 0
        while True:
            variable = cp.Variable(B.shape)
            expression = self.losses(variable) - cp.sum(cp.multiply(self.slope(B), variable))
            if l1:
                expression = expression + l1 * cp.norm1(variable)
            if l2:
                expression = expression + l2 / 2 * cp.sum_squares(variable)
            cp.Problem(cp.Minimize(expression)).solve(solver=cp.CLARABEL)
            steps += 1
            new = self.objective(variable.value, l1, l2)
            if new >= value - 1e-6 * (1 + abs(value)):
                return (variable.value, steps) if new < value else (B, steps)
            B, value = variable.value, new

    def path(
        self, grid: list[tuple[float, float]], every: int
    ) -> tuple[float, int, dict[int, float]]:
        """Seconds for the whole grid, subproblems, objectives at the places visited."""
        B, begin, n, values = np.zeros((K - 1, self.X.shape[1])), time.perf_counter(), 0, {}
        places = range(every // 2, len(grid), every)
        for place in places:
            B, steps = self.descend(B, *grid[place])
            n += steps
            values[place] = self.objective(B, *grid[place])
        return (time.perf_counter() - begin) * len(grid) / len(places), n, values


def grids() -> dict[str, list[tuple[float, float]]]:
    """(l1, l2) in the order of the path."""
    return {
        "L2": [(0.0, lam) for lam in LAMBDAS],
        "L1": [(lam, 0.0) for lam in LAMBDAS],
        "L1+L2": [(a, b) for b in LAMBDAS for a in LAMBDAS],
    }


def of_path(p: int, name: str, form: int, goal: float) -> Case:
    """A path of both; F is relative to theirs at the λ that they visit, the median of the path."""
    X, y = simulation(100, p, 0)
    grid, peer = grids()[name], Rebuilt(X, y, form)
    visited: dict[int, float] = {}
    steps = {"ours": 0, "theirs": 0}

    def ours() -> dict[int, float]:
        _, steps["ours"], values = Ours(X, y, form, False, None).path(grid)
        return dict(enumerate(values))

    def theirs() -> dict[int, float]:
        _, steps["theirs"], found = peer.path(grid, EVERY)
        visited.update(found)
        return found

    return Case(
        f"angle path RSVM{form}, {name}, p = {p}",
        ours,
        (Competitor("a loop that rebuilds", theirs, goal, share=1 / EVERY),),
        lambda values: float(np.median([values[i] / visited[i] for i in visited])),
        lambda *_: f"F is relative; {steps['ours']} and {steps['theirs'] * EVERY} steps",
        repeats=1,
    )


def cases(full: bool) -> Iterator[Case]:
    """L2 and L1 paths of both losses, p = 20 and, if `full`, 200."""
    for p, goal in ((20, 15.0), (200, 60.0)) if full else ((20, 15.0),):
        for name in ("L2", "L1"):
            for form in (1, 2):
                yield of_path(p, name, form, goal)
