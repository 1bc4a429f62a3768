"""The race of starts against one plain run, on few and on very many samples.

Ratios are CPU time of one plain run over that of a whole default solve, that run included; below 1
by nature. "F − F" is by how much the race ends lower.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import dcprog as dc
from benchmarks.runner import Case, Competitor
from dcprog.foundation.arrays import Array

SIZES = ((200, 5), (1000, 50), (2000, 20), (100_000, 20), (100_000, 50))


def data(n: int, p: int) -> tuple[Array, Array]:
    """A linear rule with noise, 15% of the labels flipped."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = np.sign(X @ rng.normal(size=p) + 0.5 * rng.normal(size=n))
    y[rng.random(n) < 0.15] *= -1
    return X, y


def cases(full: bool) -> Iterator[Case]:
    """Ramp and capped squared hinge, every size."""
    losses = {"ramp": dc.hinge(), "capped squared hinge": dc.squared_hinge()}
    for n, p in SIZES if full else SIZES[:3]:
        for name, base in losses.items():
            yield of_loss(f"race, {name} {n} × {p}", dc.cap(base, 1.0), *data(n, p))


def of_loss(name: str, loss: dc.Loss, X: Array, y: Array) -> Case:
    def risk() -> dc.Risk:
        return dc.Risk.from_loss(dc.binary_margins(X, y), loss, dc.l2(1.0))

    def objective(result: dc.Result) -> float:
        w, b = np.split(np.asarray(result.x), [-1])
        return float(np.sum(loss(y * (X @ w + b))) + w @ w / 2)

    goal = 1 / 1.5 if len(y) >= 100_000 else 1 / 2.5
    plain = Competitor("one plain run", lambda: dc.solve(risk(), start="convex", n_starts=1), goal)
    repeats = 3 if len(y) <= 2000 else 1
    return Case(name, lambda: dc.solve(risk()), (plain,), objective, repeats=repeats)
