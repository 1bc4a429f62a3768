"""The set of held kinks with the inverse of its KKT matrix, updated on every change."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["KinkBasis"]


class KinkBasis:
    r"""The inverse of  K = [[H, Bᵀ], [B, 0]]  with H = diag(h) ≥ 0 and one row of B per held kink.

    Holding, dropping and exchanging a kink are changes of rank two, of (q + k)² operations.

    Parameters
    ----------
    h : array of shape (q,)
    rows : array of shape (k, q)
        The rows B, for which K must be regular.

    Raises
    ------
    numpy.linalg.LinAlgError
        K is singular.

    Examples
    --------
    >>> import numpy as np
    >>> basis = KinkBasis(np.array([1.0, 0.0]), np.array([[1.0, 1.0]]))
    >>> basis.hold(np.array([1.0, -1.0]))
    >>> basis.drop(0)
    >>> step, multipliers = basis.step(np.array([2.0, 1.0]))  # on w = b, from the slope there
    >>> step.round(12).tolist(), multipliers.round(12).tolist()
    ([-3.0, -3.0], [1.0])
    """

    def __init__(self, h: Array, rows: Array) -> None:
        self._q, k = h.size, len(rows)
        K = np.zeros((h.size + k,) * 2)
        K[: h.size, : h.size] = np.diag(h)
        K[h.size :, : h.size] = rows
        K[: h.size, h.size :] = rows.T
        self._inverse: Array = np.asarray(np.linalg.inv(K), dtype=float)

    @property
    def size(self) -> float:
        """The largest absolute entry of the inverse, which amplifies rounding errors."""
        return float(np.max(np.abs(self._inverse)))

    def step(self, slope: Array) -> tuple[Array, Array]:
        """The minimiser d of ½d'Hd + slope·d with B d = 0, and the multipliers of the kinks."""
        found = self._inverse[:, : self._q] @ -slope
        return found[: self._q], found[self._q :]

    def to(self, changes: Array) -> Array:
        """The step of least H-norm that changes the scores of the held kinks by `changes`."""
        step: Array = self._inverse[: self._q, self._q :] @ changes
        return step

    def away(self, j: int) -> Array:
        """The direction in which the score of kink j grows at rate 1 and the others are fixed."""
        return self._inverse[: self._q, self._q + j].copy()

    def lengths(self) -> Array:
        """The lengths of all directions :meth:`away`."""
        away = self._inverse[: self._q, self._q :]
        lengths: Array = np.sqrt(np.einsum("ij,ij->j", away, away))
        return lengths

    def hold(self, row: Array) -> None:
        """Add a kink at the end."""
        size = len(self._inverse)
        image = self._inverse[:, : self._q] @ row
        image_and_one = np.append(image, -1.0)
        corner = float(row @ image[: self._q])
        larger = np.zeros((size + 1,) * 2)
        larger[:size, :size] = self._inverse
        larger -= np.outer(image_and_one, image_and_one / corner)
        self._inverse = larger

    def drop(self, j: int) -> None:
        """Remove kink j; later kinks move up by one."""
        column = self._inverse[:, self._q + j]
        inverse = self._inverse - np.outer(column, column / column[self._q + j])
        keep = np.arange(len(column)) != self._q + j
        self._inverse = np.ascontiguousarray(inverse[np.ix_(keep, keep)])

    def exchange(self, j: int, change: Array) -> None:
        """Change the row of kink j by `change`, also if dropping j would make K singular."""
        M, place = self._inverse, self._q + j
        one, other = M[:, place].copy(), M[:, : self._q] @ change
        own, across, corner = one[place], 1.0 + other[place], change @ other[: self._q]
        scale = own * corner - across * across
        left = (corner * one - across * other) / scale
        right = (own * other - across * one) / scale
        self._inverse = M - np.outer(one, left) - np.outer(other, right)
