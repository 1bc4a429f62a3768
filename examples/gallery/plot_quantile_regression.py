"""
Quantile regression with leverage
=================================

Quantile regression bears any error in y, but a sample far off in x turns every quantile line.
Pinball losses capped at 3 (in units of the residuals' scale) give those samples up. The guide
``examples/guides/robust_quantiles.py`` compares more bounded losses and shows standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc
from examples.guides.robust_quantiles import drawn, true_line

levels = (0.1, 0.5, 0.9)
X, y, good = drawn()
ends = np.array([[0.0], [20.0]])
kinds = {"pinball": dc.pinball, "capped pinball": lambda tau: dc.cap(dc.pinball(tau), 3.0)}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
off = {}
for ax, (name, loss) in zip(axes, kinds.items(), strict=True):
    ax.plot(X, y, ".", color="0.6", markersize=4)
    for tau, colour in zip(levels, ("C0", "C2", "C1"), strict=True):
        line = dc.RobustRegressor(loss(tau), dc.l2(0.0)).fit(X, y)
        ax.plot(ends, line.predict(ends), color=colour, label=f"τ = {tau}")
        slope, intercept = true_line(tau)
        ax.plot(ends, slope * ends + intercept, ":", color=colour)
        difference = line.predict(X[good]) - slope * X[good, 0] - intercept
        off[name, tau] = np.mean(np.abs(difference))
    ax.set(title=f"{name}: {np.mean([off[name, tau] for tau in levels]):.2f} off", xlabel="x")
axes[0].set(ylabel="y", ylim=(-32, 60))
axes[0].legend(loc="upper left", title="dotted: the truth")

assert min(off["pinball", tau] for tau in levels) > 1
assert max(off["capped pinball", tau] for tau in levels) < 0.5
