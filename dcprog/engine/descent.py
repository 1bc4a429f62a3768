"""The outer loop: tighten the majorant at x, minimise it, check, repeat."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice, pairwise
from typing import Any

import numpy as np

from dcprog.engine.acceleration import ACCELERATIONS, LineSearch, Squarem
from dcprog.engine.protocol import DIRECTIONS, FAR, Surrogate, guarded, value_within
from dcprog.engine.track import NOISE, Attempt, History, Progress, Run, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import OutOfTime, SubproblemError, UnfitSolver, UnfitStart
from dcprog.foundation.progress_log import logger
from dcprog.foundation.tolerances import (
    ACCEPT,
    BOTTOMLESS,
    FORCING,
    INNER,
    KNOWN_DIGITS,
    ROUNDING,
    STILL,
    TO_BOUNDARY,
)

# Subproblems are solved to tol·INNER, not finer than ROUNDING, which a solver may not reach. A
# point may miss descent by ACCEPT times that before it is refused, whatever it was solved to. A
# refused subproblem is solved again to INNER times that.
# A dual bound may lie ACCEPT tolerances under the majorant's minimum and still be evidence for it;
# one that lies DENIAL of F's scale under it says that the solver missed the minimum.
DENIAL = 1e-2
# A function that is lower far out by this multiple of its scale counts as unbounded.
FALLEN = 1e4
# Steps are slow where each lowers F by more than SLOW times the fall of the step before, LONG
# times in a row; then the majorant is centred ahead of x.
SLOW = 0.6
LONG = 3
# Shares of a step that is taken back where F has no slope at its end.
SHARES = (1.0, TO_BOUNDARY, 0.5)

Point = tuple[Array, float]  # with its value

STEEP = "the objective is lower where its slopes are too steep to be followed"

# Why a run has converged, with the evidence for it.
CRITICAL = "the criticality gap is within tolerance ({})"


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
        No error of a solver and no Ctrl-C is raised: the best point so far is kept.

    Raises
    ------
    UnfitStart
        F has no slope at the start. What a callback raises comes through.
    """
    return _Descent(surrogate, start, settings or Settings()).run()


class Stop(Exception):
    """Ends the loop with a status and the reason in words."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message


class AllFailed(Exception):
    """No solver's solution was accepted.

    Attributes
    ----------
    failures : list of (str, SubproblemError)
    shortfalls : dict of str to float
        The rise of F or M at the solutions that solvers offered.
    """

    def __init__(
        self, failures: list[tuple[str, SubproblemError]], shortfalls: dict[str, float]
    ) -> None:
        super().__init__("every solver failed")
        self.failures = failures
        self.shortfalls = shortfalls


@dataclass
class Entry:
    """A point and its line of the history; one object, so that Ctrl-C cannot tear them apart."""

    x: Array
    value: float
    step: float
    time: float
    solve_time: float
    violation: float
    rise: float
    unchanged: bool
    gap: float = np.inf


class _Descent:
    """A run of the loop: its point x, the tolerances that follow from F's scale, and its record.

    Attributes
    ----------
    x, value : array and float
        The centre of the majorant, and F there.
    scale : float
        Of F at x.
    solvers : list of str
        The one that worked last comes first.
    was_loose : bool
        True if the last subproblem was solved to less than the accuracy of the end.
    entries : list of Entry
    best : Entry or None
        The lowest point that meets all constraints.
    falls : list of float
        Of F, over the last steps on which it did not move.
    solved : dict
        The number of steps by the solver whose point was taken.
    """

    def __init__(self, surrogate: Surrogate, start: Array, settings: Settings) -> None:
        self.surrogate, self.settings = surrogate, settings
        self.x = np.array(start, dtype=float)
        self.value, self.scale, self.first_scale = np.inf, 0.0, 0.0
        self.solvers: list[str] = []
        self.was_loose = False
        self.entries: list[Entry] = []
        self.attempts: list[Attempt] = []
        self.best: Entry | None = None
        self.falls: list[float] = []
        self.momentum = 0
        self.solved: dict[str, int] = {}
        self.accelerate: LineSearch | Squarem | None = None
        if settings.acceleration is not None:
            self.accelerate = ACCELERATIONS[settings.acceleration]()
        self.deadline = Deadline(settings.time_limit)
        self._begun = time.perf_counter()
        self._was_settled = False  # before the last tightening
        self._rng = np.random.default_rng(0)

    def run(self) -> Run:
        try:
            self._begin()
            while True:
                self._step()
        except Stop as stop:
            status, message = stop.status, stop.message
        except KeyboardInterrupt as stop:
            if not self.entries:
                raise
            told = str(stop) or "stopped by Ctrl-C; this is the best point so far"
            status, message = "interrupted", told
        if status == "converged" and self._is_hidden():
            status, message = "solver_failed", f"{STEEP} ({message})"
        if self.settings.verbose:
            logger.info("%-11.11s %s: %s", self.settings.label, status, message)
        end = self.last if status == "converged" else self._best_point()
        return Run(
            end.x,
            end.value,
            end.gap,
            end.violation,
            status,
            message,
            self._history(),
            self._solver(),
            max(self.scale, self.surrogate.facts.attainable),
            self.surrogate.domain.mode,
            solved=tuple(self.solved),
        )

    def _is_hidden(self) -> bool:
        """True if the declared F is lower at an earlier point, but the F that is minimised is not.

        The latter has finite slopes, and may lie far above where those of the declared F are
        infinite.
        """
        if self.best is None:
            return False
        lower = self.surrogate.facts.sign * (self.last.value - self.best.value)
        higher = guarded(self.surrogate.value, self.best.x) - self.value
        noise = ACCEPT * self.slack
        return bool(lower > noise and -noise < higher < np.inf)

    def _best_point(self) -> Entry:
        """The last point, or an earlier one that meets the constraints and is better or alone."""
        last, best = self.last, self.best
        if best is None or best is last:
            return last
        lost = self.surrogate.facts.sign * (last.value - best.value) > 0
        return best if lost or not self.surrogate.domain.is_feasible(last.x) else last

    # ------------------------------------------------------------------------------------------
    # steps

    def _begin(self) -> None:
        self.surrogate.begin(self.x)
        self.solvers = list(self.surrogate.solvers)
        try:
            self._tighten()
        except ValueError as error:
            raise UnfitStart(str(error)) from error
        self._record(rise=0.0, step=0.0)
        gap = self._gap() if self.surrogate.facts.is_convex else np.inf
        if gap <= self.accuracy * self.scale:  # the start's solver has minimised F
            self.last.gap = max(gap, 0.0)
            raise Stop("converged", CRITICAL.format("by a dual bound"))
        if self.settings.time_limit == 0 and np.isfinite(self.value):
            self._check_time()  # the limit had passed before the run

    def _step(self) -> None:
        within = self.settings.tol * abs(self.value)
        self._check_lower_bound(within, "the value is as low as any can be")
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
        elif self._is_short(new) and not self.surrogate.domain.is_feasible(self.x):
            new, new_value = self._aside() or (new, new_value)
        if self.accelerate is None:
            new, new_value = self._further(new, new_value)
        elif self.n_iter < self.settings.max_iter:
            new = self.accelerate(self.surrogate.value, self.x, new, new_value)
            new_value = self.surrogate.value(new)
        self._move_on(new, new_value)

    def _further(self, new: Array, new_value: float) -> Point:
        """The point to which the surrogate goes on from there, if F is lower."""
        try:
            found = self.surrogate.nearby.further(new, self.deadline.left)
        except Exception as error:  # it was but a try
            self._note(self.solvers[0], self.accuracy, f"further: {error}")
            return new, new_value
        if found is new:
            return new, new_value
        value = guarded(self.surrogate.value, found)
        return (found, value) if value < new_value else (new, new_value)

    def _ahead(self) -> Point | None:
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
        usable = self.surrogate.facts.looks_ahead and self.accelerate is None
        if not usable or not (slow or self.momentum) or last[-1] == 0:
            return None
        self.momentum += 1
        share = self.momentum / (self.momentum + 3)
        centre = self.x + share * (self.x - self.entries[-2].x)
        solver, accuracy = self.solvers[0], self.accuracy
        try:
            new = self.surrogate.nearby.ahead(centre, self.x, accuracy, solver, self.deadline.left)
        except Exception as error:  # it was but a try
            self._note(solver, accuracy, f"ahead of x: {error}")
            new = self.x
        new_value = guarded(self.surrogate.value, new)
        if np.all(np.isfinite(new)) and self.value - new_value > self.slack:
            self._count(self.surrogate.record.by or solver)
            return new, new_value
        self.momentum, self.falls = 0, []
        return None

    def _is_flat(self, new_value: float) -> bool:
        """True if neither the majorant's minimum nor the next value is better than F(x)."""
        if not (np.isfinite(self.value) and self.surrogate.settled):
            return False
        return self.last.gap <= self.slack and self.value - new_value <= self.slack

    def _is_short(self, new: Array) -> bool:
        units = self.surrogate.units(self.x)
        return float(np.max(np.abs(new - self.x) / units, initial=0.0)) <= STILL

    def _move_on(self, new: Array, new_value: float) -> None:
        """Move the majorant to the new point, and on to lower ones where it does not change."""
        lower: Point | None = (new, new_value)
        while lower is not None:
            if self.n_iter >= self.settings.max_iter:
                raise Stop("max_iter", f"no criticality after {self.settings.max_iter} steps")
            lower = self._move(*lower)
        self._check_time()

    def _move(self, new: Array, new_value: float) -> Point | None:
        self._check_bottom(new, new_value)
        before, value = self.x, self.value
        moved = self._arrive(new)
        still = abs(self.value - new_value) <= self.noise  # F itself did not move
        self.falls.append(value - new_value if still and self.x is new else 0.0)
        reached = new_value if self.x is new else self.value
        self._record(
            rise=reached - value if np.isfinite(value) else 0.0,
            step=float(np.linalg.norm(self.x - before)),
        )
        if moved or self.was_loose or self.accelerate is not None or not self.surrogate.settled:
            return None
        return self._check_settled()

    def _check_bottom(self, new: Array, new_value: float) -> None:
        """Stop where F has fallen too far."""
        seen = [abs(entry.value) for entry in self.entries[:3] if np.isfinite(entry.value)]
        size = max(self.first_scale, self.surrogate.facts.attainable, *seen, 0.0)
        far = self.n_iter > 1 and size > 0 and new_value < -BOTTOMLESS * size
        if far and self.surrogate.domain.is_feasible(new):
            raise Stop("unbounded", f"the objective has fallen to {new_value:.3g} and goes on")

    def _arrive(self, new: Array) -> bool:
        """Tighten at the new point; where F has no slope there, a little before it."""
        before = self.x
        for share in SHARES:
            self.x = new if share == 1 else before + share * (new - before)
            try:
                return self._tighten()
            except ValueError as error:
                reason = str(error)
        self.x = before
        self._tighten()
        raise Stop("solver_failed", f"no step can be taken from here: {reason}")

    def _tighten(self) -> bool:
        """Centre the majorant at x, and return True if it has moved."""
        moved = self.surrogate.tighten(self.x)
        self.value = guarded(self.surrogate.value, self.x)
        scale = self.surrogate.scale(self.x)
        self.scale = scale if np.isfinite(scale) else 0.0
        self.first_scale = self.first_scale or self.scale
        return moved

    # ------------------------------------------------------------------------------------------
    # tolerances

    @property
    def accuracy(self) -> float:
        """The tolerance of subproblems near the end, relative to the scale of F."""
        return max(self.settings.tol * INNER, ROUNDING)

    @property
    def loose(self) -> float:
        """The tolerance of a subproblem far from the end: a share of the fall in the last step."""
        loosest, entries = self.surrogate.facts.loosest, self.entries
        if loosest > 0 and self.scale > 0 and len(entries) > 1 and np.isfinite(entries[-2].value):
            gained = abs(entries[-1].value - entries[-2].value)
            loosest = min(loosest, FORCING * gained / self.scale)
        return max(loosest, self.accuracy)

    @property
    def slack(self) -> float:
        """The gap and the decrease below which x counts as critical."""
        return self.settings.tol * self.scale + self.noise

    @property
    def coarse(self) -> float:
        """The tolerance near F = 0: solvers resolve a share of F's size at other points."""
        return self.settings.tol * self.attainable + self.noise

    @property
    def attainable(self) -> float:
        """The scale of F, and no less than that below which solvers lose digits."""
        return max(self.scale, self.surrogate.facts.attainable)

    @property
    def allowed(self) -> float:
        """The most that F and M may rise by at a step."""
        return ACCEPT * self.accuracy * self.scale + self.noise

    @property
    def noise(self) -> float:
        """The size of rounding in F."""
        return NOISE * abs(self.value) if np.isfinite(self.value) else 0.0

    def _check_time(self, reason: str = "the time limit is reached") -> None:
        if self.deadline.left == 0:
            raise Stop("time_limit", reason)

    def _check_lower_bound(self, within: float, reason: str) -> None:
        """Stop if F(x) is within `within` of a known lower bound."""
        above = self.value - self.surrogate.facts.lower_bound
        if self.surrogate.settled and np.isfinite(above) and above <= within:
            self.last.gap = max(above, 0.0)
            raise Stop("converged", reason)

    # ------------------------------------------------------------------------------------------
    # the subproblem: solver after solver, and which of their points is accepted

    def _minimise(self) -> Point:
        """An acceptable minimiser of the majorant and its value, or a lower point; sets the gap."""
        try:
            return self._accepted()
        except AllFailed as failed:
            return self._after(failed)

    def _accepted(self) -> Point:
        failures: list[tuple[str, SubproblemError]] = []
        shortfalls: dict[str, float] = {}
        reached: Point | None = None
        first = came_from = self.solvers[0]
        for number, (solver, tolerance) in enumerate(self._in_order()):
            if solver != first:
                # near its lower bound F is a solver's error, and no solver gets lower but by chance
                reason = "the value is as low as any can be, as far as solvers resolve"
                self._check_lower_bound(self.coarse, reason)
            try:
                new = self._solve(solver, tolerance)
                new_value = self._checked(new, solver, shortfalls)
            except SubproblemError as error:
                failures.append((solver, error))
                self._note(solver, tolerance, str(error))
                before, reached = reached, self._lower_of(error.point, reached)
                came_from = solver if reached is not before else came_from
                if reached is None:
                    self._check_time("the time limit ended a subproblem")
                elif self.deadline.left == 0 or self._is_worth(number, tolerance):
                    break
                continue
            loose = number == 0 and tolerance > self.accuracy
            if loose and self.last.gap <= self.slack:
                self.last.gap = np.inf
                continue  # the gap is no larger than the error of a loose solve
            self._prefer(solver)
            self.was_loose = loose
            self._count(self.surrogate.record.by or solver)
            return new, new_value
        if reached is not None:
            self.was_loose = True
            self._count(came_from)
            return reached
        raise AllFailed(failures, shortfalls)

    def _in_order(self) -> list[tuple[str, float]]:
        """Solvers and tolerances; where every solver stalls before the tightest, tol itself."""
        tolerance = self.accuracy
        first, *others = self.solvers
        attempts = [
            (first, self.loose),
            (first, tolerance),
            (first, max(tolerance * INNER, ROUNDING)),
            *((solver, tolerance) for solver in others),
            *((solver, max(self.settings.tol, tolerance)) for solver in self.solvers),
        ]
        return list(dict.fromkeys(attempts))

    def _solve(self, solver: str, tolerance: float) -> Array:
        """One solver's minimiser; whatever it raises is a failure."""
        first = not self.solvers or solver == self.solvers[0]
        left = self.deadline.left if first else self.deadline.share
        try:
            return self.surrogate.minimise(self.x, tolerance, solver, left)
        except (SubproblemError, UnfitSolver):
            raise
        except Exception as error:
            raise SubproblemError("failed", f"{type(error).__name__}: {error}") from error

    def _checked(self, new: Array, solver: str, shortfalls: dict[str, float]) -> float:
        """Value at a candidate, which must minimise the majorant and not raise F."""
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        new_value = guarded(self.surrogate.value, new)
        if not np.isfinite(self.value):
            if not np.isfinite(new_value):
                raise SubproblemError("failed", "the solution violates a constraint")
            return new_value
        below = self.value - guarded(self.surrogate.majorant_value, new)
        for name, rise in (("majorant", -below), ("objective", new_value - self.value)):
            if not rise <= self.allowed:
                shortfalls[solver] = min(shortfalls.get(solver, np.inf), rise)
                raise SubproblemError("failed", f"the {name} rose by {rise:.3g}")
        self.last.gap = max(below, 0.0)
        return new_value

    def _lower_of(self, point: Any, before: Point | None) -> Point | None:
        """A failed solver's point with its value, if it is a descent step lower than `before`."""
        if point is None or not np.all(np.isfinite(point)) or not np.isfinite(self.value):
            return before
        value = guarded(self.surrogate.value, point)
        below = self.value - guarded(self.surrogate.majorant_value, point)
        if not (self.value - value > self.slack and below > self.slack):
            return before
        if before is not None and before[1] <= value:
            return before
        self.last.gap = below
        return point, value

    def _is_worth(self, number: int, tolerance: float) -> bool:
        """True if a loose solve that ended short fell by more than the accuracy asked of it."""
        return number == 0 and self.accuracy < tolerance <= self.last.gap / self.scale

    def _count(self, solver: str) -> None:
        """Put a step on the solver's account."""
        self.solved[solver] = self.solved.get(solver, 0) + 1

    def _solver(self) -> str:
        """The solver's name; of several, how many steps each has solved."""
        if len(self.solved) < 2:
            return next(iter(self.solved or self.solvers), "")
        told = sorted(self.solved.items(), key=lambda pair: -pair[1])
        return ", ".join(f"{name} ({n} step{'' if n == 1 else 's'})" for name, n in told)

    def _prefer(self, solver: str) -> None:
        """Put the solver that worked first next time."""
        self.solvers.sort(key=lambda name: name != solver)

    # ------------------------------------------------------------------------------------------
    # evidence for a verdict by a second source, or lower points that refute it

    def _conclude(self) -> Point:
        """Stop as converged if the evidence allows it; otherwise a point with a lower value."""
        better, witness = self._second_opinion()
        better = better or self._lower()
        if better is not None:
            return better
        if witness is None:
            reason = (
                f"{self.solvers[0]} finds no lower point, but neither a bound nor another solver "
                "confirms that there is none nearby"
            )
            raise Stop("solver_failed", reason)
        raise Stop("converged", CRITICAL.format(witness))

    def _check_settled(self) -> Point | None:
        """Stop where a bound says that x minimises M already; a lower point if one is near."""
        if self._gap() > ACCEPT * self.slack:
            return None  # the next step solves it again
        self.last.gap = 0.0
        lower = self._lower()
        if lower is None:
            raise Stop("converged", "the majorant did not change at its own minimiser")
        return lower

    def _lower(self) -> Point | None:
        """A point around x where F is lower beyond doubt: x was a saddle, or a tie hid a slope."""
        if self.surrogate.facts.is_convex and self._gap() <= ACCEPT * self.slack:
            return None  # F is its own majorant, and no point of that is lower by more
        below = self.value - ACCEPT * self.slack
        if self.best is not None:  # a run that pays for violations may pass a better one
            value = guarded(self.surrogate.value, self.best.x)
            if value < below:
                return self.best.x, value
        longest = max(entry.step for entry in self.entries)
        unmoved = longest <= KNOWN_DIGITS * float(np.max(self.surrogate.units(self.x), initial=0.0))
        return self._look_around(below, wide=unmoved)

    def _aside(self) -> Point | None:
        """A lower point, near or far, for an x that misses a constraint and does not move."""
        if not np.isfinite(self.value):
            return None
        return self._look_around(self.value - self.slack, wide=True)

    def _look_around(self, below: float, wide: bool) -> Point | None:
        if not self.settings.escape:
            return None
        self._check_time()
        for point in self.surrogate.nearby.off_ties(self.x, self.deadline.left):
            value = guarded(self.surrogate.value, point)
            if value < below:
                return point, value
        left = self.deadline.left
        return downhill(self.surrogate, self.x, below, self._rng, wide=wide, time_limit=left)

    def _gap(self) -> float:
        """The distance of F(x) from the last dual bound of M's minimum."""
        return self.value - self.surrogate.bound()

    def _bounded(self, by: str = "") -> str | None:
        """The words in which a dual bound confirms the gap; None if it does not."""
        if self._gap() <= ACCEPT * self.slack:
            return f"by a dual bound{by}"
        if self._gap() <= ACCEPT * self.coarse:
            return f"by a dual bound{by}, as far as {'it' if by else 'the solver'} resolves"
        return None

    def _is_denied(self) -> bool:
        """True if a dual bound contradicts x."""
        gap = self._gap()
        return np.isfinite(gap) and gap > DENIAL * self.attainable

    def _second_opinion(self) -> tuple[Point | None, str | None]:
        """A point lower than x where a solver finds one, and the confirmation of the gap."""
        words = self._bounded()
        if words is not None:
            return None, words
        first, plain = self.solvers[0], self.accuracy
        others = [name for name in self.surrogate.facts.verifiers if name != first]
        denied, witness = self._is_denied(), None
        tight = max(plain * INNER, ROUNDING)
        for solver, tolerance in [*((s, plain) for s in others), (first, tight), (first, plain)]:
            self._check_time()
            try:
                new = self._solve(solver, tolerance)
                below = self._fall(new)
            except SubproblemError as error:
                self._note(solver, tolerance, str(error))
                continue
            new_value = guarded(self.surrogate.value, new)
            if below > self.slack and self.value - new_value > self.slack:
                self._note(first, plain, f"{solver} finds a point {below:.3g} lower")
                self._prefer(solver)
                return (new, new_value), None
            words = self._bounded(f" from {solver}")
            if words is not None:
                return None, words
            denied |= self._is_denied()
            # a solver that returns its starting point proves nothing
            if witness is None and not np.array_equal(new, self.x):
                witness = f"confirmed by {solver}" if solver != first else f"by {solver} alone"
            if witness is not None and not denied:
                break
        return None, None if denied else witness

    def _fall(self, new: Array) -> float:
        """The fall of the majorant from x to a finite point."""
        if not np.all(np.isfinite(new)):
            raise SubproblemError("failed", "the solution is not finite")
        below = self.value - guarded(self.surrogate.majorant_value, new)
        if not below >= -max(self.allowed, self.coarse):
            raise SubproblemError("failed", f"the majorant rose by {-below:.3g}")
        return below

    # ------------------------------------------------------------------------------------------
    # where every solver failed

    def _after(self, failed: AllFailed) -> Point:
        """A lower point; otherwise the run stops with a verdict."""
        failures, lower = failed.failures, None
        if self.surrogate.settled:
            lower = self._none_lower(failed.shortfalls)
            if lower is None and any(error.status == "unbounded" for _, error in failures):
                lower = self._far_lower(failures)
            lower = lower or self._vanished()
        if lower is not None:
            return lower
        raise self._verdict(failures)

    def _none_lower(self, shortfalls: dict[str, float]) -> Point | None:
        """A lower point if solutions were refused by little only; the run ends if there is none."""
        near = [missed for missed in shortfalls.values() if missed <= self.coarse]
        if not near or not np.isfinite(self.value):
            return None
        certain = self._gap() <= ACCEPT * self.coarse
        if not certain and len(near) < min(2, len(self.solvers)):
            return None
        reason = "no solver finds a lower point; the gap is their accuracy"
        return self._lower_or_converged(max(min(near), 0.0), reason)

    def _vanished(self) -> Point | None:
        """Stop, or go where F is lower, if F and its last gap are too small to be resolved."""
        resolved = self.settings.tol * self.surrogate.facts.attainable
        gap = next((e.gap for e in self.entries[-2::-1] if np.isfinite(e.gap)), np.inf)
        if max(self.scale, gap) > resolved:
            return None
        reason = "the objective and its last gap are below what solvers resolve"
        return self._lower_or_converged(gap, reason)

    def _lower_or_converged(self, gap: float, reason: str) -> Point:
        lower = self._lower()
        if lower is None:
            self.last.gap = gap
            raise Stop("converged", reason)
        return lower

    def _far_lower(self, failures: list[tuple[str, SubproblemError]]) -> Point | None:
        """A lower point far out, if there is one; the run ends if F falls as far as M does."""
        surrogate = self.surrogate
        if not np.isfinite(self.value):
            return None
        best: Point | None = None
        values = [self.value]  # further and further out
        for point, value in self._far_points():
            if self.value - value > FALLEN * self.scale > 0:
                raise Stop("unbounded", f"the objective falls to {value:.3g} and goes on")
            values.append(value)
            if value < self.value - self.slack and (best is None or value < best[1]):
                best = point, value
        proofs = [str(e) for _, e in failures if e.status == "unbounded" and e.proved]
        # F lies under M: along a ray on which M falls F does, and most of all in the widest box,
        # unless M's curvature was lost
        falls = -np.diff(values)
        goes_on = falls.size >= len(FAR) and np.all(np.diff(falls, prepend=self.slack) > 0)
        if proofs and goes_on and surrogate.domain.is_feasible(self.x):
            raise Stop("unbounded", proofs[0])
        return best

    def _far_points(self) -> Iterator[Point]:
        """Feasible points further and further out."""
        surrogate = self.surrogate
        for point in surrogate.nearby.far(self.x, self.deadline.left):
            value = guarded(surrogate.value, point)
            if np.all(np.isfinite(point)) and surrogate.domain.is_feasible(point):
                yield point, value

    def _verdict(self, failures: list[tuple[str, SubproblemError]]) -> Stop:
        said = {solver: error for solver, error in failures if error.status == "infeasible"}
        proved = any(error.proved for error in said.values())
        # otherwise x itself is feasible, whatever a solver says
        if not np.isfinite(self.value) and (proved or len(said) >= min(2, len(self.solvers))):
            return Stop("infeasible", str(next(iter(said.values()))))
        if not self.surrogate.settled and any(e.status == "unbounded" for _, e in failures):
            return Stop("unbounded", "the majorant is unbounded at this price of violations")
        no_time = all(isinstance(error, OutOfTime) for _, error in failures)
        late = no_time or self.deadline.left == 0
        status = "time_limit" if late else "solver_failed"
        return Stop(status, f"every solver failed; the first: {failures[0][1]}")

    # ------------------------------------------------------------------------------------------
    # the record

    @property
    def last(self) -> Entry:
        """The last entry: the point where the run is."""
        return self.entries[-1]

    @property
    def n_iter(self) -> int:
        """Steps taken so far."""
        return len(self.entries) - 1

    def _note(self, solver: str, tolerance: float, outcome: str) -> None:
        """Put an attempt on record that was not accepted."""
        self.attempts.append(Attempt(self.n_iter, solver, tolerance, outcome))
        logger.debug("step %d, %s at %.1e: %s", self.n_iter, solver, tolerance, outcome)

    def _record(self, *, rise: float, step: float) -> None:
        """Put the point on record, and tell the log and the callback."""
        surrogate, x, best = self.surrogate, self.x, self._best_so_far()
        entry = Entry(
            x=x,
            value=surrogate.objective(x),
            step=step,
            time=time.perf_counter() - self._begun,
            solve_time=surrogate.record.solve_time,
            violation=surrogate.domain.violation(x),
            rise=rise,
            unchanged=bool(self.entries) and surrogate.record.unchanged,
        )
        self.entries.append(entry)
        lower = best is None or surrogate.facts.sign * (entry.value - best.value) < 0
        if lower and np.isfinite(entry.value) and surrogate.domain.is_feasible(x):
            self.best = entry
        self._report()

    def _best_so_far(self) -> Entry | None:
        """The best point, under F as it now is: only values of one F are compared."""
        if self.best is not None and not self._was_settled:
            self.best = replace(self.best, value=self.surrogate.objective(self.best.x))
        self._was_settled = self.surrogate.settled
        return self.best

    def _report(self) -> None:
        settings, last = self.settings, self.last
        if not settings.verbose and settings.callback is None:
            return
        progress = Progress(
            n_iter=self.n_iter,
            x=last.x.copy(),
            value=last.value,
            gap=self.entries[-2].gap if self.n_iter > 0 else np.inf,
            step=last.step,
            violation=last.violation,
            time=last.time,
        )
        if settings.verbose:
            log_step(settings.label, progress)
        if settings.callback is not None and settings.callback(progress):
            raise Stop("interrupted", "the callback asked to stop")

    def _history(self) -> History:
        names = [column.name for column in fields(History) if column.name != "attempts"]
        arrays = {
            name: np.array([getattr(entry, name) for entry in self.entries]) for name in names
        }
        return History(**arrays, attempts=tuple(self.attempts))


# The head of the table of all runs.
HEAD = "start       step             value   gap before        moved    violation   seconds"


def log_step(label: str, progress: Progress) -> None:
    """A line of the table; the gap is that of the point before, which the step has measured."""
    gap = f"{progress.gap:.3g}" if progress.n_iter > 0 else ""
    moved = f"{progress.step:.3g}" if progress.n_iter > 0 else ""
    logger.info(
        "%-11.11s %4d  %16.9g %12s %12s %12.2g %9.2f",
        label,
        progress.n_iter,
        progress.value,
        gap,
        moved,
        progress.violation,
        progress.time,
    )


# ----------------------------------------------------------------------------------------------
# lower values of F around a point that seems critical

# Steps in units of the coordinates. A point that is critical for one choice of slopes at a tie, or
# a saddle, shows near; one that a run has never left may lie in a hollow.
NEAR = (1e-2, 1e-3, 1e-4)
WIDE = (1.0, 1e-2, 10.0, 1e-4, 100.0)
# Up to this number of coordinates, each is tried alone as well.
FEW = 4


@np.errstate(all="ignore")
def downhill(
    surrogate: Surrogate,
    x: Array,
    below: float,
    rng: np.random.Generator,
    *,
    wide: bool = False,
    time_limit: float | None = None,
) -> tuple[Array, float] | None:
    """A point near x at which F is less than `below`, with its value; None if none is found.

    Random directions and, of few variables, the coordinates, both ways; where constraints are near,
    the surrogate's own proposals (minimisers of its majorant centred beside x).

    Parameters
    ----------
    surrogate : Surrogate
    x : array
    below : float
    rng : numpy Generator
    wide : bool, default False
        Also try points up to a hundred units away.
    time_limit : float, optional
        Seconds for each of the surrogate's own proposals.

    Returns
    -------
    (array, float) or None
        Of the points at the first distance at which there is one, the lowest.
    """
    leeway = max(guarded(surrogate.domain.outside, x), KNOWN_DIGITS)
    units, inside, tried = surrogate.units(x), 0, 0
    for size in WIDE if wide else NEAR:
        ways = size * units * _directions(x, rng)
        try:
            values = surrogate.nearby.either_side(x, ways, leeway)
        except Exception:  # a user's loss may raise anything far out
            values = np.full((len(ways), 2), np.inf)
        tried, inside = tried + values.size, inside + int(np.count_nonzero(np.isfinite(values)))
        if values.size and np.min(values) < below:
            i, side = divmod(int(np.argmin(values)), 2)
            return (x - ways[i] if side else x + ways[i]), float(values[i, side])
    if wide or inside < tried:
        proposals = surrogate.nearby.proposals(x, rng, time_limit)
        for point in proposals if wide else islice(proposals, 2):
            value = value_within(surrogate, point, leeway)
            if value < below:
                return point, value
    return None


def _directions(x: Array, rng: np.random.Generator) -> Array:
    """Random directions, one a row; also some that leave alone the coordinates that are 0.

    At the kinks there every other step may rise.
    """
    single = np.eye(x.size) if x.size <= FEW else np.zeros((0, x.size))
    if x.size == 0:
        return single
    mixed = rng.standard_normal((DIRECTIONS, x.size))
    partial = mixed * (x != 0) if 0 < np.count_nonzero(x) < x.size else mixed[:0]
    return np.concatenate([single, mixed, partial])
