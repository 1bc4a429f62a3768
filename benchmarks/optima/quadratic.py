"""Symmetric quadratics: x'Sx in a box, sparse principal components, phase retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import cvxpy as cp
import numpy as np
from scipy.optimize import least_squares

from benchmarks.optima.instance import Array, Form, Instance


@dataclass(frozen=True)
class BoxQuadratic(Instance):
    """max x'Sx over |x_j| ≤ 1, S positive semidefinite: a vertex is best."""

    S: Array

    @property
    def size(self) -> int:  # type: ignore[override]
        """x's length."""
        return len(self.S)

    def objective(self, x: Array) -> float:
        """−x'Sx."""
        return -float(x @ self.S @ x)

    def violation(self, x: Array) -> float:
        """Beyond the box."""
        return max(float(np.max(np.abs(x)) - 1), 0.0)

    def form(self) -> Form:
        """A convex function to be maximised."""
        x = cp.Variable(self.size)
        return Form(cp.Problem(cp.Maximize(cp.quad_form(x, self.S)), [x >= -1, x <= 1]), (x,))

    def convex_concave(self) -> Form:
        """The same."""
        return self.form()

    def smooth(self) -> Form:
        """The same, from a random point: 0 is stationary."""
        form = self.form()
        form.parts[0].value = np.random.default_rng(self.size).uniform(-1, 1, self.size)
        return form

    def exact(self) -> float:
        """All vertices, one of each pair ±x."""
        vertices = np.array([(1, *rest) for rest in product((-1, 1), repeat=self.size - 1)])
        return -float(np.max(np.einsum("vi,ij,vj->v", vertices, self.S, vertices)))

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Random vertices, one entry changed while that pays."""
        x = rng.choice([-1.0, 1.0], self.size)
        for j in np.tile(np.arange(self.size), self.size):
            x[j] = np.sign(self.S[j] @ x - self.S[j, j] * x[j]) or 1.0
        yield x


@dataclass(frozen=True)
class SparseComponent(Instance):
    """max x'Sx − λ‖x‖₁ over ‖x‖₂ ≤ 1."""

    S: Array
    lam: float

    @property
    def size(self) -> int:  # type: ignore[override]
        """x's length."""
        return len(self.S)

    def objective(self, x: Array) -> float:
        """λ‖x‖₁ − x'Sx."""
        return float(self.lam * np.abs(x).sum() - x @ self.S @ x)

    def violation(self, x: Array) -> float:
        """Beyond the ball."""
        return max(float(np.linalg.norm(x) - 1), 0.0)

    def form(self) -> Form:
        """A difference of convex functions in a ball."""
        x = cp.Variable(self.size)
        gain = cp.quad_form(x, self.S) - self.lam * cp.norm1(x)
        return Form(cp.Problem(cp.Maximize(gain), [cp.norm(x) <= 1]), (x,))

    def convex_concave(self) -> Form:
        """The quadratic as a constraint, s bounded by what it can be."""
        x, s = cp.Variable(self.size), cp.Variable()
        most = np.linalg.eigvalsh(self.S)[-1]
        constraints = [s <= cp.quad_form(x, self.S), s <= most, cp.norm(x) <= 1]
        return Form(cp.Problem(cp.Maximize(s - self.lam * cp.norm1(x)), constraints), (x,))

    def smooth(self) -> Form:
        """−t ≤ x ≤ t, from a random point."""
        start = np.random.default_rng(self.size).normal(size=self.size)
        x = cp.Variable(self.size, value=start / np.linalg.norm(start))
        t = cp.Variable(self.size, nonneg=True)
        gain = cp.quad_form(x, self.S) - self.lam * cp.sum(t)
        constraints = [x <= t, -t <= x, cp.sum_squares(x) <= 1]
        return Form(cp.Problem(cp.Maximize(gain), constraints), (x,))

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """The generalised power method from many points (Journée and others 2010)."""
        x = rng.normal(size=(self.size, starts)) * (rng.random((self.size, starts)) < 0.3)
        x = np.hstack([x, np.eye(self.size), np.linalg.eigh(self.S)[1]])
        for _ in range(500):
            pull = 2 * self.S @ x
            x = np.sign(pull) * np.maximum(np.abs(pull) - self.lam, 0)
            x = x / np.maximum(np.linalg.norm(x, axis=0), 1e-300)
        values = self.lam * np.abs(x).sum(axis=0) - np.einsum("ik,ij,jk->k", x, self.S, x)
        yield from x[:, np.argsort(values)[:3]].T


@dataclass(frozen=True)
class PhaseRetrieval(Instance):
    """Σ((b_i·x)² − y_i)²."""

    B: Array
    y: Array

    @property
    def size(self) -> int:  # type: ignore[override]
        """x's length."""
        return self.B.shape[1]

    def objective(self, x: Array) -> float:
        """Σ((b_i·x)² − y_i)²."""
        return float(np.sum(((self.B @ x) ** 2 - self.y) ** 2))

    def form(self) -> Form:
        """As written."""
        x = cp.Variable(self.size)
        return Form(cp.Problem(cp.Minimize(cp.sum_squares(cp.square(self.B @ x) - self.y))), (x,))

    def convex_concave(self) -> Form:
        """The squares as equalities."""
        x, z = cp.Variable(self.size), cp.Variable(len(self.y))
        problem = cp.Problem(cp.Minimize(cp.sum_squares(z - self.y)), [cp.square(self.B @ x) == z])
        return Form(problem, (x,))

    def smooth(self) -> Form:
        """As written, from a random point."""
        form = self.form()
        form.parts[0].value = np.random.default_rng(self.size).normal(size=self.size)
        return form

    def search(self, rng: np.random.Generator, starts: int) -> Iterator[Array]:
        """Levenberg and Marquardt's method from random points."""
        found = [self._descend(rng.normal(size=self.size)) for _ in range(max(5, starts // 5))]
        yield min(found, key=self.objective)

    def _descend(self, start: Array) -> Array:
        def rest(x: Array) -> Array:
            return (self.B @ x) ** 2 - self.y

        def slopes(x: Array) -> Array:
            return 2 * (self.B @ x)[:, None] * self.B

        return least_squares(rest, start, jac=slopes, method="lm").x


def box_quadratic(seed: int) -> BoxQuadratic:
    """6 to 10 variables, S of rank n."""
    rng = np.random.default_rng(seed)
    n = 6 + seed % 5
    B = rng.normal(size=(n, n))
    return BoxQuadratic(B.T @ B)


def sparse_pca(seed: int) -> SparseComponent:
    """30 variables, 40 samples, two sparse components of like strength."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 30))
    for chosen in (slice(0, 5), slice(8, 14)):
        X[:, chosen] += 1.2 * rng.normal(size=(40, 1))
    S = X.T @ X / 40
    return SparseComponent(S, 0.6)


def phase_retrieval(seed: int) -> PhaseRetrieval:
    """8 unknowns, 20 squares of noise 0.1."""
    rng = np.random.default_rng(seed)
    B, x = rng.normal(size=(20, 8)), rng.normal(size=8)
    return PhaseRetrieval(B, (B @ x) ** 2 + 0.1 * rng.normal(size=20))
