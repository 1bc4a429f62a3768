"""The outer loop: tighten the majorant at x, minimise it, check, repeat."""

from __future__ import annotations

import logging
import time
from itertools import pairwise

import numpy as np

from dcprog.engine.acceleration import Acceleration, acceleration_named
from dcprog.engine.probing import downhill, guarded
from dcprog.engine.protocol import Surrogate
from dcprog.engine.result import Attempt
from dcprog.engine.track import Entry, Progress, Run, Settings, Stop, Track
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError, UnfitSolver, UnfitStart

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
# No tolerance is finer than the rounding of F itself.
ROUNDING = 16 * float(np.finfo(float).eps)
# A dual bound may lie that many tolerances under the majorant's minimum and still be evidence for
# it; one that lies DENIAL of F's scale under it says that the solver missed the minimum.
EVIDENCE = 10.0
DENIAL = 1e-2
# A function that is lower by so many times its scale far out falls for ever.
FALLEN = 1e4
# A step shorter than that, in units of the coordinates, is none; where a constraint is missed, one
# shorter than STILL leads nowhere.
NO_STEP = 1e-9
STILL = 1e-6
# Steps are slow where each lowers F by more than SLOW times what the one before did, LONG times
# in a row; then the majorant is centred ahead of x.
SLOW = 0.6
LONG = 3
# A solver other than the first may use up that share of the time that is left.
SHARE = 0.5


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
        self.x = np.array(start, dtype=float)
        self.value = np.inf
        self.scale = 0.0
        self.first_scale = 0.0
        self.track = Track()
        self.solvers: list[str] = []
        self.shortfalls: dict[str, float] = {}  # how far above x solvers' refused solutions are
        self.accelerate: Acceleration | None = acceleration_named(settings.acceleration)
        self.rng = np.random.default_rng(0)
        self.falls: list[float] = []  # of F, over the last steps on which it did not move
        self.momentum = 0
        self.begun = time.perf_counter()

    def run(self) -> Run:
        try:
            self._begin()
            while True:
                self._step()
        except Stop as stop:
            status, message = stop.status, stop.message
        except KeyboardInterrupt:
            if not self.track.entries:
                raise
            status, message = "interrupted", "stopped by Ctrl-C; this is the best point so far"
        if self.settings.verbose:
            logger.info("%s: %s", status, message)
        last = self.track.last
        if status != "converged":
            last = self._best()
        return Run(
            last.x,
            last.value,
            last.gap,
            last.violation,
            status,
            message,
            self.track.freeze(),
            self.solvers[0] if self.solvers else "",
            max(self.scale, self.surrogate.resolution),
            self.surrogate.mode,
        )

    def _best(self) -> Entry:
        """The last point, or an earlier one that meets the constraints and is better or alone."""
        last, best = self.track.last, self.track.best
        if best is None or best is last:
            return last
        lost = self.surrogate.sign * (last.value - best.value) > 0
        return best if lost or not self.surrogate.is_feasible(last.x) else last

    # ------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.surrogate.begin(self.x)
        self.solvers = list(self.surrogate.solvers)
        try:
            self._tighten()
        except ValueError as error:
            raise UnfitStart(str(error)) from error
        self._record(self.x, rise=0.0, step=0.0)
        self._report()

    def _tighten(self) -> bool:
        moved = self.surrogate.tighten(self.x)
        self.value = guarded(self.surrogate.value, self.x)
        scale = self.surrogate.scale(self.x)
        self.scale = scale if np.isfinite(scale) else 0.0
        self.first_scale = self.first_scale or self.scale
        return moved

    @property
    def _slack(self) -> float:
        """The gap and the decrease below which x counts as critical."""
        return self.settings.tol * self.scale + self._noise

    @property
    def _coarse(self) -> float:
        """The same where F vanishes: what solvers resolve there is a share of F elsewhere."""
        return self.settings.tol * max(self.scale, self.surrogate.resolution) + self._noise

    @property
    def _allowed(self) -> float:
        """What F and M may rise by at a step."""
        return ACCEPT * self._accuracy * self.scale + self._noise

    @property
    def _noise(self) -> float:
        return ROUNDING * abs(self.value) if np.isfinite(self.value) else 0.0

    def _step(self) -> None:
        above = self.value - self.surrogate.floor
        if self.surrogate.settled and above <= self._slack:
            self.track.last.gap = max(above, 0.0)
            raise Stop("converged", "the value is as low as any can be")
        ahead = self._ahead()
        if ahead is not None:
            self._move_on(*ahead)
            return
        try:
            new, new_value = self._minimise()
        except Stop as stop:
            if stop.status == "unbounded" and not self.surrogate.settled:
                self._tighten()  # a larger penalty may bound it
                return
            raise
        if self._is_flat(new_value):
            new, new_value = self._conclude()
        elif self._is_short(new) and not self.surrogate.is_feasible(self.x):
            new, new_value = self._aside() or (new, new_value)
        if self.accelerate is not None and self.track.n_iter < self.settings.max_iter:
            new = self.accelerate(self.surrogate.value, self.x, new, new_value)
            new_value = self.surrogate.value(new)
        self._move_on(new, new_value)

    def _move_on(self, new: Array, new_value: float) -> None:
        if self.track.n_iter >= self.settings.max_iter:
            raise Stop("max_iter", f"no criticality after {self.settings.max_iter} steps")
        self._move(new, new_value)
        if self._remaining() == 0:
            raise Stop("time_limit", "the time limit is reached")

    def _ahead(self) -> tuple[Array, float] | None:
        """The minimiser of the majorant centred beyond x, if plain steps are slow and it is lower.

        A majorant is one wherever it is centred; x + β(x − x₋) with Nesterov's β, begun anew
        where F does not fall.

        References
        ----------
        Phan, Le, Le Thi (2018), Accelerated difference of convex functions algorithm and its
        application to sparse binary logistic regression, IJCAI.
        """
        last = self.falls[-LONG - 1 :]
        slow = len(last) > LONG and all(b > SLOW * a > 0 for a, b in pairwise(last))
        usable = self.surrogate.may_look_ahead and self.accelerate is None
        if not usable or not (slow or self.momentum) or last[-1] == 0:
            return None
        self.momentum += 1
        share = self.momentum / (self.momentum + 3)
        centre = self.x + share * (self.x - self.track.entries[-2].x)
        try:
            new = self.surrogate.minimise_ahead(
                centre, self.x, self._accuracy, self.solvers[0], self._remaining()
            )
        except Exception as error:  # it was but a try
            self._note(self.solvers[0], self._accuracy, f"ahead of x: {error}")
            new = self.x
        new_value = guarded(self.surrogate.value, new)
        if np.all(np.isfinite(new)) and self.value - new_value > self._slack:
            return new, new_value
        self.momentum, self.falls = 0, []
        return None

    def _is_flat(self, new_value: float) -> bool:
        """Are both the majorant's minimum and the next value no better than x?"""
        if not (np.isfinite(self.value) and self.surrogate.settled):
            return False
        return self.track.last.gap <= self._slack and self.value - new_value <= self._slack

    def _is_short(self, new: Array) -> bool:
        units = self.surrogate.units(self.x)
        return float(np.max(np.abs(new - self.x) / units, initial=0.0)) <= STILL

    def _move(self, new: Array, new_value: float) -> None:
        seen = [abs(entry.value) for entry in self.track.entries[:3] if np.isfinite(entry.value)]
        size = max(self.first_scale, self.surrogate.resolution, *seen, 0.0)
        far = self.track.n_iter > 1 and size > 0 and new_value < -BOTTOMLESS * size
        if far and self.surrogate.is_feasible(new):
            raise Stop("unbounded", f"the objective has fallen to {new_value:.3g} and goes on")
        before, value = self.x, self.value
        moved = self._arrive(new)
        still = abs(self.value - new_value) <= self._noise  # F itself did not move
        self.falls.append(value - new_value if still and self.x is new else 0.0)
        step = float(np.linalg.norm(self.x - before))
        reached = new_value if self.x is new else self.value
        self._record(self.x, rise=reached - value if np.isfinite(value) else 0.0, step=step)
        self._report()
        if not moved and self.accelerate is None and self.surrogate.settled:
            self._stop_if_settled()

    def _arrive(self, new: Array) -> bool:
        """Tighten at the new point; where F has no slope there, a little before it."""
        before = self.x
        for share in (1.0, 0.99, 0.9, 0.5):
            self.x = new if share == 1 else before + share * (new - before)
            try:
                return self._tighten()
            except ValueError as error:
                reason = str(error)
        self.x = before
        self._tighten()
        raise Stop("solver_failed", f"no step can be taken from here: {reason}")

    def _stop_if_settled(self) -> None:
        """The majorant is the one x minimises already: no further step, if a bound says so."""
        gap = self.value - self.surrogate.bound()
        if gap > EVIDENCE * self._slack:
            return  # the next step solves it again
        self.track.last.gap = 0.0
        lower = self._lower()
        if lower is None:
            raise Stop("converged", "the majorant did not change at its own minimiser")
        self._move_on(*lower)

    # ------------------------------------------------------------------------------------------
    # evidence

    def _conclude(self) -> tuple[Array, float]:
        """Stop as converged if the evidence allows it; otherwise a point with a lower value."""
        better, witness = self._second_opinion()
        better = better or self._lower()
        if better is not None:
            return better
        if witness is None:
            raise Stop(
                "solver_failed",
                f"{self.solvers[0]} gets no lower from here, which nothing else confirms",
            )
        raise Stop("converged", f"the criticality gap is within tolerance ({witness})")

    def _second_opinion(self) -> tuple[tuple[Array, float] | None, str | None]:
        """A point lower than x where a solver finds one, and what else stands for the gap."""
        gap = self.value - self.surrogate.bound()
        if gap <= EVIDENCE * self._slack:
            return None, "by a dual bound"
        first, *_ = self.solvers
        others = [name for name in self.surrogate.witnesses if name != first]
        if gap <= EVIDENCE * self._coarse:
            return None, "by a dual bound, as far as the solver resolves"
        denied = self._denies(gap)
        witness: str | None = None
        plain, tight = self._accuracy, max(self._accuracy * TIGHTER, FINEST)
        for solver, tolerance in [*((s, plain) for s in others), (first, tight), (first, plain)]:
            if self._remaining() == 0:
                raise Stop("time_limit", "the time limit is reached")
            try:
                new = self._solve(solver, tolerance)
                below = self._fall(new)
            except SubproblemError as error:
                self._note(solver, tolerance, str(error))
                continue
            new_value = guarded(self.surrogate.value, new)
            if below > self._slack and self.value - new_value > self._slack:
                self._note(first, self._accuracy, f"{solver} finds a point {below:.3g} lower")
                self.solvers.sort(key=lambda name: name != solver)
                return (new, new_value), None
            gap = self.value - self.surrogate.bound()
            if gap <= EVIDENCE * self._slack:
                return None, f"by a dual bound from {solver}"
            if gap <= EVIDENCE * self._coarse:
                return None, f"by a dual bound from {solver}, as far as it resolves"
            denied |= self._denies(gap)
            # a solver that hands back where it began says nothing
            if witness is None and not np.array_equal(new, self.x):
                witness = f"confirmed by {solver}" if solver != first else f"by {solver} alone"
            if witness is not None and not denied:
                break
        return None, None if denied else witness

    def _denies(self, gap: float) -> bool:
        """Does a dual bound speak against x, rather than say nothing?"""
        return np.isfinite(gap) and gap > DENIAL * max(self.scale, self.surrogate.resolution)

    def _fall(self, new: Array) -> float:
        """How far the majorant falls from x to a finite point."""
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        below = self.value - guarded(self.surrogate.majorant_value, new)
        if not below >= -max(self._allowed, self._coarse):
            raise SubproblemError("failed", f"the majorant rose by {-below:.3g}")
        return below

    def _lower(self) -> tuple[Array, float] | None:
        """A point around x where F is lower beyond doubt: x was a saddle, or a tie hid a slope."""
        below = self.value - EVIDENCE * self._slack
        if self.track.best is not None:  # a run that pays for violations may pass a better one
            value = guarded(self.surrogate.value, self.track.best.x)
            if value < below:
                return self.track.best.x, value
        longest = max(entry.step for entry in self.track.entries)
        unmoved = longest <= NO_STEP * float(np.max(self.surrogate.units(self.x), initial=0.0))
        return self._look_around(below, wide=unmoved)

    def _aside(self) -> tuple[Array, float] | None:
        """Where x misses a constraint and does not move: any lower point, however far."""
        if not np.isfinite(self.value):
            return None
        return self._look_around(self.value - self._slack, wide=True)

    def _look_around(self, below: float, wide: bool) -> tuple[Array, float] | None:
        if not self.settings.escape:
            return None
        limit = self._remaining()
        if limit == 0:
            raise Stop("time_limit", "the time limit is reached")
        return downhill(self.surrogate, self.x, below, self.rng, wide=wide, time_limit=limit)

    # ------------------------------------------------------------------------------------------

    def _minimise(self) -> tuple[Array, float]:
        """An acceptable minimiser of the majorant and its value; measures the gap of x."""
        failures: list[tuple[str, SubproblemError]] = []
        self.shortfalls = {}
        for solver, tolerance in self._attempts():
            try:
                new = self._solve(solver, tolerance)
                new_value = self._check(new, solver)
            except SubproblemError as error:
                failures.append((solver, error))
                self._note(solver, tolerance, str(error))
                if self._remaining() == 0:
                    raise Stop("time_limit", "the time limit ended a subproblem") from None
                continue
            self.solvers.sort(key=lambda name: name != solver)  # what worked goes first next time
            return new, new_value
        lower = self._none_lower() if self.surrogate.settled else None
        if lower is None and any(error.status == "unbounded" for _, error in failures):
            lower = self._far_lower(failures)
        if lower is not None:
            return lower
        raise self._verdict(failures)

    def _far_lower(self, failures: list[tuple[str, SubproblemError]]) -> tuple[Array, float] | None:
        """Where solvers call M unbounded: a lower point, or the end if F falls as they say."""
        if not np.isfinite(self.value) or not self.surrogate.settled:
            return None
        best: tuple[Array, float] | None = None
        values = [self.value]  # further and further out
        for point in self.surrogate.far(self.x, self._remaining()):
            value = guarded(self.surrogate.value, point)
            if not (np.all(np.isfinite(point)) and self.surrogate.is_feasible(point)):
                continue
            if self.value - value > FALLEN * self.scale > 0:
                raise Stop("unbounded", f"the objective falls to {value:.3g} and goes on")
            values.append(value)
            if value < self.value - self._slack and (best is None or value < best[1]):
                best = point, value
        proofs = [str(e) for _, e in failures if e.status == "unbounded" and e.proved]
        # F lies under M: a ray along which M falls is one for F, unless M's curvature was lost
        falls = all(after < before - self._slack for before, after in pairwise(values))
        if proofs and falls and self.surrogate.is_feasible(self.x):
            raise Stop("unbounded", proofs[0])
        return best

    def _solve(self, solver: str, tolerance: float) -> Array:
        """One solver's minimiser; whatever it raises is a failure."""
        left = self._remaining()
        if left is not None and self.solvers and solver != self.solvers[0]:
            left *= SHARE
        try:
            return self.surrogate.minimise(self.x, tolerance, solver, left)
        except (SubproblemError, UnfitSolver):
            raise
        except Exception as error:
            raise SubproblemError("failed", f"{type(error).__name__}: {error}") from error

    def _none_lower(self) -> tuple[Array, float] | None:
        """Every solution was refused: stop where none was so by much, or go where F is lower."""
        near = [name for name, missed in self.shortfalls.items() if missed <= self._coarse]
        if not near or not np.isfinite(self.value):
            return None
        certain = self.value - self.surrogate.bound() <= EVIDENCE * self._coarse
        if not certain and len(near) < min(2, len(self.solvers)):
            return None
        lower = self._lower()
        if lower is None:
            self.track.last.gap = min(self.shortfalls[name] for name in near)
            raise Stop("converged", "no solver finds a lower point; the gap is their accuracy")
        return lower

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
        """Of the subproblems, relative to the scale of F."""
        return max(self.settings.tol * SUBPROBLEM, FINEST)

    def _check(self, new: Array, solver: str) -> float:
        """Value at a candidate, which must minimise the majorant and not raise F."""
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        new_value = guarded(self.surrogate.value, new)
        if not np.isfinite(self.value):
            if not np.isfinite(new_value):
                raise SubproblemError("failed", "the solution violates a constraint")
            return new_value
        below = self.value - guarded(self.surrogate.majorant_value, new)
        if not below >= -self._allowed:
            self.shortfalls[solver] = min(self.shortfalls.get(solver, np.inf), -below)
            raise SubproblemError("failed", f"the majorant rose by {-below:.3g}")
        rise = new_value - self.value
        if not rise <= self._allowed:
            self.shortfalls[solver] = min(self.shortfalls.get(solver, np.inf), rise)
            raise SubproblemError("failed", f"the objective rose by {rise:.3g}")
        self.track.last.gap = max(below, 0.0)
        return new_value

    def _verdict(self, failures: list[tuple[str, SubproblemError]]) -> Stop:
        said = {solver: error for solver, error in failures if error.status == "infeasible"}
        proved = any(error.proved for error in said.values())
        # otherwise x itself is feasible, whatever a solver says
        if not np.isfinite(self.value) and (proved or len(said) >= min(2, len(self.solvers))):
            return Stop("infeasible", str(next(iter(said.values()))))
        if not self.surrogate.settled and any(e.status == "unbounded" for _, e in failures):
            return Stop("unbounded", "the majorant is unbounded at this price of violations")
        return Stop("solver_failed", f"every solver failed; the first: {failures[0][1]}")

    # ------------------------------------------------------------------------------------------

    def _remaining(self) -> float | None:
        if self.settings.time_limit is None:
            return None
        return max(0.0, self.settings.time_limit - (time.perf_counter() - self.begun))

    def _record(self, x: Array, *, rise: float, step: float) -> None:
        entry = Entry(
            x=x,
            value=self.surrogate.objective(x),
            step=step,
            time=time.perf_counter() - self.begun,
            solve_time=self.surrogate.solve_time,
            violation=self.surrogate.violation(x),
            rise=rise,
        )
        self.track.entries.append(entry)
        best = self.track.best
        lower = best is None or self.surrogate.sign * (entry.value - best.value) < 0
        if lower and np.isfinite(entry.value) and self.surrogate.is_feasible(x):
            self.track.best = entry

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
            raise Stop("interrupted", "the callback asked to stop")
