"""The outer loop: tighten the majorant at x, minimise it, check, repeat."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np

from dcprog.acceleration import Acceleration, acceleration_named
from dcprog.errors import SubproblemError
from dcprog.result import Attempt, History
from dcprog.surrogate import Surrogate
from dcprog.tree import Array

__all__ = ["Progress", "Run", "Settings", "descend"]

logger = logging.getLogger("dcprog")

# Subproblems are solved to tol·SUBPROBLEM, then to that·TIGHTER, neither finer than FINEST, which
# rounding lets a solver reach, and where every solver stalls before, to tol. A point may miss
# descent by ACCEPT times the first of these before it is refused, whatever it was solved to.
SUBPROBLEM = 1e-2
TIGHTER = 1e-2
FINEST = 1e-12
ACCEPT = 10.0
# An objective that has fallen by so many times its first size is unbounded.
BOTTOMLESS = 1e25


@dataclass(frozen=True)
class Progress:
    """What a callback sees after every accepted step (and at the start, with ``n_iter`` 0)."""

    n_iter: int
    x: Array
    value: float
    gap: float
    step: float
    violation: float
    time: float


@dataclass(frozen=True)
class Settings:
    """Options of the loop, as in :func:`dcprog.solve`."""

    tol: float = 1e-6
    max_iter: int = 100
    time_limit: float | None = None
    acceleration: str | None = None
    callback: Callable[[Progress], object] | None = None
    verbose: bool = False


@dataclass(frozen=True)
class Run:
    """One descent from one start: the best point and how it was reached (None: there is none)."""

    x: Array | None
    value: float
    gap: float
    violation: float
    status: str
    message: str
    history: History
    solver: str = ""

    @property
    def n_iter(self) -> int:
        """Steps taken after the start."""
        return max(len(self.history) - 1, 0)


@dataclass
class _Entry:
    """A point and its line of the history; one object, so that Ctrl-C cannot tear them apart."""

    x: Array
    value: float
    step: float
    time: float
    solve_time: float
    violation: float
    rise: float
    gap: float = np.inf


@dataclass
class _Track:
    """The history while it grows."""

    entries: list[_Entry] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def last(self) -> _Entry:
        """Where the run is."""
        return self.entries[-1]

    @property
    def n_iter(self) -> int:
        """Steps taken so far."""
        return len(self.entries) - 1

    def freeze(self) -> History:
        names = [column.name for column in fields(History) if column.name != "attempts"]
        arrays = {
            name: np.array([getattr(entry, name) for entry in self.entries]) for name in names
        }
        return History(**arrays, attempts=tuple(self.attempts))


class _Stop(Exception):
    """Ends the loop with a status and the reason in words."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


def descend(surrogate: Surrogate, start: Array, settings: Settings | None = None) -> Run:
    """Run the loop from one start.

    Every step tightens the majorant M at x, minimises it, recomputes F in NumPy and accepts the
    minimiser x⁺ if F does not rise by more than ten times the subproblem's tolerance; if it does,
    or the solver fails, the subproblem is solved again, tighter, then by the next solver. The
    criticality gap of x is M(x) − M(x⁺) ≥ 0. The loop stops as converged at x when both the gap
    and the decrease F(x) − F(x⁺) are at most tol·(1 + |F(x)|).

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
    """
    return _Descent(surrogate, start, settings or Settings()).run()


class _Descent:
    def __init__(self, surrogate: Surrogate, start: Array, settings: Settings) -> None:
        self.surrogate = surrogate
        self.settings = settings
        self.x = np.array(start, dtype=float)
        self.value = np.inf
        self.track = _Track()
        self.solvers: list[str] = []
        self.shortfall = np.inf  # how far above x the subproblem's best refused solution is
        self.accelerate: Acceleration | None = acceleration_named(settings.acceleration)
        self.begun = time.perf_counter()

    def run(self) -> Run:
        try:
            self._begin()
            while True:
                self._step()
        except _Stop as stop:
            status, message = stop.status, stop.message
        except KeyboardInterrupt:
            if not self.track.entries:
                raise
            status, message = "interrupted", "stopped by Ctrl-C; this is the best point so far"
        if self.settings.verbose:
            logger.info("%s: %s", status, message)
        last = self.track.last
        return Run(
            last.x,
            last.value,
            last.gap,
            last.violation,
            status,
            message,
            self.track.freeze(),
            self.solvers[0] if self.solvers else "",
        )

    # ------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.surrogate.begin(self.x)
        self.solvers = list(self.surrogate.solvers)
        self._tighten()
        self._record(self.x, rise=0.0, step=0.0)
        self._report()

    def _tighten(self) -> bool:
        moved = self.surrogate.tighten(self.x)
        self.value = self.surrogate.value(self.x)
        return moved

    def _step(self) -> None:
        try:
            new, new_value = self._minimise()
        except _Stop as stop:
            if stop.status == "unbounded" and not self.surrogate.settled:
                self._tighten()  # a larger penalty may bound it
                return
            raise
        self._stop_if_critical(new_value)
        if self.track.n_iter >= self.settings.max_iter:
            raise _Stop("max_iter", f"no criticality after {self.settings.max_iter} steps")
        if self.accelerate is not None:
            new = self.accelerate(self.surrogate.value, self.x, new, new_value)
            new_value = self.surrogate.value(new)
        self._move(new, new_value)
        if self._remaining() == 0:
            raise _Stop("time_limit", "the time limit is reached")

    def _stop_if_critical(self, new_value: float) -> None:
        """Both the majorant's minimum and the next value must be no better than x."""
        if not np.isfinite(self.value):
            return
        slack = self.settings.tol * (1 + abs(self.value))
        flat = self.track.last.gap <= slack and self.value - new_value <= slack
        if flat and self.surrogate.settled:
            raise _Stop("converged", "the criticality gap is within tolerance")

    def _move(self, new: Array, new_value: float) -> None:
        first = self.track.entries[0].value
        if new_value < -BOTTOMLESS * (1 + (abs(first) if np.isfinite(first) else 0.0)):
            raise _Stop("unbounded", f"the objective has fallen to {new_value:.3g} and goes on")
        step = float(np.linalg.norm(new - self.x))
        rise = new_value - self.value if np.isfinite(self.value) else 0.0
        self.x = new
        moved = self._tighten()
        self._record(new, rise=rise, step=step)
        if not moved and self.accelerate is None and self.surrogate.settled:
            # the majorant is the one x minimises already
            self.track.last.gap = 0.0
            self._report()
            raise _Stop("converged", "the majorant did not change at its own minimiser")
        self._report()

    # ------------------------------------------------------------------------------------------

    def _minimise(self) -> tuple[Array, float]:
        """An acceptable minimiser of the majorant and its value; measures the gap of x."""
        failures: list[SubproblemError] = []
        self.shortfall = np.inf
        for solver, tolerance in self._attempts():
            try:
                new = self.surrogate.minimise(self.x, tolerance, solver, self._remaining())
                new_value = self._check(new)
            except SubproblemError as error:
                failures.append(error)
                self._note(solver, tolerance, str(error))
                if self._remaining() == 0:
                    raise _Stop("time_limit", "the time limit ended a subproblem") from None
                continue
            self.solvers.sort(key=lambda name: name != solver)  # what worked goes first next time
            return new, new_value
        slack = self.settings.tol * (1 + abs(self.value))
        if self.surrogate.settled and np.isfinite(self.value) and self.shortfall <= slack:
            self.track.last.gap = self.shortfall
            raise _Stop("converged", "no solver finds a lower point; the gap is their accuracy")
        raise self._verdict(failures)

    def _attempts(self) -> list[tuple[str, float]]:
        tolerance = self._accuracy
        first, *others = self.solvers
        attempts = [
            (first, tolerance),
            (first, max(tolerance * TIGHTER, FINEST)),
            *((solver, tolerance) for solver in others),
            *((solver, max(self.settings.tol, tolerance)) for solver in self.solvers),
        ]
        return list(dict.fromkeys(attempts))

    @property
    def _accuracy(self) -> float:
        """Of the subproblems, relative to 1 + |value|."""
        return max(self.settings.tol * SUBPROBLEM, FINEST)

    def _check(self, new: Array) -> float:
        """Value at a candidate, which must minimise the majorant and not raise F."""
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        allowed = ACCEPT * self._accuracy * (1 + abs(self.value))
        below = self.value - self.surrogate.majorant_value(new)
        new_value = self.surrogate.value(new)
        if np.isfinite(self.value):
            if not below >= -allowed:
                self.shortfall = min(self.shortfall, -below)
                raise SubproblemError("failed", f"the majorant rose by {-below:.3g}")
            rise = new_value - self.value
            if not rise <= allowed:
                raise SubproblemError("failed", f"the objective rose by {rise:.3g}")
            self.track.last.gap = max(below, 0.0)
        elif not np.isfinite(new_value):
            raise SubproblemError("failed", "the solution violates a constraint")
        return new_value

    def _verdict(self, failures: list[SubproblemError]) -> _Stop:
        statuses = [error.status for error in failures]
        decisive = ["unbounded"]
        if not np.isfinite(self.value):  # otherwise x itself is feasible, whatever a solver says
            decisive.append("infeasible")
        for status in decisive:
            if status in statuses:
                return _Stop(status, str(failures[statuses.index(status)]))
        return _Stop("solver_failed", f"every solver failed; the first: {failures[0]}")

    # ------------------------------------------------------------------------------------------

    def _remaining(self) -> float | None:
        if self.settings.time_limit is None:
            return None
        return max(0.0, self.settings.time_limit - (time.perf_counter() - self.begun))

    def _record(self, x: Array, *, rise: float, step: float) -> None:
        entry = _Entry(
            x=x,
            value=self.surrogate.objective(x),
            step=step,
            time=time.perf_counter() - self.begun,
            solve_time=self.surrogate.solve_time,
            violation=self.surrogate.violation(x),
            rise=rise,
        )
        self.track.entries.append(entry)

    def _note(self, solver: str, tolerance: float, outcome: str) -> None:
        iteration = self.track.n_iter
        self.track.attempts.append(Attempt(iteration, solver, tolerance, outcome))
        logger.debug("step %d, %s at %.1e: %s", iteration, solver, tolerance, outcome)

    def _report(self) -> None:
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
            logger.info(
                "%4d  value %-16.10g gap before %-9.3g step %-9.3g violation %.2g",
                progress.n_iter,
                progress.value,
                progress.gap,
                progress.step,
                progress.violation,
            )
        if self.settings.callback is not None and self.settings.callback(progress):
            raise _Stop("interrupted", "the callback asked to stop")
