"""
Power control
=============

Eight radio links disturb one another. Their rates log(1 + gᵢᵢpᵢ / (σ + Σ gᵢⱼpⱼ)) add up to a
function of the powers that is neither convex nor concave: at full power everybody drowns the
others. The problem is written as it stands. With powers on or off the best of all 256 choices is
known by enumeration; the loop may also choose powers between.
"""

from itertools import product

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(1)
n, noise = 8, 0.05
senders = rng.uniform(0, 4, size=(n, 2))
receivers = senders + rng.normal(scale=0.5, size=(n, 2))
gain = 1 / (0.1 + np.linalg.norm(receivers[:, None] - senders, axis=2) ** 3)
own, cross = np.diag(gain), gain - np.diag(np.diag(gain))

power = cp.Variable(n, nonneg=True)
rates = [cp.log(1 + own[i] * power[i] / (noise + cross[i] @ power)) for i in range(n)]
problem = cp.Problem(cp.Maximize(sum(rates)), [power <= 1])
result = dc.solve(problem)


def rate(p: np.ndarray) -> np.ndarray:
    """The links' rates at powers p."""
    return np.log1p(own * p / (noise + cross @ p))


best_switch = max((np.array(p) for p in product((0.0, 1.0), repeat=n)), key=lambda p: rate(p).sum())
choices = {
    "full power": np.ones(n),
    "best on/off of 256": best_switch,
    "found": result.variables[power],
}

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, p) in zip(axes, choices.items(), strict=True):
    ax.bar(np.arange(n) - 0.2, p, 0.4, label="power")
    ax.bar(np.arange(n) + 0.2, rate(p) / 4, 0.4, label="rate / 4")
    ax.set(title=f"{name}: {rate(p).sum():.2f}", xlabel="link", xticks=range(n))
axes[0].set_ylim(0, 1.2)
axes[0].legend(ncols=2, loc="upper center")

assert result.value >= rate(best_switch).sum() - 1e-4
assert result.value > 1.3 * rate(np.ones(n)).sum()
