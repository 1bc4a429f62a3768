"""Descent on a parabola plus a concave penalty, in the coefficients of a working set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dcprog.foundation.arrays import Array
from dcprog.solvers.smooth.working_set import WorkingSet

__all__ = ["Reweighting"]

STEPS = 200
LONGEST = 16  # steps between tries of Newton's method
EPOCHS = 2  # of descent under the same weights
NOTHING = 1e-14  # of the size: no fall
APART = 1e-6  # of an entry: where the penalty's slopes are compared


@dataclass(frozen=True)
class Point:
    """Entries x, the slope of the parabola there, and how far the function is above the start."""

    x: Array
    slope: Array
    rise: float


class Reweighting:
    r"""½(x − x₀)'H(x − x₀) + slope·(x − x₀) + Σ_j ψ_j(|x_j|), in steps that are next to nothing.

    Each step weighs |x_j| by ψ_j'(|x_j|) and descends on that majorant for a few epochs. Where it
    changes no sign, Newton's method tries with the curvature of ψ, which majorants leave out: near
    a minimum it ends in a few steps what reweighting does in a hundred.

    Parameters
    ----------
    problem : WorkingSet
    weights : callable
        ψ_j'(|x_j|) of x.
    penalty : callable
        Σ_j ψ_j(|x_j|) of x.
    size : float
        What the whole function's terms add up to.

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
        """Where it ends from x₀."""
        self._start, self._slope, self._height = x, slope, self.penalty(x)
        here = Point(x, slope, 0.0)
        pause = wait = 1  # steps until Newton's next try, more after each that fails
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
        """With (slope + slope₀)/2·(x − x₀) for the parabola."""
        rise = float((self._slope + slope) @ (x - self._start)) / 2
        return Point(x, slope, rise + self.penalty(x) - self._height)

    def _reweighted(self, here: Point) -> Point:
        weights = self.weights(here.x)
        return self._at(*self.problem.descended(here.x, here.slope, weights, self.nothing, EPOCHS))

    def _newton(self, here: Point) -> Point:
        """Newton's step in what is not 0; the point itself where none is lower."""
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
