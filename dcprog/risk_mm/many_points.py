"""A risk of few coefficients at many points at once: values and sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, dense
from dcprog.risk_mm.units import margin_unit
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform, trim_of

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["ManyPoints", "Points", "slopes", "transformed"]

# No points are drafted of a risk with more coefficients.
MOST_COEFFICIENTS = 100
MOST_NUMBERS = 2**24  # of samples that are moved around their middle
# Products of pairs of columns are kept where they are no more numbers than that.
MOST_PRODUCTS = 2**22


@dataclass(frozen=True)
class Points:
    """Points, one a row, in the units of :class:`ManyPoints`: margins, values, how they came."""

    theta: Array
    margins: Array
    values: Array
    kinds: npt.NDArray[np.str_]

    def __getitem__(self, index: npt.NDArray[np.intp] | slice) -> Points:
        return Points(*(column[index] for column in self._columns))

    @property
    def _columns(self) -> tuple[Any, ...]:
        return self.theta, self.margins, self.values, self.kinds

    def lowest(self, count: int) -> Points:
        """The best ones, best first."""
        return self[np.argsort(self.values, kind="stable")[:count]]

    def named(self, kinds: npt.NDArray[np.str_]) -> Points:
        """The points under other names of kinds."""
        return replace(self, kinds=kinds)

    def joined(self, other: Points) -> Points:
        """These and others."""
        pairs = zip(self._columns, other._columns, strict=True)
        return Points(*(np.concatenate(pair) for pair in pairs))


class ManyPoints:
    """A risk Σ_g s_g [φ(agg v·base(u)) − agg v·sub(u)] + penalty, K points at a time.

    Coefficients are counted in units in which the columns of the rows have size 1.

    Parameters
    ----------
    risk : Risk
        One that :meth:`takes` says yes to.
    groups : int array, optional
        A few that stand for all of them.
    """

    def __init__(self, risk: Risk, groups: npt.NDArray[np.intp] | None = None) -> None:
        self.risk = risk
        self.groups = groups
        self.transform = risk.transform.of_groups(groups)
        members = risk.members_of(np.arange(risk.n_groups) if groups is None else groups)
        self.n_groups, self.m = members.shape
        rows = members.ravel()
        self.middle = _middle(risk, rows)
        A = _matrix(risk.scores, rows, self.middle)
        size = np.sqrt(np.mean(A**2, axis=0))
        self.unit = np.where(size > 0, size, 1.0)
        self.A = A / self.unit
        self.products = _products(self.A)
        self.offset = None if risk.offset is None else risk.offset[rows]
        self.weights = None if risk.weights is None else risk.weights[rows]
        s = np.ones(risk.n_groups) if risk.sample_weight is None else risk.sample_weight
        self.shares = s if groups is None else s[groups] * (risk.n_groups / self.n_groups)
        self.margin = margin_unit(risk)

    @staticmethod
    def takes(risk: Risk) -> bool:
        """True for few coefficients, losses that are not convex, and rows of scores."""
        if risk.has_convex_losses:
            return False
        rows = risk.rows
        if not isinstance(rows, Scores) or rows.kernel is not None:
            return False
        n, p = rows.shape
        return 0 < p <= MOST_COEFFICIENTS and (risk._groups is None or risk.members.size == n)

    def of(self, risk: Risk) -> Self:
        """The data under another transform or with other losses subtracted."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, risk=risk)
        other.transform = risk.transform.of_groups(self.groups)
        return other

    def weighted(self, weights: Array) -> Self:
        """The data with other weights of the groups at each point, (K, n_groups)."""
        other = self.of(self.risk)
        other.shares = self.shares * weights
        return other

    def some(self, groups: npt.NDArray[np.intp]) -> Self:
        """A few groups that stand for all of them."""
        rows = (groups[:, None] * self.m + np.arange(self.m)).ravel()
        share = self.n_groups / groups.size
        other = self.of(self.risk)
        other.groups = groups if self.groups is None else self.groups[groups]
        other.transform = self.risk.transform.of_groups(other.groups)
        other.n_groups = groups.size
        other.A = self.A[rows]
        other.products = _products(other.A) if self.products is None else self.products[rows]
        other.offset = None if self.offset is None else self.offset[rows]
        other.weights = None if self.weights is None else self.weights[rows]
        other.shares = share * self.shares[groups]
        return other

    # ------------------------------------------------------------------------------------------
    # values

    def at(self, theta: Array, kind: str) -> Points:
        """Points in units of the matrix, with margins and values."""
        margins = theta @ self.A.T
        if self.offset is not None:
            margins += self.offset
        kinds = np.full(len(theta), kind)
        return Points(theta, margins, self.values_at(theta, margins), kinds)

    def revalued(self, points: Points, h: float | Array = 0.0) -> Points:
        """The points, with the values of this risk, smoothed over ±h."""
        return replace(points, values=self.values_at(points.theta, points.margins, h))

    def losses(self, margins: Array, h: float | Array = 0.0) -> Array:
        """The losses of each group, of shape (K, n_groups): means over [u − h, u + h], nearly."""
        base = self.risk.base
        losses = base(margins)
        if np.any(h):  # Simpson's rule
            losses = (base(margins - h) + 4 * losses + base(margins + h)) / 6
        return self.combined(self.scaled(losses))

    def scaled(self, losses: Array) -> Array:
        """Losses of the rows, times the rows' weights."""
        return losses if self.weights is None else self.weights * losses

    def combined(self, losses: Array) -> Array:
        """Losses of the groups from those of their rows."""
        if self.risk.aggregate is None:
            return losses
        grouped = losses.reshape(len(losses), self.n_groups, self.m)
        return grouped.sum(axis=2) if self.risk.aggregate == "sum" else grouped.max(axis=2)

    def values_at(self, theta: Array, margins: Array, h: float | Array = 0.0) -> Array:
        """The risk, or smoothed, at points whose margins are known; infinite where no number."""
        risk = self.risk
        values = transformed(self.transform, self.losses(margins, h))
        if risk.subtracted is not None:
            sub = risk.subtracted
            less = np.array([sub(u) for u in margins]) if sub.is_joint else sub(margins)
            values = values - self.combined(self.scaled(less))
        total = np.sum(self.shares * values, axis=1) + self._penalty(theta)
        return np.where(np.isnan(total), np.inf, total)

    def coefficients(self, theta: Array) -> Array:
        """The penalised coefficients, in units of the risk; intercepts that are moved are none."""
        return (theta / self.unit)[:, self.risk.penalized]

    def _penalty(self, theta: Array) -> Array:
        w = self.coefficients(theta)
        if not self.is_elastic:
            return np.array([self.risk.penalty(row) for row in w])
        parts = self.risk.penalty.parts()
        return np.sum(parts.l1 * np.abs(w), axis=1) + parts.ridge / 2 * np.sum(w**2, axis=1)

    @property
    def is_elastic(self) -> bool:
        """True if the penalty is Σ_j l1_j|w_j| + (ridge/2)‖w‖²."""
        parts = self.risk.penalty.parts()
        return parts.is_elastic and not parts.concave

    # ------------------------------------------------------------------------------------------
    # units

    def given(self, theta: Array) -> Array:
        """Points of the risk in units of the matrix."""
        return self._moved(np.atleast_2d(theta), 1.0) * self.unit

    def taken(self, theta: Array) -> Array:
        """Points in units of the risk."""
        return self._moved(theta / self.unit, -1.0)

    def _moved(self, theta: Array, side: float) -> Array:
        """The points with intercepts that belong to samples around their middle, or back."""
        if self.middle is None:
            return theta
        scores = self.risk.scores
        moved = theta.copy()
        coef = theta[:, : scores.n_scores * self.middle.size]
        shift = coef.reshape(len(theta), scores.n_scores, self.middle.size) @ self.middle
        moved[:, -scores.n_scores :] += side * shift
        return moved


def transformed(transform: Transform, losses: Array) -> Array:
    """φ of the losses at every point, (K, n_groups)."""
    if not transform.is_joint:
        return transform(losses)
    if isinstance(transform, trim_of):
        return losses * _kept(transform, losses)
    return np.array([transform(row) for row in losses])


def slopes(transform: Transform, losses: Array) -> Array:
    """φ' at the losses of every point, (K, n_groups)."""
    if not transform.is_joint:
        return np.broadcast_to(transform.slope(losses), losses.shape)
    if isinstance(transform, trim_of):
        return _kept(transform, losses)
    return np.array([transform.slope(row) for row in losses])


def _kept(transform: trim_of, losses: Array) -> Array:
    """1 for the losses that are not among the largest, 0 for those; all points at once."""
    n = losses.shape[1]
    k = transform.dropped(n)
    kept = np.ones_like(losses)
    if k:
        largest = np.argpartition(losses, n - k, axis=1)[:, n - k :]
        np.put_along_axis(kept, largest, 0.0, axis=1)
    return kept


def _middle(risk: Risk, rows: npt.NDArray[np.intp]) -> Array | None:
    """The middle of the rows' samples, where free intercepts take up what moving them leaves."""
    scores = risk.scores
    free = scores.fit_intercept and not np.any(risk.penalized & ~scores.penalized)
    samples = scores.samples_of(rows)
    if not free or samples.size * scores.X.shape[1] > MOST_NUMBERS:
        return None
    return np.median(dense(scores.X[samples]), axis=0)


def _matrix(scores: Scores, rows: npt.NDArray[np.intp], middle: Array | None) -> Array:
    """Some rows as an array, of samples around their middle."""
    A = scores.dense_rows(rows)
    if middle is not None:
        codes, c = A[:, -scores.n_scores :], scores.n_scores
        coefs = A[:, :-c].reshape(len(A), c, middle.size)
        coefs -= codes[:, :, None] * middle
    return A


def _products(A: Array) -> Array | None:
    """Products of the pairs of columns, where they are not too many."""
    n, p = A.shape
    one, other = np.triu_indices(p)
    if n * one.size > MOST_PRODUCTS:
        return None
    columns = np.ascontiguousarray(A.T)
    return (columns[one] * columns[other]).T
