"""A risk in natural units: margins, coefficients and objective around 1."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.rows import Scores
from dcprog.rows_expansion import KernelExpansion
from dcprog.rows_kernel import KernelRows
from dcprog.solvers.protocol import Solution
from dcprog.tree import Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["Parts", "Units", "column_sizes", "margin_unit"]

# Samples of a size between these are left as they are: their copies would cost memory.
USUAL = 1e-3, 1e3

Parts = tuple[Array, Array | None, Array | None]  # weights, tilts and shrinkage of a tightening

_SCALED: WeakKeyDictionary[Scores, Any] = WeakKeyDictionary()


@dataclass(frozen=True)
class Units:
    r"""Between the subproblems of a risk and the same ones in natural units.

    With margins u = σu', coefficients θ_j = κ_j θ'_j and base(σu') = β·base'(u') the subproblem
    over a is

        Σ_g (d_g β/a) agg v_r base'(u'_r) + Σ_r (t_r σ/a) u'_r + Σ_j (ν_j κ_j/a) |θ'_j|
        + penalty(κθ')/a + const,

    the same in whatever units targets, samples and objective are. The concave functions are not
    touched: their ties and kinks stay where they are.

    Attributes
    ----------
    natural : Risk
        In natural units, for the solvers of subproblems: they look at no transform.
    size : float
        a.
    margin, loss : float
        σ and β.
    coefficient : array of shape (p,)
        κ.
    """

    natural: Risk
    size: float
    margin: float
    loss: float
    coefficient: Array

    @classmethod
    def of(cls, risk: Risk, size: float) -> Units:
        """Natural units of a risk for an objective of some size; 1 where others overflow."""
        try:
            return cls._of(risk, size, margin_unit(risk), _sample_unit(risk))
        except (ValueError, TypeError, ArithmeticError):
            return cls._of(risk, 1.0, 1.0, 1.0)

    @classmethod
    def _of(cls, risk: Risk, size: float, margin: float, sample: float) -> Units:
        natural = copy(risk)
        natural.base, loss = risk.base.in_units(margin)
        natural.offset = None if risk.offset is None else risk.offset / margin
        natural.rows = risk.rows if sample == 1 else _rows_over(risk.rows, sample)
        unit = np.where(_scaled_columns(risk.rows), margin / sample, margin)
        natural.penalty = risk.penalty.in_units(margin / sample, 1 / size)
        return cls(natural.remembering(), size, margin, loss, unit)

    def parts(self, parts: Parts) -> Parts:
        """Weights, tilts and shrinkage in natural units."""
        weights, tilts, shrinkage = parts
        return (
            weights * (self.loss / self.size),
            None if tilts is None else tilts * (self.margin / self.size),
            None if shrinkage is None else shrinkage * (self._penalized / self.size),
        )

    @property
    def _penalized(self) -> Array:
        return self.coefficient[self.natural.penalized]

    def theta(self, theta: Array) -> Array:
        """θ in natural units."""
        return theta / self.coefficient

    def solution(self, solution: Solution) -> Solution:
        """A solution in the risk's own units."""
        dual = solution.dual
        return replace(
            solution,
            coefficients=np.asarray(solution.coefficients, dtype=float) * self.coefficient,
            dual=None if dual is None else dual * (self.size / self.margin),
            value=solution.value * self.size,
        )


def margin_unit(risk: Risk) -> float:
    """How far the constants of the margins are apart, or their size, or 1 if there are none."""
    offset = risk.offset
    if offset is None:
        return 1.0
    apart = np.abs(offset / 2 - np.median(offset) / 2)  # halves: their difference may overflow
    for size in (2 * np.median(apart), 2 * np.mean(apart), np.max(np.abs(offset))):
        if 0 < size < np.inf:
            return float(size)
    return 1.0


def column_sizes(rows: Any) -> Array:
    """The mean size of the entries of each column of the rows; 1 where they are not known.

    For scores those of the samples, and 1 for the intercepts.
    """
    if not isinstance(rows, Scores):
        known = isinstance(rows, np.ndarray) or sp.issparse(rows)
        return _mean_sizes(rows) if known else np.ones(rows.shape[1])
    sizes = np.tile(_mean_sizes(rows.X), rows.n_scores)
    return np.concatenate([sizes, np.ones(rows.shape[1] - sizes.size)])


def _mean_sizes(X: Any) -> Array:
    return np.asarray(abs(X).mean(axis=0)).ravel()


def _scaled_columns(rows: Any) -> npt.NDArray[np.bool_]:
    """The columns that have the samples' unit: all but the intercepts."""
    return rows.penalized if isinstance(rows, Scores) else np.ones(rows.shape[1], dtype=bool)


def _sample_unit(risk: Risk) -> float:
    """A power of two of the samples' size; 1 where they are of usual size, or are a kernel's."""
    rows = risk.rows
    if isinstance(rows, KernelRows | KernelExpansion):
        return 1.0
    columns = _scaled_columns(rows)
    if np.any(risk.penalized & ~columns):  # one penalty weight would become two
        return 1.0
    sizes = column_sizes(rows)[columns]
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    size = float(np.median(sizes)) if sizes.size else 1.0
    return 1.0 if USUAL[0] <= size <= USUAL[1] else float(np.exp2(np.round(np.log2(size))))


def _rows_over(rows: Any, sample: float) -> Any:
    """The rows of samples divided by their unit; the same object for the same rows."""
    if not isinstance(rows, Scores):
        return rows / sample
    if rows not in _SCALED:
        scaled = copy(rows)
        scaled.X = rows.X / sample
        _SCALED[rows] = scaled
    return _SCALED[rows]
