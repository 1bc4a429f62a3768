"""The outcome of one start."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from dcprog.engine.track import Run
from dcprog.foundation.arrays import Array
from dcprog.risk.risk import Risk

__all__ = ["ROUNDING", "Outcome"]

# Of what F's terms add up to, what rounding may hide.
ROUNDING = 4 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Outcome:
    """A run and what its surrogate says of it."""

    kind: str
    run: Run
    values: list[tuple[cp.Variable, Array]]
    sign: float
    mode: str = "none"
    feasible: bool = True
    relative_violation: float = 0.0
    solver: str = ""
    solve_time: float = 0.0
    solver_steps: int = 0
    dual: Array | None = None
    spec: Risk | None = None  # what the run ended with, where it adapted

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Sorts a run that found something first, then a feasible one, then the lower value.

        The value counts with what rounding may hide of it: far out, differences of large terms
        say nothing.
        """
        unbounded = self.run.status == "unbounded"
        value = -np.inf if unbounded else self.sign * self.run.value + ROUNDING * self.run.scale
        return (
            self.run.x is None and not unbounded,
            0.0 if self.feasible else self.run.violation,
            value if not np.isnan(value) else np.inf,
        )
