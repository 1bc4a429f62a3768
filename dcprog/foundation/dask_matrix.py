"""Rows of a dask array: a block is a chunk of the array, and is processed where it is stored."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix, Index, View, viewed

__all__ = ["DaskMatrix", "is_dask"]

T = TypeVar("T")


def is_dask(X: Any) -> bool:
    """True if X is a Dask collection, such as an array; Dask need not be installed."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


class DaskMatrix(BlockedMatrix):
    """Rows of a ``dask.array``, chunk by chunk on whatever scheduler is active.

    Sums over blocks come back as large as their terms; vectors travel with each call, so that a
    lost worker's part can be done again by another one.

    Parameters
    ----------
    source : dask.array.Array of shape (n, d)
        Real numbers. Columns in several chunks are merged into one, unknown sizes are computed.

    Raises
    ------
    TypeError
        Its chunks are not NumPy arrays, such as sparse ones.
    """

    def __init__(self, source: Any) -> None:
        if not isinstance(source._meta, np.ndarray):
            kind = type(source._meta).__name__
            raise TypeError(f"X has dask chunks of {kind}: chunks of NumPy arrays are needed")
        if any(np.isnan(size) for size in source.shape):
            source = source.compute_chunk_sizes()
        super().__init__((int(source.shape[0]), int(source.shape[1])))
        # several blocks of columns would make every product wait for all of them
        self.source = source.rechunk({1: -1}) if source.numblocks[1] > 1 else source

    @property
    def slices(self) -> list[slice]:
        """The rows of each chunk."""
        ends = np.cumsum(self.source.chunks[0]).tolist()
        return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]

    def map(self, f: Callable[..., T], *vectors: Array) -> Iterator[T]:
        """The values of f for every chunk, as many at a time as the scheduler runs."""
        vectors = tuple(np.asarray(v) for v in vectors)
        slices = self.slices
        return iter(self._run(f, range(len(slices)), [[v[s] for v in vectors] for s in slices]))

    def take(self, rows: Index) -> Array:
        """The given rows, in that order, as an array; only their chunks are computed."""
        ends = np.cumsum(self.source.chunks[0])
        chunk = np.searchsorted(ends, rows, side="right")
        first = ends - np.array(self.source.chunks[0])
        touched = np.unique(chunk)
        places = [np.flatnonzero(chunk == k) for k in touched]
        local = [[rows[p] - first[k]] for k, p in zip(touched, places, strict=True)]
        found = np.empty((rows.size, self.shape[1]))
        for p, part in zip(places, self._run(_taken, touched, local), strict=True):
            found[p] = part
        return found

    def _run(self, f: Callable[..., T], chunks: Any, arguments: list[list[Array]]) -> list[T]:
        import dask

        blocks = self.source.to_delayed().ravel()
        on_block = dask.delayed(_applied, pure=False, traverse=False)
        calls = [
            on_block(f, self._views, blocks[k], *some)
            for k, some in zip(chunks, arguments, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return list(dask.compute(*calls))


def _applied(f: Callable[..., T], views: tuple[View, ...], block: Any, *vectors: Array) -> T:
    return f(viewed(views, block), *vectors)


def _taken(block: Array, rows: Index) -> Array:
    return block[rows]
