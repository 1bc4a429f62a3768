"""One run of a ramp problem written in cvxpy, against a hand-written loop that compiles once.

Both minimise  Σ min((1 − u)₊, 1) + penalty  with u = y∘(Xw + b) from the convex problem, and stop
at the same decrease. The loop's weights are a Parameter (DPP), its solver is PIQP. The objectives
stand beside the times, recomputed by one formula. Times are the shortest of several.

    python -m benchmarks.bench_front_door
    python -m benchmarks.bench_front_door --sizes 20000x50 --repeats 1
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.bench_overhead import data

Array = np.ndarray
TOLERANCE = 1e-6  # of the decrease, relative to the value
PENALTIES: dict[str, tuple[float, float]] = {"l2": (0.0, 0.1), "l1": (1.0, 0.0), "en": (0.5, 0.1)}


def penalty(w: cp.Variable, l1: float, l2: float) -> cp.Expression:
    """The penalty as a user writes it."""
    terms = [l1 * cp.norm1(w)] if l1 else []
    terms += [l2 / 2 * cp.sum_squares(w)] if l2 else []
    return sum(terms[1:], terms[0])


def objective(X: Array, y: Array, w: Array, b: float, l1: float, l2: float) -> float:
    """F in NumPy."""
    loss = np.minimum(np.maximum(1 - y * (X @ w + b), 0), 1).sum()
    return float(loss + l1 * np.abs(w).sum() + l2 / 2 * w @ w)


def loop(X: Array, y: Array, l1: float, l2: float) -> float:
    """The value at which reweighting by hand ends."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    weights = cp.Parameter(len(y), nonneg=True, value=np.ones(len(y)))
    margins = (y[:, None] * X) @ w + y * b
    loss = weights @ cp.pos(1 - margins)
    problem = cp.Problem(cp.Minimize(loss + penalty(w, l1, l2)))
    before = np.inf
    for _ in range(100):
        problem.solve(solver="PIQP")
        value = objective(X, y, w.value, b.value, l1, l2)
        if before - value <= TOLERANCE * value:
            break
        before = value
        weights.value = (1 - y * (X @ w.value + b.value) <= 1).astype(float)
    return value


def front_door(X: Array, y: Array, l1: float, l2: float, solver: str) -> float:
    """The value at which dcprog ends."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + penalty(w, l1, l2)))
    dc.solve(problem, start="convex", tol=TOLERANCE, solver=solver)
    return objective(X, y, w.value, b.value, l1, l2)


def declared(X: Array, y: Array, l1: float, l2: float) -> float:
    """The same by the risk, declared."""
    rows = dc.binary_margins(X, y)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.elastic_net(l1, l2))
    theta = dc.solve(risk, start="convex", tol=TOLERANCE).x
    assert theta is not None
    return objective(X, y, theta[:-1], theta[-1], l1, l2)


def timed(run: Callable[[], float]) -> tuple[float, float]:
    """The value and the seconds."""
    begin = time.perf_counter()
    value = run()
    return value, time.perf_counter() - begin


def main() -> None:
    """Print one line a problem: values, and the loop's time over each other's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=["200x5", "1000x50"])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    names = ("loop", "recognised", "cvxpy's", "declared")
    print(f"{'problem':<14}" + "".join(f"{name:>14}" for name in names) + "   speed over the loop")
    for size in options.sizes:
        n, p = map(int, size.split("x"))
        X, y = data(n, p, 0)
        for name, (l1, l2) in PENALTIES.items():
            problem = X, y, l1, l2
            runs = (
                partial(loop, *problem),
                partial(front_door, *problem, "auto"),
                partial(front_door, *problem, "cvxpy"),
                partial(declared, *problem),
            )
            rounds = [[timed(run) for run in runs] for _ in range(options.repeats)]
            best = np.min([[seconds for _, seconds in one] for one in rounds], axis=0)
            values = "".join(f"{value:>14.6f}" for value, _ in rounds[-1])
            speed = "".join(f"{ratio:>8.2f}" for ratio in best[0] / best[1:])
            print(f"{size + ' ' + name:<14}{values}   {speed}", flush=True)


if __name__ == "__main__":
    main()
