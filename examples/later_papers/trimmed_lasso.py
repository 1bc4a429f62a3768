"""The trimmed lasso, a penalty on all but the k largest coefficients.

Bertsimas, Copenhaver, Mazumder (2017), The trimmed lasso, arXiv 1708.04527:
½‖y − Xβ‖² + λ·(|β|₍ₖ₊₁₎ + … + |β|₍ₚ₎). From a finite λ on, its minimisers are those of best subset
selection with k features. ‖y‖·maxⱼ‖xⱼ‖ is such a λ (a bound of ours): a nonzero penalised
coefficient of a minimiser would need |xⱼ'(y − Xβ)| = λ, and ‖y − Xβ‖ ≤ ‖y‖.

At such a λ every choice of k features has a local minimum; the default of dc.solve swaps features
until no swap is lower.

Run ``python -m examples.later_papers.trimmed_lasso --output folder`` for the figure too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc
from examples.common.claims import Claim
from examples.common.plots import BLUE, ORANGE, plotted
from examples.later_papers.script import run

Array = np.ndarray
KEPT = 2
SEEDS = range(10, 18)
SAME = 1e-6  # interior-point answers are right to about 1e-8 of the value


def declare(X: Array, y: Array, strength: float, k: int) -> cp.Problem:
    """½‖y − Xβ‖² + λ·(sum of all |β_j| but the k largest)."""
    beta = cp.Variable(X.shape[1], name="beta")
    misfit = cp.sum_squares(y - X @ beta) / 2
    trimmed = cp.norm1(beta) - cp.sum_largest(cp.abs(beta), k)
    return cp.Problem(cp.Minimize(misfit + strength * trimmed))


def reference(X: Array, y: Array, strength: float, k: int, beta: Array) -> float:
    """The same, with the sizes sorted."""
    small = sorted(abs(b) for b in beta)[: len(beta) - k]
    return float(np.sum((y - X @ beta) ** 2) / 2 + strength * sum(small))


def drawn(seed: int, n: int = 30, p: int = 6) -> tuple[Array, Array]:
    """A regression on correlated features, two of them with coefficients 1 and −1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, 0] - X[:, 1] + rng.standard_normal(n)


def exact_from(X: Array, y: Array) -> float:
    """A strength from which on at most k coefficients are not 0."""
    return float(np.linalg.norm(y) * np.linalg.norm(X, axis=0).max())


def best_subset(X: Array, y: Array, k: int) -> float:
    """The least ½‖y − Xβ‖² with k features, by trying all."""
    subsets = (X[:, list(chosen)] for chosen in combinations(range(X.shape[1]), k))
    fits = (y - A @ np.linalg.lstsq(A, y, rcond=None)[0] for A in subsets)
    return float(min(r @ r for r in fits) / 2)


def solved(X: Array, y: Array, strength: float, n_starts: int | str) -> tuple[float, Array]:
    """The value, and the sizes of the coefficients from the largest on."""
    problem = declare(X, y, strength, KEPT)
    value = dc.solve(problem, n_starts=n_starts, random_state=0).value
    (beta,) = problem.variables()
    return float(value), np.sort(np.abs(beta.value))[::-1]


def check() -> list[Claim]:
    above, rest = [], []
    for seed in SEEDS:
        X, y = drawn(seed)
        value, sizes = solved(X, y, 1.01 * exact_from(X, y), n_starts="auto")
        above.append(value / best_subset(X, y, KEPT) - 1)
        rest.append(sizes[KEPT])
    reached = sum(one < SAME for one in above)
    return [
        Claim(
            "from λ = ‖y‖·max‖xⱼ‖ on no more than k coefficients are left",
            f"the next is {max(rest):.1e} at most",
            max(rest) < SAME,
        ),
        Claim(
            "and none of the points found is below best subset selection",
            f"{min(above):+.1e} and more; it is reached in {reached} of {len(above)}",
            min(above) > -SAME and reached > 0,
        ),
    ]


def draw(folder: Path) -> None:
    X, y = drawn(0)
    strengths = np.geomspace(0.1, 1.01 * exact_from(X, y), 8)
    sizes = np.array([solved(X, y, strength, n_starts=1)[1] for strength in strengths])
    with plotted(folder, "trimmed_lasso") as axes:
        for j, size in enumerate(sizes.T):
            colour = BLUE if j < KEPT else ORANGE
            label = {0: f"{KEPT} largest", KEPT: "the others"}.get(j)
            axes.plot(strengths, size, "o-", color=colour, label=label, markersize=4)
        axes.set(xscale="log", xlabel="penalty λ, units of y·x", ylabel="|β|, units of y/x")
        axes.legend(loc="center right")


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
