"""The price of violations along a run of penalty CCP."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array

__all__ = ["Price", "exchange_rate"]

SAMPLES = 10

# It starts at a fraction of the rate at which the objective and the violation vary against each
# other around the start, and grows while a constraint is missed, faster where x does not move.
FIRST = 0.1
GROWTH = 1.5
STUCK_GROWTH = 10.0
STUCK = 1e-6
RANGE = 1e6
# A violation that falls below that share of the last one needs no higher price, nor does one of
# so many squares of the last step's length: a step along a curved constraint leaves it by that.
LASTING = 0.9
CURVED = 30.0
# One of that share of what the terms add up to is no curvature: the run may be leaving for good.
FAR_OUT = 0.5
# A price that many times the rate may be far above what the constraints need: then steps are
# short, and every point that meets them looks critical. It is lowered until one is missed again.
DEAR = 30.0
LOOSENED = 0.1
# A rate that is that share of the one before makes a new price.
FALLEN = 0.1
# Violations are resolved to that share of the constraints' own size, times tol.
RESOLUTION = 1e-2
USUAL = 3.0  # prices beyond that many rates resolve no more


class Price:
    """τ in f + τ·Σ max(e, 0)/size, moved from point to point.

    Parameters
    ----------
    rate : float, default 0
        What the objective varies by while the violations vary by 1: the unit of τ.
    firmness : float, default 1
        Where to begin, over the usual; more than 1: never lowered.
    fixed : bool, default False
        τ = 1 for ever: violations alone are minimised.

    Attributes
    ----------
    tau : float
    """

    def __init__(self, rate: float = 0.0, firmness: float = 1.0, *, fixed: bool = False) -> None:
        self.tau = 1.0 if fixed else firmness * FIRST * rate / GROWTH
        self._rate = 1.0 if fixed else rate
        self._largest = self.tau if fixed else RANGE * rate
        self._fixed = fixed
        self._loosened = False
        self._tested = firmness > 1  # by a miss at a lowered price
        self._pushed = False
        self._before: float | None = None

    @property
    def resolution(self) -> float:
        """The size of F below which violations are a solver's rounding, over tol."""
        return RESOLUTION * min(self.tau, USUAL * self._rate)

    def push(self) -> bool:
        """Ask for a rise at the next point: at this price the majorant has no minimum."""
        self._pushed = not self._fixed and self.tau < self._largest
        return self._pushed

    def reconsider(self, rate: float) -> bool:
        """Follow a rate that has fallen far, for one measured at a wild start is none.

        Returns
        -------
        bool
            Has τ fallen with it?
        """
        if self._fixed or not rate < FALLEN * self._rate:
            return False
        self.tau *= rate / self._rate
        self._rate, self._largest = rate, RANGE * rate
        return True

    def follow(self, violation: float, tolerance: float, step: float) -> bool:
        """Move to a point.

        Parameters
        ----------
        violation : float
            Relative to the constraints' sizes.
        tolerance : float
            Below which it is none.
        step : float
            Length of the last step in units of the coordinates; 0 at the same point.

        Returns
        -------
        bool
            False if τ will move again or has just been lowered.
        """
        before = violation if self._before is None else self._before
        missed = self._pushed or violation > tolerance
        curved = min(CURVED * step**2, FAR_OUT)
        lasting = before > tolerance and violation > max(LASTING * before, curved)
        first, self._before = self._before is None, violation
        if missed and (lasting or self._pushed) and self.tau < self._largest:
            stuck = self._pushed or (step <= STUCK and not first)
            self.tau *= STUCK_GROWTH if stuck else GROWTH
            self._tested |= self._loosened
        elif not missed and not self._tested and self._is_dear:
            self.tau *= LOOSENED
            self._loosened = True
            return False
        self._pushed = False
        return not missed or self.tau >= self._largest

    @property
    def _is_dear(self) -> bool:
        return not self._fixed and self.tau > DEAR * self._rate


def exchange_rate(
    at: Callable[[Array], tuple[float, float]],
    x: Array,
    beside: Callable[[Array, np.random.Generator], Array],
    tolerance: float,
) -> float:
    """How fast an objective varies against a violation around x; 0 where that is not seen.

    Parameters
    ----------
    at : callable
        Objective and violation at a point.
    x : array
    beside : callable
        A random point beside another one.
    tolerance : float
        Changes of the violation below that are none.
    """
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        here = at(x)
        there = [at(beside(x, rng)) for _ in range(SAMPLES)]
        changes = np.abs(np.array(there) - here)
    usable = np.all(np.isfinite(changes), axis=1) & (changes[:, 1] > tolerance)
    objective, missed = np.sum(changes[usable], axis=0)
    return float(objective / missed) if objective > 0 and missed > 0 else 0.0
