"""Robust linear fits  F(θ) = Σ φ(Σ_{r∈group} base(a_r·θ + t_r)) + (λ/2)‖θ_pen‖²."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.optima.convex import Base
from benchmarks.optima.instance import Array, Form, Instance

CHUNK = 400  # subset fits at a time
POOL = 16  # points that are kept and perturbed
GRADUATED = 6  # starts of a pool that are graduated
ROUNDS = 5  # of perturbations of a pool
STEPS = 25  # reweightings of a descent
SCALES = (1.0, 3.0, 0.3)


@dataclass(frozen=True)
class RobustFit(Instance):
    """Rows a_r and constants t_r; `group` rows in a row belong together."""

    A: Array
    t: Array
    base: Base
    phi: Any
    lam: float
    penalised: Array  # bool, of θ's length
    statement: Callable[[RobustFit], Form]
    group: int = 1

    @property
    def size(self) -> int:  # type: ignore[override]
        """θ's length."""
        return self.A.shape[1]

    def losses(self, thetas: Array) -> tuple[Array, Array]:
        """Margins and the groups' convex losses, of columns θ."""
        u = self.A @ thetas + self.t[:, None]
        grouped = self.base.value(u).reshape(-1, self.group, thetas.shape[1])
        return u, grouped.sum(axis=1)

    def values(self, thetas: Array) -> Array:
        """F of columns θ."""
        ridge = self.lam / 2 * (thetas[self.penalised] ** 2).sum(axis=0)
        return self.phi.total(self.losses(thetas)[1]) + ridge

    def objective(self, x: Array) -> float:
        """F(θ)."""
        return float(self.values(x[:, None])[0])

    def form(self) -> Form:
        """As the family states it."""
        return self.statement(self)

    def convex_concave(self) -> Form | None:
        """t ≥ base(u) convex, s ≥ φ(t) with φ concave."""
        if not hasattr(self.phi, "expression"):
            return None
        theta, u, t = self._margins()
        s = cp.Variable(t.size, nonneg=True)
        fit = cp.sum(s) + self._ridge(theta)
        constraints = [self._grouped(u) <= t, self.phi.expression(t) <= s]
        return Form(cp.Problem(cp.Minimize(fit), constraints), (theta,))

    def smooth(self) -> Form | None:
        """φ(t) = min v·t + ψ(v) over 0 ≤ v ≤ 1, with t ≥ base(u): bilinear."""
        if not hasattr(self.phi, "conjugate"):
            return None
        theta, u, t = self._margins()
        v = cp.Variable(t.size, bounds=[0, 1])
        fit = cp.sum(cp.multiply(v, t) + self.phi.conjugate(v)) + self._ridge(theta)
        return Form(cp.Problem(cp.Minimize(fit), [self._grouped(u) <= t]), (theta,))

    def _margins(self) -> tuple[cp.Variable, cp.Expression, cp.Variable]:
        theta = cp.Variable(self.size)
        groups = len(self.t) // self.group
        return theta, self.A @ theta + self.t, cp.Variable(groups, nonneg=True)

    def _grouped(self, u: cp.Expression) -> cp.Expression:
        loss = self.base.expression(u)
        if self.group == 1:
            return loss
        return cp.sum(cp.reshape(loss, (u.size // self.group, self.group), order="C"), axis=1)

    def _ridge(self, theta: cp.Variable) -> cp.Expression:
        return self.lam / 2 * cp.sum_squares(theta[np.flatnonzero(self.penalised)])

    # ---- search: small subsets and graduation, then random reweightings of the best --------------

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Pools of subset fits and graduated fits, each perturbed for some rounds."""
        for _ in range(max(1, round(starts / (ROUNDS * CHUNK)))):
            subsets = self._subset_fits(rng, min(CHUNK, starts))
            first = np.hstack([self._best(subsets, POOL), self._graduated(rng)])
            pool = self._best(self.descend(first, STEPS), POOL)
            for _ in range(ROUNDS):
                pushed = self.descend(self.descend(pool, 3, 1.0, rng), STEPS)
                pool = self._best(np.hstack([pool, pushed]), POOL)
            yield from self.descend(pool[:, :6], 4 * STEPS).T

    def _graduated(self, rng: np.random.Generator) -> Array:
        """Randomly weighted convex fits carried along slowly as φ bends: faster ends higher."""
        fits = self.descend(np.zeros((self.size, GRADUATED)), 10, 1e3, rng)
        for s in 1.1 ** np.arange(15, 0, -1):
            fits = self.descend(fits, 2 * STEPS, s)
        return fits

    def _best(self, thetas: Array, most: int) -> Array:
        values = self.values(thetas)
        order = np.argsort(values)
        fresh = np.append(True, np.diff(values[order]) > 1e-7 * np.abs(values[order][1:]))
        return thetas[:, order[fresh][:most]]

    def _subset_fits(self, rng: np.random.Generator, count: int) -> Array:
        """Ridge fits of subsets of p + 1 to 2p + 2 groups, at several lengths."""
        groups = len(self.t) // self.group
        p = max(self.size // self.group, 2)
        most = min(int(rng.integers(p + 1, 2 * p + 3)), groups)
        chosen = rng.random((count, groups)).argpartition(most - 1, axis=1)[:, :most]
        rows = (chosen[:, :, None] * self.group + np.arange(self.group)).reshape(count, -1)
        A = self.A[rows]
        target = self.base.target - self.t[rows]
        gram = np.swapaxes(A, 1, 2) @ A
        ridge = self.lam * self.penalised + 1e-6 * gram.trace(axis1=1, axis2=2)[:, None] / self.size
        gram += ridge[:, :, None] * np.eye(self.size)
        fits = np.linalg.solve(gram, np.swapaxes(A, 1, 2) @ target[:, :, None])[:, :, 0].T
        scaled = [fits * scale for scale in (SCALES if self.base.target else (1.0,))]
        return self._best(np.hstack(scaled), 4 * POOL)

    def descend(
        self, thetas: Array, steps: int, s: float = 1.0, rng: np.random.Generator | None = None
    ) -> Array:
        """Iteratively reweighted least squares of φ relaxed by s; with an rng, random weights."""
        phi = self.phi.relaxed(s)
        ridge = np.diag(self.lam * self.penalised)
        for _ in range(steps):
            u, t = self.losses(thetas)
            a, m = self.base.parabola(u)
            weights = a * np.repeat(phi.slope(t), self.group, axis=0)
            if rng is not None:
                noise = rng.exponential(size=(t.shape[0], t.shape[1]))
                weights = weights * np.repeat(noise, self.group, axis=0)
            pull = self.A.T @ (weights * (m - self.t[:, None]))
            columns = [
                self._weighted_fit(weights[:, k], pull[:, k], ridge) for k in range(u.shape[1])
            ]
            thetas = np.column_stack(columns)
        return thetas

    def _weighted_fit(self, weights: Array, pull: Array, ridge: Array) -> Array:
        gram = self.A.T @ (weights[:, None] * self.A) + ridge
        gram[np.diag_indices_from(gram)] += 1e-10 * (np.trace(gram) / self.size + 1e-300)
        return np.linalg.solve(gram, pull)


def margins_of(X: Array, y: Array) -> Array:
    """Rows y_i (x_i, 1)."""
    return y[:, None] * np.column_stack([X, np.ones(len(y))])


def all_but_last(size: int) -> Array:
    """The intercept is not penalised."""
    return np.arange(size) < size - 1


def as_risk(rows: Any, loss: Any) -> Callable[[RobustFit], Form]:
    """A statement as a Risk."""
    return lambda fit: Form(dc.Risk.from_loss(rows, loss, dc.l2(fit.lam)))


def as_problem(fit: RobustFit) -> Form:
    """A statement in cvxpy, φ(base(u)) as written, with coefficients and intercept apart."""
    w, b = cp.Variable(fit.size - 1), cp.Variable(1)
    u = fit.A[:, :-1] @ w + fit.A[:, -1] * b + fit.t
    loss = cp.sum(fit.phi.expression(fit.base.expression(u)))
    return Form(cp.Problem(cp.Minimize(loss + fit.lam / 2 * cp.sum_squares(w))), (w, b))
