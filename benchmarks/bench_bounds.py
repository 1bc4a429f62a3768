"""Global bounds: how long until the gap is a thousandth, and how far they get where it is not.

Ramp losses with 15% of the labels flipped and l2(0.1), trimmed squares and Tukey's loss with 30% of
the responses replaced, circles packed in the unit square. Beside our boxes two columns that were
measured once, elsewhere: a textbook prototype of fifty lines that bounds one box at a time through
compiled cvxpy problems, and SCIP on the textbook model with one binary a sample.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import cvxpy as cp
import numpy as np

import dcprog as dc

# (n, p): the prototype, SCIP
ELSEWHERE = {
    (30, 2): ("1.0 s", "1.2 s"),
    (50, 2): ("3.4 s", "4.0 s"),
    (100, 2): ("2.7 s", "76% at 60 s"),
    (200, 2): ("10.5 s", "23% at 60 s"),
    (500, 2): ("17.6 s", ""),
    (1000, 2): ("99.6% at 90 s", ""),
    (50, 3): ("4.6 s", ""),
    (200, 3): ("63.5 s", ""),
    (50, 5): ("97.5% at 90 s", "5.1 s"),
    (100, 5): ("84% at 90 s", ""),
    (200, 10): ("", ""),
}


def ramp(n: int, p: int, seed: int = 0) -> dc.Risk:
    """A ramp loss on two classes of which some labels are flipped."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    y = np.where(X @ w > 0, 1.0, -1.0)
    y[rng.random(n) < 0.15] *= -1
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(dc.hinge(), 1.0), dc.l2(0.1))


def regression(n: int, p: int, loss: dc.Loss, seed: int = 0) -> dc.Risk:
    """A residual loss where a third of the responses is something else."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, p)), rng.normal(size=p)
    y = X @ w + 0.1 * rng.normal(size=n)
    wrong = int(0.3 * n)
    y[:wrong] = 8 + 5 * rng.normal(size=wrong)
    return dc.Risk.from_loss(dc.residual_rows(X, y), loss, dc.l2(0.1))


def circles(n: int) -> cp.Problem:
    """The largest radius of n equal circles in the unit square."""
    centre, radius = cp.Variable((n, 2)), cp.Variable(nonneg=True)
    apart = [cp.norm(centre[i] - centre[j]) >= 2 * radius for i in range(n) for j in range(i)]
    return cp.Problem(cp.Maximize(radius), [centre >= radius, centre <= 1 - radius, *apart])


def written(n: int) -> cp.Problem:
    """The ramp loss as a cvxpy problem in two coefficients and an intercept."""
    risk = ramp(n, 2)
    w, b = cp.Variable(2), cp.Variable()
    rows = risk.matrix().toarray()
    loss = cp.sum(cp.minimum(cp.pos(1 - rows[:, :2] @ w - rows[:, 2] * b), 1))
    return cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w)))


def line(name: str, problem: Any, limit: float, *others: str) -> None:
    """Bound a problem and print what came of it."""
    begin = time.perf_counter()
    bound = dc.lower_bound(problem, time_limit=limit)
    seconds = time.perf_counter() - begin
    print(
        f"{name:28} {bound.status:>10} {seconds:>7.2f}s {bound.nodes:>8} {bound.gap:>8.4f} "
        f"{bound.value:>11.5g} {bound.objective:>11.5g}  {'  '.join(f'{o:>14}' for o in others)}",
        flush=True,
    )


def main() -> None:
    """Print one line a problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    limit, seed = options.time_limit, options.seed
    print(
        f"{'problem':28} {'status':>10} {'time':>8} {'boxes':>8} {'gap':>8} {'bound':>11} "
        f"{'value':>11}  {'prototype':>14}  {'SCIP, big-M':>14}"
    )
    for (n, p), others in ELSEWHERE.items():
        line(f"ramp {n} x {p}", ramp(n, p, seed), limit, *others)
    for name, loss in (
        ("trimmed squares", dc.trim(dc.square(), 0.3)),
        ("Tukey", dc.tukey(dc.square(), 2.0)),
    ):
        for n, p in ((100, 2), (1000, 2), (100, 4)):
            line(f"{name} {n} x {p}", regression(n, p, loss, seed), limit)
    line("ramp 100 x 2 in cvxpy", written(100), limit)
    for n in (2, 3, 4):
        line(f"{n} circles in a square", circles(n), limit)


if __name__ == "__main__":
    main()
