"""Proximal Newton for smooth losses with ℓ1 and ℓ2, with exact zeros and a certified gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import (
    BOTTOMLESS,
    FEW_COEFFICIENTS,
    INNER,
    LAST_PLACES,
    MOST_STEPS,
)
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.cholesky import MOST_UNKNOWNS
from dcprog.solvers.linalg.kronecker import RowHessian
from dcprog.solvers.linalg.line_search import armijo
from dcprog.solvers.linalg.ridge import MOST_OF_SPARSE
from dcprog.solvers.protocol import LOOSEST, ExactSolver, Solution, Takes
from dcprog.solvers.smooth.column_descent import ColumnDescent
from dcprog.solvers.smooth.newton import LOOSE, STALLS, softer_first
from dcprog.solvers.smooth.sign_search import SOLVES, SignSearch
from dcprog.solvers.smooth.smooth_problem import SmoothLine, SmoothPlace, SmoothProblem, working_set
from dcprog.solvers.smooth.weighted_lasso import WeightedLasso

# The damping is multiplied or divided by CHANGE, and 0 below LIGHTEST. It falls after a step that
# achieves half of the predicted decrease, and rises, to 1/CHANGE at least, after one that misses
# the share 1/CHANGE: at 1 the model of a Huber loss or a smoothed hinge is nearly above it.
CHANGE, LIGHTEST = 10.0, 1e-6
LARGE = 3000  # columns of sparse X from which single columns lead under an l1 penalty


class ProximalNewtonSolver(ExactSolver):
    r"""min Σ_r w_r base(u_r) + Σ_r t_r u_r + ½ Σ_j q_j θ_j² + Σ_j l_j |θ_j|,  u = Aθ + offset.

    At θ the direction δ minimises the model

        g·δ + ½ δᵀ(Aᵀ(D + μE)A + diag(q))δ + Σ_j l_j |θ_j + δ_j|,

    by :class:`SignSearch`, with exact zeros, and exactly where that takes few systems; the step
    length obeys Armijo's rule. D holds w_r base''(u_r). If there is little curvature, as outside
    the bands of a smoothed hinge, E_r = |w_r base'(u_r) + t_r|/(1 + |u_r|), the curvature of a
    parabola over a straight piece, replaces it: μ falls tenfold, down to 0, after steps that
    achieve the predicted decrease, and rises after others. With many entries the model contains
    those that are not 0 and those with the most violated slopes. Without any l_j, and with fewer
    samples times scores than entries, a system of that size is solved instead (Woodbury). Of more
    entries than a Hessian pays for, all that may move are in the model, and :class:`ColumnDescent`
    goes a part of the way to its minimum.

    The search ends when a duality gap, from the slopes of the losses as dual variables, is within a
    hundredth of the tolerance, relative to 1 + |value|, or when rounding errors prevent progress; a
    gap above the tolerance itself is then a failure. The gap bounds F(θ) − min F if q_j > 0, or if
    l_j > 0 without tilts; for free entries it is a bound over a box ten times as large as the
    coefficients and their units (:meth:`SmoothProblem.gap`). If the infimum is not attained, as for
    separable classes without a penalty, the end is within the tolerance of the infimum.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` on any rows that have a matrix, without
        groups or with sums over them, and a penalty made of ``l1``, ``l2`` and concave ones.

    References
    ----------
    Lee, Sun, Saunders (2014), Proximal Newton-type methods for minimizing composite functions,
    SIAM J. Optim. 24. Lee, Battle, Raina, Ng (2007), Efficient sparse coding algorithms, NIPS 19.
    """

    takes = Takes("smooth", blocks=True)

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.lasso = WeightedLasso(risk) if _is_lasso(risk) else None
        self.rows = RowHessian(risk)
        self.columns = ColumnDescent(risk)

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the system of a step is too large, None if it is not."""
        parts = risk.penalty.parts()
        sparse = not risk.penalty.is_convex or bool(np.any(parts.l1 > 0))
        dense = int(np.sum(~risk.penalized)) if sparse else risk.rows.shape[1]
        by_samples = not sparse and parts.ridge > 0 and _few_samples(risk)
        if dense > MOST_UNKNOWNS and not by_samples and not sp.issparse(risk.scores.X):
            return f"its system has {dense} unknowns, more than {MOST_UNKNOWNS}"
        return None

    @staticmethod
    def loosest(risk: Risk) -> float:
        """Loose where steps may go by single columns; other steps save little by it."""
        return LOOSEST if _by_columns(risk) and not _is_lasso(risk) else 0.0

    def further(self, problem: WeightedRisk, start: Array) -> Array:
        """A point with a lower value of the risk with its concave penalty, or `start`."""
        return start if self.lasso is None else self.lasso.further(problem, start)

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        if self.lasso is not None:
            try:
                return self.lasso.minimiser(problem, start, tolerance, deadline)
            except SubproblemError as error:
                if deadline.left == 0 or error.point is None:
                    raise
                start = error.point
        smooth = SmoothProblem.of(problem)
        theta, steps = np.array(start, dtype=float), 0
        if not np.any(theta):
            for base in softer_first(self.risk.base):
                softer = replace(smooth, base=base)
                place, more = self.descend(softer, theta, LOOSE, deadline, certify=False)
                theta, steps = place.theta, steps + more
        place, more = self.descend(smooth, theta, tolerance, deadline)
        multipliers = smooth.tilt - place.pull
        return Solution(place.theta, multipliers, problem.value(place.theta), steps + more)

    def descend(
        self,
        problem: SmoothProblem,
        theta: Array,
        tolerance: float,
        deadline: Deadline,
        certify: bool = True,
    ) -> tuple[SmoothPlace, int]:
        """The place with the least gap on the way from θ, and the number of steps.

        Raises
        ------
        SubproblemError
            ``failed`` at the deadline, or if the gap stays above the tolerance and `certify` is
            set; ``unbounded``.
        """
        place = best = problem.place(theta)
        damping = _first_damping(problem, place)
        stalled, steps, first = 0, 0, 1 + place.size
        while steps < MOST_STEPS:
            enough = tolerance * (1 + abs(place.value))
            if place.value < -BOTTOMLESS * first:
                raise SubproblemError("unbounded", "the function falls for ever")
            safety = 1.0 if _by_columns(self.risk) else INNER
            if place.gap <= safety * enough or stalled == STALLS:
                break
            deadline.check("proximal Newton", best.theta)
            new, share = self._step(problem, place, damping, deadline)
            steps += 1
            if share >= 0.5:
                damping = damping / CHANGE if damping > LIGHTEST else 0.0
            elif share < 1 / CHANGE:
                damping = max(CHANGE * damping, 1 / CHANGE)
            lower = new.value < place.value - LAST_PLACES * place.size
            stalled = 0 if lower or new.gap < best.gap / 2 else stalled + 1
            place = new if new.value <= place.value or new.gap < place.gap else place
            best = min(best, place, key=lambda found: found.gap)
        place = best
        if certify and place.gap > tolerance * (1 + abs(place.value)):
            stays = f"proximal Newton's gap stays at {place.gap:.3g}"
            raise SubproblemError("failed", stays, point=place.theta)
        return place, steps

    def _step(
        self, problem: SmoothProblem, place: SmoothPlace, damping: float, deadline: Deadline
    ) -> tuple[SmoothPlace, float]:
        """The next place, and the achieved share of the predicted decrease."""
        g = place.slope + problem.l2 * place.theta
        d, promise = self._direction(problem, place, g, damping, deadline)
        if not np.any(d):
            return place, 1.0
        line = SmoothLine(problem, place, d, np.asarray(self.risk.rows @ d).ravel())
        t = armijo(line)
        theta = place.theta + t * d  # for t = 1 exact zeros of the model's minimiser
        share = -line.rise(t) / promise if promise > LAST_PLACES * place.size else 1.0
        return problem.place(theta), share if t == 1 else min(share, t)

    def _direction(
        self,
        problem: SmoothProblem,
        place: SmoothPlace,
        g: Array,
        damping: float,
        deadline: Deadline,
    ) -> tuple[Array, float]:
        """The direction δ, and the predicted decrease of the model."""
        curvature = problem.weight * problem.base.curvature(place.margins)
        if damping > 0:
            curvature = curvature + damping * np.abs(place.pull) / (1 + np.abs(place.margins))
        if not np.any(problem.l1) and self._small():
            d = self.rows.step(curvature, problem.l2, g)
            return d, -0.5 * float(g @ d)
        moving, over = (problem.l1 == 0) | (place.theta != 0), np.abs(g) - problem.l1
        if np.count_nonzero(moving | (over > 0)) > _most_entries(self.risk):
            model, some = (g, problem.l2, problem.l1), np.flatnonzero(moving | (over > 0))
            return self.columns.step(curvature, model, place.theta, some, deadline)
        some = np.arange(g.size) if g.size <= FEW_COEFFICIENTS else working_set(place, moving, over)
        H = self.rows.hessian(curvature, some)
        H[np.diag_indices_from(H)] += problem.l2[some]
        l1, theta = problem.l1[some], place.theta[some]
        # SOLVES systems cost about as much as the model. Far from the end its exact minimiser, a
        # system a sign, took 1.6 to 8 times the time on Huber's and squared hinge losses with l1 at
        # 400 × 1000, and as much or more on eight other cases, of 200 × 2000 to 20,000 × 200.
        x = SignSearch(H, l1).minimise(g[some], theta, SOLVES)
        d = np.zeros(g.size)
        d[some] = x - theta
        part = d[some]
        sizes = float(l1 @ np.abs(x)) - float(l1 @ np.abs(theta))
        return d, -(float(g[some] @ part) + 0.5 * float(part @ H @ part) + sizes)

    def _small(self) -> bool:
        """True if the system of samples is the smaller one, with a positive ridge."""
        return self.risk.penalty.parts().ridge > 0 and _few_samples(self.risk)


def _is_lasso(risk: Risk) -> bool:
    """True for parabolas with a sparse penalty, but where single columns lead."""
    if risk.by_blocks or is_large_sparse(risk):
        return False
    return not WeightedLasso.takes.missed(risk)


def is_large_sparse(risk: Risk) -> bool:
    """True if X is a sparse matrix of more than LARGE columns."""
    X: Any = risk.scores.X
    return bool(sp.issparse(X)) and X.shape[1] > LARGE


def _by_columns(risk: Risk) -> bool:
    """True if steps may go by single columns."""
    return risk.rows.shape[1] > _most_entries(risk)


def _most_entries(risk: Risk) -> int:
    """The most entries whose Hessian is formed."""
    return MOST_OF_SPARSE if sp.issparse(risk.scores.X) else MOST_UNKNOWNS


def _few_samples(risk: Risk) -> bool:
    """True if X is dense, and samples times scores are fewer than entries with few free ones."""
    X = risk.scores.X
    size = X.shape[0] * risk.scores.n_scores
    free = int(np.sum(~risk.penalized))
    return (
        isinstance(X, np.ndarray)
        and size <= MOST_UNKNOWNS
        and size < risk.rows.shape[1]
        and 2 * free <= FEW_COEFFICIENTS
    )


def _first_damping(problem: SmoothProblem, place: SmoothPlace) -> float:
    """The initial damping: 0 if the losses have enough curvature, or nearly no slope."""
    curvature = problem.weight * problem.base.curvature(place.margins)
    straight = np.abs(place.pull) / (1 + np.abs(place.margins))
    return 0.0 if np.sum(curvature) >= 0.5 * np.sum(straight) else 1 / CHANGE
