"""One run of a ramp problem written in cvxpy, against a hand-written loop that compiles once.

Both minimise  Σ min((1 − u)₊, 1) + penalty  with u = y∘(Xw + b) from the convex problem, and stop
at the same decrease. The loop's weights are a Parameter (DPP), its solver is PIQP. The objectives
stand beside the times, recomputed by one formula. Times are the shortest of several. DCCP, where it
is installed, begins there too.

    python -m benchmarks.bench_front_door
    python -m benchmarks.bench_front_door --full
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import cvxpy as cp
import numpy as np

import dcprog as dc
from benchmarks.bench_overhead import data
from benchmarks.line import HEADER, Line, is_installed
from benchmarks.timing import timed

Array = np.ndarray
TOLERANCE = 1e-6  # of the decrease, relative to the value
PENALTIES = {"L2": (0.0, 0.1), "L1": (1.0, 0.0), "EN": (0.5, 0.1)}


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


def front_door(X: Array, y: Array, l1: float, l2: float) -> float:
    """The value at which dcprog ends."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    hinge = cp.pos(1 - cp.multiply(y, X @ w + b))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.minimum(hinge, 1)) + penalty(w, l1, l2)))
    dc.solve(problem, start="convex", n_starts=1, tol=TOLERANCE)
    return objective(X, y, w.value, b.value, l1, l2)


def declared(X: Array, y: Array, l1: float, l2: float) -> float:
    """The same by the risk, declared."""
    rows = dc.binary_margins(X, y)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.elastic_net(l1, l2))
    theta = dc.solve(risk, start="convex", n_starts=1, tol=TOLERANCE).x
    assert theta is not None
    return objective(X, y, theta[:-1], theta[-1], l1, l2)


def by_dccp(X: Array, y: Array, l1: float, l2: float) -> float:
    """The value at which DCCP ends, from the same convex problem.

    It takes  Σ s  with  (1 − u)₊ ≤ s + (−u)₊.
    """
    import dccp  # noqa: F401  registers the method

    w, b, s = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(len(y))
    margins = (y[:, None] * X) @ w + y * b
    convex = cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - margins)) + penalty(w, l1, l2)))
    convex.solve(solver="PIQP")
    s.value = np.clip(1 - y * (X @ w.value + b.value), 0, 1)
    ramp = [cp.pos(1 - margins) <= s + cp.pos(-margins), s >= 0]
    problem = cp.Problem(cp.Minimize(cp.sum(s) + penalty(w, l1, l2)), ramp)
    problem.solve(method="dccp", solver="CLARABEL", ep=TOLERANCE, tau_ini=1.0)
    return objective(X, y, w.value, b.value, l1, l2)


def lines(full: bool = False, sizes: tuple[str, ...] = ("200x5", "1000x50")) -> Iterator[Line]:
    """Every size and penalty; ``full`` adds 5000 × 50 and 20 000 × 50."""
    for size in (*sizes, "5000x50") if full else sizes:
        n, p = map(int, size.split("x"))
        repeats = 5 if n <= 1000 else 1
        problem = data(n, p, 0)
        for name, weights in PENALTIES.items():
            runs = [partial(loop, *problem, *weights), partial(front_door, *problem, *weights)]
            peers = ["a DPP loop with PIQP"]
            if is_installed("dccp") and name != "EN" and n >= 1000:
                runs.append(partial(by_dccp, *problem, *weights))
                peers.append("DCCP")
            rounds = [[timed(run) for run in runs] for _ in range(repeats)]
            best = np.min([[seconds for _, seconds in one] for one in rounds], axis=0)
            values = [value for value, _ in rounds[-1]]
            goals = {"a DPP loop with PIQP": 1.5 if n < 1000 else 8.0, "DCCP": 25.0}
            for place, peer in zip((0, 2), peers, strict=False):
                ratio = best[place] / best[1]
                case = f"ramp in cvxpy, {n} × {p}, {name}"
                yield Line(case, peer, ratio, values[1], values[place], goals[peer])
    if full:
        problem, weights = data(20_000, 50, 0), PENALTIES["L2"]
        runs = [partial(run, *problem, *weights) for run in (front_door, declared)]
        rounds = [[timed(run) for run in runs] for _ in range(2)]  # the first one compiles
        (ours, mine), (risk, theirs) = rounds[-1]
        case, peer = "ramp in cvxpy, 20000 × 50, L2", "the same Risk, declared"
        yield Line(case, peer, theirs / mine, ours, risk, 0.8)


def main() -> None:
    """Print one line a problem and a peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", default=["200x5", "1000x50"])
    parser.add_argument("--full", action="store_true", help="5000 × 50 and 20000 × 50, too")
    options = parser.parse_args()
    print(HEADER)
    for line in lines(options.full, tuple(options.sizes)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
