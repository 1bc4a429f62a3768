"""The protocol between the outer loop and everything that can be majorised.

A surrogate is a function F with a majorant, and five capabilities beside them: facts, a domain,
points nearby, starts and a record. Their classes answer for a smooth function without constraints;
a surrogate that knows better overrides the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from dcprog.engine.stationarity import Stationarity
from dcprog.engine.track import Attempt
from dcprog.foundation.arrays import Array


class Surrogate(Protocol):
    """A problem as the engine sees it: a function F and a convex majorant that can be moved.

    A point x is a flat NumPy vector. Four verbs make the loop: ``tighten(x)`` centres the
    majorant M(·; x), ``minimise`` returns (an approximation of) its minimiser, ``value`` and
    ``majorant_value`` compute F and M in NumPy, never from a solver's own report. The majorant
    touches: ``majorant_value(x) == value(x)`` right after ``tighten(x)``.

    Where F itself moves along the run (a penalty weight that grows, a cap set by a quantile),
    ``tighten`` moves it, and the engine compares values of one F only.

    Nothing here has units of its own: the engine measures differences of F against ``scale`` and
    steps against ``units``, so that F → a·F and x → a·x change no decision.
    """

    @property
    def solvers(self) -> tuple[str, ...]:
        """Names for ``minimise``, in the order in which to try them."""

    @property
    def settled(self) -> bool:
        """False while F still moves: the loop does not stop as converged before."""

    def begin(self, x: Array) -> None:
        """Forget earlier runs: the next ``tighten`` is the first of a run that starts at x."""

    def tighten(self, x: Array) -> bool:
        """Centre the majorant at x.

        Returns
        -------
        bool
            False if that left the majorant as it was (up to a constant): its last minimiser is
            then still one.

        Raises
        ------
        ValueError
            F has no slope at x: x is outside its domain.
        """

    def minimise(
        self, start: Array, tolerance: float, solver: str, time_limit: float | None = None
    ) -> Array:
        """A minimiser of the majorant, to a tolerance relative to ``scale``.

        Raises
        ------
        SubproblemError
            ``infeasible``, ``unbounded`` or ``failed``.
        """

    def bound(self) -> float:
        """A lower bound of min M(·; centre), from multipliers that the last ``minimise`` left.

        Computed from the problem's data, so that no solver can fake it: wrong multipliers make it
        low. −∞ without multipliers, or if the majorant has moved since.
        """

    def value(self, x: Array) -> float:
        """F(x), infinite if x violates a convex constraint."""

    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""

    def scale(self, x: Array) -> float:
        """The sum of the absolute values of F's terms at x: the unit of every tolerance."""

    def units(self, x: Array) -> Array:
        """A typical size of every coordinate near x, positive."""

    def objective(self, x: Array) -> float:
        """The value that the user is told: F without penalty terms, in the user's sign."""

    @property
    def facts(self) -> Facts:
        """Facts about F and its solvers."""

    @property
    def domain(self) -> Domain:
        """The constraints and the domain of F."""

    @property
    def nearby(self) -> Nearby:
        """Points near x that may be lower."""

    @property
    def starts(self) -> Starts:
        """Points to start from."""

    @property
    def record(self) -> Record:
        """The cost of the solver calls so far."""


T = TypeVar("T")


def guarded(function: Callable[[T], float], x: T) -> float:
    """The function's value, infinite where it has none or raises."""
    try:
        with np.errstate(all="ignore"):
            value = float(function(x))
    except Exception:  # an atom outside its domain may raise anything
        return np.inf
    return np.inf if np.isnan(value) else value


def value_within(surrogate: Surrogate, x: Array, leeway: float) -> float:
    """F(x), infinite where a constraint is missed by more than the leeway."""
    value = guarded(surrogate.value, x)
    near = np.isfinite(value) and guarded(surrogate.domain.outside, x) <= leeway
    return value if near else np.inf


MOST_TIGHTENINGS = 20  # of a majorant whose F changes from one to the next, as at edges of domains


def centre(surrogate: Surrogate, x: Array) -> None:
    """Centre a majorant at x under the F that a run from there ends with."""
    surrogate.begin(x)
    for _ in range(MOST_TIGHTENINGS):
        surrogate.tighten(x)
        if surrogate.settled:
            break


# ----------------------------------------------------------------------------------------------

# How far in units of x, and along how many directions, an unbounded function is looked for.
FAR = (1e3, 1e7)
DIRECTIONS = 6


class Facts(Protocol):
    """Facts about F and its solvers that the loop and the race need, before any point is known."""

    @property
    def sign(self) -> float:
        """1 if the user minimises, −1 if the user maximises the objective."""

    @property
    def constant(self) -> float:
        """The objective without its sign, minus F."""

    @property
    def is_convex(self) -> bool:
        """True if F is its own majorant."""

    @property
    def verifiers(self) -> tuple[str, ...]:
        """Solvers that may confirm another solver's verdict; the surrogate's own come first."""

    @property
    def loosest(self) -> float:
        """Tolerance of the first steps; 0 if every step is solved to the tolerance of the end."""

    @property
    def looks_ahead(self) -> bool:
        """True if a majorant centred beyond x is worth a try where steps are slow."""

    @property
    def lower_bound(self) -> float:
        """A lower bound of F; −∞ if none is known."""

    @property
    def attainable(self) -> float:
        """The scale below which solvers lose digits: F's variation very near the last point."""


@dataclass(frozen=True)
class FixedFacts:
    """Facts that do not change along a run; see :class:`Facts`."""

    verifiers: tuple[str, ...] = ()
    sign: float = 1.0
    constant: float = 0.0
    is_convex: bool = False
    loosest: float = 0.0
    looks_ahead: bool = False
    lower_bound: float = -np.inf
    attainable: float = 0.0


class Domain:
    """The constraints of a problem and the domain of its functions; here: the whole space.

    Parameters
    ----------
    surrogate : Surrogate

    Attributes
    ----------
    mode : {"none", "feasible", "penalty"}
        How nonconvex constraints are met.
    """

    mode: str = "none"

    def __init__(self, surrogate: Surrogate) -> None:
        self._surrogate = surrogate

    def is_feasible(self, x: Array) -> bool:
        """True if x meets every constraint."""
        return True

    def violation(self, x: Array) -> float:
        """Largest constraint violation, 0 without constraints."""
        return 0.0

    def relative_violation(self, x: Array) -> float:
        """Largest violation, relative to the sum of the constraint's terms."""
        return 0.0

    def outside(self, x: Array) -> float:
        """Violation of the constraints outside which F is infinite, relative to their terms."""
        return 0.0

    def is_finite(self, x: Array) -> bool:
        """True if the declared function has a finite value at x."""
        return bool(np.isfinite(self._surrogate.objective(x)))

    def mismatch(self, x: Array) -> float:
        """Distance of F, which is extended beyond infinite slopes, from the declared function."""
        return 0.0

    def falls_off(self, x: Array) -> bool:
        """True if x is at an edge of the domain towards which the objective falls to −∞."""
        return False

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""
        return x

    def inside(self, x: Array) -> Array:
        """The point x, or a point near it inside the domain of the declared function."""
        return x


class Nearby:
    """Points near x that may be lower, and stationarity there; here: nothing but F is known.

    Parameters
    ----------
    surrogate : Surrogate
    """

    def __init__(self, surrogate: Surrogate) -> None:
        self._surrogate = surrogate

    def either_side(self, x: Array, ways: Array, leeway: float) -> Array:
        """F(x + way) and F(x − way) for every row of `ways`, of shape (len(ways), 2).

        Infinite where a constraint is missed by more than the leeway.
        """
        points = (x + sign * way for way in ways for sign in (1, -1))
        values = [value_within(self._surrogate, point, leeway) for point in points]
        return np.reshape(values, (-1, 2))

    def further(self, x: Array, time_limit: float | None = None) -> Array:
        """A point near a minimiser x of the majorant at which F may be lower still, or x itself."""
        return x

    def ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """A minimiser of M(·; centre) for the F of x; afterwards the majorant is at x again.

        Raises
        ------
        SubproblemError, ValueError
            There is none, or M has no slope at the centre.
        """
        raise NotImplementedError

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """Points to try where x seems critical but may be a symmetric point; often none.

        F stays as it is, and the majorant is centred at x again afterwards.
        """
        return iter(())

    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Points to try where slopes are tied at x: along slopes that the majorant did not take.

        F and the majorant stay as they are.
        """
        return iter(())

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Points ever further away, tried if a solver calls the majorant unbounded."""
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((DIRECTIONS, x.size))
        units = self._surrogate.units(x)
        for size in FAR:
            yield from (x + size * units * d for d in (*directions, *-directions))

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """Distance of x, the majorant's centre, from stationarity, for all choices at ties.

        F and the majorant stay as they are.
        """
        return Stationarity()


class Starts(Protocol):
    """Points to start from."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of points."""

    def __call__(
        self, kind: str, rng: np.random.Generator, time_limit: float | None = None
    ) -> Array:
        """A point of a kind: ``"convex"`` (the convex problem behind F), ``"random"`` and others.

        Raises
        ------
        SubproblemError
            The convex problem is infeasible, or was not solved.
        """


@dataclass
class Record:
    """The cost of the solver calls so far, and their multipliers.

    Attributes
    ----------
    solve_time : float
        Seconds inside the solvers' own calls.
    solver_steps : int
        Steps of the subproblems' solvers, if they count them.
    by : str
        The solver whose point the last ``minimise`` returned, if it may be another than the one
        asked; else empty.
    unchanged : bool
        True if the last tightening left the majorant as it was, up to a constant.
    attempts : list of Attempt
        Failed solver calls outside the steps: the surrogate's own list.
    solved : tuple of arrays (x, multipliers) or None
        The last solution of a risk's subproblem that the loop has moved to, and its multipliers.
    """

    solve_time: float = 0.0
    solver_steps: int = 0
    by: str = ""
    unchanged: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    solved: tuple[Array, Array | None] | None = None

    def take_attempts(self) -> tuple[Attempt, ...]:
        """Failed solver calls outside the steps; the list is emptied."""
        taken = tuple(self.attempts)
        self.attempts.clear()
        return taken

    def dual(self, x: Array) -> Array | None:
        """Multipliers of a risk's rows at x, if the last solver left them."""
        if self.solved is None or not np.array_equal(self.solved[0], x):
            return None
        return self.solved[1]
