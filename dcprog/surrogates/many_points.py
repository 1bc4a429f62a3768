"""A risk of few coefficients at many points at once: values, and smoothed Newton steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, dense
from dcprog.rows.scores import Scores
from dcprog.surrogates.risk_units import margin_unit

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["ManyPoints", "Points"]

# No points are drafted of a risk with more coefficients, or more numbers in its rows' matrix.
MOST_COEFFICIENTS = 300
MOST_NUMBERS = 2**25
# Products of pairs of columns are kept where they are no more numbers than that.
MOST_PRODUCTS = 2**22
# Shares of a Newton step that are tried; the lowest point is kept.
SHARES = (1.0, 0.5, 0.2, 0.05)
# Of the largest diagonal entry of a Newton matrix, and of the largest coefficient.
JITTER = 1e-9
SMALL = 1e-3


@dataclass(frozen=True)
class Points:
    """Points, one a row, in the units of :class:`ManyPoints`: margins, values, how they came."""

    theta: Array
    margins: Array
    values: Array
    kinds: npt.NDArray[np.str_]

    def __getitem__(self, index: npt.NDArray[np.intp]) -> Points:
        return Points(*(column[index] for column in self._columns))

    @property
    def _columns(self) -> tuple[Any, ...]:
        return self.theta, self.margins, self.values, self.kinds

    def lowest(self, count: int) -> Points:
        """The best ones, best first."""
        return self[np.argsort(self.values, kind="stable")[:count]]

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
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.n_groups, self.m = risk.members.shape
        rows = risk.members.ravel()
        A = _matrix(risk, rows)
        size = np.sqrt(np.mean(A**2, axis=0))
        self.unit = np.where(size > 0, size, 1.0)
        self.A = A / self.unit
        self._products = _products(self.A)
        self.offset = None if risk.offset is None else risk.offset[rows]
        self.weights = None if risk.weights is None else risk.weights[rows]
        self.shares: Any = 1.0 if risk.sample_weight is None else risk.sample_weight
        self.margin = margin_unit(risk)
        self._form = risk.penalty.as_l1_l2(int(risk.penalized.sum()))

    @staticmethod
    def takes(risk: Risk) -> bool:
        """Are there few coefficients, and rows of scores, as many in each group?"""
        rows = risk.rows
        if not isinstance(rows, Scores) or rows.kernel is not None:
            return False
        n, p = rows.shape
        return 0 < p <= MOST_COEFFICIENTS and n * p <= MOST_NUMBERS and risk.members.size == n

    def of(self, risk: Risk) -> Self:
        """The same data under another transform or other things subtracted."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, risk=risk)
        return other

    def some(self, groups: npt.NDArray[np.intp]) -> Self:
        """A few groups that stand for all of them."""
        rows = (groups[:, None] * self.m + np.arange(self.m)).ravel()
        share = self.n_groups / groups.size
        other = self.of(self.risk)
        other.n_groups = groups.size
        other.A = self.A[rows]
        other._products = _products(other.A) if self._products is None else self._products[rows]
        other.offset = None if self.offset is None else self.offset[rows]
        other.weights = None if self.weights is None else self.weights[rows]
        other.shares = share * (self.shares if np.ndim(self.shares) == 0 else self.shares[groups])
        return other

    # ------------------------------------------------------------------------------------------
    # values

    def at(self, theta: Array, kind: str) -> Points:
        """Points in units of the matrix, with margins and values."""
        margins = theta @ self.A.T
        if self.offset is not None:
            margins += self.offset
        kinds = np.full(len(theta), kind)
        return Points(theta, margins, self._values(theta, margins), kinds)

    def revalued(self, points: Points) -> Points:
        """The points, with the values of this risk."""
        return replace(points, values=self._values(points.theta, points.margins))

    def losses(self, margins: Array) -> Array:
        """The losses of each group, of shape (K, n_groups)."""
        return self._combined(self._scaled(self.risk.base(margins)))

    def _scaled(self, losses: Array) -> Array:
        return losses if self.weights is None else self.weights * losses

    def _combined(self, losses: Array) -> Array:
        if self.risk.aggregate is None:
            return losses
        grouped = losses.reshape(len(losses), self.n_groups, self.m)
        return grouped.sum(axis=2) if self.risk.aggregate == "sum" else grouped.max(axis=2)

    def _values(self, theta: Array, margins: Array) -> Array:
        risk = self.risk
        transform = risk.transform
        losses = self.losses(margins)
        if transform.is_joint:
            values = np.array([transform(row) for row in losses])
        else:
            values = transform(losses)
        if risk.subtracted is not None:
            sub = risk.subtracted
            less = np.array([sub(u) for u in margins]) if sub.is_joint else sub(margins)
            values = values - self._combined(self._scaled(less))
        total = np.sum(self.shares * values, axis=1) + self._penalty(theta)
        return np.where(np.isnan(total), np.inf, total)

    def _coefficients(self, theta: Array) -> Array:
        return (theta / self.unit)[:, self.risk.penalized]

    def _penalty(self, theta: Array) -> Array:
        w = self._coefficients(theta)
        if self._form is None:
            return np.array([self.risk.penalty(row) for row in w])
        l1, l2 = self._form
        return np.abs(w) @ l1 + l2 / 2 * np.sum(w**2, axis=1)

    # ------------------------------------------------------------------------------------------
    # steps

    def step(self, points: Points, width: float) -> Points:
        """A Newton step from every point on the majorant there, as far as the risk falls.

        Base losses are smoothed over ±width: in place of ℓ the mean of ℓ over [u − h, u + h], whose
        slope is (ℓ(u + h) − ℓ(u − h))/2h and whose curvature (ℓ'(u + h) − ℓ'(u − h))/2h. That
        makes quadratics of hinges and absolute values.
        """
        slope, curvature = self._derivatives(points, width * self.margin)
        gradient, gram = slope @ self.A, self._gram(curvature)
        self._add_penalty(points.theta, gradient, gram)
        move = _solved(gram, -gradient)
        along = move @ self.A.T
        best = points
        for share in SHARES:
            theta, margins = points.theta + share * move, points.margins + share * along
            values = self._values(theta, margins)
            lower = values < best.values
            best = Points(
                np.where(lower[:, None], theta, best.theta),
                np.where(lower[:, None], margins, best.margins),
                np.where(lower, values, best.values),
                points.kinds,
            )
            if np.all(best.values < points.values):
                break
        return best

    def _derivatives(self, points: Points, h: float) -> tuple[Array, Array]:
        """Slopes and curvatures of the smoothed majorants in the margins, of shape (K, n_rows)."""
        risk, u = self.risk, points.margins
        weights = self._row_weights(u)
        base, up, down = risk.base, u + h, u - h
        slope = weights * (base(up) - base(down)) / (2 * h)
        curvature = weights * (base.slope(up) - base.slope(down)) / (2 * h)
        if risk.subtracted is not None:
            slope -= self._tilts(u)
        return slope, curvature

    def _row_weights(self, u: Array) -> Array:
        """s_g φ'(agg) v_r for every row; under a maximum for the largest row of a group."""
        losses, transform = self.losses(u), self.risk.transform
        if transform.is_joint:
            weights = np.array([transform.slope(row) for row in losses])
        else:
            weights = np.asarray(transform.slope(losses))
        weights = self.shares * np.broadcast_to(weights, losses.shape)
        return self._spread(weights, self._scaled(self.risk.base(u)))

    def _tilts(self, u: Array) -> Array:
        sub = self.risk.subtracted
        assert sub is not None
        joint = sub.is_joint
        slopes = np.array([sub.slope(row) for row in u]) if joint else sub.slope(u)
        if self.risk.aggregate is None:
            return self.shares * self._scaled(slopes)
        ones = np.broadcast_to(self.shares, (len(u), self.n_groups))
        return slopes * self._spread(ones, self._scaled(sub(u)))

    def _spread(self, weights: Array, losses: Array) -> Array:
        """Weights of the rows from those of their groups."""
        if self.risk.aggregate is not None:
            weights = np.repeat(weights, self.m, axis=1)
        if self.risk.aggregate == "max":
            grouped = losses.reshape(len(losses), self.n_groups, self.m)
            first = np.argmax(grouped, axis=2)[:, :, None] == np.arange(self.m)
            weights = weights * first.reshape(weights.shape)
        return self._scaled(weights)

    def _gram(self, curvature: Array) -> Array:
        """Aᵀ diag(c) A for every row c."""
        if self._products is None:
            return np.array([(self.A * c[:, None]).T @ self.A for c in curvature])
        p = self.A.shape[1]
        one, other = np.triu_indices(p)
        gram = np.empty((len(curvature), p, p))
        gram[:, one, other] = gram[:, other, one] = curvature @ self._products
        return gram

    def _add_penalty(self, theta: Array, gradient: Array, gram: Array) -> None:
        """Add the penalty's slope ψ' and, for ψ(|w|), the curvature ψ'/|w| of a parabola above."""
        held = np.flatnonzero(self.risk.penalized)
        w, unit = self._coefficients(theta), self.unit[held]
        penalty = self.risk.penalty
        if self._form is not None:
            slope = self._form[0] * np.sign(w) + self._form[1] * w
        else:
            slope = np.array([penalty.slope(row) for row in w])
        size = np.maximum(np.abs(w), SMALL * np.max(np.abs(w), axis=1, keepdims=True, initial=0.0))
        with np.errstate(all="ignore"):
            curvature = np.where(size > 0, np.abs(slope) / size, 0.0)
        if self._form is not None:
            curvature = np.where(size > 0, curvature, self._form[1])
        gradient[:, held] += slope / unit
        gram[:, held, held] += curvature / unit**2

    # ------------------------------------------------------------------------------------------

    def ridge(self, rows: npt.NDArray[np.intp], ridge: float) -> Array:
        """Least-squares fits of the rows' margins to their targets, one for each set of rows."""
        target = 0.0 if self.offset is not None else self.margin
        B = self.A[rows]
        aim = target - (0.0 if self.offset is None else self.offset[rows])
        gram = np.swapaxes(B, 1, 2) @ B
        diagonal = np.arange(gram.shape[1])
        gram[:, diagonal, diagonal] += ridge * rows.shape[1]  # columns have size 1
        return _solved(gram, np.sum(B * np.broadcast_to(aim, rows.shape)[:, :, None], axis=1))

    def given(self, theta: Array) -> Array:
        """Points of the risk in units of the matrix."""
        return np.atleast_2d(theta) * self.unit

    def taken(self, theta: Array) -> Array:
        """Points in units of the risk."""
        return theta / self.unit


def _matrix(risk: Risk, rows: npt.NDArray[np.intp]) -> Array:
    """Some rows as an array; without a sparse matrix on the way where they are of one score."""
    scores = risk.scores
    if scores.signs is not None and scores.n_scores == 1 and isinstance(scores.X, np.ndarray):
        return scores.signs[rows] * scores.augmented()[rows]
    matrix: Any = risk.matrix()[rows]
    return np.asarray(dense(matrix))


def _products(A: Array) -> Array | None:
    """Products of the pairs of columns, where they are not too many."""
    n, p = A.shape
    one, other = np.triu_indices(p)
    return A[:, one] * A[:, other] if n * one.size <= MOST_PRODUCTS else None


def _solved(gram: Array, right: Array) -> Array:
    """Solutions of the systems, 0 where there is none."""
    diagonal = np.einsum("kii->ki", gram)
    top = np.max(diagonal, axis=1, keepdims=True, initial=0.0)
    diagonal += JITTER * top + np.where(top > 0, 0.0, 1.0)
    good = np.all(np.isfinite(gram), axis=(1, 2)) & np.all(np.isfinite(right), axis=1)
    found = np.zeros_like(right)
    try:
        found[good] = np.linalg.solve(gram[good], right[good][:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return found
    found[~np.all(np.isfinite(found), axis=1)] = 0.0
    return found
