"""Split a multiclass problem into two-class problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.penalties import Penalty, l2
from dcprog.rows.kernel_expansion import expansion_margins
from dcprog.rows.linear import Margins, binary_margins

__all__ = ["Machine", "Side", "machines", "sides"]

Index = npt.NDArray[np.intp]
Side = tuple[int | None, int]


@dataclass(frozen=True)
class Machine:
    """One two-class problem on a subset of the samples.

    Attributes
    ----------
    samples : int array of shape (m,)
        The indices of its samples.
    signs : array of shape (m,)
        The labels −1 and +1.
    rows : Margins
        The margins y f(x), of a kernel expansion or of linear scores.
    penalty : Penalty
        ½‖w‖².
    """

    samples: Index
    signs: Array
    rows: Margins
    penalty: Penalty


def sides(k: int, multiclass: str) -> list[Side]:
    """The negative class (None for all others) and the positive class of each problem.

    Examples
    --------
    >>> from dcprog.estimators.machines import sides
    >>> sides(3, "ovo"), sides(3, "ovr")
    ([(0, 1), (0, 2), (1, 2)], [(None, 0), (None, 1), (None, 2)])
    """
    if k == 2:
        return [(0, 1)]
    if multiclass == "ovr":
        return [(None, j) for j in range(k)]
    return list(combinations(range(k), 2))


def members(place: Any, side: Side) -> tuple[Any, Any]:
    """Masks of a problem's samples and of its positive samples, from the samples' class indices."""
    negative, positive = side
    wanted = place == positive
    return wanted | (True if negative is None else place == negative), wanted


def machines(Z: Any, place: Any, found: list[Side], is_matrix: bool) -> Iterator[Machine]:
    """Yield the two-class problems.

    Parameters
    ----------
    Z : array of shape (n, n), or array or sparse matrix of shape (n, d)
        A kernel matrix if `is_matrix`, otherwise the features of linear scores.
    place : int array of shape (n,)
        The index of each sample's class.
    found : list
        The classes of each problem, from :func:`sides`.
    is_matrix : bool
    """
    for side in found:
        among, wanted = members(place, side)
        samples = np.flatnonzero(among)
        signs = np.where(wanted[samples], 1.0, -1.0)
        if is_matrix:
            part = Z if samples.size == len(Z) else Z[np.ix_(samples, samples)]
            rows: Any = expansion_margins(part, signs)
            yield Machine(samples, signs, rows, rows.norm(1.0))
        else:
            yield Machine(samples, signs, binary_margins(Z[samples], signs), l2(1.0))
