"""A risk of few coefficients at many points at once: values, ridge fits, smoothed Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import COPIED, Array, dense
from dcprog.foundation.sums import WeightedGrams
from dcprog.foundation.tolerances import ROUNDING
from dcprog.risk.risk import Risk
from dcprog.risk_mm.units import margin_unit
from dcprog.rows.scores import Scores
from dcprog.transforms import Transform, trim_of

Index = npt.NDArray[np.intp]
Ends = tuple[Array, Array]  # the base losses at u − h and u + h

# Risks with more coefficients are taken by no batch: its systems are dense.
MOST_COEFFICIENTS = 100
# Shares of a Newton step that are tried where the whole step does not lead low enough.
SHARES = np.array([0.5, 0.2, 0.05])
# Shares of the largest diagonal entry of a Newton matrix, and of the largest coefficient.
JITTER, SMALL = 1e-9, 1e-3


@dataclass(frozen=True)
class Points:
    """Points, one a row, in the units of :class:`ManyPoints`, with margins and values."""

    theta: Array
    margins: Array
    values: Array

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: Index | slice) -> Points:
        return Points(self.theta[index], self.margins[index], self.values[index])

    def lowest(self, count: int) -> Points:
        """The best ones, best first."""
        return self[np.argsort(self.values, kind="stable")[:count]]

    def lower(self, other: Points) -> Points:
        """The lower one of each pair."""
        less = other.values < self.values
        return Points(
            np.where(less[:, None], other.theta, self.theta),
            np.where(less[:, None], other.margins, self.margins),
            np.where(less, other.values, self.values),
        )

    def joined(self, other: Points) -> Points:
        """These points, followed by others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
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

    def __init__(self, risk: Risk, groups: Index | None = None) -> None:
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
        self.grams = WeightedGrams(self.A)
        self.offset = None if risk.offset is None else risk.offset[rows]
        self.weights = None if risk.weights is None else risk.weights[rows]
        s = risk.shares
        self.shares = s if groups is None else s[groups] * (risk.n_groups / self.n_groups)
        self.margin = margin_unit(risk)
        self.held = np.flatnonzero(risk.penalized)
        self.penalty = risk.penalty.parts()
        self.is_elastic = self.penalty.is_elastic and not self.penalty.concave
        self.has_ridge_alone = self.penalty.ridge_alone is not None
        self.l1, self.ridge = np.zeros((2, A.shape[1]))  # in units of the matrix
        self.l1[self.held] = self.penalty.l1 / self.unit[self.held]
        self.ridge[self.held] = self.penalty.ridge / self.unit[self.held] ** 2

    @staticmethod
    def takes(risk: Risk) -> bool:
        """True for few coefficients, losses that are not convex, and rows of scores."""
        rows = risk.rows
        if risk.has_convex_losses or not isinstance(rows, Scores) or rows.kernel is not None:
            return False
        n, p = rows.shape
        return 0 < p <= MOST_COEFFICIENTS and (risk._groups is None or risk.members.size == n)

    def of(self, risk: Risk, weights: Array | None = None) -> Self:
        """The data under another transform and subtracted loss, groups weighted at each point.

        Weights have the shape (K, n_groups).
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, risk=risk)
        other.transform = risk.transform.of_groups(self.groups)
        if weights is not None:
            other.shares = self.shares * weights
        return other

    # ------------------------------------------------------------------------------------------
    # values

    def at(self, theta: Array) -> Points:
        """Points in units of the matrix, with margins and values."""
        margins = theta @ self.A.T
        if self.offset is not None:
            margins += self.offset
        return Points(theta, margins, self.values(theta, margins))

    def values(
        self,
        theta: Array,
        margins: Array,
        h: float = 0.0,
        places: Index | None = None,
        ends: Ends | None = None,
    ) -> Array:
        """The risk at points whose margins are known, infinite where it is no number.

        With h > 0 base losses and maxima are smoothed over ±h, from their `ends` if known. Where
        groups are weighted at each point, `places` says which of the points these are.
        """
        losses, sub = self.losses(margins, h, ends), self.risk.subtracted
        values = _transformed(self.transform, losses)
        if sub is not None:
            less = np.array([sub(u) for u in margins]) if sub.is_joint else sub(margins)
            values = values - self._aggregated(less)
        shares = self.shares if places is None or self.shares.ndim == 1 else self.shares[places]
        total = values @ shares if shares.ndim == 1 else np.einsum("ki,ki->k", values, shares)
        total += self._penalty(theta)
        return np.where(np.isnan(total), np.inf, total)

    def losses(self, margins: Array, h: float = 0.0, ends: Ends | None = None) -> Array:
        """The losses of each group, (K, n_groups): means over [u − h, u + h], by Simpson's rule."""
        losses = self.risk.base(margins)
        if h > 0:
            below, above = ends or self._ends(margins, h)
            losses = (below + 4 * losses + above) / 6
        return self._aggregated(losses, h)

    def _ends(self, margins: Array, h: float) -> Ends:
        """The base losses at u − h and u + h."""
        return self.risk.base(margins - h), self.risk.base(margins + h)

    def _aggregated(self, losses: Array, h: float = 0.0) -> Array:
        """Losses of the groups from the losses of their rows; with h > 0 maxima are smoothed."""
        if self.weights is not None:
            losses = self.weights * losses
        if self.risk.aggregate is None:
            return losses
        grouped = losses.reshape(len(losses), self.n_groups, self.m)
        if self.risk.aggregate == "sum":
            return grouped.sum(axis=2)
        largest = grouped.max(axis=2)
        if h > 0:
            t = self._smoothing(h)
            largest += t * np.log(np.sum(np.exp((grouped - largest[:, :, None]) / t), axis=2))
        return largest

    def _smoothing(self, h: float) -> float:
        """The t of t log Σ exp(loss/t) with the curvature, at ties, of smoothed losses at kinks."""
        ends = self.risk.base.slope(np.array([-self.margin, self.margin]))
        steepest = np.max(np.abs(ends)) or 1.0  # a band of no loss may be wider than the margins
        weight = 1.0 if self.weights is None else np.max(self.weights)
        return float(weight * steepest) * h / 2

    def _coefficients(self, theta: Array) -> Array:
        """The penalised coefficients in units of the risk; they are no intercepts that move."""
        return (theta / self.unit)[:, self.held]

    def _penalty(self, theta: Array) -> Array:
        if not self.is_elastic:
            return np.array([self.risk.penalty(row) for row in self._coefficients(theta)])
        return np.abs(theta) @ self.l1 + theta**2 @ (self.ridge / 2)

    # ------------------------------------------------------------------------------------------
    # steps

    def step(self, points: Points, width: float, *, smoothly: bool = False) -> Points:
        """A Newton step on the smoothed majorant at every point, shortened until the risk falls.

        Base losses are smoothed over ±width: in place of ℓ the mean of ℓ over [u − h, u + h], with
        slope (ℓ(u + h) − ℓ(u − h))/2h and curvature (ℓ'(u + h) − ℓ'(u − h))/2h. That makes
        quadratics of hinges and absolute values.

        Parameters
        ----------
        points : Points
        width : float
            h, in units of the margins.
        smoothly : bool, default False
            Judge by the smoothed risk, which carries points over the rims of narrow wells.

        Returns
        -------
        Points
            None of them is higher; their values are of the risk that judged them.
        """
        if len(points) == 0:
            return points
        h = width * self.margin
        ends = self._ends(points.margins, h)
        move, decrease = self._newton(points, h, ends)
        along = move @ self.A.T
        judged = h if smoothly else 0.0
        if smoothly:
            begun = self.values(points.theta, points.margins, h, ends=ends)
            points = Points(points.theta, points.margins, begun)
        theta, margins = points.theta + move, points.margins + along
        moved = points.lower(Points(theta, margins, self.values(theta, margins, judged)))
        enough = np.maximum(decrease / 2, ROUNDING * np.abs(points.values))
        short = (points.values - moved.values < enough) & (decrease >= enough)
        if not np.any(short):
            return moved
        left = np.flatnonzero(short)  # F has fallen by less than half of the model's fall
        places, shares = np.tile(left, len(SHARES)), np.repeat(SHARES, left.size)[:, None]
        theta = points.theta[places] + shares * move[places]
        margins = points.margins[places] + shares * along[places]
        values = self.values(theta, margins, judged, places)
        # the first share that leads low enough, or else the best one
        found = values.reshape(len(SHARES), left.size)
        low = points.values[left] - found >= enough[left]
        share = np.where(np.any(low, axis=0), np.argmax(low, axis=0), np.argmin(found, axis=0))
        chosen = share * left.size + np.arange(left.size)
        best = moved[left].lower(Points(theta, margins, values)[chosen])
        moved.theta[left], moved.margins[left], moved.values[left] = vars(best).values()
        return moved

    def _newton(self, points: Points, h: float, ends: Ends) -> tuple[Array, Array]:
        """The minimum of each smoothed majorant's quadratic model, less the point; the decrease."""
        u, base, sub = points.margins, self.risk.base, self.risk.subtracted
        below, above = ends
        # smoothed losses: a transform that is steep at 0 holds fast points at loss 0
        losses = (above + below) / 2
        weights = self._of_rows(self.shares * _slopes(self.transform, self._aggregated(losses, h)))
        is_max = self.risk.aggregate == "max"
        if is_max:
            part = self._parts(losses, h)
            weights = weights * part
        steep = (above - below) / (2 * h)
        slope = weights * steep
        curvature = weights * ((base.slope(u + h) - base.slope(u - h)) / (2 * h))
        if is_max:  # the diagonal of the Hessian of log Σ exp
            steep = steep if self.weights is None else self.weights * steep
            curvature += (1 - part) * slope * steep / self._smoothing(h)
        if sub is not None:
            own = np.array([sub.slope(row) for row in u]) if sub.is_joint else sub.slope(u)
            ones = np.broadcast_to(self.shares, (len(u), self.n_groups))
            less = own * self._of_rows(ones)
            slope -= less * self._parts(sub(u), h) if is_max else less
        gradient, gram = slope @ self.A, self.grams(curvature)
        self._add_penalty(points.theta, gradient, gram)
        move = _solved(gram, -gradient)
        return move, -0.5 * np.einsum("kj,kj->k", gradient, move)

    def _of_rows(self, weights: Array) -> Array:
        """Weights of the rows from the weights of their groups."""
        if self.risk.aggregate is not None:
            weights = np.repeat(weights, self.m, axis=1)
        return weights if self.weights is None else self.weights * weights

    def _parts(self, losses: Array, h: float) -> Array:
        """The rows' parts of the slopes of smoothed maxima, which are 1 for a group in all."""
        largest = np.repeat(self._aggregated(losses, h), self.m, axis=1)
        if self.weights is not None:
            losses = self.weights * losses
        return np.exp((losses - largest) / self._smoothing(h))

    def _add_penalty(self, theta: Array, gradient: Array, gram: Array) -> None:
        """Add the penalty's slope ψ' and, for ψ(|w|), the curvature ψ'/|w| of a parabola above."""
        if self.has_ridge_alone:
            gradient += self.ridge * theta
            np.einsum("kjj->kj", gram)[:] += self.ridge
            return
        w, unit, parts = self._coefficients(theta), self.unit[self.held], self.penalty
        size = np.maximum(np.abs(w), SMALL * np.max(np.abs(w), axis=1, keepdims=True, initial=0.0))
        size = np.where(size > 0, size, np.inf)
        if self.is_elastic:
            slope = parts.l1 * np.sign(w) + parts.ridge * w
            curvature = parts.l1 / size + parts.ridge
        else:
            slope = np.array([self.risk.penalty.slope(row) for row in w])
            curvature = np.abs(slope) / size
        gradient[:, self.held] += slope / unit
        gram[:, self.held, self.held] += curvature / unit**2

    def ridge_fits(self, rows: Index, ridge: float) -> Array:
        """Least-squares fits of margins to their unit, or of residuals to 0, for each set of rows.

        Parameters
        ----------
        rows : int array of shape (K, m)
        ridge : float
            Relative to the columns' size.

        Returns
        -------
        array of shape (K, p)
        """
        B = self.A[rows]
        aim = np.full(rows.shape, self.margin) if self.offset is None else -self.offset[rows]
        gram = np.swapaxes(B, 1, 2) @ B
        np.einsum("kii->ki", gram)[:] += ridge * rows.shape[1]  # columns have size 1
        return _solved(gram, np.sum(B * aim[:, :, None], axis=1))

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
        c = self.risk.scores.n_scores
        moved = theta.copy()
        coef = theta[:, :-c].reshape(len(theta), c, self.middle.size)
        moved[:, -c:] += side * (coef @ self.middle)
        return moved


def _transformed(transform: Transform, losses: Array) -> Array:
    """φ of the losses at every point, (K, n_groups)."""
    if not transform.is_joint:
        return transform(losses)
    if isinstance(transform, trim_of):
        return losses * _kept(transform, losses)
    return np.array([transform(row) for row in losses])


def _slopes(transform: Transform, losses: Array) -> Array:
    """φ' at the losses of every point, (K, n_groups)."""
    if not transform.is_joint:
        return np.broadcast_to(transform.slope(losses), losses.shape)
    if isinstance(transform, trim_of):
        return _kept(transform, losses)
    return np.array([transform.slope(row) for row in losses])


def _kept(transform: trim_of, losses: Array) -> Array:
    """0 for the largest losses, 1 for the others, at all points at once."""
    n = losses.shape[1]
    k = transform.dropped(n)
    kept = np.ones_like(losses)
    if k:
        largest = np.argpartition(losses, n - k, axis=1)[:, n - k :]
        np.put_along_axis(kept, largest, 0.0, axis=1)
    return kept


def _middle(risk: Risk, rows: Index) -> Array | None:
    """The middle of the rows' samples, where free intercepts take up what moving them leaves."""
    scores = risk.scores
    free = scores.fit_intercept and not np.any(risk.penalized & ~scores.penalized)
    samples = scores.samples_of(rows)
    if not free or samples.size * scores.X.shape[1] > COPIED:
        return None
    return np.median(dense(scores.X[samples]), axis=0)


def _matrix(scores: Scores, rows: Index, middle: Array | None) -> Array:
    """Some rows as an array, of samples around their middle."""
    A, c = scores.dense_rows(rows), scores.n_scores
    if middle is not None:
        coefs = A[:, :-c].reshape(len(A), c, middle.size)
        coefs -= A[:, -c:, None] * middle
    return A


def _solved(gram: Array, right: Array) -> Array:
    """Solutions of the systems; 0 for a system without one."""
    diagonal = np.einsum("kii->ki", gram)
    top = np.max(diagonal, axis=1, keepdims=True, initial=0.0)
    diagonal += np.where(top > 0, JITTER * top, 1.0)
    if not np.isfinite(np.sum(gram) + np.sum(right)):
        bad = ~np.isfinite(np.sum(gram, axis=(1, 2)) + np.sum(right, axis=1))
        gram[bad], right[bad] = np.eye(gram.shape[1]), 0.0
    try:
        found = np.asarray(np.linalg.solve(gram, right[:, :, None])[:, :, 0], dtype=float)
    except np.linalg.LinAlgError:
        return np.zeros_like(right)
    if not np.isfinite(np.sum(found)):
        found[~np.all(np.isfinite(found), axis=1)] = 0.0
    return found
