"""Arrays of floats, and cvxpy's column-major order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Array = npt.NDArray[np.float64]

# How far inside a domain a tangent is taken where the slope at its edge is infinite.
EDGE = 1e-10
# An argument within NEAR_EDGE of its size of the edge counts as at the edge. Tangents are taken at
# EDGE_DECAY of the size inside then, and at EDGE_DECAY of the last distance at each step, down to
# EDGE: with EDGE from the start, an argument that is 0 in the convex start could never leave 0.
NEAR_EDGE, EDGE_DECAY = 1e-6, 0.1
COPIED = 2**24  # numbers, 128 MB: no larger matrix is copied or formed where there is another way
FORMED = 2**27  # numbers, 1 GB: no larger matrix is in memory beside the samples
PRODUCTS = 2**22  # numbers, 32 MB: no larger tables of products, or parts of them, are in memory
BLOCK = 2**15  # numbers at a time, where arrays as long as the data would take too much memory
CACHED = 2**18  # numbers, 2 MB, that fit into a processor's cache: sums work on these at a time


def dense(value: Any) -> Array:
    """A dense float array of a value that may be sparse."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    sparse = isinstance(value, sp.sparray | sp.spmatrix)
    return np.asarray(value.toarray() if sparse else value, dtype=np.float64)


def blocks(n: int, step: int = BLOCK) -> Iterator[slice]:
    """Slices of n places, `step` at a time; the last slice may be shorter."""
    return (slice(begin, min(begin + step, n)) for begin in range(0, n, step))


def vec(value: Any) -> Array:
    """Column-major vector of an array, cvxpy's order."""
    return dense(value).ravel(order="F")


def unvec(value: Any, shape: tuple[int, ...]) -> Array:
    """Array of `shape` from a column-major vector."""
    return np.asarray(value, dtype=float).reshape(shape, order="F")


def factor_products(unknowns: float) -> float:
    """The multiplications of a dense factorisation, up to a factor: n³/3 for n unknowns."""
    return unknowns**3 / 3
