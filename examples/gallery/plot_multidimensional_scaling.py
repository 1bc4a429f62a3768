"""
Multidimensional scaling with wrong distances
=============================================

Twenty places from the distances between them, a twelfth of which are wrong by far. Stress,
``Σ (‖xᵢ − xⱼ‖ − dᵢⱼ)²``, is not convex; neither is the capped ``Σ min(|‖xᵢ − xⱼ‖ − dᵢⱼ|, 1)``,
which leaves wrong distances out. Classical scaling, eigenvectors of squared distances, is where
stress starts, and the map of least stress is where the capped error does.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes

import dcprog as dc

rng = np.random.default_rng(0)
n = 20
places = rng.uniform(0, 5, size=(n, 2))
i, j = np.triu_indices(n, 1)
distance = np.linalg.norm(places[i] - places[j], axis=1) + 0.02 * rng.normal(size=i.size)
distance[rng.choice(i.size, i.size // 12, replace=False)] += 4

table = np.zeros((n, n))
table[i, j] = table[j, i] = distance**2
centring = np.eye(n) - 1 / n
values, vectors = np.linalg.eigh(-centring @ table @ centring / 2)
classical = vectors[:, -2:] * np.sqrt(values[-2:])

x = cp.Variable((n, 2))
error = cp.norm(x[i] - x[j], axis=1) - distance
stress = dc.solve(cp.Problem(cp.Minimize(cp.sum_squares(error))), start={x: classical})
capped = cp.sum(cp.minimum(cp.abs(error), 1))
robust = dc.solve(cp.Problem(cp.Minimize(capped)), start={x: stress.variables[x]})


def moved(map_: np.ndarray) -> np.ndarray:
    """The map turned, mirrored and shifted onto the places."""
    centred = map_ - map_.mean(axis=0)
    target = places - places.mean(axis=0)
    return centred @ orthogonal_procrustes(centred, target)[0] + places.mean(axis=0)


maps = {"classical": classical, "stress": stress.variables[x], "capped": robust.variables[x]}
off = {name: np.linalg.norm(moved(m) - places, axis=1).mean() for name, m in maps.items()}
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.5), sharey=True, layout="constrained")
for ax, (name, map_) in zip(axes, maps.items(), strict=True):
    ax.plot(*places.T, "o", fillstyle="none", markersize=9, color="0.4")
    ax.plot(*moved(map_).T, "x", color="C0")
    ax.set(title=f"{name}: {off[name]:.3f} off", aspect="equal", xlim=(-2.5, 6.5), ylim=(-2.5, 6.5))

assert off["capped"] < 0.05
assert off["capped"] < 0.2 * min(off["stress"], off["classical"])
