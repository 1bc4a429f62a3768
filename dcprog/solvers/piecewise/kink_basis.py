"""Which kinks are held, with the inverse of their equations as they come and go."""

from __future__ import annotations

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["KinkBasis"]


class KinkBasis:
    r"""The inverse of  K = [[H, Bᵀ], [B, 0]]  with H = diag(h) ≥ 0 and a row of B a kink held.

    Holding, dropping and exchanging a kink are changes of rank two, of (q + k)² operations.

    Parameters
    ----------
    h : array of shape (q,)
    rows : array of shape (k, q)
        B, with which K is regular.

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
        """The largest number in the inverse, by which rounding grows."""
        return float(np.max(np.abs(self._inverse)))

    def step(self, slope: Array) -> tuple[Array, Array]:
        """Where ½d'Hd + slope·d is least with B d = 0, and the multipliers of the kinks there."""
        found = self._inverse[:, : self._q] @ -slope
        return found[: self._q], found[self._q :]

    def to(self, changes: Array) -> Array:
        """The step, shortest by H, that changes the scores of the kinks held by these."""
        step: Array = self._inverse[: self._q, self._q :] @ changes
        return step

    def away(self, j: int) -> Array:
        """The direction in which v_j grows at the rate 1 and all other kinks are held."""
        return self._inverse[: self._q, self._q + j].copy()

    def lengths(self) -> Array:
        """Lengths of all directions :meth:`away`."""
        away = self._inverse[: self._q, self._q :]
        lengths: Array = np.sqrt(np.einsum("ij,ij->j", away, away))
        return lengths

    def hold(self, row: Array) -> None:
        """One kink more, at the end."""
        size = len(self._inverse)
        image = self._inverse[:, : self._q] @ row
        image_and_one = np.append(image, -1.0)
        corner = float(row @ image[: self._q])
        larger = np.zeros((size + 1,) * 2)
        larger[:size, :size] = self._inverse
        larger -= np.outer(image_and_one, image_and_one / corner)
        self._inverse = larger

    def drop(self, j: int) -> None:
        """Without kink j; those behind it move up."""
        column = self._inverse[:, self._q + j]
        inverse = self._inverse - np.outer(column, column / column[self._q + j])
        keep = np.arange(len(column)) != self._q + j
        self._inverse = np.ascontiguousarray(inverse[np.ix_(keep, keep)])

    def exchange(self, j: int, change: Array) -> None:
        """Another row in the place of kink j, where dropping that one would leave K singular."""
        M, place = self._inverse, self._q + j
        one, other = M[:, place].copy(), M[:, : self._q] @ change
        own, across, corner = one[place], 1.0 + other[place], change @ other[: self._q]
        scale = own * corner - across * across
        left = (corner * one - across * other) / scale
        right = (own * other - across * one) / scale
        self._inverse = M - np.outer(one, left) - np.outer(other, right)
