"""The group lasso penalty, which keeps or drops whole groups of coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.penalties.penalty import Parts, Penalty


class group_lasso(Penalty):
    """The group lasso penalty λ Σ_g ‖w_g‖₂, which keeps or drops whole groups of coefficients.

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    groups : array of shape (p,), or sequence of index sequences
        A label for each coefficient, equal within a group; or the indices of each group, which must
        be disjoint. Coefficients in no group are not penalised.

    Raises
    ------
    TypeError
        λ is not a number.
    ValueError
        λ is negative, groups overlap or are empty, or (on use) do not fit the coefficients.

    Notes
    -----
    Groups of different sizes are often weighted by √size; scale the columns of X to do so.

    References
    ----------
    Yuan, Lin (2006), Model selection and estimation in regression with grouped variables, JRSS B
    68.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import group_lasso
    >>> group_lasso(2.0, [0, 0, 1])(np.array([3.0, -4.0, 1.0]))
    12.0
    """

    def __init__(self, lam: float, groups: npt.ArrayLike | Sequence[Any]) -> None:
        self.lam = check_number("lam", lam, 0, closed=True)
        self.groups = groups
        members, _ = self._members()
        named = np.concatenate(members)
        if any(m.size == 0 for m in members) or np.unique(named).size != named.size:
            raise ValueError(f"groups={groups!r}: groups must not be empty, nor overlap")

    def _members(self) -> tuple[list[npt.NDArray[np.intp]], int | None]:
        """The indices of each group, and the number of coefficients if labels are given."""
        try:
            lists = [np.asarray(group) for group in self.groups]  # type: ignore[union-attr]
        except TypeError:
            lists = []
        if not lists:
            raise ValueError(f"groups={self.groups!r}: a label for each coefficient is needed")
        if all(group.ndim == 0 for group in lists):
            labels = np.asarray(self.groups)
            if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
                raise ValueError(f"groups={self.groups!r}: a label must not be NaN or infinite")
            return [np.flatnonzero(labels == label) for label in np.unique(labels)], labels.size
        for group in lists:
            integers = group.size == 0 or group.dtype.kind in "iu"
            if group.ndim != 1 or not integers or np.any(group < 0):
                raise ValueError(f"groups={self.groups!r}: lists of indices from 0 on are needed")
        return [group.astype(np.intp) for group in lists], None

    def members(self, size: int) -> list[npt.NDArray[np.intp]]:
        """The indices of each group among `size` coefficients.

        Raises
        ------
        ValueError
            The groups do not fit that number of coefficients.
        """
        members, expected = self._members()
        if expected not in (None, size) or max(int(m.max()) for m in members) >= size:
            raise ValueError(f"groups do not fit the {size} penalised coefficients: {self!r}")
        return members

    def __call__(self, w: Array) -> float:
        """λ Σ_g ‖w_g‖."""
        return self.lam * float(sum(np.linalg.norm(w[g]) for g in self.members(w.size)))

    def slope(self, w: Array) -> Array:
        """The slopes λ w_g/‖w_g‖, 0 for a group of zeros."""
        slope = np.zeros(w.shape)
        for g in self.members(w.size):
            norm = np.linalg.norm(w[g])
            slope[g] = self.lam * w[g] / norm if norm > 0 else 0.0
        return slope

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The group lasso with λ replaced by factor·unit·λ."""
        return group_lasso(factor * unit * self.lam, self.groups)

    def parts(self) -> Parts:
        """The penalty itself, as a part of groups."""
        return Parts(groups=(self,))

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam * sum of norm2(w[g])``."""
        norms = [cp.norm2(w[g]) for g in self.members(w.size)]
        return self.lam * cp.sum(cp.hstack(norms))
