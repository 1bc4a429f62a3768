"""Samples inside and outside a circle, and kernel machines on them with their boundaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from examples.common.plots import BLACK, BLUE, ORANGE, RED

Array = np.ndarray
RADIUS = np.sqrt(2 * np.log(2))  # half of all samples are inside


def drawn(seed: int, n: int, noise: float = 0.1) -> tuple[Array, Array, Array]:
    """Samples, the labels of the inside and outside, and those with a share turned."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    truth = np.where(np.sum(X**2, axis=1) > 2 * np.log(2), 1.0, -1.0)
    return X, truth, np.where(rng.random(n) < noise, -truth, truth)


def gram(X: Array, Z: Array) -> Array:
    """exp(−‖x − z‖²)."""
    return np.exp(-np.sum((X[:, None] - Z) ** 2, axis=-1))


def score(X: Array, a: Array, b: float, at: Array) -> Array:
    """Σ aⱼ k(·, xⱼ) + b at points."""
    return gram(at, X) @ a + b


def scene(axes: Any, X: Array, y: Array) -> None:
    """The samples with their labels, and the circle."""
    for label, colour in ((1, BLUE), (-1, ORANGE)):
        axes.plot(*X[y == label].T, "o", color=colour, alpha=0.6, markersize=4)
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.plot(RADIUS * np.cos(turn), RADIUS * np.sin(turn), color=BLACK, label="true rule")
    axes.set(xlabel="x₁", ylabel="x₂", aspect="equal")


def boundary(axes: Any, score: Callable[[Array], Array], style: str, name: str) -> None:
    """The line where a score is 0."""
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 120), np.linspace(-3, 3, 120)), axis=-1)
    scores = score(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axes.contour(grid[..., 0], grid[..., 1], scores, [0], colors=RED, linestyles=style)
    axes.plot([], [], color=RED, linestyle=style, label=name)
