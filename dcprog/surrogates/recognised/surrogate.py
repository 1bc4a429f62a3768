"""The surrogate of a cvxpy problem that is a risk."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcprog.engine.racing import Draft
from dcprog.foundation.arrays import Array
from dcprog.surrogates.recognised.recognise import Recognised
from dcprog.surrogates.risk import RiskSurrogate

__all__ = ["RecognisedSurrogate"]


class RecognisedSurrogate(RiskSurrogate):
    """Majorant of a risk that is, up to a constant and the sign, a problem's objective.

    F is the risk, as everywhere below; what is told of to the user has the constant.

    Parameters
    ----------
    found : Recognised

    Attributes
    ----------
    points : Points
        Of the problem's variables.
    """

    def __init__(self, found: Recognised) -> None:
        super().__init__(found.risk)
        self.points = found.points
        self.sign = found.sign
        self._constant = found.constant

    def objective(self, x: Array) -> float:
        """The user's objective, in the user's sign; the variables hold the point, for callbacks."""
        self.points.load(x)
        return self.sign * (super().objective(x) + self._constant)

    def drafts(
        self,
        near: list[Array],
        effort: str,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> list[Draft]:
        """Points to run from, their values with the constant, as those of runs have it."""
        found = super().drafts(near, effort, rng, time_limit)
        return [replace(draft, value=draft.value + self._constant) for draft in found]
