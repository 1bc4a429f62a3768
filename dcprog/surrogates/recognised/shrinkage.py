"""Penalties of entries of θ, collected term by term."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.losses import Loss, absolute, cap, log, power, square
from dcprog.penalties import Penalty, capped_l1, elastic_net, l1, l2, log_sum, lp
from dcprog.penalties.penalty import weighted_l1
from dcprog.surrogates.recognised.lines import uniform
from dcprog.surrogates.recognised.unrecognised import Unrecognised

__all__ = ["Shrinkage"]


class Shrinkage:
    """Σ_j (λ_j|θ_j| + (q_j/2)θ_j²) and concave functions of |θ_j|.

    Parameters
    ----------
    size : int
        Entries of θ.
    """

    def __init__(self, size: int) -> None:
        self._l1, self._l2 = np.zeros(size), np.zeros(size)
        self._concave: list[tuple[Penalty, npt.NDArray[np.integer]]] = []

    def takes(self, matrix: sp.csr_array, loss: Loss, weights: Array) -> bool:
        """Add Σ weights·loss(matrix·θ) if it is a penalty, and return True if it is."""
        columns, sizes = matrix.indices, np.abs(matrix.data)
        once = np.array_equal(np.diff(matrix.indptr), np.ones(len(weights)))
        if not once or len(set(columns.tolist())) < columns.size or not np.all(sizes > 0):
            return False
        if isinstance(loss, absolute | square) and loss.at == 0:
            if isinstance(loss, absolute):
                self._l1[columns] += weights * sizes
            else:
                self._l2[columns] += 2 * weights * sizes**2
            return True
        weight = uniform(weights)
        penalty = None if weight is None or np.any(sizes != 1) else _concave(loss, weight)
        if penalty is not None:
            self._concave.append((penalty, columns))
        return penalty is not None

    @property
    def penalized(self) -> npt.NDArray[np.bool_]:
        """The entries of θ that are penalised."""
        mask = (self._l1 > 0) | (self._l2 > 0)
        for _, columns in self._concave:
            mask[columns] = True
        return mask

    def penalty(self) -> Penalty:
        """Their penalty.

        Raises
        ------
        Unrecognised
            They are not penalised alike.
        """
        mask = self.penalized
        if not np.any(mask):
            return l2(0.0)
        total: Penalty | int = 0
        for penalty, columns in self._concave:
            if columns.size < mask.sum():
                raise Unrecognised("a concave penalty of a part of the coefficients")
            total = total + penalty
        ridge, sizes = uniform(self._l2[mask]), self._l1[mask]
        if ridge is None:
            raise Unrecognised("a ridge that differs between coefficients")
        lam = uniform(sizes)
        if lam and ridge:
            return total + elastic_net(lam, ridge)
        if np.any(sizes):
            total = total + (l1(lam) if lam else weighted_l1(sizes))
        return total + l2(ridge) if ridge else total  # type: ignore[return-value]


def _concave(loss: Loss, weight: float) -> Penalty | None:
    """The penalty weight·loss(|θ_j|)."""
    inside = getattr(loss, "loss", None)
    if not isinstance(inside, absolute) or inside.at != 0:
        return None
    if isinstance(loss, cap):
        return capped_l1(weight, float(loss.c))
    if isinstance(loss, log):
        return log_sum(weight * loss.scale, loss.scale)
    if isinstance(loss, power) and loss.delta == 0:
        return lp(weight, loss.p)
    return None
