"""Least squares with concave penalties  F(w) = ½‖y − Xw‖² + Σ ψ(|w_j|)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.optima.folded import Folded, Half, LogSum, Mcp
from benchmarks.optima.instance import Array, Form, Instance

BATCH = 48  # starts that descend together
SWEEPS = 40
NONZERO = 10


@dataclass(frozen=True)
class SparseFit(Instance):
    """A design, responses and a penalty."""

    X: Array
    y: Array
    penalty: Folded

    @property
    def size(self) -> int:  # type: ignore[override]
        """w's length."""
        return self.X.shape[1]

    def values(self, ws: Array) -> Array:
        """F of columns w."""
        rest = self.y[:, None] - self.X @ ws
        return (rest**2).sum(axis=0) / 2 + self.penalty.value(np.abs(ws)).sum(axis=0)

    def objective(self, x: Array) -> float:
        """F(w)."""
        return float(self.values(x[:, None])[0])

    def form(self) -> Form:
        """A Risk."""
        rows = dc.residual_rows(self.X, self.y, fit_intercept=False)
        return Form(dc.Risk.from_loss(rows, 0.5 * dc.square(), self.penalty.declaration))

    def convex_concave(self) -> Form:
        """s ≥ ψ(|w|) as a constraint."""
        w, s = cp.Variable(self.size), cp.Variable(self.size, nonneg=True)
        fit = cp.sum_squares(self.y - self.X @ w) / 2 + cp.sum(s)
        return Form(cp.Problem(cp.Minimize(fit), self.penalty.convex_concave(w, s)), (w,))

    def smooth(self) -> Form:
        """−t ≤ w ≤ t."""
        w, t = cp.Variable(self.size), cp.Variable(self.size, nonneg=True)
        total, constraints = self.penalty.smooth(t)
        fit = cp.sum_squares(self.y - self.X @ w) / 2 + total
        return Form(cp.Problem(cp.Minimize(fit), [w <= t, -t <= w, *constraints]), (w,))

    # ---- search: coordinates minimised exactly, many starts side by side, the best perturbed -----

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Ridge fits, sparse and empty starts, then the best with coefficients lost and added."""
        first = self.descend(np.column_stack([np.zeros(self.size), *self._starts(rng)]))
        pool = self._best(first)
        for _ in range(max(1, starts // BATCH - 1)):
            pushed = self._perturbed(pool, rng)
            pool = self._best(np.hstack([pool, self.descend(pushed)]))
        yield from self.descend(pool[:, :3], 10 * SWEEPS).T

    def _starts(self, rng: np.random.Generator) -> Iterator[Array]:
        for k in range(BATCH - 1):
            if k % 2:
                scale = 10 ** rng.uniform(-2, 3)
                gram = self.X @ self.X.T + scale * np.eye(len(self.y))
                yield self.X.T @ np.linalg.solve(gram, self.y)
            else:
                chosen = rng.permutation(self.size)[: min(len(self.y) // 2, 2 * NONZERO)]
                w = np.zeros(self.size)
                w[chosen] = np.linalg.lstsq(self.X[:, chosen], self.y)[0]
                yield w

    def _best(self, ws: Array) -> Array:
        values = self.values(ws)
        order = np.argsort(values)
        fresh = np.append(True, np.diff(values[order]) > 1e-8 * values[order][1:])
        return ws[:, order[fresh][: BATCH // 6]]

    def _perturbed(self, pool: Array, rng: np.random.Generator) -> Array:
        """Some nonzeros dropped, some zeros set, in copies of the pool."""
        ws = pool[:, rng.integers(pool.shape[1], size=BATCH)].copy()
        for w in ws.T:
            inside, outside = np.flatnonzero(w), np.flatnonzero(w == 0)
            w[rng.permutation(inside)[: rng.integers(1, 4)]] = 0
            entering = rng.permutation(outside)[: rng.integers(1, 6)]
            w[entering] = rng.normal(size=len(entering)) * (np.abs(w).max() + 1e-3)
        return ws

    def descend(self, ws: Array, sweeps: int = SWEEPS) -> Array:
        """Cyclic coordinate descent on columns."""
        gram, ws = self.X.T @ self.X, ws.copy()
        pull = (self.X.T @ self.y)[:, None] - gram @ ws
        curvatures = np.diag(gram)
        for _ in range(sweeps):
            moved = 0.0
            for j, h in enumerate(curvatures):
                step = self.penalty.minimiser(pull[j] + h * ws[j], h) - ws[j]
                if np.any(step):
                    ws[j] += step
                    pull -= gram[:, j, None] * step
                    moved = max(moved, float(np.abs(step).max()))
            if moved < 1e-4 * np.abs(ws).max():
                break
        return ws


def _design(n: int, p: int, seed: int, correlation: float = 0.9) -> tuple[Array, Array, float]:
    """Autoregressive columns of variance 1, ten coefficients ±½ … ±2, noise 1; and ‖X'y‖_∞."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    w = np.zeros(p)
    w[rng.permutation(p)[:NONZERO]] = rng.choice([-1, 1], NONZERO) * rng.uniform(0.5, 2, NONZERO)
    y = X @ w + rng.normal(size=n)
    return X, y, float(np.abs(X.T @ y).max())


def log_sum(n: int, p: int, seed: int, share: float = 0.3) -> SparseFit:
    """ε = 0.1 and a slope at 0 of a share of what kills every coefficient."""
    X, y, most = _design(n, p, seed)
    return SparseFit(X, y, LogSum(share * most * 0.1, 0.1))


def l_half(n: int, p: int, seed: int) -> SparseFit:
    """ℓ½ with λ a twentieth of ‖X'y‖_∞."""
    X, y, most = _design(n, p, seed)
    return SparseFit(X, y, Half(0.05 * most))


def mcp(n: int, p: int, seed: int) -> SparseFit:
    """γ = 2/n (columns of length √n), λ a twentieth of ‖X'y‖_∞."""
    X, y, most = _design(n, p, seed)
    return SparseFit(X, y, Mcp(0.05 * most, 2.0 / n))
