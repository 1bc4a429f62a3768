"""
Circle packing
==============

Ten equal circles in the smallest square. The optimum is known: with radius 1 the square's side is
6.7474 (Markót and Csendes proved it for up to 30 circles by interval arithmetic). Left what the
convex start makes of it, right the best of the race.
"""

import cvxpy as cp
import matplotlib.pyplot as plt

import dcprog as dc

KNOWN = 6.747441523
n = 10
centres = cp.Variable((n, 2))
apart = [cp.norm(centres[i] - centres[j]) >= 2 for i in range(n) for j in range(i)]
side = 2 * (cp.max(cp.abs(centres)) + 1)
problem = cp.Problem(cp.Minimize(side), apart)

plain = dc.solve(problem, start="convex", n_starts=1)
best = dc.solve(problem, n_starts=12, random_state=0)

figure, axes = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for ax, result, name in zip(axes, (plain, best), ("one start", "twelve starts"), strict=True):
    half = result.value / 2
    for centre in result.variables[centres]:
        ax.add_patch(plt.Circle(tuple(centre), 1, facecolor="C0", edgecolor="C0", alpha=0.4))
    ax.add_patch(plt.Rectangle((-half, -half), 2 * half, 2 * half, fill=False))
    ax.set(xlim=(-4, 4), ylim=(-4, 4), aspect="equal")
    ax.set_title(f"{name}: side {result.value:.4f}")
    ax.axis("off")

assert best.violation < 1e-6
assert best.value < KNOWN * 1.001
