"""Points of a risk where its majorant is minimised, and what other majorants say of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dcprog.engine.stationarity import Stationarity
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.risk.weighted import WeightedRisk
from dcprog.surrogates.exchange import exchange
from dcprog.surrogates.rims import over_rims
from dcprog.surrogates.risk_starts import RiskStarts
from dcprog.surrogates.stationarity import descents, stationarity

__all__ = ["RiskStationarity"]

TOLERANCE = 1e-6  # of the problems that exchanges solve, relative to the scale


class RiskStationarity(RiskStarts):
    """The part of a risk's surrogate that judges where it is centred.

    Attributes
    ----------
    problem : WeightedRisk
        The last tightening.
    """

    problem: WeightedRisk

    def scale(self, x: Array) -> float:
        """The sum of the absolute values of F's terms."""
        raise NotImplementedError

    @np.errstate(all="ignore")
    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """How far x, where the majorant is centred, is from stationary."""
        return stationarity(self.problem, x, self.units(x), self.scale(x), time_limit)

    @np.errstate(all="ignore")
    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """Down the slopes that other choices at ties have, and over the rims of narrow wells."""
        deadline = Deadline(time_limit)
        yield from descents(self.problem, x, self.units(x), self.scale(x), time_limit)
        yield from over_rims(self.declared, x, self._solver(deadline))

    @np.errstate(all="ignore")
    def exchanged(self, x: Array, flips: int, time_limit: float | None = None) -> Array | None:
        """A point lower than x, where the majorant is centred; see :func:`exchange`."""
        size = self.scale(x)

        def solve(problem: WeightedRisk, centre: Array) -> Array:
            aim = TOLERANCE * size, problem.value(centre)
            return self.subproblems.solve(problem, centre, aim, self.solvers[0], time_limit)

        return exchange(self.problem, x, self.units(x), size, solve, flips, time_limit)
