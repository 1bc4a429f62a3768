"""
A loss of your own
==================

A robust loss is declared: a concave function of a convex loss. The arctangent of the hinge is in
no library. ``check_loss`` tests the declaration, any estimator takes it, and ``lower_bound`` says
how much lower any other point could be.
"""

import matplotlib.pyplot as plt
import numpy as np

import dcprog as dc

arctan = dc.concave(value=np.arctan, slope=lambda t: 1 / (1 + t**2))
loss = dc.compose(arctan, dc.hinge())
dc.check_loss(loss)

rng = np.random.default_rng(0)
y = rng.choice([-1.0, 1.0], 60)
X = rng.normal(size=(60, 1)) + 1.2 * y[:, None]
X[:6] = -8 * y[:6, None]
risk = dc.Risk.from_loss(dc.binary_margins(X, y), loss, dc.l2(0.1))
result = dc.solve(risk)
w, b = np.asarray(result.x)
bound = dc.lower_bound(result, time_limit=20)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
dc.LossDisplay.from_loss(loss, at=[-1.5], name="arctan of the hinge", ax=left)
left.set_title("The loss, and a majorant at −1.5")
slopes = np.linspace(-1, 7, 400)
margins = y * (np.outer(slopes, X) + b)
values = loss(margins).sum(axis=1) + 0.05 * slopes**2
right.plot(slopes, values)
right.plot(w, result.value, "o", color="C3", label=f"found: {result.value:.3f}")
right.axhline(bound.value, color="black", linestyle=":", label=f"proved bound: {bound.value:.3f}")
right.set(xlabel="coefficient", ylabel="objective", title="The objective along the coefficient")
right.legend()

assert result.status == "converged"
assert bound.value <= result.value <= bound.value * 1.002
