"""The convergence theory of the multiclass capped ℓp-norm SVM, checked by measurement.

The model is that of Nie, Wang and Huang (AAAI 2017), with a smoothing δ ≥ 0:

    J_δ(W, b) = Σ_i h(g_i) + γ‖W‖²,  h(u) = min((u + δ)^{p/2}, ε),  g_i = ‖[1 − y_i∘(Wx_i + b)]₊‖².

Its algorithm takes weights d_i = h'(g_i) and minimises Σ d_i g_i + γ‖W‖², again and again. The
script runs it on real and random data for p = 0.5, 1, 1.5 and 2, and measures

* theorem 1 (descent): both inequalities of its proof at every step, and what follows from them;
* theorem 2 (a fixed point is stationary): gradient and criticality residual where the runs end,
  and the point at the cap's kink where the theorem as printed fails;
* the criticality gap the library reports, against Clarabel;
* the published single block pass a weighting, which stalls for p < 2, against exact steps.

Every number is computed here in NumPy, from the points a run went through. Claims of the paper
that do not hold are in the table too, and fail as expected. The exit status is 1 if any claim
comes out otherwise.

Run ``python examples/verify_capped_convergence.py --output folder`` for two plots; ``--full``
takes more data, seeds and penalties.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from common import Claim, at_most, print_claims
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import minmax_scale

import dcprog as dc
from dcprog.losses import squared_hinge
from dcprog.models import CappedSVC
from dcprog.penalties import l2
from dcprog.risk import Risk
from dcprog.rows import Margins
from dcprog.transforms import cap_at

Array = np.ndarray
POWERS = (0.5, 1.0, 1.5, 2.0)
DELTA = 1e-8
PASSES = 2000

# What a claim may miss by; values and inequalities are relative to 1 + |J|.
ROUNDING = 1e-12
GAP = 1e-6
RESIDUAL = 1e-3
GRADIENT = 5e-3  # relative to its terms; of the order √(gap · weights), which reach 1e5
TIE = 1e-9  # relative distance to ε below which a sample counts as at the cap
KINK = 100.0  # a residual below KINK·√δ counts as zero: smoothing rounds the kink that far


# ---- the model in NumPy --------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """J_δ on some data. A point θ stacks the rows w_1, …, w_c of W and then b_1, …, b_c."""

    X: Array
    y: Array
    p: float
    eps: float
    gamma: float
    delta: float

    @cached_property
    def signs(self) -> Array:
        """y_i ∈ {−1, +1}^c, one column for two classes."""
        classes = np.unique(self.y)
        shown = classes[1:] if classes.size == 2 else classes
        return np.where(self.y[:, None] == shown, 1.0, -1.0)

    def split(self, theta: Array) -> tuple[Array, Array]:
        """W of shape (c, d) and b of shape (c,)."""
        d = self.X.shape[1]
        c = theta.size // (d + 1)
        return theta[: c * d].reshape(c, d), theta[c * d :]

    def margins(self, theta: Array) -> Array:
        W, b = self.split(theta)
        return self.signs * (self.X @ W.T + b)

    def g(self, theta: Array) -> Array:
        return np.sum(np.maximum(1 - self.margins(theta), 0) ** 2, axis=1)

    def h(self, g: Array) -> Array:
        return np.minimum((g + self.delta) ** (self.p / 2), self.eps)

    def weights(self, g: Array) -> Array:
        """d_i = h'(g_i); at the cap the left slope, beyond it 0."""
        inside = (g + self.delta) ** (self.p / 2) <= self.eps
        with np.errstate(divide="ignore"):
            slope = self.p / 2 * (g + self.delta) ** (self.p / 2 - 1)
        return np.where(inside, slope, 0.0)

    def ridge(self, theta: Array) -> float:
        return self.gamma * float(np.sum(self.split(theta)[0] ** 2))

    def value(self, theta: Array) -> float:
        return float(np.sum(self.h(self.g(theta)))) + self.ridge(theta)

    def pull(self, theta: Array) -> Array:
        """∂g_i/∂(W, b): −2 (y_i∘r_i)(x_i, 1)ᵀ, of shape (n, c, d + 1)."""
        residual = np.maximum(1 - self.margins(theta), 0)
        return -2 * (self.signs * residual)[:, :, None] * self.extended[:, None, :]

    @cached_property
    def extended(self) -> Array:
        """Rows (x_i, 1)."""
        return np.column_stack([self.X, np.ones(len(self.X))])

    def ridge_slope(self, theta: Array) -> Array:
        W, b = self.split(theta)
        return np.column_stack([2 * self.gamma * W, np.zeros_like(b)])

    def spec(self) -> Risk:
        """The library's declaration of the same function."""
        estimator = CappedSVC(p=self.p, eps=self.eps, gamma=self.gamma, delta=self.delta)
        return estimator.spec(self.X, self.y)


@dataclass(frozen=True)
class Run:
    """The points an algorithm went through, and what the library says of them."""

    data: str
    model: Model
    algorithm: str
    points: list[Array]
    result: dc.Result

    @cached_property
    def values(self) -> Array:
        """J_δ along the run."""
        return np.array([self.model.value(point) for point in self.points])


def descend(data: str, model: Model, algorithm: str, max_iter: int = PASSES) -> Run:
    """Run the library and keep every point; ``"exact"`` or ``"single pass"``."""
    points: list[Array] = []
    result = dc.solve(
        model.spec(),
        solver="alternating" if algorithm == "single pass" else "newton",
        tol=1e-12,
        max_iter=max_iter,
        callback=lambda progress: points.append(progress.x),
    )
    return Run(data, model, algorithm, points, result)


# ---- data ----------------------------------------------------------------------------------------


def blobs(n: int, d: int, c: int, noise: float, seed: int) -> tuple[Array, Array]:
    """Gaussian classes; a share of the labels is drawn anew."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d)) + 2 * np.eye(c, d)[y]
    return X, relabel(y, noise, rng)


def relabel(y: Array, noise: float, rng: np.random.Generator) -> Array:
    y, drawn = y.copy(), rng.random(y.size) < noise
    y[drawn] = rng.integers(0, y.max() + 1, drawn.sum())
    return y


def real_data(full: bool) -> dict[str, tuple[Array, Array]]:
    wine, labels = load_wine(return_X_y=True)
    noisy = relabel(labels, 0.3, np.random.default_rng(0))
    sets = {
        "Wine": (wine, labels),
        "Wine, 30% labels redrawn": (wine, noisy),
        "breast cancer": load_breast_cancer(return_X_y=True),
    }
    if full:
        sets["digits 0-4"] = load_digits(n_class=5, return_X_y=True)
    return {name: (minmax_scale(X), y) for name, (X, y) in sets.items()}


def random_data(seeds: int) -> Iterable[tuple[str, tuple[Array, Array]]]:
    for seed in range(seeds):
        yield "random, 3 classes", blobs(60, 4, 3, 0.2, seed)
        yield "random, 2 classes", blobs(60, 4, 2, 0.2, seed)
        yield "random, d > n", blobs(20, 40, 3, 0.2, seed)


def models(full: bool) -> Iterable[tuple[str, Model]]:
    """Every problem: ε by the 10 % heuristic on real data, 1 on random data."""
    for p in POWERS:
        for gamma in (0.01, 0.1, 1.0) if full else (0.1,):
            for name, (X, y) in real_data(full).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    eps = CappedSVC(p=p, gamma=gamma).fit(X, y).eps_
                yield name, Model(X, y, p, eps, gamma, DELTA)
            for name, (X, y) in random_data(20 if full else 5):
                held = 50 * gamma if X.shape[1] > len(X) else gamma  # else all samples are fitted
                yield name, Model(X, y, p, 1.0, held, DELTA)


# ---- theorem 1 -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Descent:
    """The worst over a run's steps, each relative to 1 + J; above 0 means violated."""

    supergradient: float  # h(g⁺) − h(g) − d(g⁺ − g), the largest over the samples
    optimality: float  # F(x⁺) + ⟨d, g(x⁺)⟩ − F(x) − ⟨d, g(x)⟩
    rise: float  # J_δ(x⁺) − J_δ(x)
    shortfall: float  # γ‖W⁺ − W‖² − (J_δ(x) − J_δ(x⁺))
    sandwich: float  # how far J_δ lies outside [J, J + nδ^{p/2}]


def measure_descent(run: Run) -> Descent:
    model = run.model
    rows = [_step(model, x, new) for x, new in pairwise(run.points)]
    worst = np.max(rows, axis=0) if rows else np.zeros(4)
    sharp = replace(model, delta=0.0)
    limit = len(model.X) * model.delta ** (model.p / 2)
    excess = run.values - [sharp.value(point) for point in run.points]
    outside = np.maximum(-excess, excess - limit) / (1 + run.values)
    return Descent(worst[0], worst[1], worst[2], worst[3], float(np.max(outside)))


def _step(model: Model, x: Array, new: Array) -> list[float]:
    g, g_new = model.g(x), model.g(new)
    d, value = model.weights(g), model.value(x)
    fall = value - model.value(new)
    moved = float(np.sum((model.split(new)[0] - model.split(x)[0]) ** 2))
    measured = [
        float(np.max(model.h(g_new) - model.h(g) - d * (g_new - g))),
        model.ridge(new) + float(d @ g_new) - model.ridge(x) - float(d @ g),
        -fall,
        model.gamma * moved - fall,
    ]
    return [number / (1 + value) for number in measured]


# ---- theorem 2 -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stationarity:
    """What is measured where a run ends."""

    gradient: float  # ‖∇J_δ‖ relative to the norms of its terms
    residual: float  # of the unsmoothed J
    at_start: float  # the same residual where the run started
    kinks: int  # samples with r_i = 0 that enter it
    to_cap: float  # relative distance of the nearest sample to the cap
    below: float  # J_δ at the limit minus its least value nearby, relative


def measure_stationarity(run: Run) -> Stationarity:
    model, x = run.model, run.points[-1]
    losses = (model.g(x) + model.delta) ** (model.p / 2)
    residual, kinks = criticality_residual(model, x)
    return Stationarity(
        gradient=gradient_norm(model, x),
        residual=residual,
        at_start=criticality_residual(model, run.points[0])[0],
        kinks=kinks,
        to_cap=float(np.min(np.abs(losses - model.eps))) / model.eps,
        below=deepest_nearby(model, x),
    )


def gradient_norm(model: Model, x: Array) -> float:
    """‖∇J_δ‖ over the sum of its terms' norms; the gradient exists where no sample is at the cap.

    Relative, because the weights of samples close to their margin go up to (p/2)δ^{p/2−1}.
    """
    terms = model.weights(model.g(x))[:, None, None] * model.pull(x)
    slope = model.ridge_slope(x)
    size = np.linalg.norm(slope) + np.sum(np.linalg.norm(terms, axis=(1, 2)))
    return float(np.linalg.norm(terms.sum(axis=0) + slope) / (1 + size))


def criticality_residual(model: Model, x: Array) -> tuple[float, int]:
    """Least norm of a generalised gradient of the unsmoothed J, and the samples with r_i = 0.

    A sample at the cap may take any share τ of its gradient. One with r_i = 0 adds, for p ≤ 1,
    −(y_i∘v)(x_i, 1)ᵀ with v ≥ 0 on the classes whose margin is 1, and ‖v‖ ≤ 1 if p = 1. A
    smoothed point meets both only up to a tolerance, KINK·√δ and TIE.
    """
    g, width = model.g(x), KINK * np.sqrt(model.delta)
    loss = g ** (model.p / 2)
    tie = np.abs(loss - model.eps) <= TIE * model.eps
    kink = (g <= width**2) & (model.p <= 1) & ~tie
    smooth = (loss < model.eps) & (g > 0) & ~tie & ~kink
    slope = np.zeros(g.size)
    slope[smooth | tie] = model.p / 2 * g[smooth | tie] ** (model.p / 2 - 1)
    parts = slope[:, None, None] * model.pull(x)
    total = parts[smooth].sum(axis=0) + model.ridge_slope(x)
    active = kink[:, None] & (np.abs(1 - model.margins(x)) <= width)
    kinks = np.flatnonzero(active.any(axis=1))
    if kinks.size + tie.sum() == 0:
        return float(np.linalg.norm(total)), 0
    terms, constraints = [], []
    if kinks.size:
        v = cp.Variable((kinks.size, total.shape[0]), nonneg=True)
        terms.append(-cp.multiply(model.signs[kinks], v).T @ model.extended[kinks])
        constraints += [v[~active[kinks]] == 0] if np.any(~active[kinks]) else []
        constraints += [cp.norm(v, 2, axis=1) <= 1] if model.p == 1 else []
    for part in parts[tie]:
        share = cp.Variable(nonneg=True)
        terms.append(share * part)
        constraints.append(share <= 1)
    objective = cp.norm(cp.vec(total + sum(terms), order="C"))
    problem = cp.Problem(cp.Minimize(objective), constraints)
    return clarabel(problem), kinks.size


def deepest_nearby(model: Model, x: Array, directions: int = 100) -> float:
    """(J_δ(x) − min J_δ over random points nearby)/(1 + J_δ), above 0 if x is no local minimum.

    Nearby: within 1e-3, and so close that no sample gets over the cap.
    """
    g, reach = model.g(x), np.linalg.norm(model.extended, axis=1)
    limit = model.eps ** (2 / model.p) - model.delta  # the g of a sample at the cap
    to_cap = np.abs(np.sqrt(max(limit, 0.0)) - np.sqrt(g)) / reach
    rng = np.random.default_rng(0)
    around = rng.standard_normal((directions, x.size))
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    around *= min(1e-3, float(np.min(to_cap))) * rng.random((directions, 1))
    value = model.value(x)
    return (value - min(model.value(x + move) for move in around)) / (1 + value)


def clarabel(problem: cp.Problem) -> float:
    """Solve, without a word where Clarabel is not sure: what it returns is judged here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(problem.solve(solver=cp.CLARABEL))


class Weighted:
    """min Σ d_i g_i + γ‖W‖² by Clarabel, independent of the library's solvers."""

    def __init__(self, model: Model) -> None:
        n, c = model.signs.shape
        self.W, self.b = cp.Variable((c, model.X.shape[1])), cp.Variable((1, c))
        self.r, self.root = cp.Variable((n, c), nonneg=True), cp.Parameter((n, 1), nonneg=True)
        scores = model.X @ self.W.T + np.ones((n, 1)) @ self.b
        self.within = self.r >= 1 - cp.multiply(model.signs, scores)
        squares = cp.sum_squares(cp.multiply(self.root @ np.ones((1, c)), self.r))
        objective = squares + model.gamma * cp.sum_squares(self.W)
        self.problem = cp.Problem(cp.Minimize(objective), [self.within])

    def gap(self, model: Model, x: Array) -> tuple[float, float]:
        """Bounds of Σ d g + γ‖W‖² at x minus its minimum, with the weights of x.

        Clarabel's primal and dual points are both evaluated here, so the bounds hold however
        accurate it was.
        """
        g = model.g(x)
        d = model.weights(g)
        self.root.value = np.sqrt(d)[:, None]
        clarabel(self.problem)
        lowest = np.concatenate([self.W.value.ravel(), self.b.value.ravel()])
        at_x = float(d @ g) + model.ridge(x)
        above = float(d @ model.g(lowest)) + model.ridge(lowest)
        return at_x - above, at_x - dual_value(model, d, self.within.dual_value)


def dual_value(model: Model, d: Array, alpha: Array) -> float:
    """A lower bound of the weighted minimum: Σα − Σα²/4d − ‖Σ α y xᵀ‖²/4γ with α ≥ 0, Σ α y = 0."""
    held = d > 0
    alpha, signs = np.maximum(alpha[held], 0), model.signs[held]
    positive, negative = ((alpha * (signs == side)).sum(axis=0) for side in (1, -1))
    least = np.minimum(positive, negative)
    for side, total in ((1, positive), (-1, negative)):
        alpha = np.where(signs == side, alpha * (least / np.maximum(total, 1e-300)), alpha)
    W = (signs * alpha).T @ model.X[held] / (2 * model.gamma)
    quadratic = np.sum(alpha**2 / (4 * d[held, None])) + model.gamma * np.sum(W**2)
    return float(np.sum(alpha) - quadratic)


def gap_disagreement(run: Run) -> tuple[float, float]:
    """How far reported gaps are from either bound at five points; the last upper bound."""
    weighted, last = Weighted(run.model), len(run.points) - 1
    worst = 0.0
    for t in sorted({0, 1, 2, last // 2, last} & set(range(last + 1))):
        low, high = weighted.gap(run.model, run.points[t])
        reported = run.result.history.gap[t]
        worst = max(worst, max(abs(low - reported), abs(high - reported)) / (1 + run.values[t]))
    return worst, high / (1 + run.values[-1])


# ---- the kink of the cap, and other degenerate points --------------------------------------------


@dataclass(frozen=True)
class Kink:
    """One sample x = y = 1 without intercept, p = 2, at the cap: J(w) = min([1 − w]₊², ε) + γw²."""

    gamma: float

    @property
    def point(self) -> float:
        return 1 / (1 + self.gamma)

    @property
    def eps(self) -> float:
        return (1 - self.point) ** 2  # (γ/(1 + γ))², rounded so that the sample is exactly at ε

    def value(self, w: Any) -> Any:
        return np.minimum(np.maximum(1 - w, 0) ** 2, self.eps) + self.gamma * w**2

    def majorant(self, w: Any) -> Any:
        """The majorant at w* for d = 1, the left slope of h at the cap."""
        return np.maximum(1 - w, 0) ** 2 + self.gamma * w**2

    def slope(self, direction: int, h: float = 1e-7) -> float:
        """One-sided slope of J at w*."""
        return (self.value(self.point + direction * h) - self.value(self.point)) / h

    def solve(self, start: float) -> tuple[float, dc.Result]:
        """Where the library ends."""
        rows = Margins(np.ones((1, 1)), np.ones((1, 1)), fit_intercept=False)
        risk = Risk(rows, squared_hinge(), transform=cap_at(self.eps), penalty=l2(2 * self.gamma))
        result = dc.solve(risk, start=np.array([start]))
        return float(np.asarray(result.x)[0]), result


def published_step(model: Model, x: Array) -> Array:
    """W and b of the published closed form, one block pass with the weights of x."""
    X, Y, d = model.X, model.signs, model.weights(model.g(x))
    Z = Y + Y * np.maximum(model.margins(x) - 1, 0)
    with np.errstate(all="ignore"):
        s = np.sum(d)
        H = np.diag(d) - np.outer(d, d) / s
        gram, right = X.T @ H @ X + model.gamma * np.eye(X.shape[1]), X.T @ H @ Z
        W = np.linalg.solve(gram, right).T
        b = (Z.T @ d - W @ (X.T @ d)) / s
    return np.concatenate([W.ravel(), b])


# ---- the single pass -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Single:
    """One run of the comparison (n = 40, d = 4, c = 3, γ = 0.5, ε = 1)."""

    p: float
    label: str
    seed: int
    run: Run
    value: float  # the unsmoothed J at the end
    gap: float  # of the weighted problem, bounded from below


def compare_passes(seeds: int) -> list[Single]:
    """Exact steps and the single pass for growing δ."""
    rows = []
    for p in POWERS:
        for seed in range(seeds):
            X, y = blobs(40, 4, 3, 0.3, seed)
            model = Model(X, y, p, 1.0, 0.5, DELTA)
            rows.append(measured("exact", model, seed))
            for delta in (DELTA, 1e-4, 1e-3, 1e-2):
                rows.append(measured(f"single, δ={delta:g}", replace(model, delta=delta), seed))
    return rows


def measured(label: str, model: Model, seed: int, passes: int = PASSES) -> Single:
    """Run to the end and judge the end by the exact, unsmoothed measures."""
    run = descend("comparison", model, "exact" if label == "exact" else "single pass", passes)
    sharp, x = replace(model, delta=0.0), run.points[-1]
    return Single(model.p, label, seed, run, sharp.value(x), Weighted(model).gap(model, x)[0])


def steps_until(values: Array, within: float) -> int:
    """Steps until J_δ is this close to where it ends, relatively."""
    return int(np.argmax(values - values[-1] <= within * (1 + values[-1])))


# ---- claims --------------------------------------------------------------------------------------


def descent_claims(name: str, found: list[Descent]) -> list[Claim]:
    def worst(pick: Callable[[Descent], float]) -> float:
        return max(0.0, *(pick(one) for one in found))

    return [
        at_most(f"{name}: h(g⁺) ≤ h(g) + d(g⁺ − g)", worst(lambda f: f.supergradient), ROUNDING),
        at_most(
            f"{name}: F(x⁺) + ⟨d,g(x⁺)⟩ ≤ F(x) + ⟨d,g(x)⟩", worst(lambda f: f.optimality), ROUNDING
        ),
        at_most(f"{name}: J_δ never rises", worst(lambda f: f.rise), ROUNDING),
        at_most(f"{name}: J_δ falls by ≥ γ‖W⁺ − W‖²", worst(lambda f: f.shortfall), ROUNDING),
        at_most(f"{name}: J ≤ J_δ ≤ J + nδ^(p/2)", worst(lambda f: f.sandwich), ROUNDING),
    ]


def stationarity_claims(runs: list[Run], found: list[Stationarity]) -> list[Claim]:
    pairs = list(zip(runs, found, strict=True))
    moved = [one.at_start for run, one in pairs if run.values[0] - run.values[-1] > GAP]
    residuals = [one.residual for run, one in pairs if run.model.p != 1.5]
    convex = [one.below for run, one in pairs if run.model.p >= 1]
    nearest = min(one.to_cap for one in found)
    return [
        Claim(
            "theorem 2: every run ends off the cap", f"nearest {nearest:.1e} of ε", nearest > TIE
        ),
        at_most(
            "theorem 2: ∇J_δ = 0 there, relative to its terms",
            max(one.gradient for one in found),
            GRADIENT,
        ),
        at_most("theorem 2: criticality residual of J = 0, p ≠ 1.5", max(residuals), RESIDUAL),
        sharper_claim([run.model for run in runs if run.model.p == 1.5]),
        Claim(
            "theorem 2: it is not 0 where a run starts",
            f"least {min(moved):.1e}",
            min(moved) > RESIDUAL,
        ),
        at_most("theorem 2: the limit is a local minimum if p ≥ 1", max(0.0, *convex), ROUNDING),
    ]


def sharper_claim(found: list[Model]) -> Claim:
    """For 1 < p < 2 smoothing moves the slope of J by δ^{(p−1)/2} a sample close to r_i = 0."""
    worst = {}
    for delta in (1e-8, 1e-12, 1e-16):
        runs = [descend("", replace(model, delta=delta), "exact") for model in found]
        ends = [criticality_residual(run.model, run.points[-1])[0] for run in runs]
        worst[delta] = max(ends)
    return Claim(
        "theorem 2: the same for p = 1.5 as δ → 0",
        ", ".join(f"{end:.0e} (δ={delta:g})" for delta, end in worst.items()),
        worst[1e-16] <= RESIDUAL,
    )


def gap_claims(found: list[tuple[float, float]]) -> list[Claim]:
    return [
        at_most("gap as reported = gap by Clarabel", max(miss for miss, _ in found), GAP),
        at_most("gap at the end = 0, by a dual bound", max(end for _, end in found), GAP),
    ]


def kink_claims() -> list[Claim]:
    gammas = (0.25, 0.5, 1.0, 2.0)
    kinks = [Kink(gamma) for gamma in gammas]
    stays = [kink.solve(kink.point) for kink in kinks]
    drift = max(abs(end - kink.point) for kink, (end, _) in zip(kinks, stays, strict=True))
    miss = max(abs(k.slope(-1) + 2 * k.gamma / (1 + k.gamma)) for k in kinks)
    half = Kink(0.5)
    left, below = half.solve(half.point - 1e-6)
    gap = max(result.gap for _, result in stays)
    return [
        Claim(
            "kink: w* = 1/(1 + γ) is a fixed point",
            f"moved {drift:.0e}, gap {gap:.0e}",
            drift <= 1e-12 and gap <= 1e-12,
        ),
        at_most("kink: slope to the left is −2γ/(1 + γ)", miss, 1e-6),
        Claim(
            "kink: a fixed point is stationary (as printed)",
            f"γ=½: slope {half.slope(-1):.3f}, J(0)={half.value(0.0):.3f} < "
            f"{half.value(half.point):.3f}=J(w*)",
            half.slope(-1) >= -1e-6,
            expected=False,
        ),
        Claim(
            "kink: started at w* − 1e-6 it finds w = 0",
            f"w = {left:.1e}, J = {below.value:.3f}",
            abs(left) <= 1e-9,
        ),
    ]


def equality_claim() -> Claim:
    """All samples capped: every b minimises the weighted problem, so equal values prove nothing."""
    model = Model(np.zeros((2, 1)), np.array([0, 1]), 2.0, 0.25, 1.0, 0.0)
    one, other = np.array([0.0, -0.4]), np.array([0.0, 0.4])
    weighted = [float(np.sum(model.weights(model.g(x)))) for x in (one, other)]
    equal = model.value(one) == model.value(other) and weighted == [0.0, 0.0]
    return Claim(
        "J(x⁺) = J(x) only at a fixed point (as printed)",
        "two minimisers of one weighted problem, J equal, b = ∓0.4",
        not equal,
        expected=False,
    )


def infinite_weight_claims(runs: list[Run]) -> list[Claim]:
    starts = [replace(run.model, delta=0.0) for run in runs if run.model.p < 2]
    firsts = [run.points[0] for run in runs if run.model.p < 2]
    shares, broken = [], 0
    for model, x in zip(starts, firsts, strict=True):
        shares.append(float(np.mean(np.isinf(model.weights(model.g(x))))))
        broken += not np.all(np.isfinite(published_step(model, x)))
    infinite = sum(share > 0 for share in shares)
    return [
        Claim(
            "without δ all weights are finite, p < 2 (as printed)",
            f"infinite in {infinite} of {len(shares)} first fits, for {np.mean(shares):.0%} of the "
            f"samples; then NaN in {broken}",
            infinite == 0,
            expected=False,
        ),
        Claim(
            "the library refuses δ = 0 with p < 2",
            f"{sum(map(_refused, starts[:3]))} of 3",
            all(map(_refused, starts[:3])),
        ),
    ]


def _refused(model: Model) -> bool:
    try:
        model.spec()
    except ValueError:
        return True
    return False


def all_capped_claims() -> list[Claim]:
    """From a start that fits nobody, with a tiny cap."""
    X, y = blobs(60, 4, 3, 0.2, 0)
    model = Model(X, y, 2.0, 1e-12, 0.1, 0.0)
    start = np.random.default_rng(0).normal(0, 0.01, 15)
    result = dc.solve(model.spec(), start=start)
    W, b = model.split(np.asarray(result.x))
    kept = np.array_equal(b, model.split(start)[1])
    finite = bool(np.all(np.isfinite(published_step(model, start))))
    return [
        Claim(
            "all samples capped: W = 0 and b is kept",
            f"‖W‖ = {np.linalg.norm(W):.0e}, b {'kept' if kept else 'moved'}",
            float(np.linalg.norm(W)) <= 1e-10 and kept,
        ),
        Claim(
            "there the closed form is finite (as printed)",
            "finite" if finite else "0/0 = NaN",
            finite,
            expected=False,
        ),
    ]


def pass_claims(rows: list[Single]) -> list[Claim]:
    by = {(row.p, row.label, row.seed): row for row in rows}
    seeds = sorted({row.seed for row in rows})

    def excess(p: float, label: str) -> Array:
        exact = np.array([by[p, "exact", seed].value for seed in seeds])
        return np.array([by[p, label, seed].value for seed in seeds]) / exact - 1

    def gaps(p: float, label: str) -> Array:
        return np.array([by[p, label, seed].gap for seed in seeds])

    stalled = f"single, δ={DELTA:g}"
    claims = []
    for p in (0.5, 1.0):
        high, gap = excess(p, stalled), gaps(p, stalled)
        own = max(by[p, stalled, seed].run.result.gap for seed in seeds)
        claims.append(
            Claim(
                f"p={p:g}: the single pass gets critical (as printed)",
                f"J {high.min():+.0%} to {high.max():+.0%} after {PASSES} passes; gap "
                f"{gap.min():.1g} to {gap.max():.1g}, its own majorant's ≤ {own:.0e}",
                bool(np.all(gap <= 1e-2)),
                expected=False,
            )
        )
    end, gap = excess(2.0, stalled), gaps(2.0, stalled)
    same = np.sum(np.abs(end) <= GAP)
    claims.append(
        Claim(
            "p=2: the single pass gets critical",
            f"gap ≤ {gap.max():.0e}; J as exact in {same} of {len(seeds)}, all {end.min():+.1%} "
            f"to {end.max():+.1%}",
            bool(np.all(gap <= GAP)),
        )
    )
    for p, holds in ((1.0, True), (0.5, False)):
        cures = [np.mean(excess(p, f"single, δ={delta:g}")) for delta in (1e-4, 1e-3, 1e-2)]
        claims.append(
            Claim(
                f"p={p:g}: with δ = 1e-4, 1e-3, 1e-2 it ends within 5%",
                "mean J " + ", ".join(f"{cure:+.1%}" for cure in cures),
                bool(max(cures) <= 0.05),
                expected=holds,
            )
        )
    return claims


def speed_claims(runs: list[Run], rows: list[Single]) -> list[Claim]:
    """How many steps to within 1e-4 of the end."""
    stalled = f"single, δ={DELTA:g}"
    exact = runs + [row.run for row in rows if row.label == "exact"]
    groups = {
        "exact, p ≥ 1.5": [run for run in exact if run.model.p >= 1.5],
        "exact, p ≤ 1": [run for run in exact if run.model.p <= 1],
        "single pass": [row.run for row in rows if row.label == stalled],
    }
    claims = []
    for name, members in groups.items():
        steps = np.array([steps_until(run.values, 1e-4) for run in members])
        share = np.mean(steps <= 20)
        claims.append(
            Claim(
                f"{name}: in 90% of runs J_δ is within 1e-4 after 20 steps",
                f"{share:.0%} of {steps.size} runs; median {np.median(steps):.0f}, "
                f"at most {steps.max()}",
                bool(share >= 0.9),
                expected=name == "exact, p ≥ 1.5",
            )
        )
    return claims


# ---- output --------------------------------------------------------------------------------------


def print_runs(
    runs: list[Run],
    descents: list[Descent],
    ends: list[Stationarity],
    gaps: list[tuple[float, float]],
) -> None:
    """One line for each data set and p: the worst over its runs, the mean of J_δ."""
    groups: dict[tuple[str, float], list[int]] = defaultdict(list)
    for i, run in enumerate(runs):
        groups[run.data, run.model.p].append(i)
    print(
        f"\n{'data':<26}{'p':>4}{'runs':>5}{'steps':>6}{'J_δ':>9}{'capped':>7}{'kinks':>6}"
        f"{'gap':>9}{'∇J_δ rel.':>10}{'residual':>9}{'at start':>9}{'rise':>9}"
    )
    for (name, p), members in groups.items():
        of = [runs[i] for i in members]
        capped = [np.mean(run.model.weights(run.model.g(run.points[-1])) == 0) for run in of]
        print(
            f"{name:<26}{p:>4g}{len(of):>5}{max(run.result.n_iter for run in of):>6}"
            f"{np.mean([run.values[-1] for run in of]):>9.3f}{np.mean(capped):>7.0%}"
            f"{max(ends[i].kinks for i in members):>6}"
            f"{max(run.result.gap for run in of):>9.0e}"
            f"{max(ends[i].gradient for i in members):>10.0e}"
            f"{max(ends[i].residual for i in members):>9.0e}"
            f"{min(ends[i].at_start for i in members):>9.1g}"
            f"{max(0.0, *(descents[i].rise for i in members)):>9.0e}"
        )


def print_passes(rows: list[Single]) -> None:
    """J without smoothing and steps, means over the seeds."""
    labels = list(dict.fromkeys(row.label for row in rows))
    print(f"\n{'mean J (gap; steps)':<20}" + "".join(f"{label:>24}" for label in labels))
    for p in POWERS:
        cells = []
        for label in labels:
            of = [row for row in rows if (row.p, row.label) == (p, label)]
            value, gap = np.mean([row.value for row in of]), max(abs(row.gap) for row in of)
            steps = np.median([row.run.result.n_iter for row in of])
            cells.append(f"{value:.2f} ({gap:.0e}; {steps:.0f})")
        print(f"p = {p:<16g}" + "".join(f"{cell:>24}" for cell in cells))


def draw_descent(rows: list[Single], path: Path, seed: int = 0) -> None:
    """J_δ minus the lowest value found, for the exact steps and the single pass."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, 2, figsize=(9, 6.5), layout="constrained", sharex=True, sharey=True
    )
    styles = {"exact": "C0-", f"single, δ={DELTA:g}": "C3-", "single, δ=0.001": "C1--"}
    for ax, p in zip(axes.flat, POWERS, strict=True):
        chosen = {row.label: row.run for row in rows if (row.p, row.seed) == (p, seed)}
        judge = chosen["exact"].model  # one function for all three lines
        lines = {
            label: np.array([judge.value(x) for x in chosen[label].points]) for label in styles
        }
        lowest = min(values.min() for values in lines.values())
        for label, values in lines.items():
            above = np.maximum(values - lowest, 1e-9)
            above = above[: int(np.argmin(above)) + 1]  # the lowest run ends on the frame
            ax.loglog(np.arange(1, len(above) + 1), above, styles[label], label=label)
        ax.set(title=f"p = {p:g}", ylim=(1e-9, 100))
    for ax in axes[1]:
        ax.set_xlabel("points visited")
    for ax in axes[:, 0]:
        ax.set_ylabel("J_δ − lowest J_δ found, δ = 1e-8")
    axes[0, 0].legend(loc="lower right")
    figure.suptitle("exact steps and the single pass: n = 40, d = 4, c = 3, γ = 0.5, ε = 1")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_kink(path: Path, gamma: float = 0.5) -> None:
    """J with its majorant at the kink of the cap."""
    import matplotlib.pyplot as plt

    kink, w = Kink(gamma), np.linspace(-0.3, 1.25, 800)
    figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
    ax.plot(w, kink.value(w), "C0-", lw=2.5, label="J(w) = min([1 − w]₊², ε) + γw²")
    ax.plot(w, kink.majorant(w), "C3--", label="its majorant at w*, with d = 1")
    at = (kink.point, kink.value(kink.point))
    ax.plot(*at, "ko")
    text = "w* minimises the majorant,\nbut J falls to the left"
    ax.annotate(text, at, (0.66, 0.08), arrowprops={"arrowstyle": "->"})
    ax.plot(0, kink.value(0.0), "k^")
    ax.annotate("J(0) = ε < J(w*)", (0, kink.value(0.0)), (-0.16, 0.03))
    ax.set(
        xlabel="w", ylim=(0, 1.2), title=f"one sample at the cap: x = y = 1, p = 2, γ = {gamma:g}"
    )
    ax.legend(loc="upper right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> int:
    """Measure, print, draw; 0 if every claim came out as expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more data, seeds and penalties")
    parser.add_argument("--output", type=Path, help="folder for the plots")
    options = parser.parse_args()
    begun = time.perf_counter()
    problems = list(models(options.full))
    exact = [descend(name, model, "exact") for name, model in problems]
    single = [
        descend(name, replace(model, delta=1e-3), "single pass", 300) for name, model in problems
    ]
    descents = [measure_descent(run) for run in exact]
    ends = [measure_stationarity(run) for run in exact]
    gaps = [gap_disagreement(run) for run in exact]
    rows = compare_passes(20 if options.full else 4)
    claims = [
        *descent_claims("theorem 1, exact", descents),
        *descent_claims("theorem 1, single pass", [measure_descent(run) for run in single]),
        equality_claim(),
        *stationarity_claims(exact, ends),
        *gap_claims(gaps),
        *kink_claims(),
        *infinite_weight_claims(exact),
        *all_capped_claims(),
        *pass_claims(rows),
        *speed_claims(exact, rows),
    ]
    print_runs(exact, descents, ends, gaps)
    print_passes(rows)
    wrong = print_claims(claims)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        draw_descent(rows, options.output / "descent.png")
        draw_kink(options.output / "kink.png")
        print(f"\nplots: {options.output}/descent.png, {options.output}/kink.png")
    print(
        f"\n{len(exact)} exact and {len(single)} single-pass runs, "
        f"{time.perf_counter() - begun:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
