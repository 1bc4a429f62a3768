"""MMRegressor: scale and sum against formulas, published fits, equivariance, the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.models import LeastTrimmedSquares, MMRegressor
from examples.common.regression_sets import regression_set
from examples.mm_regression.reproduce_sets import PUBLISHED
from tests.models.leverage import with_leverage


def _data(bad: int = 25) -> tuple[Array, Array]:
    return with_leverage(80, bad)


def _rho(u: Array, c: float) -> Array:
    return c**2 / 6 * (1 - (1 - np.minimum((u / c) ** 2, 1)) ** 3)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_fits(name: str) -> None:
    X, y = regression_set(name)
    model, published = MMRegressor().fit(X, y), PUBLISHED[name]
    coef = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(coef, published.coef, atol=1e-4)
    assert model.scale_ == pytest.approx(published.scale, abs=5e-4)
    outliers = np.flatnonzero(model.outlier_weight_ < 1e-3) + 1
    np.testing.assert_array_equal(outliers, published.outliers)


def test_it_minimises_the_sum_at_its_scale() -> None:
    X, y = _data()
    model = MMRegressor().fit(X, y)
    A = np.column_stack([X, np.ones(80)])

    def total(theta: Array) -> float:
        return float(np.sum(_rho((y - A @ theta) / model.scale_, 4.685061)))

    theta = np.append(model.coef_, model.intercept_)
    found = minimize(total, theta, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(theta, found.x, atol=1e-6)
    assert model.objective_ == pytest.approx(total(theta), rel=1e-12)
    assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-12)
    start = np.append(model.initial_coef_, model.initial_intercept_)
    assert total(start) >= model.objective_
    r = (y - A @ start) / model.scale_
    assert np.sum(_rho(r, 1.547645)) / (1.547645**2 / 6) / 76 == pytest.approx(0.5, rel=1e-9)
    u = (y - model.predict(X)) / model.scale_ / 4.685061
    np.testing.assert_allclose(model.outlier_weight_, np.maximum(1 - u**2, 0) ** 2, atol=1e-9)


def test_the_scale_is_no_larger_than_that_of_any_other_fit() -> None:
    X, y = _data()
    model = MMRegressor().fit(X, y)
    A = np.column_stack([X, np.ones(80)])
    rng = np.random.default_rng(1)
    for _ in range(500):
        rows = rng.choice(80, 4, replace=False)
        u = (y - A @ np.linalg.solve(A[rows], y[rows])) / model.scale_
        assert np.sum(_rho(u, 1.547645)) / (1.547645**2 / 6) / 76 >= 0.5


def test_leverage_and_equivariance() -> None:
    X, y = _data()
    usual = MMRegressor().fit(X, y)
    np.testing.assert_allclose(usual.coef_, 1, atol=0.2)
    assert np.all(usual.outlier_weight_[:25] == 0)
    rng = np.random.default_rng(1)
    B, v = rng.standard_normal((3, 3)), rng.standard_normal(3)
    other = MMRegressor().fit(X, -3e4 * y + X @ v + 8e5)
    np.testing.assert_allclose(other.coef_, -3e4 * usual.coef_ + v, rtol=1e-6)
    turned = MMRegressor().fit(X @ B + 100.0, y)
    np.testing.assert_allclose(B @ turned.coef_, usual.coef_, rtol=1e-6)
    assert MMRegressor(fit_intercept=False).fit(X, y).intercept_ == 0


def test_the_default_regressor_is_close_to_it_under_leverage() -> None:
    """Within 5%, with 30% of the samples on another plane."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((300, 5))
        y = X @ np.arange(1.0, 6) + rng.standard_normal(300)
        X[:90], y[:90] = 5 + rng.standard_normal((90, 5)), -30 + rng.standard_normal(90)
        ours, theirs = dc.RobustRegressor().fit(X, y).coef_, MMRegressor().fit(X, y).coef_
        assert np.linalg.norm(ours - theirs) < 0.05 * np.linalg.norm(theirs)


def test_an_exact_fit_gives_up_the_rest() -> None:
    X, _ = _data(bad=0)
    y = X @ [1.0, 2.0, 3.0]
    y[:30] += np.arange(1.0, 31)
    model = MMRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=1e-8)
    np.testing.assert_array_equal(np.flatnonzero(model.outlier_weight_ < 0.5), np.arange(30))


def test_targets_without_noise_end_converged() -> None:
    X = np.random.default_rng(0).normal(size=(60, 1))
    model = MMRegressor().fit(X, 2 * X[:, 0])
    assert model.result_.status == "converged"
    np.testing.assert_allclose(model.coef_, [2.0], rtol=1e-9)


@pytest.mark.parametrize("model", [MMRegressor(), LeastTrimmedSquares()])
def test_few_samples_for_the_coefficients_are_told(model: Any) -> None:
    X, y = _data(0)
    with pytest.warns(UserWarning, match="6 samples for 4 coefficients: without a penalty"):
        model.fit(X[:6], y[:6])


@pytest.mark.parametrize(
    "options", [{"c": 0.0}, {"tol": -1.0}, {"n_starts": "many"}, {"covariance": "hc3"}]
)
def test_bad_parameters(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="parameter of MMRegressor"):
        MMRegressor(**options).fit(*_data())
