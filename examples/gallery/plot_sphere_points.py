"""
Points on a sphere, far apart
=============================

Tammes' problem: put twelve points on the unit sphere so that the smallest distance is largest.
The answer is the icosahedron, with distance 1.0515 (Fejes Tóth 1943). ‖xᵢ‖ = 1 is a nonconvex
equality, ‖xᵢ − xⱼ‖ ≥ d a nonconvex inequality. Twelve balls of radius d/2 are a packing on the
sphere.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

n = 12
x = cp.Variable((n, 3))
d = cp.Variable()
pairs = [(i, j) for i in range(n) for j in range(i)]
constraints = [cp.norm(x[i] - x[j]) >= d for i, j in pairs]
constraints += [cp.norm(x[i]) == 1 for i in range(n)]
problem = cp.Problem(cp.Maximize(d), constraints)
result = dc.solve(problem, start="random", n_starts=2, random_state=0)

points = result.variables[x]
icosahedron = 4 / np.sqrt(10 + 2 * np.sqrt(5))
distances = {(i, j): np.linalg.norm(points[i] - points[j]) for i, j in pairs}

figure = plt.figure(figsize=(5.5, 5), layout="constrained")
ax = figure.add_subplot(projection="3d")
for (i, j), distance in distances.items():
    if distance < 1.01 * result.value:
        ax.plot(*points[[i, j]].T, color="C0", alpha=0.6)
ax.scatter(*points.T, s=60, color="C1", depthshade=True)
ax.set_box_aspect((1, 1, 1), zoom=1.4)
figure.suptitle(f"d = {result.value:.5f}, icosahedron {icosahedron:.5f}")
ax.set_axis_off()

assert abs(result.value - icosahedron) < 1e-4
assert sum(distance < 1.01 * result.value for distance in distances.values()) == 30
