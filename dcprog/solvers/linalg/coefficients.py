"""Typical sizes of the features' coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.columns import mean_squares

__all__ = ["coefficient_units"]


def coefficient_units(X: Any, const: Array) -> Array:
    """For each feature, the coefficient whose effect has the size of the constants."""
    sizes = np.sqrt(mean_squares(X))
    return (1 + float(np.max(np.abs(const)))) / np.where(sizes > 0, sizes, np.inf)
