"""Zeros are exact: those of proximal Newton, and fitted ones whatever the solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression

from dcprog.estimators import RobustRegressor
from dcprog.foundation.arrays import Array
from dcprog.losses import absolute, cap, huber, logistic, square
from dcprog.penalties import Penalty, elastic_net, group_lasso, l1, l2, lp, mcp, scad, weighted_l1
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.linear import binary_margins, residual_rows
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver


def _solution(risk: Risk) -> Array:
    zero = np.zeros(risk.rows.shape[1])
    solver = ProximalNewtonSolver(risk)
    return solver.minimise(WeightedRisk(risk, np.ones(risk.n_groups)), zero, 1e-9).coefficients


@pytest.mark.parametrize("lam", [0.02, 0.1, 0.3])
def test_zeros_are_those_of_the_lasso(lam: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 20))
    y = X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(100) + 2
    lasso = Lasso(alpha=lam, tol=1e-12, max_iter=100_000).fit(X, y)
    risk = Risk.from_loss(residual_rows(X, y), square(), l1(200 * lam))
    theta = _solution(risk)
    np.testing.assert_array_equal(theta[:-1] == 0, lasso.coef_ == 0)
    np.testing.assert_allclose(theta[:-1], lasso.coef_, atol=1e-6)


@pytest.mark.parametrize("lam", [1.0, 5.0])
def test_zeros_are_those_of_l1_logistic_regression(lam: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 15))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(150) > 0
    model = LogisticRegression(
        l1_ratio=1, C=1 / lam, solver="liblinear", tol=1e-10, fit_intercept=False
    ).fit(X, y)
    risk = Risk.from_loss(binary_margins(X, y, False), logistic(), l1(lam))
    theta = _solution(risk)
    np.testing.assert_array_equal(theta == 0, model.coef_[0] == 0)
    np.testing.assert_allclose(theta, model.coef_[0], atol=1e-5)


def test_a_lasso_has_one_coefficient_where_one_is_true() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 10))
    y = 3 * X[:, 0] + 0.1 * rng.standard_normal(120)
    model = RobustRegressor(square(), l1(20.0), scale=None).fit(X, y)
    assert model.result_.solver == "proximal_newton"
    np.testing.assert_array_equal(np.flatnonzero(model.coef_), [0])


@pytest.mark.parametrize(
    "penalty", [l1(15.0), elastic_net(15.0, 1.0), mcp(15.0), scad(15.0), lp(15.0, 0.5)], ids=repr
)
@pytest.mark.parametrize("loss", [absolute(), cap(huber(1.0), 4.0)], ids=repr)
def test_fitted_zeros_are_exact_whatever_the_solver(loss: Any, penalty: Penalty) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = 3 * X[:, 0] + 0.1 * rng.standard_normal(60)
    model = RobustRegressor(loss, penalty, scale=None, solver="CLARABEL").fit(X, y)
    assert np.all((model.coef_ == 0) | (np.abs(model.coef_) > 1e-4))
    assert np.count_nonzero(model.coef_) < 6
    assert model.objective_ == pytest.approx(model.spec_(model.result_.x), rel=1e-12)


def test_fitted_zeros_of_groups_and_of_nothing_but_specks() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = 3 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(60) + 1
    grouped = RobustRegressor(absolute(), group_lasso(12.0, [0, 0, 1, 1, 2, 2]), scale=None).fit(
        X, y
    )
    np.testing.assert_array_equal(grouped.coef_ != 0, [1, 1, 0, 0, 0, 0])
    for penalty in (l1(1e6), weighted_l1([1e6] * 6), group_lasso(1e6, [0, 0, 1, 1, 2, 2])):
        nothing = RobustRegressor(absolute(), penalty, scale=None, solver="CLARABEL").fit(X, y)
        np.testing.assert_array_equal(nothing.coef_, 0)
        assert nothing.intercept_ == pytest.approx(np.median(y), abs=0.1)


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        (l1(1.0), [3, 4, 0]),
        (l1(0.0), [np.inf] * 3),
        (l2(1.0), [np.inf] * 3),
        (weighted_l1([1.0, 0.0, 1.0]), [3, np.inf, 0]),
        (mcp(1.0) + l2(1.0), [3, 4, 0]),
        (mcp(0.0), [np.inf] * 3),
        (lp(1.0, 0.5), [3, 4, 0]),
        (group_lasso(1.0, [[0, 1]]), [5, 5, np.inf]),
        (group_lasso(1.0, [0, 0, 1]) + weighted_l1([0.0, 1.0, 0.0]), [5, 4, 0]),
    ],
    ids=repr,
)
def test_where_a_penalty_has_its_zeros(penalty: Penalty, expected: list[float]) -> None:
    np.testing.assert_array_equal(penalty.sparse_sizes([3.0, -4.0, 0.0]), expected)
