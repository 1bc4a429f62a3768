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
from functools import partial
from pathlib import Path

import numpy as np

import dcprog as dc
from examples.common.claims import Claim, at_most, greater, own
from examples.common.plots import plotted
from examples.later_papers.circle import boundary, drawn, gram, scene, score
from examples.later_papers.script import mean_of, run

Array = np.ndarray
ETA = 0.5
SEEDS = range(10, 50)
N = 120  # samples of a draw


def declare(K: Array, y: Array, loss: dc.Loss, strength: float = 1.0) -> dc.Risk:
    """Σ loss of the margins of f = Σ aⱼ k(·, xⱼ) + b, and (strength/2)·a'Ka."""
    return dc.Risk.from_loss(dc.kernel_margins(K, y), loss, dc.l2(strength))


def reference(K: Array, y: Array, eta: float, a: Array, b: float, strength: float = 1.0) -> float:
    """The objective of the rescaled squared hinge, sample by sample."""
    slacks = [max(1 - label * (k @ a + b), 0) for k, label in zip(K, y, strict=True)]
    losses = [(1 - np.exp(-eta * t**2)) / (1 - np.exp(-eta)) for t in slacks]
    return float(sum(losses) + strength / 2 * a @ K @ a)


def fitted(X: Array, y: Array, loss: dc.Loss) -> tuple[Array, float]:
    """a and b."""
    risk = declare(gram(X, X), y, loss)
    theta = dc.solve(risk, random_state=0).x
    assert theta is not None
    return risk.rows.dual_coef(theta).ravel(), float(theta[-1])


def accuracy(seed: int, loss: dc.Loss) -> float:
    """Share of fresh samples with the right label, after a fit to turned labels."""
    X, _, turned = drawn(seed, N)
    fresh, truth, _ = drawn(seed + 1000, n=1000)
    a, b = fitted(X, turned, loss)
    return float(np.mean(np.sign(score(X, a, b, fresh)) == truth))


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
    X, _, y = drawn(0, N)
    losses = {"squared hinge": dc.squared_hinge(), "rescaled": dc.rescale(dc.squared_hinge(), ETA)}
    with plotted(folder, "rescaled_squared_hinge") as axes:
        scene(axes, X, y)
        for (name, loss), style in zip(losses.items(), ("dotted", "dashed"), strict=True):
            boundary(axes, partial(score, X, *fitted(X, y, loss)), style, name)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
