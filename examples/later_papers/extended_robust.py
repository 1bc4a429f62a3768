"""The extended robust SVM (Takeda, Fujiwara, Kanamori 2014; Fujiwara, Takeda, Kanamori 2017).

Neural Computation 26 and 29: the mean of the margin losses −y·f(x) from the (m + 1)-th to the k-th
largest, on ‖w‖ = 1. It is a difference of two conditional values at risk, (k·CVaR_k −
m·CVaR_m)/(k − m), so that the m largest losses, the outliers', do not count. m = 0 is the extended
ν-SVM, ν = k/n.

The loss is linear in the size of (w, b): where its least value is negative, ‖w‖ ≤ 1 gives the same
point, and where it is positive (small k, overlapping classes) ‖w‖ ≥ 1 does.

Run ``python -m examples.later_papers.extended_robust --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim, greater
from examples.common.plots import BLACK, BLUE, ORANGE, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
OUTLIERS = 4
FEW, MANY = 6, 20  # k in the extended range, and below
ZERO = 1e-5  # the steps' solver is right to about 1e-8
SEEDS = range(10, 16)


def declare(X: Array, y: Array, k: int, m: int, extended: bool = False) -> cp.Problem:
    """The mean of the losses −y·f from the (m + 1)-th to the k-th largest, ‖w‖ ≤ 1 or ≥ 1."""
    w, b = cp.Variable(X.shape[1], name="w"), cp.Variable(name="b")
    loss = -cp.multiply(y, X @ w + b)
    middle = cp.sum_largest(loss, k) - (cp.sum_largest(loss, m) if m else 0)
    side = cp.norm(w) >= 1 if extended else cp.norm(w) <= 1
    return cp.Problem(cp.Minimize(middle / (k - m)), [side])


def reference(X: Array, y: Array, k: int, m: int, theta: Array) -> float:
    """The same, with the losses sorted; θ = (w, b)."""
    losses = sorted(
        (-t * (x @ theta[:-1] + theta[-1]) for x, t in zip(X, y, strict=True)), reverse=True
    )
    return float(np.mean(losses[m:k]))


def drawn(seed: int, n: int = 40, outliers: int = OUTLIERS) -> tuple[Array, Array]:
    """Two overlapping normal classes, 2 apart; the first samples far out, with wrong labels."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, 2))
    X[:, 0] += y
    X[:outliers] += np.column_stack([4 * y[:outliers], np.full(outliers, 4.0)])
    return X, np.where(np.arange(n) < outliers, -y, y)


def fitted(X: Array, y: Array, k: int, m: int, extended: bool) -> tuple[Array, float, str]:
    """θ = (w, b), the value and the status."""
    problem = declare(X, y, k, m, extended)
    result = dc.solve(problem, start="convex", n_starts=1)
    w, b = problem.variables()
    return np.append(w.value, b.value), float(result.value), result.status


def accuracy(theta: Array, seed: int) -> float:
    """Share of fresh samples with the right sign."""
    X, y = drawn(seed + 1000, n=1000, outliers=0)
    return float(np.mean(np.sign(X @ theta[:-1] + theta[-1]) == y))


def check() -> list[Claim]:
    beyond, gains = [], []
    for seed in SEEDS:
        X, y = drawn(seed)
        if np.linalg.norm(fitted(X, y, FEW, OUTLIERS, False)[0][:-1]) < ZERO:
            theta, value, status = fitted(X, y, FEW, OUTLIERS, True)
            reached = value > 0 and status == "converged"
            beyond.append(abs(np.linalg.norm(theta[:-1]) - 1) if reached else np.inf)
        robust = fitted(X, y, MANY, OUTLIERS, False)[0]
        plain = fitted(X, y, MANY, 0, True)[0]
        gains.append(accuracy(robust, seed) - accuracy(plain, seed))
    return [
        Claim(
            f"k = {FEW}: where ‖w‖ ≤ 1 gives w = 0, ‖w‖ ≥ 1 gives a point on ‖w‖ = 1",
            f"in {len(beyond)} of {len(gains)} draws, ‖w‖ off by {max(beyond, default=np.inf):.0e}",
            bool(max(beyond, default=np.inf) < ZERO),
        ),
        greater(
            f"robust: {OUTLIERS} outliers left out, more accurate than the extended ν-SVM, points",
            mean_of(gains),
            0.0,
        ),
    ]


def least(X: Array, y: Array, k: int, m: int) -> float:
    """The least value on ‖w‖ = 1: that of the ball if it is negative, else of its outside."""
    inside = fitted(X, y, k, m, False)[1]
    return inside if inside < -1e-6 else fitted(X, y, k, m, True)[1]


def draw(folder: Path) -> None:
    X, y = drawn(0)
    counts = [6, 10, 14, 20, 26, 32, 34]  # from 36 on b = ∞ is the least
    with plotted(folder, "extended_robust") as axes:
        for m, colour in ((0, ORANGE), (OUTLIERS, BLUE)):
            values = [least(X, y, k, m) for k in counts]
            name = "extended ν-SVM" if m == 0 else f"{m} largest losses left out"
            axes.plot(counts, values, "o-", color=colour, label=name)
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.annotate("above: the extended range", (22, 0.05))
        axes.set(xlabel="k, samples", ylabel="least mean loss on ‖w‖ = 1")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
