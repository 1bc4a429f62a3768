"""Sparse least-squares fits by search: coordinates minimised exactly, some pushed at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import COPIED, Array, dense
from dcprog.foundation.tolerances import DECADES, HALVINGS, TOL
from dcprog.penalties import ConcavePenalty
from dcprog.risk.risk import Risk
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.rows.scores import Scores
from dcprog.starts.many_points import ManyPoints
from dcprog.starts.protocol import Budget, Candidate, OfRisk

MOST_COEFFICIENTS = 1000
MOST_NUMBERS = COPIED // 2  # numbers in the matrix of the rows, at most
# Coefficients, the largest, that ridge fits keep as starting points.
LARGE = 30
# Copies of the best points that are pushed in each round.
COPIES, PARENTS = 20, 4
LOST, FOUND = 3, 5  # coefficients that a push sets to 0, or draws, at most
SWEEP = 80  # coordinates that are moved, one after the other
INWARD = 4  # steps to the minimum along a coordinate


class CoordinateSearch(OfRisk):
    r"""The lowest point found around a run's end, 0 and some ridge fits.

    From each point the coordinate along which F falls most goes to its minimum there, with the
    penalty's barrier at 0 as it is, until none falls. Copies of the best ends lose some of their
    coefficients, are given others, and fall again.

    References
    ----------
    Breheny, Huang (2011), Coordinate descent algorithms for nonconvex penalized regression, Ann.
    Appl. Stat. 5. Lourenço, Martin, Stützle (2003), Iterated local search, Handbook of
    Metaheuristics.
    """

    def refusal(self, surrogate: RiskSurrogate) -> str | None:
        """Refuse all but sums of squares with a concave penalty that no batch takes."""
        risk = surrogate.declared
        searched = not ManyPoints.takes(risk) and _is_sparse_problem(risk)
        return None if searched else "it is no sum of squares with a concave penalty"

    def points(self, surrogate: RiskSurrogate, budget: Budget) -> Iterable[Candidate]:
        """The lowest point."""
        with np.errstate(all="ignore"):
            x = _searched(surrogate.declared, budget)
            yield Candidate("searched", x, surrogate.declared(x))


def is_searched(surrogate: Surrogate, ended: Array) -> bool:
    """True if the search is enough: its problem, and few coefficients that bind one another."""
    few = np.count_nonzero(ended) <= LARGE
    return bool(few and CoordinateSearch().takes(surrogate) is None)


def _is_sparse_problem(risk: Risk) -> bool:
    """True for a sum of squares with a concave penalty, of not too many coefficients."""
    pieces, rows = risk.base.pieces, risk.rows
    return (
        risk.has_convex_losses
        and pieces is not None
        and not pieces.knots
        and isinstance(risk.penalty, ConcavePenalty)
        and isinstance(rows, Scores)
        and risk.no_matrix is None
        and rows.kernel is None
        and rows.shape[1] <= MOST_COEFFICIENTS
        and rows.shape[0] * rows.shape[1] <= MOST_NUMBERS
        and bool(np.any(risk.penalized))
    )


def _searched(risk: Risk, budget: Budget) -> Array:
    x = budget.ended[0]
    fit = profiled(risk, x, TOL * risk.magnitude(x))
    ends, values = fit.descended(np.vstack([fit.given(x), np.zeros(fit.size.size), fit.ridges()]))
    for _ in range(budget.effort.recombined):
        if budget.deadline.left == 0:
            break
        order = _distinct(values, fit.least)[:PARENTS]
        ends, values = ends[order], values[order]
        children, lower = fit.descended(_pushed(ends, budget.rng))
        ends, values = np.concatenate([ends, children]), np.concatenate([values, lower])
    return fit.taken(ends[np.argmin(values)])


@dataclass(frozen=True)
class _Fit:
    """½v'Gv − z'v + Σψ(|v_j|/size_j) in units in which G's diagonal is 1.

    Coefficients that are not penalised are minimised out.

    Attributes
    ----------
    gram, pull : arrays
        G and z.
    size : array
        v over the penalised coefficients.
    held : bool array
        The indices of these coefficients.
    free, shift : arrays
        The others are shift − free·v.
    penalty : ConcavePenalty
    least : float
        What counts as falling.
    """

    gram: Array
    pull: Array
    size: Array
    held: npt.NDArray[np.bool_]
    free: Array
    shift: Array
    penalty: ConcavePenalty
    least: float

    def given(self, x: Array) -> Array:
        return x[self.held] * self.size

    def taken(self, v: Array) -> Array:
        x = np.zeros(self.held.size)
        x[self.held], x[~self.held] = v / self.size, self.shift - self.free @ v
        return x

    def ridges(self) -> Array:
        """Ridge fits without their small coefficients, one a row."""
        identity = np.eye(self.size.size)
        fits = np.array([np.linalg.solve(self.gram + c * identity, self.pull) for c in DECADES])
        order = np.argsort(-np.abs(fits), axis=1, kind="stable")
        np.put_along_axis(fits, order[:, LARGE:], 0.0, axis=1)
        return fits

    def descended(self, points: Array) -> tuple[Array, Array]:
        """The ends of descents from the points, one a row, and their values."""
        v = points.copy()
        rest = self.pull - v @ self.gram
        live = np.arange(len(v))
        for _ in range(SWEEP):
            t, fall = self._along(v[live], rest[live] + v[live])
            j = np.argmax(fall, axis=1)
            falls = fall[np.arange(live.size), j] > self.least
            move = t[np.arange(live.size), j][falls]
            live, j = live[falls], j[falls]
            if live.size == 0:
                break
            rest[live] -= (move - v[live, j])[:, None] * self.gram[j]
            v[live, j] = move
        penalty = np.sum(self.penalty.of_size(np.abs(v) / self.size), axis=1)
        return v, penalty - np.sum(v * (self.pull + rest), axis=1) / 2

    def _along(self, v: Array, z: Array) -> tuple[Array, Array]:
        """The minima of ½t² − zt + ψ(|t|) for each coordinate, and how far below v they are."""
        point, place = np.nonzero((v != 0) | (np.abs(z) > self.reach))
        now, pull, size = v[point, place], z[point, place], self.size[place]
        best, lowest = self._lowest(np.abs(pull), size)
        t, fall = np.zeros_like(z), np.zeros_like(z)
        t[point, place] = np.sign(pull) * best
        fall[point, place] = self._value(np.abs(now), pull * np.sign(now), size) - lowest
        return t, fall

    def _lowest(self, z: Array, size: Array) -> tuple[Array, Array]:
        """The minima over t ≥ 0, z ≥ 0, and their values.

        From z the fixed point of z − ψ'(t) is approached from above; 0 is the other minimum.
        """
        t = z
        for _ in range(INWARD):
            t = np.maximum(z - self.penalty.rate(t / size) / size, 0.0)
        value = self._value(t, z, size)
        return np.where(value < 0, t, 0.0), np.minimum(value, 0.0)

    def _value(self, t: Array, z: Array, size: Array) -> Array:
        """½t² − zt + ψ(t), t ≥ 0."""
        return t**2 / 2 - z * t + self.penalty.of_size(t / size)

    @cached_property
    def reach(self) -> Array:
        """The largest |z| for which the minimum is at 0."""
        low, high = np.zeros_like(self.size), np.abs(self.pull) + np.max(np.abs(self.pull))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            flat = self._lowest(middle, self.size)[1] == 0
            low, high = np.where(flat, middle, low), np.where(flat, high, middle)
        return low


def profiled(risk: Risk, x: Array, least: float) -> _Fit:
    """The fit in its penalised coefficients."""
    scores, held = risk.scores, risk.penalized
    A = np.asarray(dense(scores.matrix()), dtype=float)
    weights = risk.row_weights(risk.slopes(x))
    slope = weights * risk.base.slope(risk.margins(x))
    C = (weights * risk.base.curvature(risk.margins(x)))[:, None]
    free, kept = A[:, ~held], A[:, held]
    cross, own = free.T @ (C * kept), free.T @ (C * free)
    pull = A.T @ (C[:, 0] * (A @ x) - slope)
    solve = np.linalg.pinv(own)
    gram = kept.T @ (C * kept) - cross.T @ solve @ cross
    z = pull[held] - cross.T @ solve @ pull[~held]
    size = np.sqrt(np.diag(gram))
    size = np.where(size > 0, size, 1.0)
    penalty = risk.penalty
    assert isinstance(penalty, ConcavePenalty)
    gram = gram / np.outer(size, size)
    maps = solve @ cross / size
    return _Fit(gram, z / size, size, held, maps, solve @ pull[~held], penalty, least)


def _pushed(ends: Array, rng: np.random.Generator) -> Array:
    """Copies of the ends without some of their coefficients, and with others."""
    copies = ends[rng.integers(len(ends), size=COPIES)].copy()
    usual = float(np.max(np.abs(ends))) or 1.0
    for v in copies:
        lost = rng.permutation(np.flatnonzero(v))[: rng.integers(1, LOST + 1)]
        found = rng.integers(v.size, size=rng.integers(1, FOUND + 1))
        v[lost], v[found] = 0.0, usual * rng.standard_normal(found.size)
    return copies


def _distinct(values: Array, least: float) -> npt.NDArray[np.intp]:
    """The places of the values that differ, lowest first."""
    order = np.argsort(values, kind="stable")
    return order[np.append(True, np.diff(values[order]) > least)]
