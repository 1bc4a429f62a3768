"""Checks of the data and parts from which a risk is declared."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.foundation.arrays import Array
from dcprog.foundation.large_data import blocked
from dcprog.foundation.parameters import advice
from dcprog.rows.linear import Samples
from dcprog.rows.scores import Scores

__all__ = ["check_kind", "checked_rows", "flags", "real", "vector", "weight_vector"]

LARGEST_FORMED = 2**27  # numbers of an operator's matrix


def check_kind(name: str, value: Any, kind: type, example: str) -> Any:
    """The value, if it is an instance of the class `kind`."""
    if not isinstance(value, kind):
        told = advice(value, kind, example)
        raise TypeError(f"{name}={value!r}: a {kind.__name__} is needed; {told}")
    return value


def real(name: str, values: Any) -> Any:
    """The values as floats."""
    if np.iscomplexobj(values):
        raise TypeError(f"{name} is complex: real numbers are needed")
    return np.asarray(values, dtype=float)


def flags(name: str, values: Any, size: int) -> npt.NDArray[np.bool_]:
    """The values as booleans of shape (size,)."""
    array = vector(name, values, size)
    if not np.all((array == 0) | (array == 1)):
        raise ValueError(f"{name} must hold True and False only, a mask over the coefficients")
    return array.astype(bool)


def vector(name: str, values: npt.ArrayLike, size: int) -> Array:
    """The values as finite floats of shape (size,)."""
    array = real(name, values)
    if array.shape != (size,):
        raise ValueError(f"{name} has shape {array.shape}: ({size},) is needed, as rows has")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity")
    return array


def weight_vector(name: str, values: npt.ArrayLike | None, size: int) -> Array | None:
    """The values as nonnegative floats of shape (size,); None for None."""
    if values is None:
        return None
    array = vector(name, values, size)
    if np.any(array < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return array


def checked_rows(rows: Any) -> Any:
    """Rows of two dimensions with finite data: arrays as ``Samples``, a row builder's as they are.

    Of another operator the matrix, which the solvers need, is formed if it is not too large.
    """
    by_blocks = None if isinstance(rows, LinearOperator) else blocked(rows)
    if by_blocks is not None:
        return Samples(by_blocks)
    sparse = sp.issparse(rows)
    if sparse:
        rows = sp.csr_array(rows)  # for a sparse matrix * is the matrix product
    elif isinstance(rows, LinearOperator) and not isinstance(rows, Scores):
        n, p = rows.shape
        if np.issubdtype(rows.dtype, np.complexfloating):
            raise TypeError("rows is complex: real numbers are needed")
        rows = rows @ np.eye(p) if n * p <= LARGEST_FORMED else rows
    elif not isinstance(rows, LinearOperator):
        rows = real("rows", rows)
    if np.iscomplexobj(rows):
        raise TypeError("rows is complex: real numbers are needed")
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"rows has shape {rows.shape}: (n_rows, p) with n_rows > 0 is needed")
    data: Any = getattr(rows, "data", rows) if sparse else rows
    if isinstance(data, np.ndarray) and not np.all(np.isfinite(data)):
        raise ValueError("rows holds NaN or infinity; remove or impute those entries")
    return rows if isinstance(rows, LinearOperator) else Samples(rows)
