"""A risk in natural units: margins, coefficients and objective around 1."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix
from dcprog.foundation.sums import largest_sizes, means, median
from dcprog.foundation.tolerances import SQUARABLE, USUAL
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.rows.scores import Scores, coefficient_units
from dcprog.solvers.protocol import Solution

# A column is centred if its median is more than FAR times its median absolute deviation. Only
# columns with |mean| ≥ ONE_SIGN · mean of absolute values are examined.
FAR = 30.0
ONE_SIGN = 0.98
VANISHING = 1 / SQUARABLE  # columns of smaller entries count as columns of zeros
SEEN = 2**16  # most samples from which a median is computed; of more, equally spaced ones


@dataclass(frozen=True)
class Frame:
    """Rows of the samples (x − middle)/unit in place of x; of x/unit without a middle."""

    rows: Any
    unit: float = 1.0
    middle: Array | None = None


_FRAMES: WeakKeyDictionary[Scores, Frame] = WeakKeyDictionary()


@dataclass(frozen=True)
class Units:
    r"""The transformation between the subproblems of a risk and their form in natural units.

    With margins u = σu', coefficients θ_j = κ_j θ'_j and base(σu') = β·base'(u') the subproblem
    over a is

        Σ_g (d_g β/a) agg v_r base'(u'_r) + Σ_r (t_r σ/a) u'_r + Σ_j (ν_j κ_j/a) |θ'_j|
        + penalty(κθ')/a + const,

    which does not depend on the units of targets, samples and objective. The concave functions
    keep the user's units, so that their ties and kinks do not move. If intercepts are free, columns
    with a large offset are centred, and the intercepts change with them. All units are powers of
    two, which multiply without rounding: a multiplier at its bound is at its bound in any units.

    Attributes
    ----------
    natural : Risk
        The risk in natural units for the solvers, which do not use its transform.
    size : float
        a.
    margin, loss : float
        σ and β.
    coefficient : array of shape (p,)
        κ.
    frame : Frame
        The scaled and centred rows.
    """

    natural: Risk
    size: float
    margin: float
    loss: float
    coefficient: Array
    frame: Frame

    @classmethod
    def of(cls, risk: Risk, size: float) -> Units:
        """Natural units of a risk for an objective of a size; units of 1 if others overflow."""
        try:
            return cls._of(risk, _power(size), _power(margin_unit(risk)), _frame(risk))
        except (ValueError, TypeError, ArithmeticError):
            return cls._of(risk, 1.0, 1.0, Frame(risk.rows))

    @classmethod
    def _of(cls, risk: Risk, size: float, margin: float, frame: Frame) -> Units:
        natural = copy(risk)
        natural.base, loss = risk.base.in_units(margin)
        natural.offset = None if risk.offset is None else risk.offset / margin
        natural.rows = frame.rows
        unit = np.where(_sample_columns(risk.rows), margin / frame.unit, margin)
        natural.penalty = risk.penalty.in_units(margin / frame.unit, 1 / size)
        if margin != 1 or frame.rows is not risk.rows:  # otherwise the risk's own cache serves both
            natural = natural.forgetting() if risk.by_blocks else natural.remembering()
        return cls(natural, size, margin, loss, unit, frame)

    def problem(self, problem: WeightedRisk) -> WeightedRisk:
        """A weighted risk in natural units."""
        tilts, shrinkage = problem.tilts, problem.shrinkage
        return WeightedRisk(
            self.natural,
            problem.weights * (self.loss / self.size),
            None if tilts is None else tilts * (self.margin / self.size),
            None if shrinkage is None else shrinkage * (self._penalized / self.size),
        )

    @property
    def _penalized(self) -> Array:
        return self.coefficient[self.natural.penalized]

    def theta(self, theta: Array) -> Array:
        """θ in natural units."""
        return self._moved(theta, 1.0) / self.coefficient

    def _moved(self, theta: Array, side: float) -> Array:
        """θ with the intercepts for centred samples (side 1), or back (side −1)."""
        middle = self.frame.middle
        if middle is None:
            return theta
        coef, intercept = self.natural.rows.unpack(theta)
        return self.natural.rows.pack(coef, intercept + side * (coef @ middle))

    def own(self, theta: Array) -> Array:
        """θ, or a direction, in the risk's own units."""
        return self._moved(theta * self.coefficient, -1.0)

    def solution(self, solution: Solution) -> Solution:
        """A solution in the risk's own units."""
        theta, dual = np.asarray(solution.coefficients, dtype=float), solution.dual
        if theta.shape == self.coefficient.shape:
            theta = self.own(theta)
        dual = None if dual is None else dual * (self.size / self.margin)
        return replace(
            solution,
            coefficients=theta,
            dual=dual,
            value=solution.value * self.size,
            bound=solution.bound * self.size,
        )

    def dual(self, dual: Array | None) -> Array | None:
        """Multipliers in natural units."""
        return None if dual is None else dual * (self.margin / self.size)


def margin_unit(risk: Risk) -> float:
    """The spread of the margins' constants, or else their size; 1 if there are none."""
    if risk.offset is None:
        return 1.0
    offset = risk.offset[:: 1 + risk.offset.size // SEEN]
    apart = np.abs(offset / 2 - median(offset) / 2)  # halves: their difference may overflow
    for usual, of in ((median, apart), (np.mean, apart), (np.max, np.abs(offset) / 2)):
        size = 2 * float(usual(of))
        if 0 < size < np.inf:
            return size
    return 1.0


def usual_coefficients(risk: Risk) -> Array:
    """For each entry of θ the change that moves margins by about their unit; else 1."""
    return coefficient_units(risk.rows, margin_unit(risk))


def usual_coefficient(risk: Risk) -> float:
    """The median of :func:`usual_coefficients` over the penalised entries."""
    usual = usual_coefficients(risk)[risk.penalized]
    return float(np.median(usual)) if usual.size else 1.0


def _sample_columns(rows: Any) -> npt.NDArray[np.bool_]:
    """Mask of the columns in the samples' unit: all but the intercepts."""
    return rows.penalized if isinstance(rows, Scores) else np.ones(rows.shape[1], dtype=bool)


def _frame(risk: Risk) -> Frame:
    """The rows with samples around 0 and of about size 1, cached by the rows."""
    rows = risk.rows
    held = bool(np.any(risk.penalized & ~_sample_columns(rows)))
    if not isinstance(rows, Scores) or rows.kernel is not None or held:
        return Frame(rows)  # K is not centred, and neither are columns beside a penalised intercept
    if rows not in _FRAMES:
        _FRAMES[rows] = _framed(rows)
    return replace(_FRAMES[rows], rows=_FRAMES[rows].rows or rows)


def without_caches(rows: Any) -> Any:
    """A copy of rows of which no solver knows anything; X in natural units is shared."""
    new = copy(rows)
    if isinstance(rows, Scores) and rows in _FRAMES:
        _FRAMES[new] = replace(_FRAMES[rows], rows=copy(_FRAMES[rows].rows))
    return new


def _framed(rows: Scores) -> Frame:
    """The frame of scores; its rows are None if they are unchanged."""
    X, sizes = _without_vanishing(rows.X, rows.sizes)
    middle = None
    if rows.fit_intercept and isinstance(X, np.ndarray | BlockedMatrix):
        middle, sizes = _middle(X, sizes)
    unit = _power_of_two(sizes)
    if unit == 1 and middle is None and X is rows.X:
        return Frame(None)
    moved = rows.over(_moved(X, 0.0 if middle is None else middle, unit))
    return Frame(moved, unit, middle)


def _without_vanishing(X: Any, sizes: Array) -> tuple[Any, Array]:
    """Samples and their sizes, with columns of vanishing entries set to 0."""
    if not np.any((sizes > 0) & (sizes < VANISHING)):
        return X, sizes
    largest = largest_sizes(X)
    kept = (largest == 0) | (largest >= VANISHING)
    sizes = np.where(kept, sizes, 0.0)
    if not isinstance(X, np.ndarray | BlockedMatrix):
        return X @ sp.diags_array(kept.astype(float)), sizes
    return _moved(X, 0.0, np.where(kept, 1.0, np.inf)), sizes


def _moved(X: Any, middle: Any, unit: Any) -> Any:
    """(X − middle)/unit."""
    if isinstance(X, BlockedMatrix):
        return X.seen(partial(_moved, middle=middle, unit=unit), X.shape[1])
    return X / unit if np.all(middle == 0) else (X - middle) / unit


def _middle(X: Any, sizes: Array) -> tuple[Array | None, Array]:
    """The medians of columns far from 0, or None, and the sizes of the centred columns."""
    places = np.flatnonzero(np.abs(means(X)) >= ONE_SIGN * sizes)
    some = X[:: 1 + len(X) // SEEN][:, places] if places.size else np.zeros((1, 0))
    centre = np.median(some, axis=0)
    left = np.abs(some - centre)
    apart = np.median(left, axis=0)
    apart = np.where(apart > 0, apart, left.mean(axis=0))
    far = (np.abs(centre) > FAR * apart) & (apart > 0)
    if not np.any(far):
        return None, sizes
    middle, sizes = np.zeros(X.shape[1]), sizes.copy()
    middle[places[far]], sizes[places[far]] = centre[far], apart[far]
    return middle, sizes


def _power_of_two(sizes: Array) -> float:
    """The power of two below the median size; 1 if that is within USUAL."""
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    size = float(np.median(sizes)) if sizes.size else 1.0
    return 1.0 if 1 / USUAL <= size <= USUAL else _power(size)


def _power(size: float) -> float:
    """The power of two just below a size."""
    return float(np.exp2(np.floor(np.log2(size))))
