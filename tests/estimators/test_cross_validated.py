"""RobustClassifierCV and RobustRegressorCV: what is fitted, scored, chosen, and refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold

import dcprog as dc
from dcprog.penalties import ConcavePenalty

X, CLASSES = load_iris(return_X_y=True)
LAMBDAS = [10.0, 0.1, 1.0]


def _targets(n: int = 60, d: int = 20) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, :2] @ [3.0, -2.0] + 0.1 * rng.standard_normal(n)
    y[::10] += 30.0
    return X, y


def test_of_equally_good_weights_the_largest_is_chosen() -> None:
    search = dc.RobustRegressorCV(
        dc.RobustRegressor(n_starts=1), lambdas=LAMBDAS, cv=2, scoring=lambda *_: 0.0
    )
    assert search.fit(*_targets()).best_params_ == {"penalty__lam": 10.0}


def test_scores_are_those_of_warm_paths_from_small_to_large() -> None:
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    single = dc.RobustClassifier(n_starts=1)
    search = dc.RobustClassifierCV(single, LAMBDAS, grid={"loss__c": [1.0, 3.0]}, cv=cv)
    search.fit(X, CLASSES)
    np.testing.assert_array_equal(search.lambdas_, [0.1, 1.0, 10.0])
    for f, (train, test) in enumerate(cv.split(X, CLASSES)):
        for row, c in enumerate([1.0, 3.0]):
            model = dc.RobustClassifier(dc.cap(dc.hinge(), c), warm_start=True, n_starts=1)
            for k, lam in enumerate(search.lambdas_):
                model.set_params(penalty=dc.l2(lam)).fit(X[train], CLASSES[train])
                score = model.score(X[test], CLASSES[test])
                assert search.scores_[f, row, k] == pytest.approx(score)
    mean = search.scores_.mean(axis=0)
    assert search.best_score_ == pytest.approx(mean.max())
    row, place = next(
        (search.grid_.index({"loss__c": search.best_params_["loss__c"]}), k)
        for k, lam in enumerate(search.lambdas_)
        if lam == search.best_params_["penalty__lam"]
    )
    assert mean[row, place] == pytest.approx(mean.max())
    assert np.all(mean[:, place + 1 :] < mean.max() - 1e-12)  # of ties the largest λ
    fresh = clone(single).set_params(**search.best_params_).fit(X, CLASSES)
    np.testing.assert_allclose(search.coef_, fresh.coef_)
    np.testing.assert_array_equal(search.predict(X), fresh.predict(X))


def test_a_robust_score_finds_the_signal_behind_outliers() -> None:
    X, y = _targets()
    model = dc.RobustRegressor(dc.tukey(0.5 * dc.square(), 2.0), "mcp")
    search = dc.RobustRegressorCV(model, cv=3, scoring="neg_median_absolute_error").fit(X, y)
    assert set(search.best_params_) == {"penalty__lam"}
    np.testing.assert_allclose(search.coef_[:2], [3.0, -2.0], atol=0.1)
    assert np.max(np.abs(search.coef_[2:])) < 0.2
    np.testing.assert_array_equal(
        np.flatnonzero(search.outlier_weight_ < 1e-6), np.arange(0, 60, 10)
    )
    np.testing.assert_allclose(search.outlier_weights(X, y), search.outlier_weight_, atol=1e-9)
    assert dc.OutlierDisplay.from_estimator(search, X, y).given_up.sum() == 6


def test_usual_values_follow_the_normalisation() -> None:
    X, y = _targets(n=30, d=3)
    base = dc.RobustRegressor(dc.huber(1.0), "l2")
    total = dc.RobustRegressorCV(base, cv=2).fit(X, y)
    mean = dc.RobustRegressorCV(clone(base).set_params(normalize="mean"), cv=2).fit(X, y)
    np.testing.assert_allclose(total.lambdas_, 30 * mean.lambdas_)
    assert mean.lambdas_[-1] == 1.0


def test_weights_count_in_fits_and_scores() -> None:
    X, y = _targets(n=40, d=3)
    weight = (np.arange(40) % 10 > 0).astype(float)  # all outliers left out
    folds = [(np.arange(0, 40, 2), np.arange(1, 40, 2)), (np.arange(1, 40, 2), np.arange(0, 40, 2))]
    search = dc.RobustRegressorCV(dc.RobustRegressor("square"), [0.01, 1.0], cv=folds)
    assert search.fit(X, y, weight).best_score_ > 0.99
    assert clone(search).fit(X, y).best_score_ < 0.9


def test_kernels_names_and_elastic_nets() -> None:
    K = rbf_kernel(X, gamma=0.2)
    kernel = dc.RobustClassifier("logistic", kernel="precomputed", n_starts=1)
    search = dc.RobustClassifierCV(kernel, [0.1, 1.0], cv=3).fit(K, CLASSES)
    assert search.best_score_ > 0.9
    net = dc.RobustRegressor("huber", "elastic_net")
    assert set(dc.RobustRegressorCV(net, [0.1], cv=2).fit(*_targets()).best_params_) == {
        "penalty__l1"
    }


class exponential(ConcavePenalty):
    """Σ (1 − e^{−|w_j|}), without a parameter."""

    def of_size(self, t: Any) -> Any:
        return 1 - np.exp(-t)

    def rate(self, t: Any) -> Any:
        return np.exp(-t)


@pytest.mark.parametrize(
    ("penalty", "name"), [(exponential(), "penalty"), (3 * exponential(), "penalty__factor")]
)
def test_the_weight_of_an_own_penalty_is_a_factor(penalty: dc.Penalty, name: str) -> None:
    X, y = _targets(n=40, d=3)
    model = dc.RobustRegressor("huber", penalty, n_starts=1)
    search = dc.RobustRegressorCV(model, [0.1, 1.0], cv=2).fit(X, y)
    assert set(search.best_params_) == {name}
    again = clone(model).set_params(**search.best_params_).fit(X, y)
    assert again.objective_ == search.best_estimator_.objective_


def test_a_grid_of_penalties_sets_the_weight_of_each() -> None:
    grid = {"penalty": ["elastic_net", "mcp"]}
    search = dc.RobustRegressorCV(dc.RobustRegressor("huber", n_starts=1), [0.1], grid=grid, cv=2)
    names = {"elastic_net": "penalty__l1", "mcp": "penalty__lam"}
    best = search.fit(*_targets(n=40, d=3)).best_params_
    assert names[best["penalty"]] in best


def test_the_summary_has_the_names_of_the_features() -> None:
    frame = load_iris(as_frame=True).data
    single = dc.RobustRegressor("huber", dc.l2(1.0), n_starts=1)
    search = dc.RobustRegressorCV(single, LAMBDAS, cv=2)
    table = search.fit(frame.iloc[:, 1:], frame.iloc[:, 0]).summary()
    assert table.names == [*frame.columns[1:], "intercept"]
    search.fit(X[:, 1:], X[:, 0])
    assert search.summary().names[0] == "x0"


def test_the_summary_is_the_best_estimators() -> None:
    search = dc.RobustRegressorCV(lambdas=[1.0], cv=2).fit(*_targets(n=40, d=3))
    assert str(search.summary()) == str(search.best_estimator_.summary())
    binary = dc.RobustClassifierCV(lambdas=[1.0], cv=2).fit(X, CLASSES > 0)
    assert str(binary.summary()) == str(binary.best_estimator_.summary())


def test_paths_in_parallel_and_the_log(caplog: pytest.LogCaptureFixture) -> None:
    one = dc.RobustClassifierCV(dc.RobustClassifier(n_starts=1), LAMBDAS, cv=3)
    two = clone(one).set_params(n_jobs=2, verbose=True)
    one.fit(X, CLASSES)
    with caplog.at_level("INFO", logger="dcprog"), parallel_config(backend="threading"):
        two.fit(X, CLASSES)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert [record.getMessage().split()[1] for record in caplog.records][-1] == "3/3"


def test_it_is_an_estimator_of_a_grid() -> None:
    search = dc.RobustClassifierCV(dc.RobustClassifier(n_starts=1), [0.1, 1.0], cv=2)
    outer = GridSearchCV(search, {"estimator__loss": ["ramp", "logistic"]}, cv=2)
    assert outer.fit(X, CLASSES).best_score_ > 0.9


def test_groups_go_to_the_splitter() -> None:
    groups, y = np.arange(60) % 3, _targets()[1]
    cv = GroupKFold(3)
    found = dc.RobustRegressorCV(lambdas=[1.0, 10.0], cv=cv).fit(_targets()[0], y, groups=groups)
    folds = list(cv.split(y[:, None], y, groups))
    usual = dc.RobustRegressorCV(lambdas=[1.0, 10.0], cv=folds).fit(*_targets())
    np.testing.assert_array_equal(found.scores_, usual.scores_)


def test_no_warning_from_within_the_paths() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dc.RobustClassifierCV(lambdas=[0.1, 1e6], cv=3).fit(X, CLASSES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": dc.RobustRegressor()}, "RobustClassifierCV"),
        ({"estimator": "ramp"}, "RobustClassifierCV takes a RobustClassifier"),
        ({"estimator": "ramp", "lambdas": "l1"}, r"write RobustClassifierCV\(RobustClassifier\("),
        ({"lambdas": [0.0, 1.0]}, "positive finite numbers"),
        ({"lambdas": [[1.0]]}, "positive finite numbers"),
        ({"lambdas": "many"}, "'lambdas' parameter"),
        ({"grid": {"loss__k": [1.0]}}, "no parameter 'k'"),
        ({"grid": [1]}, "'grid' parameter"),
        ({"cv": 1}, "k-fold|n_splits|cv"),
        ({"scoring": "best"}, "best"),
        ({"n_jobs": "all"}, "'n_jobs' parameter"),
        ({"verbose": "loud"}, "'verbose' parameter"),
    ],
)
def test_bad_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dc.RobustClassifierCV(**options).fit(X, CLASSES)


@pytest.mark.parametrize("factor", [0.01, 0.1, 3.0])
def test_a_penalty_that_levels_off_is_certified(factor: float) -> None:
    """Its rate at large coefficients, e^{−|w|}, may be no more than rounding in the slopes of F."""
    X, y = _targets(n=40, d=3)
    model = dc.RobustRegressor("huber", factor * exponential(), n_starts=1).fit(X, y)
    assert model.result_.status == "converged"
    assert model.result_.history.attempts == ()  # no solver has failed
