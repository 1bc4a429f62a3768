"""The global search: SCIP's branch and bound, its points and its bound held against our own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dcprog.factorable.first_box import first_box
from dcprog.factorable.model import ScipModel, scip
from dcprog.factorable.problem import FEASIBLE, FactorableProblem, Point
from dcprog.factorable.restoration import restored
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import NotBoundable, WrongBound
from dcprog.foundation.progress_log import logger
from dcprog.majorants.tree import short

__all__ = ["ACCURACY", "GlobalSearch"]

# Bounds are lowered by that share of F's unit: SCIP's linear programs are exact to a tenth of it.
ACCURACY = 1e-6
# SCIP's tolerance of constraints, in their units: below ours, so that its points are feasible.
FEASIBILITY = 1e-8
# The search is repeated in better units while its points do not close the gap, that often.
ROUNDS = 3
# Seconds between lines of the log and calls of the callback.
PAUSE = 0.5
# The share of the time that is left to improve the last point.
POLISHING = 0.1


class GlobalSearch:
    """Branch and bound of a factorable problem.

    Parameters
    ----------
    problem : FactorableProblem
    gap : float
        Stop when the best value less the bound is at most that share of ``scale``.
    improve : callable
        ``improve(x, seconds)``: a point found by local search from x, or from nowhere for None;
        None if there is none.
    report : callable, optional
        Called about twice a second; a true return value stops the search.

    Attributes
    ----------
    best : Point or None
        The best feasible point.
    lower : float
        A proved bound of F from below; ∞ if no point is feasible.
    scale : float
        The unit of F: what its terms add up to at the best point, and at least a small share of
        what they usually add up to.
    nodes : int
        Of SCIP's trees.
    """

    def __init__(
        self,
        problem: FactorableProblem,
        gap: float,
        improve: Callable[[Array | None, float], Array | None],
        report: Callable[[], object] | None = None,
    ) -> None:
        scip()
        self.problem, self.gap = problem, gap
        self._improve, self._report = improve, report
        self.best: Point | None = None
        self.lower = -np.inf
        self.nodes = 0
        self._exact = np.inf  # the least value at a point that is feasible but for rounding
        self._where: Point | None = None
        self._candidate: Array | None = None
        self._stopped = False
        self._said = time.perf_counter()
        self._usual = 0.0  # a small share of what the objective's terms add up to

    # ------------------------------------------------------------------------------------------
    # points

    def note(self, x: Array, trusted: bool = False) -> bool:
        """Evaluate a point; keep it where it is feasible and better.

        Parameters
        ----------
        x : array of shape (p,)
        trusted : bool, default False
            The loop has called it feasible, by sizes of its own.

        Returns
        -------
        bool
            True if it is feasible.
        """
        point = self.problem.at(x)
        feasible = point.is_feasible or (trusted and np.isfinite(point.value))
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
        """The unit that gaps are relative to."""
        return max(0.0 if self.best is None else self.best.scale, self._usual)

    @property
    def is_closed(self) -> bool:
        """True if the gap is as small as was asked for."""
        return self.objective - self.lower <= max(self.gap, 2 * ACCURACY) * self.scale

    # ------------------------------------------------------------------------------------------
    # the search

    def run(self, seconds: float) -> str:
        """Search until the gap is closed, the clock or the user stops it.

        Returns
        -------
        str
            ``proved``, ``infeasible``, ``time_limit``, ``interrupted`` or ``stopped``.

        Raises
        ------
        NotBoundable
            The box of the points that matter is not bounded, as far as ranges show.
        WrongBound
            A point contradicts the bound or "infeasible".
        """
        end = time.perf_counter() + seconds
        box = self._box(end)
        status = "infeasible"
        if box is not None:
            for _ in range(ROUNDS):
                status = self._round(*box, end)
                if status != "repeat":
                    break
        if status == "repeat":
            status = "proved" if self.is_closed else "time_limit"
        self._contradict(status)
        return status

    def _box(self, end: float) -> tuple[Array, Array] | None:
        """Bounds of all columns that hold every point of interest; None if there is none."""
        terms, lo, hi = self.problem.terms, self.problem.lo, self.problem.hi
        ranges = terms.ranges(lo[None], hi[None])
        if np.any(lo > hi) or ranges.empty[0]:
            return None
        if np.any(np.isinf(ranges.lo) | np.isinf(ranges.hi)):
            if self.best is None:
                self._start(end)
            found = self._bounded(ranges.lo[0], ranges.hi[0])
            ranges = terms.ranges(*(side[None] for side in found))
        return None if ranges.empty[0] else (ranges.lo[0], ranges.hi[0])

    def _start(self, end: float) -> None:
        """A first point, by local search."""
        found = self._improve(None, 0.5 * max(end - time.perf_counter(), 0.0))
        if found is not None:
            self.note(found, trusted=True)

    def _bounded(self, lo: Array, hi: Array) -> tuple[Array, Array]:
        """Finite bounds of all columns that are used: of the variables first, then of the terms."""
        problem = self.problem
        x = problem.samples()[0] if self.best is None else self.best.x
        inner = problem.columns(x[None]).lo[0]
        used = np.zeros(lo.size, dtype=bool)
        used[list(problem.uses)] = True
        for group in (np.arange(lo.size) < problem.terms.size, np.ones(lo.size, dtype=bool)):
            loose = np.flatnonzero(group & used & (np.isinf(lo) | np.isinf(hi)))
            start = np.clip(np.where(np.isfinite(inner), inner, 0.0), lo, hi)
            lo, hi = first_box(
                lo, hi, start, loose, lambda a, b: problem.is_worse(a, b, self.objective)
            )
            ranges = problem.terms.ranges(lo[None], hi[None])
            lo, hi = ranges.lo[0], ranges.hi[0]
            loose = loose[np.isinf(lo[loose]) | np.isinf(hi[loose])]
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
            short(problem.problem.objective, 60),
            f"a {type(operation).__name__.lower()} in the problem has no finite range: its "
            "argument comes as near as one likes to where it is infinite",
            "bounds that keep divisors and arguments of logarithms away from 0",
        )

    # ------------------------------------------------------------------------------------------
    # a run of SCIP

    def _round(self, lo: Array, hi: Array, end: float) -> str:
        """A tree; ``repeat`` if its end does not close the gap, for want of better units."""
        before = self.scale
        status = self._tree(lo, hi, end)
        if status == "infeasible" and self.best is None:
            relaxed = self._tree(lo, hi, end, slack=FEASIBLE)
            if relaxed == "infeasible":
                self.lower = np.inf
                return "infeasible"
            status = relaxed
        if status != "finished":
            self._improve_last(end)
            return "proved" if self.is_closed else status
        if self.is_closed:
            return "proved"
        self._improve_last(end)
        if self.is_closed:
            return "proved"
        return "repeat" if self.best is not None and self.scale < before else "time_limit"

    def _improve_last(self, end: float) -> None:
        """Local search from SCIP's last point, where that is not feasible in our eyes."""
        if self._candidate is not None:
            found = self._improve(self._candidate, max(end - time.perf_counter(), POLISHING))
            self._candidate = None
            if found is not None:
                self.note(found, trusted=True)

    def _tree(self, lo: Array, hi: Array, end: float, slack: float = 0.0) -> str:
        """One run of SCIP: ``finished``, ``infeasible`` or the reason why it stopped."""
        built = ScipModel(self.problem, lo, hi, self.best, slack)
        if built.contradiction:
            return "infeasible"
        model = built.model
        self._usual = built.usual
        if self.best is not None:
            built.suggest(self.best.x)
        if slack:
            model.setPresolve(scip().SCIP_PARAMSETTING.OFF)
        model.setParam("timing/clocktype", 2)
        model.setParam("numerics/feastol", FEASIBILITY)
        model.setParam("limits/time", max(end - time.perf_counter(), 1e-3))
        watch = _watcher(lambda: self._watch(built))
        model.includeEventhdlr(watch, "progress", "holds the bound against the best point")
        nodes = self.nodes
        self._count = lambda: nodes + int(model.getNTotalNodes())
        model.optimize()
        self.nodes = self._count()
        if watch.error is not None:
            raise watch.error
        return self._outcome(built)

    def _outcome(self, built: ScipModel) -> str:
        model, status = built.model, built.model.getStatus()
        if status == "infeasible":
            if self.best is not None:  # nothing is better than the best point
                self.lower = max(self.lower, self.best.value - ACCURACY * self.scale)
                return "finished"
            return "infeasible"
        self._take(built)
        if status in ("unbounded", "inforunbd"):
            raise NotBoundable(
                short(self.problem.problem.objective, 60),
                "it falls without end, as far as SCIP tells",
                "bounds on the variables",
            )
        if status in ("optimal", "gaplimit") or self.is_closed:
            return "finished"
        if status == "userinterrupt":
            return "stopped" if self._stopped else "interrupted"
        return "time_limit"

    def _take(self, built: ScipModel) -> None:
        """Take over SCIP's best point and its bound."""
        model = built.model
        if model.getNSols():
            x = built.point(model.getBestSol())
            if self.note(x) or self.note(restored(self.problem, x)):
                self._candidate = None
            else:
                self._candidate = x
        dual = float(model.getDualbound())
        if abs(dual) < float(model.infinity()):
            self.lower = max(self.lower, dual * built.unit - ACCURACY * self.scale)

    def _watch(self, built: ScipModel) -> None:
        """Called by SCIP at new points and after each node."""
        model = built.model
        self._take(built)
        self.nodes = self._count()
        now = time.perf_counter()
        if now - self._said > PAUSE:
            self._said = now
            logger.info(
                "bound %.6g of %.6g, %d nodes", self.lower, self.objective, self.nodes
            )
            if self._report is not None and self._report():
                self._stopped = True
                model.interruptSolve()
        if self.is_closed:
            model.interruptSolve()

    def _contradict(self, status: str) -> None:
        """Hold the claim against the points known.

        Raises
        ------
        WrongBound
        """
        if self._where is not None and self._exact < self.lower - ACCURACY * self.scale:
            claim = "no point is feasible" if status == "infeasible" else f"F >= {self.lower:.10g}"
            raise WrongBound(claim, self._where.x, self._exact)


def _watcher(act: Callable[[], None]) -> Any:
    """An event handler of SCIP that acts at new points and after nodes, and keeps an exception."""
    module = scip()
    events = (
        module.SCIP_EVENTTYPE.BESTSOLFOUND,
        module.SCIP_EVENTTYPE.NODESOLVED,
        module.SCIP_EVENTTYPE.FIRSTLPSOLVED,
    )

    class Watcher(module.Eventhdlr):  # type: ignore[name-defined, misc]
        """Acts at events; an exception ends the search and is raised after it."""

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
