"""Taylor cross-entropy (Feng, Shu, Lin, Lv, Li, An 2020, IJCAI, pages 2206–2212).

Σ_{i ≤ order} (1 − p)^i/i, the series of −log p cut off: 1 − p (half the absolute error) at order 1,
cross-entropy at ∞. In the logistic loss t = −log p its slope is 1 − (1 − e^{−t})^order, which
falls, so that it is a concave function of a convex loss.

The last layer of a network is fitted here: features are those of a random layer, enough of them to
fit wrong labels.

Run ``python -m examples.later_papers.taylor_cross_entropy --output folder`` for a figure.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

import dcprog as dc
from examples.common.claims import Claim, at_most, greater
from examples.common.plots import BLACK, BLUE, GREEN, ORANGE, plotted
from examples.later_papers.script import mean_of, run

Array = np.ndarray
ORDER = 2
SEEDS = range(10, 50)


def taylor(order: int) -> dc.Loss:
    """Σ_{i ≤ order} (1 − p)^i/i of the probability p = 1/(1 + e^{−m}) at margin m."""
    powers = range(1, order + 1)
    value = lambda t: sum((-np.expm1(-t)) ** i / i for i in powers)  # noqa: E731
    return dc.compose(dc.concave(value, lambda t: 1 - (-np.expm1(-t)) ** order), dc.logistic())


def declare(X: Array, y: Array, loss: dc.Loss, strength: float = 1e-5) -> dc.Risk:
    """Mean loss over samples with labels ±1, and a ridge penalty."""
    share = np.full(y.size, 1 / y.size)
    return dc.Risk.from_loss(dc.binary_margins(X, y), loss, dc.l2(strength), share)


def reference(X: Array, y: Array, order: int, theta: Array, strength: float = 1e-5) -> float:
    """The same, sample by sample."""
    w, b = theta[:-1], theta[-1]
    wrong = [1 - expit(label * (x @ w + b)) for x, label in zip(X, y, strict=True)]
    losses = [sum(q**i / i for i in range(1, order + 1)) for q in wrong]
    return float(np.mean(losses) + strength / 2 * w @ w)


def drawn(seed: int, n: int = 200, hidden: int = 100) -> tuple[Array, Array, Array]:
    """Features of a random layer, true labels inside and outside a circle, and 40% turned."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2))
    H = np.maximum(Z @ rng.standard_normal((2, hidden)) + rng.standard_normal(hidden), 0)
    truth = np.where(np.sum(Z**2, axis=1) > 2 * np.log(2), 1.0, -1.0)  # half of them
    return H / np.sqrt(hidden), truth, np.where(rng.random(n) < 0.4, -truth, truth)


def accuracy(seed: int, loss: dc.Loss) -> float:
    """Share of the true labels that a fit to the turned ones gets right."""
    H, truth, turned = drawn(seed)
    theta = dc.solve(declare(H, turned, loss), start="convex", n_starts=1).x
    assert theta is not None
    return float(np.mean(np.sign(H @ theta[:-1] + theta[-1]) == truth))


def outside_bounds(order: int) -> float:
    """How far Σ over both labels leaves [2 Σ 2^{−i}/i, Σ 1/i]."""
    i = np.arange(1, order + 1)
    m = np.linspace(-30, 30, 6001)
    total = taylor(order)(m) + taylor(order)(-m)
    return float(max((2 * 0.5**i / i).sum() - total.min(), total.max() - (1 / i).sum()))


def check() -> list[Claim]:
    m = np.linspace(-3, 10, 500)
    rest = np.abs(taylor(400)(m) - dc.logistic()(m)).max()
    halves = np.abs(taylor(1)(m) - (1 - expit(m))).max()
    gains = np.array([accuracy(s, taylor(ORDER)) - accuracy(s, dc.logistic()) for s in SEEDS])
    return [
        at_most("order 1 is 1 − p, order ∞ cross-entropy", float(max(rest, halves)), 1e-9),
        at_most(
            "the losses of both labels add up to between 2Σ2^{−i}/i and Σ1/i",
            max(outside_bounds(order) for order in (1, 2, 6)),
            1e-9,
        ),
        greater(
            f"under 40% uniform noise order {ORDER} beats cross-entropy (a last layer), points",
            mean_of(gains),
            0.0,
        ),
    ]


def draw(folder: Path) -> None:
    m = np.linspace(-6, 4, 400)
    with plotted(folder, "taylor_cross_entropy") as axes:
        axes.plot(m, dc.logistic()(m), color=BLACK, label="cross-entropy, order ∞")
        for order, colour in ((6, GREEN), (2, BLUE), (1, ORANGE)):
            axes.plot(m, taylor(order)(m), color=colour, label=f"order {order}")
        axes.set(xlabel="margin y·f(x), logits", ylabel="loss, nats")
        axes.legend()


def main(argv: Sequence[str] | None = None) -> int:
    return run(__doc__, check, draw, SEEDS, argv)


if __name__ == "__main__":
    sys.exit(main())
