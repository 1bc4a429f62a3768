"""A proximal Newton method that reads X block by block, once per step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.blocked_matrix import BlockedMatrix, StoredMatrix
from dcprog.foundation.columns import row_blocks
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.weighted_gram import weighted_gram
from dcprog.losses import ConvexLoss
from dcprog.risk.weighted import penalty_form
from dcprog.rows.scores import with_ones
from dcprog.solvers.cost import COSTS
from dcprog.solvers.linalg.coefficients import coefficient_units
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.smooth.newton import roughness, softer_first
from dcprog.solvers.smooth.sign_search import SignSearch
from dcprog.solvers.smooth.smooth_problem import SmoothProblem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["BlockNewtonSolver"]


@dataclass(frozen=True)
class Pass:
    """Sums over samples, of the size of coefficients or Gram matrices.

    Attributes
    ----------
    losses : float
        The sum Σ w base(u).
    value : float
        The sum Σ w base(u) + t u.
    size : float
        The sum of the absolute values of these terms.
    curves, slants : float
        Σ D and Σ E with D = w base''(u) s² and E = |w base'(u) + t| s²/(1 + |u|), the curvature of
        a parabola over a straight piece.
    slope : array of shape (c, d̃)
        The sum Σ s (w base'(u) + t) x̃ for each score.
    gram : array of shape (c, d̃, d̃)
        The sum Σ (D + μE) x̃x̃ᵀ for each score.
    """

    losses: float
    value: float
    size: float
    curves: float
    slants: float
    slope: Array
    gram: Array

    def __add__(self, other: Pass) -> Pass:
        mine, theirs = vars(self), vars(other)
        return Pass(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True)
class Look:
    """A function that sums over a block of samples x with the margins u = s·(Bx̃) + o.

    Attributes
    ----------
    base : ConvexLoss
    B : array of shape (c, d̃)
        The coefficients; x̃ is x, followed by 1 if B has a column for it.
    names : tuple of str
        The names of the vectors of a block: ``sign`` s, ``weight`` w, perhaps ``offset`` o and
        ``tilt`` t, all with one column per score.
    damping : float
        The damping μ.
    curves : bool
        Whether Gram matrices are needed.
    """

    base: ConvexLoss
    B: Array
    names: tuple[str, ...]
    damping: float
    curves: bool

    def __call__(self, X: Array, *vectors: Array) -> Pass:
        """The sums over a block, computed by parts that fit into the cache."""
        parts = (
            self._part(X[rows], **dict(zip(self.names, (v[rows] for v in vectors), strict=True)))
            for rows in row_blocks(X)
        )
        return reduce(add, parts)

    def _part(
        self,
        X: Array,
        sign: Array,
        weight: Array,
        offset: Array | None = None,
        tilt: Array | None = None,
    ) -> Pass:
        Z = X if X.shape[1] == self.B.shape[1] else with_ones(X)
        u = sign * (Z @ self.B.T)
        if offset is not None:
            u += offset
        losses, pull = weight * self.base(u), weight * self.base.slope(u)
        tilted = np.zeros(0)
        if tilt is not None:
            pull += tilt
            tilted = tilt * u
        D = weight * self.base.curvature(u) * sign**2
        E = np.abs(pull) / (1 + np.abs(u)) * sign**2
        total = float(np.sum(losses))
        return Pass(
            losses=total,
            value=total + float(np.sum(tilted)),
            size=float(np.sum(np.abs(losses)) + np.sum(np.abs(tilted))),
            curves=float(np.sum(D)),
            slants=float(np.sum(E)),
            slope=(sign * pull).T @ Z,
            gram=self._gram(Z, D if self.damping == 0 else D + self.damping * E),
        )

    def _gram(self, Z: Array, D: Array) -> Array:
        if not self.curves:
            return np.zeros(())
        return np.array([_weighted(Z, d) for d in D.T])


def _weighted(Z: Array, d: Array) -> Array:
    """The matrix ZᵀDZ; samples of weight 0 are skipped if they are at least half of all."""
    live = np.flatnonzero(d)
    return weighted_gram(Z[live], d[live]) if 2 * live.size <= d.size else weighted_gram(Z, d)


# ----------------------------------------------------------------------------------------------

MOST = 3000  # most unknowns of a score's system
MAX_STEPS = 200
STALLS = 3
SAFETY = 1e-2  # the search ends at a gap of this share of the tolerance
LOOSE = 1e-4  # tolerance of the softer problems
ARMIJO, HALVINGS = 1e-4, 40
ROUNDING = 1e-14  # rounding error relative to the size of the terms
BOTTOMLESS = 1e15  # the function is unbounded below this multiple of its initial size
# The damping: its initial value without curvature, factors of its changes, and its bounds.
DAMPING, EASED, HARDER, LIGHTEST, HEAVIEST = 0.1, 0.1, 10.0, 1e-6, 1e6
GOOD, BAD = 0.5, 0.1  # shares of the predicted decrease for less and for more damping


@dataclass(frozen=True)
class Place:
    """A point with the results of the pass over the samples there.

    Attributes
    ----------
    theta : array of shape (p,)
    found : Pass
    slope : array of shape (p,)
        The slope of the losses and tilts.
    value, size, gap : float
        F(θ), the size of its terms, and the duality gap.
    damping : float
        The damping μ of the Gram matrices.
    """

    theta: Array
    found: Pass
    slope: Array
    value: float
    size: float
    gap: float
    damping: float


class BlockNewtonSolver(ExactSolver):
    r"""min Σ_r w_r base(u_r) + Σ_r t_r u_r + ½ Σ_j q_j θ_j² + Σ_j l_j |θ_j|,  u = Aθ + offset.

    It is a proximal Newton method with the model, damping μE and duality gap of
    :class:`~dcprog.solvers.smooth.proximal_newton.ProximalNewtonSolver`. But value, slope and the
    next step's Gram matrices are summed in one pass over X, block by block. As most steps have
    length 1, X is read once per step, and no vectors of length n are stored except the weights and
    the like.

    A last small step, from the Gram matrices of the last pass, is taken without a further pass: it
    doubles the number of correct digits.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` on margins or residuals, none or sums of
        them a group, and a penalty made of ``l1``, ``l2`` and concave ones.

    References
    ----------
    Lee, Sun, Saunders (2014), Proximal Newton-type methods for minimizing composite functions,
    SIAM J. Optim. 24. Keerthi, DeCoste (2005), A modified finite Newton method for fast solution
    of large scale linear SVMs, JMLR 6.
    """

    cost = COSTS["block_newton"]
    by_blocks = True

    def __init__(self, risk: Risk) -> None:
        scores = risk.scores
        assert scores.signs is not None
        self.risk, self.signs = risk, scores.signs
        is_blocked = isinstance(scores.X, BlockedMatrix)
        self.X: BlockedMatrix = scores.X if is_blocked else StoredMatrix(scores.X)
        constants = np.zeros(1) if risk.offset is None else risk.offset
        self._place = np.argsort(scores.places())
        units = coefficient_units(scores.X, constants)
        if scores.fit_intercept:
            units = np.append(units, 1 + float(np.max(np.abs(constants))))
        self.units = np.tile(units, scores.n_scores)[self._place]

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        rough = roughness(risk.base)
        if rough is not None:
            return rough
        if (
            risk.no_matrix is not None
            or risk.scores.signs is None
            or risk.scores.kernel is not None
        ):
            return "its rows are not margins or residuals of samples"
        if risk.aggregate == "max":
            return "its groups take the maximum"
        if penalty_form(risk) is None:
            return f"its penalty is {risk.penalty!r}, not made of l1, l2 and concave ones"
        size = risk.rows.shape[1] // risk.scores.n_scores
        n = risk.scores.X.shape[0]
        if size > min(MOST, n) or not (risk.by_blocks or isinstance(risk.scores.X, np.ndarray)):
            return f"X is not dense, tall, and of at most {MOST} columns"
        return None

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        l1, l2 = problem.penalty_weights
        smooth = SmoothProblem(
            self.risk, self.risk.base, problem.row_weights, problem.row_tilts, l1, l2, self.units
        )
        theta, steps, deadline = np.array(start, dtype=float), 0, Deadline(time_limit)
        if not np.any(problem.weights):
            if problem.tilts is not None:
                raise SubproblemError("failed", "no loss counts")
            theta[(l1 > 0) | (l2 > 0)] = 0.0
            return Solution(theta, None, problem.value(theta))
        if not np.any(theta):
            for base in softer_first(self.risk.base):
                softer = _Descent(self, replace(smooth, base=base), deadline)
                theta = softer.run(theta, LOOSE, certify=False).theta
                steps += softer.steps
        descent = _Descent(self, smooth, deadline)
        place = descent.run(theta, tolerance)
        theta, value = descent.ahead(place, tolerance)
        dual = None  # saves memory for X by blocks
        if not self.risk.by_blocks:
            dual = -smooth.weight * smooth.base.slope(self.risk.margins(theta))
        return Solution(theta, dual, value, steps + descent.steps, place.value - place.gap)


class _Descent:
    """The descent on one subproblem."""

    def __init__(
        self, solver: BlockNewtonSolver, problem: SmoothProblem, deadline: Deadline
    ) -> None:
        self.problem, self.deadline, self.X = problem, deadline, solver.X
        self.steps, self.damping = 0, 0.0
        pieces = problem.base.pieces
        self._curves_alike = pieces is not None and not pieces.knots  # constant curvature
        self._gram: Array | None = None  # the Gram matrices for a constant curvature
        scores, shape = problem.risk.scores, solver.signs.shape
        self.entries = scores.places().reshape(scores.n_scores, -1)
        self._vectors = {"sign": solver.signs, "weight": problem.weight.reshape(shape)}
        if problem.risk.offset is not None:
            self._vectors["offset"] = problem.risk.offset.reshape(shape)
        if np.any(problem.tilt):
            self._vectors["tilt"] = problem.tilt.reshape(shape)

    def run(self, theta: Array, tolerance: float, certify: bool = True) -> Place:
        """Descend until the gap is within the tolerance, relative to 1 + |value|."""
        place = best = self._begun(theta)
        stalled, first = 0, 1 + place.size
        while self.steps < MAX_STEPS:
            if place.value < -BOTTOMLESS * first:
                raise SubproblemError("unbounded", "the function falls for ever")
            if place.gap <= SAFETY * tolerance * (1 + abs(place.value)) or stalled == STALLS:
                break
            self.deadline.check("Newton's method by blocks")
            new = self._step(place)
            self.steps += 1
            lower = new.value < place.value - ROUNDING * place.size
            stalled = 0 if lower or new.gap < best.gap / 2 else stalled + 1
            place = new if new.value <= place.value or new.gap < place.gap else place
            best = min(best, place, key=lambda found: found.gap)
        if certify and best.gap > tolerance * (1 + abs(best.value)):
            raise SubproblemError("failed", f"the gap of Newton's method stays at {best.gap:.3g}")
        return best

    def ahead(self, place: Place, tolerance: float) -> tuple[Array, float]:
        """The point after a last step if it is small and undamped, with F by the model."""
        d, promise = self._direction(place)
        small = promise <= tolerance * (1 + abs(place.value))
        if not small or place.damping > 0:
            return place.theta, place.value
        return place.theta + d, place.value - max(promise, 0.0)

    def _begun(self, theta: Array) -> Place:
        """The first place, with damping if the losses have little curvature but large slopes."""
        place = self._place(theta)
        if place.found.curves >= 0.5 * place.found.slants:
            return place
        self.damping = DAMPING
        return self._place(theta)

    def _step(self, place: Place) -> Place:
        """The next place, with a step length by Armijo's rule."""
        problem, theta = self.problem, place.theta
        d, promise = self._direction(place)
        if not np.any(d):
            return place
        steep = float((place.slope + problem.l2 * theta) @ d)
        steep += float(problem.l1 @ (np.abs(theta + d) - np.abs(theta)))
        t, spare = 1.0, ROUNDING * place.size
        for _ in range(HALVINGS):
            new = self._place(theta + t * d)
            if new.value - place.value <= ARMIJO * t * steep + spare:
                break
            t /= 2
        else:
            return place
        self._adapt(min((place.value - new.value) / promise, t) if promise > spare else t)
        return new

    def _adapt(self, share: float) -> None:
        """Reduce the damping if the decrease was near the model's prediction, else increase it."""
        if share >= GOOD:
            self.damping = EASED * self.damping if self.damping > LIGHTEST else 0.0
        elif share < BAD:
            self.damping = min(max(HARDER * self.damping, LIGHTEST), HEAVIEST)

    def _direction(self, place: Place) -> tuple[Array, float]:
        """The step δ by a search for the signs of each score, and the predicted decrease."""
        problem, d, promise = self.problem, np.zeros(place.theta.size), 0.0
        for some, gram in zip(self.entries, place.found.gram, strict=True):
            theta, l1 = place.theta[some], problem.l1[some]
            g = place.slope[some] + problem.l2[some] * theta
            H = gram + np.diag(problem.l2[some])
            x = SignSearch(H, l1).minimise(g, theta)
            d[some] = part = x - theta
            sizes = float(l1 @ (np.abs(x) - np.abs(theta)))
            promise -= float(g @ part) + 0.5 * float(part @ H @ part) + sizes
        return d, promise

    def _place(self, theta: Array) -> Place:
        """The place at θ, by one pass over the samples."""
        problem = self.problem
        look = Look(
            problem.base,
            theta[self.entries],
            tuple(self._vectors),
            self.damping,
            curves=self._gram is None,
        )
        found: Pass = self.X.total(look, *self._vectors.values())
        penalty = float(problem.l1 @ np.abs(theta) + 0.5 * problem.l2 @ theta**2)
        value = found.value + penalty
        if not np.isfinite(value):
            raise SubproblemError("failed", "the value is not finite")
        slope = np.empty(theta.size)
        slope[self.entries] = found.slope
        if self._gram is not None:
            found = replace(found, gram=self._gram)
        elif self._curves_alike and self.damping == 0:
            self._gram = found.gram
        gap = problem.gap(theta, slope, found.losses)
        return Place(theta, found, slope, value, found.size + penalty, gap, self.damping)
