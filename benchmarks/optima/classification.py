"""Ramp and capped losses: flips, leverage, several classes."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import dcprog as dc
from benchmarks.optima.concave import Cap, CappedRoot
from benchmarks.optima.convex import Base, Hinge, SquaredHinge
from benchmarks.optima.enumeration import Enumerated
from benchmarks.optima.instance import Array, Form
from benchmarks.optima.robust_fit import RobustFit, all_but_last, as_problem, as_risk, margins_of

RAMP = dc.cap(dc.hinge(), 1.0)


def clouds(n: int, p: int, seed: int, shift: float = 0.25) -> tuple[Array, Array]:
    """Two Gaussian clouds with 15% of the labels flipped, both classes among them."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) % 2, 1.0, -1.0))
    X = rng.normal(size=(n, p)) + shift * y[:, None]
    y[rng.permutation(n)[: round(0.15 * n)]] *= -1
    return X, y


def _fit(
    kind: type[RobustFit], base: Base, X: Array, y: Array, lam: float, risk: bool
) -> RobustFit:
    A = margins_of(X, y)
    statement = as_risk(dc.binary_margins(X, y), RAMP) if risk else as_problem
    return kind(A, np.zeros(len(y)), base, Cap(1.0), lam, all_but_last(A.shape[1]), statement)


def ramp_tiny(seed: int) -> RobustFit:
    """12 × 2, as a cvxpy problem; enumerated."""
    return _fit(Enumerated, Hinge(), *clouds(12, 2, seed, 1.0), 0.1, risk=False)


def squared_hinge_tiny(seed: int) -> RobustFit:
    """10 × 2, squared hinges capped at 1, as a cvxpy problem; enumerated."""
    return _fit(Enumerated, SquaredHinge(), *clouds(10, 2, seed, 1.0), 0.1, risk=False)


def ramp_problem(n: int, p: int, seed: int, shift: float = 0.25) -> RobustFit:
    """Flipped labels, as a cvxpy problem."""
    return _fit(RobustFit, Hinge(), *clouds(n, p, seed, shift), 0.1, risk=False)


def ramp_risk(n: int, p: int, seed: int) -> RobustFit:
    """Flipped labels, as a Risk."""
    return _fit(RobustFit, Hinge(), *clouds(n, p, seed), 0.1, risk=True)


def ramp_leverage(seed: int) -> RobustFit:
    """The README's example: five samples of a hundred far out on the wrong side."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 100)
    X = rng.normal(size=(100, 2)) + y[:, None]
    X[:5] *= -20
    return _fit(RobustFit, Hinge(), X, y, 0.1, risk=False)


def breast_cancer(seed: int) -> RobustFit:
    """A tenth of the rows times −10."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(seed)
    X[rng.permutation(len(y))[: len(y) // 10]] *= -10
    return _fit(RobustFit, Hinge(), X, 2.0 * y - 1, 3.0, risk=True)


def capped_lp_multiclass(seed: int) -> RobustFit:
    """Nie, Wang, Huang (2017) with p = 1: three classes, 15% of the labels wrong."""
    n, d, c, gamma, delta, eps = 120, 4, 3, 0.1, 1e-8, 1.5
    rng = np.random.default_rng(seed)
    y = rng.integers(c, size=n)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(c, d))[y]
    wrong = rng.permutation(n)[: round(0.15 * n)]
    y[wrong] = (y[wrong] + rng.integers(1, c, size=len(wrong))) % c
    signs = np.where(y[:, None] == np.arange(c), 1.0, -1.0)
    weights = np.einsum("ik,kl,ij->iklj", signs, np.eye(c), X).reshape(n * c, c * d)
    ones = np.einsum("ik,kl->ikl", signs, np.eye(c)).reshape(n * c, c)

    def statement(fit: RobustFit) -> Form:
        cap = dc.cap_at(eps, dc.power_of(0.5, delta))
        rows, penalty = dc.class_margins(X, y), dc.l2(fit.lam)
        return Form(
            dc.Risk(rows, dc.squared_hinge(), aggregate="sum", transform=cap, penalty=penalty)
        )

    return RobustFit(
        np.hstack([weights, ones]),
        np.zeros(n * c),
        SquaredHinge(),
        CappedRoot(eps, delta),
        2 * gamma,
        np.arange(c * (d + 1)) < c * d,
        statement,
        group=c,
    )
