"""The semi-supervised SVM (Collobert, Sinz, Weston, Bottou 2006, JMLR 7).

½‖w‖² + C·Σ[1 − y·f]₊ over labelled samples + C*·Σ min([1 − f]₊, [1 + f]₊) over the others: either
label may be theirs. The mean score of the others is the mean label, as the paper constrains it. The
paper's loss at s = 0, min([1 − f]₊, 1) + min([1 + f]₊, 1), is this one and 1.

Run ``python -m examples.later_papers.semi_supervised --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim, greater
from examples.common.plots import BLACK, BLUE, ORANGE, RED, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
C, C_STAR = 1.0, 0.1
LABELLED = 6
SEEDS = range(10, 35)


def declare(X: Array, y: Array, U: Array, c: float = C, c_star: float = C_STAR) -> cp.Problem:
    """½‖w‖² + C·Σ[1 − y·f]₊ + C*·Σ min([1 − f]₊, [1 + f]₊), mean score = mean label."""
    w, b = cp.Variable(X.shape[1], name="w"), cp.Variable(name="b")
    f = U @ w + b
    known = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    unknown = cp.sum(cp.minimum(cp.pos(1 - f), cp.pos(1 + f)))
    objective = cp.sum_squares(w) / 2 + c * known + c_star * unknown
    return cp.Problem(cp.Minimize(objective), [cp.sum(f) / len(U) == np.mean(y)])


def reference(X: Array, y: Array, U: Array, theta: Array) -> float:
    """The objective, sample by sample; θ = (w, b)."""
    w, b = theta[:-1], theta[-1]
    total = w @ w / 2 + C * sum(max(1 - t * (x @ w + b), 0) for x, t in zip(X, y, strict=True))
    scores = [u @ w + b for u in U]
    return float(total + C_STAR * sum(max(1 - abs(f), 0) for f in scores))


def drawn(seed: int, n: int = 80, d: int = 10) -> tuple[Array, Array, Array, Array]:
    """Two normal clusters, 3 apart: samples and labels, the labelled ones first."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, d))
    X[:, 0] += 1.5 * y
    return X[:LABELLED], y[:LABELLED], X[LABELLED:], y[LABELLED:]


def supervised(X: Array, y: Array) -> Array:
    """The SVM of the labelled samples, the paper's start."""
    theta = dc.solve(dc.Risk.from_loss(dc.binary_margins(X, y), dc.hinge(), dc.l2(1 / C))).x
    assert theta is not None
    return theta


def fitted(X: Array, y: Array, U: Array) -> tuple[Array, dc.Result]:
    """θ = (w, b) after one run from the SVM, and the run."""
    problem, theta = declare(X, y, U), supervised(X, y)
    w, b = problem.variables()
    w.value, b.value = theta[:-1], theta[-1]
    result = dc.solve(problem, start="current", n_starts=1)
    return np.append(w.value, b.value), result


def right(theta: Array, U: Array, truth: Array) -> float:
    """Share of the unlabelled samples with the right sign."""
    return float(np.mean(np.sign(U @ theta[:-1] + theta[-1]) == truth))


def check() -> list[Claim]:
    gains, rises, statuses = [], [], set()
    for seed in SEEDS:
        X, y, U, truth = drawn(seed)
        theta, result = fitted(X, y, U)
        gains.append(right(theta, U, truth) - right(supervised(X, y), U, truth))
        rises += list(np.diff(result.history.value[1:]))  # the start is not balanced
        statuses.add(result.status)
    f = np.linspace(-3, 3, 601)
    ramps = np.minimum(np.maximum(1 - f, 0), 1) + np.minimum(np.maximum(1 + f, 0), 1)
    off = np.abs(ramps - 1 - np.maximum(1 - np.abs(f), 0)).max()
    return [
        Claim("at s = 0 the two ramps are [1 − |f|]₊ + 1", f"off by {off:.0e}", bool(off < 1e-12)),
        Claim(
            "each iteration lowers the objective, and they end",
            f"largest rise {max([*rises, 0.0]):.0e}, {', '.join(sorted(statuses))}",
            bool(max([*rises, 0.0]) < 1e-6 and statuses == {"converged"}),
        ),
        greater(
            f"unlabelled samples help where {LABELLED} labels are known, points",
            mean_of(gains),
            0.0,
        ),
    ]


def draw(folder: Path) -> None:
    X, y, U, _ = drawn(3, d=2)
    across = np.array([-4.0, 4.0])
    with plotted(folder, "semi_supervised") as axes:
        axes.plot(*U.T, "o", color="0.7", markersize=4, label="unlabelled")
        for label, colour in ((1, BLUE), (-1, ORANGE)):
            axes.plot(*X[y == label].T, "o", color=colour, markersize=8)
        lines = (
            (supervised(X, y), ":", BLACK, "SVM of the six labelled"),
            (fitted(X, y, U)[0], "-", RED, "semi-supervised"),
        )
        for (w1, w2, b), style, colour, name in lines:
            axes.plot(-(w2 * across + b) / w1, across, style, color=colour, label=name)
        axes.set(xlabel="x₁", ylabel="x₂", xlim=(-5, 5))
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
