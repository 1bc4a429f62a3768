"""The method of multipliers with semismooth Newton steps, for losses with kinks and a ridge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array, blocks
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import FORCING, INNER
from dcprog.losses import Pieces
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.linalg.ridge import Ridge
from dcprog.solvers.protocol import Takes
from dcprog.solvers.smooth.newton import NewtonScore
from dcprog.solvers.smooth.per_score import PerScoreSolver, ScoreProblem, Tangent

# σ starts at FIRST, in units of the mean weight over the size of the margins, grows by GROWTH per
# round, and shrinks by GROWTH where Newton's method stalls. Starting from the large σ of the last
# subproblem would take ten times as many Newton steps.
FIRST = 64.0
GROWTH = 4.0
ROUNDS = 30  # most rounds
PAYS = 50_000  # least numbers in X for which screening of samples pays
# Samples are kept if their margin is nearer to a knot than WIDER times the last largest change of a
# margin. If more than the share MOST is kept, the whole problem is solved instead.
WIDER = 2.0
MOST = 0.5

Mask = npt.NDArray[np.bool_]
Point = tuple[Array, float, Array]  # w, b and multipliers
Minimise = Callable[[ScoreProblem, Array, float, Array], Point]


class AugmentedLagrangianSolver(PerScoreSolver):
    r"""Minimise Σ_i d_{ik} base(u_{ik}) + t_k·u_k + (λ/2)‖w_k‖² for every score k.

    The margins get a copy z = u with multipliers μ. A round minimises the augmented Lagrangian, in
    which every loss is replaced by its Moreau envelope

        env_i(v) = min_z d_i base(z) + (σ/2)(z − v)²,   v = u + μ_i/σ,

    a piecewise quadratic, by Newton's method, whose curvature comes from the few margins near a
    kink; then μ_i = env_i'(v). At the minimiser of a round the duality gap is
    Σ_i f_i(u_i) − f_i(z_i) − μ_i (u_i − z_i) with f = d·base, plus the residual of Newton's method.
    σ grows from round to round; if the envelopes' kinks are then too narrow for Newton's method, it
    falls again. The rounds end when the gap is within the tolerance. Intercepts may be free.

    Parameters
    ----------
    risk : Risk
        A piecewise quadratic and linear base on margins or residuals with an ``l2`` penalty.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming, Math. Oper. Res. 1. Li, Sun, Toh (2018), A highly efficient semismooth
    Newton augmented Lagrangian method for solving lasso problems, SIAM J. Optim. 28.
    """

    name = "multipliers"
    takes = Takes(
        "piecewise quadratic",
        rows="margins",
        penalized="coefficients",
        penalty="ridge",
        blocks=True,
    )

    def __init__(self, risk: Risk) -> None:
        super().__init__(risk)
        assert risk.base.pieces is not None
        self._pieces = risk.base.pieces
        shape = self.scores.signs.shape
        self.alpha = np.zeros(shape)
        # the largest change of a margin of each score in the last subproblem
        self._reach = np.full(shape[1], np.inf)
        self._screens = not any(self._pieces.quadratic) and np.prod(self.scores.X.shape) >= PAYS

    def multipliers(self, problem: WeightedRisk, theta: Array) -> Array:
        """The last multipliers."""
        return self.alpha

    def score(
        self, k: int, problem: ScoreProblem, w: Array, b: float, tolerance: float
    ) -> tuple[Array, float]:
        """The minimiser, certified by its duality gap."""
        unit = envelope_unit(self._pieces, problem.offset, problem.weight, problem.tilt)
        rounds = partial(self._rounds, sigma=FIRST * unit, tolerance=tolerance)
        mu = self.alpha[:, k]
        if not self._screens:
            w, b, self.alpha[:, k] = rounds(problem, w, b, mu)
            return w, b
        before, reach = problem.margins(w, b), float(self._reach[k])
        if np.isfinite(reach):
            found = screened(
                problem, self._pieces, (w, b, mu), before, reach, self.scores.free, rounds
            )
        else:
            found = rounds(problem, w, b, mu)
        w, b, self.alpha[:, k] = found
        changes = np.abs(problem.margins(w, b) - before)[problem.weight > 0]
        self._reach[k] = float(np.max(changes, initial=0.0))
        return w, b

    def _rounds(
        self, problem: ScoreProblem, w: Array, b: float, mu: Array, sigma: float, tolerance: float
    ) -> Point:
        """The minimiser (w, b) and the multipliers, by rounds of the method."""
        ridge = self._ridge(problem.X)
        sides = problem.sign, problem.offset, problem.tilt, problem.tangent
        size = 1 + abs(problem.value(self._pieces, problem.margins(w, b)))
        # rounds with truncated Newton steps end at a share of the value, then of the gap
        balance = INNER * size if ridge.truncated else np.inf
        for _ in range(ROUNDS):
            envelopes = Envelopes(self._pieces, problem.weight, mu, sigma)
            score = NewtonScore(ridge, envelopes, *sides, deadline=self.deadline)
            w, b = score.minimise(w, b, np.inf, balance)
            u = score.margins(w, b)
            mu = envelopes.slope(u)
            value = problem.value(self._pieces, u) + self.scores.lam / 2 * float(w @ w)
            apart, left = envelopes.gap(u), score.imbalance(w, b, mu)
            allowed = tolerance * (1 + abs(value + problem.tangent(w, b)))
            if apart + left <= allowed:
                return w, b, mu
            if left > balance:  # Newton's method stalls: the envelopes' kinks are too narrow
                sigma /= GROWTH
            elif apart > allowed / 2:
                sigma *= GROWTH
            balance = max(allowed, FORCING * apart if ridge.truncated else 0.0) / 2
        stayed = f"the duality gap stayed at {apart + left:.3g}"
        raise SubproblemError("failed", stayed, point=(w, b))

    def _ridge(self, X: Any) -> Ridge:
        return (
            self.scores.ridge if X is self.scores.X else Ridge(X, self.scores.lam, self.scores.free)
        )


def envelope_unit(pieces: Pieces, offset: Array, weight: Array, tilt: Array) -> float:
    """The mean weight over the margins' size, which is that of the targets or the kinks."""
    middle = float(np.median(offset))
    size = float(np.mean(np.abs(offset - middle))) or max(
        (abs(k - middle) for k in pieces.knots), default=0.0
    )
    heavy = float(np.mean(weight)) or float(np.mean(np.abs(tilt)))
    return (heavy or 1.0) / (size or 1.0)


def _straightened(
    problem: ScoreProblem, pieces: Pieces, u: Array, kept: Mask, intercept: bool
) -> ScoreProblem:
    """The problem of the kept samples; the losses of the others are linear, as at u."""
    pull, constant = np.empty(u.size), 0.0
    for some in blocks(u.size):
        side, weight = np.searchsorted(pieces.knots, u[some]), problem.weight[some]
        slope = problem.tilt[some] + weight * np.take(pieces.linear, side)
        slope[kept[some]] = 0.0
        fixed = np.where(kept[some], 0.0, weight) @ np.take(pieces.constant, side)
        constant += float(fixed + slope @ problem.offset[some])
        pull[some] = problem.sign[some] * slope
    tangent = Tangent(problem.X.T @ pull, float(np.sum(pull)) if intercept else 0.0, constant)
    return ScoreProblem(
        problem.X[kept],
        problem.sign[kept],
        problem.offset[kept],
        problem.weight[kept],
        problem.tilt[kept],
        tangent,
    )


def screened(
    problem: ScoreProblem,
    pieces: Pieces,
    point: tuple[Array, float, Array],
    u: Array,
    reach: float,
    intercept: bool,
    minimise: Minimise,
) -> tuple[Array, float, Array]:
    """The minimiser of a problem, by smaller problems with the other losses linearised.

    A loss is nowhere below its straight pieces. So a minimiser of the smaller problem at which all
    samples left out are still on their pieces minimises the whole problem. Samples that have left
    their piece are added.

    Parameters
    ----------
    problem : ScoreProblem
    pieces : Pieces
        The pieces of a convex, piecewise linear loss.
    point : tuple (w, b, multipliers)
        The start.
    u : array
        The margins at the start.
    reach : float
        The expected largest change of a margin.
    intercept : bool
        Whether b is free; otherwise it is 0.
    minimise : callable
        The solver of the smaller problems.
    """
    w, b, mu = point
    bends = problem.weight > 0
    kept = np.zeros(u.size, dtype=bool)
    while True:
        near, reach = _nearer(pieces.distance(u), WIDER * reach, bends & ~kept)
        kept |= near
        if np.count_nonzero(kept) > MOST * u.size:
            return minimise(problem, w, b, mu)
        try:
            part = _straightened(problem, pieces, u, kept, intercept)
            w, b, inner = minimise(part, w, b, mu[kept])
        except SubproblemError as error:
            if error.status != "unbounded" or np.all(kept[bends]):
                raise
            continue  # straight pieces do not bound the intercept: add samples
        side = np.searchsorted(pieces.knots, u)
        u = problem.margins(w, b)
        strays = bends & ~kept & (np.searchsorted(pieces.knots, u) != side)
        if not np.any(strays):
            mu = problem.weight * np.take(pieces.linear, side)
            mu[kept] = inner
            return w, b, mu
        kept |= strays


def _nearer(distance: Array, reach: float, among: Mask) -> tuple[Mask, float]:
    """Mask of the samples within reach, at least the nearest one, and the reach used."""
    reach = max(reach, float(np.min(distance, where=among, initial=np.inf)))
    return among & (distance <= reach), reach


@dataclass(frozen=True)
class Envelopes:
    """Moreau envelopes of f_i = d_i·pieces at v = u + μ/σ, as smooth losses of u.

    Attributes
    ----------
    pieces : Pieces
        The pieces of a convex function.
    weight, multiplier : arrays
        The weights d and the multipliers μ.
    sigma : float
        σ > 0.
    """

    pieces: Pieces
    weight: Array
    multiplier: Array
    sigma: float

    @cached_property
    def _limits(self) -> list[tuple[float, Array, Array]]:
        """Each knot with the two multipliers between which it is the minimiser z."""
        f = self.pieces
        lines = list(zip(f.quadratic, f.linear, strict=True))
        return [
            (knot, (2 * a * knot + b) * self.weight, (2 * c * knot + d) * self.weight)
            for knot, (a, b), (c, d) in zip(f.knots, lines[:-1], lines[1:], strict=True)
        ]

    @cached_property
    def _is_simple(self) -> bool:
        """True if the function consists of two lines."""
        return len(self.pieces.knots) == 1 and not any(self.pieces.quadratic)

    def slope(self, u: Array) -> Array:
        """The slopes μ + σ(u − z), which are the next multipliers."""
        if self._is_simple:
            ((knot, low, high),) = self._limits
            slope = u - knot
            slope *= self.sigma
            slope += self.multiplier
            return np.clip(slope, low, high, out=slope)
        slope = self._inside(u, 0)
        for j, (knot, low, high) in enumerate(self._limits):
            at_knot = self.multiplier + self.sigma * (u - knot)
            beyond = self._inside(u, j + 1)
            slope = np.where(at_knot <= low, slope, np.where(at_knot < high, at_knot, beyond))
        return slope

    def _inside(self, u: Array, j: int) -> Array:
        """The slope if piece j extended over the whole line."""
        a, b = self.pieces.quadratic[j], self.pieces.linear[j]
        d, sigma = self.weight, self.sigma
        if a == 0:
            return b * d
        return (2 * a * (sigma * u + self.multiplier) + b * sigma) * d / (sigma + 2 * a * d)

    def curvature(self, u: Array) -> Array:
        """The curvature: σ at a kink, otherwise that of the piece's envelope."""
        curvature = self._own(0)
        for j, (knot, low, high) in enumerate(self._limits):
            at_knot = self.multiplier + self.sigma * (u - knot)
            curvature = np.where(
                at_knot <= low, curvature, np.where(at_knot < high, self.sigma, self._own(j + 1))
            )
        return curvature

    def _own(self, j: int) -> Array:
        a = self.pieces.quadratic[j]
        return 2 * a * self.weight * self.sigma / (self.sigma + 2 * a * self.weight)

    def nearest(self, u: Array) -> Array:
        """The minimiser z in the envelope."""
        return u - self._apart(u)

    def _apart(self, u: Array) -> Array:
        apart = self.slope(u)
        apart -= self.multiplier
        apart /= self.sigma
        return apart

    def value(self, u: Array) -> float:
        """The sum of env(v) − μ²/2σ."""
        apart = self._apart(u)
        more = self.multiplier @ apart + self.sigma / 2 * (apart @ apart)
        z = np.subtract(u, apart, out=apart)
        return float(self.weight @ self.pieces(z) + more)

    def breaks(self, u: Array, change: Array) -> None:
        """None: the jumps of the curvature are too many to sort."""
        return None

    def gap(self, u: Array) -> float:
        """The gap Σ f(u) − f(z) − μ⁺(u − z) between u and the multipliers μ⁺ = slope(u)."""
        z = self.nearest(u)
        return float(self.weight @ (self.pieces(u) - self.pieces(z)) - self.slope(u) @ (u - z))
