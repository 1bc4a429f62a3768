"""Exchange: samples near a cap change sides, one at a time, if the majorants say that it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dcprog.engine.protocol import Surrogate, centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError
from dcprog.risk.weighted import WeightedRisk
from dcprog.risk_mm.near import Near
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.risk_mm.ties import Flip, Ties, ties
from dcprog.starts.batch import is_dear
from dcprog.starts.protocol import Budget

__all__ = ["Exchange", "exchange"]

# How near to the cap samples may change sides, and over what the curvature is taken, in units of
# the margins.
REACH, WIDTH = 0.5, 0.1
# A slope that is no larger than that share of another one is flat.
FLAT = 0.1
# Of more coefficients the curvature is taken for 1 in their units.
MOST_COEFFICIENTS = 300
# F must fall by that share of its scale.
WORTH = 1e-6
TOLERANCE = 1e-6  # of the problems that are solved, relative to the scale

Solve = Callable[[WeightedRisk, Array], Array]


class Exchange:
    """A point that is lower because samples near a cap have changed sides; see :func:`exchange`."""

    def takes(self, surrogate: Surrogate) -> str | None:
        """Risks."""
        return None if isinstance(surrogate, RiskSurrogate) else "it is no risk"

    def points(self, surrogate: Surrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The point, if there is one; none of many samples, where solves are dear."""
        assert isinstance(surrogate, RiskSurrogate)
        if is_dear(surrogate.declared, budget.effort):
            return []
        centre(surrogate, x)
        size, solver = surrogate.scale(x), surrogate.solver(budget.deadline)

        def solve(problem: WeightedRisk, start: Array) -> Array:
            return solver(problem, start, TOLERANCE * size)

        with np.errstate(all="ignore"):
            point = exchange(
                surrogate.problem,
                x,
                surrogate.units(x),
                size,
                solve,
                budget.effort.flips,
                budget.deadline.left,
            )
        return [] if point is None else [point]


def exchange(
    problem: WeightedRisk,
    x: Array,
    units: Array,
    scale: float,
    solve: Solve,
    flips: int,
    time_limit: float | None = None,
) -> Array | None:
    r"""A point that is lower than x, by the majorant of another choice of slopes near a kink.

    The line through the other piece of φ is a majorant wherever it is taken: of a sample that is
    given up at weight 0, of one beyond the cap at the full weight. Near the kink it is little above
    F at x, by the cost e, and its minimum is about

    .. math::
        F(x) + e - \tfrac12 g^\top H^{-1} g,

    g being the slope that the flip adds, H the curvature of the majorant. Flips are solved in that
    order.

    Parameters
    ----------
    problem : WeightedRisk
        The tightening at x, a critical point.
    x, units : arrays of shape (p,)
    scale : float
    solve : callable
        A minimiser of a weighted risk, from a point.
    flips : int
        How many are solved at most.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    array or None
        The lowest point found; None where none is lower than x.

    References
    ----------
    Hawkins (1994), The feasible solution algorithm for least trimmed squares regression, Comput.
    Stat. Data Anal. 17.
    """
    if not 0 < scale < np.inf:
        return None
    risk, deadline = problem.risk, Deadline(time_limit)
    tied = ties(problem, Near(risk, x, units, scale, REACH))
    best, lowest = None, risk(x) - WORTH * scale
    for flip in _cheapest(tied, Near(risk, x, units, scale, WIDTH))[:flips]:
        if deadline.left == 0:
            break
        try:
            point = solve(tied.with_flips((flip,)), x)
        except SubproblemError:
            continue
        value = risk(point)
        if value < lowest:
            best, lowest = point, value
    return best


def _cheapest(tied: Ties, near: Near) -> list[Flip]:
    """Flips by what their majorants' minima are expected to be, those below F first."""
    flips = [flip for flip in tied.flips if _changes_sides(tied.problem, flip)]
    if not flips:
        return []
    pulls = np.array([flip.pull for flip in flips])
    gains = 0.5 * np.sum(pulls * _newton(tied.problem, near, pulls), axis=1)
    prices = np.array([flip.cost for flip in flips]) - gains
    return [flips[k] for k in np.argsort(prices)]


def _changes_sides(problem: WeightedRisk, flip: Flip) -> bool:
    """Is there next to nothing left of a slope, or was there? Smooth caps have no sides."""
    before, after = np.abs(getattr(problem, flip.part)[flip.places]), np.abs(flip.values)
    return bool(np.any(np.minimum(before, after) <= FLAT * np.maximum(before, after)))


def _newton(problem: WeightedRisk, near: Near, pulls: Array) -> Array:
    """H⁻¹g for every pull g, H being the curvature of the smoothed majorant, in units."""
    risk = near.risk
    p = near.theta.size
    if p > MOST_COEFFICIENTS or risk.aggregate == "max":
        return pulls
    curvature = problem.row_weights.copy()
    for rows, part in near.parts():
        lowest, highest = part.slopes_of(risk.base)
        curvature[rows] *= (highest - lowest) / (2 * near.step)
    gram = near.gram(curvature)
    held = np.flatnonzero(risk.penalized)
    gram[held, held] += risk.penalty.parts().ridge * near.units[held] ** 2 / near.scale
    gram[np.diag_indices(p)] += 1e-6 * (float(np.trace(gram)) / p or 1.0)
    return np.asarray(np.linalg.solve(gram, pulls.T).T, dtype=float)
