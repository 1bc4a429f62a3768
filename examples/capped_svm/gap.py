"""The reported gap against Clarabel, a part of verify_convergence.py, not run by itself."""

from __future__ import annotations

import warnings

import cvxpy as cp
import numpy as np

from examples.capped_svm.model import Array, Model
from examples.capped_svm.runs import GAP, Run
from examples.common.claims import Claim, at_most, own


def clarabel(problem: cp.Problem) -> float:
    """Solve, without a word where Clarabel is not sure: what it returns is judged here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(problem.solve(solver=cp.CLARABEL))


class WeightedProblem:
    """min Σ d_i g_i + γ‖W‖² by Clarabel, independent of the library's solvers."""

    def __init__(self, model: Model) -> None:
        n, c = model.signs.shape
        self.model = model
        self.W, self.b = cp.Variable((c, model.X.shape[1])), cp.Variable((1, c))
        self.r, self.root = cp.Variable((n, c), nonneg=True), cp.Parameter((n, 1), nonneg=True)
        scores = model.X @ self.W.T + np.ones((n, 1)) @ self.b
        self.within = self.r >= 1 - cp.multiply(model.signs, scores)
        squares = cp.sum_squares(cp.multiply(self.root @ np.ones((1, c)), self.r))
        objective = squares + model.gamma * cp.sum_squares(self.W)
        self.problem = cp.Problem(cp.Minimize(objective), [self.within])

    def gap(self, x: Array) -> tuple[float, float]:
        """Bounds of Σ d g + γ‖W‖² at x minus its minimum, with the weights of x.

        Clarabel's primal and dual points are both evaluated here, so the bounds hold however
        accurate it was.
        """
        d = self.model.weights(self.model.g(x))
        self.root.value = np.sqrt(d)[:, None]
        clarabel(self.problem)
        lowest = np.concatenate([self.W.value.ravel(), self.b.value.ravel()])
        at_x = self.model.weighted(d, x)
        below = dual_value(self.model, d, self.within.dual_value)
        return at_x - self.model.weighted(d, lowest), at_x - below


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
    weighted, last = WeightedProblem(run.model), len(run.points) - 1
    worst = 0.0
    for t in sorted({0, 1, 2, last // 2, last} & set(range(last + 1))):
        low, high = weighted.gap(run.points[t])
        reported = run.result.history.gap[t]
        worst = max(worst, max(abs(low - reported), abs(high - reported)) / (1 + run.values[t]))
    return worst, high / (1 + run.values[-1])


def gap_claims(runs: list[Run]) -> list[Claim]:
    """The library's gap is right, and 0 where the runs end."""
    found = [gap_disagreement(run) for run in runs]
    claims = [
        at_most("gap as reported = gap by Clarabel", max(miss for miss, _ in found), GAP),
        at_most("gap at the end = 0, by a dual bound", max(end for _, end in found), GAP),
    ]
    return own(claims)
