"""RobustRegressor(scale="mad"): units, equivariance, breakdown, and what the scale is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dcprog as dc
from dcprog.estimators.high_breakdown import SScale, high_breakdown_fit
from dcprog.estimators.robust_scales import m_scale, mad
from dcprog.foundation import blocked_matrix
from dcprog.foundation.arrays import Array
from dcprog.foundation.sums import weighted_quantile

LOSSES: dict[str, Any] = {
    "default": lambda: None,
    "cap of squares": lambda: dc.cap(dc.square(), 4.0),
    "cap of |u|": lambda: dc.cap(dc.absolute(), 2.0),
    "welsch": lambda: dc.welsch(0.5 * dc.square(), 2.985),
    "andrews": lambda: dc.andrews(0.5 * dc.square(), 1.339),
    "huber": lambda: dc.huber(1.345),
    "|u|": dc.absolute,
    "tube": lambda: dc.epsilon_insensitive(0.5),
    "trimmed": lambda: dc.trim(dc.square(), 0.3),
    "log": lambda: dc.log(dc.absolute(), 1.0),
}


def _data(n: int = 120, d: int = 3, share: float = 0.2, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.arange(1.0, d + 1) + 3 + 0.5 * rng.standard_normal(n)
    bad = int(share * n)
    X[:bad] += 6
    y[:bad] -= 60
    return X, y


def _agree(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("penalty", [None, dc.l2(1.0), dc.l1(1.0)], ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_targets_in_other_units(name: str, penalty: Any) -> None:
    X, y = _data()
    a, c = (-3.7e4 if name == "default" else 3.7e4), 8.1e5
    model = dc.RobustRegressor(LOSSES[name](), penalty, n_starts="auto" if penalty is None else 1)
    usual, other = clone(model).fit(X, y), clone(model).fit(X, a * y + c)
    _agree(other.coef_, a * usual.coef_)
    _agree(other.predict(X), a * usual.predict(X) + c)
    _agree(other.scale_, abs(a) * usual.scale_)
    _agree(other.objective_, usual.objective_)
    _agree(other.outlier_weight_, usual.outlier_weight_)


@pytest.mark.parametrize("name", LOSSES)
def test_features_in_other_coordinates(name: str) -> None:
    X, y = _data()
    B = np.random.default_rng(1).standard_normal((3, 3))
    usual = dc.RobustRegressor(LOSSES[name](), dc.l2(0.0)).fit(X, y)
    other = dc.RobustRegressor(LOSSES[name](), dc.l2(0.0)).fit(X @ B + 5.0, y)
    _agree(B @ other.coef_, usual.coef_)
    _agree(other.scale_, usual.scale_)


def test_without_an_intercept_targets_scale() -> None:
    X, y = _data()
    usual = dc.RobustRegressor(fit_intercept=False).fit(X, y)
    other = dc.RobustRegressor(fit_intercept=False).fit(X, 1e3 * y)
    _agree(other.coef_, 1e3 * usual.coef_)
    assert other.intercept_ == 0


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_the_default_bears_leverage(share: float) -> None:
    X, y = _data(200, share=share)
    model = dc.RobustRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=0.25)
    assert 0.4 < model.scale_ < 1.2
    assert np.all(model.outlier_weight_[: int(share * 200)] == 0)


def test_the_scale_is_the_median_size_of_residuals() -> None:
    X, y = _data()
    model = dc.RobustRegressor().fit(X, y)
    A = np.column_stack([X, np.ones(120)])
    fit = high_breakdown_fit(A, y, SScale(0.5 * (1 - 4 / 120)))
    sizes = np.sort(np.abs(y - A @ fit))
    assert model.scale_ == pytest.approx(sizes[61:63].mean() / 0.6744897501960817, rel=1e-9)


def test_a_number_is_the_scale_and_none_takes_y_as_it_is() -> None:
    X, y = _data()
    loss, penalty = dc.cap(dc.square(), 4.0), dc.l2(0.5)
    given = dc.RobustRegressor(loss, penalty, scale=2.0).fit(X, y)
    plain = dc.RobustRegressor(loss, penalty, scale=None).fit(X, y / 2)
    assert (given.scale_, plain.scale_) == (2.0, 1.0)
    assert given.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(given.coef_, 2 * plain.coef_, rtol=1e-7)
    u = (y - given.predict(X)) / 2
    total = np.minimum(u**2, 4).sum() + 0.25 * np.sum((given.coef_ / 2) ** 2)
    assert given.objective_function(X, y) == pytest.approx(
        (total, np.minimum(u**2, 4).sum(), 0.25 * np.sum((given.coef_ / 2) ** 2))
    )
    np.testing.assert_array_equal(plain.coef_, plain.result_.x[:3])


def test_weights_are_repetitions() -> None:
    X, y = _data(60)
    weight = np.random.default_rng(2).integers(0, 4, 60)
    weighted = dc.RobustRegressor().fit(X, y, weight)
    repeated = dc.RobustRegressor().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.scale_ == pytest.approx(repeated.scale_, rel=1e-12)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.standard_errors_, repeated.standard_errors_, rtol=1e-6)


def test_an_exact_fit_has_a_scale() -> None:
    X, _ = _data(share=0.0)
    y = X @ [1.0, 2.0, 3.0]
    y[:30] += 10
    model = dc.RobustRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=1e-6)
    assert model.scale_ == pytest.approx(1e-3 * mad(y - np.median(y)))
    constant = np.full(120, 7.0)
    assert dc.RobustRegressor().fit(X, constant).predict(X) == pytest.approx(constant)


def test_few_samples_and_kernels_take_the_scale_of_the_targets() -> None:
    X, y = _data(20, 8, share=0.0)
    expected = mad(y - np.median(y))
    assert dc.RobustRegressor().fit(X, y).scale_ == pytest.approx(expected)
    assert dc.RobustRegressor(kernel="rbf").fit(X, y).scale_ == pytest.approx(expected)
    kernel = dc.RobustRegressor(kernel="rbf").fit(X, y)
    other = dc.RobustRegressor(kernel="rbf").fit(X, 50 * y - 7)
    np.testing.assert_allclose(other.predict(X), 50 * kernel.predict(X) - 7, rtol=1e-6)


def test_sparse_and_blocked_data_have_the_same_scale(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    X, y = _data()
    usual = dc.RobustRegressor().fit(X, y)
    assert dc.RobustRegressor().fit(sp.csr_array(X), y).scale_ == pytest.approx(usual.scale_)
    monkeypatch.setattr(blocked_matrix, "COPIED", 0)
    stored = np.memmap(tmp_path / "X", float, "w+", shape=X.shape)
    stored[:] = X
    blocked = dc.RobustRegressor().fit(stored, y)
    assert blocked.scale_ == pytest.approx(usual.scale_)
    np.testing.assert_allclose(blocked.coef_, usual.coef_, rtol=1e-4)
    np.testing.assert_allclose(blocked.standard_errors_, usual.standard_errors_, rtol=1e-3)


def test_a_warm_start_is_in_the_units_of_the_targets() -> None:
    X, y = _data()
    model = dc.RobustRegressor(warm_start=True).fit(X, y)
    assert model.fit(X, y).result_.n_iter <= 1


@pytest.mark.parametrize("share", [0.5, 0.3, 0.75])
def test_weighted_quantiles_are_those_of_repetitions(share: float) -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.standard_normal((4, 9)), rng.integers(1, 5, 9).astype(float)
    for row in values:
        repeated = np.sort(np.repeat(row, weights.astype(int)))
        place = share * repeated.size
        low = repeated[int(np.ceil(place - 1e-9)) - 1]
        high = repeated[int(np.floor(place + 1e-9))]
        got = weighted_quantile(row[None], weights, share)[0]
        assert got == pytest.approx((low + high) / 2)


def test_the_m_scale_solves_its_equation() -> None:
    R = np.random.default_rng(0).standard_normal((3, 50)) * [[1.0], [1e-9], [1e9]]
    for level in (0.2, 0.5):
        sigma = m_scale(R, np.ones(50), level)
        u = R / sigma[:, None] / 1.547645
        rho = 1 - np.maximum(1 - u**2, 0) ** 3
        np.testing.assert_allclose(rho.mean(axis=1), level, rtol=1e-12)


def test_the_m_scale_of_residuals_half_of_which_are_rounding_errors_is_a_number() -> None:
    tiny, less = 1.2092549184217205e-12, 2.686739719592879e-13
    R = [31.000000000001208, 29.50000000000047, 2.4999999999995297, tiny, less, tiny]
    R += [0.4999999999980518, less, 2.0000000000012093, less]
    np.testing.assert_allclose(m_scale(np.array([R]), np.ones(10)), 0.5 / 1.547645, rtol=1e-3)


def test_more_coefficients_than_subsets_bear_are_fitted_from_least_squares() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 60))
    y = A.sum(axis=1) + rng.standard_normal(400)
    y[:40] += 100
    np.testing.assert_allclose(high_breakdown_fit(A, y, SScale()), 1, atol=0.5)
