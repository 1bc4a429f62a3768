"""What a solve returns: the best point, how the run went, and what it is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from dcprog.engine.certificate import Certificate, certify
from dcprog.engine.history import History
from dcprog.foundation.arrays import Array

__all__ = ["Optimum", "Result", "StartSummary", "VariableValues"]


@dataclass(frozen=True, eq=False)
class Optimum:
    """A point at which runs from one or several starts have converged.

    Attributes
    ----------
    value : float
    count : int
        Runs that ended there.
    starts : tuple of str
        The kinds of their starts.
    x : array
        The point as one vector.
    distance : float
        From the best one, Euclidean.
    """

    value: float
    count: int
    starts: tuple[str, ...]
    x: Array
    distance: float


@dataclass(frozen=True)
class StartSummary:
    """How the run from one start ended; ``dropped`` is a start from which none went all the way."""

    kind: str
    value: float
    status: str
    n_iter: int
    gap: float
    violation: float


class VariableValues(Mapping[cp.Variable, Array]):
    """Arrays by cvxpy Variable.

    Looked up by the variable's id: cvxpy hashes a variable by its place in memory, which does not
    survive pickling.
    """

    def __init__(self, pairs: list[tuple[cp.Variable, Array]]) -> None:
        self._pairs = {v.id: (v, array) for v, array in pairs}

    def __getitem__(self, variable: cp.Variable) -> Array:
        found = self._pairs.get(getattr(variable, "id", None))
        if found is None or not _alike(found[0], variable):
            raise KeyError(f"{variable} is not a variable of the problem")
        return found[1]

    def __iter__(self) -> Iterator[cp.Variable]:
        return (v for v, _ in self._pairs.values())

    def __len__(self) -> int:
        return len(self._pairs)

    def __contains__(self, variable: object) -> bool:
        found = self._pairs.get(getattr(variable, "id", None))
        return found is not None and _alike(found[0], variable)

    def __repr__(self) -> str:
        inside = ", ".join(f"{v.name()}: {array!r}" for v, array in self._pairs.values())
        return f"{{{inside}}}"


def _alike(one: cp.Variable, other: object) -> bool:
    """Another process may have given the id to another variable."""
    return isinstance(other, cp.Variable) and (one.shape, one.name()) == (other.shape, other.name())


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """Outcome of :func:`dcprog.solve`.

    Attributes
    ----------
    value : float
        True objective at the point, recomputed in NumPy, in the user's sign; minus infinite for
        an unbounded problem, infinite where the convex constraints alone are infeasible (signs
        swapped for a maximisation).
    status : str
        ``converged``, ``max_iter``, ``time_limit``, ``interrupted``, ``infeasible`` (proved),
        ``no_feasible_point`` (none was found), ``unbounded`` or ``solver_failed``.
    n_iter : int
        Steps taken after the start.
    gap : float
        Criticality gap at the point, absolute, ≥ 0; infinite where it was not measured.
    violation : float
        Largest constraint violation at the point.
    variables : mapping of cvxpy Variable to array
        Empty for a :class:`~dcprog.Risk`.
    x : array or None
        The point as one vector (column-major, in the order of ``variables``); θ for a
        :class:`~dcprog.Risk`. None where there is no point.
    history : History
        Of the run that gave the point.
    starts : tuple of StartSummary
        One entry a start that was run from or dropped.
    optima : tuple of Optimum
        The distinct points at which runs have converged, best first.
    mode : str
        How nonconvex constraints were met: ``none`` (there are none), ``feasible`` (every iterate
        is) or ``penalty``.
    solver : str
        Subproblem solver that worked last.
    solve_time, total_time : float
        Seconds inside the solvers' own calls, and altogether.
    message : str
        Why the run ended, in words.
    solver_steps : int
        Steps of the subproblem solvers in all starts, of those that count them (pairs, in SMO).
    dual : array of shape (n_rows,) or None
        For a :class:`~dcprog.Risk`: multipliers of the rows in the subproblem that x solves, minus
        the slope of each weighted base loss in its margin. Where nothing is subtracted, Aᵀ·dual is
        the slope of the penalty, A being the matrix of the rows. None where x is no subproblem's
        solution, or its solver has none.
    scale : float
        What the terms of the minimised function add up to at the point, in absolute value: the
        unit of the gap's tolerance.
    relative_violation : float
        Largest constraint violation against what that constraint's terms add up to.
    """

    value: float
    status: str
    n_iter: int
    gap: float
    violation: float
    variables: Mapping[cp.Variable, Array]
    x: Array | None
    history: History
    starts: tuple[StartSummary, ...]
    mode: str
    solver: str
    solve_time: float
    total_time: float
    message: str
    solver_steps: int = 0
    dual: Array | None = None
    scale: float = 1.0
    relative_violation: float = 0.0
    optima: tuple[Optimum, ...] = ()

    def certificate(self, *, tol: float = 1e-6) -> Certificate:
        """What is known of the point, each claim with its number and its tolerance.

        Parameters
        ----------
        tol : float, default 1e-6
            Relative to the scale of the minimised function.

        Returns
        -------
        Certificate
        """
        return certify(self.history.rise, self.gap, self.relative_violation, tol * self.scale)

    def plot(self, ax: Any = None) -> Any:
        """Objective and criticality gap by iteration.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from dcprog.display import plot_history

        return plot_history(self.history, ax)

    def __repr__(self) -> str:
        lines = [
            f"Result: {self.status} after {self.n_iter} steps ({self.total_time:.2g} s, "
            f"{self.solver or 'no solver'})",
            f"  value      {self.value:.10g}",
            f"  gap        {self.gap:.3g}",
            f"  violation  {self.violation:.3g}",
        ]
        if self.mode != "none":
            lines.append(f"  nonconvex constraints by {self.mode} iterates")
        run = [s.value for s in self.starts if s.status != "dropped"]
        if len(run) > 1:
            dropped = len(self.starts) - len(run)
            more = f", {dropped} dropped" if dropped else ""
            between = f"{min(run):.6g} … {max(run):.6g}"
            lines.append(f"  starts     {len(run)}, values {between}{more}")
        if self.message:
            lines.append(f"  {self.message}")
        return "\n".join(lines)
