"""
A polynomial kernel under leverage
==================================

A disc within a ring, and 15 points far out that are labelled as the disc's. In a polynomial
kernel far points have a long lever: they turn the SVM's ellipse into something else. A capped
hinge gives them up, with the same kernel and the same penalty.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 215)
radius = np.where(np.arange(215) < 100, rng.uniform(0, 1, 215), rng.uniform(1.5, 2.5, 215))
y = np.where(np.arange(215) < 100, 1, -1)
good = np.arange(215) < 200
angle[~good], radius[~good], y[~good] = np.linspace(0, 6, 15), rng.uniform(5, 6, 15), 1
X = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)

losses = {"hinge": dc.hinge(), "capped hinge": dc.cap(dc.hinge(), 1.0)}
models = {
    name: dc.RobustClassifier(loss, dc.l2(0.1), kernel="poly", degree=2, coef0=1.0).fit(X, y)
    for name, loss in losses.items()
}
right = {name: model.score(X[good], y[good]) for name, model in models.items()}

figure, axes = plt.subplots(1, 2, figsize=(9, 4.3), sharey=True, layout="constrained")
mesh = np.stack(np.meshgrid(np.linspace(-7, 7, 200), np.linspace(-6.5, 6.5, 200)), axis=-1)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    side = model.predict(mesh.reshape(-1, 2)).reshape(mesh.shape[:2])
    ax.contourf(*np.moveaxis(mesh, -1, 0), side, levels=[-2, 0, 2], colors=["C1", "C0"], alpha=0.15)
    for label, colour in ((1, "C0"), (-1, "C1")):
        ax.plot(*X[y == label].T, ".", color=colour)
    ax.plot(*X[model.outlier_weight_ < 1e-6].T, "x", color="black", label="given up")
    ax.set(title=f"{name}: {right[name]:.0%} right", xlabel="$x_1$", aspect="equal")
axes[0].set_ylabel("$x_2$")
axes[1].legend(loc="lower right")

assert right["capped hinge"] > 0.97
assert right["hinge"] < 0.75
