"""Generalized cross-entropy (1 − p^q)/q (Zhang, Sabuncu 2018, NeurIPS 31, arXiv 1805.07836).

With p the probability of the given label and the logistic loss t = −log p, the loss is
(1 − e^{−qt})/q, a concave function of a convex loss: cross-entropy for q → 0, 1 − p for q = 1.

Run ``python -m examples.later_papers.generalized_cross_entropy --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

import dcprog as dc
from examples.common.claims import Claim, greater
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
Q = 0.7  # the paper's
SEEDS = range(20)


def declare(X: Array, y: Array, q: float, strength: float = 1e-3) -> dc.Risk:
    """Mean of (1 − p^q)/q over samples with labels ±1, and a ridge penalty."""
    bounded = dc.concave(lambda t: -np.expm1(-q * t) / q, slope=lambda t: np.exp(-q * t))
    loss = dc.compose(bounded, dc.logistic())
    share = np.full(y.size, 1 / y.size)
    return dc.Risk.from_loss(dc.binary_margins(X, y), loss, dc.l2(strength), share)


def reference(X: Array, y: Array, q: float, theta: Array, strength: float = 1e-3) -> float:
    """The same, sample by sample."""
    w, b = theta[:-1], theta[-1]
    p = [expit(label * (x @ w + b)) for x, label in zip(X, y, strict=True)]
    return float(np.mean([(1 - one**q) / q for one in p]) + strength / 2 * w @ w)


def drawn(seed: int, n: int = 200, noise: float = 0.4) -> tuple[Array, Array, Array]:
    """Samples of a linear rule in 5 features, their labels, and those with a share turned."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
    return X, y, np.where(rng.random(n) < noise, -y, y)


def outside_bounds(q: float) -> float:
    """How far Σ over both labels of the loss leaves [(2 − 2^{1−q})/q, 1/q]."""
    u = np.linspace(-30, 30, 6001)
    loss = declare(np.ones((2, 1)), np.array([-1.0, 1.0]), q)
    total = loss.transform(np.logaddexp(0, -u)) + loss.transform(np.logaddexp(0, u))
    return float(max((2 - 2 ** (1 - q)) / q - total.min(), total.max() - 1 / q))


def accuracy(seed: int, q: float) -> float:
    """Share of the true labels that a fit to the turned ones gets right; q = 0 is cross-entropy."""
    X, truth, turned = drawn(seed)
    risk = declare(X, turned, q) if q else plain(X, turned)
    theta = dc.solve(risk, random_state=seed).x
    assert theta is not None
    return float(np.mean(np.sign(X @ theta[:-1] + theta[-1]) == truth))


def plain(X: Array, y: Array, strength: float = 1e-3) -> dc.Risk:
    """Cross-entropy with the same penalty."""
    share = np.full(y.size, 1 / y.size)
    return dc.Risk.from_loss(dc.binary_margins(X, y), dc.logistic(), dc.l2(strength), share)


def check() -> list[Claim]:
    off = max(outside_bounds(q) for q in (0.1, 0.4, Q, 1.0))
    gains = np.array([accuracy(seed, Q) - accuracy(seed, 0.0) for seed in SEEDS])
    return [
        Claim(
            "the losses of both labels add up to (2 − 2^{1−q})/q … 1/q",
            f"outside by {off:.1e}",
            off < 1e-9,
        ),
        greater(
            "under 40% uniform noise it beats cross-entropy (here: a linear model), points",
            mean_of(gains),
            0.0,
            expected=None,
        ),
    ]


def draw(folder: Path) -> None:
    u = np.linspace(-6, 4, 400)
    with plotted(folder, "generalized_cross_entropy") as axes:
        axes.plot(u, np.logaddexp(0, -u), color=BLACK, label="cross-entropy, q → 0")
        for q, colour in ((0.3, GREEN), (Q, BLUE), (1.0, ORANGE)):
            loss = declare(np.ones((2, 1)), np.array([-1.0, 1.0]), q).transform
            axes.plot(u, loss(np.logaddexp(0, -u)), color=colour, label=f"q = {q:g}")
        axes.set(xlabel="margin y·f(x), logits", ylabel="loss, nats")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
