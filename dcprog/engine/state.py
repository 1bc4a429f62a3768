"""Where a run stands: its point, the tolerances there, the clock, and what is on record."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

import numpy as np

from dcprog.engine.probing import guarded
from dcprog.engine.protocol import Surrogate
from dcprog.engine.track import Attempt, Entry, Progress, Settings, Stop, Track
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline

__all__ = ["State"]


def log_step(progress: Progress) -> None:
    """A line of the table, and at the start of a run the head above it.

    The gap is that of the point before, which the step has measured.
    """
    if progress.n_iter == 0:
        logger.info("step             value   gap before        moved    violation   seconds")
    gap = f"{progress.gap:.3g}" if progress.n_iter > 0 else ""
    moved = f"{progress.step:.3g}" if progress.n_iter > 0 else ""
    logger.info(
        "%4d  %16.9g %12s %12s %12.2g %9.2f",
        progress.n_iter,
        progress.value,
        gap,
        moved,
        progress.violation,
        progress.time,
    )


# ----------------------------------------------------------------------------------------------

logger = logging.getLogger("dcprog")

# Subproblems are solved to tol·SUBPROBLEM, not finer than FINEST, which rounding lets a solver
# reach. A point may miss descent by ACCEPT times that before it is refused, whatever it was solved
# to.
SUBPROBLEM = 1e-2
FINEST = 1e-12
ACCEPT = 10.0
WORTH = 0.1  # of the last decrease, that a step may leave to the next ones
# No tolerance is finer than the rounding of F itself.
ROUNDING = 16 * float(np.finfo(float).eps)


class State:
    """A point x of a run, F and M there, and the tolerances that follow from F's scale.

    Parameters
    ----------
    surrogate : Surrogate
    start : array
    settings : Settings

    Attributes
    ----------
    solvers : list of str
        The best one first: what worked last.
    was_loose : bool
        Was the last subproblem solved to less than what the end asks for?
    deadline : Deadline
        Of the whole run.
    """

    def __init__(self, surrogate: Surrogate, start: Array, settings: Settings) -> None:
        self.surrogate = surrogate
        self.settings = settings
        self.x = np.array(start, dtype=float)
        self.value = np.inf
        self.scale = 0.0
        self.first_scale = 0.0
        self.solvers: list[str] = []
        self.was_loose = False
        self.track = Track()
        self.deadline = Deadline(settings.time_limit)
        self._begun = time.perf_counter()
        self._was_settled = False  # before the last tightening

    def tighten(self) -> bool:
        """Centre the majorant at x, and return True if it has moved."""
        moved = self.surrogate.tighten(self.x)
        self.value = guarded(self.surrogate.value, self.x)
        scale = self.surrogate.scale(self.x)
        self.scale = scale if np.isfinite(scale) else 0.0
        self.first_scale = self.first_scale or self.scale
        return moved

    def prefer(self, solver: str) -> None:
        """Put the solver that worked first next time."""
        self.solvers.sort(key=lambda name: name != solver)

    # ------------------------------------------------------------------------------------------
    # tolerances

    @property
    def accuracy(self) -> float:
        """Of the subproblems, relative to the scale of F."""
        return max(self.settings.tol * SUBPROBLEM, FINEST)

    @property
    def loose(self) -> float:
        """Of a subproblem far from the end: a share of what the last step gained."""
        loosest, entries = self.surrogate.facts.loosest, self.track.entries
        if loosest > 0 and self.scale > 0 and len(entries) > 1 and np.isfinite(entries[-2].value):
            gained = abs(entries[-1].value - entries[-2].value)
            loosest = min(loosest, WORTH * gained / self.scale)
        return max(loosest, self.accuracy)

    @property
    def slack(self) -> float:
        """The gap and the decrease below which x counts as critical."""
        return self.settings.tol * self.scale + self.noise

    @property
    def coarse(self) -> float:
        """The tolerance where F vanishes: solvers resolve a share of F's value elsewhere."""
        return self.settings.tol * max(self.scale, self.surrogate.facts.attainable) + self.noise

    @property
    def allowed(self) -> float:
        """The most that F and M may rise by at a step."""
        return ACCEPT * self.accuracy * self.scale + self.noise

    @property
    def noise(self) -> float:
        """The size of rounding in F."""
        return ROUNDING * abs(self.value) if np.isfinite(self.value) else 0.0

    # ------------------------------------------------------------------------------------------
    # the clock

    def check_time(self, reason: str = "the time limit is reached") -> None:
        """Stop where the run's time is over."""
        if self.deadline.left == 0:
            raise Stop("time_limit", reason)

    # ------------------------------------------------------------------------------------------
    # the floor

    def check_floor(self, within: float, reason: str) -> None:
        """Stop where F is at most that far above what it is known to be nowhere below."""
        above = self.value - self.surrogate.facts.lower_bound
        if self.surrogate.settled and np.isfinite(above) and above <= within:
            self.track.last.gap = max(above, 0.0)
            raise Stop("converged", reason)

    # ------------------------------------------------------------------------------------------
    # the record

    def note(self, solver: str, tolerance: float, outcome: str) -> None:
        """Put an attempt on record that was not accepted."""
        iteration = self.track.n_iter
        self.track.attempts.append(Attempt(iteration, solver, tolerance, outcome))
        logger.debug("step %d, %s at %.1e: %s", iteration, solver, tolerance, outcome)

    def record(self, *, rise: float, step: float) -> None:
        """Put the point on record."""
        surrogate, x, best = self.surrogate, self.x, self._best_so_far()
        entry = Entry(
            x=x,
            value=surrogate.objective(x),
            step=step,
            time=time.perf_counter() - self._begun,
            solve_time=surrogate.record.solve_time,
            violation=surrogate.domain.violation(x),
            rise=rise,
        )
        self.track.entries.append(entry)
        lower = best is None or surrogate.facts.sign * (entry.value - best.value) < 0
        if lower and np.isfinite(entry.value) and surrogate.domain.is_feasible(x):
            self.track.best = entry

    def _best_so_far(self) -> Entry | None:
        """The best point, under F as it now is: only values of one F are compared."""
        best = self.track.best
        if best is not None and not self._was_settled:
            self.track.best = best = replace(best, value=self.surrogate.objective(best.x))
        self._was_settled = self.surrogate.settled
        return best

    def report(self) -> None:
        """Tell the log and the callback."""
        last = self.track.last
        progress = Progress(
            n_iter=self.track.n_iter,
            x=last.x.copy(),
            value=last.value,
            gap=self.track.entries[-2].gap if self.track.n_iter > 0 else np.inf,
            step=last.step,
            violation=last.violation,
            time=last.time,
        )
        if self.settings.verbose:
            log_step(progress)
        if self.settings.callback is not None and self.settings.callback(progress):
            raise Stop("interrupted", "the callback asked to stop")
