"""Stationarity of a point of a cvxpy problem: for the majorant there, and for those beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dcprog.engine.stationarity import Stationarity, downhill_slope
from dcprog.foundation.arrays import Array
from dcprog.foundation.deadline import Deadline
from dcprog.foundation.errors import SubproblemError, UnfitSolver
from dcprog.majorants.tree import Values
from dcprog.surrogates.problem_racing import ProblemRacing

__all__ = ["ProblemStationarity"]

# Slopes that differ by more than JUMP of the largest between points BESIDE units apart are tied.
JUMP, BESIDE = 1e-2, 1e-5
# So many directions in which to stand beside the point, either way.
SIDES = 3
ACCURACY = 1e-11
# A strongly convex function falls by ½‖step‖² and the proximal term again; less than SURE of their
# sum says that the solver missed its minimum. F is rounded by ROUNDING of its scale.
SURE, ROUNDING = 0.9, 1e-10
# So many solvers are asked for a proximal step: a third, of the first order, takes seconds to miss
# that accuracy.
ASKED = 2
# A proximal step shorter than that, in units, leads nowhere.
STEEP = 1e-4


class ProblemStationarity(ProblemRacing):
    """How far a point of a cvxpy problem is from stationary.

    The residual is the length of the proximal step, argmin_z M(z; x) + (scale/2)‖z − x‖² in units:
    the gradient of M's Moreau envelope. Where slopes are tied, majorants that are centred beside x
    have others.

    References
    ----------
    Davis, Drusvyatskiy (2019), Stochastic model-based minimization of weakly convex functions,
    SIAM J. Optim. 29.
    """

    _slopes: dict[int, Array]
    _solved_in: str | None

    @property
    def mode(self) -> str:
        """How nonconvex constraints are met."""
        raise NotImplementedError

    def _update(self, values: Values) -> bool:
        """Set the Parameters."""
        raise NotImplementedError

    def further(self, x: Array) -> Array:
        """Nothing is known but the majorant."""
        return x

    def kinks(self, x: Array) -> npt.NDArray[np.bool_]:
        """Not looked for."""
        return np.zeros(x.size, dtype=bool)

    def stationarity(self, x: Array, time_limit: float | None = None) -> Stationarity:
        """The residual of the majorant at x, and the descent that others find beside a tie.

        Not known under nonconvex equations, and where x misses a constraint: there only a price
        tells which directions are allowed.
        """
        deadline = Deadline(time_limit)
        step = self._proximal_step(x, x, deadline) if self._is_plain(x) else None
        if step is None:
            return Stationarity()
        residual = float(np.linalg.norm(step / self.units(x)))
        tied = self._is_tied(x)
        others = self._steps_aside(x, deadline) if tied else iter(())
        slopes = [self._walk(x, way)[1] for way in (step, *others)]
        return Stationarity(residual, min(slopes), not tied)

    def off_ties(self, x: Array, time_limit: float | None = None) -> Iterator[Array]:
        """The lowest points on the way to the minimisers of majorants centred beside a tie."""
        if not (self._is_plain(x) and self._is_tied(x)):
            return
        for step in self._steps_aside(x, Deadline(time_limit)):
            point, slope = self._walk(x, step)
            if slope < 0:
                yield point

    def _is_plain(self, x: Array) -> bool:
        """True if no penalty is paid for constraints, and F has a scale."""
        return self.mode != "penalty" and 0 < self.scale(x) < np.inf

    def _sides(self, x: Array) -> Iterator[Array]:
        rng = np.random.default_rng(0)
        for _ in range(SIDES):
            aside = BESIDE * self.units(x) * rng.standard_normal(x.size)
            yield from (x + aside, x - aside)

    def _is_tied(self, x: Array) -> bool:
        """True if a slope of the majorant changes by a jump beside x."""
        here = self._slopes_at(x)
        try:
            return any(self._jumps(here, beside) for beside in self._sides(x))
        finally:
            self._update(self.majorised.at(x))

    def _jumps(self, here: list[Array], beside: Array) -> bool:
        """True if the slopes at the point beside x differ by a jump."""
        try:
            there = self._slopes_at(beside)
        except ValueError:  # outside the domain
            return False
        for one, other in zip(here, there, strict=True):
            top = np.max(np.abs([one, other]), initial=0.0)
            if np.any(np.abs(one - other) > JUMP * top):
                return True
        return False

    def _slopes_at(self, centre: Array) -> list[Array]:
        """The majorant's Parameters, centred there."""
        self._update(self.majorised.at(centre))
        return list(self._slopes.values())

    def _steps_aside(self, x: Array, deadline: Deadline) -> Iterator[Array]:
        for beside in self._sides(x):
            step = self._proximal_step(beside, x, deadline)
            if step is not None:
                yield step

    def _proximal_step(self, centre: Array, x: Array, deadline: Deadline) -> Array | None:
        """argmin_z M(z; centre) + (scale/2)‖(z − x)/units‖² − x, None where no solver finds it."""
        problem, split = self.majorised, self.points.split
        stiffness = np.sqrt(self.scale(x)) / self.units(x)
        try:
            self._update(problem.at(centre))
            mode = problem.modes.pull(split(x), split(stiffness))
            for solver in problem.solvers(mode)[:ASKED]:
                if deadline.left == 0:
                    return None
                try:
                    step = problem.minimise(mode, ACCURACY, solver, deadline.left) - x
                    if self._falls(x, step):
                        return step
                except (SubproblemError, UnfitSolver) as error:
                    problem.note(solver, ACCURACY, f"near a point: {error}")
        except (ValueError, ArithmeticError):  # outside the domain
            return None
        finally:
            self._solved_in = None
            self._update(problem.at(x))
        return None

    def _falls(self, x: Array, step: Array) -> bool:
        """True if M has fallen as a proximal step makes it fall, by the step's length squared."""
        fall = self.majorised.majorant(x) - self.majorised.majorant(x + step)
        square = float(np.sum((step / self.units(x)) ** 2))
        return fall >= self.scale(x) * (SURE * square - ROUNDING)

    def _walk(self, x: Array, step: Array) -> tuple[Array, float]:
        length = float(np.linalg.norm(step / self.units(x)))
        if length <= STEEP:
            return x, 0.0
        return downhill_slope(self.value, x, step / length, self.scale(x))
