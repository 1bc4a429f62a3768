"""Outliers as shifts of their own (She, Owen 2011, JASA 106, arXiv 1006.2592).

½‖y − Xβ − γ‖² + Σ P(γᵢ), a shift γᵢ a sample. With P = λ|γ| the β is Huber's; with the penalty of
hard thresholding (``mcp(λ, 1)``, λ|γ| − γ²/2 up to λ, then λ²/2) it is that of squares capped at
λ²/2.

Run ``python -m examples.later_papers.mean_shift_outliers --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most
from examples.common.plots import BLACK, BLUE, ORANGE, plotted
from examples.later_papers.script import run

Array = np.ndarray
LAMBDA = 2.5  # standard deviations of the noise
OUTLIERS = 6
SEEDS = range(10, 16)


def declare(X: Array, y: Array, penalty: dc.Penalty) -> dc.Risk:
    """½‖y − Xβ − γ‖² + penalty(γ); θ = (β, γ)."""
    n, p = X.shape
    rows = dc.residual_rows(np.hstack([X, np.eye(n)]), y, fit_intercept=False)
    shifts = np.arange(p + n) >= p
    return dc.Risk.from_loss(rows, 0.5 * dc.square(), penalty, penalized=shifts)


def reference(X: Array, y: Array, theta: Array, hard: bool, lam: float = LAMBDA) -> float:
    """The same, sample by sample, with either penalty."""
    beta, shifts = np.split(theta, [X.shape[1]])
    total = float(np.sum((y - X @ beta - shifts) ** 2) / 2)
    for g in np.abs(shifts):
        total += lam * g if not hard else (lam * g - g * g / 2 if g < lam else lam**2 / 2)
    return total


def drawn(seed: int, n: int = 60, p: int = 4) -> tuple[Array, Array]:
    """Coefficients 1, unit noise; the first samples lie far out in X, their targets 75 too high."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:OUTLIERS] = 15 + 0.1 * rng.standard_normal((OUTLIERS, p))
    y = X @ np.ones(p) + rng.standard_normal(n)
    y[:OUTLIERS] += 75
    return X, y


def fitted(X: Array, y: Array, penalty: dc.Penalty) -> tuple[Array, Array]:
    """β and γ, the best of ten starts: the default may end where good samples are shifted."""
    theta = dc.solve(declare(X, y, penalty), n_starts=10, random_state=0).x
    assert theta is not None
    return theta[: X.shape[1]], theta[X.shape[1] :]


def same_fit(seed: int, penalty: dc.Penalty, loss: dc.Loss) -> float:
    """How far min over γ of the objective is from the loss on residuals, at random β."""
    X, y = drawn(seed)
    beta = np.random.default_rng(seed).normal(size=X.shape[1])
    r = y - X @ beta
    shifts = np.where(np.abs(r) > LAMBDA, r, 0.0)
    if isinstance(penalty, dc.l1):
        shifts -= np.sign(shifts) * LAMBDA
    at_best = declare(X, y, penalty)(np.append(beta, shifts))
    return abs(float(at_best) / float(np.sum(loss(r))) - 1)


def check() -> list[Claim]:
    soft, hard = dc.l1(LAMBDA), dc.mcp(LAMBDA, 1.0)
    huber, capped = dc.huber(LAMBDA), dc.cap(0.5 * dc.square(), LAMBDA**2 / 2)
    found: dict[str, list[tuple[float, float]]] = {"l1": [], "hard": []}
    for seed in SEEDS:
        X, y = drawn(seed)
        for name, penalty in (("l1", soft), ("hard", hard)):
            shifted = fitted(X, y, penalty)[1] != 0
            found[name].append((shifted[:OUTLIERS].mean(), shifted[OUTLIERS:].mean()))
    shares = {name: np.mean(rows, axis=0) for name, rows in found.items()}
    return [
        at_most(
            "least over γ: Huber's loss with l1, capped squares with hard thresholding",
            max(max(same_fit(s, soft, huber), same_fit(s, hard, capped)) for s in SEEDS),
            1e-9,
        ),
        Claim(
            "l1 fails to find outliers of high leverage",
            f"finds {shares['l1'][0]:.0%} of them",
            bool(shares["l1"][0] < 0.5),
        ),
        Claim(
            "hard thresholding finds them",
            f"{shares['hard'][0]:.0%} of them, and {shares['hard'][1]:.1%} of the others",
            bool(shares["hard"][0] > 0.95 and shares["hard"][1] < 0.05),
        ),
    ]


def draw(folder: Path) -> None:
    X, y = drawn(0)
    with plotted(folder, "mean_shift_outliers") as axes:
        for penalty, colour, mark, name in (
            (dc.l1(LAMBDA), ORANGE, "x", "l1"),
            (dc.mcp(LAMBDA, 1.0), BLUE, "o", "hard thresholding"),
        ):
            axes.plot(fitted(X, y, penalty)[1], mark, color=colour, label=name, fillstyle="none")
        axes.axvspan(-0.5, OUTLIERS - 0.5, color=BLACK, alpha=0.1, label="true outliers")
        axes.set(xlabel="sample", ylabel="shift γ, units of y")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
