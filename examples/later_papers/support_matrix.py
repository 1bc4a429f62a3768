"""The robust support matrix machine (Qian, Tran-Dinh, Fu, Zou, Liu 2019, Math. Program. 176).

Samples are matrices M, the scores of k classes u = W(⟨B₁, M⟩, …, ⟨B_{k−1}, M⟩)' with the vertices W
of a simplex. The loss of class y is
γ·min([k − 1 − u_y]₊, (k − 1)(1 − s)) + (1 − γ)·Σ_{j≠y} min([1 + u_j]₊, 1 − s),
its mean penalised by τ·Σ‖B_q‖_* + (λ/2)·Σ‖B_q‖²: nuclear norms, for low ranks.

Run ``python -m examples.later_papers.support_matrix --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim
from examples.common.plots import BLACK, BLUE, ORANGE, plotted
from examples.later_papers.script import run

Array = np.ndarray
CLASSES, SIDE = 3, 5
CUT = -1 / (CLASSES - 1)  # the s recommended for these losses
RANK = 1e-4  # of the largest singular value; the step's solver is right to about 1e-6
SEEDS = range(10, 14)


def declare(
    M: Array,
    labels: Array,
    cut: float = CUT,
    tau: float = 0.1,
    lam: float = 0.01,
    gamma: float = 0.5,
) -> cp.Problem:
    """Mean truncated loss + τ·Σ‖B_q‖_* + (λ/2)·Σ‖B_q‖²; no truncation at cut = −∞."""
    n, k = len(M), CLASSES
    B = [cp.Variable(M.shape[1:], name=f"B{q}") for q in range(1, k)]
    f = cp.vstack([M.reshape(n, -1) @ cp.vec(one, order="C") for one in B])
    u, own = (dc.simplex_vertices(k) @ f).T, np.eye(k)[labels]
    first, rest = cp.pos(k - 1 - u), cp.pos(1 + u)
    if np.isfinite(cut):
        first, rest = cp.minimum(first, (k - 1) * (1 - cut)), cp.minimum(rest, 1 - cut)
    loss = gamma * cp.multiply(own, first) + (1 - gamma) * cp.multiply(1 - own, rest)
    penalty = sum(tau * cp.normNuc(one) + lam / 2 * cp.sum_squares(one) for one in B)
    return cp.Problem(cp.Minimize(cp.sum(loss) / n + penalty))


def reference(M: Array, labels: Array, B: Sequence[Array], tau: float = 0.1) -> float:
    """The same at the other defaults, sample by sample."""
    W, total = dc.simplex_vertices(CLASSES), 0.0
    for sample, label in zip(M, labels, strict=True):
        u = W @ [np.sum(one * sample) for one in B]
        total += 0.5 * min(max(CLASSES - 1 - u[label], 0), (CLASSES - 1) * (1 - CUT))
        total += 0.5 * sum(min(max(1 + u[j], 0), 1 - CUT) for j in range(CLASSES) if j != label)
    nuclear = sum(np.linalg.svd(one, compute_uv=False).sum() for one in B)
    return float(total / len(M) + tau * nuclear + 0.01 / 2 * sum(np.sum(one**2) for one in B))


def drawn(seed: int, n: int = 60, outliers: int = 6) -> tuple[Array, Array]:
    """Matrices around centres of rank 1; the first lie six times as far out, with wrong labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % CLASSES
    centres = np.zeros((CLASSES, SIDE, SIDE))
    for j in range(CLASSES):
        centres[j, j, j + 1] = 2.5
    means = centres[labels]
    means[:outliers] *= 6
    labels[:outliers] = (labels[:outliers] + 1) % CLASSES
    return means + rng.standard_normal(means.shape), labels


def fitted(problem: cp.Problem) -> list[Array]:
    """B₁, …, B_{k−1}."""
    dc.solve(problem, start="convex", n_starts=1)
    return [np.asarray(one.value) for one in sorted(problem.variables(), key=lambda v: v.name())]


def accuracy(B: Sequence[Array], seed: int) -> float:
    """Share of fresh samples in the right class."""
    M, labels = drawn(seed + 1000, n=600, outliers=0)
    f = np.stack([np.tensordot(M, one, 2) for one in B], axis=1)
    return float(np.mean(np.argmax(f @ dc.simplex_vertices(CLASSES).T, axis=1) == labels))


def ranks(B: Sequence[Array]) -> float:
    """The mean rank."""
    sizes = [np.linalg.svd(one, compute_uv=False) for one in B]
    return float(np.mean([np.sum(s > RANK * s[0]) for s in sizes]))


def check() -> list[Claim]:
    found = []
    for seed in SEEDS:
        data = drawn(seed)
        robust, whole = fitted(declare(*data)), fitted(declare(*data, cut=-np.inf))
        full = fitted(declare(*data, tau=0.0, lam=0.1))
        found.append((accuracy(robust, seed), accuracy(whole, seed), ranks(robust), ranks(full)))
    right, plain, low, high = np.array(found).T
    return [
        Claim(
            "robust: with a tenth of outliers more accurate than without truncation",
            f"{right.mean():.1%} against {plain.mean():.1%}",
            bool((right > plain).all()),
        ),
        Claim(
            "the nuclear norm makes the coefficients of low rank",
            f"mean rank {low.mean():.1f} against {high.mean():.1f} of {SIDE} without it",
            bool((low < high).all()),
        ),
    ]


def draw(folder: Path) -> None:
    data = drawn(0)
    with plotted(folder, "support_matrix") as axes:
        for tau, lam, colour, name in ((0.1, 0.01, BLUE, "τ = 0.1"), (0.0, 0.1, ORANGE, "τ = 0")):
            sizes = [
                np.linalg.svd(one, compute_uv=False)
                for one in fitted(declare(*data, tau=tau, lam=lam))
            ]
            for one in sizes:
                axes.plot(np.arange(1, SIDE + 1), one / one[0], "o-", color=colour)
            axes.plot([], [], "o-", color=colour, label=name)
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.set(xlabel="singular value of B₁, B₂", ylabel="size, of the largest")
        axes.set_xticks(range(1, SIDE + 1))
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
