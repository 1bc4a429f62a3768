"""Paths of the angle-based SVM over λ and their cross-validation."""

from __future__ import annotations

import logging
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, PredefinedSplit

import dcprog as dc
from dcprog.models import AnglePath, AngleSVC, AngleSVCCV, angle_path

LAMS = [0.1, 0.5, 2.0, 8.0, 32.0]
pytestmark = pytest.mark.filterwarnings("ignore::dcprog.foundation.errors.FisherConsistencyWarning")


def _data(n: int = 60, d: int = 5, noise: float = 0.2, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + 2 * np.eye(3, d)[y]
    flipped = rng.random(n) < noise
    y[flipped] = rng.integers(0, 3, flipped.sum())
    return X, y


# ---- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("form", [1, 2])
def test_path_is_no_worse_than_single_fits(form: int, penalty: str) -> None:
    X, y = _data()
    lam2 = 0.3 if penalty == "elasticnet" else None
    model = AngleSVC(form, penalty=penalty, lam2=lam2, n_starts=1)
    lams = LAMS[::2]
    path = angle_path(X, y, lams, estimator=model)
    assert path.status == "complete"
    assert len(path) == 3
    name = "lam1" if penalty == "elasticnet" else "lam"
    for i, lam in enumerate(lams):
        single = clone(model).set_params(**{name: lam}).fit(X, y)
        assert path.objectives[i] <= single.objective_ * (1 + 1e-6)
        fitted = path.model(i)
        assert fitted.objective(X, y) == pytest.approx(path.objectives[i], rel=1e-10)
        np.testing.assert_array_equal(fitted.coef_, path.coefs[i])
        np.testing.assert_array_equal(fitted.predict(X), path.predict(X)[i])
        np.testing.assert_array_equal(fitted.decision_function(X), path.decision_function(X)[i])
        assert path.score(X, y)[i] == fitted.score(X, y)
        assert path.n_selected[i] == np.any(fitted.coef_ != 0, axis=0).sum()
        assert path.results[i].gap <= 1e-6 * (1 + path.objectives[i])


def test_both_starts_are_the_better_of_each() -> None:
    X, y = _data(noise=0.4, seed=2)
    model = AngleSVC(2, 0.0, n_starts=1)
    paths = {
        starts: angle_path(X, y, LAMS, estimator=model, starts=starts)
        for starts in ("both", "warm", "cold")
    }
    assert not np.any(paths["cold"].warm)
    assert np.all(paths["warm"].warm[1:])
    assert not paths["warm"].warm[0]
    assert np.all(paths["both"].objectives <= paths["cold"].objectives * (1 + 1e-9))


def test_convex_path_is_the_convex_fits() -> None:
    X, y = _data()
    path = angle_path(X, y, LAMS, estimator=AngleSVC(truncation=None))
    assert np.all(path.warm[1:])
    for lam, value in zip(LAMS, path.objectives, strict=True):
        assert value == pytest.approx(
            AngleSVC(truncation=None, lam=lam).fit(X, y).objective_, rel=1e-7
        )


def test_order_and_repetition_of_penalties_do_not_matter() -> None:
    X, y = _data()
    one = angle_path(X, y, [2.0, 0.5, 2.0])
    np.testing.assert_array_equal(one.lams, [0.5, 2.0])
    np.testing.assert_array_equal(one.coefs, angle_path(X, y, [0.5, 2.0]).coefs)


def test_default_penalties() -> None:
    X, y = _data(30)
    path = angle_path(X, y, callback=lambda path: True)
    np.testing.assert_allclose(path.lams, np.logspace(-1.5, 3, 30))
    assert path.status == "interrupted"
    assert len(path) == 1


def test_interrupted_path_goes_on_where_it_stopped() -> None:
    X, y = _data()
    model = AngleSVC(n_starts=1)
    whole = angle_path(X, y, LAMS, estimator=model)

    def third(path: AnglePath) -> bool:
        assert path.status == "running"
        return len(path) == 3

    part = angle_path(X, y, LAMS, estimator=model, callback=third)
    assert (part.status, len(part)) == ("interrupted", 3)
    assert part.decision_function(X).shape == (3, 60, 3)
    rest = angle_path(X, y, LAMS, estimator=model, resume=part)
    assert rest.status == "complete"
    assert rest.results[:3] == part.results
    np.testing.assert_allclose(rest.objectives, whole.objectives, rtol=1e-7)
    done = angle_path(X, y, LAMS, estimator=model, resume=whole)
    assert done.results == whole.results


def test_ctrl_c_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _data()

    def stop(path: AnglePath) -> None:
        if len(path) == 2:
            raise KeyboardInterrupt

    part = angle_path(X, y, LAMS, callback=stop)
    assert (part.status, len(part)) == ("interrupted", 2)

    # inside a run the loop itself catches it and says so
    runs = []
    minimise = AngleSVC.minimise

    def interrupted(self: AngleSVC, *args: Any) -> Any:
        from dataclasses import replace

        result = minimise(self, *args)
        runs.append(result)
        return replace(result, status="interrupted") if len(runs) == 2 else result

    monkeypatch.setattr(AngleSVC, "minimise", interrupted)
    part = angle_path(X, y, LAMS)
    assert (part.status, len(part)) == ("interrupted", 1)


def test_bad_input_of_a_path() -> None:
    X, y = _data()
    path = angle_path(X, y, [1.0])
    for bad in (X[:, :-1], np.where(X > 1, np.nan, X), X[0]):
        with pytest.raises(ValueError, match=r"features|NaN|2D"):
            path.predict(bad)
    assert path.predict(X.tolist()).shape == (1, len(X))
    with pytest.raises(TypeError, match="an AngleSVC is needed"):
        angle_path(X, y, [1.0], estimator="svm")  # type: ignore[arg-type]


def test_a_part_of_a_path_counts_from_its_own_end() -> None:
    X, y = _data()
    part = angle_path(X, y, LAMS, callback=lambda path: len(path) == 2)
    for i in (-1, -2, 0):
        model = part.model(i)
        assert model.lam == LAMS[:2][i]
        assert model.objective(X, y) == pytest.approx(model.objective_, rel=1e-9)
    with pytest.raises(IndexError):
        part.model(2)


def test_resuming_heeds_data_and_parameters() -> None:
    X, y = _data()
    part = angle_path(X, y, LAMS, callback=lambda path: True)
    for data, lams, options in (
        ((X + 1, y), LAMS, {}),
        ((X, (y + 1) % 3), LAMS, {}),
        ((X, y), LAMS[1:], {}),
        ((X, y), LAMS, {"estimator": AngleSVC(1)}),
        ((X, y), LAMS, {"starts": "warm"}),
    ):
        with pytest.raises(ValueError, match="resume"):
            angle_path(*data, lams, resume=part, **options)


def test_kernel_path() -> None:
    X, y = _data(45, 2)
    Z = np.random.default_rng(1).standard_normal((10, 2))
    model = AngleSVC(2, kernel="rbf", kernel_gamma=0.5)
    path = angle_path(X, y, [0.1, 1.0], estimator=model)
    assert path.coefs.shape == (2, 2, 45)
    single = clone(model).set_params(lam=1.0, n_starts=1).fit(X, y)
    np.testing.assert_allclose(path.decision_function(Z)[1], single.decision_function(Z), atol=1e-4)
    np.testing.assert_array_equal(path.model(1).decision_function(Z), path.decision_function(Z)[1])


def test_two_classes_strings_and_sparse_samples() -> None:
    X, y = _data()
    sparse: Any = sp.csr_array(X)
    names = np.array(["no", "yes"])[(y == 1).astype(int)]
    path = angle_path(sparse, names, [0.5, 2.0])
    assert path.decision_function(X).shape == (2, 60, 2)
    assert set(path.predict(X).ravel()) <= {"no", "yes"}
    np.testing.assert_array_equal(path.model(0).predict(X), path.predict(X)[0])
    dense, found = (AngleSVCCV(lams=[0.5], cv=2).fit(samples, names) for samples in (X, sparse))
    np.testing.assert_allclose(found.scores_, dense.scores_)
    np.testing.assert_array_equal(found.predict(sparse), dense.predict(X))


def test_path_is_pickled_and_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    X, y = _data()
    path = angle_path(X, y, LAMS, estimator=AngleSVC(penalty="l1", n_starts=1))
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.coefs, path.coefs)
    ax = path.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["β1", "β2"]
    assert repr(path).endswith("λ from 0.1 to 32, complete)")
    assert len(ax.lines) == 10
    assert ax.get_xscale() == "log"


def test_progress_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    X, y = _data()
    with caplog.at_level(logging.INFO, "dcprog"):
        angle_path(X, y, [0.5, 2.0])
        assert not caplog.records
        angle_path(X, y, [0.5, 2.0], verbose=True)
    assert [record.getMessage().split()[:4] for record in caplog.records] == [
        ["[##########..........]", "1/2", "λ", "0.5"],
        ["[####################]", "2/2", "λ", "2"],
    ]


def test_warnings_come_once() -> None:
    X, y = _data(noise=0.4, seed=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        angle_path(X, y, LAMS, estimator=AngleSVC(2, -0.9, max_iter=1))
    kinds = [w.category for w in caught]
    assert kinds.count(dc.FisherConsistencyWarning) == 1
    assert kinds.count(ConvergenceWarning) == 1
    assert all(w.filename == __file__ for w in caught)


@pytest.mark.parametrize("lams", [[], [0.0], [-1.0], [np.nan], [np.inf]])
def test_bad_penalties(lams: Any) -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="lams"):
        angle_path(X, y, lams)
    with pytest.raises(ValueError, match="lams"):
        AngleSVCCV(lams=lams).fit(X, y)


def test_other_bad_input() -> None:
    X, y = _data()
    with pytest.raises(ValueError, match="starts"):
        angle_path(X, y, LAMS, starts="hot")
    with pytest.raises(ValueError, match="gamma"):
        angle_path(X, y, LAMS, estimator=AngleSVC(gamma=2.0))
    with pytest.raises(ValueError, match="class"):
        angle_path(X, np.zeros(60), LAMS)


# ---- cross-validation ----------------------------------------------------------------------------


def test_scores_are_those_of_a_grid_search() -> None:
    X, y = _data(90)
    cv, plain = KFold(3, shuffle=True, random_state=0), AngleSVC(2, n_starts=1)
    with parallel_config(backend="threading"):
        search = AngleSVCCV(plain, LAMS, cv=cv, starts="cold", n_jobs=2).fit(X, y)
    grid = GridSearchCV(plain, {"lam": LAMS}, cv=cv).fit(X, y)
    expected = [[grid.cv_results_[f"split{f}_test_score"][i] for i in range(5)] for f in range(3)]
    np.testing.assert_allclose(search.scores_[:, 0], expected)
    assert search.best_score_ == pytest.approx(grid.best_score_)
    best = np.flatnonzero(grid.cv_results_["mean_test_score"] >= grid.best_score_ - 1e-12)[-1]
    assert search.best_params_ == {"lam": LAMS[best]}
    again = AngleSVC(2, lam=LAMS[best], n_starts=1).fit(X, y)
    np.testing.assert_allclose(search.best_estimator_.coef_, again.coef_)
    np.testing.assert_array_equal(search.predict(X), again.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), again.decision_function(X))


def test_groups_go_to_the_splitter() -> None:
    X, y = _data()
    groups, cv = np.arange(60) // 3 % 3, GroupKFold(3)
    found = AngleSVCCV(lams=[0.5, 8.0], cv=cv, starts="warm").fit(X, y, groups=groups)
    usual = AngleSVCCV(lams=[0.5, 8.0], cv=list(cv.split(X, y, groups)), starts="warm").fit(X, y)
    np.testing.assert_array_equal(found.scores_, usual.scores_)


def test_held_out_set_and_no_refit() -> None:
    X, y = _data(90)
    held = np.where(np.arange(90) < 40, -1, 0)
    model = AngleSVC(n_starts=1)
    search = AngleSVCCV(model, LAMS, cv=PredefinedSplit(held), refit=False).fit(X, y)
    path = angle_path(X[:40], y[:40], LAMS, estimator=model)
    scores = path.score(X[40:], y[40:])
    np.testing.assert_array_equal(search.scores_[0, 0], scores)
    best = np.flatnonzero(scores == scores.max())[-1]
    assert search.best_params_ == {"lam": LAMS[best]}
    np.testing.assert_array_equal(search.best_estimator_.coef_, path.coefs[best])
    assert search.score(X[40:], y[40:]) == search.best_score_
    with pytest.raises(ValueError, match="single split"):
        AngleSVCCV(lams=LAMS, cv=3, refit=False).fit(X, y)


def test_elastic_net_searches_a_grid() -> None:
    X, y = _data(60)
    lams2 = [0.1, 1.0, 10.0]
    model = AngleSVC(penalty="elasticnet", n_starts=1)
    search = AngleSVCCV(model, LAMS[:3], lams2, cv=2).fit(X, y)
    assert search.scores_.shape == (2, 3, 3)
    assert set(search.paths_) == {(f, r) for f in range(2) for r in range(3)}
    mean = search.scores_.mean(axis=0)
    row, place = np.argwhere(mean >= mean.max() - 1e-12)[-1]
    assert search.best_params_ == {"lam1": LAMS[place], "lam2": lams2[row]}
    fitted = search.best_estimator_
    assert (fitted.lam1, fitted.lam2) == (LAMS[place], lams2[row])
    assert search.paths_[1, 2].estimator.lam2 == 10.0


def test_interrupted_search_keeps_what_it_has_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _data()
    runs: list[Any] = []
    minimise = AngleSVC.minimise

    def stop(self: AngleSVC, *args: Any) -> Any:
        runs.append(args)
        if len(runs) == 13:  # nine runs of the first fold's five λ, then two λ of the second
            raise KeyboardInterrupt
        return minimise(self, *args)

    search = AngleSVCCV(AngleSVC(n_starts=1), LAMS, cv=2, warm_start=True)
    whole = clone(search).fit(X, y)
    with monkeypatch.context() as patched:
        patched.setattr(AngleSVC, "minimise", stop)
        with pytest.warns(ConvergenceWarning, match="warm_start=True"):
            search.fit(X, y)
    assert search.interrupted_ is True
    assert np.all(np.isfinite(search.scores_[0, 0]))
    np.testing.assert_array_equal(
        np.isfinite(search.scores_[1, 0]), [True, True, False] + [False] * 2
    )
    assert search.best_params_["lam"] in LAMS[:2]
    assert search.predict(X).shape == (60,)
    kept = search.paths_
    search.fit(X, y)
    again = search.paths_
    assert (search.interrupted_, len(again)) == (False, 2)
    assert again[0, 0].results == kept[0, 0].results
    assert again[1, 0].results[:2] == kept[1, 0].results
    np.testing.assert_array_equal(search.scores_, whole.scores_)
    assert search.best_params_ == whole.best_params_
    search.fit(X + 1, y)  # other data: nothing of the former fit is taken
    np.testing.assert_array_equal(
        search.scores_, clone(search).set_params(warm_start=False).fit(X + 1, y).scores_
    )


def test_interrupted_before_anything_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(AngleSVC, "minimise", stop)
    with pytest.raises(KeyboardInterrupt, match="no penalty"):
        AngleSVCCV(lams=LAMS, cv=2).fit(*_data())


def test_precomputed_kernel_is_split_both_ways() -> None:
    X, y = _data(45, 2)
    options: dict[str, Any] = {"lams": [0.1, 1.0], "cv": 3}
    by_name = AngleSVCCV(AngleSVC(2, kernel="rbf", kernel_gamma=0.5), **options).fit(X, y)
    K = rbf_kernel(X, gamma=0.5)
    by_matrix = AngleSVCCV(AngleSVC(2, kernel="precomputed"), **options).fit(K, y)
    np.testing.assert_array_equal(by_name.scores_, by_matrix.scores_)
    # two ways to the same matrix differ by rounding, and a sample may lie between two classes
    assert np.mean(by_name.predict(X) == by_matrix.predict(K)) >= 0.95


def test_search_warns_once_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    X, y = _data()
    with caplog.at_level(logging.INFO, "dcprog"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AngleSVCCV(AngleSVC(1), lams=[0.5, 2.0], cv=2, verbose=True).fit(X, y)
    assert [w.category for w in caught] == [dc.FisherConsistencyWarning]
    assert caught[0].filename == __file__
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[1:3] for line in lines] == [["1/2", "paths:"], ["2/2", "paths:"]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("estimator", dc.RobustClassifier()),
        ("lams", 3),
        ("lams2", "many"),
        ("cv", "five"),
        ("starts", "hot"),
        ("refit", "yes"),
        ("n_jobs", 1.5),
        ("warm_start", 2),
        ("verbose", "loud"),
    ],
)
def test_bad_parameter_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        AngleSVCCV(**{name: value}).fit(*_data())
