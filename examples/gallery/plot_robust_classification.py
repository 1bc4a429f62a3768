"""
Classification with leverage
============================

Two clouds, and a tenth of mislabelled points far out. The hinge loss grows without end, so twenty
samples outvote two hundred, and the linear SVM's boundary lies across both clouds. The ramp loss
``min((1 − u)₊, 1)`` costs no sample more than 1: it gives them up and cuts between the clouds.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(0)
y = np.repeat([1, -1], 110)
X = rng.normal(size=(220, 2)) + 1.6 * y[:, None] * [1, 0.5]
good = np.arange(220) % 11 > 0
X[~good] = -11 * y[~good, None] * [2, 1] + rng.normal(size=(20, 2))

losses = {"hinge": dc.hinge(), "capped hinge": dc.cap(dc.hinge(), 1.0)}
models = {name: dc.RobustClassifier(loss, dc.l2(0.1)).fit(X, y) for name, loss in losses.items()}
right = {name: model.score(X[good], y[good]) for name, model in models.items()}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
mesh = np.stack(np.meshgrid(np.linspace(-27, 27, 200), np.linspace(-15, 15, 100)), axis=-1)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    side = model.predict(mesh.reshape(-1, 2)).reshape(mesh.shape[:2])
    ax.contourf(*np.moveaxis(mesh, -1, 0), side, levels=[-2, 0, 2], colors=["C1", "C0"], alpha=0.15)
    for label, colour in ((1, "C0"), (-1, "C1")):
        ax.plot(*X[y == label].T, ".", color=colour, label=f"class {label:+d}")
    given_up = X[model.outlier_weight_ < 1e-6]
    ax.plot(*given_up.T, "x", color="black", label="given up")
    ax.set(title=f"{name}: {right[name]:.0%} of the clouds right", xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
axes[1].legend(loc="upper left")

assert right["hinge"] < 0.75
assert right["capped hinge"] > 0.95
assert not models["capped hinge"].outlier_weight_[~good].any()
