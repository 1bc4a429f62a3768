"""Newton's method for smooth and piecewise quadratic losses with a ridge, score by score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import LAST_PLACES, LOOSE, SUMMED
from dcprog.losses import ConvexLoss
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.line_search import Line, armijo, bottom
from dcprog.solvers.linalg.ridge import UPDATES, Ridge, is_truncated
from dcprog.solvers.protocol import LOOSEST, Solution, Takes
from dcprog.solvers.smooth.per_score import WITHOUT_TANGENT, PerScoreSolver, ScoreProblem, Tangent

# Nearly hard margins take about one step per sample. A step to the end of a tiny piece may decrease
# the value by less than rounding: only STALLS such steps in a row end the method.
MAX_STEPS = 2000
STALLS = 10  # most steps in a row that do not lower the value
SHORT = 1e-4  # longest last step, relative to 1 + the coefficients' norm


class SmoothLosses(Protocol):
    """One convex function of a number for every sample, with a continuous slope."""

    def value(self, u: Array) -> float:
        """The sum of the losses."""

    def slope(self, u: Array) -> Array:
        """The slopes of the losses."""

    def curvature(self, u: Array) -> Array:
        """The second derivatives of the losses; at a jump those of either side."""

    def breaks(self, u: Array, change: Array) -> Array | None:
        """The t at which a curvature at u + t·change jumps; None if unknown or too many."""


@dataclass(frozen=True)
class Weighted:
    """The weighted losses d_i base(u_i)."""

    base: ConvexLoss
    weight: Array

    def value(self, u: Array) -> float:
        """The sum Σ d base(u)."""
        return float(self.weight @ self.base(u))

    def slope(self, u: Array) -> Array:
        """The slopes d·base'(u)."""
        return self.weight * self.base.slope(u)

    def curvature(self, u: Array) -> Array:
        """The curvatures d·base''(u)."""
        return self.weight * self.base.curvature(u)

    def breaks(self, u: Array, change: Array) -> Array | None:
        """The t at which a margin meets a knot, if the base is piecewise quadratic."""
        if self.base.pieces is None:
            return None
        knots = np.array(self.base.pieces.knots)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return ((knots - u) / change)[:, self.weight > 0].ravel()


@dataclass(frozen=True)
class Place:
    """An iterate of Newton's method with its next step.

    Attributes
    ----------
    w, b : array, float
    step, shift : array, float
        The changes of w and b to the minimum of the quadratic model.
    value : float
        The value F(w, b).
    size : float
        The sum of the losses and the ridge, to which rounding errors are relative.
    promise : float
        The decrease of the quadratic model.
    imbalance : float
        A bound of F minus its minimum, by the gradient.
    """

    w: Array
    b: float
    step: Array
    shift: float
    value: float
    size: float
    promise: float
    imbalance: float


@dataclass(frozen=True)
class NewtonScore:
    """Newton's method for F = Σ_i losses_i(u_i) + t_i u_i + (λ/2)‖w‖² + tangent(w, b).

    The margins are u_i = s_i(x_i·w + b) + o_i.

    Attributes
    ----------
    ridge : Ridge
        The linear algebra for X and λ, with or without a free b.
    losses : SmoothLosses
    sign, offset, tilt : arrays
        The signs s, offsets o and tilts t.
    tangent : Tangent
        An affine function, 0 by default.
    search : callable
        Maps a line to a step length; by default a search for the minimum.
    deadline : Deadline
    """

    ridge: Ridge
    losses: SmoothLosses
    sign: Array
    offset: Array
    tilt: Array
    tangent: Tangent = WITHOUT_TANGENT
    search: Callable[[Line], float] = bottom
    deadline: Deadline = field(default_factory=Deadline)

    def margins(self, w: Array, b: float) -> Array:
        """The margins u."""
        return self.sign * (self.ridge.X @ w + b) + self.offset

    def minimise(
        self, w: Array, b: float, tolerance: float, balance: float = np.inf, u: Array | None = None
    ) -> tuple[Array, float]:
        """The minimiser (w, b); see :meth:`last`."""
        place = self.last(w, b, tolerance, balance, u=u)
        return place.w, place.b

    def last(
        self,
        w: Array,
        b: float,
        tolerance: float,
        balance: float = np.inf,
        precision: float = LAST_PLACES,
        u: Array | None = None,
    ) -> Place:
        """The last iterate of Newton's method.

        Parameters
        ----------
        w, b : array, float
            The start.
        tolerance : float
            The run fails if the predicted decrease at the end exceeds this times 1 + |value|.
        balance : float
            Continue, as far as rounding allows, until :meth:`imbalance` is at most this.
        precision : float
            Stop if the predicted decrease is at most this share of the value's terms.
        u : array, optional
            The margins at the start, if they are known.

        Raises
        ------
        SubproblemError
            ``unbounded`` or ``failed``.
        """
        lowest, stalled = np.inf, 0
        for number, place in enumerate(self.path(w, b, u)):
            stalled = 0 if place.value < lowest else stalled + 1
            lowest = min(lowest, place.value)
            done = place.promise <= precision * place.size and place.imbalance <= balance
            # a truncated step tells little of what is left, which the gradient bounds
            enough = min(tolerance * (1 + abs(place.value)), balance)
            done |= self.ridge.truncated and place.imbalance <= enough < np.inf
            if done or stalled == STALLS or number == MAX_STEPS:
                break
            self.deadline.check("Newton's method", (place.w, place.b))
        if place.promise > tolerance * (1 + abs(place.value)):
            short = f"Newton's method stopped {place.promise:.3g} short"
            raise SubproblemError("failed", short, point=(place.w, place.b))
        return place

    def path(self, w: Array, b: float, u: Array | None = None) -> Iterator[Place]:
        """Yield the iterates of Newton's method without end, from the margins u if known."""
        u = self.margins(w, b) if u is None else u
        for number in count(1):
            size = self.losses.value(u) + self.ridge.lam / 2 * float(w @ w)
            g, h = self._gradient(w, self.losses.slope(u))
            step, shift = self._step(g, h, u)
            promise = -(float(g @ step) + h * shift) / 2  # the decrease of the quadratic model
            value = size + float(self.tilt @ u) + self.tangent(w, b)
            yield Place(w, b, step, shift, value, size, promise, self._imbalance(g, h, b))
            change = self.sign * (self.ridge.X @ step + shift)
            free = h != 0 and not np.any(step)  # only the intercept moves, without curvature
            t = (bottom if free else self.search)(_Ray(self, u, change, (w, step, shift), size))
            w, b, u = w + t * step, b + t * shift, u + t * change
            if number % UPDATES == 0:
                u = self.margins(w, b)

    def imbalance(self, w: Array, b: float, slope: Array) -> float:
        """A bound of the value minus the minimum, by the gradient for the given slopes."""
        return self._imbalance(*self._gradient(w, slope), b)

    def _gradient(self, w: Array, slope: Array) -> tuple[Array, float]:
        pull = self.sign * (self.tilt + slope)
        g = self.ridge.X.T @ pull + self.ridge.lam * w + self.tangent.g
        return g, float(np.sum(pull)) + self.tangent.h if self.ridge.fit_intercept else 0.0

    def _imbalance(self, g: Array, h: float, b: float) -> float:
        return float(g @ g) / (2 * self.ridge.lam) + abs(h) * (1 + abs(b))

    def _step(self, g: Array, h: float, u: Array) -> tuple[Array, float]:
        curvature = self.sign**2 * self.losses.curvature(u) / 2
        least = SUMMED * max(float(np.max(curvature, initial=0.0)), abs(h))
        active = np.flatnonzero(curvature > least)
        if active.size == 0:  # without curvature move the intercept along its slope, if any
            slopes = np.abs(self.tilt) + np.abs(self.losses.slope(u))
            level = abs(h) <= SUMMED * (float(np.sum(slopes)) + abs(self.tangent.h))
            return (-g / self.ridge.lam, 0.0) if level else (np.zeros_like(g), -h)
        if 2 * active.size > curvature.size:  # gathering most of X costs more than using all of it
            some, of_them = curvature, None
        else:
            some, of_them = curvature[active], active
        step, shift = self.ridge.step(g, np.asarray(h), some, of_them, self.deadline)
        return step, float(shift)


class _Ray:
    """The function of t along (w, b) + t·(step, shift), with margins u + t·change."""

    def __init__(
        self,
        score: NewtonScore,
        u: Array,
        change: Array,
        path: tuple[Array, Array, float],
        size: float,
    ) -> None:
        w, step, shift = path
        self.losses, self.u, self.change, self.size = score.losses, u, change, size
        lam, tangent = score.ridge.lam, score.tangent
        self.along, self.square = lam * float(w @ step), lam * float(step @ step)
        self.tilt = float(score.tilt @ change + np.sum(tangent.g * step)) + tangent.h * shift
        self.start = size - lam / 2 * float(w @ w)

    def rise(self, t: float) -> float:
        losses = self.losses.value(self.u + t * self.change)
        return losses - self.start + t * (self.tilt + self.along + t / 2 * self.square)

    def slope(self, t: float) -> float:
        pull = float(self.losses.slope(self.u + t * self.change) @ self.change)
        return pull + self.tilt + self.along + t * self.square

    def breaks(self) -> Array | None:
        return self.losses.breaks(self.u, self.change)


class NewtonSolver(PerScoreSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    Each step minimises the quadratic model at the current point exactly and moves in that
    direction d = −H⁻¹∇F, with the Hessian H = λI + Aᵀdiag(d_i base''(u_i))A. Only the margins with
    curvature enter H; if they are far fewer than the coefficients, their Gram matrix is used
    instead (Woodbury), and where H would be too large conjugate gradients go a part of the way
    (truncated Newton), until the gradient bounds the error. For a piecewise quadratic base the line
    search is exact, and the method ends after finitely many pieces (finite Newton); for a square,
    after one step.

    For other bases the step length is Armijo's, the largest α of 1, ½, ¼, … with
    F(θ) − F(θ + αd) ≥ −σα∇Fᵀd. Every step decreases F, while full steps may not: a smoothed hinge
    has no curvature outside a narrow band, and if no margin lies inside, H = λI and d is a gradient
    step. For a sharp base, a run from θ = 0 first solves with smoother losses
    (`ConvexLoss.softer`), each started from the previous solution: with fewer samples than
    coefficients that is twice as fast, and does not stall.

    Parameters
    ----------
    risk : Risk
        A base with a continuous slope and a ``curvature`` on margins or residuals, without groups
        or with sums over them, with an ``l2`` penalty.

    References
    ----------
    Mangasarian (2002), A finite Newton method for classification, Optim. Methods Softw. 17.
    Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6. Lee, Mangasarian (2001), SSVM: a smooth support vector machine, Comput.
    Optim. Appl. 20. Shen, Peng (2013), A new smooth support vector machine with 1-norm penalty
    term, iJOE 9.
    """

    name = "newton"
    takes = Takes("smooth", rows="margins", penalized="coefficients", penalty="ridge")

    @staticmethod
    def loosest(risk: Risk) -> float:
        """Loose if steps are truncated: a factored system gives all digits in one step more."""
        return LOOSEST if is_truncated(risk.scores.X) else 0.0

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        self.is_finite = risk.base.pieces is not None
        self._begun: Array = np.empty((0, 0))  # the margins at the start, (n, c)

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, with the multipliers of its rows."""
        self._begun = self.risk.margins(start).reshape(self.scores.signs.shape)
        return super().minimiser(problem, start, tolerance, deadline)

    def score(
        self, k: int, problem: ScoreProblem, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        """The minimiser, to rounding accuracy unless steps are truncated.

        Where they are, a bound by the gradient is within the tolerance in the end.
        """
        newton = self._newton(problem, self.risk.base)
        if self.is_finite:
            return newton.minimise(w, b, tolerance, u=self._begun[:, k])
        if not np.any(w) and b == 0:
            for base in softer_first(self.risk.base):
                place = self._newton(problem, base).last(w, b, np.inf, precision=LOOSE)
                w, b = place.w, place.b
            return _stepped(newton.last(w, b, tolerance))
        return _stepped(newton.last(w, b, tolerance, u=self._begun[:, k]))

    def multipliers(self, problem: WeightedRisk, theta: Array) -> Array:
        """The slopes of the weighted losses at θ."""
        return problem.row_weights * self.risk.base.slope(self.risk.margins(theta))

    def _newton(self, problem: ScoreProblem, base: ConvexLoss) -> NewtonScore:
        """Newton's method for a score, with the given base."""
        sides = problem.sign, problem.offset, problem.tilt
        search = bottom if self.is_finite else armijo
        return NewtonScore(
            self.scores.ridge,
            Weighted(base, problem.weight),
            *sides,
            search=search,
            deadline=self.deadline,
        )


def _stepped(place: Place) -> tuple[Array, float]:
    """The point after the known next step if that is short: it doubles the correct digits."""
    length = max(float(np.linalg.norm(place.step)), abs(place.shift))
    if length > SHORT * (1 + float(np.linalg.norm(place.w)) + abs(place.b)):
        return place.w, place.b
    return place.w + place.step, place.b + place.shift


def softer_first(base: ConvexLoss) -> list[ConvexLoss]:
    """The sequence of smoother losses that leads to a base, the smoothest first."""
    path: list[ConvexLoss] = []
    softer = base.softer
    while softer is not None:
        path.insert(0, softer)
        softer = softer.softer
    return path
