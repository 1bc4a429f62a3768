"""Tall matrices whose rows are read a block at a time, from a file or from a Dask array."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial, reduce
from operator import add, getitem
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import COPIED, Array, blocks
from dcprog.foundation.errors import DataLost, warn

BLOCK = 2**20  # numbers that are read at a time

T = TypeVar("T")
Index = npt.NDArray[np.intp]
View = Callable[[Array], Array]


class BlockedMatrix(ABC):
    """A matrix X of shape (n, d), of which only a block of rows is in memory.

    It has products X·W and Xᵀ·V, selections of rows, and values and sums of a function over blocks
    (:meth:`map`, :meth:`total`); ``np.asarray(X)`` reads all of it. A subclass provides the blocks.

    Parameters
    ----------
    shape : (int, int)

    Attributes
    ----------
    shape : tuple of int
    T : object
        Xᵀ, which multiplies arrays of n rows.
    """

    ndim = 2
    dtype = np.dtype(float)
    __array_ufunc__ = None  # NumPy does not multiply an array with this

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._views: tuple[View, ...] = ()

    @property
    @abstractmethod
    def slices(self) -> list[slice]:
        """The rows of each block."""

    @abstractmethod
    def map(self, f: Callable[..., T], *vectors: Array) -> Iterator[T]:
        """The values f(block, rows of the vectors) for every block, in the order of the blocks.

        Parameters
        ----------
        f : callable
            A function of a float array (k, d) and arrays of k rows; may run in another process.
        *vectors : arrays of n rows
        """

    @abstractmethod
    def take(self, rows: Index) -> Array:
        """The given rows, in that order, as an array."""

    def total(self, f: Callable[..., Any], *vectors: Array) -> Any:
        """The sum of :meth:`map` over the blocks."""
        return reduce(add, self.map(f, *vectors))

    def seen(self, view: View, columns: int) -> Self:
        """A copy of the matrix with a function applied to its blocks as they are read."""
        other = copy(self)
        other._views = (*self._views, view)
        other.shape = (self.shape[0], columns)
        return other

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Some rows as an array, or all rows of some columns as a BlockedMatrix."""
        if isinstance(index, tuple):
            rows, columns = index
            if not (isinstance(rows, slice) and rows == slice(None)):
                raise TypeError("of a matrix by blocks take rows or columns, not both")
            width = np.arange(self.shape[1])[columns].size
            return self.seen(partial(_columns, columns=columns), width)
        return self.take(np.arange(len(self))[index])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.take(np.arange(len(self))), dtype=dtype)

    def __matmul__(self, other: Array) -> Array:
        product = np.empty((len(self), *other.shape[1:]))
        for rows, part in zip(self.slices, self.map(partial(_times, other=other)), strict=True):
            product[rows] = part
        return product

    @property
    def T(self) -> _Transposed:
        """The transpose."""
        return _Transposed(self)


class _Transposed:
    """Xᵀ of an X by blocks."""

    __array_ufunc__ = None

    def __init__(self, matrix: BlockedMatrix) -> None:
        self.T = matrix
        self.shape = matrix.shape[::-1]

    def __matmul__(self, other: Array) -> Array:
        return np.asarray(self.T.total(_transposed_times, other))


class StoredMatrix(BlockedMatrix):
    """A matrix read in slices from an array, such as a memory-mapped file.

    Parameters
    ----------
    source : array-like of shape (n, d)
        Such as a ``numpy.memmap`` of any real type.
    rows : int, optional
        Number of rows of a block; by default a block has about a million numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.foundation.blocked_matrix import StoredMatrix
    >>> X = StoredMatrix(np.array([[1, 2], [3, 4], [5, 6]], dtype=np.int16), rows=2)
    >>> X @ np.array([1.0, 1.0]), X.T @ np.array([1.0, 0.0, 1.0]), X[[2, 0]]
    (array([ 3.,  7., 11.]), array([6., 8.]), array([[5., 6.],
           [1., 2.]]))
    """

    def __init__(self, source: Any, rows: int | None = None) -> None:
        super().__init__(source.shape)
        self.source = source
        self.rows = rows or max(1, BLOCK // max(source.shape[1], 1))

    @property
    def slices(self) -> list[slice]:
        """The rows of each block."""
        return list(blocks(len(self), self.rows))

    def map(self, f: Callable[..., T], *vectors: Array) -> Iterator[T]:
        """The values of f for every block, one after the other."""
        for rows in self.slices:
            yield f(viewed(self._views, self.source[rows]), *(v[rows] for v in vectors))

    def take(self, rows: Index) -> Array:
        """The given rows, in that order, as an array."""
        return viewed(self._views, self.source[rows])


def viewed(views: tuple[View, ...], block: Any) -> Array:
    """A stored block as floats, with the views applied to it one after the other."""
    block = np.asarray(block, dtype=float)
    for view in views:
        block = view(block)
    return block


def _times(block: Array, other: Array) -> Array:
    return block @ other


def _transposed_times(block: Array, other: Array) -> Array:
    return block.T @ other


def _columns(block: Array, columns: Any) -> Array:
    return block[:, columns]


@dataclass
class _Connection:
    """Whether the scheduler works, or why it is lost; shared by all copies of a matrix."""

    works: bool = False
    lost: str = ""


class DaskMatrix(BlockedMatrix):
    """Rows of a ``dask.array``, chunk by chunk on whatever scheduler is active.

    Sums over blocks come back as large as their terms; vectors travel with each call, so that a
    lost worker's part can be done again by another one. If the scheduler itself is lost, or the
    chunks that were persisted there, every later call raises :class:`DataLost`.

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
        self._connection = _Connection()

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
        for p, part in zip(places, self._run(getitem, touched, local), strict=True):
            found[p] = part
        return found

    def _run(self, f: Callable[..., T], chunks: Any, arguments: list[list[Array]]) -> list[T]:
        from asyncio import CancelledError  # late, for it takes a tenth of our import

        import dask

        if self._connection.lost:
            raise DataLost(self._connection.lost)
        parts = self.source.to_delayed().ravel()
        on_block = dask.delayed(_applied, pure=False, traverse=False)
        calls = [
            on_block(f, self._views, parts[k], *some)
            for k, some in zip(chunks, arguments, strict=True)
        ]
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                found = dask.compute(*calls)
        # CancelledError is no Exception in asyncio, and one in distributed
        except (Exception, CancelledError) as error:
            raise self._loss(error) from error
        self._connection.works = True
        for one in found:
            if isinstance(one, _Failure):
                raise one.error
        return list(found)

    def _loss(self, error: BaseException) -> BaseException:
        """The error itself at the first call, which says what is wrong with the data.

        One of the scheduler's own, such as that of a closed cluster, becomes a RuntimeError.
        """
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        if not self._connection.works:
            is_own = type(error).__module__.startswith(("distributed", "asyncio"))
            return RuntimeError(f"X cannot be read ({reason})") if is_own else error
        self._connection.lost = f"X can no longer be read ({reason})"
        warn(f"{self._connection.lost}: the best point so far is kept", RuntimeWarning)
        return DataLost(self._connection.lost)


@dataclass
class _Failure:
    """The error of a function of blocks, apart from those of the scheduler."""

    error: Exception


def _applied(
    f: Callable[..., T], views: tuple[View, ...], block: Any, *vectors: Array
) -> T | _Failure:
    try:
        return f(viewed(views, block), *vectors)
    except Exception as error:
        return _Failure(error)


# ---- the choice of data that are read by blocks -------------------------------------------------


def is_dask(X: Any) -> bool:
    """True if X is a Dask collection, such as an array; Dask need not be installed."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


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
    >>> from dcprog.foundation.blocked_matrix import blocked
    >>> blocked(np.eye(2)) is None
    True
    """
    if isinstance(X, BlockedMatrix):
        return X
    mapped = isinstance(X, np.memmap) and X.dtype != np.dtype(float) and X.size > COPIED
    if not mapped and not is_dask(X):
        return None
    if X.dtype.kind not in "biuf":
        raise TypeError(f"X is of type {X.dtype}: real numbers are needed")
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: (n, d) is needed")
    found = StoredMatrix(X) if mapped else DaskMatrix(X)
    return found if len(found) > found.shape[1] else None
