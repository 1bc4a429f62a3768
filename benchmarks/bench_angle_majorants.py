"""The two majorants of a truncated hinge on the angle-based SVM: weights 0/1 against DC tilts.

Both descend the same objective, over seeds: steps, time and where the runs end, from the same
convex start. Data: the paper's simulation with p features and 10 % contaminated, λ near its best
value; and the same with 40 % of the labels drawn anew and a tenth of that λ.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np

import dcprog as dc
from dcprog.models import AngleSVC

EQUAL = 1e-6
LAM = {("l2", 2): 1.0, ("l2", 20): 10.0, ("l1", 2): 3.0, ("l1", 20): 5.0}
DATA = {"p = 2": (2, False), "p = 20": (20, False), "p = 20, redrawn": (20, True)}


def simulate(n: int, p: int, redrawn: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes on the unit circle and noise features; outliers, or labels drawn anew."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    angle = 2 * np.pi * y / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.4 * rng.standard_normal((n, 2))
    if redrawn:
        some = rng.random(n) < 0.4
        y[some] = rng.integers(0, 3, some.sum())
    else:
        X[: n // 10] = [3.0, 0.0] + 0.4 * rng.standard_normal((n // 10, 2))
    return np.column_stack([X, rng.uniform(-1, 1, (n, p - 2))]), y


@dataclass(frozen=True)
class Outcome:
    """One run from the convex start."""

    steps: int
    seconds: float
    value: float


def run(model: AngleSVC, X: np.ndarray, y: np.ndarray) -> Outcome:
    """Minimise; the time is that of the run, without the declaration."""
    spec = model.spec(X, y)
    begun = time.perf_counter()
    result = model.minimise(spec)
    return Outcome(result.n_iter, time.perf_counter() - begun, result.value)


def compare(form: int, s: float | str, penalty: str, data: str, seeds: int, tol: float) -> str:
    """A row of the table."""
    p, redrawn = DATA[data]
    lam = LAM[penalty, p] / (10 if redrawn else 1)
    pairs = []
    for seed in range(seeds):
        X, y = simulate(100, p, redrawn, seed)
        options = {"penalty": penalty, "lam": lam, "fit_intercept": False, "tol": tol}
        options["n_starts"] = 1
        majorants = ["cap", "dc"] if seed % 2 else ["dc", "cap"]  # neither always runs first
        runs = {m: run(AngleSVC(form, s, majorant=m, **options), X, y) for m in majorants}
        pairs.append((runs["cap"], runs["dc"]))
    cap, tilt = ([pair[i] for pair in pairs] for i in (0, 1))
    scale = np.array([1 + one.value for one in cap])
    apart = (np.array([o.value for o in tilt]) - np.array([o.value for o in cap])) / scale
    ratio = np.median([b.seconds / a.seconds for a, b in pairs])
    steps = [f"{np.mean([o.steps for o in of]):.1f}" for of in (cap, tilt)]
    counts = [np.sum(apart > EQUAL), np.sum(np.abs(apart) <= EQUAL), np.sum(apart < -EQUAL)]
    name = f"{form} | {s if s != 'auto' else '−½'} | {penalty} | {data}"
    return (
        f"| {name} | {steps[0]} / {steps[1]} | {ratio:.2f} | "
        f"{counts[0]} / {counts[1]} / {counts[2]} | {apart.min():+.1%} … {apart.max():+.1%} |"
    )


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tol", type=float, default=1e-6)
    options = parser.parse_args()
    warnings.simplefilter("ignore", dc.FisherConsistencyWarning)
    print(
        "| loss | s | penalty | data | steps, weights / tilts | time, tilts ÷ weights | "
        "lower: weights / equal / tilts | final objective, tilts against weights |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for form, s, penalty, data in product((1, 2), (0.0, "auto"), ("l2", "l1"), DATA):
        print(compare(form, s, penalty, data, options.seeds, options.tol), flush=True)


if __name__ == "__main__":
    main()
