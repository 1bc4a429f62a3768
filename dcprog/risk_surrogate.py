"""The majorant of a risk: one weight a group, a tilt a row, one weight a penalised coefficient."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dcprog.errors import SubproblemError
from dcprog.solvers.protocol import Solution, SubproblemSolver
from dcprog.solvers.registry import choose, make
from dcprog.tree import EDGE, Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["RiskSurrogate"]

START = (1e-8, 1e-6, 1e-4)  # a start that is less accurate than a step still is one
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6


class RiskSurrogate:
    """Majorant of a risk: concave functions at their tangents.

    M(θ; θ₀) = Σ_g d_g agg_g(θ) + Σ_r t_r u_r(θ) + convex penalty + Σ_j ν_j |θ_j| + const, with
    the weights d_g = s_g φ'(agg_g), the tilts t_r = −s_g v_r sub'(u_r) and the slopes ν_j of a
    concave penalty, all at θ₀.

    Where a slope at 0 is infinite, the function is carried on along its tangent at a small ε: a
    tenth of the arguments' size at first, then ten times less each tightening down to 1e-10. With
    that from the start, what is 0 at the start could never leave.

    Parameters
    ----------
    risk : Risk
    solver : str, optional
        A name of :mod:`dcprog.solvers.registry` or of a cvxpy solver. By default (or ``"auto"``)
        the fastest solver that takes the risk, with cvxpy behind it.

    Attributes
    ----------
    risk : Risk
        The risk F is read from. Where its transform adapts or its ε falls, the tightenings
        replace it.
    weights, tilts, shrinkage : arrays
        d, t and ν of the last tightening; t and ν are None where there are none.

    Raises
    ------
    ValueError
        The solver is unknown or cannot take the risk.
    """

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.declared = self.risk = risk = risk.remembering()
        self.solvers = choose(risk, solver)
        self.solve_time = 0.0
        self.solver_steps = 0
        self._made: dict[str, SubproblemSolver] = {}
        self.weights = np.ones(risk.n_groups)
        self.tilts: Array | None = None
        self.shrinkage: Array | None = None
        self._offset = 0.0
        self._centre: Array | None = None
        self._edges: tuple[float, float] | None = None
        self._last: Solution | None = None
        self._accepted: Solution | None = None
        self._reset()

    def _reset(self) -> None:
        self.risk = self.declared
        self._tightenings = 0
        self._centre = None
        self._edges = None
        self.settled = self.declared.transform.rounds == 0 and not any(self._steep())

    def _steep(self) -> tuple[bool, bool]:
        """Have the transform and the penalty an infinite slope?"""
        risk = self.declared
        extended = risk.extended()
        return extended.transform is not risk.transform, not _finite_at_zero(risk)

    def begin(self, x: Array) -> None:
        """Let the transform adapt anew, and infinite slopes come in again."""
        self._reset()

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x."""
        self._move(x)
        if _is_at(self._last, x):
            self._accepted = self._last
        risk = self.risk
        aggregates = risk.aggregates(x)
        before = (self.weights, self.tilts, self.shrinkage)
        self.weights = risk.sampled(risk.transform.slope(aggregates))
        self.tilts = risk.tilts(x)
        self.shrinkage = _shrinkage(risk, x)
        after = (self.weights, self.tilts, self.shrinkage)
        same = self._centre is not None and all(map(_equal, before, after))
        self._centre = x.copy()
        self._offset = risk(x) - risk.weighted(x, *after)
        return not same or self.solvers[0] == "alternating"

    def _move(self, x: Array) -> None:
        """Move what F itself still has to move: an adapting cap, and ε."""
        if self.settled and self._edges is None:
            return
        rounds = self.declared.transform.rounds
        if self._tightenings < rounds or self._tightenings == 0:
            self._fixed = self.declared.fixed(x)
        if self._edges is None:
            self._edges = self._first_edges(x)
        else:
            first, second = self._edges
            self._edges = max(EDGE, EDGE_DECAY * first), max(EDGE, EDGE_DECAY * second)
        self.risk = self._fixed.extended(*self._edges)
        self._tightenings += 1
        self.settled = self._tightenings >= rounds and self._edges == (EDGE, EDGE)

    def _first_edges(self, x: Array) -> tuple[float, float]:
        sizes = (self.declared.aggregates(x), np.abs(x[self.declared.penalized]))
        first, second = (
            _first_edge(size) if steep else EDGE
            for size, steep in zip(sizes, self._steep(), strict=True)
        )
        return first, second

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the weighted risk."""
        centre = start if self._centre is None else self._centre
        parts = (self.weights, self.tilts, self.shrinkage)
        return self._solve(parts, centre, tolerance, solver, time_limit)

    def _solve(
        self,
        parts: tuple[Array, Array | None, Array | None],
        centre: Array,
        tolerance: float,
        solver: str,
        limit: float | None,
    ) -> Array:
        made = self._solver(solver)
        weights, tilts, shrinkage = parts
        begun = time.perf_counter()
        try:
            solution = made.minimise(weights, tilts, centre, tolerance, limit, shrinkage=shrinkage)
            self.solver_steps += solution.n_iter or 0
            self._last = solution
            return solution.coefficients
        finally:
            self.solve_time += time.perf_counter() - begun

    def _solver(self, name: str) -> SubproblemSolver:
        if name not in self._made:
            self._made[name] = make(name, self.declared)
        return self._made[name]

    def dual(self, x: Array) -> Array | None:
        """Multipliers of the rows at x: where x is a subproblem's solution and has some."""
        accepted = self._accepted
        return accepted.dual if accepted is not None and _is_at(accepted, x) else None

    def value(self, x: Array) -> float:
        """F(x), under the transform and the ε as they stand."""
        return self.risk(x)

    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""
        if self._centre is None:
            raise RuntimeError("the majorant has no centre yet; call tighten first")
        first = self._solver(self.solvers[0])
        return self._offset + first.value(
            x, self.weights, self.tilts, self._centre, shrinkage=self.shrinkage
        )

    def objective(self, x: Array) -> float:
        """The declared risk, without ε; under the cap the run has set."""
        return self.risk(x) if self._edges is None else self._fixed(x)

    def violation(self, x: Array) -> float:
        """0: there are no constraints."""
        return 0.0

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem behind the risk, the same on a random half of the groups, or random θ.

        The convex problem has the base losses with weight 1 (a linear transform's own slope),
        nothing subtracted, and a concave penalty's slope at 0 (at 1 where that is infinite).
        """
        risk = self.declared
        p = risk.rows.shape[1]
        if kind == "random":
            return rng.standard_normal(p)
        slope = risk.transform.steepest if risk.transform.is_linear else 1.0
        weights = risk.sampled(np.full(risk.n_groups, slope))
        if kind == "half":
            weights[rng.permutation(weights.size)[: weights.size // 2]] = 0.0
        parts = (weights, None, _start_shrinkage(risk))
        return self._first_solved(parts, np.zeros(p), time_limit)

    def _first_solved(
        self,
        parts: tuple[Array, Array | None, Array | None],
        centre: Array,
        time_limit: float | None,
    ) -> Array:
        """By the first solver that can, to the best tolerance that any can."""
        limit = np.inf if time_limit is None else time_limit
        begun = time.perf_counter()
        failures: list[SubproblemError] = []
        for tolerance, solver in product(START, self.solvers):
            left = limit - (time.perf_counter() - begun)
            decided = tolerance > START[0] and any(e.status != "failed" for e in failures)
            if failures and (left <= 0 or decided):
                break
            try:
                at_most = None if time_limit is None else left
                return self._solve(parts, centre, tolerance, solver, at_most)
            except SubproblemError as error:
                failures.append(error)
        raise failures[0]

    def __repr__(self) -> str:
        return f"RiskSurrogate({self.declared!r}, solvers={self.solvers})"


def _is_at(solution: Solution | None, x: Array) -> bool:
    return solution is not None and np.array_equal(solution.coefficients, x)


def _equal(a: Array | None, b: Array | None) -> bool:
    return b is None if a is None else b is not None and np.array_equal(a, b)


def _first_edge(size: Array) -> float:
    """A tenth of the size of the arguments, if some start at the edge; EDGE otherwise."""
    largest = float(np.max(size, initial=0.0))
    if np.min(size, initial=np.inf) > NEAR_EDGE * largest:
        return EDGE
    return max(EDGE, FIRST_EDGE * (largest or 1.0))


def _shrinkage(risk: Risk, x: Array) -> Array | None:
    return None if risk.penalty.is_convex else risk.penalty.weights(x[risk.penalized])


def _finite_at_zero(risk: Risk) -> bool:
    """Is the slope of the penalty at 0 finite? Otherwise it changes with ε."""
    zero = np.zeros(int(risk.penalized.sum()))
    return np.array_equal(risk.penalty.weights(zero, 1e-3), risk.penalty.weights(zero, 1e-6))


def _start_shrinkage(risk: Risk) -> Array | None:
    """ν for the convex start: the slopes at 0, or the ones at 1 where those are infinite."""
    if risk.penalty.is_convex:
        return None
    return risk.penalty.weights(np.zeros(int(risk.penalized.sum())), 1.0)
