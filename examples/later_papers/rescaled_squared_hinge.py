"""The rescaled squared hinge with a kernel.

β·(1 − e^{−η[1 − y·f(x)]₊²}), β = 1/(1 − e^{−η}). The rescaled hinge is of Xu, Cao, Hu, Príncipe
(2017); with squares it is the half of their correntropy loss that punishes only errors. The nearest
publication known to us is the rescaled α-hinge of Singla, Ghosh, Shukla (2020, Neural Processing
Letters 52), which is linear and sparse; this kernel machine with squares is this library's.

Run ``python -m examples.later_papers.rescaled_squared_hinge --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most, greater, own
from examples.common.plots import BLACK, BLUE, ORANGE, RED, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
ETA = 0.5
SEEDS = range(10, 50)


def declare(K: Array, y: Array, loss: dc.Loss, strength: float = 1.0) -> dc.Risk:
    """Σ loss of the margins of f = Σ aⱼ k(·, xⱼ) + b, and (strength/2)·a'Ka."""
    return dc.Risk.from_loss(dc.kernel_margins(K, y), loss, dc.l2(strength))


def reference(K: Array, y: Array, eta: float, a: Array, b: float, strength: float = 1.0) -> float:
    """The objective of the rescaled squared hinge, sample by sample."""
    slacks = [max(1 - label * (k @ a + b), 0) for k, label in zip(K, y, strict=True)]
    losses = [(1 - np.exp(-eta * t**2)) / (1 - np.exp(-eta)) for t in slacks]
    return float(sum(losses) + strength / 2 * a @ K @ a)


def drawn(seed: int, n: int = 120, noise: float = 0.1) -> tuple[Array, Array, Array]:
    """Samples, the labels inside and outside a circle, and those with a share turned."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    truth = np.where(np.sum(X**2, axis=1) > 2 * np.log(2), 1.0, -1.0)  # half of them
    return X, truth, np.where(rng.random(n) < noise, -truth, truth)


def gram(X: Array, Z: Array) -> Array:
    """exp(−‖x − z‖²)."""
    return np.exp(-np.sum((X[:, None] - Z) ** 2, axis=-1))


def fitted(X: Array, y: Array, loss: dc.Loss) -> tuple[Array, float]:
    """a and b."""
    risk = declare(gram(X, X), y, loss)
    theta = dc.solve(risk, random_state=0).x
    assert theta is not None
    return risk.rows.dual_coef(theta).ravel(), float(theta[-1])


def accuracy(seed: int, loss: dc.Loss) -> float:
    """Share of fresh samples with the right label, after a fit to turned labels."""
    X, _, turned = drawn(seed)
    fresh, truth, _ = drawn(seed + 1000, n=1000)
    a, b = fitted(X, turned, loss)
    return float(np.mean(np.sign(gram(fresh, X) @ a + b) == truth))


def check() -> list[Claim]:
    loss, plain = dc.rescale(dc.squared_hinge(), ETA), dc.squared_hinge()
    m = np.linspace(-5, 3, 800)
    weight, _ = loss.surrogate(m)
    expected = ETA * np.exp(-ETA * plain(m)) / (1 - np.exp(-ETA))
    gains = np.array([accuracy(s, loss) - accuracy(s, plain) for s in SEEDS])
    nearer = [np.abs(dc.rescale(plain, eta)(m) - plain(m)).max() for eta in (1e-2, 1e-4, 1e-6)]
    return own(
        [
            at_most(
                "a step is an SVM with weights ηβ·e^{−η·loss}, as for Xu's hinge",
                float(np.abs(weight - expected).max()),
                1e-9,
            ),
            Claim(
                "η → 0 gives the squared hinge",
                "largest difference on |1 − m| ≤ 6 at η = 1e-2, 1e-4, 1e-6: "
                + ", ".join(f"{one:.1e}" for one in nearer),
                bool(nearer[-1] < 1e-3 * nearer[0] and nearer[-1] < 1e-2),
            ),
            greater(
                "with 10% of the labels turned it beats the squared hinge, points",
                mean_of(gains),
                0.0,
            ),
        ]
    )


def draw(folder: Path) -> None:
    X, _, y = drawn(0)
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 120), np.linspace(-3, 3, 120)), axis=-1)
    K = gram(grid.reshape(-1, 2), X)
    with plotted(folder, "rescaled_squared_hinge") as axes:
        for label, colour in ((1, BLUE), (-1, ORANGE)):
            axes.plot(*X[y == label].T, "o", color=colour, alpha=0.6, markersize=4)
        turn = np.linspace(0, 2 * np.pi, 200)
        radius = np.sqrt(2 * np.log(2))
        axes.plot(radius * np.cos(turn), radius * np.sin(turn), color=BLACK, label="true rule")
        for loss, style, name in (
            (dc.squared_hinge(), "dotted", "squared hinge"),
            (dc.rescale(dc.squared_hinge(), ETA), "dashed", "rescaled"),
        ):
            a, b = fitted(X, y, loss)
            scores = (K @ a + b).reshape(grid.shape[:2])
            axes.contour(grid[..., 0], grid[..., 1], scores, [0], colors=RED, linestyles=style)
            axes.plot([], [], color=RED, linestyle=style, label=name)
        axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
