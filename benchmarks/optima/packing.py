"""Circles in the smallest rectangle of given proportions: max(|c_x| + r, (|c_y| + r)/a)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize

from benchmarks.optima.instance import Array, Form, Instance


@dataclass(frozen=True)
class Packing(Instance):
    """Radii, and the height of the rectangle over its width."""

    radii: Array
    aspect: float

    @property
    def size(self) -> int:  # type: ignore[override]
        """Two coordinates a circle; x of all first."""
        return 2 * len(self.radii)

    @property
    def _pairs(self) -> tuple[Array, Array]:
        return np.triu_indices(len(self.radii), 1)

    def objective(self, x: Array) -> float:
        """Half the width."""
        across, along = x.reshape(2, -1)
        r = self.radii
        return float(max(np.max(np.abs(across) + r), np.max(np.abs(along) + r) / self.aspect))

    def violation(self, x: Array) -> float:
        """The worst overlap, relative to the two radii."""
        i, j = self._pairs
        centres = x.reshape(2, -1)
        apart = np.hypot(*(centres[:, i] - centres[:, j]))
        return max(float(np.max(1 - apart / (self.radii[i] + self.radii[j]))), 0.0)

    def form(self) -> Form:
        """Norms that may not fall below the sum of two radii."""
        c = cp.Variable((len(self.radii), 2))
        half = cp.maximum(
            cp.max(cp.abs(c[:, 0]) + self.radii), cp.max(cp.abs(c[:, 1]) + self.radii) / self.aspect
        )
        apart = [
            cp.norm(c[i] - c[j]) >= self.radii[i] + self.radii[j]
            for i, j in zip(*self._pairs, strict=True)
        ]
        return Form(cp.Problem(cp.Minimize(half), apart), (c,))

    def convex_concave(self) -> Form:
        """The same."""
        return self.form()

    def smooth(self) -> Form:
        """Squared distances; centres start at random, since where they coincide nothing moves."""
        n = len(self.radii)
        i, j = self._pairs
        start = np.random.default_rng(n).normal(size=(n, 2)) * self.radii.sum() / 2
        c, half = cp.Variable((n, 2), value=start), cp.Variable(value=self.radii.sum())
        room = cp.hstack([half - self.radii, self.aspect * half - self.radii])
        flat = cp.hstack([c[:, 0], c[:, 1]])
        apart = cp.sum(cp.square(c[i] - c[j]), axis=1) >= (self.radii[i] + self.radii[j]) ** 2
        return Form(cp.Problem(cp.Minimize(half), [flat <= room, -room <= flat, apart]), (c,))

    # ---- search: sequential quadratic programming from random places, pairs swapped --------------

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Half from random centres, then from the best with two circles changing places."""
        best, lowest = np.zeros(self.size), np.inf
        for k in range(max(4, starts // 10)):
            x = self._descend(self._proposal(best, lowest, k, starts // 20, rng))
            if self.violation(x) < 1e-8 and self.objective(x) < lowest:
                best, lowest = x, self.objective(x)
        yield best

    def _proposal(
        self, best: Array, lowest: float, k: int, fresh: int, rng: np.random.Generator
    ) -> Array:
        n = len(self.radii)
        wide = np.sqrt(np.sum(self.radii**2)) * 1.5
        if k < fresh or not np.isfinite(lowest):
            return rng.uniform(-wide, wide, self.size)
        centres = best.reshape(2, n) + 0.3 * self.radii.mean() * rng.normal(size=(2, n))
        i, j = rng.permutation(n)[:2]
        centres[:, [i, j]] = centres[:, [j, i]]
        if k % 2:
            centres[:, i] = rng.uniform(-wide, wide, 2)
        return centres.ravel()

    def _descend(self, x: Array) -> Array:
        """SLSQP in the centres and half the width."""
        n, r = len(self.radii), self.radii
        i, j = self._pairs
        pair = np.arange(len(i))

        def gaps(z: Array) -> Array:
            c = z[:-1].reshape(2, n)
            apart = ((c[:, i] - c[:, j]) ** 2).sum(axis=0) - (r[i] + r[j]) ** 2
            across, along = z[-1] - r, self.aspect * z[-1] - r
            return np.concatenate([apart, across - c[0], across + c[0], along - c[1], along + c[1]])

        def slopes(z: Array) -> Array:
            c = z[:-1].reshape(2, n)
            J = np.zeros((len(i), 2 * n + 1))
            for axis in (0, 1):
                apart = 2 * (c[axis, i] - c[axis, j])
                J[pair, axis * n + i], J[pair, axis * n + j] = apart, -apart
            eye, none, one = np.eye(n), np.zeros((n, n)), np.ones((n, 1))
            walls = [
                [-eye, none, one],
                [eye, none, one],
                [none, -eye, self.aspect * one],
                [none, eye, self.aspect * one],
            ]
            return np.vstack([J, np.block(walls)])

        def width(z: Array) -> float:
            return float(z[-1])

        last = np.append(np.zeros(2 * n), 1.0)
        settings: Any = {
            "method": "SLSQP",
            "jac": lambda z: last,
            "constraints": {"type": "ineq", "fun": gaps, "jac": slopes},
            "options": {"maxiter": 300, "ftol": 1e-12},
        }
        found = minimize(width, np.append(x, self.objective(x)), **settings)
        return found.x[:-1]


def packing_equal(seed: int) -> Packing:
    """3 to 10 unit circles, in a square first, then in rectangles."""
    rng = np.random.default_rng(seed)
    count = 3 + seed % 8
    return Packing(np.ones(count), 1.0 if seed < 8 else float(rng.uniform(1, 2)))


def packing_unequal(seed: int) -> Packing:
    """4 to 9 circles of radii from ½ to 2 in a square."""
    rng = np.random.default_rng(seed)
    return Packing(rng.uniform(0.5, 2, 4 + seed % 6), 1.0)
