"""Regressions with as many outliers as one likes: breakdown, equivariance, efficiency."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from examples.common.claims import Difference

Array = np.ndarray


def clean_regression(n: int, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Normal features and errors, all coefficients 1."""
    X = rng.standard_normal((n, d))
    return X, X.sum(axis=1) + rng.standard_normal(n)


def contaminated(X: Array, y: Array, count: int, size: float) -> Iterator[tuple[Array, Array]]:
    """The data with their first samples moved far off: in y, in x and y, and onto a plane."""
    for leverage, target in ((0.0, size), (size, -size), (size, size**2)):
        bad, wrong = X.copy(), y.copy()
        bad[:count] += leverage * np.arange(1, X.shape[1] + 1)
        wrong[:count] = target
        yield bad, wrong


def movement(model: Any, X: Array, y: Array, count: int, size: float) -> float:
    """How far outliers carry coefficients and intercept, over the arrangements tried."""
    usual = _theta(model.fit(X, y))
    moved = (_theta(model.fit(*data)) - usual for data in contaminated(X, y, count, size))
    return max(float(np.linalg.norm(way)) for way in moved)


def _theta(model: Any) -> Array:
    return np.append(model.coef_, model.intercept_)


def equivariance(model: Any, X: Array, y: Array, rng: np.random.Generator) -> float:
    """How far fits of y → ay + Xv + c and of X → XB + c are from the rule, relative to them."""
    d = X.shape[1]
    usual = model.fit(X, y).coef_
    a, v, B = -3e4, rng.standard_normal(d), rng.standard_normal((d, d))
    mapped = (model.fit(X, a * y + X @ v + 8e5).coef_ - v) / a
    turned = B @ model.fit(X @ B + 100.0, y).coef_
    return float(max(np.abs(mapped - usual).max(), np.abs(turned - usual).max()))


def efficiency(
    fits: dict[str, Callable[[Array, Array], Array]], n: int, d: int, repeats: int
) -> dict[str, Difference]:
    """Mean squared errors of least squares over those of others, errors being normal."""
    errors: dict[str, list[float]] = {name: [] for name in ("least squares", *fits)}
    for seed in range(repeats):
        X, y = clean_regression(n, d, np.random.default_rng(seed))
        plain = np.linalg.lstsq(np.column_stack([X, np.ones(n)]), y, rcond=None)[0][:d]
        found = {"least squares": plain} | {name: fit(X, y) for name, fit in fits.items()}
        for name, coef in found.items():
            errors[name].append(float(np.sum((coef - 1) ** 2)))
    least = np.array(errors["least squares"])
    return {name: _ratio(least, np.array(errors[name])) for name in fits}


def _ratio(above: Array, below: Array) -> Difference:
    """A ratio of means, with the error of its linear term."""
    ratio = float(above.mean() / below.mean())
    rest = (above - ratio * below) / below.mean()
    return Difference(ratio, float(rest.std(ddof=1) / np.sqrt(rest.size)))
