"""Probabilities and standard errors of logistic losses, truncated or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import dcprog as dc
from dcprog.estimators.inference import CoefficientTable
from dcprog.estimators.probabilities import has_finite_odds, multiplier_of
from dcprog.foundation.arrays import Array
from dcprog.foundation.table import Table

SLOPE = np.array([1.5, -1.0])


def _data(n: int = 400, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (rng.random(n) < expit(X @ SLOPE + 0.5)).astype(int)


def _fitted(loss: Any, n: int = 400, seed: int = 0, **options: Any) -> Any:
    return dc.RobustClassifier(loss, dc.l2(1e-6), n_starts=1, **options).fit(*_data(n, seed))


def test_the_errors_of_logistic_regression_are_those_of_statsmodels() -> None:
    robust = pytest.importorskip("statsmodels.api")
    X, y = _data()
    model = _fitted(dc.logistic())
    theirs = robust.Logit(y, np.column_stack([X, np.ones(400)])).fit(disp=0, cov_type="HC0")
    table = model.summary()
    np.testing.assert_allclose(table.coef, theirs.params, rtol=1e-3)
    np.testing.assert_allclose(table.errors, theirs.bse * np.sqrt(400 / 397), rtol=1e-3)
    np.testing.assert_allclose(table.z, table.coef / table.errors)
    assert list(table.to_frame()) == ["coef", "std err", "z", "P>|z|", "[0.025", "0.975]"]
    assert repr(table).startswith("RobustClassifier, log odds of class 1, 400 samples, 0 of weight")
    assert model.conf_int().shape == (3, 2)
    assert model.wald_test(["x0", "x1"]).p_value < 1e-6
    assert model.standard_errors_.shape == (2,)


def test_the_heading_says_that_scores_of_a_truncated_loss_are_no_log_odds() -> None:
    table = _fitted(dc.cap(dc.logistic(), 3.0)).summary()
    assert repr(table).startswith("RobustClassifier, scores (not log odds) of class 1, 400 samples")


@pytest.mark.parametrize("loss", [dc.cap(dc.logistic(), 3.0), dc.welsch(dc.logistic(), 2.0)])
def test_the_errors_of_truncated_losses_are_how_the_fits_vary(loss: Any) -> None:
    fits = [_fitted(loss, seed=seed) for seed in range(25)]
    spread = np.std([fit.coef_[0] for fit in fits], axis=0)
    told = np.median([fit.standard_errors_ for fit in fits], axis=0)
    np.testing.assert_allclose(told, spread, rtol=0.3)


def test_errors_are_of_two_classes_and_logistic_losses() -> None:
    X, y = load_iris(return_X_y=True)
    several = dc.RobustClassifier(dc.logistic(), n_starts=1).fit(X, y)
    ramp = dc.RobustClassifier(n_starts=1).fit(*_data(60))
    kernel = dc.RobustClassifier(dc.logistic(), kernel="rbf", n_starts=1).fit(*_data(60))
    for model, told in ((several, "two classes"), (ramp, "logistic"), (kernel, "kernel")):
        assert not hasattr(model, "covariance_")
        with pytest.raises(AttributeError, match=told):
            model.conf_int()
    assert isinstance(several.summary(), Table)
    assert isinstance(ramp.summary(), Table)
    assert isinstance(_fitted(dc.logistic(), 60).summary(), CoefficientTable)
    mean = _fitted(dc.logistic(), normalize="mean").set_params(penalty=dc.l2(1e-6 / 400))
    np.testing.assert_allclose(
        mean.fit(*_data()).covariance_, _fitted(dc.logistic()).covariance_, rtol=1e-2
    )


def test_dependent_columns_have_errors_under_a_small_ridge() -> None:
    """Of all coefficients with the same scores a small ridge takes the shortest."""
    X, y = _data()
    mixed = np.random.default_rng(0).normal(size=(2, 5))
    plain, wide = (
        dc.RobustClassifier(dc.logistic(), dc.l2(1e-6)).fit(Z, y) for Z in (X, X @ mixed)
    )
    shortest = np.linalg.pinv(mixed)
    known = shortest @ plain.covariance_[:2, :2] @ shortest.T
    np.testing.assert_allclose(wide.standard_errors_, np.sqrt(np.diag(known)), rtol=5e-3)


def test_without_a_truncation_they_are_the_logistic_link() -> None:
    X, _ = _data()
    model = _fitted(dc.logistic())
    f = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X), np.column_stack([expit(-f), expit(f)]))
    X, y = load_iris(return_X_y=True)
    several = dc.RobustClassifier(dc.logistic(), n_starts=1).fit(X, y)
    np.testing.assert_allclose(
        several.predict_proba(X), softmax(several.decision_function(X), axis=1)
    )


def test_a_multiple_of_the_loss_and_a_cap_beyond_all_losses_are_no_truncation() -> None:
    X, y = _data(100)
    for loss in (0.5 * dc.logistic(), dc.cap(dc.logistic(), 1e3)):
        model = dc.RobustClassifier(loss, dc.l2(5.0), n_starts=1).fit(X, y)
        np.testing.assert_allclose(
            model.predict_proba(X)[:, 1], expit(model.decision_function(X)), rtol=1e-12
        )


@pytest.mark.parametrize(
    "loss",
    [dc.cap(dc.logistic(), 2.0), dc.welsch(dc.logistic(), 2.0), dc.trim(dc.logistic(), 0.1)],
)
def test_a_multiplier_undoes_the_truncation(loss: Any) -> None:
    """Truncated fits of logistic data are too steep; their multiples are not."""
    X, y = _data(3000)
    model = dc.RobustClassifier(loss, dc.l2(1e-6), n_starts=1).fit(X, y)
    a = multiplier_of(model.spec_, model.result_.x)
    assert np.linalg.norm(model.coef_[0]) > 1.2 * np.linalg.norm(SLOPE)
    np.testing.assert_allclose(a * model.coef_[0], SLOPE, atol=0.3)
    true = expit(X @ SLOPE + 0.5)
    assert np.mean(np.abs(model.predict_proba(X)[:, 1] - true)) < 0.03
    weighted = model.fit(X, y, np.full(3000, 2.0))
    assert multiplier_of(weighted.spec_, weighted.result_.x) == pytest.approx(a, rel=0.01)


def test_outliers_do_not_move_the_probabilities() -> None:
    X, y = _data(2000)
    usual = _fitted(dc.cap(dc.logistic(), 3.0), 2000).predict_proba(X)
    X_bad = np.vstack([X, np.tile([8.0, -8.0], (100, 1))])  # surely of class 1
    y_bad = np.append(y, np.zeros(100, dtype=int))
    loss = dc.cap(dc.logistic(), 3.0)
    model = dc.RobustClassifier(loss, dc.l2(1e-6)).fit(X_bad, y_bad)
    assert np.max(np.abs(model.predict_proba(X) - usual)) < 0.1


def test_several_classes_are_multiples_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    B = np.array([[1.5, 0.0], [-1.0, 1.0], [-0.5, -1.0]])
    y = np.argmax(X @ B.T + rng.gumbel(size=(3000, 3)), axis=1)
    model = dc.RobustClassifier(dc.welsch(dc.logistic(), 3.0), dc.l2(1e-6), n_starts=1).fit(X, y)
    P, true = model.predict_proba(X), softmax(X @ B.T, axis=1)
    steep = softmax(model.decision_function(X), axis=1)
    assert np.mean(np.abs(P - true)) < 0.6 * np.mean(np.abs(steep - true))
    np.testing.assert_array_equal(P.argmax(axis=1), model.predict(X))


def test_others_name_what_fits_probabilities() -> None:
    X, y = _data(60)
    digits = load_iris(return_X_y=True)
    ovr = dc.RobustClassifier(dc.logistic(), multiclass="ovr", n_starts=1).fit(*digits)
    for model in (
        dc.RobustClassifier(n_starts=1).fit(X, y),
        dc.models.CappedSVC(),
        dc.RobustClassifierCV(),
        ovr,
        _fitted(dc.cap(dc.logistic(), 1.3), 60),
    ):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="CalibratedClassifierCV"):
            _ = model.predict_proba
    assert not hasattr(dc.RobustClassifier("no such loss"), "predict_proba")
    with pytest.raises(AttributeError) as hidden:
        _ = make_pipeline(dc.RobustClassifier()).predict_proba
    reason = str(hidden.value.__cause__)
    assert "as 'logistic' and, for two classes, 'capped_logistic' of RobustClassifier" in reason
    assert hasattr(dc.RobustClassifier("logistic"), "predict_proba")


def test_of_three_classes_the_reason_tells_which_cap_is_enough() -> None:
    model = dc.RobustClassifier("capped_logistic", n_starts=1).fit(*load_iris(return_X_y=True))
    with pytest.raises(AttributeError, match=r"of 3 classes \(a cap must be above 2\.08\)"):
        _ = model.predict_proba
    higher = dc.RobustClassifier(dc.cap(dc.logistic(), 2.1), n_starts=1)
    assert hasattr(higher.fit(*load_iris(return_X_y=True)), "predict_proba")


def test_a_cap_of_twice_the_loss_at_0_is_the_least() -> None:
    for k in (2, 3, 5):
        least = k * np.log(2)  # (1 − 1/k)·c > (k − 1)·log 2
        assert has_finite_odds(dc.cap_at(1.01 * least), k)
        assert not has_finite_odds(dc.cap_at(0.99 * least), k)
    assert has_finite_odds(dc.logistic().transform, 2)


def test_a_search_has_those_of_its_best() -> None:
    X, y = _data(100)
    model = dc.RobustClassifier(dc.cap(dc.logistic(), 3.0), n_starts=1)
    search = dc.RobustClassifierCV(model, lambdas=[0.1, 1.0], cv=2).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))


def test_a_low_cap_is_told_of_before_the_fit() -> None:
    assert not hasattr(dc.RobustClassifier(dc.cap(dc.logistic(), 1.0)), "predict_proba")
    assert hasattr(dc.RobustClassifier(dc.cap(dc.logistic(), 3.0)), "predict_proba")
    assert hasattr(dc.RobustClassifier(dc.trim(dc.logistic(), 0.1)), "predict_proba")


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("logistic", dc.l2(0.0)),
        ("logistic", dc.mcp(0.1)),
        (dc.trim(dc.logistic(), 0.1), dc.l2(0.0)),
    ],
)
def test_separated_classes_have_no_errors_without_a_penalty(loss: Any, penalty: Any) -> None:
    Z = np.random.default_rng(0).normal(size=(60, 2))
    label = (Z[:, 0] > 0).astype(int)
    model = dc.RobustClassifier(loss, penalty, n_starts=1).fit(Z, label)
    with pytest.warns(RuntimeWarning, match="are separated") as told:
        assert np.all(np.isnan(model.conf_int()))
    assert len(told) == 1
    shrunk = dc.RobustClassifier("logistic", n_starts=1).fit(Z, label)
    assert np.all(np.isfinite(shrunk.conf_int()))
