"""Capped losses of a dozen samples: the best over which samples are given up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import piqp

from benchmarks.optima.convex import Hinge
from benchmarks.optima.instance import Array
from benchmarks.optima.robust_fit import RobustFit


class Enumerated(RobustFit):
    """F* = min over the sets K that are kept of  c·(n − |K|) + min_θ Σ_K base + ridge."""

    def exact(self) -> float:
        """Sets in the order of what giving up costs; those that cost F already are left out."""
        n, cap = len(self.t), self.phi.c
        best = np.inf
        for dropped in range(n + 1):
            if cap * dropped >= best:
                break
            for gone in combinations(range(n), dropped):
                kept = np.setdiff1d(np.arange(n), gone)
                best = min(best, self.objective(self.convex_fit(kept)))
        return float(best)

    def convex_fit(self, kept: Array) -> Array:
        """The minimiser of the convex problem on some samples: F there is no higher than its sum.

        A quadratic program in (θ, ξ) with ξ ≥ 1 − u and ξ ≥ 0.
        """
        A, k, q = self.A[kept], len(kept), self.size
        linear = isinstance(self.base, Hinge)
        curved = np.concatenate([self.lam * self.penalised, np.full(k, 0.0 if linear else 2.0)])
        cost = np.concatenate([np.zeros(q), np.full(k, 1.0 if linear else 0.0)])
        below = np.concatenate([np.full(q, -1e6), np.zeros(k)])
        solver = piqp.DenseSolver()
        solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
        solver.setup(
            P=np.diag(curved), c=cost, G=np.hstack([-A, -np.eye(k)]), h_u=-np.ones(k), x_l=below
        )
        solver.solve()
        return np.array(solver.result.x[:q])
