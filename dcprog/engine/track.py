"""The record of a run: its options, its steps and solver calls, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.foundation.arrays import Array
from dcprog.foundation.tolerances import MAX_ITER, TOL


@dataclass(frozen=True)
class Attempt:
    """One call of a subproblem solver that was not accepted.

    Attributes
    ----------
    iteration : int
    solver : str
    tolerance : float
    outcome : str
        The reason of the refusal.
    """

    iteration: int
    solver: str
    tolerance: float
    outcome: str


@dataclass(frozen=True, eq=False)
class History:
    """The run, step by step; entry 0 is the start.

    Attributes
    ----------
    value : array of shape (n_iter + 1,)
        True objective, recomputed, in the user's sign.
    gap : array of shape (n_iter + 1,)
        Criticality gap: majorant at the point minus the majorant's minimum; infinite where it
        was not measured.
    step : array of shape (n_iter + 1,)
        Euclidean distance from the point before.
    time : array of shape (n_iter + 1,)
        Seconds since the start.
    solve_time : array of shape (n_iter + 1,)
        Seconds of them inside the solvers' own calls (and those before the start).
    violation : array of shape (n_iter + 1,)
        Largest constraint violation.
    rise : array of shape (n_iter + 1,)
        Change of the minimised function over the step; positive is a rise. In penalty CCP the
        function includes the penalty of that step.
    unchanged : bool array of shape (n_iter + 1,)
        True where the majorant at the point is the one that the step to it minimised.
    attempts : tuple of Attempt
        Solver calls that were not accepted.

    Examples
    --------
    >>> import cvxpy as cp, numpy as np, dcprog as dc
    >>> far = cp.norm(cp.Variable(2, name="x") - np.ones(2)) >= 2
    >>> result = dc.solve(cp.Problem(cp.Minimize(cp.norm1(far.variables()[0])), [far]))
    >>> len(result.history.value) == result.n_iter + 1
    True
    """

    value: Array
    gap: Array
    step: Array
    time: Array
    solve_time: Array
    violation: Array
    rise: Array
    unchanged: npt.NDArray[np.bool_]
    attempts: tuple[Attempt, ...] = ()

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def empty(cls) -> History:
        """The history of a run that found no point."""
        return cls._of([])

    @classmethod
    def single(cls, value: float, violation: float) -> History:
        """The history of a problem that its start solves."""
        return cls._of([(value, 0.0, 0.0, 0.0, 0.0, violation, 0.0, False)])

    def ending(self, value: float, violation: float) -> History:
        """The history with F of a last point that the run itself did not reach."""
        values, violations = self.value.copy(), self.violation.copy()
        values[-1:], violations[-1:] = value, violation
        return replace(self, value=values, violation=violations)

    @classmethod
    def _of(cls, rows: list[tuple[float, ...]]) -> History:
        columns = np.array(rows, dtype=float).reshape(-1, 8).T
        value, gap, step, time, solve_time, violation, rise, unchanged = columns
        return cls(value, gap, step, time, solve_time, violation, rise, unchanged.astype(bool))

    def settled_from(self, rounding: float) -> int:
        """The first entry from which on F was one function: its change is that of the values."""
        with np.errstate(invalid="ignore"):
            change = np.abs(np.diff(self.value))
            same = np.abs(change - np.abs(self.rise[1:])) <= rounding + TOL * change
        moved = np.flatnonzero(~same)
        return int(moved[-1]) + 1 if moved.size else 0

    def to_frame(self) -> Any:
        """The arrays as a pandas DataFrame.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        import pandas as pd

        arrays = (f.name for f in fields(self) if f.name != "attempts")
        return pd.DataFrame({name: getattr(self, name) for name in arrays})


# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """The argument of a callback after every accepted step (and at the start, ``n_iter`` 0).

    Attributes
    ----------
    n_iter : int
        Steps taken by this run.
    x : array
        The point, a copy.
    value : float
        True objective there, in the user's sign.
    gap : float
        Criticality gap of the point before, which this step has measured; infinite at the start.
    step : float
        Euclidean distance from the point before.
    violation : float
        Largest constraint violation.
    time : float
        Seconds since the run's start.

    Examples
    --------
    The objective after every step, of all starts:

    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable(3)
    >>> problem = cp.Problem(cp.Minimize(cp.sum(cp.minimum(cp.square(x - 1), 2))))
    >>> seen = []
    >>> result = dc.solve(problem, callback=lambda progress: seen.append(progress.value))
    >>> min(seen) >= result.value - 1e-6
    True
    """

    n_iter: int
    x: Array
    value: float
    gap: float
    step: float
    violation: float
    time: float


@dataclass(frozen=True)
class Settings:
    """Options of the loop, as in :func:`dcprog.solve`; `label` names the start in the log."""

    tol: float = TOL
    max_iter: int = MAX_ITER
    time_limit: float | None = None
    acceleration: str | None = None
    callback: Callable[[Progress], object] | None = None
    verbose: bool = False
    escape: bool = True
    label: str = ""


# Values of F that differ by less, relative to the sum of its terms, differ by rounding.
NOISE = 16 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Run:
    """The run from one start: its best point, or None, and how it was reached.

    The loop fills in the fields up to `mode`; the others say how the point stands in the user's
    problem.

    Attributes
    ----------
    value : float
        In the user's sign.
    scale : float
        Of the minimised function.
    kind : str
        Of the start.
    sign : float
        1 for a minimisation, −1 for a maximisation.
    values : list of (Variable, array)
        The point in the user's variables.
    spec : Risk or None
        The risk that the run ended with, where it adapts.
    solved : tuple of str
        The solvers whose points steps have taken.
    """

    x: Array | None
    value: float
    gap: float
    violation: float
    status: str
    message: str
    history: History
    solver: str = ""
    scale: float = 1.0
    mode: str = "none"
    kind: str = "given"
    sign: float = 1.0
    values: list[tuple[Any, Array]] = field(default_factory=list)
    feasible: bool = True
    relative_violation: float = 0.0
    solve_time: float = 0.0
    solver_steps: int = 0
    dual: Array | None = None
    spec: Any = None
    solved: tuple[str, ...] = ()

    @classmethod
    def without_steps(cls, x: Array | None, value: float, status: str, message: str) -> Run:
        """A start from which no step was taken."""
        return cls(x, value, np.inf, np.inf, status, message, History.empty())

    @property
    def n_iter(self) -> int:
        """Steps taken after the start."""
        return max(len(self.history) - 1, 0)

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sorts a run that found something first, then a feasible one, then the lower value.

        The value counts with its rounding error: far from 0 it is a difference of large terms.
        """
        unbounded = self.status == "unbounded"
        value = -np.inf if unbounded else self.sign * self.value + NOISE * self.scale
        return (
            self.x is None and not unbounded,
            0.0 if self.feasible else self.violation,
            value if not np.isnan(value) else np.inf,
        )
