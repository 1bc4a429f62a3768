"""The ramp loss with a linear programming machine (Huang, Shi, Suykens 2014, JMLR 15).

μ·Σαⱼ + (1/n)·Σ min([1 − yᵢf(xᵢ)]₊, 1) with f = Σ αⱼyⱼk(·, xⱼ) + b and α ≥ 0. All parts are
piecewise linear, so that each step of the loop is a linear program.

Run ``python -m examples.later_papers.ramp_linear_programming --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim, greater
from examples.common.plots import BLACK, plotted
from examples.later_papers.circle import boundary, drawn, gram, scene, score
from examples.later_papers.script import mean_of, run

Array = np.ndarray
MU = 0.003
SEEDS = range(10, 22)
N = 50  # samples of a draw


def declare(K: Array, y: Array, mu: float = MU, cap: float = 1.0) -> cp.Problem:
    """μ·Σα + mean of min([1 − y·f]₊, cap); the hinge at cap = ∞."""
    alpha, b = cp.Variable(y.size, nonneg=True, name="alpha"), cp.Variable(name="b")
    loss = cp.pos(1 - cp.multiply(y, K @ cp.multiply(y, alpha) + b))
    if np.isfinite(cap):
        loss = cp.minimum(loss, cap)
    return cp.Problem(cp.Minimize(mu * cp.sum(alpha) + cp.sum(loss) / y.size))


def reference(K: Array, y: Array, mu: float, alpha: Array, b: float) -> float:
    """The same with cap 1, sample by sample."""
    scores = [float(k @ (alpha * y)) + b for k in K]
    losses = [min(max(1 - label * f, 0), 1) for label, f in zip(y, scores, strict=True)]
    return float(mu * sum(alpha) + np.mean(losses))


def fitted(X: Array, y: Array, cap: float = 1.0) -> tuple[Array, float]:
    """α and b."""
    problem = declare(gram(X, X), y, cap=cap)
    dc.solve(problem, random_state=0)
    alpha, b = problem.variables()
    return np.asarray(alpha.value), float(b.value)


def ramp_svm(X: Array, y: Array) -> int:
    """How many samples the ramp-loss SVM with the norm μ/2·f'Kf expands in."""
    rows = dc.kernel_margins(gram(X, X), y)
    share = np.full(y.size, 1 / y.size)
    risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.l2(MU), share)
    theta = dc.solve(risk, random_state=0).x
    assert theta is not None
    return int(np.sum(np.abs(rows.dual_coef(theta)) > 1e-6))


def one_draw(seed: int) -> tuple[float, float, int, int]:
    """Accuracies with the ramp and with the hinge, sizes of the expansions of both ramps."""
    X, _, y = drawn(seed, N)
    fresh, truth, _ = drawn(seed + 1000, n=1000)
    fits = [fitted(X, y, cap) for cap in (1.0, np.inf)]
    right = [np.mean(np.sign(score(X, y * a, b, fresh)) == truth) for a, b in fits]
    return float(right[0]), float(right[1]), int(np.sum(fits[0][0] > 1e-6)), ramp_svm(X, y)


def check() -> list[Claim]:
    X, _, y = drawn(0, N)
    problem = declare(gram(X, X), y)
    for variable in problem.variables():
        variable.value = np.ones(variable.shape)
    step = dc.majorize(problem.objective.expr).expression
    runs = np.array([one_draw(seed) for seed in SEEDS])
    return [
        Claim("a step is a linear program", f"piecewise linear: {step.is_pwl()}", step.is_pwl()),
        greater(
            "robust: with 10% of the labels turned more accurate than the hinge's, points",
            mean_of(runs[:, 0] - runs[:, 1]),
            0.0,
        ),
        Claim(
            "it is sparser than the ramp-loss SVM with the kernel's norm",
            f"{runs[:, 2].mean():.1f} of {y.size} samples, against {runs[:, 3].mean():.1f}",
            bool(runs[:, 2].mean() < runs[:, 3].mean()),
        ),
    ]


def draw(folder: Path) -> None:
    X, _, y = drawn(0, N)
    with plotted(folder, "ramp_linear_programming") as axes:
        scene(axes, X, y)
        for cap, style, name in ((np.inf, "dotted", "hinge"), (1.0, "dashed", "ramp")):
            alpha, b = fitted(X, y, cap)
            boundary(axes, partial(score, X, y * alpha, b), style, name)
        kept = X[alpha > 1e-6]
        axes.plot(*kept.T, "o", color=BLACK, fillstyle="none", markersize=9, label="α > 0 (ramp)")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
