"""``dc.solve``: from a problem and its options to a Result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Protocol

import cvxpy as cp
import numpy as np
from cvxpy.lin_ops import lin_utils
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from dcprog.acceleration import acceleration_named
from dcprog.engine import Progress, Run, Settings, descend
from dcprog.errors import SubproblemError
from dcprog.logs import visible
from dcprog.problem import ProblemSurrogate
from dcprog.result import History, Result, StartSummary, VariableValues
from dcprog.surrogate import Surrogate
from dcprog.tree import Array, dense

__all__ = ["Spec", "solve"]

STARTS = ("convex", "current", "random")


class Spec(Protocol):
    """A declaration that makes its own surrogate, such as :class:`dcprog.Risk`."""

    rows: Any

    def surrogate(self, solver: str | None = None) -> Surrogate:
        """A fresh surrogate."""


def solve(
    problem: cp.Problem | Spec,
    *,
    start: str | Mapping[cp.Variable, Any] | Array | Result = "convex",
    solver: str | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    time_limit: float | None = None,
    n_starts: int = 1,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    acceleration: str | None = None,
    callback: Callable[[Progress], object] | None = None,
    verbose: bool = False,
) -> Result:
    r"""Minimise (or maximise) a nonconvex problem by successive convex majorants.

    x⁺ ∈ argmin_z M(z; x), where M(·; x) is convex, nowhere below the objective and equal to it at
    x. The objective never rises, and M(x; x) − min M(·; x), the criticality gap, is zero exactly
    at a critical point.

    Parameters
    ----------
    problem : cvxpy.Problem or Risk
        Any problem the rules can majorise (see :func:`dcprog.explain`). A convex one is solved
        once.
    start : {"convex", "current", "random"}, mapping, array or Result, default "convex"
        ``"convex"``: the solution of the convex problem behind it (concave functions of convex
        losses at their slope for loss 0, nonconvex constraints left out; where that misses a
        constraint, moved a little at random). ``"current"``: the variables' values. A mapping
        from Variable to array must name every variable. A ``Result`` resumes its run. For a
        ``Risk`` an array is θ.
    solver : str, optional
        Subproblem solver to try first, a name cvxpy knows or ``"ARROW"``, our own for quadratic
        programs in few shared variables. By default ARROW or PIQP for quadratic programs, HiGHS
        for linear ones, Clarabel for the rest; the others are fallbacks.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol·(1 + |F|). Subproblems are
        solved to tol/100.
    max_iter : int, default 100
        Steps from each start.
    time_limit : float, optional
        Seconds for all starts together.
    n_starts : int, default 1
        Number of starts; those after the first are solutions of the convex problem on random
        halves of the terms and random points, in turn. The best run is returned.
    random_state : int, Generator, RandomState or None, default None
        Seed of the starts; None is a fixed seed, so that results repeat.
    n_jobs : int, optional
        Processes for the starts, by joblib.
    acceleration : {"linesearch", "squarem"}, optional
        Boosted DCA's line search, or SQUAREM's extrapolation; both only ever go downhill.
    callback : callable, optional
        ``callback(progress)`` after every step, with ``n_iter, x, value, gap, step, violation,
        time``; a true return value stops the run. Forces ``n_jobs=1``.
    verbose : bool, default False
        Log a line a step to the logger ``dcprog``.

    Returns
    -------
    Result
        The variables hold the best point too.

    Raises
    ------
    NotMajorizable
        No rule applies to a sub-expression.
    ValueError
        Bad data or options: NaN, integer variables, an unknown solver, a start of wrong shape.
    TypeError
        `problem` is not a problem.

    References
    ----------
    Lipp and Boyd (2016), Variations and extension of the convex-concave procedure, Optimization
    and Engineering 17. Le Thi and Pham Dinh (2018), DC programming and DCA: thirty years of
    developments, Math. Program. 169.

    Examples
    --------
    A ramp loss, as written:

    >>> import cvxpy as cp, numpy as np, dcprog as dc
    >>> X = np.array([[1.0], [2.0], [3.0], [-2.0]])   # the last sample is an outlier
    >>> w = cp.Variable(1)
    >>> loss = cp.sum(cp.minimum(cp.pos(1 - X @ w), 1))
    >>> result = dc.solve(cp.Problem(cp.Minimize(loss + 0.05 * cp.sum_squares(w))))
    >>> result.status, round(result.value, 4)
    ('converged', 1.05)
    """
    begun = time.perf_counter()
    settings = _checked(
        tol, max_iter, time_limit, n_starts, n_jobs, acceleration, callback, verbose
    )
    kinds = _kinds(start, n_starts)
    task = _Task(problem, solver, settings)
    task.surrogate  # noqa: B018  bad problems are refused here, before any process starts
    jobs = list(zip(kinds, _seeds(random_state, n_starts), strict=True))
    with visible(verbose):
        outcomes = _run_all(task, jobs, None if callback else n_jobs)
    result = _result(problem, outcomes, time.perf_counter() - begun)
    if isinstance(problem, cp.Problem):
        _publish(problem, result)
    return result


def _checked(
    tol: float,
    max_iter: int,
    time_limit: float | None,
    n_starts: int,
    n_jobs: int | None,
    acceleration: str | None,
    callback: Callable[[Progress], object] | None,
    verbose: bool,
) -> Settings:
    for name, number in (("tol", tol), ("time_limit", 1.0 if time_limit is None else time_limit)):
        if not _is_a(Real, number) or not 0 < number < np.inf:
            raise ValueError(f"{name}={number!r}: a positive finite number is needed")
    for name, count, least in (("max_iter", max_iter, 0), ("n_starts", n_starts, 1)):
        if not _is_a(Integral, count) or count < least:
            raise ValueError(f"{name}={count!r}: an integer of at least {least} is needed")
    if n_jobs is not None and (not _is_a(Integral, n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r}: an integer other than 0 is needed, or None")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} is not callable")
    if not isinstance(verbose, bool | Integral | np.bool_):
        raise ValueError(f"verbose={verbose!r}: True or False is needed")
    acceleration_named(acceleration)
    return Settings(tol, max_iter, time_limit, acceleration, callback, verbose)


def _is_a(kind: type, value: object) -> bool:
    """Is it a number of that kind? True and False are not numbers here."""
    return isinstance(value, kind) and not isinstance(value, bool | np.bool_)


def _kinds(start: Any, n_starts: int) -> list[Any]:
    """What each run starts from: the user's start, then halves and random points in turn."""
    if isinstance(start, str) and start not in STARTS:
        raise ValueError(f"start={start!r}: choose one of {STARTS}, a mapping or a Result")
    if isinstance(start, str) and start == "random":
        return ["random"] * n_starts
    return [start, *("half" if i % 2 == 0 else "random" for i in range(n_starts - 1))]


def _seeds(random_state: Any, n_starts: int) -> list[np.random.SeedSequence]:
    if isinstance(random_state, np.random.Generator):
        entropy = random_state.integers(2**32, size=4)
    else:
        state = check_random_state(0 if random_state is None else random_state)
        entropy = state.randint(2**31 - 1, size=4)
    return np.random.SeedSequence([int(e) for e in entropy]).spawn(n_starts)


# ----------------------------------------------------------------------------------------------
# runs


@dataclass(frozen=True)
class _Outcome:
    """A run and what its surrogate says of it."""

    kind: str
    run: Run
    values: list[tuple[cp.Variable, Array]]
    sign: float
    mode: str
    feasible: bool
    solver: str
    solve_time: float
    solver_steps: int
    dual: Array | None

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sorts a run that found something first, then a feasible one, then the lower value."""
        unbounded = self.run.status == "unbounded"
        value = -np.inf if unbounded else self.sign * self.run.value
        return (
            self.run.x is None and not unbounded,
            0.0 if self.feasible else self.run.violation,
            value,
        )


class _Task:
    """One problem and its options; every process that runs it builds its own surrogate."""

    def __init__(self, problem: cp.Problem | Spec, solver: str | None, settings: Settings) -> None:
        self.problem = problem
        self.solver = solver
        self.settings = settings
        limit = settings.time_limit
        self.deadline = None if limit is None else time.time() + limit

    def __getstate__(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k != "surrogate"}
        return state | {"next_id": lin_utils.get_id()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # cvxpy numbers variables by a counter a process: those that the majorant adds here must
        # not take the numbers of the user's, which were made elsewhere
        counter = lin_utils.ID_COUNTER
        counter.count = max(counter.count, state.pop("next_id"))
        self.__dict__.update(state)

    @cached_property
    def surrogate(self) -> Any:
        """The problem's surrogate."""
        if isinstance(self.problem, cp.Problem):
            return ProblemSurrogate(self.problem, self.solver)
        if not (hasattr(self.problem, "surrogate") and hasattr(self.problem, "rows")):
            raise TypeError(
                f"a {type(self.problem).__name__} is not a problem: pass a cvxpy Problem, such as "
                "cp.Problem(cp.Minimize(expression), constraints), or a dcprog Risk"
            )
        return self.problem.surrogate(self.solver)

    @property
    def _has_variables(self) -> bool:
        return isinstance(self.problem, cp.Problem)

    def _feasible(self, run: Run) -> bool:
        return run.x is None or not self._has_variables or self.surrogate.is_feasible(run.x)

    def left(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.time())

    def __call__(
        self, kind: Any, seed: np.random.SeedSequence, spare: bool = False
    ) -> _Outcome | None:
        if spare and self.left() == 0:
            return None  # the time went on the starts before
        surrogate = self.surrogate
        before = surrogate.solve_time  # a surrogate may serve several starts
        steps = getattr(surrogate, "solver_steps", 0)
        try:
            start = self._start(kind, np.random.default_rng(seed))
        except SubproblemError as error:
            run = _no_point(error, surrogate)
            if run.status == "solver_failed" and self.left() == 0:
                run = replace(run, status="time_limit")
        else:
            run = self._descend(start, kind)
        run = _with_attempts(run, surrogate)
        pairs = surrogate.unpack(run.x) if self._has_variables and run.x is not None else []
        return _Outcome(
            kind=kind if isinstance(kind, str) else "given",
            run=run,
            values=[(variable, array.copy()) for variable, array in pairs],
            sign=getattr(surrogate, "sign", 1.0),
            mode=getattr(surrogate, "mode", "none"),
            feasible=self._feasible(run),
            solver=run.solver or surrogate.solvers[0],
            solve_time=surrogate.solve_time - before,
            solver_steps=getattr(surrogate, "solver_steps", 0) - steps,
            dual=surrogate.dual(run.x) if not self._has_variables and run.x is not None else None,
        )

    def _descend(self, start: Array, kind: Any) -> Run:
        surrogate = self.surrogate
        if isinstance(kind, str) and kind == "convex" and getattr(surrogate, "is_convex", False):
            return _solved_once(surrogate, start)
        run = descend(surrogate, start, replace(self.settings, time_limit=self.left()))
        if run.status == "converged" and getattr(surrogate, "sign", 1.0) * run.value == -np.inf:
            return replace(run, status="unbounded", message="the objective is -inf at the point")
        if run.status == "converged" and not self._feasible(run):
            message = (
                f"a critical point that misses a constraint by {run.violation:.3g}: the problem "
                "may be infeasible; try n_starts > 1 or another start"
            )
            return replace(run, status="infeasible", message=message)
        return run

    def _start(self, kind: Any, rng: np.random.Generator) -> Array:
        if isinstance(kind, Result):
            kind = kind.variables if kind.variables else kind.x
            if kind is None:
                raise ValueError("the result to resume from has no point")
        named = isinstance(kind, Mapping) or (isinstance(kind, str) and kind == "current")
        if named and not self._has_variables:
            raise ValueError("a Risk has no variables: start it from an array, θ, or from a Result")
        if isinstance(kind, Mapping):
            return self.surrogate.pack(_given(self.surrogate.variables, kind))
        if not isinstance(kind, str):
            return _numbers(kind, (self.surrogate.start("random", rng).size,), "the start")
        if kind == "current":
            return self.surrogate.pack(_current(self.surrogate.variables))
        return self.surrogate.start(kind, rng, self.left())


def _given(variables: list[cp.Variable], start: Mapping[cp.Variable, Any]) -> dict[int, Array]:
    """The arrays of a mapping, checked."""
    for key in start:
        if not isinstance(key, cp.Variable):
            raise ValueError(f"the start's key {key!r} is not a cvxpy Variable")
    values = {v.id: a for v, a in start.items()}
    for variable in variables:
        if variable.id not in values:
            raise ValueError(f"the start has no value for variable {variable.name()!r}")
    return {
        v.id: _numbers(values[v.id], v.shape, f"the start of variable {v.name()!r}")
        for v in variables
    }


def _numbers(value: Any, shape: tuple[int, ...], what: str) -> Array:
    """A finite array of the shape."""
    try:
        array = dense(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} is not made of real numbers: {value!r}") from None
    if array.shape != shape:
        raise ValueError(f"{what} has shape {array.shape}, not {shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} contains NaN or infinity")
    return array


def _current(variables: list[cp.Variable]) -> dict[int, Array]:
    missing = [v.name() for v in variables if v.value is None]
    if missing:
        raise ValueError(f"start='current', but variable {missing[0]!r} has no value")
    return _given(variables, {v: v.value for v in variables})


def _run_all(
    task: _Task, jobs: list[tuple[Any, np.random.SeedSequence]], n_jobs: int | None
) -> list[_Outcome]:
    """Outcomes of the starts; Ctrl-C and the deadline keep those that are there."""
    outcomes: list[_Outcome] = []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    sequential = n_jobs in (None, 1) or len(jobs) == 1
    calls = [(*job, bool(i)) for i, job in enumerate(jobs)]
    stream = (
        (task(*call) for call in calls)
        if sequential
        else parallel(delayed(task)(*call) for call in calls)
    )
    try:
        for outcome in stream:
            if outcome is None:
                continue
            outcomes.append(outcome)
            if outcome.run.status == "interrupted" and sequential:
                break
    except KeyboardInterrupt:
        if not outcomes:
            raise
    return outcomes


def _no_point(error: SubproblemError, surrogate: Any) -> Run:
    """The outcome of a start that could not be made."""
    status = "solver_failed" if error.status == "failed" else error.status
    sign = getattr(surrogate, "sign", 1.0)
    value = {"infeasible": sign * np.inf, "unbounded": -sign * np.inf}.get(status, np.nan)
    return Run(None, value, np.inf, np.inf, status, str(error), History.empty())


def _solved_once(surrogate: ProblemSurrogate, x: Array) -> Run:
    """A convex problem's only step: the start is its solution."""
    value, violation = surrogate.objective(x), surrogate.violation(x)
    history = History.single(value, violation)
    message = "the problem is convex: solved once"
    solver = surrogate.start_solver
    return Run(x, value, 0.0, violation, "converged", message, history, solver)


def _with_attempts(run: Run, surrogate: Any) -> Run:
    """The run, with the solver calls that failed on the way to its start."""
    before = tuple(getattr(surrogate, "start_attempts", ()))
    if not before:
        return run
    surrogate.start_attempts = []
    attempts = (*before, *run.history.attempts)
    return replace(run, history=replace(run.history, attempts=attempts))


# ----------------------------------------------------------------------------------------------
# the result


def _result(problem: Any, outcomes: list[_Outcome], seconds: float) -> Result:
    best = min(outcomes, key=lambda o: o.rank)
    run = best.run
    value = -best.sign * np.inf if run.status == "unbounded" else run.value
    return Result(
        value=value,
        status=run.status,
        n_iter=run.n_iter,
        gap=run.gap,
        violation=run.violation,
        variables=VariableValues(best.values),
        x=run.x,
        history=run.history,
        starts=tuple(_summary(o.kind, o.run) for o in outcomes),
        mode=best.mode,
        solver=best.solver,
        solve_time=sum(o.solve_time for o in outcomes),
        total_time=seconds,
        message=run.message,
        solver_steps=sum(o.solver_steps for o in outcomes),
        dual=best.dual,
    )


def _summary(kind: str, run: Run) -> StartSummary:
    return StartSummary(kind, run.value, run.status, run.n_iter, run.gap, run.violation)


def _publish(problem: cp.Problem, result: Result) -> None:
    """Leave the result in the problem and its variables, as cvxpy's own solve does."""
    values = {v.id: array for v, array in result.variables.items()}
    for variable in problem.variables():
        array = values.get(variable.id)
        variable.save_value(None if array is None else array.copy())
    problem._value = result.value
    problem._status = result.status


def _solve_method(problem: cp.Problem, *args: Any, **options: Any) -> float:
    """``problem.solve(method="dc", **options)``: the value, as cvxpy's own solve returns it."""
    return solve(problem, *args, **options).value


cp.Problem.register_solve("dc", _solve_method)
