"""The method of multipliers for losses with kinks, under a ridge or with exact zeros."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import FORCING, MOST_STEPS
from dcprog.risk.risk import Risk
from dcprog.risk.weighted import WeightedRisk
from dcprog.solvers.protocol import LOOSEST, ExactSolver, Solution, Takes
from dcprog.solvers.smooth.augmented_lagrangian import (
    GROWTH,
    ROUNDS,
    AugmentedLagrangianSolver,
    Envelopes,
    envelope_unit,
)
from dcprog.solvers.smooth.proximal_newton import ProximalNewtonSolver
from dcprog.solvers.smooth.smooth_problem import SmoothPlace, SmoothProblem

FIRST = 4.0  # the first σ, in units of the mean weight over the size of the margins
SLOW = 0.5  # a round that leaves more than this share of the gap is slow
STALLS = 3  # rounds in a row that are slow though σ suits them, before the method gives up


@dataclass(frozen=True)
class EnvelopeLosses:
    """Moreau envelopes as a smooth base of rows whose weights they contain."""

    envelopes: Envelopes
    lower: float

    def __call__(self, u: Array) -> Array:
        """The envelope of each row."""
        env, z = self.envelopes, self.envelopes.nearest(u)
        apart = u - z
        value = env.weight * env.pieces(z)
        return np.asarray(value + (env.multiplier + env.sigma / 2 * apart) * apart)

    def slope(self, u: Array) -> Array:
        """The slopes, which are the next multipliers."""
        return self.envelopes.slope(u)

    def curvature(self, u: Array) -> Array:
        """The second derivatives; at a jump those of either side."""
        return self.envelopes.curvature(u)


class MultipliersSolver(ExactSolver):
    """The method of multipliers: score by score under a ridge, elsewhere by proximal Newton steps.

    Parameters
    ----------
    risk : Risk
        A risk of :class:`~dcprog.solvers.smooth.augmented_lagrangian.AugmentedLagrangianSolver` or
        of :class:`SparseMultipliers`.
    """

    takes = Takes("piecewise quadratic", blocks=True)

    def __init__(self, risk: Risk) -> None:
        per_score = _is_per_score(risk)
        self.method: AugmentedLagrangianSolver | SparseMultipliers = (
            AugmentedLagrangianSolver(risk) if per_score else SparseMultipliers(risk)
        )

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the systems of the proximal Newton method are too large, or None."""
        if _is_per_score(risk):
            return None
        if risk.by_blocks:
            return "its penalty is no ridge alone, and X is read by blocks"
        return ProximalNewtonSolver.refusal(risk)

    @staticmethod
    def loosest(risk: Risk) -> float:
        """Loose without a ridge; steps for scores with one give all digits at little more cost."""
        return 0.0 if _is_per_score(risk) else LOOSEST

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        return self.method.minimiser(problem, start, tolerance, deadline)


def _is_per_score(risk: Risk) -> bool:
    return not AugmentedLagrangianSolver.takes.missed(risk)


class SparseMultipliers:
    r"""min Σ_r w_r base(u_r) + Σ_r t_r u_r + ½ Σ_j q_j θ_j² + Σ_j l_j |θ_j|,  u = Aθ + offset.

    As in :class:`~dcprog.solvers.smooth.augmented_lagrangian.AugmentedLagrangianSolver` a round
    minimises the augmented Lagrangian of z = u, in which every loss is replaced by its Moreau
    envelope; here by :class:`ProximalNewtonSolver`, which has exact zeros and needs no dense
    system. The slopes of the envelopes are the next multipliers, and give the duality gap

        Σ_r f_r(u_r) − f_r(z_r) − μ_r (u_r − z_r)  +  the gap of the penalty at the slope Aᵀ(μ + t).

    Parameters
    ----------
    risk : Risk
        A piecewise quadratic and linear base on any rows that have a matrix, without groups or with
        sums over them, and a penalty made of ``l1``, ``l2`` and concave ones.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming, Math. Oper. Res. 1. Li, Sun, Toh (2018), A highly efficient semismooth
    Newton augmented Lagrangian method for solving lasso problems, SIAM J. Optim. 28.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.inner = ProximalNewtonSolver(risk)
        self._multipliers = np.zeros(risk.rows.shape[0])

    def minimiser(
        self, problem: WeightedRisk, start: Array, tolerance: float, deadline: Deadline
    ) -> Solution:
        """The minimiser, certified by a duality gap."""
        whole = SmoothProblem.of(problem)
        pieces = self.risk.base.pieces
        assert pieces is not None
        theta, mu, steps, last = np.array(start, dtype=float), self._multipliers, 0, 1.0
        offset = np.zeros(whole.weight.size) if self.risk.offset is None else self.risk.offset
        sigma, stalled = FIRST * envelope_unit(pieces, offset, whole.weight, whole.tilt), 0
        for _ in range(ROUNDS):
            envelopes = Envelopes(pieces, whole.weight, mu, sigma)
            enough = FORCING * max(last, tolerance)
            rounded, more = self._round(whole, envelopes, theta, enough, deadline)
            theta, steps = rounded.theta, steps + more
            u, mu = rounded.margins, envelopes.slope(rounded.margins)
            losses = float(whole.weight @ pieces(u))
            value = problem.value(theta)
            apart = envelopes.gap(u)
            gap = (apart + whole.gap(theta, rounded.slope, losses)) / (1 + abs(value))
            self._multipliers = mu
            if gap <= tolerance:
                return Solution(theta, -mu, value, steps)
            slow, suits = gap > SLOW * last, 2 * apart <= gap * (1 + abs(value))
            sigma = sigma * GROWTH if slow and not suits else sigma
            stalled = stalled + 1 if slow and suits else 0
            last = min(gap, last)
            if stalled == STALLS or (suits and more == MOST_STEPS):
                break
        raise SubproblemError("failed", f"the duality gap stayed at {gap:.3g}", point=theta)

    def _round(
        self,
        whole: SmoothProblem,
        envelopes: Envelopes,
        theta: Array,
        tolerance: float,
        deadline: Deadline,
    ) -> tuple[SmoothPlace, int]:
        """The minimiser of the augmented Lagrangian, and the steps to it."""
        n, mu = whole.weight.size, envelopes.multiplier
        least = self.risk.base.lower * float(np.sum(whole.weight))
        lower = (least - float(mu @ mu) / (2 * envelopes.sigma)) / n
        losses: Any = EnvelopeLosses(envelopes, lower)
        smooth = replace(whole, base=losses, weight=np.ones(n))
        return self.inner.descend(smooth, theta, tolerance, deadline, certify=False)
