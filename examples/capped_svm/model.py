"""The multiclass capped SVM by hand; used by verify_convergence.py, not run by itself.

Nie, Wang and Huang (AAAI 2017), with a smoothing δ ≥ 0:

    J_δ(W, b) = Σ_i h(g_i) + γ‖W‖²,  h(u) = min((u + δ)^{p/2}, ε),  g_i = ‖[1 − y_i∘(Wx_i + b)]₊‖²,

its weights and gradients, and the published update of W and b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dcprog.models import CappedSVC
from dcprog.risk.risk import Risk

Array = np.ndarray


@dataclass(frozen=True)
class Model:
    """J_δ on some data. A point θ stacks the rows w_1, …, w_c of W and then b_1, …, b_c."""

    X: Array
    y: Array
    p: float
    eps: float
    gamma: float
    delta: float

    @cached_property
    def signs(self) -> Array:
        """y_i ∈ {−1, +1}^c, one column for two classes."""
        classes = np.unique(self.y)
        shown = classes[1:] if classes.size == 2 else classes
        return np.where(self.y[:, None] == shown, 1.0, -1.0)

    @cached_property
    def extended(self) -> Array:
        """Rows (x_i, 1)."""
        return np.column_stack([self.X, np.ones(len(self.X))])

    @cached_property
    def unsmoothed(self) -> Model:
        """J itself, δ = 0."""
        return replace(self, delta=0.0)

    def split(self, theta: Array) -> tuple[Array, Array]:
        """W of shape (c, d) and b of shape (c,)."""
        d = self.X.shape[1]
        c = theta.size // (d + 1)
        return theta[: c * d].reshape(c, d), theta[c * d :]

    def margins(self, theta: Array) -> Array:
        """y_i∘(Wx_i + b), of shape (n, c)."""
        W, b = self.split(theta)
        return self.signs * (self.X @ W.T + b)

    def residuals(self, theta: Array) -> Array:
        """r_i = [1 − y_i∘(Wx_i + b)]₊, of shape (n, c)."""
        return np.maximum(1 - self.margins(theta), 0)

    def g(self, theta: Array) -> Array:
        """g_i = ‖r_i‖²."""
        return np.sum(self.residuals(theta) ** 2, axis=1)

    def uncapped(self, g: Array) -> Array:
        """(g + δ)^{p/2}."""
        return (g + self.delta) ** (self.p / 2)

    def h(self, g: Array) -> Array:
        """The capped losses."""
        return np.minimum(self.uncapped(g), self.eps)

    def weights(self, g: Array) -> Array:
        """d_i = h'(g_i); at the cap the left slope, beyond it 0."""
        with np.errstate(divide="ignore"):
            slope = self.p / 2 * (g + self.delta) ** (self.p / 2 - 1)
        return np.where(self.uncapped(g) <= self.eps, slope, 0.0)

    def ridge(self, theta: Array) -> float:
        """γ‖W‖²."""
        return self.gamma * float(np.sum(self.split(theta)[0] ** 2))

    def weighted(self, d: Array, theta: Array) -> float:
        """Σ d_i g_i + γ‖W‖², what a step minimises."""
        return float(d @ self.g(theta)) + self.ridge(theta)

    def value(self, theta: Array) -> float:
        """J_δ."""
        return float(np.sum(self.h(self.g(theta)))) + self.ridge(theta)

    def g_slope(self, theta: Array) -> Array:
        """∂g_i/∂(W, b): −2 (y_i∘r_i)(x_i, 1)ᵀ, of shape (n, c, d + 1)."""
        return -2 * (self.signs * self.residuals(theta))[:, :, None] * self.extended[:, None, :]

    def ridge_slope(self, theta: Array) -> Array:
        """∂γ‖W‖²/∂(W, b), of shape (c, d + 1)."""
        W, b = self.split(theta)
        return np.column_stack([2 * self.gamma * W, np.zeros_like(b)])

    def spec(self) -> Risk:
        """The library's declaration of the same function."""
        estimator = CappedSVC(p=self.p, eps=self.eps, gamma=self.gamma, delta=self.delta)
        return estimator.spec(self.X, self.y)


def published_step(model: Model, x: Array) -> Array:
    """W and b of the published closed form, one block pass with the weights of x."""
    X, Y, d = model.X, model.signs, model.weights(model.g(x))
    Z = Y + Y * np.maximum(model.margins(x) - 1, 0)
    with np.errstate(all="ignore"):
        s = np.sum(d)
        H = np.diag(d) - np.outer(d, d) / s
        gram, right = X.T @ H @ X + model.gamma * np.eye(X.shape[1]), X.T @ H @ Z
        W = np.linalg.solve(gram, right).T
        b = (Z.T @ d - W @ (X.T @ d)) / s
    return np.concatenate([W.ravel(), b])
