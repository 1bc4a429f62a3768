"""Exchange: samples near a cap change sides, one at a time, if the majorants say that it pays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcprog.engine.protocol import centre
from dcprog.foundation.arrays import Array
from dcprog.foundation.errors import SubproblemError
from dcprog.foundation.tolerances import FEW_COEFFICIENTS, FLAT, TOL
from dcprog.risk_mm.stationarity import Flip, Near, Ties, ties
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.batch import is_dear
from dcprog.starts.protocol import Budget, OfRisk

# Samples nearer to the cap than REACH may change sides; curvatures are differences over WIDTH. Both
# are in units of the margins.
REACH, WIDTH = 0.5, 0.1


class Exchange(OfRisk):
    r"""A point that is lower than x, by the majorant of another choice of slopes near a kink.

    The line through the other piece of φ is a majorant wherever it is taken: of a sample that is
    given up at weight 0, of one beyond the cap at the full weight. Near the kink it is little above
    F at x, by the cost e, and its minimum is about

    .. math::
        F(x) + e - \tfrac12 g^\top H^{-1} g,

    g being the slope that the flip adds, H the curvature of the majorant. The majorants of as many
    flips as the effort says are minimised in that order.

    References
    ----------
    Hawkins (1994), The feasible solution algorithm for least trimmed squares regression, Comput.
    Stat. Data Anal. 17.
    """

    def points(self, surrogate: RiskSurrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """The lowest point, if F is lower there; none of many samples, where solves are dear."""
        if is_dear(surrogate.declared, budget.effort):
            return []
        centre(surrogate, x)
        with np.errstate(all="ignore"):
            return self._lowest(surrogate, x, budget)

    def _lowest(self, surrogate: RiskSurrogate, x: Array, budget: Budget) -> list[Array]:
        risk, scale = surrogate.risk, surrogate.scale(x)
        if not 0 < scale < np.inf:
            return []
        near = Near(surrogate.problem, x, surrogate.units(x), scale, REACH)
        tied, solve = ties(near), surrogate.solver(budget.deadline)
        best, lowest = list[Array](), risk(x) - TOL * scale
        for flip in _cheapest(tied, near.within(WIDTH))[: budget.effort.flips]:
            if budget.deadline.left == 0:
                break
            try:
                point = solve(tied.with_flips((flip,)), x, TOL * scale)
            except SubproblemError:
                continue
            value = risk(point)
            if value < lowest:
                best, lowest = [point], value
        return best


def _cheapest(tied: Ties, near: Near) -> list[Flip]:
    """Flips in the order of the expected minima of their majorants, those below F first."""
    flips = [flip for flip in tied.flips if _changes_sides(tied, flip)]
    if not flips:
        return []
    pulls = np.array([flip.pull for flip in flips])
    gains = 0.5 * np.sum(pulls * _newton(near, pulls), axis=1)
    prices = np.array([flip.cost for flip in flips]) - gains
    return [flips[k] for k in np.argsort(prices)]


def _changes_sides(tied: Ties, flip: Flip) -> bool:
    """True if a slope becomes flat or was flat: smooth caps have no sides."""
    before, after = np.abs(getattr(tied.problem, flip.part)[flip.places]), np.abs(flip.values)
    return bool(np.any(np.minimum(before, after) <= FLAT * np.maximum(before, after)))


def _newton(near: Near, pulls: Array) -> Array:
    """H⁻¹g for every pull g, H being the curvature of the smoothed majorant, in units."""
    risk, p = near.risk, near.theta.size
    if p > FEW_COEFFICIENTS or risk.aggregate == "max":
        return pulls
    gram = near.gram(near.bent())
    held = np.flatnonzero(risk.penalized)
    gram[held, held] += risk.penalty.parts().ridge * near.units[held] ** 2 / near.scale
    gram[np.diag_indices(p)] += TOL * (float(np.trace(gram)) / p or 1.0)
    return np.asarray(np.linalg.solve(gram, pulls.T).T, dtype=float)
