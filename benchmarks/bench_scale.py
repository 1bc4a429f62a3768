"""The capped hinge on tall, wide, sparse and shifted data against LIBLINEAR: a loop, and one fit.

Ours is a whole robust fit, ``dc.solve(risk, start="convex", n_starts=1)``. The loop does the same
job by hand: ``LinearSVC(loss="hinge", tol=1e-4)`` of the samples whose hinge is below the cap,
until these stay. One fit solves one convex problem. Both penalise their intercept. The shifted data
are against the same unshifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import dcprog as dc
from benchmarks.runner import Case, Competitor

Data = tuple[Any, Any]


def dense(n: int, p: int) -> Data:
    """Standardised features, 20 of them informative, a tenth of the labels wrong."""
    X, y = make_classification(n, p, n_informative=20, flip_y=0.1, random_state=0)
    return StandardScaler().fit_transform(X), np.where(y > 0, 1.0, -1.0)


def sparse(n: int, p: int, entries: int) -> Data:
    """So many normal entries a row at random places, a tenth of the labels wrong."""
    rng = np.random.default_rng(0)
    where = rng.integers(0, p, n * entries).astype(np.int32)
    starts = np.arange(0, n * entries + 1, entries, dtype=np.int32)
    X = sp.csr_array((rng.standard_normal(n * entries), where, starts), shape=(n, p))
    X.sum_duplicates()
    y = np.sign(X @ rng.standard_normal(p) + 0.5 * rng.standard_normal(n))
    y[rng.random(n) < 0.1] *= -1
    return X, y


def samples(full: bool) -> Iterator[tuple[str, Data, tuple[float, ...]]]:
    """Name, data and the C of each case; of a fifth of the samples unless `full`."""
    small = 1 if full else 5
    n = 100_000 // small
    yield f"{n} × 50", dense(n, 50), (0.001, 0.01, 0.1, 1.0, 10.0)
    n = 20_000 // small
    yield f"{n} × 500", dense(n, 500), (0.01, 1.0)
    yield f"sparse {n} × {n}", sparse(n, n, 20), (0.1, 1.0)
    yield "1000 × 5000", dense(1000, 5000), (0.01, 1.0)
    if full:
        yield "sparse 100000 × 47000", sparse(100_000, 47_000, 70), (0.1,)


def objective(X: Any, y: Any, w: Any, b: float, C: float) -> float:
    """Σ min((1 − u)₊, 1) + ‖w‖²/(2C)."""
    return float(np.sum(np.clip(1 - y * (X @ w + b), 0, 1)) + w @ w / (2 * C))


def robust(X: Any, y: Any, C: float, solver: str | None = None) -> dc.Result:
    """One run from the convex start."""
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1 / C))
    options: dict[str, Any] = {"n_starts": 1, "time_limit": LIMIT, "solver": solver}
    return dc.solve(risk, start="convex", **options)


LIMIT = 120.0  # seconds of a run
MOST_FITS, FALL = 100, 1e-6  # as the runs' max_iter and tol
GOALS = {"100000 × 50": 1.0, "20000 × 500": 0.5, "1000 × 5000": 0.5}


def cases(full: bool) -> Iterator[Case]:
    """Everything."""
    for X, y in (dense(500, 50), sparse(500, 500, 20)):  # compiles
        robust(X, y, 1.0, "dual_coordinate")
    for name, (X, y), costs in samples(full):
        for C in costs:
            yield against_liblinear(f"ramp {name}, C = {C:g}", X, y, C, GOALS.get(name, 0.3))
    X, y = dense(20_000, 50)
    for C in (0.01, 1.0):
        yield shifted(f"ramp 20000 × 50 + 1e4, C = {C:g}", X, y, C)


def by_hand(X: Any, y: Any, C: float) -> LinearSVC:
    """Fits of the samples whose hinge is below 1, all at first, until F falls no further."""
    keep, best, lowest = np.ones(len(y), bool), None, np.inf
    for _ in range(MOST_FITS):
        fit = LinearSVC(loss="hinge", C=C, tol=1e-4).fit(X[keep], y[keep])
        value = objective(X, y, fit.coef_[0], float(fit.intercept_[0]), C)
        if value >= (1 - FALL) * lowest:
            break
        best, lowest = fit, value
        keep = y * fit.decision_function(X) > 0
    return best


def against_liblinear(name: str, X: Any, y: Any, C: float, goal: float) -> Case:
    def value(found: Any) -> float:
        if isinstance(found, LinearSVC):
            return objective(X, y, found.coef_[0], float(found.intercept_[0]), C)
        return objective(X, y, found.x[:-1], found.x[-1], C)

    loop = Competitor("a loop of LinearSVC", lambda: by_hand(X, y, C), 1.0)
    one = Competitor(
        "one LIBLINEAR hinge fit",
        lambda: LinearSVC(loss="hinge", C=C, tol=1e-4).fit(X, y),
        goal,
    )
    return Case(name, lambda: robust(X, y, C), (loop, one), value, told, repeats=1)


def shifted(name: str, X: Any, y: Any, C: float) -> Case:
    """The same features with 1e4 added, against themselves; F as the result has it."""
    peer = Competitor("itself unshifted", lambda: robust(X, y, C), 0.7)
    return Case(name, lambda: robust(X + 1e4, y, C), (peer,), lambda found: found.value, told)


def told(ours: dc.Result, theirs: Any) -> str:
    """Steps, solver, status."""
    return f"{ours.n_iter} steps, {ours.solver}, {ours.status}"
