"""Row builders: linear operators θ → margins that know what θ is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from dcprog.tree import Array

__all__ = ["Margins", "binary_margins", "class_margins"]


class Margins(LinearOperator):
    r"""Signed margins u_{ik} = s_{ik} (w_k·x_i + b_k) of n samples and c linear scores.

    θ stacks the rows w_1, …, w_c and then the intercepts b_1, …, b_c. Row ik of the operator is
    s_{ik} e_k ⊗ (x_i, 1), at place i·c + k; it is never formed: A·θ costs one product of X with
    a d × c matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Finite samples.
    signs : array of shape (n, c)
        Entries −1 and +1.
    fit_intercept : bool, default True
        Whether θ has intercepts.

    Attributes
    ----------
    groups : int array of shape (n * c,)
        The sample of each row.
    penalized : bool array of shape (p,)
        True for the entries of w, False for the intercepts.
    shape : tuple of int
        (n·c, p) with p = c·(d + 1), or c·d without intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows import binary_margins
    >>> rows = binary_margins(np.array([[1.0, 2.0], [3.0, 4.0]]), [-1, 1])
    >>> rows @ np.array([1.0, 1.0, 0.5])
    array([-3.5,  7.5])
    """

    def __init__(self, X: Any, signs: Array, fit_intercept: bool = True) -> None:
        self.X: Any = _array(X)
        self.signs = np.asarray(signs, dtype=float)
        self.fit_intercept = fit_intercept
        n, d = self.X.shape
        if self.signs.ndim != 2 or self.signs.shape[0] != n:
            raise ValueError(f"signs has shape {self.signs.shape}: ({n}, c) is needed, as X has")
        c = self.signs.shape[1]
        self.groups = np.repeat(np.arange(n), c)
        self.penalized = np.arange(c * (d + fit_intercept)) < c * d
        super().__init__(np.dtype(float), (n * c, self.penalized.size))  # type: ignore[call-arg]

    def unpack(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients (c, d) and intercepts (c,), zero where none are fitted."""
        c, d = self.signs.shape[1], self.X.shape[1]
        intercept = theta[c * d :] if self.fit_intercept else np.zeros(c)
        return theta[: c * d].reshape(c, d), intercept

    def pack(self, coef: Array, intercept: Array) -> Array:
        """θ of coefficients (c, d) and intercepts (c,)."""
        parts = [coef.ravel(), intercept] if self.fit_intercept else [coef.ravel()]
        return np.concatenate(parts)

    def matrix(self) -> sp.csr_array:
        """The operator as a sparse matrix, for solvers that need one; c copies of X."""
        n, c = self.signs.shape
        blocks = sp.kron(sp.csr_array(self.X), sp.eye_array(c))  # row i·c + k, column j·c + k
        by_class = np.arange(blocks.shape[1]).reshape(-1, c).T.ravel()
        parts = [sp.csc_array(blocks)[:, by_class]]
        if self.fit_intercept:
            parts.append(sp.csc_array(sp.kron(np.ones((n, 1)), sp.eye_array(c))))
        return sp.csr_array(sp.diags_array(self.signs.ravel()) @ sp.hstack(parts))

    def _matvec(self, theta: Array) -> Array:
        coef, intercept = self.unpack(np.ravel(theta))
        return (self.signs * (self.X @ coef.T + intercept)).ravel()

    def _rmatvec(self, u: Array) -> Array:
        signed = self.signs * np.ravel(u).reshape(self.signs.shape)
        return self.pack((self.X.T @ signed).T, signed.sum(axis=0))


def _array(X: Any) -> Any:
    return sp.csr_array(X, dtype=float) if hasattr(X, "tocsr") else np.asarray(X, dtype=float)


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
        Fewer than two classes, or a label that is not one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows import class_margins
    >>> class_margins(np.eye(3), ["a", "b", "c"]).signs
    array([[ 1., -1., -1.],
           [-1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    known, index = _class_index(y, classes)
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
        Not two classes, or a label that is not one of them.
    """
    known, index = _class_index(y, classes)
    if known.size != 2:
        raise ValueError(f"y holds {known.size} class(es); binary margins need exactly two")
    return Margins(X, np.where(index == 1, 1.0, -1.0)[:, None], fit_intercept)


def _class_index(y: npt.ArrayLike, classes: npt.ArrayLike | None) -> tuple[Any, Any]:
    labels = np.asarray(y)
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
