"""``dc.solve``: from a problem and its options to a Result."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from numbers import Integral, Real
from typing import Any

import cvxpy as cp
import numpy as np

from dcprog.engine.acceleration import ACCELERATIONS
from dcprog.engine.descent import HEAD
from dcprog.engine.result import Result, result_of
from dcprog.engine.track import Progress, Settings
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import second_press_raises
from dcprog.foundation.errors import DataLost, TrivialSolutionWarning, lost_before_a_point, warn
from dcprog.foundation.parameters import check_choice, names_nearest
from dcprog.foundation.progress_log import visible
from dcprog.foundation.tolerances import FEASIBLE, MAX_ITER, TOL
from dcprog.reductions.chain import AUTOMATIC, chain
from dcprog.risk.risk import Risk
from dcprog.solving.cvxpy_fields import publish
from dcprog.solving.examiner import ProblemExaminer
from dcprog.solving.race import optima, planned, race, winner
from dcprog.solving.task import GENERIC, Spec, task_of
from dcprog.solving.trivial import triviality
from dcprog.solving.whole_numbers import solve_whole
from dcprog.starts.effort import EFFORTS

logger = logging.getLogger("dcprog")


@names_nearest
@second_press_raises()
def solve(
    problem: cp.Problem | Spec,
    *,
    start: str | Mapping[cp.Variable, Any] | Array | Result | list[Any] = "auto",
    solver: str | None = None,
    solver_options: Mapping[str, Any] | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    time_limit: float | None = None,
    n_starts: int | str = "auto",
    effort: str = "default",
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    acceleration: str | None = None,
    callback: Callable[[Progress], object] | None = None,
    verbose: bool = False,
    escape: bool = True,
    polish: bool = False,
) -> Result:
    r"""Minimise (or maximise) a nonconvex problem by successive convex majorants.

    x⁺ ∈ argmin_z M(z; x), where M(·; x) is convex, nowhere below the objective and equal to it at
    x. The objective never rises, and M(x; x) − min M(·; x), the criticality gap, is zero exactly
    at a critical point.

    Parameters
    ----------
    problem : cvxpy.Problem or Risk
        Any problem the rules can majorise (see :func:`dcprog.explain`). A convex one is solved
        once, and so is a geometric program, in the logarithms of its variables. One with integer
        or boolean variables goes to the global search of :func:`dcprog.lower_bound`, which ends
        when no point is lower by more than `tol` times the terms (1e-5 times, where the tolerance
        of nonlinear constraints leaves a gap), and then to the loop on its continuous part: starts
        that are points begin the search, `n_starts`, `effort` and `random_state` say nothing there,
        and ``converged`` is proved: no feasible point is lower by more. The point itself is
        feasible within ``relative_violation``. Where neither constraints nor the objective bound a
        variable, as in products with booleans, that holds in a box which the message names.
    start : str, mapping, array, Result or list of those, default "auto"
        ``"auto"`` races many starts. A start that is named is the only one, unless `n_starts` asks
        for more: ``"convex"``, the solution of the convex problem behind it (concave functions of
        convex losses at their slope for loss 0, nonconvex constraints left out; moved a little at
        random if that misses a constraint); ``"graduated"``, the end of a path along which concave
        functions come in step by step; ``"uncapped"``, the end of a run on e in place of each
        min(e, c) in the objective, c a constant; ``"random"``; of a risk ``"zero"``, θ = 0; the
        name of a start of :func:`dcprog.register_start`, for its first point; ``"current"``, the
        variables' values; a mapping from Variables to arrays; for a ``Risk`` an array, θ; a
        ``Result``, whose run is resumed. Variables without a value are completed by the convex
        problem. A list of starts enters the race: from each of them a run goes all the way.
    solver : str, optional
        Subproblem solver to try first, a name cvxpy knows or ``"ARROW"``, our own for quadratic
        programs in few shared variables, with balls on them. By default (or ``"auto"``) a cvxpy
        problem that is a :class:`~dcprog.Risk` is solved as one, with its intercept as the last
        entry of ``x``; of all others, and with ``"cvxpy"``, ARROW or PIQP take quadratic programs,
        HiGHS linear ones, Clarabel the rest, and the others are fallbacks.
    solver_options : mapping, optional
        For the solver of cvxpy's that is named, in its own words, such as
        ``solver="CLARABEL", solver_options={"max_iter": 50}``. They go before ours.
    tol : float, default 1e-6
        Stop when the criticality gap and the decrease are at most tol times the sum of the
        absolute values of the terms of F. Subproblems are solved to tol/100, by dual coordinate
        descent less exactly far from the end.
    max_iter : int, default 100
        Steps from each start.
    time_limit : float, optional
        Seconds for all starts together. A call that cannot be told of it, such as cvxpy's
        compilation of the first subproblem, is not cut short.
    n_starts : int or "auto", default "auto"
        A number is that many runs: of the race, the plain run from the convex problem and runs from
        the best candidates; of a named start, a run from it, then from random halves of the terms
        and random points in turn. ``start="convex", n_starts=1`` is one plain run. By default
        `effort` says how many.
    effort : {"low", "default", "high"}, default "default"
        Of the race: one graduated run, the time of some three to seven plain runs, or of fourteen.
        The race runs from the convex problem, improves the points of all registered starts (fits of
        small subsets, graduated paths, points between good ones, …) by a few loose steps, runs from
        the best ones, and then from lower points that moves find. A cvxpy problem in up to 40
        variables is first searched by a short branch and bound, and no other start is tried if that
        proves its point to be optimal. The result is never above the plain run's. Of a risk of
        100,000 samples or more the default races on some 20,000 of them first, and runs on all
        samples go on from the ends there; the plain run's is dropped if it stands far above.
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
        Log a table to the logger ``dcprog``: a line for each step and for each point that another
        start has found.
    escape : bool, default True
        Look around a point that seems critical, and go on where the objective is lower: at saddles
        and symmetric points, and down the other slopes at ties. False ends where the majorants do,
        as published algorithms.
    polish : bool, default False
        Of a cvxpy problem: end with Newton's method on the smooth pieces and the constraints that
        are active, which brings x from a solver's accuracy (about the root of `tol`) to that of the
        machine. Only taken where F is no higher, but for what the point before gained by missing
        constraints, and no constraint is missed by more. For up to 400 coordinates without matrix
        attributes or cone constraints; gap and history are those of the point before.

    Returns
    -------
    Result
        The variables of a cvxpy problem hold the best point too, and its other fields tell the
        outcome in cvxpy's words: ``problem.status`` is ``optimal`` where ours is ``converged``,
        ``constraint.dual_value`` is a multiplier of the last majorised problem.

    Raises
    ------
    NotMajorizable
        No rule applies to a sub-expression, or none translates it where variables are integer.
    ValueError
        Bad data or options: NaN, an unknown solver, a start of wrong shape.
    TypeError
        `problem` is not a problem, or there is no such option.
    KeyboardInterrupt
        Ctrl-C for the second time, in this solve or in the next one after a solve that it ended;
        the first keeps the best point, with the status ``interrupted``.

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

    To the last digit: the point outside a ball that is nearest to (1, −2).

    >>> x = cp.Variable(2)
    >>> far = cp.Problem(cp.Minimize(cp.sum_squares(x - [1, -2])), [cp.norm(x) >= 3])
    >>> _ = dc.solve(far, polish=True)
    >>> np.allclose(x.value, 3 * np.array([1, -2]) / np.sqrt(5), rtol=1e-12)
    True

    Whole numbers: two of the products are worth 8, no other choice fits better.

    >>> take = cp.Variable(3, boolean=True)
    >>> worth = np.array([3, 4, 5])
    >>> dc.solve(cp.Problem(cp.Maximize(worth @ take), [worth @ take <= 8.5])).value
    8.0
    """
    begun = time.perf_counter()
    settings = Settings(tol, max_iter, time_limit, acceleration, callback, verbose, escape)
    _check(vars(settings) | {"n_starts": n_starts, "n_jobs": n_jobs, "polish": polish})
    if polish and isinstance(problem, Risk):
        raise ValueError(f"polish={polish!r}: False is needed for a Risk")
    way = chain(problem)
    start = way.start(start)
    plan = planned(start, n_starts, effort)
    if way.has_whole_numbers:
        options: dict[str, Any] = {"solver": solver, "solver_options": solver_options, "tol": tol}
        options |= {"max_iter": max_iter, "callback": callback, "polish": polish}
        with visible(verbose):
            work = EFFORTS.get(effort, EFFORTS["default"]).work
            result = solve_whole(way.problem, solve, start, settings, options, work)
        result, _ = way.back(result, {})
        publish(problem, result, {}, feasible=result.relative_violation <= FEASIBLE)
        return result
    settings = replace(settings, callback=way.callback(callback))
    task = task_of(way.problem, solver, settings, solver_options)
    task.check()  # bad problems are refused here, before any process starts
    with visible(verbose), lost_before_a_point():
        if verbose:
            logger.info(HEAD)
        runs = race(task, plan, _seed(random_state), None if callback else n_jobs)
    best = winner([run for run in runs if run.status != "dropped"], tol)
    if polish and task.left() != 0:
        best = task.polished(best)
    warning = task.warning(best.x)
    if warning is not None:
        warn(warning, UserWarning)
    others = [name for name in best.solved if not _is_same(name, solver)]
    if others:
        reasons = "; see result.history.attempts" if best.history.attempts else ""
        told = f"solver={solver!r} failed or was inaccurate, another stepped in: {best.solver}"
        warn(told + reasons, UserWarning)
    found: Mapping[int, Any] = {}
    if best.status == "converged" and best.feasible and best.x is not None:
        found = task.multipliers(best.x)
    setup_time = task.compile_time
    task.keep()
    examiner = ProblemExaminer(way.problem, best.spec or runs[0].spec, solver)
    result = result_of(runs, best, time.perf_counter() - begun, optima(runs), examiner)
    result, duals = way.back(result, found)
    if isinstance(problem, cp.Problem):
        publish(problem, result, duals, feasible=best.feasible, setup_time=setup_time)
    elif isinstance(problem, Risk) and result.x is not None:
        with suppress(DataLost):
            trivial = triviality(problem, result.x)
            if trivial is not None:
                warn(trivial, TrivialSolutionWarning)
    return result


def _is_same(name: str, solver: Any) -> bool:
    """True if a solver is the one that was named, or none was."""
    return solver in (*AUTOMATIC, GENERIC) or name.lower() == str(solver).lower()


def _is_a(kind: Any, value: Any, least: float = -np.inf) -> bool:
    """True for a number of a kind of at least `least`; True and False are no numbers here."""
    return isinstance(value, kind) and not _is_flag(value) and bool(value >= least)


def _is_positive(value: Any) -> bool:
    return _is_a(Real, value) and bool(0 < value < np.inf)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


# Options, their conditions, and the end of the message where one does not hold.
OPTIONS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("tol", _is_positive, ": a positive finite number is needed"),
    ("time_limit", lambda v: v is None or _is_positive(v), ": a positive finite number is needed"),
    ("max_iter", lambda v: _is_a(Integral, v, 0), ": an integer of at least 0 is needed"),
    (
        "n_starts",
        lambda v: (isinstance(v, str) and v == "auto") or _is_a(Integral, v, 1),
        ": an integer of at least 1 is needed",
    ),
    (
        "n_jobs",
        lambda v: v is None or (_is_a(Integral, v) and v != 0),
        ": an integer other than 0 is needed, or None",
    ),
    ("callback", lambda v: v is None or callable(v), " is not callable"),
    ("verbose", lambda v: _is_flag(v) or _is_a(Integral, v), ": True or False is needed"),
    ("escape", lambda v: _is_flag(v) or _is_a(Integral, v), ": True or False is needed"),
    ("polish", _is_flag, ": True or False is needed"),
)


def _check(options: Mapping[str, Any]) -> None:
    """Raise a ValueError for the first option whose condition does not hold."""
    for name, holds, message in OPTIONS:
        if not holds(options[name]):
            raise ValueError(f"{name}={options[name]!r}{message}")
    acceleration = options["acceleration"]
    if acceleration is not None:
        check_choice("acceleration", acceleration, ACCELERATIONS)


def _seed(random_state: Any) -> np.random.SeedSequence:
    if isinstance(random_state, np.random.Generator):
        entropy = random_state.integers(2**32, size=4).tolist()
    else:
        entropy = _default_entropy() if random_state is None else _drawn(random_state)
    return np.random.SeedSequence(entropy)


def _drawn(random_state: Any) -> list[int]:
    from sklearn.utils import check_random_state

    entropy: list[int] = check_random_state(random_state).randint(2**31 - 1, size=4).tolist()
    return entropy


@cache
def _default_entropy() -> list[int]:
    return _drawn(0)
