"""The default penalties of RobustClassifier and RobustRegressor."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits

import dcprog as dc
from dcprog.estimators.classifier import typical_square

X = np.random.default_rng(0).normal(size=(60, 4))
Y = (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=60) > 0).astype(int)


def weight(model: Any, X: Any = X, y: Any = Y, **options: Any) -> float:
    return float(model.fit(X, y, **options).penalty_.lam)


def test_the_fit_does_not_depend_on_the_unit_or_the_origin() -> None:
    model = dc.RobustClassifier(n_starts=1)
    scores = model.fit(X, Y).decision_function(X)
    for Z in (1e3 * X, 1e-3 * X, X + 7.0):
        np.testing.assert_allclose(clone(model).fit(Z, Y).decision_function(Z), scores, atol=1e-4)


def test_wrong_labels_of_digits_do_not_win() -> None:
    Z, y = load_digits(return_X_y=True)
    Z, y, rng = Z[:400] / 16, y[:400], np.random.default_rng(0)
    noisy = np.where(rng.random(200) < 0.2, rng.integers(10, size=200), y[:200])
    found, former = (
        dc.RobustClassifier("ramp", penalty, n_starts=1).fit(Z[:200], noisy).score(Z[200:], y[200:])
        for penalty in (None, "l2")
    )
    assert found >= former > 0.7


def test_sparse_and_dense_samples_and_repeats_agree() -> None:
    holes = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = typical_square(holes, None, True)
    assert typical_square(sp.csr_array(holes), None, True) == pytest.approx(dense, rel=1e-9)
    times = np.random.default_rng(2).integers(0, 4, 60).astype(float)
    repeated = typical_square(np.repeat(X, times.astype(int), axis=0), None, True)
    assert typical_square(X[times > 0], times[times > 0], True) == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_of_noise_does_not_rule_it(sparse: bool) -> None:
    """A hundred times as large as the others, it made the weight 5000 times too large."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(800, 20))
    y = (Z @ rng.normal(size=20) > 0).astype(int)
    Z[:, 0] = 100 * rng.normal(size=800)
    samples = sp.csr_array(Z) if sparse else Z
    model = dc.RobustClassifier(n_starts=1)
    assert weight(model, samples[:400], y[:400]) < 2.5 * 20
    assert model.score(samples[400:], y[400:]) > 0.88


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_no_column_is_too_large_for_it(kind: Callable[[Any], Any]) -> None:
    """From a million times the others' size on, the largest column was counted as it is."""
    found = []
    for ratio in 10.0 ** np.arange(3, 13):
        Z = X.copy()
        Z[:, 0] *= ratio
        found.append(typical_square(kind(Z), None, True))
    np.testing.assert_allclose(found, found[0], rtol=1e-3)


def test_times_in_seconds_do_not_rule_it() -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(1200, 4))
    y = (Z[:, 1] + 0.3 * rng.normal(size=1200) > 0).astype(int)
    Z[:, 0] = 1.7e9 + rng.uniform(0, 3e7, 1200)
    model = dc.RobustClassifier(n_starts=1)
    assert weight(model, Z[:600], y[:600]) < 10
    assert model.score(Z[600:], y[600:]) > 0.88


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_column_is_counted_as_it_is(kind: Callable[[Any], Any]) -> None:
    one = typical_square(X[:, :1], None, True)
    for constant in (0.0, 7.3, 1e6):
        Z = np.column_stack([X[:, 0], np.full(60, constant)])
        assert typical_square(kind(Z), None, True) == pytest.approx(one)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_column_of_samples_without_weight_counts_as_none(kind: Callable[[Any], Any]) -> None:
    alone = np.column_stack([X[:, 0], np.arange(60) < 10])
    weights = (np.arange(60) >= 10).astype(float)
    one = typical_square(X[10:, :1], None, True)
    assert typical_square(kind(alone), weights, True) == pytest.approx(one)


@pytest.mark.parametrize("mean", [1e3, 1e6, 1e9])
def test_large_means_of_sparse_columns_do_not_move_it(mean: float) -> None:
    """From 3e6 on the squared distances were rounding errors, and the weight was 1."""
    Z = X + mean * np.array([1.0, 0.0, 0.0, 1.0])
    found = typical_square(sp.csr_array(Z), None, True)
    assert found == pytest.approx(typical_square(X, None, True), rel=1e-5)


def test_outliers_do_not_move_it() -> None:
    far = X.copy()
    far[:15] = 1e9
    assert typical_square(far, None, True) < 2 * typical_square(X, None, True)


def test_mean_and_sum_give_one_fit() -> None:
    sums, means = (
        dc.RobustClassifier(normalize=how, n_starts=1).fit(X, Y) for how in ("sum", "mean")
    )
    np.testing.assert_allclose(sums.coef_, means.coef_, atol=1e-5)


def test_a_multiple_of_the_loss_has_the_same_fit() -> None:
    one, three = (dc.RobustClassifier(a * dc.logistic(), n_starts=1).fit(X, Y) for a in (1.0, 3.0))
    np.testing.assert_allclose(one.coef_, three.coef_, atol=1e-5)


def test_a_given_penalty_keeps_its_meaning() -> None:
    assert weight(dc.RobustClassifier(penalty="l2")) == 1.0
    assert weight(dc.RobustClassifier(penalty=dc.l2(0.3))) == 0.3
    assert dc.RobustClassifier(penalty="l2")._loss().get_params()["c"] == 1.0


def test_equal_samples_and_odd_losses_have_weight_one() -> None:
    assert weight(dc.RobustClassifier(), np.zeros((60, 4))) == 1.0
    assert weight(dc.RobustClassifier(dc.squared_hinge() - dc.squared_hinge(at=-9.0))) > 0


def test_kernels_and_penalised_intercepts() -> None:
    assert 0.3 < weight(dc.RobustClassifier(kernel="rbf", n_starts=1)) < 1.5
    free, penalised = (
        weight(dc.RobustClassifier(penalize_intercept=p), X + 3) for p in (False, True)
    )
    assert penalised > 3 * free


def test_auto_is_a_value_of_the_parameter() -> None:
    model = dc.RobustClassifier()
    assert model.get_params()["penalty__lam"] == "auto"
    assert clone(model.set_params(**model.get_params())).penalty is None
    assert model.set_params(penalty__lam=0.5).penalty.lam == 0.5


def test_auto_does_not_go_with_a_given_penalty() -> None:
    with pytest.raises(ValueError, match="'auto' goes with penalty=None, not 'l2'"):
        dc.RobustClassifier(penalty="l2").set_params(penalty__lam="auto")
    assert dc.RobustClassifier("ramp", "l2").set_params(penalty=None, penalty__lam="auto")


def test_a_regressor_with_few_samples_and_no_penalty_says_what_to_pass() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 20)), rng.normal(size=30)
    with pytest.warns(UserWarning, match=r"30 samples for 21 coefficients.*dc\.l2\(5\)"):
        dc.RobustRegressor().fit(X, y)
    for model, d in ((dc.RobustRegressor(penalty=dc.l2(5.0)), 20), (dc.RobustRegressor(), 10)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("ignore", dc.TrivialSolutionWarning)
            model.fit(X[:, :d], y)
