"""Checks of what a risk is declared from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.tree import Array

__all__ = ["check_kind", "checked_rows", "vector", "weight_vector"]


def check_kind(name: str, value: Any, kind: type, example: str) -> Any:
    """The value, if it is of that kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}={value!r}: a {kind.__name__} is needed, such as {example}")
    return value


def vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as finite floats of shape (size,)."""
    array = np.asarray(values, dtype=float)
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}: ({size},) is needed, as rows has")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity")
    return array


def weight_vector(name: str, values: npt.ArrayLike | None, size: int) -> Array | None:
    """The values as floats that are not negative, or None."""
    if values is None:
        return None
    array = vector(name, values, size)
    if np.any(array < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return array


def checked_rows(rows: Any) -> Any:
    """Rows of two dimensions with finite data: an operator, a sparse matrix or a float array."""
    if not (isinstance(rows, LinearOperator) or sp.issparse(rows)):
        rows = np.asarray(rows, dtype=float)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"rows has shape {rows.shape}: (n_rows, p) with n_rows > 0 is needed")
    data: Any = getattr(rows, "data", rows) if sp.issparse(rows) else rows
    if isinstance(data, np.ndarray) and not np.all(np.isfinite(data)):
        raise ValueError("rows holds NaN or infinity; remove or impute those entries")
    return rows
