"""
A path around obstacles
=======================

The shortest path from the lower left to the upper right that keeps out of six discs. "Outside" is
‖xₜ − cⱼ‖ ≥ rⱼ, convex on the wrong side of the inequality. Steps are at most a given length; the
objective is the sum of their lengths. The straight line, the convex answer, runs through two
discs.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

steps = 40
centres = np.array([[2.4, 2.0], [5.0, 5.4], [7.6, 7.0], [4.6, 1.6], [2.2, 5.6], [7.8, 3.6]])
radii = np.array([1.1, 1.5, 1.0, 0.9, 1.2, 1.3])
first, last = np.zeros(2), np.full(2, 10.0)

x = cp.Variable((steps + 1, 2))
lengths = cp.norm(x[1:] - x[:-1], axis=1)
ends = [x[0] == first, x[-1] == last, lengths <= 1.2 * np.linalg.norm(last - first) / steps]
outside = [
    cp.norm(x - np.tile(centre, (steps + 1, 1)), axis=1) >= radius
    for centre, radius in zip(centres, radii, strict=True)
]
shortest = cp.Problem(cp.Minimize(cp.sum(lengths)), ends + outside)
result = dc.solve(shortest, random_state=0)
path = result.variables[x]
straight = np.linspace(first, last, steps + 1)


def clearance(points: np.ndarray) -> float:
    """The least distance of the points from any disc; negative inside."""
    distances = np.linalg.norm(points[:, None] - centres, axis=2) - radii
    return float(distances.min())


figure, ax = plt.subplots(figsize=(5.2, 5), layout="constrained")
for centre, radius in zip(centres, radii, strict=True):
    ax.add_patch(plt.Circle(tuple(centre), radius, color="0.8"))
ax.plot(*straight.T, "C1--", label="straight line: not allowed")
ax.plot(*path.T, "C0.-", label=f"found: length {result.value:.2f}")
ax.plot(*np.stack([first, last]).T, "ks")
ax.set(aspect="equal", xlim=(-0.5, 10.5), ylim=(-0.5, 10.5))
ax.legend(loc="upper left")

assert clearance(straight) < -0.5
assert clearance(path) > -1e-5
assert result.value < 1.06 * np.linalg.norm(last - first)
