"""The race of starts against one plain run, on few and on very many samples.

Ratios are CPU time of one plain run over that of a whole default solve, that run included; below 1
by nature. "F − F" is by how much the race ends lower.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import dcprog as dc
from benchmarks.line import HEADER, Line
from benchmarks.timing import timed
from dcprog.foundation.arrays import Array

SIZES = ((200, 5), (1000, 50), (2000, 20), (100_000, 20), (100_000, 50))


def data(n: int, p: int) -> tuple[Array, Array]:
    """A linear rule with noise, 15% of the labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = np.sign(X @ rng.normal(size=p) + 0.5 * rng.normal(size=n))
    y[rng.random(n) < 0.15] *= -1
    return X, y


def lines(full: bool = False) -> Iterator[Line]:
    """Ramp and capped squared hinge, every size."""
    losses = {"ramp": dc.hinge(), "capped squared hinge": dc.squared_hinge()}
    for n, p in SIZES if full else SIZES[:3]:
        X, y = data(n, p)
        goal = 1 / 1.5 if n >= 100_000 else 1 / 2.5
        for name, base in losses.items():

            def risk(base: dc.ConvexLoss = base, X: Array = X, y: Array = y) -> dc.Risk:
                return dc.Risk.from_loss(dc.binary_margins(X, y), dc.cap(base, 1.0), dc.l2(1.0))

            runs = []
            for _ in range(3 if n <= 2000 else 1):
                plain = timed(lambda: dc.solve(risk(), start="convex", n_starts=1))
                runs.append((plain, timed(lambda: dc.solve(risk()))))
            (one, _), (raced, _) = runs[0]
            ratio = min(r[0][1] for r in runs) / min(r[1][1] for r in runs)
            case = f"race, {name} {n} × {p}"
            yield Line(case, "one plain run", ratio, raced.value, one.value, goal)


if __name__ == "__main__":
    print(HEADER)
    for line in lines(full=True):
        print(line, flush=True)
