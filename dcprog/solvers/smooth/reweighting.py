"""Descent on a quadratic plus a concave penalty in the coefficients of a working set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dcprog.foundation.arrays import Array
from dcprog.solvers.smooth.working_set import WorkingSet

__all__ = ["Reweighting"]

STEPS = 200
LONGEST = 16  # most steps between attempts of Newton's method
EPOCHS = 2  # epochs of descent with the same weights
NOTHING = 1e-14  # a decrease below this share of the size counts as none
APART = 1e-6  # relative step of the difference quotient of the penalty's slopes


@dataclass(frozen=True)
class Point:
    """The entries x, the slope of the quadratic there, and the function's rise from the start."""

    x: Array
    slope: Array
    rise: float


class Reweighting:
    r"""Descent on ½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ_j ψ_j(|x_j|) by cheap steps.

    Each step weights |x_j| by ψ_j'(|x_j|) and descends on that majorant for a few epochs. If the
    step changes no sign, a Newton step with the curvature of ψ, which majorants ignore, is tried:
    near a minimum it replaces about a hundred reweightings.

    Parameters
    ----------
    problem : WorkingSet
    weights : callable
        Maps x to the weights ψ_j'(|x_j|).
    penalty : callable
        Maps x to Σ_j ψ_j(|x_j|).
    size : float
        The size of the whole function's terms.

    References
    ----------
    Zou, Li (2008), One-step sparse estimates in nonconcave penalized likelihood models, Ann.
    Statist. 36.
    """

    def __init__(
        self,
        problem: WorkingSet,
        weights: Callable[[Array], Array],
        penalty: Callable[[Array], float],
        size: float,
    ) -> None:
        self.problem, self.weights, self.penalty = problem, weights, penalty
        self.nothing = NOTHING * size

    def descend(self, x: Array, slope: Array) -> Array:
        """The end of the descent from x₀."""
        self._start, self._slope, self._height = x, slope, self.penalty(x)
        here = Point(x, slope, 0.0)
        pause = wait = 1  # steps until the next Newton step, more after each failure
        for _ in range(STEPS):
            new = self._reweighted(here)
            pause = pause - 1 if np.array_equal(np.sign(new.x), np.sign(here.x)) else wait
            if pause <= 0:
                lower = self._newton(new)
                wait = 1 if lower is not new else min(2 * wait, LONGEST)
                pause, new = (0 if lower is not new else wait), lower
            if not here.rise - new.rise > self.nothing:
                break
            here = new
        return here.x

    def _at(self, x: Array, slope: Array) -> Point:
        """The point at x; the quadratic's change is (slope + slope₀)/2·(x − x₀)."""
        rise = float((self._slope + slope) @ (x - self._start)) / 2
        return Point(x, slope, rise + self.penalty(x) - self._height)

    def _reweighted(self, here: Point) -> Point:
        weights = self.weights(here.x)
        return self._at(*self.problem.descended(here.x, here.slope, weights, self.nothing, EPOCHS))

    def _newton(self, here: Point) -> Point:
        """The point after a Newton step in the nonzero entries, or `here` if it is not lower."""
        live = np.flatnonzero(here.x)
        if live.size == 0:
            return here
        x, H = here.x[live], self.problem.H
        nearby = here.x.copy()
        nearby[live] = x * (1 + APART)
        pull = self.weights(here.x)[live]
        curvature = (self.weights(nearby)[live] - pull) / (APART * np.abs(x))
        S = H[np.ix_(live, live)]
        S[np.diag_indices_from(S)] += curvature
        try:
            step = -cho_solve(cho_factor(S), here.slope[live] + pull * np.sign(x))
        except LinAlgError:
            return here
        if not np.all(np.isfinite(step)) or np.any((x + step) * x <= 0):
            return here
        moved = here.x.copy()
        moved[live] += step
        new = self._at(moved, here.slope + H[:, live] @ step)
        return new if new.rise < here.rise else here
