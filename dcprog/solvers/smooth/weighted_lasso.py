"""A working set solver for sequences of weighted lasso problems with sparse solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotrs

from dcprog.foundation.arrays import Array, dense
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.jit import compiled
from dcprog.foundation.tolerances import DIFFERENCE, FORCING, LOOSE, MOST_STEPS, STALLS, SUMMED
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.cholesky import MOST_UNKNOWNS
from dcprog.solvers.protocol import Solution, Takes
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.smooth_problem import ROOM, SmoothPlace, SmoothProblem, working_set
from dcprog.solvers.warm_starts import WarmStarts

Index = npt.NDArray[np.intp]

# ---- Gram matrices of columns --------------------------------------------------------------------


class ColumnGram:
    r"""The Gram matrix Z_S'ρZ_S of columns S of X, with Z = X − 1x̄' for a free intercept, else X.

    Here x̄ = X'ρ/Σρ. Each new column is multiplied once with the earlier ones, and then serves all
    problems with the same samples and weights.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    weights : array of shape (n,)
        The weights ρ ≥ 0.
    centred : bool
        Whether there is a free intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from dcprog.solvers.smooth.weighted_lasso import ColumnGram
    >>> gram = ColumnGram(np.array([[1.0, 7.0, 0.0], [3.0, 7.0, 2.0]]), np.ones(2), centred=True)
    >>> gram.block(np.array([0, 2]))
    array([[2., 2.],
           [2., 2.]])
    """

    def __init__(self, X: Any, weights: Array, centred: bool) -> None:
        self.weights, self.centred = weights, centred
        self._X = X if isinstance(X, np.ndarray) else sp.csc_array(X)
        self._plain = bool(np.all(weights == 1.0))
        self._total = float(np.sum(weights))
        self._clear()

    def _clear(self) -> None:
        self._place = np.full(self._X.shape[1], -1)
        self._columns = np.empty(0, dtype=np.intp)
        self._gram = np.empty((0, 0))
        self._sums = np.empty(0)

    @property
    def size(self) -> int:
        """The number of columns whose products are stored."""
        return self._columns.size

    @property
    def width(self) -> int:
        """The number of columns of X."""
        return self._place.size

    def fits(self, X: Any, weights: Array) -> bool:
        """True if the weights and the number of columns are the given ones."""
        return self._place.size == X.shape[1] and np.array_equal(self.weights, weights)

    def means(self, columns: Index) -> Array:
        """The means x̄_j of columns that were added before; 0 without an intercept."""
        return self._sums[self._place[columns]] / self._total

    def block(self, columns: Index) -> Array:
        """A copy of the Gram matrix of the given columns."""
        new = columns[self._place[columns] < 0]
        if self.size + new.size > max(MOST_UNKNOWNS, columns.size):  # the earlier ones are dropped
            self._clear()
            new = columns
        self._include(new)
        where = self._place[columns]
        return self._gram[np.ix_(where, where)]

    def times(self, columns: Index, x: Array) -> Array:
        """The product X_S x."""
        return np.asarray(self._X[:, columns] @ x)

    def _include(self, new: Index) -> None:
        if new.size == 0:
            return
        k, more = self._columns.size, self._columns.size + new.size
        B = self._X[:, new]
        weighted = B if self._plain else self._weighted(B)
        old = self._X[:, self._columns]
        self._columns = np.concatenate([self._columns, new])
        self._place[new] = np.arange(k, more)
        if more > len(self._gram):
            grown = np.empty((max(2 * more, ROOM),) * 2)
            grown[:k, :k] = self._gram[:k, :k]
            self._gram = grown
        sums = np.asarray(weighted.sum(axis=0)).ravel() if self.centred else np.zeros(new.size)
        self._sums = np.concatenate([self._sums, sums])
        means = self._sums[:more, None] * (sums / self._total)
        self._gram[k:more, k:more] = dense(B.T @ weighted) - means[k:]
        self._gram[:k, k:more] = dense(old.T @ weighted) - means[:k]
        self._gram[k:more, :k] = self._gram[:k, k:more].T

    def _weighted(self, B: Any) -> Any:
        if isinstance(B, np.ndarray):
            return self.weights[:, None] * B
        return sp.csc_array(sp.diags_array(self.weights) @ B)


# ---- the problem in a working set ----------------------------------------------------------------


@compiled
def _epochs(H: Any, l: Any, x: Any, slope: Any, enough: float, most: int) -> Any:  # noqa: E741
    """Descend on ½x'Hx + … + Σ l_j|x_j| by coordinates and return the number of epochs.

    x and the slope of the smooth part are updated in place. The descent ends after `most` epochs,
    or when Σ_j H_jj·step_j² in an epoch is at most `enough`.
    """
    for epoch in range(most):
        fall = 0.0
        for j in range(x.size):
            curvature = H[j, j]
            if curvature <= 0.0:
                continue
            pull = curvature * x[j] - slope[j]
            size = abs(pull) - l[j]
            new = 0.0
            if size > 0.0:
                new = size / curvature if pull > 0.0 else -size / curvature
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                fall += curvature * step * step
                for k in range(x.size):
                    slope[k] += step * H[j, k]
        if fall <= enough:
            return epoch + 1
    return most


@dataclass(frozen=True)
class WorkingSet:
    """The problem ½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ l_j|x_j| in some entries x of θ.

    Attributes
    ----------
    entries : int array of shape (k,)
        The indices of x in θ.
    H : array of shape (k, k)
    means : array of shape (k,)
        The decrease of the optimal intercept per unit of each entry.
    x, slope : arrays of shape (k,)
        The entries x₀ and their slopes there, for the optimal intercept.
    """

    entries: Index
    H: Array
    means: Array
    x: Array
    slope: Array

    def descended(
        self,
        x: Array,
        slope: Array,
        l: Array,  # noqa: E741
        enough: float,
        most: int,
    ) -> tuple[Array, Array]:
        """The entries and their slopes after epochs, until one gains at most `enough`."""
        x, slope = x.copy(), slope.copy()
        _epochs(self.H, l, x, slope, enough, most)
        return x, slope


@dataclass(frozen=True)
class Profiled:
    """Parabolas plus ℓ1 and ℓ2 with the free intercept eliminated.

    Attributes
    ----------
    smooth : SmoothProblem
    gram : ColumnGram
        The Gram matrix for the curvatures as weights, up to a factor.
    curvature : array of shape (n,)
        The curvatures of the parabolas in the scores.
    """

    smooth: SmoothProblem
    gram: ColumnGram
    curvature: Array

    def working(self, place: SmoothPlace, before: Index) -> Index:
        """The working set: `before`, the nonzero coefficients, and the most violated zeros."""
        moving = place.theta != 0
        moving[before] = True
        moving[self.gram.width :] = False  # the intercept is eliminated
        over = np.abs(place.slope) - self.smooth.l1
        over[self.gram.width :] = 0.0
        return working_set(place, moving, over)

    def part(self, place: SmoothPlace, some: Index) -> WorkingSet:
        """The problem in the given coefficients, from a place."""
        H, means, l2 = self.gram.block(some), self.gram.means(some), self.smooth.l2[some]
        H *= float(np.max(self.curvature))
        H.flat[:: some.size + 1] += l2
        x = place.theta[some]
        slope = place.slope[some] + l2 * x
        if self.gram.centred:
            slope -= means * place.slope[-1]
        return WorkingSet(some, H, means, x, slope)

    def step(self, place: SmoothPlace, some: Index, enough: float, exactly: bool) -> SmoothPlace:
        """The place after epochs in some coefficients that end by `enough`, or at the minimum."""
        part, l1 = self.part(place, some), self.smooth.l1[some]
        x, slope = part.descended(part.x, part.slope, l1, enough, MOST_STEPS)
        if exactly:
            x = SignSearch(part.H, l1).minimise(slope, x)
        theta = self.moved(place, part, x)
        return self.smooth.place(theta, self._margins(place, part, theta))

    def _margins(self, place: SmoothPlace, part: WorkingSet, theta: Array) -> Array:
        """The margins at θ, which differs from the place only in the part and the intercept."""
        step = theta - place.theta
        scores = self.gram.times(part.entries, step[part.entries])
        if self.gram.centred:
            scores += step[-1]
        signs = self.smooth.risk.scores.signs
        assert signs is not None
        return place.margins + signs[:, 0] * scores

    def moved(self, place: SmoothPlace, part: WorkingSet, x: Array) -> Array:
        """The vector θ with the entries set to x and the optimal intercept."""
        theta = place.theta.copy()
        theta[part.entries] = x
        if self.gram.centred:
            shift = place.slope[-1] / float(np.sum(self.curvature))
            theta[-1] -= shift + float(part.means @ (x - part.x))
        return theta


# ---- descent with a concave penalty --------------------------------------------------------------

LONGEST = 16  # most steps between attempts of Newton's method
# Epochs of descent with the same weights: more take hardly longer than one for NumPy's calls, and
# fewer steps are taken (31 for 40 along paths of MCP, 200 × 1000; 16 epochs need as many as 8).
REWEIGHTING_EPOCHS = 8


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
        self.nothing, self._height = SUMMED * size, penalty(problem.x)

    def descend(self) -> Array:
        """The end of the descent from x₀."""
        here = Point(self.problem.x, self.problem.slope, 0.0)
        pause = wait = 1  # steps until the next Newton step, more after each failure
        for _ in range(MOST_STEPS):
            new = self._reweighted(here)
            if not here.rise - new.rise > self.nothing:
                break
            pause = pause - 1 if np.array_equal(np.sign(new.x), np.sign(here.x)) else wait
            if pause <= 0:
                lower = self._newton(new)
                wait = 1 if lower is not new else min(2 * wait, LONGEST)
                pause, new = (0 if lower is not new else wait), lower
            here = new
        return here.x

    def _at(self, x: Array, slope: Array) -> Point:
        """The point at x; the quadratic's change is (slope + slope₀)/2·(x − x₀)."""
        rise = float((self.problem.slope + slope) @ (x - self.problem.x)) / 2
        return Point(x, slope, rise + self.penalty(x) - self._height)

    def _reweighted(self, here: Point) -> Point:
        weights = self.weights(here.x)
        return self._at(
            *self.problem.descended(here.x, here.slope, weights, self.nothing, REWEIGHTING_EPOCHS)
        )

    def _newton(self, here: Point) -> Point:
        """The point after a Newton step in the nonzero entries, or `here` if it is not lower.

        The step ends at the first entry that becomes 0.
        """
        live = np.flatnonzero(here.x)
        if live.size == 0:
            return here
        x, H = here.x[live], self.problem.H
        nearby = here.x.copy()
        nearby[live] = x * (1 + DIFFERENCE)
        pull = self.weights(here.x)[live]
        curvature = (self.weights(nearby)[live] - pull) / (DIFFERENCE * np.abs(x))
        S = H[np.ix_(live, live)]
        S.flat[:: live.size + 1] += curvature
        lower, failed = dpotrf(S, lower=1, overwrite_a=1)
        if failed:
            return here
        step = dpotrs(lower, -(here.slope[live] + pull * np.sign(x)), lower=1)[0]
        if not np.isfinite(step).all():
            return here
        with np.errstate(divide="ignore"):
            meets = np.where((x + step) * x <= 0, -x / step, np.inf)  # the step length to 0
        t = min(float(meets.min()), 1.0)
        moved = here.x.copy()
        moved[live] = np.where(meets <= t, 0.0, x + t * step)
        new = self._at(moved, here.slope + H[:, live] @ (moved[live] - x))
        return new if new.rise < here.rise else here


# ----------------------------------------------------------------------------------------------

ENOUGH = 0.5  # the search ends at a gap of this share of the tolerance
SAME = 1.2  # a working set that grows by less than this factor is solved exactly


class WeightedLasso:
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

    takes = Takes("parabola", rows="one margin", penalized="no intercept", penalty="sparse")

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        scores, pieces = risk.scores, risk.base.pieces
        assert scores.signs is not None
        assert pieces is not None
        self._bend = 2 * pieces.quadratic[0] * scores.signs[:, 0] ** 2
        self._grams = WarmStarts(risk.rows, "weighted lasso")
        self._last: tuple[SmoothPlace, Index] | None = None

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        profiled = self._profiled(problem)
        place, steps = self._descend(profiled, start, tolerance, deadline)
        self._grams.put(profiled.gram)
        return Solution(place.theta, problem.row_tilts - place.pull, place.value, steps)

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point with a lower value of the risk with its concave penalty, or `start`.

        It is found by reweighting in the last working set, for risks with convex losses.
        """
        if self._last is None or not np.any(start):
            return start
        place, some = self._last
        profiled = self._profiled(problem)
        if not np.array_equal(start, place.theta):
            place = profiled.smooth.place(start)
        part = profiled.part(place, some)
        self._grams.put(profiled.gram)
        return profiled.moved(place, part, self._reweighting(place, part).descend())

    def _reweighting(self, place: SmoothPlace, part: WorkingSet) -> Reweighting:
        """The descent with the risk's penalty in a working set, whose Gram matrix has the ridge."""
        parts = self.risk.penalty.parts()
        l1 = np.broadcast_to(parts.l1, int(self.risk.penalized.sum()))[part.entries]

        def weights(x: Array) -> Array:
            return sum((concave.weights(x) for concave in parts.concave), l1)

        def height(x: Array) -> float:
            return sum((concave(x) for concave in parts.concave), float(l1 @ np.abs(x)))

        return Reweighting(part, weights, height, place.size)

    def _profiled(self, problem: WeightedRisk) -> Profiled:
        """The problem with the Gram matrix kept for its weights, up to a factor, or a new one.

        A matrix is kept only after a call that ends well: an interrupt may leave it half filled.
        """
        curvature, X = problem.row_weights * self._bend, self.risk.scores.X
        largest = float(np.max(curvature, initial=0.0))
        weights = curvature / largest if largest > 0 else curvature
        gram: ColumnGram | None = self._grams.take()
        if gram is None or not gram.fits(X, weights):
            gram = ColumnGram(X, weights, self.risk.scores.fit_intercept)
        return Profiled(SmoothProblem.of(problem), gram, curvature)

    def _descend(
        self, profiled: Profiled, start: Array, tolerance: float, deadline: Deadline
    ) -> tuple[SmoothPlace, int]:
        place = best = profiled.smooth.place(np.array(start, dtype=float))
        some, stalled, rounds = np.flatnonzero(start[: profiled.gram.width]), 0, 0
        while rounds < MOST_STEPS and stalled < STALLS:
            enough = tolerance * (1 + abs(place.value))
            if place.gap <= ENOUGH * enough:
                break
            deadline.check("weighted lasso", best.theta)
            size, some, rounds = some.size, profiled.working(place, some), rounds + 1
            exactly = tolerance < LOOSE or some.size <= SAME * size
            place = profiled.step(place, some, FORCING * enough, exactly)
            stalled = 0 if place.gap < best.gap / 2 else stalled + 1
            best = min(best, place, key=lambda found: found.gap)
        if best.gap > tolerance * (1 + abs(best.value)):
            stays = f"the gap of the lasso stays at {best.gap:.3g}"
            raise SubproblemError("failed", stays, point=best.theta)
        self._last = best, profiled.working(best, some)
        return best, rounds
