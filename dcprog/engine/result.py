"""The result of a solve: the best point, the run's history and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar

import cvxpy as cp
import numpy as np

from dcprog.engine.certificate import Certificate, Claim, Examiner
from dcprog.engine.checks import checks_of
from dcprog.engine.rate import Rate, rate_of
from dcprog.engine.stationarity import Stationarity
from dcprog.engine.track import History, Run
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.foundation.table import Table
from dcprog.foundation.tolerances import ACCEPT, FEASIBLE, TOL

SHOWN = 5  # optima
DIGITS = 6  # starts differ by little
# A step of length s after which a convex function still falls at the rate s lowers it by s²/2 or
# more: a gap within tol allows a residual of this many times the root of tol.
ROOTS = float(np.sqrt(2))


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
    """The end of the run from one start; from a ``dropped`` start none went all the way."""

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

    def __repr__(self) -> str:
        inside = ", ".join(f"{v.name()}: {array!r}" for v, array in self._pairs.values())
        return f"{{{inside}}}"


def _alike(one: cp.Variable, other: object) -> bool:
    """True if a variable looks like another one: processes may give one id to two variables."""
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
        ``converged``, ``max_iter``, ``time_limit``, ``interrupted`` (by Ctrl-C, a callback, or the
        loss of data that are read by blocks), ``infeasible`` (proved), ``no_feasible_point`` (none
        was found), ``unbounded`` or ``solver_failed``.
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
        Subproblem solver; if several have solved steps, how many each, as "OSQP (3 steps), HIGHS (1
        step)".
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
        The sum of the absolute values of the terms of the minimised function at the point: the
        unit of the gap's tolerance.
    relative_violation : float
        Largest constraint violation, relative to the sum of the constraint's terms.
    spec : Risk or None
        The risk under the cap that the run has set, where a cap adapts. Not pickled.
    examiner : Examiner or None
        The problem, which certificates ask about the point. Not pickled.

    Examples
    --------
    >>> import cvxpy as cp, dcprog as dc
    >>> x = cp.Variable()
    >>> capped = cp.minimum(cp.square(x - 1), 1) + cp.square(x) / 4
    >>> result = dc.solve(cp.Problem(cp.Minimize(capped)))
    >>> result.status, round(result.value, 6), round(float(result.variables[x]), 4)
    ('converged', 0.2, 0.8)
    """

    _lower_bound: ClassVar[Callable[..., Any] | None] = None  # set where bounds are made

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

    spec: Any = None

    examiner: Examiner | None = None

    def certificate(
        self, bound: bool = False, time_limit: float | None = None, *, tol: float = TOL
    ) -> Certificate:
        """Claims about the point, each with its number and its tolerance.

        The numbers are computed anew from the problem; the gap is the larger one of the run's and
        the new one. A result that was pickled has the run's only. Parameters of a cvxpy problem
        count with their present values.

        Parameters
        ----------
        bound : bool, default False
            Look for a lower bound of the objective, too; that may take long.
        time_limit : float, optional
            Seconds for the examination, and again for the bound (by default those of
            :func:`dcprog.lower_bound`).
        tol : float, default 1e-6
            Relative to the scale of the minimised function.

        Returns
        -------
        Certificate

        Raises
        ------
        TypeError, ValueError
            `tol` or `time_limit` is no positive number; a bound is asked for, and the result knows
            its problem no longer.

        Examples
        --------
        >>> import numpy as np, dcprog as dc
        >>> rows = np.array([[1.0], [2.0], [-9.0]])
        >>> risk = dc.Risk(rows, dc.squared_hinge(), transform=dc.cap_at(1.0))
        >>> certificate = dc.solve(risk).certificate()
        >>> certificate.holds, certificate.d_stationary
        (True, True)
        """
        check_number("tol", tol, 0)
        if time_limit is not None:
            check_number("time_limit", time_limit, 0)
        gap, violation, scale = self.gap, self.relative_violation, self.scale
        seen, theorems = Stationarity(), None
        if self.examiner is not None and self.x is not None:
            found = self.examiner(self.x, time_limit)
            seen, scale = found.stationarity, max(scale, found.scale)
            theorems = found.theorems
            gap = gap if np.isnan(found.gap) else max(gap, found.gap)
            violation = max(violation, found.violation)
        least, rise = ROOTS * np.sqrt(tol), float(np.max(self.history.rise, initial=0.0))
        is_known = not np.isnan(seen.residual)
        certificate = Certificate(
            descent=Claim("largest rise", rise, tol * scale),
            gap=Claim("criticality gap", gap, tol * scale),
            violation=Claim("violation", violation, ACCEPT * FEASIBLE),
            residual=Claim("stationarity error", seen.residual, least) if is_known else None,
            slope=Claim("descent found", max(0.0, -seen.slope), least) if is_known else None,
            complete=seen.complete,
            bound=self._bounded(time_limit) if bound else None,
        )
        if theorems is None:
            return certificate
        checks = checks_of(theorems, self.history, self.rate(), certificate, (scale, tol))
        return replace(certificate, theorems=checks)

    def _bounded(self, time_limit: float | None) -> Any:
        if self._lower_bound is None:
            raise ValueError("bound=True: no lower bounds are made here; leave it out")
        if self.examiner is None:
            raise ValueError(
                "bound=True: a result that was pickled does not hold its problem; "
                "call dc.lower_bound(problem, start=result)"
            )
        options = {} if time_limit is None else {"time_limit": time_limit}
        return type(self)._lower_bound(self.examiner.problem, start=self, **options)  # type: ignore[misc]

    def rate(self) -> Rate:
        r"""The rate at which the run's values fell: finite, linear, sublinear, or not shown.

        F* is not known and not estimated: the decreases d_t = F(x_t) − F(x_{t+1}) tell, because
        F(x_t) − F* ~ q^t if d_t ~ q^t, and ~ t^−p if d_t ~ t^−(p+1). Fitted are the curves
        d_t^−κ = A + B·t, a line through log d_t for κ = 0 and the power of t with κ = 1/(p + 1), by
        least squares in log d_t, over the last three quarters and over the last half of the
        decreases that are clear of rounding. A kind of rate is reported if the intervals of κ (95%
        by t-quantiles) in both windows agree on it, and a power of t only if t
        has grown threefold over the longer window.
        A run is finite if from some step on the majorant stayed as it was and F had fallen by far
        more than rounding until then: x minimises the majorant at x. Early steps may mislead, and
        accelerated steps show a rate of their own.

        Returns
        -------
        Rate
            ``not shown`` with the reason where the history does not tell.

        References
        ----------
        Attouch and Bolte (2009), On the convergence of the proximal algorithm for nonsmooth
        functions involving analytic features, Math. Program. 116, theorem 2 (the three rates).
        Box and Cox (1964), An analysis of transformations, J. R. Stat. Soc. B 26, sections 3 and 4
        (the family in κ and its interval).

        Examples
        --------
        >>> import numpy as np, dcprog as dc
        >>> rows = np.array([[1.0], [2.0], [-9.0]])
        >>> capped = dc.Risk(rows, dc.hinge(), transform=dc.cap_at(1.0))
        >>> dc.solve(capped, n_starts=1).rate().kind
        'finite'
        """
        return rate_of(self.history, self.scale)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"examiner": None, "spec": None}

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

    def summary(self) -> Table:
        """The ends of the runs from all starts.

        Returns
        -------
        Table
            It shows itself as text below the text of the result; ``to_frame()`` is a DataFrame.
        """
        columns = {"value": "value", "status": "status", "steps": "n_iter"}
        columns |= {"gap": "gap", "violation": "violation"}
        values = {name: [getattr(s, field) for s in self.starts] for name, field in columns.items()}
        return Table(repr(self), [start.kind for start in self.starts], values, DIGITS)

    @property
    def _steps(self) -> str:
        return f"{self.n_iter} step{'' if self.n_iter == 1 else 's'}"

    def _repr_html_(self) -> str:
        """A table, with the optima folded away."""
        rows = [
            ("status", f"{self.status} after {self._steps}"),
            ("value", f"{self.value:.10g}"),
            ("gap", f"{self.gap:.3g}"),
            ("violation", f"{self.violation:.3g}"),
            ("solver", self.solver or "none"),
            ("time", f"{self.total_time:.2g} s"),
        ]
        if self.mode != "none":
            rows.append(("nonconvex constraints", f"by {self.mode} iterates"))
        if self.message:
            rows.append(("end", self.message))
        table = _table(rows)
        if len(self.optima) > 1:
            found = [(f"{o.value:.10g}", f"{o.count} runs") for o in self.optima[:SHOWN]]
            title = f"{len(self.optima)} optima"
            table += f"<details><summary>{title}</summary>{_table(found)}</details>"
        return f"<div><strong>Result</strong>{table}</div>"

    def __repr__(self) -> str:
        lines = [
            f"Result: {self.status} after {self._steps} ({self.total_time:.2g} s, "
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


def result_of(
    runs: list[Run],
    best: Run,
    total_time: float,
    optima: tuple[Optimum, ...] = (),
    examiner: Examiner | None = None,
) -> Result:
    """The result of runs from several starts, at the point of the best one."""
    return Result(
        value=-best.sign * np.inf if best.status == "unbounded" else best.value,
        status=best.status,
        n_iter=best.n_iter,
        gap=best.gap,
        violation=best.violation,
        variables=VariableValues(best.values),
        x=best.x,
        history=best.history,
        starts=tuple(
            StartSummary(run.kind, run.value, run.status, run.n_iter, run.gap, run.violation)
            for run in runs
        ),
        mode=best.mode,
        solver=best.solver,
        solve_time=sum(run.solve_time for run in runs),
        total_time=total_time,
        message=best.message,
        solver_steps=sum(run.solver_steps for run in runs),
        dual=best.dual,
        scale=best.scale,
        spec=best.spec or runs[0].spec,
        relative_violation=best.relative_violation,
        optima=optima,
        examiner=examiner,
    )


def _table(rows: list[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{''.join(lines)}</table>"
