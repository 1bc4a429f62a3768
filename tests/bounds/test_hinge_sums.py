"""Sums of hinges on boxes, held against the duality gap."""

from __future__ import annotations

import numpy as np
import pytest

from dcprog.bounds.state_space import hinge_sums


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("stretch", [1e-9, 1.0, 1e9])
def test_the_shares_prove_the_minimum(unit: float, stretch: float) -> None:
    rng = np.random.default_rng(0)
    boxes, m, p = 30, 25, 4
    rows, shift = rng.normal(size=(m, p)) / stretch, rng.normal(size=m)
    weights = unit * rng.uniform(0, 2, size=(boxes, m)) * (rng.random((boxes, m)) < 0.8)
    tilt = unit * 0.3 * rng.normal(size=(boxes, p)) / stretch
    ridge = unit * np.array([0.1, 0.1, 0.1, 0.0]) / stretch**2
    lo = -stretch * rng.uniform(0, 10, size=(boxes, p))
    hi = stretch * rng.uniform(0, 10, size=(boxes, p))
    hi[:3, 0] = lo[:3, 0]
    theta, shares = hinge_sums(rows, shift, weights, tilt, ridge, lo, hi)
    assert np.all((theta >= lo) & (theta <= hi))
    assert np.all((shares >= 0) & (shares <= 1))

    def smooth(x: np.ndarray) -> np.ndarray:
        return (tilt * x + 0.5 * ridge * x**2).sum(axis=1)

    value = (weights * np.maximum(theta @ rows.T + shift, 0)).sum(axis=1) + smooth(theta)
    pull = (weights * shares) @ rows + tilt
    with np.errstate(divide="ignore"):
        inside = np.where(ridge > 0, -pull / ridge, -np.inf * np.sign(pull))
    x = np.clip(inside, lo, hi)
    least = (weights * shares) @ shift + (pull * x + 0.5 * ridge * x**2).sum(axis=1)
    assert np.all(value - least <= 1e-5 * np.abs(value))
    assert np.all(value - least >= -1e-9 * np.abs(value))
