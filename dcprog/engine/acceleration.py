"""Extrapolations between outer steps, on the true objective and only ever downhill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcprog.foundation.arrays import Array

Value = Callable[[Array], float]


TRIES = 6  # doublings of a step further along, and halvings of one too far


class LineSearch:
    """Boosted DCA: from x⁺ further along x⁺ − x, by doubling while F falls enough.

    A step t beyond x⁺ is taken if F(x⁺ + t(x⁺ − x)) ≤ F(x⁺) − α t² ‖x⁺ − x‖².

    References
    ----------
    Aragón Artacho, Vuong (2020), The boosted difference of convex functions algorithm for
    nonsmooth functions, SIAM J. Optim. 30(1), algorithm 2.
    """

    ALPHA = 1e-6  # of the squared step, by which F has to fall further

    def __call__(self, value: Value, x: Array, new: Array, new_value: float) -> Array:
        """The furthest doubling that still falls enough, `new` itself if none does."""
        direction = new - x
        demand = self.ALPHA * float(direction @ direction)
        best, best_value, t = new, new_value, 1.0
        while t <= 2.0**TRIES:
            trial = new + t * direction
            trial_value = value(trial)
            if not trial_value <= min(best_value, new_value - demand * t**2):
                break
            best, best_value, t = trial, trial_value, 2 * t
        return best


class Squarem:
    """SQUAREM: of every two steps x₀ → x₁ → x₂, the quadratic extrapolation x₀ − 2αr + α²v.

    r = x₁ − x₀, v = (x₂ − x₁) − r, α = −‖r‖/‖v‖; halved back towards x₂ until F does not rise.

    References
    ----------
    Varadhan, Roland (2008), Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm, Scand. J. Stat. 35, scheme S3.
    """

    def __init__(self) -> None:
        self._before: Array | None = None

    def __call__(self, value: Value, x: Array, new: Array, new_value: float) -> Array:
        """The extrapolation at every second call, `new` at the others."""
        if self._before is None:
            self._before = x
            return new
        first, self._before = self._before, None
        r, v = x - first, (new - x) - (x - first)
        curvature = float(np.linalg.norm(v))
        if curvature == 0:
            return new
        alpha = -max(1.0, float(np.linalg.norm(r)) / curvature)
        for _ in range(TRIES):
            trial = first - 2 * alpha * r + alpha**2 * v
            if value(trial) <= new_value:
                return trial
            alpha = (alpha - 1) / 2  # α = −1 is x₂ itself
        return new


ACCELERATIONS: dict[str, type[LineSearch] | type[Squarem]] = {
    "linesearch": LineSearch,
    "squarem": Squarem,
}
