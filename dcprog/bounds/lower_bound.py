"""``dc.lower_bound``: how low a nonconvex problem can be at all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dcprog.bounds.bound import Bound
from dcprog.bounds.risk_space import RiskSpace
from dcprog.bounds.search import Incumbent, Search
from dcprog.engine.result import Result
from dcprog.foundation.arrays import Array
from dcprog.foundation.parameters import check_number
from dcprog.foundation.progress_log import visible
from dcprog.risk.risk import Risk
from dcprog.surrogates.driver import solve

__all__ = ["lower_bound"]

# The share of the time that the search for a first point may take.
STARTING = 0.3
# Between the value that a bound was found with and that of the problem it is to be resumed for.
SAME = 1e-9


def lower_bound(
    problem: Any,
    *,
    start: Result | Bound | npt.ArrayLike | None = None,
    time_limit: float = 60.0,
    gap: float = 1e-3,
    box: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    callback: Callable[[Bound], object] | None = None,
    verbose: bool = False,
) -> Bound:
    r"""A number that no point is below: min F ≥ value, proved by branch and bound.

    On a box every nonconvex term has a convex minorant: the chord of a concave function, φ(t) ≥
    φ(l) + (φ(u) − φ(l))/(u − l)·(t − l) for l ≤ t ≤ u. Lines below the losses at a few points give
    a plane below the sum, whose minimum over the box and under the penalty is known in closed form:
    a bound that rests on no solver's word. Boxes whose bound is above F(x) − gap are dropped, the
    others halved. Points met on the way that are better than x take its place.

    It is made for few coefficients: up to five or so, with thousands of samples.

    Parameters
    ----------
    problem : Risk, or an estimator fitted to one
        F.
    start : Result, Bound or array, optional
        A point to begin with, the best one known; by default what :func:`dcprog.solve` finds. A
        ``Bound`` of the same problem is resumed: its open boxes are all that is still searched.
    time_limit : float, default 60.0
        Seconds.
    gap : float, default 1e-3
        Stop when F(x) − value is at most that share of what the terms of F(x) add up to.
    box : (lower, upper), optional
        Bound F on that box of θ only; numbers or arrays of shape (p,). By default everywhere: the
        penalty and the losses say where F can be below F(x) at all.
    callback : callable, optional
        ``callback(bound)`` about twice a second; a true return value stops the search.
    verbose : bool, default False
        Log the progress to the logger ``dcprog``.

    Returns
    -------
    Bound
        Ctrl-C ends the search and returns the bound so far.

    Raises
    ------
    NotBoundable
        A part of the problem has no minorant (the error names it), or F is below F(x) at points as
        far away as one likes, for all that is known.
    TypeError, ValueError
        Something that is no problem, or bad options.

    References
    ----------
    Falk, Soland (1969), An algorithm for separable nonconvex programming problems, Management
    Science 15. McCormick (1976), Computability of global solutions to factorable nonconvex
    programs, Math. Program. 10. Horst, Tuy (1996), Global Optimization, chapter IV.

    Examples
    --------
    >>> import numpy as np, dcprog as dc
    >>> X = np.array([[1.0], [2.0], [3.0], [-2.0]])   # the last sample is an outlier
    >>> rows = dc.binary_margins(X, [1, 1, -1, 1], fit_intercept=False)
    >>> risk = dc.Risk.from_loss(rows, dc.cap(dc.hinge(), 1.0), dc.l2(0.1))
    >>> bound = dc.lower_bound(risk)
    >>> bound.status, round(bound.gap, 6)
    ('proved', 0.001)
    """
    begun = time.perf_counter()
    check_number("time_limit", time_limit, 0)
    check_number("gap", gap, 0)
    if callback is not None and not callable(callback):
        raise ValueError(f"callback={callback!r} is not callable")
    problem = _declared(problem)
    edges = _checked_box(box, problem.rows.shape[1])
    if isinstance(start, Bound):
        edges = _same_box(edges, start)
    space = RiskSpace(problem, edges)
    with visible(verbose):
        best = _incumbent(space, problem, start, STARTING * time_limit)
        search = _search(space, best, start, gap)

        def report(status: str = "running") -> Bound:
            return _bound(search, edges, status, time.perf_counter() - begun)

        stop = None if callback is None else (lambda: callback(report()))
        status = search.run(begun + time_limit, stop)
    return replace(report(status), open=search.open.all())


def _declared(problem: Any) -> Risk:
    """The risk behind what the user passed."""
    if isinstance(problem, Risk):
        return problem
    for name in ("spec_", "spec"):
        spec = getattr(problem, name, None)
        if isinstance(spec, Risk):
            return spec
    if isinstance(problem, Result):
        raise TypeError(
            "a Result does not hold its problem: pass lower_bound(problem, start=result)"
        )
    raise TypeError(
        f"a {type(problem).__name__} is not a problem: pass a dcprog Risk, an estimator fitted to "
        "one, or a cvxpy Problem"
    )


def _incumbent(space: RiskSpace, problem: Risk, start: Any, seconds: float) -> Incumbent:
    """The point to begin with."""
    if start is None:
        start = solve(problem, time_limit=seconds).x
        x = np.zeros(space.parts.size) if start is None else start
    else:
        given = start.x if isinstance(start, Result | Bound) else start
        if given is None:
            raise ValueError(f"start: the {type(start).__name__} has no point")
        x = _vector("start", given, space.parts.size)
    return space.at(x if space.box is None else np.clip(x, *space.box))


def _search(space: RiskSpace, best: Incumbent, start: Any, gap: float) -> Search:
    """From the root, or from where a bound has got to: with a finer gap from the root again."""
    if not isinstance(start, Bound):
        return Search(space, space.root(best), best, gap)
    if not abs(best.value - start.objective) <= SAME * max(best.scale, start.scale):
        raise ValueError("start is a Bound of another problem: its point has another value here")
    if gap < start.asked:
        return Search(space, space.root(best), best, gap, start.nodes)
    return Search(space, start.open, best, gap, start.nodes, start.floor)


def _vector(name: str, values: Any, size: int) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise ValueError(f"{name}: finite numbers of shape ({size},) are needed, not {values!r}")
    return array


def _checked_box(box: Any, size: int) -> tuple[Array, Array] | None:
    if box is None:
        return None
    try:
        lower, upper = box
        lo = np.broadcast_to(np.asarray(lower, dtype=float), size).copy()
        hi = np.broadcast_to(np.asarray(upper, dtype=float), size).copy()
    except (TypeError, ValueError):
        raise ValueError(f"box={box!r}: (lower, upper) is needed, numbers or ({size},)") from None
    if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi)) and np.all(lo <= hi)):
        raise ValueError(f"box={box!r}: finite lower <= upper are needed")
    return lo, hi


def _same_box(box: tuple[Array, Array] | None, bound: Bound) -> tuple[Array, Array] | None:
    """The box of a search that is resumed."""
    if box is not None and (bound.box is None or not np.array_equal(box, bound.box)):
        raise ValueError("box: a Bound is resumed on the box that it was found on; leave it out")
    return bound.box


def _bound(search: Search, box: tuple[Array, Array] | None, status: str, seconds: float) -> Bound:
    best = search.best
    value = min(search.lower, best.value)
    missing = best.value - value
    gap = missing / best.scale if best.scale > 0 else (0.0 if missing <= 0 else np.inf)
    return Bound(
        value=value,
        gap=max(gap, 0.0),
        status=status,
        nodes=search.nodes,
        x=best.x,
        objective=best.value,
        scale=best.scale,
        time=seconds,
        floor=search.floor,
        asked=search.gap,
        box=box,
    )
