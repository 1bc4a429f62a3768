"""Fits to an X that is read by blocks are those to the array."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import dcprog as dc
from dcprog.engine.track import Progress
from dcprog.foundation import blocked_matrix
from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import StoredMatrix
from dcprog.models import SmoothSVC

RNG = np.random.default_rng(0)
N, D = 400, 4
X: Array = RNG.normal([0.0, 3.0, 0.0, -1.0], 1.0, (N, D)).astype(np.float32).astype(float)
SCORE = X @ [1.0, -2.0, 0.5, 0.0] + 5.0
LABELS = np.where(SCORE + RNG.standard_normal(N) > 0, 1, -1) * np.where(RNG.random(N) < 0.1, -1, 1)
TARGETS = SCORE + RNG.standard_normal(N) + 30 * (RNG.random(N) < 0.1)
CLASSES = np.argmax(X @ RNG.standard_normal((D, 3)) + RNG.standard_normal((N, 3)), axis=1)

Rows = Callable[[Any], Any]
MARGINS: Rows = lambda X: dc.binary_margins(X, LABELS)  # noqa: E731
RESIDUALS: Rows = lambda X: dc.residual_rows(X, TARGETS)  # noqa: E731
BY_CLASS: Rows = lambda X: dc.class_margins(X, CLASSES, fit_intercept=False)  # noqa: E731
ANGLES: Rows = lambda X: dc.angle_margins(X, CLASSES)  # noqa: E731

CASES: dict[str, tuple[Rows, dc.Loss, Any]] = {
    "capped squared hinge": (MARGINS, dc.cap(dc.squared_hinge(), 1.0), dc.l2(1.0)),
    "capped logistic": (MARGINS, dc.cap(dc.logistic(), 1.0), dc.l2(1.0)),
    "logistic": (MARGINS, dc.logistic(), dc.l2(1.0)),
    "capped hinge": (MARGINS, dc.cap(dc.hinge(), 1.0), dc.l2(1.0)),
    "truncated squared hinge": (MARGINS, dc.truncate(dc.squared_hinge(), -1.0), dc.l2(1.0)),
    "trimmed": (MARGINS, dc.trim(dc.squared_hinge(), 0.1), dc.l2(1.0)),
    "sharp smooth hinge": (MARGINS, dc.cap(dc.pade_hinge(10.0), 1.0), dc.l2(1.0)),
    "with an l1 norm": (MARGINS, dc.cap(dc.squared_hinge(), 1.0), dc.l1(20.0)),
    "with a concave penalty": (RESIDUALS, dc.huber(1.0), dc.scad(20.0, 3.7)),
    "Tukey": (RESIDUALS, dc.tukey(0.5 * dc.square(), 4.685), dc.l2(1.0)),
    "capped absolute": (RESIDUALS, dc.cap(dc.absolute(), 2.0), dc.l2(1.0)),
    "class by class": (BY_CLASS, dc.cap(dc.squared_hinge(), 1.0), dc.l2(1.0)),
    "angles": (ANGLES, dc.cap(dc.squared_hinge(), 1.0), dc.elastic_net(1.0, 1.0)),
}


@pytest.fixture(autouse=True)
def _however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_matrix, "COPIED", 0)


def stored(rows: int = 57) -> StoredMatrix:
    return StoredMatrix(X.astype(np.float32), rows=rows)


def chunked() -> Any:
    da = pytest.importorskip("dask.array", reason="dask is not there")
    return da.from_array(X, chunks=((1, 150, 249), 3))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((stored, name) for name in CASES),
        *((chunked, name) for name in ("capped squared hinge", "class by class")),
    ],
)
def test_fits_are_those_to_the_array(make: Callable[[], Any], name: str) -> None:
    rows, loss, penalty = CASES[name]
    weight = np.random.default_rng(1).uniform(0.5, 2.0, N * rows(X).shape[0] // N)
    weight = np.ones_like(weight) if loss.is_joint else weight
    risks = [dc.Risk.from_loss(rows(A), loss, penalty, weight) for A in (X, make())]
    options: dict[str, Any] = {} if name == "capped squared hinge" else {"n_starts": 1}
    by_blocks = dc.solve(risks[1], **options)
    # small ones have others by themselves
    whole = dc.solve(risks[0], solver=by_blocks.solver, **options)
    assert whole.x is not None
    assert by_blocks.x is not None
    assert by_blocks.status == whole.status == "converged"
    np.testing.assert_allclose(by_blocks.x, whole.x, rtol=1e-8, atol=1e-8)
    assert by_blocks.value == pytest.approx(risks[0](by_blocks.x), rel=1e-12)
    certificates = [result.certificate() for result in (whole, by_blocks)]
    assert all(bool(certificate) for certificate in certificates)


@pytest.mark.parametrize("start", ["convex", "auto"])
def test_values_are_those_of_numpy(start: str) -> None:
    loss = dc.cap(dc.squared_hinge(), 1.0)
    result = dc.solve(dc.Risk.from_loss(MARGINS(stored()), loss, dc.l2(1.0)), start=start)
    assert result.x is not None
    u = LABELS * (X @ result.x[:-1] + result.x[-1])
    value = np.sum(np.minimum(np.maximum(1 - u, 0) ** 2, 1)) + 0.5 * result.x[:-1] @ result.x[:-1]
    assert result.value == pytest.approx(value, rel=1e-12)


def test_a_matrix_is_rows_by_itself() -> None:
    by_blocks, whole = (dc.solve(dc.Risk(A, dc.squared_hinge())) for A in (stored(), X))
    assert by_blocks.value == pytest.approx(whole.value, rel=1e-12)


def test_where_no_solver_works_by_blocks_the_error_says_what_would() -> None:
    risk = dc.Risk.from_loss(MARGINS(stored()), dc.cap(dc.hinge(), 1.0), dc.l1(1.0))
    with pytest.raises(ValueError, match=r"read by blocks(.|\n)*np.asarray\(X\)"):
        dc.solve(risk)
    with pytest.raises(ValueError, match="read by blocks"):
        dc.solve(risk, solver="interior")


def test_progress_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="dcprog"):
        dc.solve(dc.Risk.from_loss(RESIDUALS(stored()), *CASES["Tukey"][1:]), verbose=True)
    assert "converged" in caplog.text


class Stopping:
    """Data whose reading is interrupted once so many blocks were read."""

    dtype, shape = X.dtype, X.shape

    def __init__(self, most: int) -> None:
        self.left = most

    def __getitem__(self, rows: slice) -> Array:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return X[rows]


def test_what_was_found_before_an_interruption_is_kept() -> None:
    reads = 0
    loss, penalty = CASES["capped squared hinge"][1:]

    def run(most: int) -> tuple[dc.Result, int]:
        data = Stopping(most)
        risk = dc.Risk.from_loss(MARGINS(StoredMatrix(data, rows=100)), loss, penalty)
        return dc.solve(risk, start="convex"), most - data.left

    whole, reads = run(10**9)
    result, _ = run(2 * reads // 3)
    assert result.status == "interrupted"
    assert result.x is not None
    assert whole.value < result.value < whole.history.value[0]
    risk = dc.Risk.from_loss(MARGINS(X), loss, penalty)
    assert result.value == pytest.approx(risk(result.x), rel=1e-12)


# ---- a cluster -----------------------------------------------------------------------------------


@contextmanager
def cluster(processes: bool) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="distributed is not there")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(processes=processes, **options) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.slow  # processes that import everything anew, and one that is missed after seconds
def test_a_lost_worker_costs_nothing_but_its_part() -> None:
    loss, penalty = CASES["capped squared hinge"][1:]
    with cluster(processes=True) as client:
        data, lost = chunked().persist(), []

        def lose(progress: Progress) -> None:
            if progress.n_iter == 2:
                lost.append(next(iter(client.run(os.getpid).values())))
                os.kill(lost[0], signal.SIGKILL)

        whole = dc.solve(dc.Risk.from_loss(MARGINS(X), loss, penalty), start="convex")
        by_blocks = dc.Risk.from_loss(MARGINS(data), loss, penalty)
        result = dc.solve(by_blocks, start="convex", callback=lose)
    assert len(lost) == 1
    assert whole.x is not None
    assert result.x is not None
    assert result.status == "converged"
    np.testing.assert_allclose(result.x, whole.x, rtol=1e-8)


def test_a_cluster_that_is_closed_leaves_the_best_point() -> None:
    loss, penalty = CASES["capped squared hinge"][1:]
    values: list[float] = []
    with cluster(processes=False) as client:

        def close(progress: Progress) -> None:
            values.append(progress.value)
            if progress.n_iter == 2:
                client.cluster.close()

        risk = dc.Risk.from_loss(MARGINS(chunked().persist()), loss, penalty)
        with pytest.warns(RuntimeWarning, match="X can no longer be read"):
            result = dc.solve(risk, start="convex", n_starts=1, tol=1e-12, callback=close)
    assert result.status == "interrupted"
    assert "X can no longer be read" in result.message
    assert result.x is not None
    assert result.value == min(values)
    whole = dc.Risk.from_loss(MARGINS(X), loss, penalty)
    assert result.value == pytest.approx(whole(result.x), rel=1e-9)


def test_a_cluster_that_is_closed_before_the_fit_is_an_error_that_names_the_data() -> None:
    with cluster(processes=False) as client:
        data = chunked().persist()
        client.cluster.close()
        with pytest.raises(RuntimeError, match="X cannot be read"):
            dc.RobustRegressor().fit(data, TARGETS)


def test_starts_run_on_a_cluster() -> None:
    loss, penalty = CASES["Tukey"][1:]
    options: dict[str, Any] = {"start": "random", "n_starts": 3, "max_iter": 20}
    one = dc.solve(dc.Risk.from_loss(RESIDUALS(X), loss, penalty), **options)
    with cluster(processes=False), joblib.parallel_backend("dask"):
        two = dc.solve(dc.Risk.from_loss(RESIDUALS(X), loss, penalty), n_jobs=2, **options)
    assert [s.value for s in one.starts] == pytest.approx([s.value for s in two.starts])


# ---- a scheduler that is lost after so many calls ------------------------------------------------


@contextmanager
def lost_after(calls: int) -> Iterator[None]:
    dask = pytest.importorskip("dask", reason="dask is not there")
    left = [calls]

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("injected")
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=get):
        yield


@pytest.mark.parametrize("model", [dc.RobustRegressor(), SmoothSVC(outlier_ratio=0.1)])
@pytest.mark.filterwarnings("ignore:X can no longer be read")
def test_data_lost_before_a_point_are_an_error_and_no_ctrl_c(model: Any) -> None:
    y = TARGETS if isinstance(model, dc.RobustRegressor) else LABELS
    with lost_after(1), pytest.raises(RuntimeError, match=r"injected.*no point had been"):
        model.fit(chunked(), y)


STARTED: dict[str, tuple[Any, Any]] = {
    "hinge": (dc.RobustClassifier(), LABELS),
    "squared hinge": (dc.RobustClassifier(dc.cap(dc.squared_hinge(), 1.0)), LABELS),
    "three classes": (dc.RobustClassifier(dc.cap(dc.squared_hinge(), 1.0)), CLASSES),
    "trimmed": (SmoothSVC(outlier_ratio=0.1), LABELS),
    "residuals": (dc.RobustRegressor(), TARGETS),
}


@pytest.mark.parametrize("calls", [25, 35])
@pytest.mark.parametrize("name", STARTED)
def test_data_lost_in_the_convex_start_leave_its_solver_s_point(name: str, calls: int) -> None:
    model, y = STARTED[name]
    whole = clone(model).fit(X, y)
    with lost_after(calls), pytest.warns(RuntimeWarning, match="X can no longer be read"):
        model.fit(chunked(), y)
    assert model.result_.status == "interrupted"
    assert "injected" in model.result_.message
    reached, best = model.coef_.ravel(), whole.coef_.ravel()
    assert reached @ best > 0.8 * np.linalg.norm(reached) * np.linalg.norm(best)


@pytest.mark.filterwarnings("ignore:X can no longer be read")
def test_data_lost_between_two_runs_of_a_fit_leave_the_first_one_s_point() -> None:
    plain = SmoothSVC().fit(X, LABELS)
    reached = []
    for calls in range(30, 130, 30):
        with lost_after(calls), suppress(RuntimeError):
            reached.append(SmoothSVC(outlier_ratio=0.1).fit(chunked(), LABELS))
    first = [model for model in reached if model.result_.status == "interrupted"]
    assert first
    assert np.nanmin([model.objective_ for model in first]) <= plain.objective_ * (1 + 1e-3)
    assert all(model.outlier_.shape == (N,) for model in first)
