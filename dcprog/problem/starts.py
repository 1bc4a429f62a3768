"""Starting points of a cvxpy problem: convex, graduated, soft, half and random ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import (
    BESIDE,
    CONVEX_START,
    FEASIBLE,
    HALVINGS,
    LOOSE,
    ROUNDING,
    SOFT,
)
from dcprog.majorants.tree import Values
from dcprog.problem.majorised_problem import MajorisedProblem
from dcprog.problem.sizes import Sizes

# Levels of graduation, as powers of two, each solved to CONVEX_START.
LEVELS = 3, 2, 1.5, 1, 0.5
MARGINS = (BESIDE, 1e-3, FEASIBLE, 0.0)  # units by which a start is moved inside its domain


class Starts:
    """Starting points of a problem.

    Parameters
    ----------
    problem : MajorisedProblem
    sizes : Sizes

    Attributes
    ----------
    middle : array or None
        The last convex problem's solution, before anything was done to it.
    """

    kinds = ("convex", "graduated", "soft", "half", "random")

    def __init__(self, problem: MajorisedProblem, sizes: Sizes) -> None:
        self._problem = problem
        self._points = problem.points
        self._sizes = sizes
        self._deadline = Deadline()
        self.middle: Array | None = None

    def __call__(
        self, kind: str, rng: np.random.Generator, time_limit: float | None = None
    ) -> Array:
        """A start of a kind.

        ``convex``, the convex problem's solution; ``half``, its solution with random halves of the
        terms; ``soft``, with concave functions at a small share of their first slope, for problems
        in which that slope holds everything at 0; ``graduated``, the end of a path of nearly convex
        problems that come closer to this one; ``random``.

        Raises
        ------
        SubproblemError
            The convex constraints contradict one another.
        """
        self.limit(time_limit)
        if kind == "random":
            return self.random(rng)
        try:
            x = self._convex(_kept(kind, rng))
        except SubproblemError as error:
            if error.status == "infeasible" and self.is_proved_infeasible():
                raise
            self._problem.note("convex start", CONVEX_START, str(error))
            return self.random(rng)  # unbounded or failed: F need not be
        if self._problem.is_convex:
            return x
        self.middle = x
        if kind == "graduated":
            x = self._graduated(x)
        x = self.inside(x)
        # ‖x‖ at 0 has no slope to leave by: a point that misses a constraint may as well move, and
        # so may one whose convex problem has a constant objective
        missed = not self._problem.is_feasible(x)
        return self.shaken(x, rng) if missed or self._is_flat(x, rng) else x

    @property
    def solver(self) -> str:
        """The solver of the convex start; empty if there was none."""
        return self._problem.start_solver

    def bound(self) -> float:
        """A dual bound of a convex problem that the start has solved; −∞ without one."""
        node = self._problem.frame.node
        if node.is_constant():
            return float(np.sum(Values().array(node)))
        return self._problem.modes.portfolio("feasible").bound()

    def limit(self, seconds: float | None) -> None:
        """Limit the total time of all further calls, in seconds."""
        self._deadline = Deadline(seconds)

    def random(self, rng: np.random.Generator, size: float = 1.0) -> Array:
        """A random point that meets the convex constraints, some units from 0."""
        x = size * self._sizes.natural.unit * rng.standard_normal(self._points.size)
        return self.inside(self._points.projected(x))

    def shaken(self, x: Array, rng: np.random.Generator, size: float = BESIDE) -> Array:
        """A point beside x that meets the convex constraints."""
        return self.inside(self._points.projected(self._sizes.beside(x, rng, size)))

    # ------------------------------------------------------------------------------------------

    def inside(self, x: Array, *, strictly: bool = False) -> Array:
        """The point x, or a point near it inside the convex constraints and the domain of F.

        Strictly inside, cvxpy's own evaluation finds a number at every node, too.
        """

        def accepts(point: Array) -> bool:
            return self._usable(point) and (not strictly or self._problem.is_finite(point))

        if accepts(x):
            return x
        units, split = self._sizes.units(x), self._points.split
        largest = float(np.max(units, initial=0.0))
        for margin in MARGINS[-2::-1] if strictly else MARGINS:
            self._problem.modes.hold(split(x), split(1 / units), margin * largest)
            try:
                near = self._first_solved("project")
            except SubproblemError:
                continue
            if accepts(near):
                return _nearest(x, near, accepts) if strictly else near
        return x

    def inside_domain(self, x: Array) -> Array:
        """The point x, or a point near it at which F has slopes; constraints may be missed."""
        try:
            with np.errstate(all="ignore"):
                self._problem.update(self._problem.at(x))
        except (ValueError, ArithmeticError):
            return self.inside(x)
        return x

    def _usable(self, x: Array) -> bool:
        """True if x meets the convex constraints, and F has a value and slopes there."""
        problem = self._problem
        try:
            with np.errstate(all="ignore"):
                values = problem.at(x)
                met = problem.convex_miss(values).relative <= problem.tolerance
                problem.update(values)
                return met and bool(np.isfinite(problem.objective(values)))
        except (ValueError, ArithmeticError):
            return False

    def is_proved_infeasible(self) -> bool:
        """True if the convex constraints alone contradict one another.

        Proofs are a certificate that was checked, and the agreement of two solvers.
        """
        said, order = 0, self._problem.solvers("relaxation")
        for solver in order:
            try:
                self._problem.minimise("relaxation", CONVEX_START, solver, self._deadline.left)
                return False
            except SubproblemError as error:
                said += error.status == "infeasible"
                if error.proved or said == min(2, len(order)):
                    return error.status == "infeasible"
        return False

    # ------------------------------------------------------------------------------------------

    def _graduated(self, x: Array) -> Array:
        """The point after an inexact step at each level of graduation."""
        problem = self._problem
        mode = "free" if problem.constraints else "feasible"
        for level in LEVELS:
            self._points.load(x)
            problem.update(problem.context.values(level=2.0**level))
            try:
                x = self._first_solved(mode, LOOSE)
            except SubproblemError:
                break
        return x

    def _convex(self, keep: Callable[[Array], Array] | None) -> Array:
        problem = self._problem
        self._points.fill()  # tangents in the convex start do not depend on the point
        problem.mode = "feasible"
        try:
            problem.update(problem.context.values(level=np.inf, keep=keep))
        except ValueError as error:  # but those of cos(1/x) do, which has no slope at 0
            raise SubproblemError("failed", str(error)) from error
        return self._first_solved("free" if problem.constraints else "feasible")

    def _first_solved(self, mode: str, tolerance: float = CONVEX_START) -> Array:
        """The solution of the first solver that has one; later solvers get a share of the time."""
        failures: list[SubproblemError] = []
        for solver in self._problem.solvers(mode):
            left = self._deadline.share if failures else self._deadline.left
            try:
                if left == 0:
                    raise SubproblemError("failed", "the time limit is reached")
                x = self._problem.minimise(mode, tolerance, solver, left)
            except SubproblemError as error:
                failures.append(error)
                self._problem.note(solver, tolerance, str(error))
                if mode == "project" and error.status == "infeasible":
                    break  # a start is no verdict: one word is enough, and a smaller margin is next
                continue
            if mode != "project":
                self._problem.start_solver = solver
            return x
        decided = [e for e in failures if e.status != "failed"]
        raise (decided or failures)[0]

    def _is_flat(self, x: Array, rng: np.random.Generator) -> bool:
        """True if the convex start's objective is a constant."""
        there = self._problem.majorant(self._sizes.beside(x, rng))
        return bool(np.isclose(there, self._problem.majorant(x), rtol=ROUNDING, atol=0))


def halved(rng: np.random.Generator) -> Callable[[Array], Array]:
    """A map that doubles a random half of the entries and drops the others; a number stays."""
    return lambda slope: slope if slope.size == 1 else 2.0 * slope * (rng.random(slope.shape) < 0.5)


def _kept(kind: str, rng: np.random.Generator) -> Callable[[Array], Array] | None:
    """A function that changes the slopes of the convex start; None if they stay."""
    if kind == "half":
        return halved(rng)
    return (lambda slope: SOFT * slope) if kind == "soft" else None


def _nearest(x: Array, inside: Array, accepts: Callable[[Array], bool]) -> Array:
    """The first accepted point on the way from x to one that is accepted, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if accepts(x + middle * (inside - x)):
            high = middle
        else:
            low = middle
    return x + high * (inside - x) if high < 1 else inside
