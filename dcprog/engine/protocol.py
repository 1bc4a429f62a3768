"""The protocol between the outer loop and everything that can be majorised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dcprog.engine.history import Attempt
from dcprog.engine.stationarity import Stationarity
from dcprog.foundation.arrays import Array

# How far in units of x, and along how many directions, an unbounded function is looked for.
FAR = (1e3, 1e7)
FAR_DIRECTIONS = 4

__all__ = ["FAR", "FAR_DIRECTIONS", "Surrogate"]


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
    def witnesses(self) -> tuple[str, ...]:
        """Names of solvers that may confirm what another one says.

        Those of ``solvers`` and, where the user named one, the others behind it.
        """

    @property
    def settled(self) -> bool:
        """False while F still moves: the loop does not stop as converged before."""

    @property
    def sign(self) -> float:
        """1 where the user minimises, −1 where the user maximises ``objective``."""

    @property
    def mode(self) -> str:
        """How nonconvex constraints are met: ``none``, ``feasible`` or ``penalty``."""

    @property
    def solve_time(self) -> float:
        """Seconds spent inside the solvers' own calls so far."""

    @property
    def may_look_ahead(self) -> bool:
        """True if ``minimise_ahead`` is worth a try where steps are slow."""

    @property
    def loosest(self) -> float:
        """Tolerance to which a step far from the end is solved at first; 0 for that of the end."""

    @property
    def resolution(self) -> float:
        """A share of what F is elsewhere, in whose tolerance solvers lose digits: where F is 0."""

    @property
    def floor(self) -> float:
        """A value below which F is known not to be anywhere; −∞ where none is."""

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

    def minimise_ahead(
        self,
        centre: Array,
        x: Array,
        tolerance: float,
        solver: str,
        time_limit: float | None = None,
    ) -> Array:
        """A minimiser of M(·; centre), for the F that x is compared by; M is at x again after it.

        Raises
        ------
        SubproblemError, ValueError
            There is none, or M has no slope at the centre.
        """

    def further(self, x: Array) -> Array:
        """A point near a minimiser x of the majorant at which F is lower still, or x itself.

        By what is known of F beside its majorant; whether F is lower there the engine computes.
        """

    def bound(self) -> float:
        """A lower bound of min M(·; centre), from multipliers that the last ``minimise`` left.

        Computed from the problem's data, so that no solver can fake it: wrong multipliers make it
        low. −∞ where there are none, or where the majorant has moved since.
        """

    def value(self, x: Array) -> float:
        """F(x), infinite where x violates a convex constraint."""

    def along(self, x: Array, way: Array) -> Callable[[float], float]:
        """F(x + t·way) as a function of t."""

    def outside(self, x: Array) -> float:
        """How far x is outside the constraints that make F infinite, relative to their terms."""

    def majorant_value(self, x: Array) -> float:
        """M(x; centre)."""

    def scale(self, x: Array) -> float:
        """The sum of the absolute values of F's terms at x: the unit of every tolerance."""

    def units(self, x: Array) -> Array:
        """A typical size of every coordinate near x, positive."""

    def kinks(self, x: Array) -> npt.NDArray[np.bool_]:
        """Coordinates at a kink of F, which rises both ways off it where the majorant does."""

    def proposals(
        self, x: Array, rng: np.random.Generator, time_limit: float | None = None
    ) -> Iterator[Array]:
        """Points to try where x seems critical but may be a symmetric point; often none.

        F stays as it is, and the majorant is centred at x again afterwards.
        """

    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Points to try where slopes are tied at x: down those that the majorant did not take.

        None where nothing is tied. F and the majorant stay as they are.
        """

    def far(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Points ever further away at which M is low, where a solver calls it unbounded."""

    def is_feasible(self, x: Array) -> bool:
        """True if every constraint is met."""

    def objective(self, x: Array) -> float:
        """The value that the user is told: F without penalty terms, in the user's sign."""

    def violation(self, x: Array) -> float:
        """Largest constraint violation, 0 where there are none."""

    def start(self, kind: str, rng: np.random.Generator, time_limit: float | None = None) -> Array:
        """A point to start from.

        ``"convex"`` (the convex problem behind F), ``"half"`` (the same on a random half of its
        terms) or ``"random"``.

        Raises
        ------
        SubproblemError
            The convex problem is infeasible, or was not solved.
        """

    # What the driver asks before, between and after runs.

    @property
    def is_convex(self) -> bool:
        """True if F is its own majorant."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of ``start``."""

    @property
    def constant(self) -> float:
        """The objective without its sign, minus F."""

    @property
    def start_solver(self) -> str:
        """The solver of the convex start; empty if there was none."""

    @property
    def solver_steps(self) -> int:
        """Steps inside the subproblems' solvers so far, where they count them."""

    def bound_of_start(self) -> float:
        """A lower bound of a convex F, from the solution of the convex start; −∞ without one."""

    def take_attempts(self) -> tuple[Attempt, ...]:
        """The solver calls that failed beside those of the steps; they are handed over once."""

    def relative_violation(self, x: Array) -> float:
        """Largest violation against what the constraint's terms add up to."""

    def is_finite(self, x: Array) -> bool:
        """True if x is inside the domain of the declared function itself."""

    def mismatch(self, x: Array) -> float:
        """How far F, carried on at infinite slopes, is from the declared function."""

    def falls_off(self, x: Array) -> bool:
        """True if x is at an edge of the domain towards which the objective falls to −∞."""

    def cleared(self, x: Array) -> Array:
        """The point x with entries at rounding level set to 0."""

    def inside(self, x: Array) -> Array:
        """The point x, or a point near it inside the domain of the declared function."""

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """How far x, where the majorant is centred, is from stationary, other choices at ties too.

        F and the majorant stay as they are.
        """

    def dual(self, x: Array) -> Array | None:
        """Multipliers of a risk's rows at x, where the last solver left them."""


MOST_TIGHTENINGS = 20


def centre(surrogate: Surrogate, x: Array) -> None:
    """Centre a majorant at x under the F that a run from there ends with."""
    surrogate.begin(x)
    for _ in range(MOST_TIGHTENINGS):
        surrogate.tighten(x)
        if surrogate.settled:
            break
