"""
Trend filtering with outliers
=============================

A piecewise linear trend, found by ``min Σ loss(yₜ − xₜ) + λ Σ |xₜ₊₁ − 2xₜ + xₜ₋₁|``. Bursts of
outliers, several in a row and on one side, pull the convex absolute loss along. Capped, each
costs the same wherever it lies.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
n = 200
truth = np.interp(np.arange(n), [0, 50, 90, 140, 199], [0, 6, 2, 2, 9])
y = truth + 0.3 * rng.normal(size=n)
out = np.r_[18:32, 62:76, 108:126, 156:172]
y[out] += 6 + rng.normal(size=out.size)

x = cp.Variable(n)
bends = 20 * cp.norm1(cp.diff(x, 2))
residual = cp.abs(y - x)
cp.Problem(cp.Minimize(cp.sum(residual) + bends)).solve(solver=cp.CLARABEL)
convex = x.value
result = dc.solve(cp.Problem(cp.Minimize(cp.sum(cp.minimum(residual, 1)) + bends)))
capped = result.variables[x]
errors = {
    name: np.sqrt(np.mean((trend - truth) ** 2))
    for name, trend in (("absolute", convex), ("capped absolute", capped))
}

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(y, ".", color="0.6", markersize=4)
ax.plot(truth, ":", color="black", label="truth")
ax.plot(convex, "C1--", label=f"absolute: error {errors['absolute']:.2f}")
ax.plot(capped, "C0", label=f"capped absolute: error {errors['capped absolute']:.2f}")
ax.set(xlabel="time")
ax.legend(loc="upper left")

assert errors["capped absolute"] < 0.2
assert errors["absolute"] > 3 * errors["capped absolute"]
