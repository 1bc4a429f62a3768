"""Estimators of linear functions fit, predict and refuse by blocks as they do in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import dcprog as dc
from dcprog.foundation import blocked_matrix
from dcprog.foundation.arrays import Array
from dcprog.models import CappedSVC, SmoothSVC

RNG = np.random.default_rng(0)
N, D = 300, 4
X: Array = RNG.standard_normal((N, D)).astype(np.float32).astype(float)
SCORE = X @ [1.0, -2.0, 0.5, 0.0]
LABELS = np.where(SCORE + RNG.standard_normal(N) > 0, "yes", "no")
TARGETS = SCORE + RNG.standard_normal(N) + 30 * (RNG.random(N) < 0.1)
CLASSES = np.argmax(X @ RNG.standard_normal((D, 3)) + RNG.standard_normal((N, 3)), axis=1)
SQUARED = dc.cap(dc.squared_hinge(), 1.0)

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "two classes": (lambda: dc.RobustClassifier(SQUARED, n_starts=1), LABELS),
    "the default": (dc.RobustClassifier, LABELS),
    "three classes": (lambda: dc.RobustClassifier(SQUARED, n_starts=1), CLASSES),
    "one against the rest": (
        lambda: dc.RobustClassifier(SQUARED, multiclass="ovr", class_weight="balanced", n_starts=1),
        CLASSES,
    ),
    "residuals": (lambda: dc.RobustRegressor(dc.tukey(0.5 * dc.square(), 4.685)), TARGETS),
    "absolute residuals": (dc.RobustRegressor, TARGETS),
    "CappedSVC": (lambda: CappedSVC(n_starts=1), CLASSES),
    "SmoothSVC": (lambda: SmoothSVC(outlier_ratio=0.1, n_starts=1), LABELS),
    "a kernel, which takes all of X": (
        lambda: dc.RobustClassifier(kernel="rbf", n_starts=1),
        LABELS,
    ),
}


@pytest.fixture(autouse=True)
def _however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_matrix, "COPIED", 0)


def mapped(folder: Path, dtype: Any = np.float32, data: Array = X) -> Any:
    found = np.memmap(folder / "X", dtype, "w+", shape=data.shape)
    found[:] = data
    return found


def mapped_as_floats(folder: Path) -> Any:
    return mapped(folder, float)


def chunked(folder: Path | None = None, data: Array = X) -> Any:
    da = pytest.importorskip("dask.array", reason="dask is not there")
    return da.from_array(data, chunks=((100, 199, 1), 3))


@pytest.mark.filterwarnings("ignore::dcprog.TrivialSolutionWarning")
@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((mapped, name) for name in CASES),
        *((make, "two classes") for make in (mapped_as_floats, chunked)),
        (chunked, "three classes"),
    ],
)
def test_fits_are_those_to_the_array(
    make: Callable[[Path], Any], name: str, tmp_path: Path
) -> None:
    declare, y = CASES[name]
    data = make(tmp_path)
    whole, by_blocks = declare().fit(X, y), declare().fit(data, y)
    assert by_blocks.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    scores = "predict" if declare().__class__ is dc.RobustRegressor else "decision_function"
    expected = getattr(whole, scores)(X)
    np.testing.assert_allclose(getattr(by_blocks, scores)(data), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(by_blocks.predict(X[:7]), by_blocks.predict(data[:7]))
    assert by_blocks.score(data, y) == pytest.approx(whole.score(X, y))
    assert by_blocks.n_features_in_ == D
    if hasattr(whole, "outlier_weight_"):
        np.testing.assert_allclose(by_blocks.outlier_weight_, whole.outlier_weight_, atol=1e-6)
    total = by_blocks.objective_function(data, y)[0]
    assert total == pytest.approx(by_blocks.objective_, rel=1e-9)


@pytest.mark.parametrize("make", [mapped, chunked])
def test_sample_weights_count(make: Callable[[Path], Any], tmp_path: Path) -> None:
    weight = RNG.uniform(0, 2, N) * (RNG.random(N) < 0.9)
    model = dc.RobustClassifier(SQUARED, n_starts=1)
    fits = [clone(model).fit(data, LABELS, weight) for data in (X, make(tmp_path))]
    np.testing.assert_allclose(fits[1].coef_, fits[0].coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fits[1].outlier_weight_, fits[0].outlier_weight_, atol=1e-5)


@pytest.mark.parametrize("make", [mapped, chunked])
def test_data_that_do_not_fit_are_refused(make: Any, tmp_path: Path) -> None:
    model, data = dc.RobustClassifier(SQUARED), make(tmp_path)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(data, LABELS[:-1])
    with pytest.raises(ValueError, match="two classes"):
        model.fit(data, np.ones(N))
    model.fit(data, LABELS)
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(make(tmp_path / "other", data=X[:, :3]))
    bad = X.copy()
    bad[-1, 0] = np.nan
    for call in (model.predict, lambda data: model.fit(data, LABELS)):
        with pytest.raises(ValueError, match="NaN or infinity"):
            call(make(tmp_path / "other", data=bad))


def test_labels_may_come_in_chunks() -> None:
    da = pytest.importorskip("dask.array", reason="dask is not there")
    model = dc.RobustRegressor(dc.tukey(0.5 * dc.square(), 4.685))
    there = model.fit(chunked(), da.from_array(TARGETS, chunks=100)).coef_
    np.testing.assert_allclose(there, model.fit(X, TARGETS).coef_, rtol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["X", "y", "sample_weight"])
def test_an_array_with_a_bad_number_in_one_chunk_is_named(name: str, bad: float) -> None:
    da = pytest.importorskip("dask.array", reason="dask is not there")
    arrays = {"X": X.copy(), "y": TARGETS.copy(), "sample_weight": np.ones(N)}
    arrays[name][-1] = bad
    given = {key: da.from_array(array, chunks=100) for key, array in arrays.items()}
    with pytest.raises(ValueError, match=rf"\b{name} (holds|contains) (NaN|infinity)"):
        dc.RobustRegressor().fit(**given)


def test_chunks_that_cannot_be_computed_say_why() -> None:
    """A file that is not there, say: the error at the first reading is the chunk's own."""
    da = pytest.importorskip("dask.array", reason="dask is not there")

    def read(block: Array, block_id: tuple[int, int] | None = None) -> Array:
        if block_id == (1, 0):
            raise OSError("part-1.npy is not there")
        return block

    lost = da.from_array(X, chunks=(100, D)).map_blocks(read, dtype=float, meta=np.zeros((0, 0)))
    for model in (dc.RobustRegressor(), dc.RobustClassifier()):
        y = LABELS if isinstance(model, dc.RobustClassifier) else TARGETS
        with pytest.raises(OSError, match=r"part-1\.npy is not there"):
            model.fit(lost, y)


def test_grids_run_on_a_cluster() -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not there")
    grid = {"penalty__lam": [0.1, 10.0]}
    estimator = dc.RobustClassifier(SQUARED, dc.l2(1.0), n_starts=1)
    here = GridSearchCV(estimator, grid, cv=2).fit(X, LABELS)
    options = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            distributed.LocalCluster(**options) as cluster,
            distributed.Client(cluster),
            joblib.parallel_backend("dask"),
        ):
            there = GridSearchCV(estimator, grid, cv=2).fit(X, LABELS)
    np.testing.assert_allclose(
        there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"]
    )
