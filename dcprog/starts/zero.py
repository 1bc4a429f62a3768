"""θ = 0 as a start."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dcprog.engine.protocol import Surrogate
from dcprog.risk_mm.surrogate import RiskSurrogate
from dcprog.starts.protocol import Budget, Candidate

__all__ = ["Zero"]


class Zero:
    """θ = 0: below a plain run's end where a penalty outweighs the losses.

    Plain runs on absolute losses with almost as many coefficients as samples have ended above it.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """Risks; at 0 a cvxpy problem may have no slope."""
        return None if isinstance(surrogate, RiskSurrogate) else "it is no risk"

    def points(self, surrogate: Surrogate, budget: Budget) -> Iterable[Candidate]:
        """The point 0, if F is lower there than at all ends of runs."""
        assert isinstance(surrogate, RiskSurrogate)
        risk = surrogate.declared
        x = np.zeros(risk.rows.shape[1])
        value = risk(x)
        if all(value < risk(end) for end in budget.ended):
            yield Candidate("zero", x, value)
