"""One fit to a Dask array in odd chunks, or one whose scheduler is lost at any of its calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import dcprog as dc
from dcprog.models import SmoothSVC
from tests.fuzz.landscape import Array
from tests.fuzz.report import Report, generator, where

__all__ = ["run"]

N, D = 120, 3
AS_GOOD = 1e-6
LOST = "X can no longer be read"

SQUARED = dc.cap(dc.squared_hinge(), 1.0)
ESTIMATORS: dict[str, tuple[Callable[[], Any], bool]] = {
    "squared hinge": (lambda: dc.RobustClassifier(SQUARED, dc.l2(1.0)), True),
    "concave penalty": (
        lambda: dc.RobustClassifier(SQUARED, dc.log_sum(1.0, 1.0), n_starts=1),
        True,
    ),
    "hinge": (lambda: dc.RobustClassifier(dc.cap(dc.hinge(), 1.0), dc.l2(1.0), n_starts=1), True),
    "filtered": (lambda: SmoothSVC(outlier_ratio=0.1), True),
    "residuals": (dc.RobustRegressor, False),
}


def run(number: int) -> Report:
    """The fit must be that to the array, or end at the best point before the scheduler was lost."""
    rng = generator("blocks", number)
    name = str(rng.choice(list(ESTIMATORS)))
    make, is_classifier = ESTIMATORS[name]
    X, y = _data(rng, is_classifier)
    handed, targets, chunks = _chunked(rng, X, y)
    X = np.asarray(handed.compute(), dtype=float)  # as the chunks' type has rounded it
    report = Report()
    words = f" [{name}; {chunks}]"
    try:
        with _scheduler(np.inf) as calls:
            by_blocks = make().fit(handed, targets)
        report.outcome = by_blocks.result_.status
        # another solver may end at another optimum
        whole = make().set_params(solver=by_blocks.result_.solver).fit(X, y)
        _compare(report, by_blocks, whole, X, "int8" in chunks, name == "hinge")
        # the first call's error is taken for one of the data; Dask remembers the sizes of chunks,
        # so that a second fit may have one call less
        at = int(rng.integers(2, calls[0] - 1))
        words += f", lost at {at} of {calls[0]}"
        report.include(_lost(make, handed, targets, at, by_blocks))
    except Exception as error:
        report.outcome = type(error).__name__
        report.fail(f"{type(error).__name__} escaped", f"{where(error)[0]}: {error}")
    report.failures = [f + words for f in report.failures]
    return report


def _data(rng: np.random.Generator, is_classifier: bool) -> tuple[Array, Any]:
    X = np.round(rng.normal(size=(N, D)), 2)
    scores = X @ rng.normal(size=D) + 0.5 * rng.normal(size=N)
    if not is_classifier:
        return X, scores + 20 * (rng.random(N) < 0.1)
    signs = np.where((scores > 0) != (rng.random(N) < 0.1), 1, -1)
    order = np.argsort(signs, kind="stable") if rng.random() < 0.3 else np.arange(N)
    return X[order], signs[order]  # sorted labels: chunks of one class


def _chunked(rng: np.random.Generator, X: Array, y: Any) -> tuple[Any, Any, str]:
    """X and y as Dask arrays in chunks of their own, and a word on those of X."""
    import dask.array as da

    ends = np.sort(rng.integers(0, N + 1, int(rng.integers(0, 6))))  # equal ends: an empty chunk
    sizes = tuple(np.diff([0, *ends, N]).tolist())
    columns = (1, D - 1) if rng.random() < 0.3 else D
    kind = str(rng.choice(["float64", "float64", "float32", "float16", "int8"]))
    X = (3 * X if kind == "int8" else X).astype(kind)
    handed = da.from_array(X, chunks=(sizes, columns))
    if rng.random() < 0.3:
        handed, kind = handed[da.from_array(np.ones(N, dtype=bool), chunks=(sizes,))], f"{kind}, ?"
    targets = da.from_array(y, chunks=int(rng.integers(1, N))) if rng.random() < 0.5 else y
    return handed, targets, f"{sizes} × {columns}, {kind}"


@contextmanager
def _scheduler(most: float) -> Iterator[list[int]]:
    """Dask's scheduler in this thread, lost for good after so many calls; yields their number."""
    import dask

    calls = [0]

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] > most:
            raise ConnectionError("injected")
        return dask.get(graph, keys, **options)

    with dask.config.set(scheduler=get):
        yield calls


def _compare(
    report: Report, by_blocks: Any, whole: Any, X: Array, whole_numbers: bool, hinge: bool
) -> None:
    """Both fits have one value, and for most samples one prediction.

    Of whole numbers many margins are equal, so that rounding decides where the race's points lead
    and which of the many minimisers of a hinge's step is taken: `_value` says what is compared.
    """
    ours, theirs = (_value(fit, whole_numbers, hinge) for fit in (by_blocks, whole))
    if not abs(ours - theirs) <= AS_GOOD * abs(theirs):
        report.fail("another value by blocks", f"{ours} for {theirs}")
    if np.mean(by_blocks.predict(X) != whole.predict(X)) > 0.02 and hasattr(whole, "classes_"):
        report.remarks.append("other predictions")


def _value(fit: Any, whole_numbers: bool, hinge: bool) -> float:
    """F at the end, of whole numbers at that of the plain run, and of their hinges at its start."""
    if not whole_numbers:
        return float(fit.objective_)
    return float(fit.result_.history.value[0] if hinge else fit.result_.starts[0].value)


def _lost(make: Callable[[], Any], X: Any, y: Any, at: int, clean: Any) -> str | None:
    """What is wrong with a fit whose scheduler is lost after so many calls; None if nothing is."""
    with warnings.catch_warnings(record=True) as told, _scheduler(at):
        warnings.simplefilter("always")
        try:
            model = make().fit(X, y)
        except RuntimeError as error:
            return None if LOST in str(error) else f"another error: {error}"
        except KeyboardInterrupt:
            return "a lost scheduler passes for Ctrl-C"
    if not any(LOST in str(one.message) for one in told):
        return "a lost scheduler is not told"
    result = model.result_
    if not np.all(np.isfinite(model.coef_)):
        return "a point that is not finite"
    if result.value < clean.objective_ * (1 - AS_GOOD):
        return f"a value below the whole fit's: {result.value} for {clean.objective_}"
    known = result.history.value[np.isfinite(result.history.value)]
    if result.value > np.min(known, initial=np.inf) * (1 + AS_GOOD):
        return f"a lost point: {result.value} for {np.min(known)}"
    if result.status != "interrupted" and result.value > clean.objective_ * (1 + AS_GOOD):
        return f"{result.status} at {result.value} for {clean.objective_}"
    return None
