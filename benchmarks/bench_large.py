"""Whole fits on large sparse data under a time limit, against LinearSVC, a tenth of labels wrong.

Odd data too: few and many entries a row, explicit zeros, a dense column, constant columns, a class
of a hundredth. The peer is ``LinearSVC()`` as it comes (squared hinge, C = 1), or with
``loss="hinge"``; ours is ``RobustClassifier(..., time_limit=limit).fit(X, y)`` with all of its
starts. F is the share of errors on rows that were held out, with their clean labels. The note has
the seconds past the limit.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import dcprog as dc
from benchmarks.runner import Case, Competitor

KNOWN = 500  # features that matter
WRONG = 0.1  # share of the labels


@dataclass(frozen=True)
class Fit:
    """A fit and the seconds that it took on the clock."""

    model: Any
    wall: float


Data = tuple[Any, Any, Any, Any]  # X and y of the fit, rows that were held out, their labels


def samples(n: int, p: int, entries: int, positive: bool) -> Data:
    """Rows of so many entries and noisy labels, and a quarter as many rows with clean labels."""
    rng, more = np.random.default_rng(0), n + n // 4
    size = more * entries
    places = rng.integers(0, p, size).astype(np.int32)
    values = rng.exponential(size=size) if positive else rng.standard_normal(size)
    starts = np.arange(0, size + 1, entries, dtype=np.int32)
    X = sp.csr_array((values, places, starts), shape=(more, p))
    X.sum_duplicates()
    w = np.zeros(p)
    w[rng.choice(p, min(KNOWN, p // 4), replace=False)] = rng.standard_normal(min(KNOWN, p // 4))
    score = np.asarray(X @ w)
    clean = np.where(score > np.median(score), 1.0, -1.0)
    noisy = np.where(rng.random(more) < WRONG, -clean, clean)
    return X[:n], noisy[:n], X[n:], clean[n:]


def oddities(n: int, p: int) -> dict[str, Data]:
    """Data of odd shapes and contents, with held-out rows of the same kind."""
    plain, rng = samples(n, p, 50, False), np.random.default_rng(1)
    return {
        "10 entries a row": samples(n, p, 10, False),
        f"{p // 2} entries a row": samples(n // 5, p, p // 2, False),
        "half of the entries explicit zeros": with_columns(plain, _half_zeros(rng)),
        "one dense column of size 100": with_columns(plain, _first(rng, 100.0, 0.0)),
        "a tenth of the columns 3": with_columns(plain, _first(rng, 0.0, 3.0, p // 10)),
        "a class of 1%": rare(plain, 0.01, rng),
    }


def with_columns(data: Data, change: Callable[[Any], Any]) -> Data:
    """The data with changed samples, of the fit and of the test."""
    X, y, others, clean = data
    return change(X), y, change(others), clean


def _half_zeros(rng: np.random.Generator) -> Callable[[Any], Any]:
    def change(X: Any) -> Any:
        X = X.copy()
        X.data[rng.random(X.nnz) < 0.5] = 0.0
        return X

    return change


def _first(
    rng: np.random.Generator, size: float, level: float, count: int = 1
) -> Callable[[Any], Any]:
    """The first columns dense: normal numbers of a size around a level."""

    def change(X: Any) -> Any:
        columns = level + size * rng.standard_normal((X.shape[0], count))
        return sp.csr_array(sp.hstack([sp.csr_array(columns), X[:, count:]]))

    return change


def rare(data: Data, share: float, rng: np.random.Generator) -> Data:
    """As many samples of the class 1, at most, as make a share; their errors count alike in F."""
    X, y, others, clean = data
    found = np.flatnonzero(y == 1)
    kept = rng.choice(found, int(share * np.sum(y == -1)), replace=False)
    left = np.sort(np.concatenate([np.flatnonzero(y == -1), kept]))
    return X[left], y[left], others, clean


def cases(full: bool) -> Iterator[Case]:
    """The rows of a table of losses and penalties; of a tenth of the size unless `full`."""
    small = 1 if full else 10
    n, p = 80_000 // small, 20_000 // small
    positive, normal = samples(n, p, 50, True), samples(50_000 // small, p, 50, False)
    size = f"sparse {n} × {p}"
    yield against_liblinear(f"ramp, {size}, positive", positive, 100.0)
    few = f"sparse {50_000 // small} × {p}"
    yield against_liblinear(f"ramp, {few}", normal, 60.0)
    yield against_liblinear(f"capped logistic, l1(5), {size}", positive, 100.0, ONE_NORM)
    yield against_liblinear(f"hinge, l1(2), {size}", positive, 10.0, KINKED)
    smaller = samples(8000, 2000, 50, False)
    yield against_liblinear("hinge, sparse 8000 × 2000", smaller, 3.0, {"loss": "hinge"}, "hinge")
    rows, columns = 20_000 // small, 10_000 // small
    for name, odd in oddities(rows, columns).items():
        yield against_liblinear(f"ramp, {rows} × {columns}, {name}", odd, 10.0 / small)


ONE_NORM = {"loss": "capped_logistic", "penalty": dc.l1(5.0)}
KINKED = {"loss": "hinge", "penalty": dc.l1(2.0)}


def against_liblinear(
    name: str,
    data: Data,
    limit: float,
    options: dict[str, Any] | None = None,
    loss: str = "squared_hinge",
) -> Case:
    """A fit under a limit of so many seconds, against LIBLINEAR's."""
    X, y, others, clean = data

    def ours() -> Fit:
        begun = time.perf_counter()
        model = dc.RobustClassifier(**(options or {}), time_limit=limit).fit(X, y)
        return Fit(model, time.perf_counter() - begun)

    def errors(found: Fit) -> float:
        return 1 - float(found.model.score(others, clean))

    def told(fit: Fit, peer: Fit) -> str:
        result = fit.model.result_
        late = max(fit.wall - limit, 0.0)
        return f"{result.solver}, {result.status}, {late:.1f} s past {limit:g} s"

    peer = Competitor("LinearSVC", lambda: Fit(LinearSVC(loss=loss).fit(X, y), 0.0), 0.05)
    return Case(name, ours, (peer,), errors, told, repeats=1)
