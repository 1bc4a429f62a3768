"""Rows of angle-based multicategory classification: classes as the vertices of a simplex."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_count
from dcprog.rows.linear import several_classes
from dcprog.rows.scores import Scores, data_matrix


def simplex_vertices(k: int) -> Array:
    r"""Vertices W_1, …, W_k of a regular simplex in k − 1 dimensions, one per row.

    W_1 = (k−1)^{−1/2}·1 and W_j = −(1+√k)/(k−1)^{3/2}·1 + √(k/(k−1))·e_{j−1}: unit vectors with
    ΣW_j = 0 and ⟨W_i, W_j⟩ = −1/(k−1).

    Parameters
    ----------
    k : int
        At least 2.

    Returns
    -------
    array of shape (k, k − 1)

    Raises
    ------
    TypeError
        k is not a whole number.
    ValueError
        k < 2.

    References
    ----------
    Zhang, Liu (2014), Multicategory angle-based large-margin classification, Biometrika 101.

    Examples
    --------
    >>> from dcprog.rows.angle import simplex_vertices
    >>> simplex_vertices(2)
    array([[ 1.],
           [-1.]])
    """
    check_count("k", k, 2)
    vertices = np.full((k, k - 1), -(1 + np.sqrt(k)) / (k - 1) ** 1.5)
    vertices[0] = (k - 1) ** -0.5
    vertices[1:] += np.sqrt(k / (k - 1)) * np.eye(k - 1)
    return vertices


class Coded(Scores):
    r"""Rows u_{ij} = ⟨code_{y_i, j}, f(x_i)⟩, whose codes depend on the sample's class.

    Row ij is code_{y_i, j} ⊗ (x_i, 1), never formed.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
    y : int array of shape (n,)
        The index of each sample's class.
    codes : array of shape (k, m, c)
        The m codes of each class.
    fit_intercept : bool
        Whether each of the c scores has an intercept.

    Attributes
    ----------
    own : bool array of shape (n * m,) or None
        The rows of each sample's own class, for :func:`angle_margins`.
    """

    own: npt.NDArray[np.bool_] | None = None

    def __init__(self, X: Any, y: Any, codes: Array, fit_intercept: bool) -> None:
        if len(y) != data_matrix(X).shape[0]:
            raise ValueError(f"y has {len(y)} labels, X has {data_matrix(X).shape[0]} samples")
        self.codes = codes
        self._label(y)
        super().__init__(X, codes.shape[2], codes.shape[1], fit_intercept)

    def _label(self, y: Any) -> None:
        self.y = y
        self._places = [np.flatnonzero(y == k) for k in range(len(self.codes))]  # of each class

    def of_samples(self, samples: npt.NDArray[np.intp]) -> Self:
        """The rows of some samples."""
        rows = super().of_samples(samples)
        rows._label(self.y[samples])
        if self.own is not None:
            rows.own = self.own.reshape(len(self.y), -1)[samples].ravel()
        return rows

    def mix(self, scores: Array) -> Array:
        """The rows ⟨code_{y_i, j}, f_i⟩, computed class by class."""
        rows = np.empty((len(self.y), self.codes.shape[1]))
        for places, code in zip(self._places, self.codes, strict=True):
            rows[places] = scores[places] @ code.T
        return rows

    def unmix(self, rows: Array) -> Array:
        """The scores Σ_j row_ij code_{y_i, j}, computed class by class."""
        scores = np.empty((len(self.y), self.n_scores))
        for places, code in zip(self._places, self.codes, strict=True):
            scores[places] = rows[places] @ code
        return scores

    def mixing(self) -> Array:
        """The codes of every sample."""
        return self.codes[self.y]

    def mixing_of(self, samples: npt.NDArray[np.intp]) -> Array:
        """The codes of some samples."""
        return self.codes[self.y[samples]]

    def code_gram(self, weights: Array) -> Array:
        """The sums Σ_j d_ij code_{y_i, j} code_{y_i, j}ᵀ, computed class by class."""
        c = self.n_scores
        gram = np.empty((len(self.y), c, c))
        for places, code in zip(self._places, self.codes, strict=True):
            squares = (code[:, :, None] * code[:, None]).reshape(-1, c * c)
            gram[places] = (weights[places] @ squares).reshape(-1, c, c)
        return gram


def angle_margins(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Coded:
    r"""Margins of all k classes: u_{iy}/(k − 1) of a sample's own, −u_{ij} of every other.

    With u_{ij} = ⟨W_j, f(x_i)⟩, Σ_j u_ij = 0. Every row should be at least 1. The reinforced hinge
    is γ(k−1)·hinge of the own row plus (1−γ)·hinge of the others, by the weights
    ``np.where(rows.own, gamma * (k - 1), 1 - gamma)``.

    Parameters
    ----------
    X : array, sparse matrix, memory-mapped or dask array of shape (n, d)
    y : array of shape (n,)
        Labels.
    fit_intercept : bool, default True
    classes : array of shape (k,), optional
        The classes in order; by default the distinct labels, sorted.

    Returns
    -------
    Coded
        k rows a sample, in the order of the classes; its attribute ``own`` is True for those of
        the sample's own class.

    Raises
    ------
    ValueError
        Fewer than two classes, or a label that is not one of them.

    References
    ----------
    Zhang, Pham, Fu, Liu (2018), Robust multicategory support vector machines using difference
    convex algorithm, Math. Program. 169.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.angle import angle_margins
    >>> rows = angle_margins(np.eye(2), [0, 1], fit_intercept=False)
    >>> rows.matrix().toarray()
    array([[ 1.,  0.],
           [ 1.,  0.],
           [ 0., -1.],
           [ 0., -1.]])
    """
    index, k = several_classes(y, classes)
    own = np.eye(k, dtype=bool)
    codes = np.where(own, 1 / (k - 1), -1.0)[:, :, None] * simplex_vertices(k)
    rows = Coded(X, index, codes, fit_intercept)
    rows.own = own[index].ravel()
    return rows


def angle_differences(
    X: Any, y: npt.ArrayLike, fit_intercept: bool = True, classes: npt.ArrayLike | None = None
) -> Coded:
    """Differences u_{iy} − u_{ij} to each of the k − 1 other classes.

    Parameters
    ----------
    X, y, fit_intercept, classes
        As for :func:`angle_margins`.

    Returns
    -------
    Coded
        k − 1 rows a sample, in the order of the classes without the sample's own.

    Raises
    ------
    ValueError
        Fewer than two classes, or a label that is not one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.rows.angle import angle_differences
    >>> angle_differences(np.eye(3), ["a", "b", "c"]).shape
    (6, 8)
    """
    index, k = several_classes(y, classes)
    W = simplex_vertices(k)
    codes = np.array([[W[i] - W[j] for j in range(k) if j != i] for i in range(k)])
    return Coded(X, index, codes, fit_intercept)
