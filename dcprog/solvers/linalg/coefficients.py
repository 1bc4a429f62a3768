"""What size of a feature's coefficient counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["coefficient_units"]


def coefficient_units(X: Any, const: Array) -> Array:
    """For each feature the coefficient that moves the lines by the size of their constants."""
    is_dense = isinstance(X, np.ndarray)
    squares = np.einsum("ij,ij->j", X, X) if is_dense else X.multiply(X).sum(axis=0)
    sizes = np.sqrt(np.asarray(squares).ravel() / max(X.shape[0], 1))
    return (1 + float(np.max(np.abs(const)))) / np.where(sizes > 0, sizes, np.inf)
