"""
Sparse principal component
==========================

maximise x'Sx − λ Σ √|xⱼ| subject to ‖x‖ ≤ 1: a convex function is maximised, and the penalty is
concave. Of 30 variables eight share a factor. The ordinary first component mixes in all the
others.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
truth = np.zeros(30)
truth[4:12] = [1, -1, 1, 1, -1, 1, -1, 1]
samples = rng.normal(size=(60, 1)) * truth * 0.7 + rng.normal(size=(60, 30))
S = np.cov(samples.T)

x = cp.Variable(30)
variance = cp.quad_form(x, cp.psd_wrap(S))
penalty = 0.5 * cp.sum(cp.sqrt(cp.abs(x)))
result = dc.solve(cp.Problem(cp.Maximize(variance - penalty), [cp.norm(x) <= 1]))
sparse = result.variables[x]
dense = np.linalg.eigh(S)[1][:, -1]

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
unit = truth / np.linalg.norm(truth)
for ax, found, name in zip(axes, (dense, sparse), ("PCA", "ℓ½-penalised"), strict=True):
    sign = np.sign(found @ unit)
    cosine = abs(found @ unit) / np.linalg.norm(found)
    ax.bar(np.arange(30), sign * found, color=np.where(truth, "C0", "C1"))
    ax.plot(np.arange(30), unit, "k_", markersize=8)
    ax.set(title=f"{name}: cosine with the truth {cosine:.3f}", xlabel="variable")
axes[0].set_ylabel("loading (dash: truth)")

support = np.flatnonzero(np.abs(sparse) > 1e-4)
assert set(support) == set(range(4, 12))
assert abs(sparse @ unit) > 0.97 > abs(dense @ unit)
