"""Trimmed, redescending and capped regression with leverage outliers."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.optima.concave import Cap, Trim, Tukey
from benchmarks.optima.convex import Absolute, HalfSquare
from benchmarks.optima.instance import Array, Form
from benchmarks.optima.robust_fit import RobustFit, all_but_last, as_risk

LAM = 1e-2


def leverage(n: int, p: int, share: float, seed: int) -> tuple[Array, Array]:
    """Slopes of 2, unit noise, and a share of outliers together far out, flat or falling."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = 2 * X.sum(axis=1) + rng.normal(size=n)
    bad = round(share * n)
    X[:bad] = 5 * rng.normal(size=p) + rng.normal(size=(bad, p))
    y[:bad] = -X[:bad].sum(axis=1) + rng.normal(size=bad)
    return X, y


def _residuals(X: Array, y: Array) -> tuple[Array, Array, Array]:
    """Rows, constants and what is penalised, of u = y − w·x − b."""
    A = -np.column_stack([X, np.ones(len(y))])
    return A, y, all_but_last(A.shape[1])


class TrimmedFit(RobustFit):
    """Least trimmed squares, whose other statements take all residuals together."""

    def convex_concave(self) -> Form:
        """Σu² ≤ s + the largest."""
        theta = cp.Variable(self.size)
        t = self.base.expression(self.A @ theta + self.t)
        s = cp.Variable(nonneg=True)
        problem = cp.Problem(
            cp.Minimize(s + self._ridge(theta)),
            [cp.sum(t) <= s + cp.sum_largest(t, self.phi.dropped)],
        )
        return Form(problem, (theta,))

    def smooth(self) -> Form:
        """Weights 0 ≤ v ≤ 1 that add up to what is kept."""
        theta = cp.Variable(self.size)
        n = len(self.t)
        v = cp.Variable(n, bounds=[0, 1])
        fit = cp.sum(cp.multiply(v, self.base.expression(self.A @ theta + self.t)))
        problem = cp.Problem(
            cp.Minimize(fit + self._ridge(theta)), [cp.sum(v) == n - self.phi.dropped]
        )
        return Form(problem, (theta,))


def trimmed_regression(seed: int) -> RobustFit:
    """100 × 3, a quarter outliers, three tenths of the squares left out."""
    X, y = leverage(100, 3, 0.25, seed)
    A, t, penalised = _residuals(X, y)
    loss = dc.trim(0.5 * dc.square(), 0.3)
    statement = as_risk(dc.residual_rows(X, y), loss)
    return TrimmedFit(A, t, HalfSquare(), Trim(30), LAM, penalised, statement)


def tukey_regression(seed: int) -> RobustFit:
    """200 × 5, a fifth outliers, Tukey's function at 4.685 (the noise has variance 1)."""
    X, y = leverage(200, 5, 0.2, seed)
    A, t, penalised = _residuals(X, y)
    loss = dc.tukey(0.5 * dc.square(), 4.685)
    statement = as_risk(dc.residual_rows(X, y), loss)
    return RobustFit(A, t, HalfSquare(), Tukey(4.685), LAM, penalised, statement)


def capped_absolute_regression(seed: int) -> RobustFit:
    """200 × 5, three tenths outliers, absolute errors capped at 3."""
    X, y = leverage(200, 5, 0.3, seed)
    A, t, penalised = _residuals(X, y)
    statement = as_risk(dc.residual_rows(X, y), dc.cap(dc.absolute(), 3.0))
    return RobustFit(A, t, Absolute(), Cap(3.0), LAM, penalised, statement)
