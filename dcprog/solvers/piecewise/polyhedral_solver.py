"""The base class of solvers of polyhedral risks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from dcprog.foundation.arrays import Array
from dcprog.solvers.piecewise.polyhedral import Polyhedral
from dcprog.solvers.piecewise.subproblem import Subproblem
from dcprog.solvers.protocol import ExactSolver, Solution
from dcprog.solvers.warm_starts import WarmStarts

if TYPE_CHECKING:
    from dcprog.risk.risk import Risk
    from dcprog.risk.weighted import WeightedRisk

__all__ = ["PolyhedralSolver"]


class PolyhedralSolver(ExactSolver):
    """The base class of solvers of a :class:`Subproblem`.

    A subclass sets `name` and defines :meth:`candidate`.
    """

    name: str

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.design = Polyhedral(risk)
        self.memory = WarmStarts(risk.rows, (self.name, self.design.key))

    @abstractmethod
    def candidate(
        self, problem: Subproblem, start: Array, tolerance: float, time_limit: float | None
    ) -> tuple[Array, Array]:
        """The minimiser x and the multipliers of the lines (G, P)."""

    def minimise(
        self,
        problem: WeightedRisk,
        start: Array,
        tolerance: float,
        time_limit: float | None = None,
    ) -> Solution:
        """The minimiser, certified by its duality gap."""
        program, start = Subproblem.of(self.design, problem), start[self.design.order]
        if program.live.size:
            x, duals = self.candidate(program, start, tolerance, time_limit)
        else:
            x = program.lossless(start)
            duals = np.zeros(self.design.const.shape)
        theta = self.design.theta(x)
        return Solution(theta, -self.design.slopes(duals), problem.value(theta))
