"""
Regression with leverage
========================

A quarter of the samples lies far to the right and far below. Least squares follows them, and so
does Huber's loss, which bounds how much a residual pulls but not how long a lever it has. Tukey's
biweight is bounded: what lies far off does not count at all. Its parameter 4.685 is in units of
the good residuals' scale, which the estimator finds from the fits of many small subsets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression

import dcprog as dc

rng = np.random.default_rng(1)
x = rng.uniform(0, 4, 120)
y = 1 + 2 * x + rng.normal(scale=0.5, size=120)
x[:30], y[:30] = rng.uniform(7, 9, 30), rng.uniform(-6, -2, 30)
X = x[:, None]

tukey = dc.RobustRegressor(dc.tukey(0.5 * dc.square(), 4.685), dc.l2(0.0)).fit(X, y)
lines = {
    "least squares": LinearRegression().fit(X, y),
    "Huber": HuberRegressor().fit(X, y),
    "Tukey": tukey,
}

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(x, y, ".", color="0.5")
out = tukey.outlier_weight_ < 1e-6
ax.plot(x[out], y[out], "x", color="black", label="given up by Tukey")
ends = np.array([[0.0], [9.0]])
for (name, model), style in zip(lines.items(), ("C1--", "C2-.", "C0-"), strict=True):
    ax.plot(ends, model.predict(ends), style, label=f"{name}: slope {model.coef_.item():.2f}")
ax.set(xlabel="x", ylabel="y", ylim=(-8, 14), title="True slope 2, a quarter of leverage points")
ax.legend(loc="upper left")

assert abs(tukey.coef_.item() - 2) < 0.15
assert lines["least squares"].coef_.item() < 0
assert lines["Huber"].coef_.item() < 0
assert out[:30].all()
