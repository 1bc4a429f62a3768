"""Whole fits on large sparse data under a time limit, against LinearSVC, a tenth of labels wrong.

The peer is ``LinearSVC()`` as it comes (squared hinge, C = 1), or with ``loss="hinge"``; ours is
``RobustClassifier(..., time_limit=limit).fit(X, y)`` with all of its starts. F is the share of
errors on rows that were held out, with their clean labels. The note has the seconds past the limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
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


def samples(n: int, p: int, entries: int, positive: bool) -> tuple[Any, Any, Any, Any]:
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


ONE_NORM = {"loss": "capped_logistic", "penalty": dc.l1(5.0)}
KINKED = {"loss": "hinge", "penalty": dc.l1(2.0)}


def against_liblinear(
    name: str,
    data: tuple[Any, Any, Any, Any],
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
