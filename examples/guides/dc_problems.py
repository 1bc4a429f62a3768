"""Four nonconvex problems from the literature, written in plain cvxpy and solved as they stand.

* circle packing: n circles in the smallest square, ‖cᵢ − cⱼ‖ ≥ rᵢ + rⱼ;
* sparse recovery: min Σ √|xⱼ| subject to Ax = b;
* phase retrieval: find z with (aᵢᵀz)² = yᵢ²;
* largest margin with the norm fixed: max g, yᵢ(wᵀxᵢ + b) ≥ g, ‖w‖ = 1.

Run ``python -m examples.guides.dc_problems --output folder`` for the packing's picture.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import cvxpy as cp
import numpy as np

import dcprog as dc

Answer = tuple[str, dc.Result, str]


def circle_packing(n: int = 10, seed: int = 0) -> tuple[Answer, np.ndarray, np.ndarray]:
    """Centres and radii of a packing, the best of eight starts."""
    radii = np.linspace(1.0, 2.0, n)
    centres = cp.Variable((n, 2), name="centres")
    apart = [
        cp.norm(centres[i] - centres[j]) >= radii[i] + radii[j] for i in range(n) for j in range(i)
    ]
    half_side = cp.max(cp.norm_inf(centres, axis=1) + radii)
    problem = cp.Problem(cp.Minimize(half_side), apart)
    result = dc.solve(problem, n_starts=8, random_state=seed)
    density = np.pi * np.sum(radii**2) / (2 * result.value) ** 2
    note = f"density {density:.3f} in a square of side {2 * result.value:.3f}"
    return ("circle packing", result, note), result.variables[centres], radii


def sparse_recovery(seed: int = 0) -> Answer:
    """Twelve nonzeros of 50 from 25 equations, where ℓ1 fails and ℓ½ does not."""
    rng = np.random.default_rng(seed)
    truth = np.zeros(50)
    truth[rng.choice(50, 12, replace=False)] = rng.normal(size=12)
    A = rng.normal(size=(25, 50))
    x = cp.Variable(50, name="x")
    exact = [A @ x == A @ truth]
    cp.Problem(cp.Minimize(cp.norm1(x)), exact).solve(solver=cp.CLARABEL)
    convex = np.linalg.norm(x.value - truth)
    result = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.sqrt(cp.abs(x)))), exact))
    error = np.linalg.norm(result.variables[x] - truth)
    return "sparse recovery", result, f"error {error:.1e} (ℓ1: {convex:.1e})"


def phase_retrieval(seed: int = 0) -> Answer:
    """A vector of 8 from the absolute values of 40 inner products."""
    rng = np.random.default_rng(seed)
    truth, A = rng.normal(size=8), rng.normal(size=(40, 8))
    z = cp.Variable(8, name="z")
    problem = cp.Problem(cp.Minimize(0), [cp.square(A @ z) == (A @ truth) ** 2])
    result = dc.solve(problem, start="random", n_starts=3, random_state=seed)
    found = result.variables[z]
    error = min(np.linalg.norm(found - truth), np.linalg.norm(found + truth))
    return "phase retrieval", result, f"error up to sign {error:.1e}"


def largest_margin(seed: int = 0) -> Answer:
    """The hard-margin SVM with ‖w‖ = 1 as an equality, against its convex form."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], 40)
    X = rng.normal(size=(80, 2)) + 2.5 * y[:, None]
    w, b, margin = cp.Variable(2, name="w"), cp.Variable(name="b"), cp.Variable(name="margin")
    separated = cp.multiply(y, X @ w + b) >= margin
    result = dc.solve(cp.Problem(cp.Maximize(margin), [separated, cp.norm(w) == 1]))
    cp.Problem(cp.Minimize(cp.norm(w)), [cp.multiply(y, X @ w + b) >= 1]).solve(solver=cp.CLARABEL)
    return "largest margin", result, f"convex form: {1 / np.linalg.norm(w.value):.6f}"


def draw_packing(centres: np.ndarray, radii: np.ndarray, side: float, path: Path) -> None:
    """The circles in their square."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
    for centre, radius in zip(centres, radii, strict=True):
        ax.add_patch(plt.Circle(tuple(centre), radius, facecolor="C0", alpha=0.4, edgecolor="C0"))
    ax.add_patch(plt.Rectangle((-side / 2, -side / 2), side, side, fill=False))
    ax.set(xlim=(-0.52 * side, 0.52 * side), ylim=(-0.52 * side, 0.52 * side), aspect="equal")
    ax.set_title(f"{len(radii)} circles in a square of side {side:.3f}")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    """Solve all four and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="folder for the picture")
    options = parser.parse_args(arguments)
    packing, centres, radii = circle_packing(seed=options.seed)
    others = [solve(options.seed) for solve in (sparse_recovery, phase_retrieval, largest_margin)]
    print(f"{'problem':<17}{'status':<11}{'value':>10}{'gap':>10}{'violation':>11}{'steps':>7}")
    for name, result, note in [packing, *others]:
        print(
            f"{name:<17}{result.status:<11}{result.value:>10.5f}{result.gap:>10.1e}"
            f"{result.violation:>11.1e}{result.n_iter:>7}  {note}"
        )
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        path = options.output / "packing.png"
        draw_packing(centres, radii, 2 * packing[1].value, path)
        print(f"picture: {path}")


if __name__ == "__main__":
    main()
