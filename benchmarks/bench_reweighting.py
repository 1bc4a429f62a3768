"""Reweighted least squares and capped ℓp fits against plain loops in NumPy.

- Tukey's biweight, Cauchy's log(1 + u²/c) and the capped square on n × 50 with a fifth of outliers,
  ``dc.solve(risk, start="convex")`` against iteratively reweighted least squares, from the same
  ridge start and with the same tolerance.
- ``CappedSVC(p=1, eps=1)`` for five classes on n × 50, a whole fit, against finite Newton's method
  on every reweighting, class by class.

Angle losses of many classes: time against classes in ``growth.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor
from dcprog.foundation.arrays import Array
from dcprog.models import CappedSVC

LAM, TOL = 1.0, 1e-6


# --------------------------------------------------------------------------------------------------
# regression


def leverage_free(n: int, p: int = 50) -> tuple[Array, Array]:
    """A linear model, with a fifth of the targets far off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + rng.normal(size=n)
    y[: n // 5] += 20 + 5 * rng.normal(size=n // 5)
    return X, y


def risk_of(X: Array, y: Array, theta: Array, transform: dc.Transform) -> float:
    """Σ φ((y − Xw − b)²) + λ/2·‖w‖²."""
    squares = (y - X @ theta[:-1] - theta[-1]) ** 2
    return float(np.sum(transform(squares))) + LAM / 2 * float(theta[:-1] @ theta[:-1])


def reweighted(X: Array, y: Array, transform: dc.Transform, steps: int = 200) -> Array:
    """The textbook loop: weights φ'(r²), weighted normal equations."""
    A = np.column_stack([X, np.ones(len(y))])
    ridge = np.diag(np.r_[np.full(X.shape[1], LAM), 0.0])
    slope = float(transform.slope(np.zeros(1))[0])
    theta, value = np.linalg.solve(2 * slope * A.T @ A + ridge, 2 * slope * A.T @ y), np.inf
    for _ in range(steps):
        squares = (y - A @ theta) ** 2
        w = theta[:-1]
        before, value = value, float(np.sum(transform(squares))) + LAM / 2 * float(w @ w)
        if before - value <= TOL * value:
            break
        weighted = A * (2 * transform.slope(squares))[:, None]
        theta = np.linalg.solve(weighted.T @ A + ridge, weighted.T @ y)
    return theta


LOSSES = {
    # of u², not ½u²: twice the textbooks' with the constant 4.685/√2 = 3.31
    "Tukey": dc.tukey(dc.square(), 4.685),
    "log(1 + u²/4)": dc.log(dc.square(), 4.0),
    "capped square": dc.cap(dc.square(), 9.0),
}


def regression(name: str, n: int) -> Case:
    """A loss, at n samples."""
    (X, y), loss = leverage_free(n), LOSSES[name]
    steps = [0]

    def ours() -> Any:
        risk = dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(LAM))
        result = dc.solve(risk, start="convex", n_starts=1)
        steps[0] = result.n_iter
        return result.x

    return Case(
        f"{name}, {n} × 50",
        ours,
        (Competitor("reweighting in NumPy", lambda: reweighted(X, y, loss.transform), 1.2),),
        lambda theta: risk_of(X, y, theta, loss.transform),
        lambda *_: f"{steps[0]} steps",
    )


# --------------------------------------------------------------------------------------------------
# several classes


def classes(n: int, p: int, k: int, apart: float) -> tuple[Array, Any]:
    """Gaussian clouds, a tenth of the labels drawn anew."""
    rng = np.random.default_rng(0)
    middles, y = apart * rng.normal(size=(k, p)), rng.integers(k, size=n)
    X = middles[y] + 1.5 * rng.normal(size=(n, p))
    redrawn = rng.random(n) < 0.1
    y[redrawn] = rng.integers(k, size=int(redrawn.sum()))
    return X, y


def squared_slacks(A: Array, signs: Array, W: Array) -> Array:
    """[1 − s ∘ (AW)]₊², of shape (n, k)."""
    slacks: Array = np.maximum(1 - signs * (A @ W), 0) ** 2
    return slacks


def capped_objective(A: Array, signs: Array, W: Array, delta: float, gamma: float) -> float:
    """Σ_i min{√(g_i + δ), 1} + γ‖W‖² without the intercepts."""
    sizes = np.sqrt(squared_slacks(A, signs, W).sum(axis=1) + delta)
    return float(np.sum(np.minimum(sizes, 1.0))) + gamma * float(np.sum(W[:-1] ** 2))


def finite_newton(A: Array, sign: Array, d: Array, w: Array, ridge: Array) -> Array:
    """min Σ d [1 − s·(a·w)]₊² + ½ wᵀRw by full Newton steps, halved where they rise."""

    def value(v: Array) -> float:
        slack = np.maximum(1 - sign * (A @ v), 0)
        return float(d @ slack**2) + 0.5 * float(v @ (ridge * v))

    here = value(w)
    for _ in range(100):
        slack = 1 - sign * (A @ w)
        on = (slack > 0) & (d > 0)
        gradient = ridge * w - 2 * A[on].T @ (d[on] * sign[on] * slack[on])
        hessian = 2 * (A[on] * d[on, None]).T @ A[on]
        hessian[np.diag_indices_from(hessian)] += ridge + 1e-10
        step, t = np.linalg.solve(hessian, -gradient), 1.0
        while value(w + t * step) > here and t > 1e-8:
            t /= 2
        after = value(w + t * step)
        if here - after <= 1e-10 * max(here, 1e-10):
            break
        w, here = w + t * step, after
    return w


def capped_by_newton(X: Array, y: Any, gamma: float, delta: float) -> Array:
    """Reweighting (algorithm 1 of the paper), each weighted problem by finite Newton."""
    A = np.column_stack([X, np.ones(len(y))])
    k = int(y.max()) + 1
    signs = np.where(y[:, None] == np.arange(k), 1.0, -1.0)
    ridge = np.r_[np.full(X.shape[1], 2 * gamma), 0.0]
    W, value, d = np.zeros((A.shape[1], k)), np.inf, np.ones(len(y))
    for _ in range(500):
        for j in range(k):
            W[:, j] = finite_newton(A, signs[:, j], d, W[:, j], ridge)
        before, value = value, capped_objective(A, signs, W, delta, gamma)
        if before - value <= TOL * value:
            break
        g = squared_slacks(A, signs, W).sum(axis=1)
        d = np.where(np.sqrt(g + delta) <= 1.0, 0.5 / np.sqrt(g + delta), 0.0)
    return W


def capped(n: int, gamma: float = 1.0, delta: float = 1e-4) -> Case:
    """Five classes, n samples."""
    X, y = classes(n, 50, 5, 0.5)
    A, signs = np.column_stack([X, np.ones(n)]), np.where(y[:, None] == np.arange(5), 1.0, -1.0)
    model = CappedSVC(1.0, 1.0, gamma=gamma, delta=delta, n_starts=1)

    def ours() -> Array:
        model.fit(X, y)
        return np.vstack([model.coef_.T, model.intercept_])

    peer = Competitor("finite Newton in NumPy", lambda: capped_by_newton(X, y, gamma, delta), 2.0)
    return Case(
        f"capped ℓp, five classes, {n} × 50",
        ours,
        (peer,),
        lambda W: capped_objective(A, signs, W, delta, gamma),
        lambda *_: f"{model.n_iter_} steps",
        repeats=1,
    )


def cases(full: bool) -> Iterator[Case]:
    """All of them, up to a million samples if `full`."""
    for n in (10_000, 100_000, 1_000_000) if full else (10_000, 100_000):
        for name in LOSSES:
            yield regression(name, n)
    for n in (10_000, 100_000) if full else (10_000,):
        yield capped(n)
