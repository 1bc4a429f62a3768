"""Rows of one score each: margins, residuals, samples; and the labels that they are made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.rows.scores import Scores, data_matrix


class Margins(Scores):
    r"""Signed margins or residuals u_{ik} = s_{ik} (w_k·x_i + b_k) + t_{ik}.

    Every row depends on one score only: the problem separates into c problems.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
        Finite samples.
    signs : array of shape (n, c)
        s, −1 and +1 for margins, −1 for residuals.
    fit_intercept : bool, default True
        Whether θ has intercepts.
    offset : array of shape (n, c), optional
        t, the targets of residuals.

    Raises
    ------
    ValueError
        The shapes of X and `signs` do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import binary_margins
    >>> rows = binary_margins(np.array([[1.0, 2.0], [3.0, 4.0]]), [-1, 1])
    >>> rows @ np.array([1.0, 1.0, 0.5])
    array([-3.5,  7.5])
    """

    signs: Array

    def __init__(
        self, X: Any, signs: Array, fit_intercept: bool = True, offset: Array | None = None
    ) -> None:
        self.signs = np.asarray(signs, dtype=float)
        X = data_matrix(X)
        n = X.shape[0]
        if self.signs.ndim != 2 or self.signs.shape[0] != n:
            raise ValueError(f"signs has shape {self.signs.shape}: ({n}, c) is needed, as X has")
        c = self.signs.shape[1]
        super().__init__(X, c, c, fit_intercept)
        self.offset = None if offset is None else np.asarray(offset, dtype=float).ravel()

    def mix(self, scores: Array) -> Array:
        """The signs times the scores."""
        return self.signs * scores

    def unmix(self, rows: Array) -> Array:
        """The signs times the rows."""
        return self.signs * rows

    def _matvec(self, theta: Array) -> Array:
        """The rows' products with θ, computed in a single array as long as the data."""
        coef, intercept = self.unpack(np.ravel(theta))
        scores = self._product(coef.T)
        scores += intercept
        scores *= self.signs
        return scores.ravel()

    def _rmatvec(self, u: Array) -> Array:
        """The transposed product; of a BlockedMatrix block by block, without an array of scores."""
        if not isinstance(self.X, BlockedMatrix):
            return super()._rmatvec(u)
        rows = np.ravel(u).reshape(self.X.shape[0], -1)
        pulls = self.X.total(_pulls, self.signs, rows)
        return self.pack(pulls[:, :-1], pulls[:, -1])

    def mixing(self) -> Array:
        """The signs as diagonal matrices, one per sample."""
        return self.signs[:, :, None] * np.eye(self.n_scores)

    def mixing_of(self, samples: npt.NDArray[np.intp]) -> Array:
        """The signs of some samples as diagonal matrices."""
        return self.signs[samples, :, None] * np.eye(self.n_scores)

    def code_gram(self, weights: Array) -> Array:
        """The numbers d_ik s_ik² as diagonal matrices, one per sample."""
        return (weights * self.signs**2)[:, :, None] * np.eye(self.n_scores)


def _pulls(X: Array, signs: Array, rows: Array) -> Array:
    """The sums Σ_i s_i u_i (x_i, 1), one line per score."""
    scores = signs * rows
    return np.column_stack([scores.T @ X, scores.sum(axis=0)])


class Samples(Margins):
    """The samples themselves: u_i = w·x_i.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
        Finite samples.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import Samples
    >>> Samples(np.array([[1.0, 2.0], [3.0, 4.0]])) @ np.array([1.0, 1.0])
    array([3., 7.])
    """

    def __init__(self, X: Any) -> None:
        X = data_matrix(X)
        super().__init__(X, np.ones((X.shape[0], 1)), fit_intercept=False)

    def matrix(self) -> Any:
        """X itself, dense or sparse."""
        return self.X


# ----------------------------------------------------------------------------------------------
# labels and targets


def checked_targets(y: npt.ArrayLike, n: int) -> Array:
    """Finite targets of n samples, of shape (n, c)."""
    targets = np.asarray(y, dtype=float)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if targets.ndim != 2 or len(targets) != n:
        raise ValueError(f"y has shape {np.shape(y)}: ({n},) is needed, as X has rows")
    if not np.all(np.isfinite(targets)):
        raise ValueError("y holds NaN or infinity")
    return targets


def binary_signs(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> Array:
    """+1 for the second of two classes, −1 for the first, of shape (n, 1)."""
    known, index = class_index(y, classes)
    if known.size != 2:
        raise ValueError(f"y holds {known.size} class(es); binary margins need exactly two")
    return np.where(index == 1, 1.0, -1.0)[:, None]


def class_index(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, Any]:
    """The classes in order, and the index of each label among them."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y has shape {labels.shape}: one label a sample is needed")
    if classes is None:
        return np.unique(labels, return_inverse=True)
    known = np.asarray(classes)
    hits = labels[:, None] == known
    strange = labels[~hits.any(axis=1)]
    if strange.size:
        raise ValueError(
            f"y holds {strange[0]!r}, which is not one of the classes {known.tolist()}"
        )
    return known, np.argmax(hits, axis=1)


def several_classes(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, int]:
    """The index of each label among the classes, and their number, which is at least two."""
    known, index = class_index(y, classes)
    if known.size < 2:
        raise ValueError(f"y holds {known.size} class; at least two classes are needed")
    return index, int(known.size)


# ----------------------------------------------------------------------------------------------
# rows of data


def residual_rows(X: Any, y: npt.ArrayLike, fit_intercept: bool = True) -> Margins:
    """Residuals u_i = y_i − (w·x_i + b), or those of several targets.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
    y : array of shape (n,) or (n, c)
        Finite targets.
    fit_intercept : bool, default True

    Returns
    -------
    Margins
        With signs −1 and the targets as offset.

    Raises
    ------
    ValueError
        X or the targets are not finite, or there is not one target per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import residual_rows
    >>> residual_rows(np.array([[1.0], [2.0]]), [1.0, 5.0]).offset
    array([1., 5.])
    """
    X = data_matrix(X)
    targets = checked_targets(y, X.shape[0])
    signs = -np.ones(targets.shape)
    if isinstance(X, BlockedMatrix):
        signs = np.broadcast_to(-1.0, targets.shape)  # one number in memory, for any n
    return Margins(X, signs, fit_intercept, targets)


def class_margins(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Margins:
    """Margins of every class: s_{ik} = +1 if sample i is of class k, −1 otherwise.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
    y : array of shape (n,)
        Labels.
    fit_intercept : bool, default True
    classes : array of shape (c,), optional
        The classes in order; by default the distinct labels, sorted.

    Returns
    -------
    Margins
        c columns, also for c = 2.

    Raises
    ------
    ValueError
        X is not finite or of another length than y, there are fewer than two classes, or a label
        is not one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import class_margins
    >>> class_margins(np.eye(3), ["a", "b", "c"]).signs
    array([[ 1., -1., -1.],
           [-1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    index, k = several_classes(y, classes)
    return Margins(X, np.where(index[:, None] == np.arange(k), 1.0, -1.0), fit_intercept)


def binary_margins(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Margins:
    """Margins of one score: s_i = +1 for the second of two classes, −1 for the first.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
    y : array of shape (n,)
        Labels.
    fit_intercept : bool, default True
    classes : array of shape (2,), optional
        The classes in order; by default the distinct labels, sorted.

    Returns
    -------
    Margins
        One column.

    Raises
    ------
    ValueError
        X is not finite or of another length than y, there are not two classes, or a label is not
        one of them.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> rows = dc.binary_margins([[1.0], [2.0]], ["no", "yes"])
    >>> rows @ np.array([3.0, 0.5])  # ±(3x + 0.5)
    array([-3.5,  6.5])
    """
    return Margins(X, binary_signs(y, classes), fit_intercept)
