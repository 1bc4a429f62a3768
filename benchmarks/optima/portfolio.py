"""Portfolios with concave costs  γ·w'Σw + c Σ log(1 + w/ε)  with  Σw = 1, w ≥ 0, μ'w ≥ r."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import piqp

from benchmarks.optima.instance import Array, Form, Instance

REWEIGHTINGS = 15


@dataclass(frozen=True)
class Portfolio(Instance):
    """Risk aversion is in `covariance`; `cost` and `bend` are c and ε."""

    covariance: Array
    mean: Array
    least: float
    cost: float
    bend: float

    @property
    def size(self) -> int:  # type: ignore[override]
        """w's length."""
        return len(self.mean)

    def objective(self, x: Array) -> float:
        """Risk and costs, those of tiny negative weights by their size."""
        return float(x @ self.covariance @ x + self.cost * np.log1p(np.abs(x) / self.bend).sum())

    def violation(self, x: Array) -> float:
        """Of the budget, the signs and the return."""
        short = (self.least - self.mean @ x) / abs(self.least)
        return float(max(abs(x.sum() - 1), -x.min(), short, 0.0))

    def form(self) -> Form:
        """As written."""
        w = cp.Variable(self.size, nonneg=True)
        costs = self.cost * cp.sum(cp.log(1 + w / self.bend))
        risk = cp.quad_form(w, self.covariance)
        return Form(cp.Problem(cp.Minimize(risk + costs), self._constraints(w)), (w,))

    def convex_concave(self) -> Form:
        """Costs as a constraint."""
        w, s = cp.Variable(self.size, nonneg=True), cp.Variable(self.size, nonneg=True)
        constraints = [*self._constraints(w), self.cost * cp.log1p(w / self.bend) <= s]
        risk = cp.quad_form(w, self.covariance)
        return Form(cp.Problem(cp.Minimize(risk + cp.sum(s)), constraints), (w,))

    def smooth(self) -> Form:
        """As written, from equal weights."""
        form = self.form()
        form.parts[0].value = np.full(self.size, 1 / self.size)
        return form

    def _constraints(self, w: cp.Variable) -> list[cp.Constraint]:
        return [cp.sum(w) == 1, self.mean @ w >= self.least]

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Quadratic programs with the costs' slopes at random points, each held to few assets."""
        found = [self._descend(rng) for _ in range(max(5, starts))]
        yield from sorted((w for w in found if self.violation(w) < 1e-6), key=self.objective)[:3]

    def _descend(self, rng: np.random.Generator) -> Array:
        w = rng.dirichlet(np.full(self.size, rng.choice([0.05, 0.3, 1.0])))
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
        solver.setup(
            P=2 * self.covariance,
            c=self._slopes(w),
            A=np.ones((1, self.size)),
            b=np.ones(1),
            G=-self.mean[None, :],
            h_u=np.array([-self.least]),
            x_l=np.zeros(self.size),
        )
        for _ in range(REWEIGHTINGS):
            solver.update(c=self._slopes(w))
            solver.solve()
            before, w = w, np.array(solver.result.x)
            if np.abs(w - before).max() < 1e-7:
                break
        return w

    def _slopes(self, w: Array) -> Array:
        return self.cost / (self.bend + np.maximum(w, 0))


def portfolio(seed: int) -> Portfolio:
    """20 assets of three factors; costs that keep few of them."""
    rng = np.random.default_rng(seed)
    n = 20
    loadings = rng.normal(size=(n, 3))
    covariance = loadings @ loadings.T / 3 + np.diag(rng.uniform(0.2, 1, n))
    mean = rng.uniform(0, 1, n)
    return Portfolio(covariance, mean, float(np.quantile(mean, 0.6)), 0.01, 0.01)
