"""The global search: SCIP's branch and bound, whose points and bound are checked here."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.factorable.model import ROUNDS, ScipModel
from dcprog.factorable.problem import (
    FactorableProblem,
    Point,
    first_box,
    inside,
    restored,
)
from dcprog.factorable.terms import scip
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable, WrongBound
from dcprog.foundation.progress_log import logger
from dcprog.foundation.tolerances import FEASIBLE, ROUNDING
from dcprog.majorants.tree import short

__all__ = ["ACCURACY", "STARTING", "GlobalSearch"]

# SCIP's tolerance of constraints, in their units: below FEASIBLE, so that its points are feasible.
TOLERANCE = 1e-7
# Bounds are lowered by this share of F's unit, ten times the accuracy of SCIP's linear programs.
ACCURACY = 1e-6
SETTINGS = {
    "misc/catchctrlc": False,  # Ctrl-C is handled here: SCIP would print
    "timing/clocktype": 2,  # the time limit is in wall-clock time
    "numerics/feastol": TOLERANCE,
    # Ranges are widened by this share before bounds are tightened: SCIP's default, 1e-9, cut off
    # values at the edges.
    "constraints/nonlinear/varboundrelaxamount": TOLERANCE,
    # SCIP 10 treats some products h·f(ch + d) with c < 0 as convex that are not, such as x·exp(−x).
    "nlhdlr/convex/cvxprodcomp": False,
    "nlhdlr/concave/cvxprodcomp": False,
    # SCIP prints if it asks its linear programs for tighter tolerances than they allow.
    "constraints/nonlinear/tightenlpfeastol": False,
    "propagating/obbt/dualfeastol": TOLERANCE,
}
# Settings of SCIP after an error or a wrong bound, to avoid its repetition.
OTHER_WAYS = {
    "propagating/obbt/freq": -1,
    "nlhdlr/convex/enabled": False,
    "nlhdlr/concave/enabled": False,
    "randomization/randomseedshift": 1,
}
# A bound is checked with this many random points. Of the NEAREST ones to the constraints the lowest
# ones, CHALLENGED of them, are moved to the constraints.
CHALLENGES, CHALLENGED = 4096, 8
NEAREST = 2 * CHALLENGED, CHALLENGES // 4
# Seconds between lines of the log and calls of the callback.
PAUSE = 0.5
# SCIP resolves this share of the floor of scales.
RESOLVED = 1e-3
# A point that the loop calls feasible counts as such up to this relative violation.
TRUSTED = 1e-4
# The share of the time that the search for a first point may take.
STARTING = 0.3
# Larger bounds count as infinite: their squares are.
ENDLESS = 1e150
# A first point is sought up to this size of variables without bounds.
LOOK = 1e4


class GlobalSearch:
    """Branch and bound of a factorable problem.

    Parameters
    ----------
    problem : FactorableProblem
    gap : float
        Stop when the best value minus the bound is at most this share of ``scale``. A search that
        has stopped continues when it is run again, to a finer gap if one is set.
    improve : callable
        ``improve(x, seconds)`` is a point found by local search from x (from its own start for
        None), or None.
    report : callable, optional
        Called about twice a second; a true return value stops the search.
    iterations : float, default ∞
        Iterations of SCIP's linear programs after which a run stops: its work, on any machine.

    Attributes
    ----------
    best : Point or None
        The best feasible point.
    lower : float
        A proved bound of F from below; ∞ if no point is feasible.
    scale : float
        The scale of F: the sum of its absolute terms at the best point. If the gap to a value near
        0 does not close, at least a ten-thousandth of their usual sum.
    nodes : int
        The number of nodes of SCIP's trees.
    is_running : bool
        True while a run is under way; a second run has to wait.
    """

    def __init__(
        self,
        problem: FactorableProblem,
        gap: float,
        improve: Callable[[Array | None, float], Array | None],
        report: Callable[[], object] | None = None,
        iterations: float = np.inf,
    ) -> None:
        scip()
        self._most_iterations = iterations
        self.problem, self.gap = problem, gap
        self._improve, self.report = improve, report
        self.is_running = False
        self.best: Point | None = None
        self.lower = -np.inf
        self.nodes = 0
        self._exact = np.inf  # the least value at a point that is feasible but for rounding
        self._where: Point | None = None
        self._candidate: Array | None = None
        self._rounds = 0
        self._unit = 0.0
        self._stopped = self._interrupted = False
        self._edges: tuple[Array, Array] | None = None
        self._beyond = np.inf  # a bound of F at feasible points outside these edges
        self._built: ScipModel | None = None  # a run that a limit has ended, to be continued
        self._otherwise = False  # take OTHER_WAYS after an error
        self._watcher: Any = None
        self._nodes_before, self._lower_before = 0, -np.inf
        self._said = time.perf_counter()
        self._floor = 0.0  # a small share of what the objective's terms usually add up to
        self._floored = False  # scales are at least that

    # ------------------------------------------------------------------------------------------
    # points

    def note(self, x: Array, trusted: bool = False) -> bool:
        """Evaluate a point; keep it if it is feasible and better.

        Parameters
        ----------
        x : array of shape (p,)
        trusted : bool, default False
            The loop calls the point feasible, with other sizes of the terms: a hundred times the
            tolerance is allowed.

        Returns
        -------
        bool
            True if it is feasible.
        """
        point = self.problem.at(x)
        if point.missed <= FEASIBLE and not self.problem.is_defined(point.x):
            moved = filter(self.problem.is_defined, inside(self.problem, x))
            defined = next((p for p in map(self.problem.at, moved) if p.is_feasible), None)
            if defined is None:
                return False
            point = defined
        feasible = point.is_feasible
        if trusted and not feasible and point.missed <= TRUSTED and np.isfinite(point.value):
            feasible = True
        if point.is_exact and point.value < self._exact:
            self._exact, self._where = point.value, point
        if feasible and (self.best is None or point.value < self.best.value):
            self.best = point
        return feasible

    @property
    def objective(self) -> float:
        """F at the best point; ∞ without one."""
        return np.inf if self.best is None else self.best.value

    @property
    def scale(self) -> float:
        """The scale that gaps are relative to."""
        if self.best is None:
            return self._floor
        return max(self.best.scale, self._floor) if self._floored else self.best.scale

    @property
    def relative_gap(self) -> float:
        """The best value less the bound, over the scale."""
        missing = self.objective - self.lower
        if not missing > 0:
            return 0.0
        return missing / self.scale if self.scale > 0 else np.inf

    @property
    def is_closed(self) -> bool:
        """True if the gap is as small as was asked for, or as SCIP's accuracy allows."""
        return self.relative_gap <= max(self.gap, 2 * ACCURACY)

    # ------------------------------------------------------------------------------------------
    # the search

    def run(self, seconds: float) -> str:
        """Search until the gap is closed, the time is up or the user stops it.

        Returns
        -------
        str
            ``proved``, ``infeasible``, ``time_limit``, ``interrupted``, ``stopped``, or
            ``inaccurate``: the tree has ended, and its last point is not feasible here.

        Raises
        ------
        NotBoundable
            Ranges do not show that the points below the best value are bounded.
        WrongBound
            A point contradicts the bound or "infeasible".
        """
        end = time.perf_counter() + seconds
        self._stopped = self._interrupted = False
        self.is_running = True
        try:
            return self._searched(end)
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            self.is_running = False

    def _searched(self, end: float) -> str:
        if self._edges is None:
            self._edges = self._box(end)
        if self._edges is None:
            self.lower = self.objective  # nothing is better than the best point
            return "infeasible" if self.best is None else "proved"
        while True:
            status = self._round(*self._edges, end)
            if status != "inaccurate" or self._rounds + 1 == ROUNDS:
                break
            self._rounds += 1
        self._floored = not self.is_closed
        return "proved" if self._floored and self.is_closed else status

    def _box(self, end: float) -> tuple[Array, Array] | None:
        """Bounds of all columns at all points that may be better; None if no point may be."""
        terms, lo, hi = self.problem.terms, self.problem.lo, self.problem.hi
        ranges = terms.ranges(lo[None], hi[None])
        if np.any(lo > hi) or ranges.empty[0] or self.problem.contradicted:
            return None
        if np.array_equal(lo, hi) and self.note(lo):
            return None
        if np.any(_is_endless(ranges.lo) | _is_endless(ranges.hi)):
            if self.best is None:
                self._start(ranges.lo[0], ranges.hi[0], end)
            self._beyond = self.objective
            found = self._bounded(ranges.lo[0], ranges.hi[0])
            ranges = terms.ranges(*(side[None] for side in found))
        return None if ranges.empty[0] else (ranges.lo[0], ranges.hi[0])

    def _start(self, lo: Array, hi: Array, end: float) -> None:
        """Find a first point by local search, or take SCIP's first one in a box of limited size."""
        found = self._improve(None, STARTING * _left(end))
        if found is not None and self.note(found, trusted=True):
            return
        lo = np.where(_is_endless(lo), np.minimum(-LOOK, hi - LOOK), lo)
        hi = np.where(_is_endless(hi), np.maximum(LOOK, lo + LOOK), hi)
        self._tree(lo, hi, end, points=1)
        self._close()
        self.lower = -np.inf  # the bound holds in that box only

    def _bounded(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """Finite bounds of all used columns, the variables first, then the terms."""
        problem = self.problem
        x = problem.samples()[0] if self.best is None else self.best.x
        inner = problem.columns(x[None]).lo[0]
        used = np.zeros(lo.size, dtype=bool)
        used[list(problem.uses)] = True
        for group in (np.arange(lo.size) < problem.terms.size, np.ones(lo.size, dtype=bool)):
            loose = np.flatnonzero(group & used & (_is_endless(lo) | _is_endless(hi)))
            start = np.clip(np.where(np.isfinite(inner), inner, 0.0), lo, hi)
            lo, hi = first_box(
                lo, hi, start, loose, lambda a, b: problem.is_worse(a, b, self.objective)
            )
            ranges = problem.terms.ranges(lo[None], hi[None])
            lo, hi = ranges.lo[0], ranges.hi[0]
            loose = loose[_is_endless(lo[loose]) | _is_endless(hi[loose])]
            if loose.size:
                raise self._unbounded(int(loose[0]))
        return lo, hi

    def _unbounded(self, column: int) -> NotBoundable:
        problem = self.problem
        if column < problem.terms.size:
            return NotBoundable(
                problem.name(column),
                "neither bounds nor constraints hold this variable, and ranges of the objective "
                "do not show that it grows with it",
                "bounds on it, as cp.Variable(bounds=[lower, upper]), or box=(lower, upper)",
            )
        operation, _ = problem.terms.operations[column - problem.terms.size]
        return NotBoundable(
            short(problem.problem.objective),
            f"the range of a {type(operation).__name__} in it is not finite, as far as ranges show",
            "bounds on the variables, and such that keep divisors and arguments of logarithms away "
            "from 0",
        )

    # ------------------------------------------------------------------------------------------
    # a run of SCIP

    def _round(self, lo: Array, hi: Array, end: float) -> str:
        """The status after one tree; ``inaccurate`` if its best point does not close the gap.

        Another tree, in the units of the best point, may close it.
        """
        status = self._go_on(end) if self._built else self._tree(lo, hi, end)
        if status in ("finished", "infeasible"):
            self._close()
        if status == "infeasible":
            status = self._confirmed(lo, hi, end)
        if status in ("interrupted", "stopped"):
            self.lower = -np.inf if self._is_wrong else self.lower
            return status
        if status != "infeasible" and not self.is_closed:
            self._improve_last(end)
        self._challenge(lo, hi)
        if self._is_wrong:
            if self._rounds + 1 == ROUNDS:
                sign, point = self.problem.sign, self._where
                assert point is not None
                raise WrongBound(point.x, sign * point.value, sign * self.lower)
            self.lower, self._otherwise = -np.inf, True
            self._close()
            return "inaccurate"
        if status == "infeasible" or self.is_closed:
            return "infeasible" if self.best is None else "proved"
        return "inaccurate" if status in ("finished", "failed") else status

    def _challenge(self, lo: Array, hi: Array) -> None:
        """Check the bound with many points of the box, moved to the constraints."""
        problem = self.problem
        size = problem.terms.size
        x = problem.samples(CHALLENGES, lo[:size], hi[:size])
        value, missed = problem.values(x)
        feasible = np.flatnonzero(missed <= 0)
        for k in feasible[np.argsort(value[feasible], kind="stable")[:CHALLENGED]]:
            self.note(x[k])
        near = np.argsort(missed, kind="stable")
        groups = [near[:count] for count in NEAREST]
        low = [group[np.argsort(value[group], kind="stable")[:CHALLENGED]] for group in groups]
        for k in np.unique(np.concatenate(low)):
            if missed[k] > 0:
                self.note(restored(problem, x[k]))

    @property
    def _is_wrong(self) -> bool:
        """True if a point that is feasible but for rounding lies below the bound."""
        if np.isinf(self.lower):
            return self._exact < self.lower
        known = ACCURACY * max(self._unit, self.scale), RESOLVED * self._floor
        return self._exact < self.lower - max(*known, ROUNDING * abs(self.lower))

    def _confirmed(self, lo: Array, hi: Array, end: float) -> str:
        """The status of a second search after the first one has ended with "infeasible".

        It is loose and has no presolving.
        """
        if self.best is not None:
            self.lower = min(self._beyond, np.inf if self.best.is_exact else self.objective)
            return "finished"
        self.lower = -np.inf  # the first bound is wrong if the second search finds a point
        status = self._tree(lo, hi, end, loose=True)
        self._close()
        if status == "infeasible":
            self.lower = np.inf
        return status

    def _improve_last(self, end: float) -> None:
        """Local search from SCIP's last point, or from the best one if that point was feasible."""
        x = self._candidate if self.best is None or self._candidate is not None else self.best.x
        if x is not None and _left(end) > 0:
            found = self._improve(x, _left(end))
            self._candidate = None
            if found is not None:
                self.note(found, trusted=True)

    def _tree(self, lo: Array, hi: Array, end: float, points: int = -1, loose: bool = False) -> str:
        """A new run of SCIP: ``finished``, ``infeasible`` or the reason why it stopped."""
        self._close()
        built = ScipModel(self.problem, lo, hi, self.best, self._rounds, loose)
        self._unit, self._floor = built.unit, built.floor
        self._built, self._nodes_before = built, self.nodes
        self._lower_before = self.lower
        model = built.model
        if self.best is not None:
            built.suggest(self.best.x)
        if loose:
            model.setPresolve(scip().SCIP_PARAMSETTING.OFF)
        model.setParam("limits/solutions", points)
        for name, value in SETTINGS.items():
            model.setParam(name, value)
        for name, value in OTHER_WAYS.items() if self._otherwise else ():
            model.setParam(name, value)
        self._watcher = _watcher(self._watch)
        model.includeEventhdlr(self._watcher, "progress", "holds the bound against the best point")
        return self._go_on(end)

    def _go_on(self, end: float) -> str:
        """Continue the run of SCIP, which a limit may have ended."""
        assert self._built is not None
        model = self._built.model
        limit = min(float(model.getSolvingTime()) + _left(end), float(model.infinity()))
        model.setParam("limits/time", limit)
        try:
            with _interrupts_held(self._interrupt):
                model.optimize()
        except Exception:  # SCIP's own errors, such as a linear program that no setting solves
            self._otherwise = True
            self._close()
            return "failed"
        error, self._watcher.error = self._watcher.error, None
        if error is not None:
            raise error
        return self._outcome(self._built)

    def _close(self) -> None:
        """Free the memory of the run."""
        if self._built is not None:
            self._built.model.free()
            self._built = None

    def _outcome(self, built: ScipModel) -> str:
        status = str(built.model.getStatus())
        if status == "infeasible":
            return status
        if status == "unknown":  # SCIP has stopped by itself, and its bound is none
            self.lower, self._otherwise = self._lower_before, True
            self._close()
            return "failed"
        self._take(built)
        if status in ("unbounded", "inforunbd"):
            raise NotBoundable(
                short(self.problem.problem.objective),
                "it falls without end, as far as SCIP tells",
                "bounds on the variables",
            )
        if status in ("optimal", "gaplimit"):
            return "finished"
        if self._interrupted:
            return "interrupted"
        if status == "userinterrupt" and not self.is_closed:
            return "stopped"
        return "time_limit"

    def _take(self, built: ScipModel) -> None:
        """Read SCIP's best point, if it is new, and its bound."""
        model = built.model
        self.nodes = self._nodes_before + int(model.getNTotalNodes())
        primal = float(model.getPrimalbound()) if model.getNSols() else np.inf
        if primal < built.seen:
            built.seen = primal
            x = built.point(model.getBestSol())
            taken = self.note(restored(self.problem, x)) or self.note(x)
            self._candidate = None if taken else x
        dual = float(model.getDualbound())
        if abs(dual) < float(model.infinity()):
            lower = (dual - ACCURACY) * built.unit + built.offset
            self.lower = max(self.lower, min(lower, self._beyond))

    def _watch(self) -> None:
        """Called by SCIP at new points and after each node."""
        assert self._built is not None
        model = self._built.model
        self._take(self._built)
        now = time.perf_counter()
        if now - self._said > PAUSE:
            self._said = now
            logger.info("bound %.6g of %.6g, %d nodes", self.lower, self.objective, self.nodes)
            if self.report is not None and self.report():
                self._stopped = True
                model.interruptSolve()
        spent = model.getNLPIterations() > self._most_iterations
        if self.is_closed or self._interrupted or spent:
            model.interruptSolve()

    def _interrupt(self) -> None:
        self._interrupted = True


@contextmanager
def _interrupts_held(note: Callable[[], None]) -> Iterator[None]:
    """A context in which Ctrl-C calls `note`, in the main thread; SCIP's next event stops it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: note())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _left(end: float) -> float:
    """Seconds left until `end`."""
    return max(end - time.perf_counter(), 0.0)


def _is_endless(side: Array) -> npt.NDArray[np.bool_]:
    """True for bounds that are infinite, or whose squares are."""
    return ~(np.abs(side) < ENDLESS)


def _watcher(act: Callable[[], None]) -> Any:
    """An event handler of SCIP that calls `act` at new points and after nodes."""
    module = scip()
    events = (
        module.SCIP_EVENTTYPE.BESTSOLFOUND,
        module.SCIP_EVENTTYPE.NODESOLVED,
        module.SCIP_EVENTTYPE.LPEVENT,
    )

    class Watcher(module.Eventhdlr):  # type: ignore[name-defined]
        """Calls `act` at events; an exception ends the search and is raised after it."""

        error: BaseException | None = None

        def eventinit(self) -> None:
            for event in events:
                self.model.catchEvent(event, self)

        def eventexec(self, event: Any) -> None:
            try:
                act()
            except BaseException as error:
                self.error = error
                self.model.interruptSolve()

    return Watcher()
