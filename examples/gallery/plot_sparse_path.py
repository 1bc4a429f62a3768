"""
Paths of sparse regressions
===========================

Six of 100 coefficients are not zero. The Lasso shrinks what it keeps, so it must choose between
bias (large λ) and false discoveries (small λ). MCP is concave: it stops shrinking large
coefficients, and there is a λ at which it has the support and no bias. ``penalty_path`` goes
through the λ from warm starts.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 100))
truth = np.zeros(100)
truth[:6] = [3, -2, 1.5, -1.5, 1, -1]
y = X @ truth + 0.4 * rng.normal(size=80)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
best = {}
penalties = {"Lasso": dc.l1(1.0), "MCP": dc.mcp(1.0, gamma=3.0)}
for ax, (name, penalty) in zip(axes, penalties.items(), strict=True):
    X_unit = X / np.linalg.norm(X, axis=0)
    path = dc.penalty_path(X_unit, y, 0.5 * dc.square(), penalty, n_lambdas=40, fit_intercept=False)
    coefs = path.coefs.T / np.linalg.norm(X, axis=0)
    errors = np.linalg.norm(coefs - truth, axis=1)
    best[name] = coefs[errors.argmin()]
    relative = path.lambdas / path.lambdas.max()
    ax.semilogx(relative, coefs[:, 6:], color="0.75", linewidth=0.8)
    ax.semilogx(relative, coefs[:, :6])
    ax.plot(np.full(6, 1.15), truth[:6], "k<", clip_on=False, markersize=5)
    ax.axvline(relative[errors.argmin()], color="black", linestyle=":")
    found = np.count_nonzero(best[name])
    ax.set(title=f"{name}: error {errors.min():.2f} with {found} coefficients", xlabel="λ / λ_max")
axes[0].set_ylabel("coefficients (grey: true zeros)")

assert set(np.flatnonzero(best["MCP"])) == set(range(6))
assert np.count_nonzero(best["Lasso"]) > 12
assert 2 * np.linalg.norm(best["MCP"] - truth) < np.linalg.norm(best["Lasso"] - truth)
