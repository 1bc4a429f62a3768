"""Standard errors and summaries: against closed forms, statsmodels, and how fits vary."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import dcprog as dc
from dcprog.estimators.regressor import polished
from dcprog.foundation.arrays import Array
from dcprog.models import MMRegressor


def _data(n: int = 150, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X @ [1.0, 2.0, 3.0] + rng.standard_t(4, n)


def test_least_squares_have_the_sandwich_of_textbooks() -> None:
    X, y = _data()
    model = dc.RobustRegressor(dc.square(), dc.l2(0.0)).fit(X, y)
    A = np.column_stack([X, np.ones(150)])
    bread = np.linalg.inv(A.T @ A)
    r = y - model.predict(X)
    expected = bread @ (A.T @ (r[:, None] ** 2 * A)) @ bread * 150 / 146
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-6)
    np.testing.assert_allclose(model.standard_errors_, np.sqrt(np.diag(expected))[:3], rtol=1e-6)


@pytest.mark.parametrize("loss", [dc.absolute(), dc.pinball(0.9)])
def test_errors_at_kinks_do_not_depend_on_the_order_in_memory(loss: Any) -> None:
    X, y = _data(400, seed=3)
    model = dc.RobustRegressor(loss, "none")
    by_rows, by_columns = (model.fit(A, y).standard_errors_ for A in (X, np.asfortranarray(X)))
    np.testing.assert_allclose(by_rows, by_columns, rtol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_error_of_the_intercept_is_that_of_the_summary(fit_intercept: bool) -> None:
    X, y = _data()
    regressor = dc.RobustRegressor(fit_intercept=fit_intercept).fit(X, y)
    classifier = dc.RobustClassifier("logistic", fit_intercept=fit_intercept).fit(X, y > 0)
    for model in (regressor, classifier):
        error, table = model.intercept_standard_error_, model.summary()
        rows = 4 if fit_intercept else 3  # an intercept that is not fitted has no row
        assert np.array_equal([*model.standard_errors_, error][:rows], table.errors)
        assert table.names == ["x0", "x1", "x2", "intercept"][:rows]
        assert (error > 0) == fit_intercept
        ends = model.conf_int()
        np.testing.assert_allclose(ends[:rows], table.interval())
        assert (ends[-1, 0] < ends[-1, 1]) == fit_intercept


def test_a_ridge_is_in_the_bread_and_an_l1_leaves_zeros_without_errors() -> None:
    X, y = _data()
    A = np.column_stack([X, np.ones(150)])
    ridge = dc.RobustRegressor(dc.square(), dc.l2(100.0)).fit(X, y)
    bread = np.linalg.inv(2 * A.T @ A + np.diag([100.0, 100.0, 100.0, 0.0]))
    r = y - ridge.predict(X)
    expected = bread @ (A.T @ ((2 * r[:, None]) ** 2 * A)) @ bread * 150 / 146
    np.testing.assert_allclose(ridge.covariance_, expected, rtol=1e-6)
    noise = np.random.default_rng(1).standard_normal(150)
    sparse = dc.RobustRegressor(penalty=dc.l1(20.0)).fit(np.column_stack([X, noise]), y)
    assert np.array_equal(np.isnan(sparse.standard_errors_), sparse.coef_ == 0)
    assert np.any(sparse.coef_ == 0)


def test_a_penalised_intercept_of_0_has_no_error_either() -> None:
    X, y = _data()
    y = y - y.mean()
    model = dc.RobustRegressor("huber", dc.l1(200.0), penalize_intercept=True, scale=1.0).fit(X, y)
    assert model.intercept_ == 0
    assert np.array_equal(np.isnan(np.diag(model.covariance_)), [*(model.coef_ == 0), True])


def test_errors_that_cannot_be_had_are_told_of() -> None:
    """A cap of |u| whose density of residuals at 0 comes out below that at the cap."""
    rng = np.random.default_rng(3)
    for _ in range(14):
        X = rng.normal(size=(200, 3))
        y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200)
    model = dc.RobustRegressor("capped_absolute", dc.l2(0.0))
    with pytest.warns(dc.TrivialSolutionWarning):
        model.fit(X, y)
    with pytest.warns(RuntimeWarning, match="standard errors are NaN: the curvature") as told:
        assert np.all(np.isnan(model.standard_errors_))
    assert told[0].filename == __file__
    assert "of classes, dc.welsch(dc.logistic(), 2.0)" in str(told[0].message)
    few = dc.RobustRegressor("huber", dc.l2(1.0), scale=1.0).fit(X[:3], y[:3])
    with pytest.warns(RuntimeWarning, match="3 samples for 4 coefficients"):
        assert np.all(np.isnan(few.standard_errors_))


def test_dependent_columns_are_told_of() -> None:
    X, y = _data(80)
    for Z in (np.column_stack([X, X[:, 0]]), np.column_stack([X, np.ones(80)])):
        with pytest.warns(RuntimeWarning, match="linearly dependent"):
            assert np.all(np.isnan(MMRegressor().fit(Z, y).standard_errors_))
        usual, twice = dc.RobustRegressor().fit(X, y), dc.RobustRegressor().fit(Z, y)
        np.testing.assert_allclose(twice.standard_errors_[1], usual.standard_errors_[1], rtol=0.05)


def test_errors_of_columns_of_any_size() -> None:
    X, y = _data(80)
    for estimator in (MMRegressor(), dc.RobustRegressor(penalty=dc.l2(0.0))):
        usual = estimator.fit(X, y).standard_errors_
        sizes = np.array([1e6, 1.0, 1e-6])
        np.testing.assert_allclose(
            estimator.fit(X * sizes, y).standard_errors_ * sizes, usual, rtol=1e-3
        )


LOSSES: dict[str, Any] = {
    "default": lambda: None,
    "huber": lambda: dc.huber(1.345),
    "|u|": dc.absolute,
    "cap of |u|": lambda: dc.cap(dc.absolute(), 2.0),
    "cap of squares": lambda: dc.cap(dc.square(), 6.0),
}


@pytest.mark.parametrize("name", LOSSES)
def test_errors_are_how_the_fits_vary(name: str) -> None:
    """Kinked and capped losses too, whose second derivative is a density."""
    fits = [
        dc.RobustRegressor(LOSSES[name](), dc.l2(0.0), n_starts=1).fit(*_data(seed=seed))
        for seed in range(24)
    ]
    spread = np.std([fit.coef_ for fit in fits], axis=0).mean()
    told = np.mean([fit.standard_errors_ for fit in fits])
    assert told == pytest.approx(spread, rel=0.25)


def test_errors_move_with_units() -> None:
    X, y = _data()
    usual, other = dc.RobustRegressor().fit(X, y), dc.RobustRegressor().fit(X / 10, 1e4 * y)
    np.testing.assert_allclose(other.standard_errors_, 1e5 * usual.standard_errors_, rtol=1e-5)


def test_the_summary_is_a_table_of_names() -> None:
    X, y = _data()
    model = dc.RobustRegressor().fit(pd.DataFrame(X, columns=["age", "bmi", "bp"]), y)
    table = model.summary()
    frame = table.to_frame()
    assert list(frame.index) == ["age", "bmi", "bp", "intercept"]
    np.testing.assert_array_equal(frame["coef"], [*model.coef_, model.intercept_])
    np.testing.assert_allclose(frame["t"], frame["coef"] / frame["std err"])
    low, high = table.interval(0.9).T
    np.testing.assert_allclose((low + high) / 2, frame["coef"])
    assert np.all(table.interval(0.99)[:, 1] > high)
    assert "RobustRegressor, 150 samples, scale" in repr(table)
    assert "bmi" in repr(table)
    assert escape(repr(table)) in table._repr_html_()
    with pytest.raises(ValueError, match="level=1"):
        table.interval(1.0)


def test_the_level_of_other_packages_is_told_apart() -> None:
    """Statsmodels' alpha=0.05 is level=0.95."""
    model = dc.RobustRegressor().fit(*_data())
    with pytest.warns(UserWarning, match=r"probability of 5%; if alpha=0.05 is meant, .*=0\.95"):
        model.conf_int(0.05)
    with pytest.raises(ValueError, match=r"such as 0\.95"):
        model.conf_int(95)
    with pytest.raises(NotFittedError, match="before it is fitted"):
        dc.RobustRegressor().summary()
    other: dict[str, Any] = {"alpha": 0.05}
    with pytest.raises(TypeError, match="no parameter 'alpha': choose one of 'level'"):
        model.conf_int(**other)


def test_a_kernel_has_none() -> None:
    X, y = _data(30)
    model = dc.RobustRegressor(kernel="rbf").fit(X, y)
    with pytest.raises(AttributeError, match="kernel"):
        model.summary()


def test_without_an_intercept_its_error_is_0() -> None:
    X, y = _data()
    model = dc.RobustRegressor(fit_intercept=False).fit(X, y)
    assert model.covariance_.shape == (4, 4)
    assert np.all(model.covariance_[3] == 0)
    assert np.all(model.standard_errors_ > 0)


NORMS: dict[str, Any] = {
    "HuberT": lambda: dc.huber(1.345),
    "TukeyBiweight": lambda: dc.tukey(0.5 * dc.square(), 4.685),
    "AndrewWave": lambda: dc.andrews(0.5 * dc.square(), 1.339),
    "TrimmedMean": lambda: dc.cap(0.5 * dc.square(), 2.0),
    "LeastSquares": lambda: 0.5 * dc.square(),
}


@pytest.mark.parametrize("name", NORMS)
def test_statsmodels_finds_the_same_on_the_same_norm_and_scale(name: str) -> None:
    robust = pytest.importorskip("statsmodels.api")
    X, y = _data()
    y[:15] += 12
    A = np.column_stack([X, np.ones(150)])
    model = dc.RobustRegressor(NORMS[name](), dc.l2(0.0)).fit(X, y)
    start = np.append(model.coef_, model.intercept_) + 1e-3
    theirs = robust.RLM(y, A, M=getattr(robust.robust.norms, name)()).fit(
        maxiter=1000,
        tol=1e-14,
        conv="coefs",
        update_scale=False,
        start_scale=model.scale_,
        start_params=start,
    )
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theirs.params, atol=1e-6)


@pytest.mark.parametrize("name", ["default", "huber"])
def test_the_slope_of_a_smooth_sum_is_0_to_rounding(name: str) -> None:
    """At the default tolerance: reweighting alone would leave three digits."""
    X, y = _data()
    y[:15] += 12
    model = dc.RobustRegressor(LOSSES[name](), dc.l2(0.0)).fit(X, y)
    u = (y - model.predict(X)) / model.scale_
    psi = np.clip(u, -1.345, 1.345)
    if name == "default":
        psi = u * np.maximum(1 - (u / 4.685) ** 2, 0) ** 2
    A = np.column_stack([X, np.ones(150)])
    assert np.max(np.abs(A.T @ psi)) < 1e-9


@pytest.mark.parametrize("size", [1e4, 1e6])
def test_outliers_far_away_leave_the_digits(size: float) -> None:
    """Looked at from there, the slope of the biweight jumps."""
    X, y = _data()
    usual = y.copy()
    usual[:5], y[:5] = 1e2, size
    models = [dc.RobustRegressor(scale=1.0).fit(X, targets) for targets in (usual, y)]
    np.testing.assert_allclose(models[1].coef_, models[0].coef_, rtol=1e-10)
    u = y - models[1].predict(X)
    psi = u * np.maximum(1 - (u / 4.685) ** 2, 0) ** 2
    assert np.max(np.abs(X.T @ psi)) < 1e-7
    np.testing.assert_allclose(models[1].covariance_, models[0].covariance_, rtol=1e-6)


def test_a_polish_goes_down_or_nowhere() -> None:
    X, y = _data()
    rows = dc.residual_rows(X, y)
    smooth = dc.Risk.from_loss(rows, dc.welsch(dc.square(), 2.0), dc.l2(0.1))
    best = np.asarray(dc.solve(smooth, tol=1e-12).x)
    near = best + 1e-3
    np.testing.assert_allclose(polished(smooth, near), best, atol=1e-5)
    assert smooth(polished(smooth, near)) <= smooth(near)
    far = np.full(4, 50.0)  # no curvature, or a wrong one
    assert smooth(polished(smooth, far)) <= smooth(far)
    kinked = (
        (dc.cap(dc.square(), 4.0), dc.l2(0.1)),
        (dc.absolute(), dc.l2(0.1)),
        (dc.welsch(dc.square(), 2.0), dc.l1(0.1)),
        (dc.trim(dc.square(), 0.1), dc.l2(0.1)),
    )
    for loss, penalty in kinked:
        assert polished(dc.Risk.from_loss(rows, loss, penalty), near) is near


def test_a_mean_of_losses_has_the_errors_of_the_sum() -> None:
    X, y = _data()
    total = dc.RobustRegressor(penalty=dc.l2(15.0)).fit(X, y)
    mean = dc.RobustRegressor(penalty=dc.l2(0.1), normalize="mean").fit(X, y)
    np.testing.assert_allclose(mean.coef_, total.coef_, rtol=1e-6)
    np.testing.assert_allclose(mean.standard_errors_, total.standard_errors_, rtol=1e-5)


def test_targets_without_variation_have_no_robust_r_squared() -> None:
    X, _ = _data(30)
    for model in (dc.RobustRegressor(), MMRegressor()):
        assert "robust R²" not in str(model.fit(X, np.zeros(30)).summary())
        with pytest.raises(ValueError, match="targets that vary"):
            model.score_robust(X, np.zeros(30))


def test_wrong_coefficients_of_a_wald_test_are_named() -> None:
    model = dc.RobustRegressor("huber", fit_intercept=False).fit(*_data())
    for wrong in (7, -5, 1.5, [True, False], None, "x9"):
        with pytest.raises(ValueError, match="there are no coefficients"):
            model.wald_test(wrong)
    for wrong in ("intercept", -1, 3):
        with pytest.raises(ValueError, match="the intercept is not fitted"):
            model.wald_test(wrong)
    with pytest.raises(ValueError, match="that differ, not"):
        model.wald_test([0, "x0"])
    assert model.wald_test(np.array([0, 2])).names == ("x0", "x2")
    with pytest.raises(NotFittedError):
        dc.RobustRegressor().wald_test(0)
