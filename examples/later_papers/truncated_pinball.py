"""The SVM with truncated pinball loss (Shen, Niu, Qi, Tian 2017, Pattern Recognition 68).

In the margin m = y·f(x): 1 − m up to 1, then τ(m − 1), and τκ beyond 1 + κ. The hinge is τ → 0, the
pinball loss κ → ∞. Samples beyond 1 + κ are no support vectors, and those between 1 and 1 + κ
make the line rest on many samples, not on the few nearest ones.

Run ``python -m examples.later_papers.truncated_pinball --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, greater
from examples.common.plots import BLACK, BLUE, ORANGE, RED, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
TAU, KAPPA = 0.5, 0.5
BAYES = 2.5  # x₂ = 2.5·x₁ separates the two normal classes of drawn()
SEEDS = range(10, 50)


def truncated(tau: float, kappa: float) -> dc.Loss:
    """1 − m up to the margin 1, τ(m − 1) up to 1 + κ, and τκ beyond."""
    pinball = (1 - tau) * dc.hinge() + tau * dc.absolute(at=1)
    return (pinball + tau * dc.hinge(at=1 + kappa)) - tau * dc.absolute(at=1 + kappa)


def declare(X: Array, y: Array, loss: dc.Loss, strength: float = 1.0) -> dc.Risk:
    """Σ loss of the margins + (strength/2)·‖w‖²."""
    return dc.Risk.from_loss(dc.binary_margins(X, y), loss, dc.l2(strength))


def reference(
    X: Array, y: Array, tau: float, kappa: float, theta: Array, strength: float = 1.0
) -> float:
    """The objective with the truncated loss, sample by sample."""
    w, b = theta[:-1], theta[-1]
    margins = [label * (x @ w + b) for x, label in zip(X, y, strict=True)]
    losses = [1 - m if m < 1 else tau * min(m - 1, kappa) for m in margins]
    return float(sum(losses) + strength / 2 * w @ w)


def drawn(seed: int, n: int = 100, noise: float = 0.2) -> tuple[Array, Array]:
    """Two normal classes, and a share of samples around the boundary whose labels say nothing."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.standard_normal((n, 2)) * np.sqrt([0.2, 3.0]) + y[:, None] * [0.5, -3.0]
    noisy = int(noise * n)
    X[:noisy] = rng.multivariate_normal([0, 0], [[1, -0.8], [-0.8, 1]], noisy)
    return X, y


def fitted(seed: int, loss: dc.Loss) -> tuple[float, float]:
    """The slope of the line, and the share of samples that pull at it."""
    X, y = drawn(seed)
    theta = dc.solve(declare(X, y, loss), start="convex", n_starts=1).x  # as in the paper
    assert theta is not None
    margins = y * (X @ theta[:-1] + theta[-1])
    return -theta[0] / theta[1], float(np.mean(loss.slope(margins) != 0))


def check() -> list[Claim]:
    losses = {"hinge": dc.hinge(), "cut": truncated(TAU, KAPPA), "pinball": truncated(TAU, 1e6)}
    runs = {name: np.array([fitted(s, loss) for s in SEEDS]) for name, loss in losses.items()}
    off = {name: np.abs(found[:, 0] - BAYES) for name, found in runs.items()}
    nearer = mean_of(off["hinge"] - off["cut"], unit=1.0)
    pulling = {name: found[:, 1].mean() for name, found in runs.items()}
    return [
        greater(
            "noise at the boundary moves the line less than with the hinge",
            nearer,
            0.0,
            measured=f"nearer to Bayes' slope {BAYES} by {nearer}",
        ),
        Claim(
            "support vectors: more than with the hinge, fewer than with the pinball loss",
            ", ".join(f"{name} {share:.0%}" for name, share in pulling.items()),
            bool(pulling["hinge"] < pulling["cut"] < pulling["pinball"]),
        ),
    ]


def draw(folder: Path) -> None:
    X, y = drawn(5)
    across = np.array([-1.8, 1.8])
    with plotted(folder, "truncated_pinball") as axes:
        for label, colour in ((1, BLUE), (-1, ORANGE)):
            axes.plot(*X[y == label].T, "o", color=colour, alpha=0.6, markersize=4)
        axes.plot(across, BAYES * across, color=BLACK, label="Bayes' rule")
        cut = truncated(TAU, KAPPA)
        for loss, style, name in ((dc.hinge(), ":", "hinge"), (cut, "--", "truncated pinball")):
            theta = dc.solve(declare(X, y, loss), random_state=0).x
            assert theta is not None
            line = -(theta[0] * across + theta[2]) / theta[1]
            axes.plot(across, line, style, color=RED, label=name)
        axes.set(xlabel="x₁", ylabel="x₂", ylim=(-8, 8))
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
