"""
Three classes with outliers
===========================

Three clouds, and in each a few samples that belong to another one, far out. All three scores are
fitted at once: classes are the corners of a triangle, and a sample's margins are inner products
with them (angle coding). Capping the hinge at 1.5 keeps the regions where the clouds are.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(2)
centres = 2.2 * dc.simplex_vertices(3)
y = np.repeat([0, 1, 2], 70)
X = centres[y] + rng.normal(scale=0.8, size=(210, 2))
good = np.arange(210) % 70 >= 10
X[~good] = 6 * centres[(y[~good] + 1) % 3] + rng.normal(size=(30, 2))

losses = {"hinge": dc.hinge(), "capped hinge": dc.cap(dc.hinge(), 1.5)}
models = {name: dc.RobustClassifier(loss, dc.l2(0.1)).fit(X, y) for name, loss in losses.items()}
right = {name: model.score(X[good], y[good]) for name, model in models.items()}

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
mesh = np.stack(np.meshgrid(*2 * [np.linspace(-16, 16, 250)]), axis=-1)
levels, colours = [-0.5, 0.5, 1.5, 2.5], ["C0", "C1", "C2"]
for ax, (name, model) in zip(axes, models.items(), strict=True):
    region = model.predict(mesh.reshape(-1, 2)).reshape(mesh.shape[:2])
    ax.contourf(*np.moveaxis(mesh, -1, 0), region, levels=levels, colors=colours, alpha=0.15)
    for label, colour in enumerate(colours):
        ax.plot(*X[y == label].T, ".", color=colour)
    ax.set(title=f"{name}: {right[name]:.0%} of the clouds right", xlabel="$x_1$", aspect="equal")
axes[0].set_ylabel("$x_2$")

assert right["capped hinge"] > 0.95
assert right["capped hinge"] > right["hinge"] + 0.1
