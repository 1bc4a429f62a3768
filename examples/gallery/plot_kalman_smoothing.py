"""
Tracking with outliers
======================

Position and velocity of a vehicle from positions measured with noise; a fifth of the measurements
are wrong by far. Kalman smoothing is least squares in states and driving noise. Huber's norm, as
in cvxpy's example, bears some outliers; capped squares leave them out.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

rng = np.random.default_rng(6)
n, dt = 100, 0.1
drive = 2 * np.stack([np.sin(np.arange(n) * 0.11), np.cos(np.arange(n) * 0.08)], axis=1)
velocity = np.cumsum(dt * drive, axis=0)
position = np.cumsum(dt * velocity, axis=0)
measured = position + 0.05 * rng.normal(size=(n, 2))
out = rng.random(n) < 0.2
measured[out] += np.array([1.5, -1.5]) + rng.normal(size=(out.sum(), 2))

p, v, u = cp.Variable((n, 2)), cp.Variable((n, 2)), cp.Variable((n - 1, 2))
motion = [v[1:] == v[:-1] + dt * u, p[1:] == p[:-1] + dt * v[1:]]
effort = 1e-3 * cp.sum_squares(u)
distance = cp.norm(p - measured, axis=1)
losses = {
    "least squares": cp.sum_squares(distance),
    "Huber": cp.sum(cp.huber(distance, 0.1)),
    "capped": cp.sum(cp.minimum(cp.square(distance), 0.05)),
}
tracks = {}
for name, loss in losses.items():
    dc.solve(cp.Problem(cp.Minimize(loss + effort), motion))
    tracks[name] = p.value
errors = {
    name: np.sqrt(np.mean(np.sum((track - position) ** 2, axis=1)))
    for name, track in tracks.items()
}

figure, axes = plt.subplots(3, 1, figsize=(7, 7.5), sharex=True, sharey=True, layout="constrained")
for ax, (name, track) in zip(axes, tracks.items(), strict=True):
    ax.plot(*measured.T, ".", color="0.7", markersize=4, label="measured")
    ax.plot(*position.T, ":", color="black", label="true track")
    ax.plot(*track.T, "C0", label="smoothed")
    ax.set(title=f"{name}: error {errors[name]:.3f}", aspect="equal", ylabel="y, length")
axes[-1].set(xlabel="x, length")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)

assert errors["capped"] < 0.05
assert errors["capped"] < 0.6 * errors["Huber"] < 0.6 * errors["least squares"]
