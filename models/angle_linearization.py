"""Alternating linearisation of the loss and the elastic net, as published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.solvers.piecewise.active_set import Candidate, crossover, guess_at
from dcprog.solvers.piecewise.interior import WARM_ROUNDS, interior_candidate
from dcprog.solvers.piecewise.polyhedral import polyhedral_refusal
from dcprog.solvers.piecewise.polyhedral_solver import PolyhedralSolver
from dcprog.solvers.piecewise.subproblem import Subproblem

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk

__all__ = ["AlternatingLinearizationSolver"]

RHO = 1.0
ROUNDS = 20_000
ENOUGH = 1e-2  # accuracy of the ridge problems, relative to the tolerance


class AlternatingLinearizationSolver(PolyhedralSolver):
    r"""Minimise F(θ) = G(θ) − g·θ + Σ_j l_j|θ_j| + ½Σ_j q_j θ_j²,  G piecewise linear, with ρ = 1.

    From z₁ = z₂ = θ̄ = d₁ = d₂ = 0 it alternates

        z₁ = argmin G(θ) + d₂·θ + (ρ/2)‖θ − θ̄‖²,     d₁ = −d₂ − ρ(z₁ − θ̄),   θ̄ ← z₁ if F falls,
        z₂ = soft(ρθ̄ + g − d₁, l)/(q + ρ),           d₂ = −d₁ − ρ(z₂ − θ̄),   θ̄ ← z₂ if F falls.

    The multipliers of the ridge problems give dual values of F; the rounds end when F(z₂) is within
    the tolerance of the highest of them. z₂ has exact zeros.

    Parameters
    ----------
    risk : Risk
        As for :class:`InteriorSolver`, with an l2 part of the penalty.

    References
    ----------
    Kiwiel, Rosa, Ruszczyński (1999), Proximal decomposition via alternating linearization, SIAM J.
    Optim. 9. Lin, Pham, Ruszczyński (2014), Alternating linearization for structured
    regularization problems, JMLR 15. Zhang, Pham, Fu, Liu (2018), Robust multicategory support
    vector machines using difference convex algorithm, Math. Program. 169, section 3.
    """

    on_request: ClassVar[str | None] = "its gap closes slowly"

    name = "alternating_linearization"

    @staticmethod
    def refusal(risk: Risk) -> str | None:
        """The reason why the method cannot solve a risk, None if it can."""
        reason = polyhedral_refusal(risk)
        if reason is not None:
            return reason
        if not risk.penalty.parts().ridge > 0:
            return f"its penalty is {risk.penalty!r}, without an l2 part"
        return None

    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, time_limit: float | None
    ) -> tuple[Array, Array]:
        """The last z₂, and the multipliers of the best bound."""
        rounds = _Rounds(problem, tolerance)
        return rounds.run(Deadline(time_limit)), rounds.duals


class _Rounds:
    def __init__(self, problem: Subproblem, tolerance: float) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.best = np.zeros(problem.linear.size)
        self.value = problem.value(self.best)
        self.bound = -np.inf
        self.duals = np.zeros(problem.design.const.shape)  # multipliers of the bound
        self.last: Candidate | None = None

    def run(self, deadline: Deadline) -> Array:
        """Run rounds until the gap of z₂ is within the tolerance, and return z₂."""
        problem = self.problem
        d2 = np.zeros(self.best.size)
        for _ in range(ROUNDS):
            z1 = self._ridge(d2)
            d1 = -d2 - RHO * (z1 - self.best)
            self._try(z1)
            pulled = RHO * self.best - problem.linear - d1
            shrunk = np.sign(pulled) * np.maximum(np.abs(pulled) - problem.l1, 0.0)
            z2 = shrunk / (problem.l2 + RHO)
            d2 = -d1 - RHO * (z2 - self.best)
            gap = self._try(z2) - self.bound
            if gap <= self.tolerance * (1 + abs(self.value)):
                return z2
            deadline.check("alternating linearisation")
        raise SubproblemError(
            "failed", f"alternating linearisation: the duality gap stayed at {gap:.3g}"
        )

    def _ridge(self, d2: Array) -> Array:
        """The minimiser z₁ of the ridge problem; its multipliers may raise the lower bound."""
        problem, centre = self.problem, self.best
        ridge = replace(
            problem,
            linear=d2 - RHO * centre,
            l1=np.zeros(centre.size),
            l2=np.full(centre.size, RHO),
        )
        accuracy = max(ENOUGH * self.tolerance, 1e-11)
        last = self.last
        guess = guess_at(ridge, centre) if last is None else guess_at(ridge, last.x, last.duals)
        found, _ = crossover(ridge, guess, accuracy, WARM_ROUNDS)
        self.last = found or interior_candidate(ridge, max(accuracy, 1e-9))
        bound = problem.bound(self.best, self.last.duals)
        if bound > self.bound:
            self.bound, self.duals = bound, self.last.duals
        return self.last.x

    def _try(self, z: Array) -> float:
        """The value F(z); θ̄ is set to z if it is lower."""
        value = self.problem.value(z)
        if value < self.value:
            self.best, self.value = z, value
        return value
