"""
Logistic regression with wrong labels
=====================================

A dose and whether there was a response. Some records of high doses have lost their label. Maximum
likelihood flattens the whole curve to make those few possible: −log of a probability is
unbounded. The trimmed likelihood leaves out the 7% of the samples that fit worst.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

import dcprog as dc

rng = np.random.default_rng(3)
dose = rng.uniform(-4, 4, 400)
truth = expit(2.5 * dose)
y = (rng.random(400) < truth).astype(int)
lost = rng.choice(np.flatnonzero(dose > 2.5), 28, replace=False)
y[lost] = 0
X = dose[:, None]

plain = dc.RobustClassifier(dc.logistic(), dc.l2(1e-3)).fit(X, y)
robust = dc.RobustClassifier(dc.trim(dc.logistic(), 0.07), dc.l2(1e-3)).fit(X, y)
curves = {"maximum likelihood": plain, "trimmed likelihood": robust}
off = {
    name: np.abs(expit(model.decision_function(X)) - truth).max() for name, model in curves.items()
}

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(dose, y + rng.uniform(-0.03, 0.03, 400), ".", color="0.6", markersize=4)
out = robust.outlier_weight_ < 1e-6
ax.plot(dose[out], y[out], "x", color="black", label="left out")
grid = np.linspace(-4, 4, 300)
ax.plot(grid, expit(2.5 * grid), ":", color="black", label="truth")
for (name, model), style in zip(curves.items(), ("C1--", "C0"), strict=True):
    probability = expit(model.decision_function(grid[:, None]))
    ax.plot(grid, probability, style, label=f"{name}: off by {off[name]:.2f}")
ax.set(xlabel="dose", ylabel="probability of a response", ylim=(-0.1, 1.1))
ax.legend(loc="upper left", bbox_to_anchor=(0, 0.86))

assert off["maximum likelihood"] > 0.2
assert off["trimmed likelihood"] < 0.1
assert out[lost].mean() > 0.9
