"""Evidence for a verdict beside one solver's word, and lower points where there is none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dcprog.engine.attempts import TIGHTER, AllFailed, solve
from dcprog.engine.probing import downhill, guarded
from dcprog.engine.state import FINEST, State
from dcprog.engine.track import Stop
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError

__all__ = ["EVIDENCE", "NO_STEP", "Evidence"]

# A dual bound may lie that many tolerances under the majorant's minimum and still be evidence for
# it; one that lies DENIAL of F's scale under it says that the solver missed the minimum.
EVIDENCE = 10.0
DENIAL = 1e-2
# A function that is lower by so many times its scale far out falls for ever.
FALLEN = 1e4
# A step shorter than that, in units of the coordinates, is none.
NO_STEP = 1e-9

# Steps whose gaps were too small to be resolved before a failure is one of resolution alone.
VANISHED = 2

Point = tuple[Array, float]


class Evidence:
    """Verdicts on the point where a run stands.

    Parameters
    ----------
    state : State
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._surrogate = state.surrogate
        self._rng = np.random.default_rng(0)

    def conclude(self) -> Point:
        """Stop as converged if the evidence allows it; otherwise a point with a lower value."""
        better, witness = self._second_opinion()
        better = better or self.lower()
        if better is not None:
            return better
        if witness is None:
            first = self._state.solvers[0]
            reason = f"{first} gets no lower from here, which nothing else confirms"
            raise Stop("solver_failed", reason)
        raise Stop("converged", f"the criticality gap is within tolerance ({witness})")

    def check_settled(self) -> Point | None:
        """Stop where a bound says that x minimises M already; a lower point if one is near."""
        if self._gap() > EVIDENCE * self._state.slack:
            return None  # the next step solves it again
        self._state.track.last.gap = 0.0
        lower = self.lower()
        if lower is None:
            raise Stop("converged", "the majorant did not change at its own minimiser")
        return lower

    def lower(self) -> Point | None:
        """A point around x where F is lower beyond doubt: x was a saddle, or a tie hid a slope."""
        state = self._state
        if self._surrogate.facts.is_convex and self._gap() <= EVIDENCE * state.slack:
            return None  # F is its own majorant, and no point of that is lower by more
        below = state.value - EVIDENCE * state.slack
        if state.track.best is not None:  # a run that pays for violations may pass a better one
            value = guarded(self._surrogate.value, state.track.best.x)
            if value < below:
                return state.track.best.x, value
        longest = max(entry.step for entry in state.track.entries)
        unmoved = longest <= NO_STEP * float(np.max(self._surrogate.units(state.x), initial=0.0))
        return self._look_around(below, wide=unmoved)

    def aside(self) -> Point | None:
        """Where x misses a constraint and does not move: any lower point, however far."""
        if not np.isfinite(self._state.value):
            return None
        return self._look_around(self._state.value - self._state.slack, wide=True)

    def _look_around(self, below: float, wide: bool) -> Point | None:
        state = self._state
        if not state.settings.escape:
            return None
        state.check_time()
        left = state.deadline.left
        for point in self._surrogate.nearby.off_ties(state.x, left):
            value = guarded(self._surrogate.value, point)
            if value < below:
                return point, value
        left = state.deadline.left
        return downhill(self._surrogate, state.x, below, self._rng, wide=wide, time_limit=left)

    # ------------------------------------------------------------------------------------------
    # a dual bound, or another solver

    def _gap(self) -> float:
        """How far F is above the last dual bound of M's minimum."""
        return self._state.value - self._surrogate.bound()

    def _bounded(self, by: str = "") -> str | None:
        """Does a dual bound stand for the gap? In which words."""
        if self._gap() <= EVIDENCE * self._state.slack:
            return f"by a dual bound{by}"
        if self._gap() <= EVIDENCE * self._state.coarse:
            return f"by a dual bound{by}, as far as {'it' if by else 'the solver'} resolves"
        return None

    def _denied(self) -> bool:
        """True if a dual bound contradicts x."""
        state, gap = self._state, self._gap()
        attainable = max(state.scale, self._surrogate.facts.attainable)
        return np.isfinite(gap) and gap > DENIAL * attainable

    def _second_opinion(self) -> tuple[Point | None, str | None]:
        """A point lower than x where a solver finds one, and what else stands for the gap."""
        state, words = self._state, self._bounded()
        if words is not None:
            return None, words
        first, plain = state.solvers[0], state.accuracy
        others = [name for name in self._surrogate.facts.verifiers if name != first]
        denied, witness = self._denied(), None
        tight = max(plain * TIGHTER, FINEST)
        for solver, tolerance in [*((s, plain) for s in others), (first, tight), (first, plain)]:
            state.check_time()
            try:
                new = solve(state, solver, tolerance)
                below = self._fall(new)
            except SubproblemError as error:
                state.note(solver, tolerance, str(error))
                continue
            new_value = guarded(self._surrogate.value, new)
            if below > state.slack and state.value - new_value > state.slack:
                state.note(first, plain, f"{solver} finds a point {below:.3g} lower")
                state.prefer(solver)
                return (new, new_value), None
            words = self._bounded(f" from {solver}")
            if words is not None:
                return None, words
            denied |= self._denied()
            # a solver that hands back where it began says nothing
            if witness is None and not np.array_equal(new, state.x):
                witness = f"confirmed by {solver}" if solver != first else f"by {solver} alone"
            if witness is not None and not denied:
                break
        return None, None if denied else witness

    def _fall(self, new: Array) -> float:
        """How far the majorant falls from x to a finite point."""
        state = self._state
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        below = state.value - guarded(self._surrogate.majorant_value, new)
        if not below >= -max(state.allowed, state.coarse):
            raise SubproblemError("failed", f"the majorant rose by {-below:.3g}")
        return below

    # ------------------------------------------------------------------------------------------
    # where every solver failed

    def after(self, failed: AllFailed) -> Point:
        """A lower point; otherwise the run stops, and why."""
        failures, lower = failed.failures, None
        if self._surrogate.settled:
            lower = self._none_lower(failed.shortfalls)
            if lower is None and any(error.status == "unbounded" for _, error in failures):
                lower = self._far_lower(failures)
            lower = lower or self._vanished()
        if lower is not None:
            return lower
        raise self._verdict(failures)

    def _none_lower(self, shortfalls: dict[str, float]) -> Point | None:
        """Every solution was refused: stop where none was so by much, or go where F is lower."""
        state = self._state
        near = [name for name, missed in shortfalls.items() if missed <= state.coarse]
        if not near or not np.isfinite(state.value):
            return None
        certain = self._gap() <= EVIDENCE * state.coarse
        if not certain and len(near) < min(2, len(state.solvers)):
            return None
        lower = self.lower()
        if lower is None:
            state.track.last.gap = max(min(shortfalls[name] for name in near), 0.0)
            raise Stop("converged", "no solver finds a lower point; the gap is their accuracy")
        return lower

    def _vanished(self) -> Point | None:
        """Stop, or go where F is lower, if F is below what solvers and the last gaps resolve."""
        state = self._state
        resolved = state.settings.tol * self._surrogate.facts.attainable
        measured = [e.gap for e in state.track.entries[:-1] if np.isfinite(e.gap)]
        gaps = measured[-VANISHED:]
        if len(gaps) < VANISHED or max(state.scale, *gaps) > resolved:
            return None
        lower = self.lower()
        if lower is None:
            state.track.last.gap = max(gaps)
            raise Stop(
                "converged", "the objective and its last gaps are below what solvers resolve"
            )
        return lower

    def _far_lower(self, failures: list[tuple[str, SubproblemError]]) -> Point | None:
        """Where solvers call M unbounded: a lower point, or the end if F falls as they say."""
        state, surrogate = self._state, self._surrogate
        if not np.isfinite(state.value):
            return None
        best: Point | None = None
        values = [state.value]  # further and further out
        for point in surrogate.nearby.far(state.x, state.deadline.left):
            value = guarded(surrogate.value, point)
            if not (np.all(np.isfinite(point)) and surrogate.domain.is_feasible(point)):
                continue
            if state.value - value > FALLEN * state.scale > 0:
                raise Stop("unbounded", f"the objective falls to {value:.3g} and goes on")
            values.append(value)
            if value < state.value - state.slack and (best is None or value < best[1]):
                best = point, value
        proofs = [str(e) for _, e in failures if e.status == "unbounded" and e.proved]
        # F lies under M: a ray along which M falls is one for F, unless M's curvature was lost
        falls = all(after < before - state.slack for before, after in pairwise(values))
        if proofs and falls and surrogate.domain.is_feasible(state.x):
            raise Stop("unbounded", proofs[0])
        return best

    def _verdict(self, failures: list[tuple[str, SubproblemError]]) -> Stop:
        state = self._state
        said = {solver: error for solver, error in failures if error.status == "infeasible"}
        proved = any(error.proved for error in said.values())
        # otherwise x itself is feasible, whatever a solver says
        if not np.isfinite(state.value) and (proved or len(said) >= min(2, len(state.solvers))):
            return Stop("infeasible", str(next(iter(said.values()))))
        if not self._surrogate.settled and any(e.status == "unbounded" for _, e in failures):
            return Stop("unbounded", "the majorant is unbounded at this price of violations")
        return Stop("solver_failed", f"every solver failed; the first: {failures[0][1]}")
