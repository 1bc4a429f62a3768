"""
Clustering with outliers
========================

k-means is min Σᵢ minₖ ‖xᵢ − cₖ‖², a minimum of convex functions, so it can be written as it
stands. And once it is written, it can be changed: capped at 2 no point costs more, and a tenth of
stray points no longer draws centres away. k-means spends a centre on them.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import dcprog as dc

rng = np.random.default_rng(0)
truth = np.array([[0.0, 0.0], [4.0, 0.5], [1.5, 3.5]])
X = np.concatenate([centre + 0.5 * rng.normal(size=(30, 2)) for centre in truth])
stray = np.array([12.0, 9.0]) + rng.normal(size=(9, 2))
X = np.concatenate([X, stray])

centres = [cp.Variable(2) for _ in truth]
squares = [
    cp.sum(cp.square(X - np.ones((len(X), 1)) @ cp.reshape(c, (1, 2), order="C")), axis=1)
    for c in centres
]
nearest = cp.minimum(*squares, 2.0)
result = dc.solve(cp.Problem(cp.Minimize(cp.sum(nearest))), n_starts=10, random_state=0)
found = np.array([result.variables[c] for c in centres])
means = KMeans(3, n_init=10, random_state=0).fit(X).cluster_centers_


def off(answer: np.ndarray) -> float:
    """Distance of the farthest true centre from its nearest answer."""
    return float(np.linalg.norm(truth[:, None] - answer, axis=2).min(axis=1).max())


figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, answer, name in zip(axes, (means, found), ("k-means", "capped"), strict=True):
    nearest_to = np.linalg.norm(X[:, None] - answer, axis=2).argmin(axis=1)
    for k in range(3):
        ax.plot(*X[nearest_to == k].T, ".", color=f"C{k}", alpha=0.6)
    ax.plot(*answer.T, "k*", markersize=13)
    ax.set(title=f"{name}: farthest true centre {off(answer):.2f} away", aspect="equal")

assert off(found) < 0.3
assert off(means) > 1
