"""The outer loop: tighten the majorant at x, minimise it, check, repeat."""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np

from dcprog.engine.acceleration import Acceleration, acceleration_named
from dcprog.engine.attempts import AllFailed, minimise
from dcprog.engine.evidence import Evidence
from dcprog.engine.probing import guarded
from dcprog.engine.protocol import Surrogate
from dcprog.engine.state import State
from dcprog.engine.track import Entry, Run, Settings, Stop
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import UnfitStart

__all__ = ["descend"]

logger = logging.getLogger("dcprog")

# An objective that has fallen by so many times its first size is unbounded.
BOTTOMLESS = 1e25
# Where a constraint is missed, a step shorter than that many units leads nowhere.
STILL = 1e-6
# Steps are slow where each lowers F by more than SLOW times what the one before did, LONG times
# in a row; then the majorant is centred ahead of x.
SLOW = 0.6
LONG = 3
# Shares of a step that is taken back where F has no slope at its end.
SHARES = (1.0, 0.99, 0.9, 0.5)


def descend(surrogate: Surrogate, start: Array, settings: Settings | None = None) -> Run:
    """Run the loop from one start.

    Every step tightens the majorant M at x, minimises it, recomputes F in NumPy and accepts the
    minimiser x⁺ if F does not rise by more than ten times the subproblem's tolerance; if it does,
    or the solver fails, the subproblem is solved again, tighter, then by the next solver. The
    criticality gap of x is M(x) − M(x⁺) ≥ 0. The loop may stop as converged at x when both the
    gap and the decrease F(x) − F(x⁺) are at most tol times the scale of F, and does so when two
    things besides the solver's word speak for it: a dual bound on the majorant's minimum, or a
    second solver that gets no lower; and no point near x at which F is lower.

    Parameters
    ----------
    surrogate : Surrogate
    start : array
        The first point.
    settings : Settings, optional

    Returns
    -------
    Run
        Never raises for what a solver does, nor for Ctrl-C: the best point so far is kept.

    Raises
    ------
    UnfitStart
        F has no slope at the start. What a callback raises comes through.
    """
    return _Descent(surrogate, start, settings or Settings()).run()


class _Descent:
    def __init__(self, surrogate: Surrogate, start: Array, settings: Settings) -> None:
        self.surrogate = surrogate
        self.settings = settings
        self.state = State(surrogate, start, settings)
        self.evidence = Evidence(self.state)
        self.accelerate: Acceleration | None = acceleration_named(settings.acceleration)
        self.falls: list[float] = []  # of F, over the last steps on which it did not move
        self.momentum = 0

    def run(self) -> Run:
        track = self.state.track
        try:
            self._begin()
            while True:
                self._step()
        except Stop as stop:
            status, message = stop.status, stop.message
        except KeyboardInterrupt:
            if not track.entries:
                raise
            status, message = "interrupted", "stopped by Ctrl-C; this is the best point so far"
        if self.settings.verbose:
            logger.info("%s: %s", status, message)
        last = track.last if status == "converged" else self._best()
        return Run(
            last.x,
            last.value,
            last.gap,
            last.violation,
            status,
            message,
            track.freeze(),
            self.state.solvers[0] if self.state.solvers else "",
            max(self.state.scale, self.surrogate.facts.attainable),
            self.surrogate.domain.mode,
        )

    def _best(self) -> Entry:
        """The last point, or an earlier one that meets the constraints and is better or alone."""
        last, best = self.state.track.last, self.state.track.best
        if best is None or best is last:
            return last
        lost = self.surrogate.facts.sign * (last.value - best.value) > 0
        return best if lost or not self.surrogate.domain.is_feasible(last.x) else last

    # ------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        state = self.state
        self.surrogate.begin(state.x)
        state.solvers = list(self.surrogate.solvers)
        try:
            state.tighten()
        except ValueError as error:
            raise UnfitStart(str(error)) from error
        state.record(rise=0.0, step=0.0)
        state.report()

    def _step(self) -> None:
        state = self.state
        within = self.settings.tol * abs(state.value)
        state.check_floor(within, "the value is as low as any can be")
        ahead = self._ahead()
        if ahead is not None:
            self._move_on(*ahead)
            return
        try:
            new, new_value = self._minimise()
        except Stop as stop:
            if stop.status == "unbounded" and not self.surrogate.settled:
                state.tighten()  # a larger penalty may bound it
                return
            raise
        if self._is_flat(new_value):
            new, new_value = self.evidence.conclude()
        elif self._is_short(new) and not self.surrogate.domain.is_feasible(state.x):
            new, new_value = self.evidence.aside() or (new, new_value)
        if self.accelerate is None:
            new, new_value = self._further(new, new_value)
        elif state.track.n_iter < self.settings.max_iter:
            new = self.accelerate(self.surrogate.value, state.x, new, new_value)
            new_value = self.surrogate.value(new)
        self._move_on(new, new_value)

    def _minimise(self) -> tuple[Array, float]:
        try:
            return minimise(self.state)
        except AllFailed as failed:
            return self.evidence.after(failed)

    def _further(self, new: Array, new_value: float) -> tuple[Array, float]:
        """Where the surrogate goes on to from there, if F is lower."""
        try:
            found = self.surrogate.nearby.further(new)
        except Exception as error:  # it was but a try
            self.state.note(self.state.solvers[0], self.state.accuracy, f"further: {error}")
            return new, new_value
        if found is new:
            return new, new_value
        value = guarded(self.surrogate.value, found)
        return (found, value) if value < new_value else (new, new_value)

    def _ahead(self) -> tuple[Array, float] | None:
        """The minimiser of the majorant centred beyond x, if plain steps are slow and it is lower.

        A majorant is one wherever it is centred; x + β(x − x₋) with Nesterov's β, begun anew
        where F does not fall.

        References
        ----------
        Phan, Le, Le Thi (2018), Accelerated difference of convex functions algorithm and its
        application to sparse binary logistic regression, IJCAI.
        """
        state, last = self.state, self.falls[-LONG - 1 :]
        slow = len(last) > LONG and all(b > SLOW * a > 0 for a, b in pairwise(last))
        usable = self.surrogate.facts.looks_ahead and self.accelerate is None
        if not usable or not (slow or self.momentum) or last[-1] == 0:
            return None
        self.momentum += 1
        share = self.momentum / (self.momentum + 3)
        centre = state.x + share * (state.x - state.track.entries[-2].x)
        solver, accuracy = state.solvers[0], state.accuracy
        try:
            left = state.deadline.left
            new = self.surrogate.nearby.ahead(centre, state.x, accuracy, solver, left)
        except Exception as error:  # it was but a try
            state.note(solver, accuracy, f"ahead of x: {error}")
            new = state.x
        new_value = guarded(self.surrogate.value, new)
        if np.all(np.isfinite(new)) and state.value - new_value > state.slack:
            return new, new_value
        self.momentum, self.falls = 0, []
        return None

    def _is_flat(self, new_value: float) -> bool:
        """True if neither the majorant's minimum nor the next value is better than F(x)."""
        state = self.state
        if not (np.isfinite(state.value) and self.surrogate.settled):
            return False
        return state.track.last.gap <= state.slack and state.value - new_value <= state.slack

    def _is_short(self, new: Array) -> bool:
        units = self.surrogate.units(self.state.x)
        return float(np.max(np.abs(new - self.state.x) / units, initial=0.0)) <= STILL

    # ------------------------------------------------------------------------------------------

    def _move_on(self, new: Array, new_value: float) -> None:
        if self.state.track.n_iter >= self.settings.max_iter:
            raise Stop("max_iter", f"no criticality after {self.settings.max_iter} steps")
        self._move(new, new_value)
        self.state.check_time()

    def _move(self, new: Array, new_value: float) -> None:
        self._check_bottom(new, new_value)
        state = self.state
        before, value = state.x, state.value
        moved = self._arrive(new)
        still = abs(state.value - new_value) <= state.noise  # F itself did not move
        self.falls.append(value - new_value if still and state.x is new else 0.0)
        reached = new_value if state.x is new else state.value
        state.record(
            rise=reached - value if np.isfinite(value) else 0.0,
            step=float(np.linalg.norm(state.x - before)),
        )
        state.report()
        if not (moved or state.was_loose) and self.accelerate is None and self.surrogate.settled:
            lower = self.evidence.check_settled()
            if lower is not None:
                self._move_on(*lower)

    def _check_bottom(self, new: Array, new_value: float) -> None:
        """Stop where F has fallen too far."""
        track = self.state.track
        seen = [abs(entry.value) for entry in track.entries[:3] if np.isfinite(entry.value)]
        size = max(self.state.first_scale, self.surrogate.facts.attainable, *seen, 0.0)
        far = track.n_iter > 1 and size > 0 and new_value < -BOTTOMLESS * size
        if far and self.surrogate.domain.is_feasible(new):
            raise Stop("unbounded", f"the objective has fallen to {new_value:.3g} and goes on")

    def _arrive(self, new: Array) -> bool:
        """Tighten at the new point; where F has no slope there, a little before it."""
        state = self.state
        before = state.x
        for share in SHARES:
            state.x = new if share == 1 else before + share * (new - before)
            try:
                return state.tighten()
            except ValueError as error:
                reason = str(error)
        state.x = before
        state.tighten()
        raise Stop("solver_failed", f"no step can be taken from here: {reason}")
