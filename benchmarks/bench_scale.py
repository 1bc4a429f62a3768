"""The capped hinge on tall, wide, sparse and shifted data against one LIBLINEAR hinge fit.

The peer solves one convex problem, ``LinearSVC(loss="hinge", tol=1e-4)``, and penalises its
intercept; ours is a whole robust fit, ``dc.solve(risk, start="convex", n_starts=1)``. Ratios are
CPU time of the peer over ours, above 1 where ours is faster; the shifted data are against the same
unshifted. F is recomputed in NumPy, also at the peer's coefficients and with another of our
solvers (``--other multipliers``; the runs end at different points, each a local minimum).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import dcprog as dc
from benchmarks.line import HEADER, Line
from benchmarks.timing import timed

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


def cases(quick: bool) -> Iterator[tuple[str, Data, tuple[float, ...]]]:
    """Name, data and the C of each line."""
    small = 5 if quick else 1
    n = 100_000 // small
    yield f"{n} × 50", dense(n, 50), (0.001, 0.01, 0.1, 1.0, 10.0)
    n = 20_000 // small
    yield f"{n} × 500", dense(n, 500), (0.01, 1.0)
    yield f"sparse {n} × {n}", sparse(n, n, 20), (0.1, 1.0)
    yield "1000 × 5000", dense(1000, 5000), (0.01, 1.0)
    if not quick:
        yield "sparse 100000 × 47000", sparse(100_000, 47_000, 70), (0.1,)


def objective(X: Any, y: Any, w: Any, b: float, C: float) -> float:
    """Σ min((1 − u)₊, 1) + ‖w‖²/(2C)."""
    return float(np.sum(np.clip(1 - y * (X @ w + b), 0, 1)) + w @ w / (2 * C))


def robust(X: Any, y: Any, C: float, solver: str | None, limit: float) -> tuple[Any, float]:
    """One run from the convex start."""
    risk = dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(1 / C))
    options: dict[str, Any] = {"n_starts": 1, "time_limit": limit, "solver": solver}
    return timed(lambda: dc.solve(risk, start="convex", **options))


GOALS = {"100000 × 50": 1.0, "20000 × 500": 0.5, "1000 × 5000": 0.5}


def lines(full: bool = True, other: str | None = None, limit: float = 120.0) -> Iterator[Line]:
    """All cases, of a fifth of the samples unless `full`; also with another solver of ours."""
    for X, y in (dense(500, 50), sparse(500, 500, 20)):  # compiles
        robust(X, y, 1.0, "dual_coordinate", 60.0)
    for name, (X, y), weights in cases(not full):
        goal = GOALS.get(name, 0.3)
        for C in weights:
            peer, theirs = timed(lambda: LinearSVC(loss="hinge", C=C, tol=1e-4).fit(X, y))  # noqa: B023
            reference = objective(X, y, peer.coef_[0], float(peer.intercept_[0]), C)
            for solver in (None, other) if other else (None,):
                result, seconds = robust(X, y, C, solver, limit)
                yield Line(
                    f"ramp {name}, C = {C:g}",
                    "one LIBLINEAR hinge fit",
                    theirs / seconds,
                    objective(X, y, result.x[:-1], result.x[-1], C),
                    reference,
                    goal,
                    told(result),
                )
    yield from shifted(limit)


def shifted(limit: float) -> Iterator[Line]:
    """The same features with 1e4 added, against themselves."""
    X, y = dense(20_000, 50)
    for C in (0.01, 1.0):
        (plain, before), (moved, after) = (robust(X + s, y, C, None, limit) for s in (0.0, 1e4))
        yield Line(
            f"ramp 20000 × 50 + 1e4, C = {C:g}",
            "itself unshifted",
            before / after,
            moved.value,
            plain.value,
            0.7,
            told(moved),
        )


def told(result: Any) -> str:
    """Steps, solver, status."""
    return f"{result.n_iter} steps, {result.solver}, {result.status}"


def main() -> None:
    """Print one line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a fifth of the samples")
    parser.add_argument("--other", help="a second solver of ours, for its time and objective")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of a run")
    options = parser.parse_args()
    print(HEADER)
    for line in lines(not options.quick, options.other, options.limit):
        print(line, flush=True)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LIBLINEAR does not converge at large C
        main()
