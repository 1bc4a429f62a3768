"""The majorant of a risk: one weight a group, a tilt a row, one weight a penalised coefficient."""

from __future__ import annotations

import logging
import time
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dcprog.errors import SubproblemError
from dcprog.result import Attempt
from dcprog.risk_bound import above_least, duality_gap
from dcprog.risk_units import Parts, Units, column_sizes, margin_unit
from dcprog.solvers.protocol import ExactSolver, Solution, SubproblemSolver
from dcprog.solvers.registry import choose, make, witnesses
from dcprog.surrogate import Unconstrained
from dcprog.tree import EDGE, Array

if TYPE_CHECKING:
    from dcprog.risk import Risk

__all__ = ["RiskSurrogate"]

logger = logging.getLogger("dcprog")

START = (1e-8, 1e-6, 1e-4)  # a start that is less accurate than a step still is one
FIRST_EDGE = 0.1
EDGE_DECAY = 0.1
NEAR_EDGE = 1e-6
# Tolerances are relative to what the terms of F add up to; never to less than these shares of the
# same at the start of the run, and at θ = 0, where rounding and a perfect fit would be all.
LEAST = 1e-3, 1e-7
ROUNDING = 1e-13  # of the latter: no solver is asked for less
FINEST, COARSEST = 1e-14, 1e-2  # tolerances for solvers
OUT_OF_SIZE = 30.0  # the objective's size, over that at which the solvers were made
PERFECT = 1e-4  # of the objective's size: what a fit that is almost perfect leaves
ACCEPT = 10.0  # times a start's tolerance, above its centre
SHARE = 0.5  # of the time left for a solver of the start with others behind it


class RiskSurrogate(Unconstrained):
    """Majorant of a risk: concave functions at their tangents.

    M(θ; θ₀) = Σ_g d_g agg_g(θ) + Σ_r t_r u_r(θ) + convex penalty + Σ_j ν_j |θ_j| + const, with
    the weights d_g = s_g φ'(agg_g), the tilts t_r = −s_g v_r sub'(u_r) and the slopes ν_j of a
    concave penalty, all at θ₀.

    Where a slope at 0 is infinite, the function is carried on along its tangent at a small ε: a
    tenth of the arguments' size at first, then ten times less each tightening down to 1e-10 of it.
    With that from the start, what is 0 at the start could never leave.

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
    witnesses : tuple of str
        All solvers that can take the risk, those of `solvers` first.
    start_attempts : list of Attempt
        Solvers that failed at a start.

    Raises
    ------
    ValueError
        The solver is unknown or cannot take the risk.

    Notes
    -----
    What overflows in here is seen in the values, and warned of nowhere.
    """

    def __init__(self, risk: Risk, solver: str | None = None) -> None:
        self.declared = self.risk = risk = risk.remembering()
        self.solvers = choose(risk, solver)
        self.witnesses = witnesses(risk, self.solvers)
        self.start_attempts: list[Attempt] = []
        self.solve_time = 0.0
        self.solver_steps = 0
        self._units: Units | None = None
        self._least = self._rounding = 0.0
        self._made: dict[str, SubproblemSolver] = {}
        self.weights = np.ones(risk.n_groups)
        self.tilts: Array | None = None
        self.shrinkage: Array | None = None
        self._offset = 0.0
        self._weighted = 0.0
        self._centre: Array | None = None
        self._edges: Array | None = None
        self._last_edges = np.full(2, EDGE)
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

    @np.errstate(all="ignore")
    def begin(self, x: Array) -> None:
        """Let the transform adapt anew, and infinite slopes come in again."""
        self._reset()
        zero = np.zeros(x.size)
        sizes = [
            share * self.declared.magnitude(y) for share, y in zip(LEAST, (x, zero), strict=True)
        ]
        self._least = max(size for size in (*sizes, 0.0) if np.isfinite(size))
        self._rounding = ROUNDING / LEAST[1] * sizes[1] if np.isfinite(sizes[1]) else 0.0
        self._fit(self.scale(x))

    def _fit(self, size: float) -> None:
        """Natural units for an objective of that size, unless it is about the one they are for."""
        if not 0 < size < np.inf:
            size = 1.0
        units = self._units
        if units is None or not 1 / OUT_OF_SIZE <= size / units.size <= OUT_OF_SIZE:
            self._units = Units.of(self.declared, size)
            self._made = {}

    @np.errstate(all="ignore")
    def scale(self, x: Array) -> float:
        """What the terms of F add up to at x in absolute value."""
        size = self.risk.magnitude(x)
        return max(size, self._least) if np.isfinite(size) else size

    @np.errstate(all="ignore")
    def units(self, x: Array) -> Array:
        """What moves the margins by about their unit, or x_j where that is more."""
        sizes = column_sizes(self.declared.rows)
        moving = np.where(sizes > 0, margin_unit(self.declared) / np.where(sizes > 0, sizes, 1), 0)
        units = np.maximum(np.abs(x), moving)
        return np.where((units > 0) & (units < np.inf), units, 1.0)

    @np.errstate(all="ignore")
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
        self._weighted = risk.weighted(x, *after)
        self._offset = risk(x) - self._weighted
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
            self._edges = np.maximum(self._last_edges, EDGE_DECAY * self._edges)
        self.risk = self._fixed.extended(*self._edges.tolist())
        self._tightenings += 1
        self.settled = self._tightenings >= rounds and bool(np.all(self._edges == self._last_edges))

    def _first_edges(self, x: Array) -> Array:
        """ε of the transform and the penalty for the first step; sets those to end with."""
        risk = self.declared
        sizes = risk.aggregates(x), np.abs(x[risk.penalized])
        units = self._natural.loss, _usual_size(risk)
        scales = [_largest(size, unit) for size, unit in zip(sizes, units, strict=True)]
        self._last_edges = EDGE * np.array(scales)
        starts = [
            steep and np.min(size, initial=np.inf) <= NEAR_EDGE * scale
            for steep, size, scale in zip(self._steep(), sizes, scales, strict=True)
        ]
        return np.where(starts, FIRST_EDGE * np.array(scales), self._last_edges)

    @np.errstate(all="ignore")
    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """Minimiser of the weighted risk, to a tolerance relative to :meth:`scale`."""
        centre = start if self._centre is None else self._centre
        aim = max(tolerance * self.scale(centre), self._rounding), self._weighted
        return self._solve(self._parts, centre, aim, solver, time_limit)

    @property
    def _parts(self) -> Parts:
        return self.weights, self.tilts, self.shrinkage

    def _solve(
        self,
        parts: Parts,
        centre: Array,
        aim: tuple[float, float],
        solver: str,
        limit: float | None,
    ) -> Array:
        """By one solver, to an accuracy where the value at the centre is given."""
        begun = time.perf_counter()
        try:
            solution = self._answer(parts, centre, aim, solver, limit)
        except SubproblemError:
            raise
        except Exception as error:
            self._made.pop(solver, None)  # whatever it keeps is half done
            logger.debug("%s", solver, exc_info=True)
            reason = f"{solver} raised {type(error).__name__}: {error}"
            raise SubproblemError("failed", reason) from error
        finally:
            self.solve_time += time.perf_counter() - begun
        if solution.coefficients.shape != centre.shape:
            raise SubproblemError("failed", f"{solver} returned {solution.coefficients.shape}")
        if not np.all(np.isfinite(solution.coefficients)):
            raise SubproblemError("failed", f"the solution of {solver} is not finite")
        self.solver_steps += solution.n_iter or 0
        self._last = solution
        return solution.coefficients

    def _answer(
        self,
        parts: Parts,
        centre: Array,
        aim: tuple[float, float],
        solver: str,
        limit: float | None,
    ) -> Solution:
        """A solver's answer in natural units, put back into the risk's own."""
        made = self._solver(solver)
        units = self._natural
        slack, value = aim
        tolerance = min(max(slack / (units.size + abs(value)), FINEST), COARSEST)
        weights, tilts, shrinkage = units.parts(parts)
        start = units.theta(centre)
        found = made.minimise(weights, tilts, start, tolerance, limit, shrinkage=shrinkage)
        return units.solution(found)

    @property
    def _natural(self) -> Units:
        if self._units is None:
            parts = self._start_parts()
            zero = np.zeros(self.declared.rows.shape[1])
            self._fit(abs(self.declared.weighted(zero, *parts)))
        assert self._units is not None
        return self._units

    def _solver(self, name: str) -> SubproblemSolver:
        if name not in self._made:
            self._made[name] = make(name, self._natural.natural)
        return self._made[name]

    def dual(self, x: Array) -> Array | None:
        """Multipliers of the rows at x: where x is a subproblem's solution and has some."""
        accepted = self._accepted
        return accepted.dual if accepted is not None and _is_at(accepted, x) else None

    @np.errstate(all="ignore")
    def value(self, x: Array) -> float:
        """F(x), under the transform and the ε as they stand."""
        return self.risk(x)

    @np.errstate(all="ignore")
    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""
        if self._centre is None:
            raise RuntimeError("the majorant has no centre yet; call tighten first")
        return self._offset + self._minimised(x)

    def _minimised(self, x: Array) -> float:
        """The function of the solver tried first: most minimise the weighted risk itself."""
        made = self._solver(self.solvers[0])
        if isinstance(made, ExactSolver) or self._centre is None:
            return self.risk.weighted(x, *self._parts)
        weights, tilts, shrinkage = self._natural.parts(self._parts)
        theta, centre = self._natural.theta(x), self._natural.theta(self._centre)
        value = made.value(theta, weights, tilts, centre, shrinkage=shrinkage)
        return value * self._natural.size

    @np.errstate(all="ignore")
    def bound(self) -> float:
        """A lower bound of min M(·; centre), by duality from the last solution's multipliers.

        See :func:`~dcprog.risk_bound.duality_gap` for what it certifies.
        """
        last = self._last
        if self._centre is None or last is None:
            return -np.inf
        units, theta = self._natural, last.coefficients
        value = self._offset + self.risk.weighted(theta, *self._parts)
        where = units.natural, units.parts(self._parts), units.theta(theta)
        gap = duality_gap(*where, units.dual(last.dual))
        above = above_least(*where)  # too large, it says nothing of the solver
        gap = min(gap, above) if above <= PERFECT else gap
        bound = value - units.size * gap
        return bound if np.isfinite(bound) else -np.inf

    @np.errstate(all="ignore")
    def objective(self, x: Array) -> float:
        """The declared risk, without ε; under the cap the run has set."""
        return self.risk(x) if self._edges is None else self._fixed(x)

    @np.errstate(all="ignore")
    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """The convex problem behind the risk, the same on a random half of the groups, or random θ.

        The convex problem has the base losses with weight 1 (a linear transform's own slope),
        nothing subtracted, and a concave penalty's slope at 0 (at 1 where that is infinite).
        """
        risk = self.declared
        p = risk.rows.shape[1]
        if kind == "random":
            return rng.standard_normal(p)
        weights, tilts, shrinkage = self._start_parts()
        if kind == "half":
            weights[rng.permutation(weights.size)[: weights.size // 2]] = 0.0
        return self._first_solved((weights, tilts, shrinkage), np.zeros(p), time_limit)

    def _start_parts(self) -> Parts:
        """Weights, tilts and shrinkage of the convex problem."""
        risk = self.declared
        weights = risk.sampled(np.full(risk.n_groups, _start_slope(risk)))
        return weights, None, _start_shrinkage(risk)

    def _first_solved(self, parts: Parts, centre: Array, time_limit: float | None) -> Array:
        """By the first solver that can, to the best tolerance that any can.

        A solver gets half of the time left, the last one all of it.
        """
        limit = np.inf if time_limit is None else time_limit
        begun = time.perf_counter()
        failures: list[SubproblemError] = []
        value = self.declared.weighted(centre, *parts)
        for tolerance, solver in product(START, self.solvers):
            left = limit - (time.perf_counter() - begun)
            decided = tolerance > START[0] and any(e.status != "failed" for e in failures)
            if failures and (left <= 0 or decided):
                break
            share = 1.0 if solver == self.solvers[-1] else SHARE
            at_most = None if time_limit is None else share * left
            aim = tolerance * (self._natural.size + abs(value)), value
            try:
                found = self._solve(parts, centre, aim, solver, at_most)
                rise = self.declared.weighted(found, *parts) - value
                if rise <= ACCEPT * aim[0]:
                    return found
                raise SubproblemError("failed", f"{solver} rose from θ = 0 by {rise:.3g}")
            except SubproblemError as error:
                failures.append(error)
                self.start_attempts.append(Attempt(0, solver, tolerance, str(error)))
        raise failures[0]

    def __repr__(self) -> str:
        return f"RiskSurrogate({self.declared!r}, solvers={self.solvers})"


def _is_at(solution: Solution | None, x: Array) -> bool:
    return solution is not None and np.array_equal(solution.coefficients, x)


def _equal(a: Array | None, b: Array | None) -> bool:
    return b is None if a is None else b is not None and np.array_equal(a, b)


def _largest(size: Array, unit: float) -> float:
    """The largest finite size, or the unit where all are 0."""
    return float(np.max(size, where=np.isfinite(size), initial=0.0)) or float(unit)


def _shrinkage(risk: Risk, x: Array) -> Array | None:
    return None if risk.penalty.is_convex else risk.penalty.weights(x[risk.penalized])


def _finite_at_zero(risk: Risk) -> bool:
    """Is the slope of the penalty at 0 finite? Otherwise it changes with ε."""
    zero = np.zeros(int(risk.penalized.sum()))
    return np.array_equal(risk.penalty.weights(zero, 1e-3), risk.penalty.weights(zero, 1e-6))


def _start_slope(risk: Risk) -> float:
    """φ'(0), or where that is infinite the slope of the chord from 0 to a usual loss at θ = 0."""
    transform = risk.transform
    if np.isfinite(transform.steepest):
        return transform.steepest
    losses = risk.aggregates(np.zeros(risk.rows.shape[1]))
    losses = losses[(losses > 0) & (losses < np.inf)]
    usual = float(np.median(losses)) if losses.size else 1.0
    rise = transform(np.full(risk.n_groups, usual)) - transform(np.zeros(risk.n_groups))
    return float(np.mean(rise)) / usual


def _start_shrinkage(risk: Risk) -> Array | None:
    """ν for the convex start: the slopes at 0, or where those are infinite at a usual size."""
    if risk.penalty.is_convex:
        return None
    usual = _usual_size(risk)
    return risk.penalty.weights(np.zeros(int(risk.penalized.sum())), usual)


def _usual_size(risk: Risk) -> float:
    """The coefficient that moves the margins by their unit."""
    sizes = column_sizes(risk.rows)[risk.penalized]
    sizes = sizes[(sizes > 0) & (sizes < np.inf)]
    return margin_unit(risk) / float(np.median(sizes)) if sizes.size else 1.0
