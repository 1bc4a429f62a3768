"""
Robust PCA
==========

A 20 × 20 image of rank 2, 30% of its pixels overwritten, always to the bright side. Principal
component pursuit takes ``‖L‖* + λ Σ|M − L|``, a convex problem with a bias: wrong pixels still
pull. The capped absolute error ``min(|M − L|, c)`` does not pull at all beyond c. Started from
the convex answer, two steps recover the image exactly.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
n = 20
grid = np.linspace(-1, 1, n)
low_rank = np.outer(np.cos(3 * grid), 1 - grid**2) + 0.5 * np.outer(np.sign(grid), np.sin(3 * grid))
wrong = rng.random((n, n)) < 0.3
image = np.where(wrong, 2.0, low_rank)

L = cp.Variable((n, n))
error = cp.abs(image - L)
convex = cp.normNuc(L) + cp.sum(error) / np.sqrt(n)
cp.Problem(cp.Minimize(convex)).solve(solver=cp.CLARABEL)
pursuit = L.value
bounded = 0.5 * cp.normNuc(L) + 0.2 * cp.sum(cp.minimum(error, 1))
result = dc.solve(cp.Problem(cp.Minimize(bounded)), start={L: pursuit})
capped = result.variables[L]


def off(found: np.ndarray) -> float:
    """Relative error against the image of low rank."""
    return float(np.linalg.norm(found - low_rank) / np.linalg.norm(low_rank))


figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
pictures = {
    "measured": image,
    "truth, rank 2": low_rank,
    f"convex: error {off(pursuit):.2f}": pursuit,
    f"capped: error {off(capped):.1e}": capped,
}
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture, vmin=-1.5, vmax=2, cmap="viridis")
    ax.set_title(name)
    ax.axis("off")

assert off(capped) < 1e-3
assert off(pursuit) > 0.3
