"""
Least trimmed squares on a star cluster
=======================================

Light and surface temperature of the 47 stars of CYG OB1 (Rousseeuw and Leroy 1987). Four are
giants: cool and bright, off the main sequence. They turn the least squares line until it *falls*.
Least trimmed squares minimises the sum of the smaller half of the squared residuals.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

from dcprog.models import LeastTrimmedSquares
from examples.common.regression_sets import STARS_CYG

temperature, light = np.array(STARS_CYG.split(), dtype=float).reshape(-1, 2).T
X = temperature[:, None]
giant = temperature < 3.6

squares = LinearRegression().fit(X, light)
trimmed = LeastTrimmedSquares().fit(X, light)
out = trimmed.outlier_weight_ < 1e-6

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(temperature, light, ".", color="0.5")
ax.plot(temperature[out], light[out], "x", color="black", markersize=8, label="given up")
ends = np.array([[3.4], [4.7]])
ax.plot(ends, squares.predict(ends), "C1--", label=f"least squares: {squares.coef_[0]:.2f}")
ax.plot(ends, trimmed.predict(ends), "C0", label=f"least trimmed squares: {trimmed.coef_[0]:.2f}")
ax.set(xlim=(4.7, 3.4), ylim=(3.5, 6.6))  # astronomers' axis: hot stars on the left
ax.set(xlabel="log temperature", ylabel="log light", title="The star cluster CYG OB1")
ax.legend(loc="upper center")

assert squares.coef_[0] < 0
assert trimmed.coef_[0] > 2
assert out[giant].all()
assert out.mean() < 0.25
