"""LeastTrimmedSquares: the sum of squares, published fits, equivariance, the contract."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import dcprog as dc
from dcprog.foundation.arrays import Array
from dcprog.models import LeastTrimmedSquares
from examples.common.regression_sets import SETS, regression_set
from examples.least_trimmed_squares.reproduce_sets import PUBLISHED
from tests.models.leverage import with_leverage


def _data(bad: int = 15) -> tuple[Array, Array]:
    return with_leverage(60, bad)


@pytest.mark.parametrize("name", SETS)
def test_the_published_samples_have_the_least_sum(name: str) -> None:
    X, y = regression_set(name)
    model = LeastTrimmedSquares().fit(X, y)
    best = [int(i) - 1 for i in PUBLISHED[name].best.split()]
    np.testing.assert_array_equal(np.flatnonzero(model.support_), best)
    A = np.column_stack([X, np.ones(len(y))])[best]
    theta = np.linalg.lstsq(A, y[best], rcond=None)[0]
    np.testing.assert_allclose(np.append(model.raw_coef_, model.raw_intercept_), theta, rtol=1e-6)
    assert model.objective_ == pytest.approx(np.sum((y[best] - A @ theta) ** 2), rel=1e-9)
    assert model.objective(X, y) == pytest.approx(model.objective_)


def test_no_subset_is_better() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    model = LeastTrimmedSquares().fit(X, y)
    A = np.column_stack([X, np.ones(12)])
    h = int(model.support_.sum())
    assert h == 8
    for rows in combinations(range(12), h):
        part = A[list(rows)]
        theta = np.linalg.lstsq(part, y[list(rows)], rcond=None)[0]
        assert model.objective_ <= np.sum((y[list(rows)] - part @ theta) ** 2) * (1 + 1e-9)


def test_the_step_is_least_squares_on_what_is_kept() -> None:
    X, y = _data()
    model = LeastTrimmedSquares().fit(X, y)
    kept = model.outlier_weight_ == 1
    assert not np.any(kept[:15])
    assert kept[15:].mean() > 0.9
    A = np.column_stack([X, np.ones(60)])
    theta, squares, *_ = np.linalg.lstsq(A[kept], y[kept], rcond=None)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta, rtol=1e-9)
    assert model.scale_ == pytest.approx(float(np.sqrt(squares[0] / (kept.sum() - 4))))
    r = (y - model.predict(X))[kept]
    bread = np.linalg.inv(A[kept].T @ A[kept])
    n = kept.sum()
    expected = bread @ (A[kept].T @ (r[:, None] ** 2 * A[kept])) @ bread * n / (n - 4)
    np.testing.assert_allclose(model.covariance_, expected, rtol=1e-6)
    raw = clone(model).set_params(reweight=False).fit(X, y)
    np.testing.assert_array_equal(raw.coef_, model.raw_coef_)
    assert raw.scale_ == raw.raw_scale_


def test_the_raw_scale_is_written_out() -> None:
    X, y = _data()
    model = LeastTrimmedSquares().fit(X, y)
    r = np.sort((y - X @ model.raw_coef_ - model.raw_intercept_) ** 2)[:32]
    draws = np.random.default_rng(0).standard_normal(400_000)
    smallest = np.sort(draws**2)[: int(400_000 * 32 / 60)]
    consistent = 1 / np.sqrt(smallest.mean())
    expected = np.sqrt(r.mean()) * consistent * (1 + 5 / 56)
    assert model.raw_scale_ == pytest.approx(expected, rel=0.01)


def test_all_of_the_samples_are_least_squares() -> None:
    X, y = _data(bad=0)
    model = LeastTrimmedSquares(support_fraction=1.0, reweight=False).fit(X, y)
    theta = np.linalg.lstsq(np.column_stack([X, np.ones(60)]), y, rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), theta, rtol=1e-6)


def test_equivariance() -> None:
    X, y = _data()
    rng = np.random.default_rng(1)
    B, v = rng.standard_normal((3, 3)), rng.standard_normal(3)
    usual = LeastTrimmedSquares().fit(X, y)
    other = LeastTrimmedSquares().fit(X, -3e4 * y + X @ v + 8e5)
    np.testing.assert_allclose(other.coef_, -3e4 * usual.coef_ + v, rtol=1e-6)
    assert other.scale_ == pytest.approx(3e4 * usual.scale_, rel=1e-6)
    turned = LeastTrimmedSquares().fit(X @ B + 100.0, y)
    np.testing.assert_allclose(B @ turned.coef_, usual.coef_, rtol=1e-6)
    slope = LeastTrimmedSquares(fit_intercept=False).fit(X, y)
    assert slope.intercept_ == 0
    assert slope.spec_.rows.shape == (60, 3)


def test_the_spec_is_solved_by_the_loop() -> None:
    X, y = _data()
    model = LeastTrimmedSquares().fit(X, y)
    assert dc.solve(model.spec_).value == pytest.approx(model.objective_, rel=1e-6)
    assert "LeastTrimmedSquares, 60 samples" in repr(model.summary())


@pytest.mark.parametrize("options", [{"support_fraction": 0.4}, {"cutoff": 0.0}, {"reweight": 2}])
def test_bad_parameters(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="parameter of LeastTrimmedSquares"):
        LeastTrimmedSquares(**options).fit(*_data())
