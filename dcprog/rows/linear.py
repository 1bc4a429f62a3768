"""Row builders: linear operators θ → margins that know what θ is made of."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_flag

__all__ = ["Margins", "Scores", "binary_margins", "class_margins", "residual_rows"]


class Scores(LinearOperator):
    r"""Rows made of the c linear scores f_k(x_i) = w_k·x_i + b_k of n samples.

    θ stacks w_1, …, w_c and then b_1, …, b_c. A subclass says how the scores of a sample become
    its m rows, which stand at the places i·m, …, i·m + m − 1. The operator is never formed: A·θ
    costs one product of X with a d × c matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Finite samples.
    n_scores, n_rows : int
        c and m.
    fit_intercept : bool
        Whether θ has intercepts.

    Attributes
    ----------
    groups : int array of shape (n * m,)
        The sample of each row.
    penalized : bool array of shape (p,)
        True for the entries of w, False for the intercepts.
    offset : array of shape (n * m,) or None
        A constant added to the rows' products with θ.
    shape : tuple of int
        (n·m, p) with p = c·(d + 1), or c·d without intercepts.

    Raises
    ------
    TypeError
        `fit_intercept` is neither True nor False.
    ValueError
        X is not of two dimensions, or holds NaN or infinity.
    """

    offset: Array | None = None

    def __init__(self, X: Any, n_scores: int, n_rows: int, fit_intercept: bool) -> None:
        check_flag("fit_intercept", fit_intercept)
        self.X: Any = data_matrix(X)
        stored = getattr(self.X, "data", 0.0) if sp.issparse(self.X) else self.X
        if not np.all(np.isfinite(stored)):
            raise ValueError("X holds NaN or infinity; remove or impute those entries")
        self.n_scores = n_scores
        self.fit_intercept = bool(fit_intercept)
        n, d = self.X.shape
        self.groups = np.repeat(np.arange(n), n_rows)
        self.penalized = np.arange(n_scores * (d + self.fit_intercept)) < n_scores * d
        super().__init__(  # type: ignore[call-arg]
            np.dtype(float), (n * n_rows, self.penalized.size)
        )

    @abstractmethod
    def mix(self, scores: Array) -> Array:
        """Rows (n, m) of scores (n, c)."""

    @abstractmethod
    def unmix(self, rows: Array) -> Array:
        """The transpose of :meth:`mix`: scores (n, c) of rows (n, m)."""

    @abstractmethod
    def mixing(self) -> Array:
        """What :meth:`mix` multiplies with, of shape (n, m, c)."""

    def unpack(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients (c, d) and intercepts (c,), zero where none are fitted."""
        c, d = self.n_scores, self.X.shape[1]
        intercept = theta[c * d :] if self.fit_intercept else np.zeros(c)
        return theta[: c * d].reshape(c, d), intercept

    def pack(self, coef: Array, intercept: Array) -> Array:
        """θ of coefficients (c, d) and intercepts (c,)."""
        parts = [coef.ravel(), intercept] if self.fit_intercept else [coef.ravel()]
        return np.concatenate(parts)

    def matrix(self) -> sp.csr_array:
        """The operator as a sparse matrix, for solvers that need one; up to c copies of X."""
        mixing = self.mixing()
        n, m, c = mixing.shape
        X = sp.csr_array(self.X)
        X = X[np.repeat(np.arange(n), m)] if m > 1 else X
        flat = mixing.reshape(n * m, c)
        parts = [sp.diags_array(flat[:, k]) @ X for k in range(c)]
        if self.fit_intercept:
            parts.append(sp.csr_array(flat))
        matrix = sp.csr_array(sp.hstack(parts))
        matrix.eliminate_zeros()
        return matrix

    def _matvec(self, theta: Array) -> Array:
        coef, intercept = self.unpack(np.ravel(theta))
        return self.mix(self.X @ coef.T + intercept).ravel()

    def _rmatvec(self, u: Array) -> Array:
        scores = self.unmix(np.ravel(u).reshape(self.X.shape[0], -1))
        return self.pack((self.X.T @ scores).T, scores.sum(axis=0))


class Margins(Scores):
    r"""Signed margins or residuals u_{ik} = s_{ik} (w_k·x_i + b_k) + t_{ik}.

    Every row belongs to one score: its own problem falls apart into c.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
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
        Shapes that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import binary_margins
    >>> rows = binary_margins(np.array([[1.0, 2.0], [3.0, 4.0]]), [-1, 1])
    >>> rows @ np.array([1.0, 1.0, 0.5])
    array([-3.5,  7.5])
    """

    def __init__(
        self, X: Any, signs: Array, fit_intercept: bool = True, offset: Array | None = None
    ) -> None:
        self.signs = np.asarray(signs, dtype=float)
        n = data_matrix(X).shape[0]
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

    def mixing(self) -> Array:
        """The signs on diagonals."""
        return self.signs[:, :, None] * np.eye(self.n_scores)


def data_matrix(X: Any) -> Any:
    """X as a float array or CSR matrix.

    Raises
    ------
    ValueError
        Not of two dimensions.
    """
    X = sp.csr_array(X, dtype=float) if hasattr(X, "tocsr") else np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}: (n, d) is needed")
    return X


def residual_rows(X: Any, y: npt.ArrayLike, fit_intercept: bool = True) -> Margins:
    """Residuals u_i = y_i − (w·x_i + b), or those of several targets.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
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
        X or targets that are not finite, or of another number than X has samples.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.linear import residual_rows
    >>> residual_rows(np.array([[1.0], [2.0]]), [1.0, 5.0]).offset
    array([1., 5.])
    """
    X = data_matrix(X)
    targets = checked_targets(y, X.shape[0])
    return Margins(X, -np.ones(targets.shape), fit_intercept, targets)


def checked_targets(y: npt.ArrayLike, n: int) -> Array:
    """Finite targets of n samples, of shape (n, c)."""
    targets = np.asarray(y, dtype=float)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if targets.ndim != 2 or len(targets) != n:
        raise ValueError(f"y has shape {np.shape(y)}: ({n},) is needed, as X has rows")
    if not np.all(np.isfinite(targets)):
        raise ValueError("y holds NaN or infinity")
    return targets


def class_margins(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Margins:
    """Margins of every class: s_{ik} = +1 if sample i is of class k, −1 otherwise.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
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
    known, index = class_index(y, classes)
    if known.size < 2:
        raise ValueError(f"y holds {known.size} class; at least two classes are needed")
    signs = np.where(index[:, None] == np.arange(known.size), 1.0, -1.0)
    return Margins(X, signs, fit_intercept)


def binary_margins(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Margins:
    """Margins of one score: s_i = +1 for the second of two classes, −1 for the first.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
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
    """
    return Margins(X, binary_signs(y, classes), fit_intercept)


def binary_signs(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> Array:
    """+1 for the second of two classes, −1 for the first, of shape (n, 1)."""
    known, index = class_index(y, classes)
    if known.size != 2:
        raise ValueError(f"y holds {known.size} class(es); binary margins need exactly two")
    return np.where(index == 1, 1.0, -1.0)[:, None]


def class_index(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, Any]:
    """The classes in order, and the place of each label among them."""
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
