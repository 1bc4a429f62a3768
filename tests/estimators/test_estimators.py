"""RobustClassifier and RobustRegressor: the estimator contract, the objective, bad input."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import dcprog as dc
from dcprog.estimators import RobustClassifier, RobustRegressor
from dcprog.estimators.base import distinct
from dcprog.foundation.arrays import Array
from dcprog.losses import (
    Loss,
    absolute,
    cap,
    hinge,
    logistic,
    rescale,
    square,
    squared_hinge,
    trim,
    truncate,
    welsch,
)
from dcprog.models import AngleSVC, CappedSVC
from dcprog.penalties import Penalty, elastic_net, l1, l2, scad
from dcprog.rows.angle import simplex_vertices


def _classes(n: int = 60, d: int = 4, k: int = 2, flipped: float = 0.1, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.standard_normal((n, d)) + 2.5 * np.eye(k, d)[y]
    change = rng.random(n) < flipped
    y = np.where(change, (y + 1) % k, y)
    return X, y


def _targets(n: int = 60, d: int = 3, outliers: int = 6, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.arange(1.0, d + 1) + 0.5 + 0.1 * rng.standard_normal(n)
    y[:outliers] += 20.0
    return X, y


def _slow_margins(model: Any, X: Array, y: Any) -> list[float]:
    """Margins of a linear classifier sample by sample, as the docstring states them."""
    margins = []
    W = simplex_vertices(len(model.classes_))
    for x, label in zip(X, y, strict=True):
        f = np.array([w @ x + b for w, b in zip(model.coef_, model.intercept_, strict=True)])
        place = list(model.classes_).index(label)
        if len(model.classes_) == 2:
            margins.append(f[0] if place == 1 else -f[0])
        elif model.multiclass in ("crammer_singer", "weston_watkins"):
            scores = W @ f
            margins += [scores[place] - s for j, s in enumerate(scores) if j != place]
        elif model.multiclass == "angle":
            scores = W @ f
            k = len(scores)
            margins += [scores[j] / (k - 1) if j == place else -scores[j] for j in range(k)]
        else:
            margins += [f[j] if j == place else -f[j] for j in range(len(f))]
    return margins


AUTO = {
    "ramp": "crammer_singer",
    "hinge": "crammer_singer",
    "logistic": "weston_watkins",
    "capped_squared_hinge": "weston_watkins",
    "c_loss": "weston_watkins",
}

# ---- the scikit-learn contract -------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_shapes(k: int) -> None:
    X, y = _classes(k=k, flipped=0.0)
    angle = RobustClassifier().fit(X, y)
    ovr = RobustClassifier(multiclass="ovr").fit(X, y)
    rows = 1 if k == 2 else k - 1
    assert angle.coef_.shape == (rows, 4)
    assert angle.intercept_.shape == (rows,)
    assert ovr.coef_.shape == (1 if k == 2 else k, 4)
    for model in (angle, ovr):
        assert model.decision_function(X).shape == ((60,) if k == 2 else (60, k))
        assert model.outlier_weight_.shape == (60,)
        assert model.score(X, y) > 0.8
    assert angle.simplex_.shape == (k, k - 1)
    regressor = RobustRegressor().fit(*_targets())
    assert regressor.coef_.shape == (3,)
    assert isinstance(regressor.intercept_, float)


def test_string_labels_and_frames() -> None:
    X, y = _classes(k=3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = pd.Series(np.array(["x", "y", "z"])[y])
    model = RobustClassifier().fit(frame, names)
    assert list(model.classes_) == ["x", "y", "z"]
    assert list(model.feature_names_in_) == list("abcd")
    plain = RobustClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(frame), np.array(["x", "y", "z"])[plain.predict(X)])


def test_grid_over_parameters_and_values_in_a_pipeline() -> None:
    X, y = _classes(n=40)
    pipe = make_pipeline(StandardScaler(), RobustClassifier(cap(hinge(), 1.0), l2(1.0)))
    name = "robustclassifier__"
    nested = {f"{name}loss__c": [0.5, 2.0], f"{name}penalty__lam": [0.1, 1.0]}
    values = {f"{name}loss": [hinge(), cap(squared_hinge(), 1.0)]}
    search = GridSearchCV(pipe, [nested, values], cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 6
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert pipe[-1].loss.c == 1.0


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_pickles_and_clones(kernel: str | None) -> None:
    X, y = _classes(k=3)
    model = RobustClassifier(cap(hinge(), 1.0), l2(0.5), kernel=kernel).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    scores = model.decision_function(X)
    np.testing.assert_allclose(again.decision_function(X), scores, rtol=1e-10, atol=1e-12)
    assert again.objective_function(X, y)[0] == pytest.approx(model.objective_, rel=1e-10)
    fresh = clone(model)
    assert not hasattr(fresh, "coef_")
    assert fresh.loss is not model.loss
    assert fresh.loss.c == 1.0


def test_sample_weight_is_routed() -> None:
    X, y = _targets(n=30)
    weight = np.arange(30.0) % 3 + 1
    with config_context(enable_metadata_routing=True):
        model = RobustRegressor().set_fit_request(sample_weight=True)
        model = model.set_score_request(sample_weight=True)
        out = cross_validate(model, X, y, params={"sample_weight": weight}, cv=2)
    assert np.all(np.isfinite(out["test_score"]))


def test_callbacks_see_every_step_and_can_stop() -> None:
    X, y = _targets()
    monitor = ScoringMonitor(scoring="r2")
    model = RobustRegressor(scale=1.0).set_callbacks(monitor).fit(X, y)
    scores = [row["r2"] for row in monitor.get_logs().data if row["task_name"] == "step"]
    assert len(scores) == model.result_.n_iter + 1
    assert scores[-1] == pytest.approx(model.score(X, y), rel=1e-3)  # the last is polished

    class Stop:
        def setup(self, estimator: Any, context: Any) -> None: ...

        def teardown(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

        def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
            return True

    assert RobustRegressor().set_callbacks(Stop()).fit(X, y).result_.status == "interrupted"


# ---- the objective -------------------------------------------------------------------------------


@pytest.mark.parametrize("penalize", [False, True])
@pytest.mark.parametrize(
    ("k", "multiclass"),
    [(2, "auto"), (3, "crammer_singer"), (3, "weston_watkins"), (3, "angle"), (3, "ovr")],
)
@pytest.mark.parametrize("penalty", [l2(0.7), elastic_net(0.3, 0.2), scad(0.5, 3.7)], ids=repr)
def test_classifier_objective_equals_a_plain_loop(
    k: int, multiclass: str, penalty: Penalty, penalize: bool
) -> None:
    X, y = _classes(n=40, k=k)
    weight = 1.0 + np.arange(40) % 3
    options: dict[str, Any] = {"multiclass": multiclass, "penalize_intercept": penalize}
    model = RobustClassifier(cap(hinge(), 1.5), penalty, n_starts=1, **options).fit(X, y, weight)
    margins = np.array(_slow_margins(model, X, y)).reshape(40, -1)
    hinges = np.maximum(1 - margins, 0)
    if multiclass == "crammer_singer":
        hinges = np.max(hinges, axis=1, keepdims=True)
    elif multiclass == "weston_watkins":
        hinges = np.sum(hinges, axis=1, keepdims=True)
    loss = weight @ np.sum(np.minimum(hinges, 1.5), axis=1)
    w = model.coef_.ravel()
    w = np.concatenate([w, model.intercept_]) if penalize else w
    assert model.objective_ == pytest.approx(loss + penalty(w), rel=1e-10)
    parts = model.objective_function(X, y, sample_weight=weight)
    assert parts == pytest.approx((loss + penalty(w), loss, penalty(w)), rel=1e-10)
    assert model.result_.value == model.objective_


@pytest.mark.parametrize("loss", [cap(absolute(), 1.0), welsch(square(), 2.0), trim(square(), 0.2)])
def test_regressor_objective_equals_a_plain_loop(loss: Loss) -> None:
    X, y = _targets()
    model = RobustRegressor(loss, l2(0.3), scale=None).fit(X, y)
    u = np.array([t - (x @ model.coef_ + model.intercept_) for x, t in zip(X, y, strict=True)])
    if isinstance(loss, trim):
        value = float(np.sum(np.sort(u**2)[:48]))
    else:
        capped = np.minimum(np.abs(u), 1.0)
        value = float(np.sum(capped if isinstance(loss, cap) else 4 * (1 - np.exp(-(u**2) / 4))))
    expected = value + 0.15 * float(model.coef_ @ model.coef_)
    assert model.objective_ == pytest.approx(expected, rel=1e-10)
    assert model.objective_function(X, y)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("loss", [cap(hinge(), 1.0), logistic(), trim(hinge(), 0.1)], ids=repr)
def test_the_mean_of_losses_is_their_sum_with_a_larger_penalty(loss: Loss) -> None:
    X, y = _classes(n=60, k=3)
    mean = RobustClassifier(loss, l2(0.05), normalize="mean").fit(X, y)
    total = RobustClassifier(loss, l2(3.0)).fit(X, y)
    np.testing.assert_allclose(mean.coef_, total.coef_, atol=1e-6)
    assert 60 * mean.objective_ == pytest.approx(total.objective_, rel=1e-9)
    assert mean.objective_function(X, y)[0] == pytest.approx(mean.objective_, rel=1e-10)
    weight = 1.0 + np.arange(60) % 2 if not loss.is_joint else np.full(60, 2.0)
    one, seven = (clone(mean).fit(X, y, f * weight) for f in (1.0, 7.0))
    np.testing.assert_allclose(seven.coef_, one.coef_, atol=1e-6)


@pytest.mark.parametrize("multiclass", ["crammer_singer", "weston_watkins", "angle", "ovr"])
def test_outlier_weights_of_the_training_samples_are_those_of_the_fit(multiclass: str) -> None:
    X, y = _classes(n=60, k=3)
    loss = rescale(squared_hinge() if multiclass != "crammer_singer" else hinge(), 0.5)
    model = RobustClassifier(loss, multiclass=multiclass, n_starts=1).fit(X, y)
    np.testing.assert_allclose(model.outlier_weights(X, y), model.outlier_weight_, atol=1e-9)
    regressor = RobustRegressor(welsch(square(), 1.0)).fit(*_targets())
    far = regressor.outlier_weights([[0.0, 0.0, 0.0]], [1e3])
    np.testing.assert_allclose(far, [0.0], atol=1e-12)


# ---- several classes -----------------------------------------------------------------------------


@pytest.mark.parametrize("standardised", [False, True])
def test_defaults_tell_the_three_irises(standardised: bool) -> None:
    X, y = load_iris(return_X_y=True)
    X = scale(X) if standardised else X
    assert RobustClassifier().fit(X, y).score(X, y) >= 0.95
    assert cross_val_score(RobustClassifier(), X, y, cv=3).mean() >= 0.95
    for model in (AngleSVC(), CappedSVC()):
        assert model.fit(X, y).score(X, y) >= 0.95


def test_the_automatic_coding() -> None:
    X, y = _classes(n=60, k=3)
    codings = {loss: RobustClassifier(loss, n_starts=1).fit(X, y).multiclass_ for loss in AUTO}
    assert codings == AUTO
    wide = np.hstack([X, np.zeros((60, 600))])
    assert RobustClassifier("hinge").fit(wide, y).multiclass_ == "ovr"


def test_class_weight_multiplies_the_samples_weights() -> None:
    X, y = _classes(k=3)
    by_hand = np.array([1.0, 2.0, 5.0])[y]
    model = RobustClassifier(class_weight={0: 1.0, 1: 2.0, 2: 5.0}, n_starts=1).fit(X, y)
    plain = RobustClassifier(n_starts=1).fit(X, y, by_hand)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert model.objective_function(X, y)[0] == pytest.approx(model.objective_, rel=1e-10)
    balanced = RobustClassifier(class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.class_weight_, 20 / np.bincount(y))


@pytest.mark.parametrize("penalty", [l2(0.5), l1(0.5)], ids=repr)
@pytest.mark.parametrize("loss", [cap(hinge(), 1.0), logistic()], ids=repr)
@pytest.mark.parametrize("k", [2, 3])
def test_whole_weights_repeat_samples(k: int, loss: Loss, penalty: Penalty) -> None:
    X, y = _classes(n=30, k=k)
    weight = np.random.default_rng(1).integers(0, 4, 30)
    model = RobustClassifier(loss, penalty, n_starts=1)
    weighted = clone(model).fit(X, y, weight).decision_function(X)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(repeated.decision_function(X), weighted, rtol=1e-7, atol=1e-9)


def test_weights_of_no_or_one_class_are_refused() -> None:
    X, y = _classes(n=20)
    with pytest.raises(ValueError, match="class"):
        RobustClassifier().fit(X, y, y)
    for model in (RobustClassifier(), RobustRegressor()):
        with pytest.raises(ValueError, match="zero"):
            model.fit(X, y, np.zeros(20))
        with pytest.raises(ValueError, match="egative"):
            model.fit(X, y, np.r_[-1.0, np.ones(19)])


def test_equal_samples_are_merged_unless_the_loss_is_joint() -> None:
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0]]))
    y = np.array([0, 1, 0, 1])
    samples = distinct(X, y, np.array([1.0, 0.0, 2.0, 4.0]))
    assert samples.first is not None
    assert sorted(samples.first) == [0, 3]
    np.testing.assert_array_equal(samples.spread(np.asarray(samples.weights)), [3, 0, 3, 4])
    ones, targets = np.ones((6, 1)), np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.0])
    model = RobustRegressor(trim(square(), 0.2), l2(1.0)).fit(ones, targets)
    assert model.spec_.rows.shape[0] == 6
    assert model.outlier_weight_[-1] == 0


def test_an_undetermined_intercept_stays_near_the_start() -> None:
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.arange(60) % 3
    model = RobustClassifier(class_weight={0: 1000.0, 1: 1e-4, 2: 1e-4}).fit(X, y)
    assert np.max(np.abs(model.intercept_)) < 100
    assert np.all(model.predict(X) == 0)


# ---- robustness ----------------------------------------------------------------------------------


def test_capped_beats_plain_where_outliers_are_gross() -> None:
    X, y = _classes(n=200, flipped=0.0)
    bad, wrong = X.copy(), y.copy()
    bad[:30] *= 20
    wrong[:30] = 1 - y[:30]
    capped = RobustClassifier(penalty=l2(0.1), n_starts=5).fit(bad, wrong)
    plain = RobustClassifier(hinge(), l2(0.1)).fit(bad, wrong)
    assert capped.score(X, y) > plain.score(X, y) + 0.2
    assert capped.outlier_weight_[:30].mean() < 0.2
    assert capped.outlier_weight_[30:].mean() > 0.8


def test_flipped_labels_on_breast_cancer() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    flipped = np.random.default_rng(0).permutation(len(y))[:150]
    wrong = y.copy()
    wrong[flipped] = 1 - y[flipped]
    model = RobustClassifier(penalty=l2(1.0)).fit(X, wrong)
    assert model.score(X, y) >= RobustClassifier(hinge(), l2(1.0)).fit(X, wrong).score(X, y)
    assert model.outlier_weight_[flipped].mean() < 0.3


@pytest.mark.parametrize("loss", [cap(absolute(), 1.0), cap(square(), 4.0), welsch(square(), 1.0)])
def test_regression_line_through_the_clean_samples(loss: Loss) -> None:
    X, y = _targets()
    model = RobustRegressor(loss, l2(1e-3), scale=None).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, 2, 3], atol=0.1)
    assert np.all(model.outlier_weight_[:6] < 1e-6)
    assert np.all(model.outlier_weight_[6:] > 0.5)


def test_outlier_weight_of_a_difference_is_that_of_the_cap() -> None:
    X, y = _classes()
    model = RobustClassifier(truncate(hinge(), 0.0)).fit(X, y)
    u = np.array(_slow_margins(model, X, y))
    np.testing.assert_array_equal(
        model.outlier_weight_[np.abs(u) > 1e-6], (u > 0)[np.abs(u) > 1e-6]
    )


# ---- forms of the same problem -------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("multiclass", ["weston_watkins", "angle", "ovr"])
@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_matrix])
def test_sparse_equals_dense(k: int, multiclass: str, make: Any) -> None:
    X, y = _classes(k=k)
    X[np.abs(X) < 0.5] = 0.0
    classifier = RobustClassifier(cap(squared_hinge(), 2.0), multiclass=multiclass, n_starts=1)
    dense, model = clone(classifier).fit(X, y), clone(classifier).fit(make(X), y)
    assert model.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-3)
    assert model.objective_function(make(X), y)[0] == pytest.approx(model.objective_, rel=1e-10)


@pytest.mark.parametrize("multiclass", ["weston_watkins", "angle", "ovr"])
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("form", ["linear", "precomputed", "callable", "poly"])
def test_linear_kernel_equals_linear(k: int, multiclass: str, form: str) -> None:
    X, y = _classes(k=k)
    loss = cap(squared_hinge(), 2.0)
    # from one start: a kernel's coefficients are as many as the samples, and drafted otherwise
    plain = RobustClassifier(loss, l2(0.5), multiclass=multiclass, n_starts=1).fit(X, y)
    kernel: Any = (lambda A, B: A @ B.T) if form == "callable" else form
    model = RobustClassifier(
        loss, l2(0.5), kernel=kernel, gamma=1.0, degree=1, multiclass=multiclass, n_starts=1
    )
    data = X @ X.T if form == "precomputed" else X
    model.fit(data, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert model.objective_function(data, y)[0] == pytest.approx(model.objective_, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(data), plain.decision_function(X), atol=1e-3)
    assert hasattr(model, "coef_") == (form == "linear")


def test_rbf_kernel_and_its_precomputed_matrix() -> None:
    X, y = _targets()
    options: dict[str, Any] = {"loss": cap(square(), 4.0), "penalty": l2(0.1), "scale": None}
    model = RobustRegressor(**options, kernel="rbf", gamma=0.2).fit(X, y)
    K = rbf_kernel(X, gamma=0.2)
    other = RobustRegressor(**options, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(other.predict(K), model.predict(X), atol=1e-6)
    a = model.dual_coef_
    assert model.objective_function(X, y)[2] == pytest.approx(0.05 * a @ K @ a, rel=1e-8)
    scaled = RobustRegressor(**options, kernel="rbf").fit(X, y)
    assert scaled.kernel_.gamma == pytest.approx(1 / (3 * X.var()))
    auto = RobustRegressor(**options, kernel="rbf", gamma="auto").fit(sp.csr_array(X), y)
    assert auto.kernel_.gamma == pytest.approx(1 / 3)


def test_kernel_with_weights_equals_kernel_of_the_rest() -> None:
    X, y = _classes(n=40, k=3)
    weight = (np.arange(40) % 4 > 0).astype(float)
    kept = weight > 0
    loss = cap(squared_hinge(), 2.0)
    model = RobustClassifier(loss, kernel="rbf").fit(X, y, weight)
    rest = RobustClassifier(loss, kernel="rbf").fit(X[kept], y[kept])
    np.testing.assert_allclose(model.decision_function(X), rest.decision_function(X), atol=1e-4)
    assert np.all(model.dual_coef_[:, ~kept] == 0)
    assert np.all(model.outlier_weight_[~kept] == 0)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_warm_start_needs_no_step(kernel: str | None) -> None:
    X, y = _targets()
    model = RobustRegressor(welsch(square(), 1.0), kernel=kernel, warm_start=True).fit(X, y)
    cold, value = model.result_.n_iter, model.objective_
    model.fit(X, y)
    assert model.result_.n_iter <= 1 < cold
    assert model.objective_ <= value * (1 + 1e-9)
    model.fit(X[:, :2], y)  # another shape: a start from the convex problem
    assert model.n_features_in_ == 2
    classifier = RobustClassifier(cap(squared_hinge(), 1.0), kernel=kernel, warm_start=True)
    classifier.fit(*_classes(k=3)).fit(*_classes(k=4)).fit(*_classes(k=2))
    assert len(classifier.classes_) == 2


def test_no_intercept() -> None:
    X, y = _classes(k=3)
    model = RobustClassifier(fit_intercept=False).fit(X, y)
    assert np.all(model.intercept_ == 0)
    assert RobustRegressor(fit_intercept=False).fit(*_targets()).intercept_ == 0


def test_spec_is_solved_like_the_model() -> None:
    X, y = _classes()
    model = RobustClassifier()
    result = dc.solve(model.spec(X, y))
    assert result.value == pytest.approx(model.fit(X, y).objective_, rel=1e-9)
    X, y = _targets()
    regressor = RobustRegressor()
    assert dc.solve(regressor.spec(X, y)).value == pytest.approx(
        regressor.fit(X, y).objective_, rel=1e-7
    )


def test_solvers_agree_and_name_themselves() -> None:
    X, y = _classes(n=40)
    auto = RobustClassifier().fit(X, y)
    cvxpy = RobustClassifier(solver="cvxpy").fit(X, y)
    assert cvxpy.objective_ == pytest.approx(auto.objective_, rel=1e-6)
    assert cvxpy.result_.solver == "cvxpy"


def test_too_few_steps_warn() -> None:
    X, y = _targets()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        RobustRegressor(welsch(square(), 1.0), max_iter=1, n_starts=1).fit(X, y)


def test_the_progress_bar_of_scikit_learn_takes_a_fit() -> None:
    pytest.importorskip("rich")
    X, y = _targets()
    model = RobustRegressor(welsch(square(), 1.0)).set_callbacks(ProgressBar()).fit(X, y)
    plain = RobustRegressor(welsch(square(), 1.0)).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    RobustClassifier().set_callbacks(ProgressBar()).fit(*_classes(k=3))


def test_verbose_is_a_table(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="dcprog"):
        model = RobustRegressor(welsch(square(), 1.0), n_starts=1, verbose=True).fit(*_targets())
    head, *lines, end = [record.getMessage() for record in caplog.records]
    assert head.split() == [
        "start",
        "step",
        "value",
        "gap",
        "before",
        "moved",
        "violation",
        "seconds",
    ]
    assert len(lines) == model.result_.n_iter + 1
    assert {len(line) for line in lines} == {len(head)}
    assert float(lines[-1].split()[2]) == pytest.approx(model.objective_, rel=1e-6)
    assert end.split()[:2] == ["convex", "converged:"]


def test_verbose_logs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="dcprog"):
        RobustRegressor(verbose=True, n_starts=2, acceleration="linesearch").fit(*_targets())
    assert caplog.records


# ---- bad input -----------------------------------------------------------------------------------

BAD: dict[str, list[Any]] = {
    "loss": ["hing", hinge, 1.0],
    "penalty": ["l3", l2, 1.0],
    "kernel": ["gauss", 1.0],
    "gamma": [0.0, -1.0, "wide", None],
    "degree": [0, 1.5],
    "coef0": [-1.0, "one"],
    "normalize": ["average", None],
    "fit_intercept": ["yes", None],
    "penalize_intercept": ["yes", 2],
    "solver": [None, 3],
    "tol": [0.0, -1.0, "small"],
    "max_iter": [0, 1.5],
    "n_starts": [0, 1.5, "many"],
    "effort": ["huge", None, 2],
    "n_jobs": ["all", 1.5],
    "random_state": ["seed", -1.5],
    "acceleration": ["fast", 1],
    "time_limit": [0.0, -1.0, "long"],
    "warm_start": ["yes", 3],
    "verbose": ["loud", -1],
}
OF_REGRESSORS: dict[str, list[Any]] = {
    "scale": ["sd", 0.0, -1.0],
    "covariance": ["robust", None],
}
OF_CLASSIFIERS: dict[str, list[Any]] = {"multiclass": ["ovo", None], "class_weight": ["even", 2.0]}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n in BAD for v in BAD[n]])
@pytest.mark.parametrize("model", [RobustClassifier(), RobustRegressor()], ids=repr)
def test_bad_parameter(model: Any, name: str, value: Any) -> None:
    X, y = _classes(n=20)
    with pytest.raises(
        (ValueError, TypeError), match=f"'{name}' parameter of {type(model).__name__}"
    ):
        clone(model).set_params(**{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n in OF_CLASSIFIERS for v in OF_CLASSIFIERS[n]]
)
def test_bad_classifier_parameter(name: str, value: Any) -> None:
    X, y = _classes(n=20)
    with pytest.raises(ValueError, match=f"'{name}' parameter of RobustClassifier"):
        RobustClassifier(**{name: value}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n in OF_REGRESSORS for v in OF_REGRESSORS[n]]
)
def test_bad_regressor_parameter(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"'{name}' parameter of RobustRegressor"):
        RobustRegressor(**{name: value}).fit(*_targets())


def test_every_parameter_has_a_bad_value_here() -> None:
    regressors = set(BAD) | set(OF_REGRESSORS)
    assert set(RobustRegressor().get_params(deep=False)) == regressors
    assert set(RobustClassifier().get_params(deep=False)) == set(BAD) | set(OF_CLASSIFIERS)


def test_combinations_that_cannot_be() -> None:
    X, y = _classes(n=20)
    with pytest.raises(ValueError, match="kernel='rbf' with penalty=l1"):
        RobustClassifier(penalty=l1(1.0), kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="solver='newton' cannot take"):
        RobustClassifier(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="NOPE"):
        RobustClassifier(solver="NOPE").fit(X, y)
    with pytest.raises(ValueError, match="positive semidefinite"):
        RobustClassifier(kernel=lambda A, B: -A @ B.T).fit(X, y)
    with pytest.raises(ValueError, match="shape"):
        RobustClassifier(kernel=lambda A, B: np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="square"):
        RobustClassifier(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="trimmed"):
        RobustRegressor(trim(square(), 0.1)).fit(X, y, np.arange(1.0, 21.0))


@pytest.mark.parametrize("model", [RobustClassifier(), RobustRegressor()], ids=repr)
def test_bad_data(model: Any) -> None:
    X, y = _classes(n=20)
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(np.where(X > 3, np.nan, X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(model).fit(X, y[:-1])
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.objective_function(X, y[:-1])
    with pytest.raises(ValueError, match="shape"):
        fitted.objective_function(X, y, sample_weight=np.ones(3))


def test_labels_that_are_none_of_the_classes() -> None:
    X, y = _classes(n=20)
    model = RobustClassifier().fit(X, y)
    with pytest.raises(ValueError, match="not one of the classes"):
        model.objective_function(X, y + 1)


def test_no_warning_on_an_easy_problem() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustClassifier().fit(*_classes())
        RobustRegressor().fit(*_targets())


def test_trimmed_one_against_the_rest_drops_samples_not_margins() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=300)
    centres = 4 * rng.standard_normal((10, 5))
    X = centres[y] + rng.standard_normal((300, 5))
    noisy = np.where(np.arange(300) < 30, (y + 1) % 10, y)
    trimmed = dc.RobustClassifier(dc.trim(dc.hinge(), 0.1), multiclass="ovr", n_starts=1)
    model = trimmed.fit(X, noisy)
    assert np.sum(model.outlier_weight_ == 0) == 30
    assert np.mean(model.outlier_weight_[:30] == 0) > 0.8
    # of ten classes every positive margin could be dropped
    assert model.score(X[30:], y[30:]) > 0.8
    assert model.objective_function(X, noisy)[0] == pytest.approx(model.objective_, rel=1e-10)


def test_the_simplex_code_stands_flipped_labels() -> None:
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    noisy = y.copy()
    flipped = np.random.default_rng(0).permutation(len(y))[: round(0.3 * len(y))]
    noisy[flipped] = (y[flipped] + 1) % 3
    model = RobustClassifier(penalty=l2(10.0), n_starts=1).fit(X, noisy)
    assert model.coef_.shape == (2, 13)
    assert model.score(X, y) > 0.95
    given_up = np.flatnonzero(model.outlier_weight_ == 0)
    assert np.mean(np.isin(given_up, flipped)) > 0.7
