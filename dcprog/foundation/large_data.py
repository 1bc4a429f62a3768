"""The choice of data that are read by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcprog.foundation.blocked_matrix import BlockedMatrix, StoredMatrix
from dcprog.foundation.dask_matrix import DaskMatrix, is_dask

__all__ = ["blocked"]

SMALL = 2**24  # numbers, 128 MB in memory: a file of no more is read as a whole


def blocked(X: Any) -> BlockedMatrix | None:
    """X by blocks, if it is a dask array or a memory-mapped one; None if it is used as a whole.

    Used as a whole are all other arrays, arrays no longer than wide, and memory-mapped arrays that
    are small or of float64: these are NumPy arrays like any others, read by the page.

    Parameters
    ----------
    X : array-like

    Returns
    -------
    BlockedMatrix or None

    Raises
    ------
    TypeError
        X does not hold real numbers.
    ValueError
        X is not of two dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.large_data import blocked
    >>> blocked(np.eye(2)) is None
    True
    """
    if isinstance(X, BlockedMatrix):
        return X
    mapped = isinstance(X, np.memmap) and X.dtype != np.dtype(float) and X.size > SMALL
    if not mapped and not is_dask(X):
        return None
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X is of type {X.dtype}: real numbers are needed")
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: (n, d) is needed")
    found = StoredMatrix(X) if mapped else DaskMatrix(X)
    return found if len(found) > found.shape[1] else None
