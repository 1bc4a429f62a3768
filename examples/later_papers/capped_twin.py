"""The capped ℓ1 twin SVM (Wang, Ye, Luo, Ye, Fu 2019, Neural Networks 114).

A plane a class, near its own samples and at least 1 away from the others, both up to a cap:
Σ min(|f(x)|, ε) over the own + c·Σ min([1 + f(x)]₊, ε) over the others. A sample belongs to the
class whose plane is nearer.

Run ``python -m examples.later_papers.capped_twin --output folder`` for a figure.
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
SEEDS = range(10, 13)


def declare(own: Array, others: Array, c: float = 1.0, cap: float = 1.0) -> cp.Problem:
    """Σ min(|f|, cap) over the own samples + c·Σ min([1 + f]₊, cap) over the others."""
    w, b = cp.Variable(own.shape[1], name="w"), cp.Variable(name="b")
    distance = cp.sum(cp.minimum(cp.abs(own @ w + b), cap))
    intrusion = cp.sum(cp.minimum(cp.pos(1 + others @ w + b), cap))
    return cp.Problem(cp.Minimize(distance + c * intrusion))


def squares(own: Array, others: Array, c: float = 1.0) -> cp.Problem:
    """The twin SVM: ½Σf² over the own samples + c·Σ[1 + f]₊ over the others."""
    w, b = cp.Variable(own.shape[1], name="w"), cp.Variable(name="b")
    distance = cp.sum_squares(own @ w + b) / 2
    return cp.Problem(cp.Minimize(distance + c * cp.sum(cp.pos(1 + others @ w + b))))


def reference(own: Array, others: Array, theta: Array, c: float = 1.0, cap: float = 1.0) -> float:
    """The capped objective, sample by sample; θ = (w, b)."""
    w, b = theta[:-1], theta[-1]
    distance = sum(min(abs(x @ w + b), cap) for x in own)
    return float(distance + c * sum(min(max(1 + x @ w + b, 0), cap) for x in others))


def drawn(seed: int, n: int = 30, outliers: int = 3) -> tuple[Array, Array]:
    """Two classes around lines, 3 samples of each far out on the other side."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2, 2, (2, n))
    first = np.column_stack([x, 0.8 * x + 1.5 + 0.2 * rng.standard_normal(n)])
    second = np.column_stack([z, -0.3 * z - 1.5 + 0.2 * rng.standard_normal(n)])
    first[:outliers] = [2, -6] + 0.3 * rng.standard_normal((outliers, 2))
    second[:outliers] = [-2, 6] + 0.3 * rng.standard_normal((outliers, 2))
    return first, second


def plane(problem: cp.Problem) -> tuple[Array, dc.Result]:
    """(w, b)/‖w‖, and the run."""
    result = dc.solve(problem, random_state=0)
    w, b = problem.variables()
    return np.append(w.value, b.value) / np.linalg.norm(w.value), result


def accuracy(planes: Sequence[Array], classes: Sequence[Array]) -> float:
    """Share of samples whose own plane is the nearer one."""
    right = [
        np.abs(X @ planes[i][:-1] + planes[i][-1])
        < np.abs(X @ planes[1 - i][:-1] + planes[1 - i][-1])
        for i, X in enumerate(classes)
    ]
    return float(np.mean(np.concatenate(right)))


def check() -> list[Claim]:
    capped, plain, rises = [], [], []
    for seed in SEEDS:
        first, second = drawn(seed)
        fresh = drawn(seed + 1000, n=500, outliers=0)
        found = [plane(declare(a, b)) for a, b in ((first, second), (second, first))]
        rises += [float(np.diff(run.history.value).max(initial=0)) for _, run in found]
        capped.append(accuracy([one for one, _ in found], fresh))
        twin = [plane(squares(a, b))[0] for a, b in ((first, second), (second, first))]
        plain.append(accuracy(twin, fresh))
    return [
        Claim(
            "the objective never rises along the iterations",
            f"largest rise {max(rises):.0e}",
            bool(max(rises) < 1e-6),
        ),
        Claim(
            "robust: with a tenth of outliers more accurate than the twin SVM",
            f"{min(capped):.1%} at least, the twin SVM {max(plain):.1%} at most",
            bool(min(capped) > max(plain)),
        ),
    ]


def draw(folder: Path) -> None:
    first, second = drawn(0)
    across = np.array([-2.5, 2.5])
    with plotted(folder, "capped_twin") as axes:
        for own, others, colour in ((first, second, BLUE), (second, first, ORANGE)):
            axes.plot(*own.T, "o", color=colour, alpha=0.6, markersize=4)
            for problem, style in ((declare(own, others), "-"), (squares(own, others), ":")):
                w1, w2, b = plane(problem)[0]
                axes.plot(across, -(w1 * across + b) / w2, style, color=colour)
        axes.plot([], [], "-", color=BLACK, label="capped ℓ1")
        axes.plot([], [], ":", color=BLACK, label="twin SVM")
        axes.set(xlabel="x₁", ylabel="x₂", ylim=(-8, 8))
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
