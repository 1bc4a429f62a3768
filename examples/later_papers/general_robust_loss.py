"""Barron's general robust loss (Barron 2019, CVPR, arXiv 1701.03077), for α ≤ 2.

(|α − 2|/α)·(((x/c)²/|α − 2| + 1)^{α/2} − 1): squares at α = 2, Charbonnier's at 1, Cauchy's at 0,
Geman and McClure's at −2, Welsch's at −∞. In t = (x/c)²/2 it is concave for every α ≤ 2.

Run ``python -m examples.later_papers.general_robust_loss --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, RED, plotted
from examples.later_papers.script import run

Array = np.ndarray
SHAPES = (2.0, 1.9, 1.0, 0.5, 0.0, -0.5, -2.0, -10.0)
SEEDS = range(10, 20)


def general(alpha: float, c: float) -> dc.Loss:
    """The loss as a concave function of t = (x/c)²/2."""
    squares = (0.5 / c**2) * dc.square()
    if alpha == 2:
        return squares
    d = 2 - alpha
    value = np.log1p if alpha == 0 else lambda t: d / alpha * ((2 * t / d + 1) ** (alpha / 2) - 1)
    bounded = dc.concave(value, slope=lambda t: (2 * t / d + 1) ** (alpha / 2 - 1))
    return dc.compose(bounded, squares)


def declare(X: Array, y: Array, alpha: float, c: float = 1.0) -> dc.Risk:
    """Σ of the loss over the residuals of a line."""
    return dc.Risk.from_loss(dc.residual_rows(X, y), general(alpha, c), dc.l2(0.0))


def reference(X: Array, y: Array, alpha: float, c: float, theta: Array) -> float:
    """The same, in the paper's x and c."""
    z = ((y - X @ theta[:-1] - theta[-1]) / c) ** 2
    if alpha == 2:
        return float(np.sum(z) / 2)
    if alpha == 0:
        return float(np.sum(np.log(z / 2 + 1)))
    d = abs(alpha - 2)
    return float(np.sum(d / alpha * ((z / d + 1) ** (alpha / 2) - 1)))


def drawn(seed: int, n: int = 60) -> tuple[Array, Array]:
    """Coefficients 1, 2, 3 and unit noise; 30% of the targets are 15 too high."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(n)
    y[: int(0.3 * n)] += 15
    return X, y


def misfit(seed: int, alpha: float) -> float:
    """The distance of the coefficients and the intercept from the true ones."""
    theta = dc.solve(declare(*drawn(seed), alpha), random_state=0).x
    assert theta is not None
    return float(np.linalg.norm(theta - [1, 2, 3, 0]))


def check() -> list[Claim]:
    x = np.linspace(-50, 50, 2001)
    rising = np.array([general(alpha, 1.0)(x) for alpha in sorted(SHAPES)])
    steepest = max(np.abs(general(a, 1.0).slope(x)).max() for a in SHAPES if a <= 1)
    robust, plain = (np.array([misfit(s, a) for s in SEEDS]) for a in (-2.0, 2.0))
    return [
        at_most("the loss rises with α at every x", float(-np.diff(rising, axis=0).min()), 1e-9),
        at_most("for α ≤ 1 its slope is 1/c at most", float(steepest - 1), 1e-9),
        Claim(
            "outliers have less influence at smaller α: 30% far ones, α = −2 against α = 2",
            f"distance from the true line {robust.max():.2f} at most, {plain.min():.2f} at least",
            bool(robust.max() < plain.min()),
        ),
    ]


def draw(folder: Path) -> None:
    x = np.linspace(-6, 6, 400)
    with plotted(folder, "general_robust_loss") as axes:
        shades = {2.0: BLACK, 1.0: GREEN, 0.0: BLUE, -2.0: ORANGE, -10.0: RED}
        for alpha, colour in shades.items():
            axes.plot(x, general(alpha, 1.0)(x), color=colour, label=f"α = {alpha:g}")
        axes.set(xlabel="residual x/c", ylabel="loss", ylim=(0, 5))
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
