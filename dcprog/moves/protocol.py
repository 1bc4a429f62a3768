"""The protocol of moves: lower points near the end of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dcprog.engine.protocol import Surrogate
from dcprog.foundation.arrays import Array
from dcprog.starts.protocol import Budget

__all__ = ["Move"]


class Move(Protocol):
    """A way from the end of a run to a lower point, from which the next run begins.

    Constructed without arguments, anew for every race. With ``is_cheap = True`` in its class the
    points from the plain run's end also join the pool of starts.
    """

    def takes(self, surrogate: Surrogate) -> str | None:
        """The reason why the move has no points for a problem, None if it has."""

    def points(self, surrogate: Surrogate, x: Array, budget: Budget) -> Iterable[Array]:
        """Points near x; a run begins at the first one whose F is lower."""
