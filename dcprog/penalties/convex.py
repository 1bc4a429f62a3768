"""Convex penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.penalties.penalty import Penalty, makes

__all__ = ["elastic_net", "group_lasso", "l1", "l2", "weighted_l1"]


class l1(Penalty):
    """λ‖w‖₁.

    Parameters
    ----------
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        λ is no finite number of at least 0.

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso, JRSS B 58.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l1
    >>> l1(2.0)(np.array([1.0, -2.0]))
    6.0
    """

    def __init__(self, lam: float = 1.0) -> None:
        check_number("lam", lam, 0, closed=True)
        self.lam = lam

    def __call__(self, w: Array) -> float:
        """λ‖w‖₁."""
        return self.lam * float(np.sum(np.abs(w)))

    def slope(self, w: Array) -> Array:
        """λ sign(w)."""
        return self.lam * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam * norm1(w)``."""
        return self.lam * cp.norm1(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """λ in the units."""
        return l1(factor * unit * self.lam)

    def as_l1_l2(self, size: int) -> tuple[Array, float]:
        """(λ, 0)."""
        return np.full(size, float(self.lam)), 0.0


class l2(Penalty):
    """(λ/2)‖w‖².

    Parameters
    ----------
    lam : float, default 1.0
        λ ≥ 0.

    Raises
    ------
    TypeError, ValueError
        λ is no finite number of at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import l2
    >>> l2(2.0)(np.array([1.0, 2.0]))
    5.0
    """

    def __init__(self, lam: float = 1.0) -> None:
        check_number("lam", lam, 0, closed=True)
        self.lam = lam

    def __call__(self, w: Array) -> float:
        """(λ/2)‖w‖²."""
        return 0.5 * self.lam * float(w @ w)

    def slope(self, w: Array) -> Array:
        """λw."""
        return self.lam * w

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam / 2 * sum_squares(w)``."""
        return 0.5 * self.lam * cp.sum_squares(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """λ in the units."""
        return l2(factor * unit**2 * self.lam)

    def as_l1_l2(self, size: int) -> tuple[Array, float]:
        """(0, λ)."""
        return np.zeros(size), float(self.lam)


class elastic_net(Penalty):
    """l1·‖w‖₁ + (l2/2)‖w‖².

    Parameters
    ----------
    l1, l2 : float
        At least 0.

    Raises
    ------
    TypeError, ValueError
        Not a finite number of at least 0.

    References
    ----------
    Zou, Hastie (2005), Regularization and variable selection via the elastic net, JRSS B 67.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import elastic_net
    >>> elastic_net(1.0, 2.0)(np.array([1.0, -2.0]))
    8.0
    """

    def __init__(self, l1: float, l2: float) -> None:
        check_number("l1", l1, 0, closed=True)
        check_number("l2", l2, 0, closed=True)
        self.l1 = l1
        self.l2 = l2

    def __call__(self, w: Array) -> float:
        """l1·‖w‖₁ + (l2/2)‖w‖²."""
        return self.l1 * float(np.sum(np.abs(w))) + 0.5 * self.l2 * float(w @ w)

    def slope(self, w: Array) -> Array:
        """l1·sign(w) + l2·w."""
        return self.l1 * np.sign(w) + self.l2 * w

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``l1 * norm1(w) + l2 / 2 * sum_squares(w)``."""
        return self.l1 * cp.norm1(w) + 0.5 * self.l2 * cp.sum_squares(w)

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """Both weights in the units."""
        return elastic_net(factor * unit * self.l1, factor * unit**2 * self.l2)

    def as_l1_l2(self, size: int) -> tuple[Array, float]:
        """(l1, l2)."""
        return np.full(size, float(self.l1)), float(self.l2)


@makes
class weighted_l1(Penalty):
    """Σ_j v_j |w_j|, the majorant of a concave penalty.

    Parameters
    ----------
    v : array
        At least 0, one a coefficient.

    Raises
    ------
    ValueError
        Negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.penalties import weighted_l1
    >>> weighted_l1([1.0, 3.0])(np.array([1.0, -2.0]))
    7.0
    """

    def __init__(self, v: npt.ArrayLike) -> None:
        array = np.asarray(v, dtype=float)
        if not np.all((array >= 0) & np.isfinite(array)):
            raise ValueError(f"v={v!r}: finite weights of at least 0 are needed")
        self.v = v

    def __call__(self, w: Array) -> float:
        """Σ v_j |w_j|."""
        return float(np.sum(np.asarray(self.v) * np.abs(w)))

    def slope(self, w: Array) -> Array:
        """v_j sign(w_j)."""
        return np.asarray(self.v) * np.sign(w)

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``sum(multiply(v, abs(w)))``."""
        return cp.sum(cp.multiply(np.asarray(self.v, dtype=float), cp.abs(w)))

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """The weights in the units."""
        return weighted_l1(factor * unit * np.asarray(self.v))

    def as_l1_l2(self, size: int) -> tuple[Array, float] | None:
        """(v, 0), for as many coefficients as there are weights."""
        v = np.asarray(self.v, dtype=float)
        return (np.broadcast_to(v, size).copy(), 0.0) if v.size in (1, size) else None


class group_lasso(Penalty):
    """λ Σ_g ‖w_g‖₂: whole groups of coefficients are kept or dropped.

    Parameters
    ----------
    lam : float
        λ ≥ 0.
    groups : array of shape (p,), or sequence of index sequences
        The group of each coefficient, by any label; or the coefficients of each group, disjoint
        (what no group names is not penalised).

    Raises
    ------
    TypeError
        λ is no number.
    ValueError
        λ is negative, groups overlap or are empty, or do not fit the coefficients (on use).

    Notes
    -----
    Groups of different sizes are often weighted by √size; scale the columns of the data for that.

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
        check_number("lam", lam, 0, closed=True)
        self.lam = lam
        self.groups = groups
        members, _ = self._members()
        named = np.concatenate(members)
        if any(m.size == 0 for m in members) or np.unique(named).size != named.size:
            raise ValueError(f"groups={groups!r}: groups must not be empty, nor overlap")

    def _members(self) -> tuple[list[npt.NDArray[np.intp]], int | None]:
        """The indices of each group, and the number of coefficients if the labels tell it."""
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
        """The places of each group among `size` coefficients.

        Raises
        ------
        ValueError
            The groups do not fit.
        """
        members, expected = self._members()
        if expected not in (None, size) or max(int(m.max()) for m in members) >= size:
            raise ValueError(f"groups do not fit the {size} penalised coefficients: {self!r}")
        return members

    def __call__(self, w: Array) -> float:
        """λ Σ_g ‖w_g‖."""
        return self.lam * float(sum(np.linalg.norm(w[g]) for g in self.members(w.size)))

    def slope(self, w: Array) -> Array:
        """λ w_g/‖w_g‖, 0 for a group of zeros."""
        slope = np.zeros(w.shape)
        for g in self.members(w.size):
            norm = np.linalg.norm(w[g])
            slope[g] = self.lam * w[g] / norm if norm > 0 else 0.0
        return slope

    def in_units(self, unit: float, factor: float = 1.0) -> Penalty:
        """λ in the units."""
        return group_lasso(factor * unit * self.lam, self.groups)

    def sparse_sizes(self, w: npt.ArrayLike) -> Array:
        """The norm of each entry's group."""
        w = np.asarray(w, dtype=float)
        sizes = np.full(w.shape, np.inf)
        for g in self.members(w.size) if self.lam > 0 else []:
            sizes[g] = np.linalg.norm(w[g])
        return sizes

    def expression(self, w: cp.Expression) -> cp.Expression:
        """``lam * sum of norm2(w[g])``."""
        norms = [cp.norm2(w[g]) for g in self.members(w.size)]
        return self.lam * cp.sum(cp.hstack(norms))
