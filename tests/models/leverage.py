"""Data that a straight fit of all samples gets wrong."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array


def with_leverage(n: int, bad: int, d: int = 3) -> tuple[Array, Array]:
    """y = Σ_j x_j + 1 + noise, where the first samples lie far off in x and in y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X.sum(axis=1) + 1 + 0.3 * rng.standard_normal(n)
    X[:bad] += 8
    y[:bad] -= 40
    return X, y
