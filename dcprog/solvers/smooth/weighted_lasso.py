"""A working set solver for sequences of weighted lasso problems with sparse solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.linalg.coefficients import coefficient_units
from dcprog.solvers.linalg.column_gram import ColumnGram
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.smooth.smooth_problem import SmoothPlace, SmoothProblem
from dcprog.solvers.smooth.working_set import Index, Profiled, WorkingSet
from dcprog.solvers.warm_starts import WarmStarts

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["WeightedLassoSolver"]

STEPS = 200
LONGEST = 16  # most steps between attempts of Newton's method
REWEIGHTING_EPOCHS = 2  # epochs of descent with the same weights
NOTHING = 1e-14  # a decrease below this share of the size counts as none
APART = 1e-6  # relative step of the difference quotient of the penalty's slopes


@dataclass(frozen=True)
class Point:
    """The entries x, the slope of the quadratic there, and the function's rise from the start."""

    x: Array
    slope: Array
    rise: float


class Reweighting:
    r"""Descent on ½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ_j ψ_j(|x_j|) by cheap steps.

    Each step weights |x_j| by ψ_j'(|x_j|) and descends on that majorant for a few epochs. If the
    step changes no sign, a Newton step with the curvature of ψ, which majorants ignore, is tried:
    near a minimum it replaces about a hundred reweightings.

    Parameters
    ----------
    problem : WorkingSet
    weights : callable
        Maps x to the weights ψ_j'(|x_j|).
    penalty : callable
        Maps x to Σ_j ψ_j(|x_j|).
    size : float
        The size of the whole function's terms.

    References
    ----------
    Zou, Li (2008), One-step sparse estimates in nonconcave penalized likelihood models, Ann.
    Statist. 36.
    """

    def __init__(
        self,
        problem: WorkingSet,
        weights: Callable[[Array], Array],
        penalty: Callable[[Array], float],
        size: float,
    ) -> None:
        self.problem, self.weights, self.penalty = problem, weights, penalty
        self.nothing = NOTHING * size

    def descend(self, x: Array, slope: Array) -> Array:
        """The end of the descent from x₀."""
        self._start, self._slope, self._height = x, slope, self.penalty(x)
        here = Point(x, slope, 0.0)
        pause = wait = 1  # steps until the next Newton step, more after each failure
        for _ in range(STEPS):
            new = self._reweighted(here)
            pause = pause - 1 if np.array_equal(np.sign(new.x), np.sign(here.x)) else wait
            if pause <= 0:
                lower = self._newton(new)
                wait = 1 if lower is not new else min(2 * wait, LONGEST)
                pause, new = (0 if lower is not new else wait), lower
            if not here.rise - new.rise > self.nothing:
                break
            here = new
        return here.x

    def _at(self, x: Array, slope: Array) -> Point:
        """The point at x; the quadratic's change is (slope + slope₀)/2·(x − x₀)."""
        rise = float((self._slope + slope) @ (x - self._start)) / 2
        return Point(x, slope, rise + self.penalty(x) - self._height)

    def _reweighted(self, here: Point) -> Point:
        weights = self.weights(here.x)
        return self._at(
            *self.problem.descended(here.x, here.slope, weights, self.nothing, REWEIGHTING_EPOCHS)
        )

    def _newton(self, here: Point) -> Point:
        """The point after a Newton step in the nonzero entries, or `here` if it is not lower."""
        live = np.flatnonzero(here.x)
        if live.size == 0:
            return here
        x, H = here.x[live], self.problem.H
        nearby = here.x.copy()
        nearby[live] = x * (1 + APART)
        pull = self.weights(here.x)[live]
        curvature = (self.weights(nearby)[live] - pull) / (APART * np.abs(x))
        S = H[np.ix_(live, live)]
        S[np.diag_indices_from(S)] += curvature
        try:
            step = -cho_solve(cho_factor(S), here.slope[live] + pull * np.sign(x))
        except LinAlgError:
            return here
        if not np.all(np.isfinite(step)) or np.any((x + step) * x <= 0):
            return here
        moved = here.x.copy()
        moved[live] += step
        new = self._at(moved, here.slope + H[:, live] @ step)
        return new if new.rise < here.rise else here


# ----------------------------------------------------------------------------------------------


MOST = 3000  # most entries of a working set
ROUNDS = 100
STALLS = 3
ENOUGH = 0.5  # the search ends at a gap of this share of the tolerance
SHARE = 0.1  # epochs end at a decrease of this share of the allowed gap
SAME = 1.2  # a working set that grows by less than this factor is solved exactly
LAX = 0.05  # from this tolerance on no gap is required, only a decrease
LOOSE = 1e-4  # from this tolerance on epochs may suffice
EPOCHS = 200


@dataclass(frozen=True)
class Kept:
    """Data that do not depend on the penalty: a Gram matrix, and sizes of coefficients."""

    gram: ColumnGram
    units: Array


class WeightedLassoSolver(ExactSolver):
    r"""min Σ_i w_i base(u_i) + t·u + ½ Σ_j q_j θ_j² + Σ_j l_j |θ_j| with base(u) = au² + bu + c.

    The working set consists of the nonzero coefficients and the zeros with the most violated
    slopes. The problem is solved on its Gram matrix: by coordinate descent, and for more
    accuracy then exactly by :class:`~dcprog.solvers.smooth.sign_search.SignSearch`.
    The slopes of all coefficients give a duality gap (see :meth:`SmoothProblem.gap`) and the next
    working set. The free intercept is eliminated. The Gram matrix is kept with the rows, for the
    next majorant and the next problem of a path, so that most of its entries are computed once.

    Parameters
    ----------
    risk : Risk
        A base that is a single parabola, on margins or residuals of one score, and a penalty made
        of ``l1``, concave ones and ``l2``.

    References
    ----------
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via
    coordinate descent, J. Stat. Softw. 33. Bertrand, Klopfenstein, Bannier, Gidel, Massias (2022),
    Beyond L1: faster and better sparse models with skglm, NeurIPS.
    """

    loosest = 0.3

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        scores, pieces = risk.scores, risk.base.pieces
        assert scores.signs is not None
        assert pieces is not None
        self._bend = 2 * pieces.quadratic[0] * scores.signs[:, 0] ** 2
        self._warm = WarmStarts(risk.rows, "weighted lasso")
        self._last: tuple[SmoothPlace, Index] | None = None

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        pieces = risk.base.pieces
        if pieces is None or pieces.knots or not pieces.quadratic[0] > 0:
            return f"its base is {risk.base!r}, which is no parabola"
        if risk.aggregate == "max":
            return "its groups take the maximum"
        if risk.no_matrix is not None:
            return risk.no_matrix
        scores = risk.scores
        if scores.signs is None or scores.n_scores > 1 or scores.kernel is not None:
            return "its rows are not margins or residuals of one score"
        if not np.array_equal(risk.penalized, scores.penalized):
            return "an intercept is penalised, or a coefficient is not"
        parts = risk.penalty.parts()
        if not parts.is_elastic:
            return f"its penalty is {risk.penalty!r}, not made of l1, l2 and concave ones"
        if risk.penalty.is_convex and not np.any(parts.l1 > 0):
            return f"its penalty {risk.penalty!r} has no kinks"
        return None

    @staticmethod
    def loosens(risk: Risk) -> bool:
        """True if runs continue from loose steps with the risk's own concave penalty."""
        return risk.has_convex_losses and not risk.penalty.is_convex

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        with self._columns(problem) as kept:
            smooth = self._smooth(problem, kept)
            if not np.any(smooth.weight > 0):
                theta = smooth.lossless(start)
                return Solution(theta, np.zeros(smooth.tilt.shape), problem.value(theta), 0)
            profiled = Profiled(smooth, kept.gram, problem.row_weights * self._bend)
            place, steps = self._descend(profiled, start, tolerance, Deadline(time_limit))
        return Solution(place.theta, smooth.tilt - place.pull, place.value, steps)

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point with a lower value of the risk with its concave penalty, or `start`.

        It is found by reweighting in the last working set, for risks with convex losses.
        """
        if self._last is None or not np.any(start):
            return start
        place, some = self._last
        with self._columns(problem) as kept:
            smooth = self._smooth(problem, kept)
            if not np.array_equal(start, place.theta):
                place = smooth.place(start)
            profiled = Profiled(smooth, kept.gram, problem.row_weights * self._bend)
            part = profiled.part(some)
            x = self._reweighting(place, part).descend(*profiled.given(place, part))
        return profiled.moved(place, part, x)

    def _reweighting(self, place: SmoothPlace, part: WorkingSet) -> Reweighting:
        """The descent with the risk's penalty in a working set, whose Gram matrix has the ridge."""
        parts = self.risk.penalty.parts()
        l1 = np.broadcast_to(parts.l1, int(self.risk.penalized.sum()))[part.entries]

        def weights(x: Array) -> Array:
            return sum((concave.weights(x) for concave in parts.concave), l1)

        def height(x: Array) -> float:
            return sum((concave(x) for concave in parts.concave), float(l1 @ np.abs(x)))

        return Reweighting(part, weights, height, place.size)

    @contextmanager
    def _columns(self, problem: WeightedRisk) -> Iterator[Kept]:
        """Take the cached data for a problem, and put them back after use."""
        kept = self._taken(problem)
        try:
            yield kept
        finally:
            self._warm.put(kept)

    def _taken(self, problem: WeightedRisk) -> Kept:
        """The cached data for these weights, up to a factor; otherwise new ones."""
        weights, X = problem.row_weights * self._bend, self.risk.scores.X
        largest = float(np.max(weights, initial=0.0))
        weights = weights / largest if largest > 0 else weights
        kept: Kept | None = self._warm.take()
        if kept is not None and kept.gram.fits(X, weights):
            return kept
        units = np.full(self.risk.rows.shape[1], np.nan) if kept is None else kept.units
        return Kept(ColumnGram(X, weights, self.risk.scores.fit_intercept), units)

    def _smooth(self, problem: WeightedRisk, kept: Kept) -> SmoothProblem:
        sides, (l1, l2) = (problem.row_weights, problem.row_tilts), problem.penalty_weights
        unknown = np.flatnonzero((l1 == 0) & (l2 == 0) & np.isnan(kept.units))
        if unknown.size:
            kept.units[unknown] = self._units(unknown)
        return SmoothProblem(self.risk, self.risk.base, *sides, l1, l2, kept.units)

    def _units(self, entries: Index) -> Array:
        """Typical sizes of the given entries, coefficients or the intercept."""
        X, offset = self.risk.scores.X, self.risk.offset
        constants = np.zeros(1) if offset is None else offset
        units = np.full(entries.size, 1 + np.max(np.abs(constants)))
        held = entries < X.shape[1]
        units[held] = coefficient_units(X[:, entries[held]], constants)
        return units

    def _descend(
        self, profiled: Profiled, start: Array, tolerance: float, deadline: Deadline
    ) -> tuple[SmoothPlace, int]:
        place = best = profiled.smooth.place(np.array(start, dtype=float))
        some, stalled, rounds = np.flatnonzero(start[: profiled.gram.width]), 0, 0
        while rounds < ROUNDS and stalled < STALLS:
            enough = tolerance * (1 + abs(place.value))
            if place.gap <= ENOUGH * enough:
                break
            deadline.check("weighted lasso", best.theta)
            size, some, rounds = some.size, profiled.working(place, some), rounds + 1
            if some.size > MOST:
                many = f"{some.size} entries are worked on, above {MOST}"
                raise SubproblemError("failed", many, point=best.theta)
            step = Step(profiled, place, some, SHARE * enough)
            exactly = tolerance < LOOSE or some.size <= SAME * size
            if exactly and tolerance >= LAX and profiled.covers(place, some):
                self._last = step.uncertified(), some
                return self._last[0], rounds
            place = step.taken(exactly)
            stalled = 0 if place.gap < best.gap / 2 else stalled + 1
            best = min(best, place, key=lambda found: found.gap)
        if best.gap > tolerance * (1 + abs(best.value)):
            stays = f"the gap of the lasso stays at {best.gap:.3g}"
            raise SubproblemError("failed", stays, point=best.theta)
        self._last = best, profiled.working(best, some)
        return best, rounds


@dataclass(frozen=True)
class Step:
    """A step from a place to the minimum in some entries; epochs end by `enough`."""

    profiled: Profiled
    place: SmoothPlace
    some: Index
    enough: float

    def taken(self, exactly: bool) -> SmoothPlace:
        """The place at the end of the step, with its gap."""
        part, x, _ = self._minimised(exactly)
        theta = self.profiled.moved(self.place, part, x)
        return self.profiled.smooth.place(theta, self.profiled.margins(self.place, part, theta))

    def uncertified(self) -> SmoothPlace:
        """The place at the exact minimum, with new slopes only in these entries and no gap."""
        part, x, slope = self._minimised(exactly=True)
        theta = self.profiled.moved(self.place, part, x)
        margins = self.profiled.margins(self.place, part, theta)
        slopes = self.profiled.slopes(self.place, part, x, slope)
        return self.profiled.smooth.place(theta, margins, slopes)

    def _minimised(self, exactly: bool) -> tuple[WorkingSet, Array, Array]:
        part = self.profiled.part(self.some)
        given, l = self.profiled.given(self.place, part), self.profiled.smooth.l1[self.some]  # noqa: E741
        x, slope = part.descended(*given, l, self.enough, EPOCHS)
        return part, *(part.minimised(x, slope, l) if exactly else (x, slope))
