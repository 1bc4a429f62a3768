"""MMRegressor against what R prints of ``lmrob``: estimates, errors, tests, R², intervals.

The numbers are those of robustbase's reference output, ``lmrob-data.Rout.save`` of 2014 and
``Rsquared.Rout.save`` of 2023, to the digits printed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import dcprog as dc
from dcprog.estimators.covariances import mad_error, s_scale_error
from dcprog.foundation.arrays import Array
from dcprog.models import LeastTrimmedSquares, MMRegressor
from examples.common.regression_sets import regression_set

# Salinity lagged by two weeks, trend, river discharge; salinity of the water of Pamlico Sound.
# Ruppert, Carroll (1980), Trimmed least squares estimation in the linear model, JASA 75.
SALINITY = """
8.2 4 23.005 7.6 7.6 5 23.873 7.7 4.6 0 26.417 4.3 4.3 1 24.868 5.9 5.9 2 29.895 5 5 3 24.2 6.5
6.5 4 23.215 8.3 8.3 5 21.862 8.2 10.1 0 22.274 13.2 13.2 1 23.83 12.6 12.6 2 25.144 10.4 10.4 3
22.43 10.8 10.8 4 21.785 13.1 13.1 5 22.38 12.3 13.3 0 23.927 10.4 10.4 1 33.443 10.5 10.5 2 24.859
7.7 7.7 3 22.686 9.5 10 0 21.789 12 12 1 22.041 12.6 12.1 4 21.033 13.6 13.6 5 21.005 14.1 15 0
25.865 13.5 13.5 1 26.29 11.5 11.5 2 22.932 12 12 3 21.313 13 13 4 20.769 14.1 14.1 5 21.393 15.1
"""
# Salaries per pupil, white-collar fathers, socioeconomic status, teachers' scores, mothers'
# education; mean verbal test score of 20 schools. Mosteller, Tukey (1977), Data analysis and
# regression, p. 327, after Coleman and others (1966).
COLEMAN = """
3.83 28.87 7.2 26.6 6.19 37.01 2.89 20.1 -11.71 24.4 5.17 26.51 2.86 69.05 12.32 25.7 7.04 36.51
2.92 65.4 14.28 25.7 7.1 40.7 3.06 29.59 6.31 25.4 6.15 37.1 2.07 44.82 6.16 21.6 6.41 33.9 2.52
77.37 12.7 24.9 6.86 41.8 2.45 24.67 -0.17 25.01 5.78 33.4 3.13 65.01 9.85 26.6 6.51 41.01 2.44 9.99
-0.05 28.01 5.57 37.2 2.09 12.2 -12.86 23.51 5.62 23.3 2.52 22.55 0.92 23.6 5.34 35.2 2.22 14.3 4.77
24.51 5.8 34.9 2.67 31.79 -0.96 25.8 6.19 33.1 2.71 11.6 -16.04 25.2 5.62 22.7 3.14 68.47 10.62
25.01 6.94 39.7 3.54 42.64 2.66 25.01 6.33 31.8 2.52 16.7 -10.99 24.8 6.01 31.7 2.68 86.27 15.03
25.51 7.51 43.1 2.37 76.73 12.77 24.51 6.96 41.01
"""
INLINE = {"salinity": (SALINITY, 4), "coleman": (COLEMAN, 6)}


@dataclass(frozen=True)
class Printed:
    """Estimates, standard errors, t and p, the intercept last; scale; R²."""

    coef: tuple[float, ...]
    errors: tuple[float, ...]
    t: tuple[float, ...]
    p: tuple[float, ...]
    scale: float
    r_squared: float


R = {
    "stackloss": Printed(
        (0.93885, 0.57955, -0.11292, -41.52462),
        (0.11743, 0.26296, 0.06989, 5.29780),
        (7.995, 2.204, -1.616, -7.838),
        (3.68e-07, 0.0416, 0.1246, 4.82e-07),
        1.912,
        0.9593,
    ),
    "starsCYG": Printed(
        (2.2532, -4.9694), (0.7691, 3.4100), (2.930, -1.457), (0.00531, 0.15198), 0.4715, 0.3737
    ),
    "salinity": Printed(
        (0.71048, -0.17770, -0.62733, 18.39327),
        (0.04938, 0.14762, 0.15845, 4.01996),
        (14.388, -1.204, -3.959, 4.575),
        (2.68e-13, 0.240397, 0.000584, 0.000122),
        1.0,
        0.8983,
    ),
    "coleman": Printed(
        (-1.66615, 0.08425, 0.66774, 1.16778, -4.13657, 30.50232),
        (0.43129, 0.01467, 0.03385, 0.10983, 0.92084, 6.71260),
        (-3.863, 5.741, 19.726, 10.632, -4.492, 4.544),
        (0.001722, 5.10e-05, 1.30e-11, 4.35e-08, 0.000507, 0.000459),
        1.134,
        0.9814,
    ),
    "hbk": Printed(
        (0.08527, 0.04101, -0.05371, -0.18962),
        (0.07329, 0.02956, 0.03195, 0.11674),
        (1.164, 1.387, -1.681, -1.624),
        (0.2485, 0.1697, 0.0971, 0.1088),
        0.7892,
        0.03976,
    ),
}


def _data(name: str) -> tuple[Array, Array]:
    if name not in INLINE:
        return regression_set(name)
    text, columns = INLINE[name]
    table = np.array(text.split(), dtype=float).reshape(-1, columns)
    return table[:, :-1], table[:, -1]


@pytest.mark.parametrize("name", R)
def test_the_summary_is_that_of_r(name: str) -> None:
    X, y = _data(name)
    model, printed = MMRegressor().fit(X, y), R[name]
    table = model.summary()
    np.testing.assert_allclose(table.coef, printed.coef, rtol=1e-4, atol=1.1e-5)
    np.testing.assert_allclose(table.errors, printed.errors, rtol=1e-4, atol=6e-6)
    np.testing.assert_allclose(table.z, printed.t, rtol=2e-4, atol=6e-4)
    np.testing.assert_allclose(table.p_values, printed.p, rtol=4e-3)
    assert model.scale_ == pytest.approx(printed.scale, abs=5e-4)
    assert model.score_robust(X, y) == pytest.approx(printed.r_squared, abs=6e-5)
    assert f"robust R² {model.score_robust(X, y):.4g}" in repr(table)
    assert list(table.to_frame())[2:4] == ["t", "P>|t|"]


def test_without_an_intercept() -> None:
    X, y = _data("coleman")
    model = MMRegressor(fit_intercept=False).fit(X, y)
    errors = (0.45262, 0.02220, 0.07590, 0.19039, 0.90805)
    np.testing.assert_allclose(model.standard_errors_, errors, rtol=1e-4, atol=6e-6)
    assert model.score_robust(X, y) == pytest.approx(0.9987, abs=6e-5)


def test_the_wald_test_is_that_of_r() -> None:
    X, y = _data("salinity")
    frame = pd.DataFrame(X, columns=["X1", "X2", "X3"])
    model = MMRegressor().fit(frame, y)
    test = model.wald_test(MMRegressor().fit(frame[["X1", "X3"]], y))
    assert test.names == ("X2",)
    assert (test.statistic, test.df) == (pytest.approx(1.4492, abs=5e-5), 1)
    assert test.p_value == pytest.approx(0.2287, abs=5e-5)
    assert model.wald_test("X2") == model.wald_test([1]) == model.wald_test(1) == test
    other = model.wald_test(["X3"])
    assert other.statistic == pytest.approx(15.675, abs=5e-4)
    assert other.p_value == pytest.approx(7.521e-05, rel=2e-4)
    bare = MMRegressor(fit_intercept=False).fit(frame[["X1"]], y)
    assert model.wald_test(bare).names == ("X2", "X3", "intercept")
    for wrong, told in (
        (model, "has them all"),
        ("X9", "no coefficients"),
        (MMRegressor().fit(X[:, :1], y), "without names"),
        (MMRegressor().fit(frame[["X1"]].assign(X7=X[:, 1]), y), "nested"),
    ):
        with pytest.raises(ValueError, match=told):
            model.wald_test(wrong)


def test_the_sandwich_at_a_fixed_scale_is_the_other_choice() -> None:
    X, y = _data("stackloss")
    model = MMRegressor(covariance="sandwich").fit(X, y)
    errors = np.sqrt(np.diag(model.covariance_))
    np.testing.assert_allclose(errors, (0.133, 0.216, 0.0775, 4.956), rtol=5e-3)
    assert "sandwich covariance, t with 17" in repr(model.summary())


def test_a_regressor_with_that_scale_has_those_errors() -> None:
    X, y = _data("stackloss")
    loss = dc.tukey(0.5 * dc.square(), 4.685061)
    mm, usual = MMRegressor().fit(X, y), dc.RobustRegressor(loss, scale="s").fit(X, y)
    assert usual.scale_ == pytest.approx(mm.scale_)
    np.testing.assert_allclose(usual.covariance_, mm.covariance_, rtol=1e-4)
    fixed = dc.RobustRegressor(loss, scale="s", covariance="sandwich").fit(X, y)
    assert "lmrob covariance" in repr(usual.summary())
    assert np.all(fixed.standard_errors_ != usual.standard_errors_)
    repeated = dc.RobustRegressor(loss, scale="s").fit(np.tile(X, (2, 1)), np.tile(y, 2))
    weighted = dc.RobustRegressor(loss, scale="s").fit(X, y, np.full(21, 2.0))
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-6)
    mean = dc.RobustRegressor(loss, dc.l2(0.0), scale="s", normalize="mean")
    np.testing.assert_allclose(mean.fit(X, y).covariance_, mm.covariance_, rtol=1e-4)


def test_the_joint_covariance_is_that_of_the_joint_equations() -> None:
    """Derivatives of the stacked estimating functions by differences, for asymmetric errors."""
    rng = np.random.default_rng(0)
    n = 400
    X = rng.standard_normal((n, 2))
    y = X @ [1.0, -1.0] + rng.exponential(size=n) * (1 + 0.5 * np.abs(X[:, 0]))
    model = MMRegressor().fit(X, y)
    A = np.column_stack([X, np.ones(n)])

    def functions(point: Array) -> Array:
        beta, scale, first = point[:3], point[3], point[4:]
        u, v = (y - A @ beta) / scale / 4.685061, (y - A @ first) / scale / 1.547645
        psi = [w * np.maximum(1 - w**2, 0) ** 2 for w in (u, v)]
        rho = 1 - np.maximum(1 - v**2, 0) ** 3
        return np.column_stack([psi[0][:, None] * A, rho - 0.5, psi[1][:, None] * A])

    parts = model.coef_, model.intercept_, model.scale_, model.initial_coef_
    found = np.hstack([*parts, model.initial_intercept_])
    G = functions(found)
    steps = 1e-6 * np.eye(7)
    H = np.array([(functions(found + s) - functions(found - s)).mean(axis=0) for s in steps]) / 2e-6
    joint = np.linalg.solve(H.T, np.linalg.solve(H.T, G.T @ G / n).T)[:3, :3] / n
    errors = np.sqrt(np.diag(model.covariance_))
    np.testing.assert_allclose(np.sqrt(np.diag(joint)), errors, rtol=0.02)
    fixed = np.sqrt(np.diag(MMRegressor(covariance="sandwich").fit(X, y).covariance_))
    assert errors[2] > 1.05 * fixed[2] or errors[2] < 0.95 * fixed[2]


def test_the_joint_covariance_is_positive_in_small_samples() -> None:
    """With E ρ² − ¼ there would be negative variances."""
    rng = np.random.default_rng(13)
    X, y = rng.standard_normal((9, 3)), rng.exponential(size=9) ** 2
    assert np.linalg.eigvalsh(MMRegressor().fit(X, y).covariance_)[0] > 0


def test_an_exact_fit_has_errors_of_0() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, 2.0]
    y[:10] += 5.0
    assert np.all(MMRegressor().fit(X, y).standard_errors_ < 1e-8)


def test_an_equation_that_does_not_hold_is_not_used() -> None:
    rng = np.random.default_rng(0)
    rows = dc.residual_rows(rng.standard_normal((30, 1)), 3 * rng.standard_normal(30))
    risk = dc.Risk.from_loss(rows, dc.huber(1.345), dc.l2(0.0))
    for error_of in (s_scale_error, mad_error):
        assert error_of(risk, np.zeros(2)) is None


@pytest.mark.parametrize("scale", ["s", "mad"])
def test_errors_of_the_intercept_are_how_it_varies_for_skew_errors(scale: str) -> None:
    """At a fixed scale they would be two thirds of that."""
    fits = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 1))
        y = X[:, 0] + rng.exponential(size=100)
        fits.append(dc.RobustRegressor(scale=scale, n_starts=1).fit(X, y))
    spread = np.std([fit.intercept_ for fit in fits])
    told = [np.sqrt(fit.covariance_[1, 1]) for fit in fits]
    fixed = [np.sqrt(f.set_params(covariance="sandwich").covariance_[1, 1]) for f in fits]
    assert np.median(told) == pytest.approx(spread, rel=0.3)
    assert np.median(fixed) < 0.8 * np.median(told)


def test_prediction_intervals_cover_good_targets() -> None:
    hits = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 2))
        y = X @ [1.0, 2.0] + rng.standard_normal(40)
        y[:4] += 30.0
        Z = rng.standard_normal((500, 2))
        low, high = MMRegressor().fit(X, y).predict_interval(Z, 0.9).T
        targets = Z @ [1.0, 2.0] + rng.standard_normal(500)
        hits.append(np.mean((low <= targets) & (targets <= high)))
    assert np.mean(hits) == pytest.approx(0.9, abs=0.03)


def test_intervals_are_of_the_t_distribution() -> None:
    X, y = _data("stackloss")
    model = MMRegressor().fit(X, y)
    table = model.summary()
    np.testing.assert_array_equal(model.conf_int(0.9), table.interval(0.9))
    reach = 2.1098155778  # of t with 17 degrees of freedom
    np.testing.assert_allclose(table.interval()[:, 1], table.coef + reach * table.errors)
    A = np.column_stack([X, np.ones(21)])
    variance = np.sum(A @ model.covariance_ * A, axis=1)
    for kind, noise in (("confidence", 0.0), ("prediction", model.scale_**2)):
        low, high = model.predict_interval(X, kind=kind).T
        np.testing.assert_allclose((low + high) / 2, model.predict(X))
        np.testing.assert_allclose((high - low) / 2, reach * np.sqrt(variance + noise), rtol=1e-4)
    with pytest.raises(ValueError, match="kind='both'"):
        model.predict_interval(X, kind="both")
    skew = dc.RobustRegressor(dc.pinball(0.8), dc.l2(0.0))
    with pytest.raises(ValueError, match="not symmetric"):
        skew.fit(X, y).predict_interval(X)
    assert skew.predict_interval(X, kind="confidence").shape == (21, 2)


def test_predictions_where_an_l1_penalty_has_set_coefficients_to_0() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4))
    y = 3 * X[:, 0] + rng.standard_normal(100)
    model = dc.RobustRegressor("huber", dc.l1(20.0)).fit(X, y)
    assert np.any(model.coef_ == 0)
    assert np.all(np.isfinite(model.predict_interval(X)))
    own = dc.RobustRegressor("huber", dc.l1(20.0), scale=None).fit(X, y)
    ends = own.predict_interval(X)
    assert np.mean((ends[:, 0] < y) & (y < ends[:, 1])) == pytest.approx(0.95, abs=0.04)


def test_the_robust_r_squared_of_least_squares_is_the_usual() -> None:
    X, y = _data("stackloss")
    for fit_intercept in (True, False):
        model = dc.RobustRegressor("square", dc.l2(0.0), fit_intercept=fit_intercept).fit(X, y)
        total = np.sum((y - y.mean() if fit_intercept else y) ** 2)
        usual = 1 - np.sum((y - model.predict(X)) ** 2) / total
        assert model.score_robust(X, y) == pytest.approx(usual)
    doubled = dc.RobustRegressor().fit(X, 1e3 * y).score_robust(X, 1e3 * y)
    assert dc.RobustRegressor().fit(X, y).score_robust(X, y) == pytest.approx(doubled)
    with pytest.raises(ValueError, match="kink at 0"):
        dc.RobustRegressor("absolute").fit(X, y).score_robust(X, y)
    trimmed = LeastTrimmedSquares().fit(X, y)
    assert f"R² {trimmed.score_robust(X, y):.4g}" in repr(trimmed.summary())
    assert dc.RobustRegressor(kernel="rbf").fit(X, y).score_robust(X, y) > 0
